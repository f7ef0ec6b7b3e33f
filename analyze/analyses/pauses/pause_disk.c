// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs that moved the bytes of a disk while pauses waited for it. */
#include "pause_root.h"

#include "analyze/analyses/waits/disk_writer.h"
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/block_ops.h"

#include <stdlib.h>

#define NAMED_LEAST 0.05
#define NAMED_MOST  3
#define MOSTLY	    0.5

/* The time of all pauses that count: in order, without overlaps. */
struct paused {
	struct pause_range {
		s64 start, end;
	} * v;
	size_t n;
};

static int by_start(const void *a, const void *b)
{
	const struct pause_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Pauses of parts of a server may overlap. */
static int join_pauses(struct paused *p, const struct judged *j, struct err *e)
{
	size_t i, n = 0;
	int k;

	p->v = calloc((size_t)j->n_pauses + 1, sizeof(*p->v));
	if (!p->v)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	for (k = 0; k < j->n_pauses; k++)
		if (j->pauses[k].counts)
			p->v[n++] = (struct pause_range){ j->pauses[k].start, j->pauses[k].end };
	qsort(p->v, n, sizeof(*p->v), by_start);
	for (i = 0; i < n; i++) {
		struct pause_range *last = p->n ? &p->v[p->n - 1] : NULL;

		if (!last || p->v[i].start > last->end)
			p->v[p->n++] = p->v[i];
		else if (p->v[i].end > last->end)
			last->end = p->v[i].end;
	}
	return 0;
}

/* The first that ends at ts or later. */
static size_t pause_after(const struct paused *p, s64 ts)
{
	size_t low = 0, high = p->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (p->v[mid].end < ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Time of from..to in pauses that count; -1: it touches none. */
static s64 in_pauses(const struct paused *p, s64 from, s64 to)
{
	s64 ns = -1, a, b;
	size_t i;

	for (i = pause_after(p, from); i < p->n && p->v[i].start <= to; i++) {
		a = from > p->v[i].start ? from : p->v[i].start;
		b = to < p->v[i].end ? to : p->v[i].end;
		ns = (ns < 0 ? 0 : ns) + (b > a ? b - a : 0);
	}
	return ns;
}

/* Sums in the pauses, by the number of a disk or of a thread. */
struct sums {
	const struct paused *paused;
	struct idmap map;
};

struct sum {
	s64 id;
	double all, own; /* own: of threads of the server */
};

static int add_to(struct sums *s, s64 id, double n, bool own, struct err *e)
{
	struct sum *one = idmap_get(&s->map, (u64)id);

	if (!one)
		one = idmap_add(&s->map, (u64)id, sizeof(*one), TASK_LIMIT, "sums of disks", e);
	if (!one)
		return ERR_FAIL;
	one->id = id;
	one->all += n;
	one->own += own ? n : 0;
	return 0;
}

/* Columns: object, own, ts, end. */
static int on_wait(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct sums *s = arg;
	s64 ns = in_pauses(s->paused, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3));

	return ns <= 0 ? 0
		       : add_to(s, sqlite3_column_int64(q, 0), (double)ns, sqlite3_column_int(q, 1),
				e);
}

/* The disk for which threads of the server, or others, waited longest in the pauses; -1: none. */
static int read_disk(sqlite3 *db, const struct paused *p, s64 server, s64 *dev, bool *ret_own,
		     struct err *e)
{
	static const char sql[] =
		"SELECT object, tid IN (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service WHERE"
		" server=?1)), ts, ts + dur FROM thread_state WHERE state=state_id('disk') AND object NOT NULL";
	struct sums s = { .paused = p };
	struct idmap_slot *by_id = NULL;
	double most = 0;
	size_t i;
	int ret = db_each(db, e, on_wait, &s, sql, "i", server);

	*dev = -1;
	*ret_own = false;
	if (ret == 0) {
		by_id = idmap_sorted(&s.map, e);
		ret = by_id ? 0 : ERR_FAIL;
	}
	for (i = 0; ret == 0 && by_id[i].value; i++) {
		const struct sum *one = by_id[i].value;
		bool own = one->own > 0;

		if (own < *ret_own || (own == *ret_own && (own ? one->own : one->all) <= most))
			continue;
		*ret_own = own;
		*dev = one->id;
		most = own ? one->own : one->all;
	}
	free(by_id);
	idmap_free_all(&s.map);
	return ret;
}

/* Columns: tid, bytes, ts, end. */
static int on_bytes(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct sums *s = arg;

	if (in_pauses(s->paused, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)) < 0)
		return 0;
	return add_to(s, sqlite3_column_int64(q, 0), sqlite3_column_double(q, 1), false, e);
}

/* Bytes moved on the disk in the pauses, as JSON: [[tid, bytes], ...]. */
static int read_bytes(struct buf *out, sqlite3 *db, const struct paused *p, s64 dev, struct err *e)
{
	static const char sql[] =
		"SELECT tid, bytes, ts, ts + coalesce(dur, 0) FROM block_io WHERE dev=?1 AND"
		" block_op(op) IN ('read', 'write')";
	struct sums s = { .paused = p };
	struct idmap_slot *by_id = NULL;
	size_t i;
	int ret = db_each(db, e, on_bytes, &s, sql, "i", dev);

	if (ret == 0) {
		by_id = idmap_sorted(&s.map, e);
		ret = by_id ? buf_printf(out, e, "[") : ERR_FAIL;
	}
	for (i = 0; ret == 0 && by_id[i].value; i++) {
		const struct sum *one = by_id[i].value;

		ret = buf_printf(out, e, "%s[%lld,%.0f]", i ? "," : "", (long long)one->id,
				 one->all);
	}
	free(by_id);
	idmap_free_all(&s.map);
	return ret < 0 ? ret : buf_printf(out, e, "]");
}

/* By program: those of the server are one, with its first process. */
static int read_users(struct analysis_ctx *c, const struct paused *p, s64 server, s64 dev,
		      struct value *values, bool *ret_others, struct err *e)
{
	static const char sql[] =
		"WITH b AS (SELECT (SELECT pid FROM thread t WHERE t.tid=json_extract(value, '$[0]') ORDER BY start"
		" DESC LIMIT 1) AS pid, sum(json_extract(value, '$[1]')) AS bytes FROM json_each(?2) GROUP BY 1),"
		" u AS (SELECT pid, bytes, pid IN (SELECT pid FROM service WHERE server=?1) AS own, (SELECT comm FROM"
		" process WHERE process.pid=b.pid ORDER BY start DESC LIMIT 1) AS comm FROM b) SELECT pid, 1.0 *"
		" sum(bytes) / (SELECT sum(bytes) FROM u), count(*), own, max(bytes) FROM u GROUP BY own, iif(own, '',"
		" coalesce(comm, '')) ORDER BY 2 DESC LIMIT ?3";
	struct buf moved = { 0 };
	sqlite3_stmt *q = NULL;
	int n = 0, ret = read_bytes(&moved, c->db, p, dev, e);

	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "isi", server, moved.data, (s64)NAMED_MOST);
	buf_free(&moved);
	if (ret < 0)
		return ret;
	while (n < NAMED_MOST && (ret = db_step(q, e)) > 0) {
		s64 pid = sqlite3_column_int64(q, 0);
		double part = sqlite3_column_double(q, 1);
		bool many = sqlite3_column_int64(q, 2) > 1;

		if (pid <= 0 || part < NAMED_LEAST)
			continue;
		*ret_others |= !n && !sqlite3_column_int(q, 3);
		values[n++] =
			(struct value){ .name = "user",
					.of = { many ? SUBJECT_program : SUBJECT_process, pid },
					.number = 100 * part,
					.unit = "%",
					.low = NAN,
					.high = NAN };
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : n;
}

/*
 * The share of the pauses in which any disk had a request: without one no thread waits for a disk.
 * One that was not seen to complete counts if none is known to have completed after it began. 1 if
 * block events were lost. In order of time: each ns counts once.
 */
static int read_busy(struct analysis_ctx *c, const struct paused *p, double *ret_share,
		     struct err *e)
{
	static const char sql[] =
		"WITH last AS MATERIALIZED (SELECT dev, max(ts + dur) AS at FROM block_io GROUP BY dev) SELECT"
		" ts, ts + coalesce(dur, iif(ts > coalesce(at, -1), ?1, 0)) FROM block_io JOIN last USING(dev)"
		" ORDER BY 1";
	s64 lost = 0, end = 0, from, to, ns;
	double busy = 0, all = (double)in_pauses(p, 0, c->duration);
	sqlite3_stmt *q;
	int ret = db_int(c->db, &lost, e, "SELECT count(*) FROM loss WHERE n > 0 AND grp='block'",
			 "");

	*ret_share = 1;
	if (ret < 0 || lost || all <= 0)
		return ret;
	ret = db_query(&q, c->db, e, sql, "i", c->duration);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		from = sqlite3_column_int64(q, 0);
		from = from > end ? from : end;
		to = sqlite3_column_int64(q, 1);
		ns = to > from ? in_pauses(p, from, to) : 0;
		busy += ns > 0 ? (double)ns : 0;
		end = to > end ? to : end;
	}
	*ret_share = busy / all;
	return db_end(q, ret);
}

/* The thread that was to end the wait had no CPU, or was on one; else I/O was held back. */
static int put_idle_disks(struct analysis_ctx *c, const struct judged *j,
			  const struct pause_root *r, s64 dev, double share, struct err *e)
{
	struct disk_writer w = { 0 };
	bool cpu = r->last > 0 && (r->last_state == STATE_run || r->last_state == STATE_woken ||
				   r->last_state == STATE_preempted);
	bool limit = !cpu && !r->stranger;
	int ret = limit ? disk_writer_read(&w, c->db, dev, 0, e) : 0;
	const struct value values[] = {
		VALUE_NUMBER("busy", 100 * share, "%"),
		VALUE_MAYBE("thread", thread, cpu ? r->last : 0),
		VALUE_TEXT("state", cpu ? verdict_does[r->last_state] : NULL),
		VALUE_NUMBER("share", cpu ? r->last_share : NAN, "%"),
		VALUE_MAYBE("stranger", thread, r->stranger),
		VALUE_TEXT("limit", limit ? "an I/O limit of a cgroup" : NULL),
		VALUE_MAYBE("writer", process, w.pid),
		VALUE_NUMBER("written", w.pid ? w.bytes : NAN, "bytes"),
		VALUE_NUMBER("all", w.pid ? w.all : NAN, "bytes"),
		VALUE_SUBJECT("disk", disk, dev),
		{ 0 },
	};
	const struct finding f = {
		FINDING_pause_disk_idle, PROBLEM, OBSERVED, j->about, NULL, values, j->finding
	};

	return ret < 0 ? ret : finding_put(c->db, c->analysis->name, &f, NULL, e);
}

/* Requests that free blocks of the disk: they move nothing, and can keep it from what others want.
 */
struct discards {
	const struct paused *paused;
	double n, bytes, at; /* at: time of the pauses in which one was in flight, ns */
	s64 end;	     /* of those before */
};

/* Columns: ts, end, bytes; in order of time. */
static int on_discard(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct discards *d = arg;
	s64 from = sqlite3_column_int64(q, 0), to = sqlite3_column_int64(q, 1);
	s64 ns = in_pauses(d->paused, from > d->end ? from : d->end, to > d->end ? to : d->end);

	(void)e;
	if (in_pauses(d->paused, from, to) < 0)
		return 0;
	d->n++;
	d->bytes += sqlite3_column_double(q, 2);
	d->at += ns > 0 ? (double)ns : 0;
	d->end = to > d->end ? to : d->end;
	return 0;
}

/* b: discards of a disk by others than the server; of a tid that is used again, the later thread.
 */
#define DISCARDS                                                                                                   \
	"WITH t AS (SELECT tid, pid, comm, max(start) FROM thread GROUP BY tid), b AS (SELECT b.ts, b.ts +"        \
	" coalesce(b.dur, 0) AS till, b.bytes, t.pid, t.comm FROM block_io b JOIN t ON t.tid=b.tid WHERE b.dev=?1" \
	" AND b.op & 255 IN " BLOCK_DISCARDS                                                                       \
	" AND t.pid NOT IN (SELECT pid FROM service WHERE server=?2)) "

/* The program outside the server whose discards were in flight for most of the pauses. */
static int put_discards(struct analysis_ctx *c, const struct judged *j, const struct paused *p,
			s64 dev, struct err *e)
{
	static const char most[] = DISCARDS
		"SELECT coalesce((SELECT pid FROM b GROUP BY comm ORDER BY sum(bytes) DESC LIMIT 1), 0)";
	static const char theirs[] = DISCARDS
		"SELECT ts, till, bytes FROM b WHERE comm IN (SELECT comm FROM b WHERE pid=?3) ORDER BY 1";
	struct discards d = { .paused = p };
	double all = (double)in_pauses(p, 0, c->duration);
	s64 pid = 0;
	int ret = db_int(c->db, &pid, e, most, "ii", dev, j->about.id);

	if (ret == 0 && pid > 0)
		ret = db_each(c->db, e, on_discard, &d, theirs, "iii", dev, j->about.id, pid);
	if (ret < 0 || all <= 0 || d.at < MOSTLY * all)
		return ret;
	const struct value values[] = {
		VALUE_SUBJECT("user", process, pid),
		VALUE_NUMBER("bytes", d.bytes, "bytes"),
		VALUE_NUMBER("n", d.n, ""),
		VALUE_SUBJECT("disk", disk, dev),
		VALUE_NUMBER("share", 100 * d.at / all, "%"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_pause_discards, PROBLEM, OVERLAP, j->about, NULL, values, j->finding
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

/* What a program moved on a disk in the recording, and since when; pid 0: a process of the kernel,
 * which writes what others wrote before. */
struct mover {
	s64 pid;
	double bytes, since;
};

static int read_mover(struct mover *m, sqlite3 *db, s64 dev, s64 pid, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT pid, comm, parent FROM process WHERE pid=?2 ORDER BY start DESC LIMIT"
		" 1) SELECT iif(coalesce(parent, 0)=2, 0, p.pid), total(b.bytes), min(b.ts) FROM p JOIN block_io b ON b.dev=?1"
		" AND block_op(b.op) IN ('read', 'write') AND b.tid IN (SELECT tid FROM thread WHERE pid IN (SELECT"
		" o.pid FROM process o JOIN p USING(comm)))";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", dev, pid);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		m->pid = sqlite3_column_int64(q, 0);
		m->bytes = sqlite3_column_double(q, 1);
		m->since = sqlite3_column_double(q, 2);
	}
	return db_end(q, ret);
}

/* Others that moved most bytes come before others that moved none. */
static int put_users(struct analysis_ctx *c, const struct judged *j, const struct paused *p,
		     s64 dev, struct err *e)
{
	struct value values[NAMED_MOST + 8] = { 0 };
	struct finding f = { FINDING_pause_disk, PROBLEM, OBSERVED, j->about, NULL, values,
			     j->finding };
	struct mover m = { 0 };
	struct disk_writer w;
	bool others = false;
	int n = read_users(c, p, j->about.id, dev, values, &others, e);

	if (n >= 0 && !others && put_discards(c, j, p, dev, e) < 0)
		return ERR_FAIL;
	if (n <= 0)
		return n;
	if (disk_writer_read(&w, c->db, dev, values[0].of.id, e) < 0)
		return ERR_FAIL;
	values[n++] = (struct value)VALUE_SUBJECT("disk", disk, dev);
	if (w.pid) {
		values[n++] = (struct value)VALUE_SUBJECT("writer", process, w.pid);
		values[n++] = (struct value)VALUE_NUMBER("written", w.bytes, "bytes");
		values[n++] = (struct value)VALUE_NUMBER("all", w.all, "bytes");
	} else if (others && read_mover(&m, c->db, dev, values[0].of.id, e) < 0) {
		return ERR_FAIL;
	}
	if (m.pid > 0) {
		values[n++] = (struct value)VALUE_WHO("mover", values[0].of);
		values[n++] = (struct value)VALUE_NUMBER("moved", m.bytes, "bytes");
		values[n] = (struct value)VALUE_NUMBER("since", m.since, "at");
	}
	f.evidence = others ? OVERLAP : OBSERVED;
	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int pause_disk_put(struct analysis_ctx *c, const struct judged *j, const struct pause_root *r,
		   struct err *e)
{
	struct paused p = { 0 };
	bool own = false;
	double share = 1;
	s64 dev = -1;
	int ret = join_pauses(&p, j, e);

	if (ret == 0)
		ret = read_disk(c->db, &p, j->about.id, &dev, &own, e);
	if (ret == 0 && own)
		ret = read_busy(c, &p, &share, e);
	if (ret == 0 && dev >= 0)
		ret = share < MOSTLY ? put_idle_disks(c, j, r, dev, share, e)
				     : put_users(c, j, &p, dev, e);
	free(p.v);
	return ret;
}
