// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices, other servers and pipes that slow units waited for. */
#include "causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does the interval touch one of the slow units? With tid, only one of this thread. Returns how
 * long. */
static s64 touches(const struct drill *d, s64 from, s64 to, u32 tid)
{
	s64 most = 0, begin, end;
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct unit *u = &d->slow[i];

		if (tid && u->tid != tid)
			continue;
		begin = u->ts > from ? u->ts : from;
		end = u->ts + u->dur < to ? u->ts + u->dur : to;
		most = end - begin > most ? end - begin : most;
	}
	return most;
}

/* First begin and last end of the slow units: outside of them nothing is read. */
static struct moment around(const struct drill *d)
{
	struct moment m = { INT64_MAX, 0 };
	size_t i;

	for (i = 0; i < d->n; i++) {
		m.from = d->slow[i].ts < m.from ? d->slow[i].ts : m.from;
		m.to = d->slow[i].ts + d->slow[i].dur > m.to ? d->slow[i].ts + d->slow[i].dur
							     : m.to;
	}
	return m;
}

/* ---- disk ---- */

#define USERS 32 /* names of processes */

struct disk_use {
	s64 dev;
	struct tally bytes;		    /* by process; 0: not known */
	double own, reads, queued, service; /* requests of its own; of these, reads; their times */
	u32 process_tid; /* a thread of the process with most bytes, for its name */
	double process_bytes;
};

static void on_disk(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	(void)u;
	tally_add(arg, p->object, ns);
}

/* One request of the device that touches a slow unit. */
static void take_request(struct drill *d, struct disk_use *use, sqlite3_stmt *q)
{
	u32 tid = sqlite3_column_int64(q, 3);
	u32 pid = tid ? names_of(&d->names, tid).pid : 0;
	double dur = sqlite3_column_double(q, 1), queued = sqlite3_column_double(q, 2);

	tally_add(&use->bytes, pid, sqlite3_column_double(q, 4));
	if (drill_is_own(d, pid)) {
		use->own++;
		use->reads += sqlite3_column_int(q, 5);
		use->queued += queued;
		use->service += dur - queued;
	}
}

static int read_requests(struct drill *d, struct disk_use *use, struct err *e)
{
	static const char sql[] =
		"SELECT ts, coalesce(dur,0), coalesce(queued,0), tid, bytes, block_op(op)='read'"
		" FROM block_io WHERE dev=? AND ts<=? AND ts+coalesce(dur,0)>=?";
	struct moment m = around(d);
	sqlite3_stmt *q;
	s64 ts, dur;
	int ret = db_query(&q, d->db, e, sql, "iii", use->dev, m.to, m.from);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		ts = sqlite3_column_int64(q, 0);
		dur = sqlite3_column_int64(q, 1);
		if (touches(d, ts, ts + dur, 0))
			take_request(d, use, q);
	}
	sqlite3_finalize(q);
	tally_sort(&use->bytes);
	return ret < 0 ? ret : 0;
}

static int disk_name(struct drill *d, s64 dev, char *text, size_t size, struct err *e)
{
	sqlite3_stmt *q;
	int ret =
		db_query(&q, d->db, e, "SELECT name FROM disk WHERE dev=? AND name<>''", "i", dev);

	snprintf(text, size, "%lld:%lld", (long long)(dev >> 20), (long long)(dev & 0xfffff));
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		snprintf(text, size, "%s", db_text(q, 0));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Processes of one name, such as workers, as one. */
struct user {
	char comm[32];
	s64 pid; /* of the one with most bytes; 0: not known */
	double bytes;
	int processes;
	bool own; /* of the units */
};

static int read_comm(struct drill *d, s64 pid, char *text, size_t size, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, d->db, e, "SELECT max(comm) FROM process WHERE pid=?", "i", pid);

	snprintf(text, size, "?");
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && db_text_or(q, 0, NULL))
		snprintf(text, size, "%s", db_text(q, 0));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* The units' processes are one too, apart from others of their name. */
static int join_users(struct drill *d, const struct tally *bytes, struct user *users, int *ret_n,
		      struct err *e)
{
	int i, k, n = 0, ret = 0;
	char comm[32];
	bool own;
	s64 pid;

	for (i = 0; i < bytes->n && ret == 0; i++) {
		pid = bytes->of[i].key;
		own = drill_is_own(d, pid);
		comm[0] = '\0';
		if (pid)
			ret = read_comm(d, pid, comm, sizeof(comm), e);
		for (k = 0; k < n; k++)
			if (own ? users[k].own
				: pid && users[k].pid && !users[k].own &&
					    strcmp(users[k].comm, comm) == 0)
				break;
		if (k == USERS)
			continue;
		if (k == n) {
			users[n] = (struct user){ .pid = pid, .own = own };
			snprintf(users[n++].comm, sizeof(users[0].comm), "%s", comm);
		}
		users[k].bytes += bytes->of[i].ns;
		users[k].processes++;
	}
	*ret_n = n;
	return ret;
}

static int by_bytes(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void user_text(const struct drill *d, const struct user *u, char *text, size_t size)
{
	if (u->own)
		drill_own_text(d, text, size);
	else if (!u->pid)
		snprintf(text, size, "nobody known");
	else if (u->processes > 1)
		snprintf(text, size, "%s (%d processes, %lld most)", u->comm, u->processes,
			 (long long)u->pid);
	else
		snprintf(text, size, "%s[%lld]", u->comm, (long long)u->pid);
}

static int say_users(struct drill *d, const struct disk_use *use, struct found *f, struct err *e)
{
	struct user users[USERS];
	char name[120];
	int i, n, ret = join_users(d, &use->bytes, users, &n, e), told = 0;

	if (ret == 0)
		qsort(users, n, sizeof(users[0]), by_bytes);
	for (i = 0; ret == 0 && i < n && told < 3; i++) {
		double share = users[i].bytes / use->bytes.total;

		if (share < 0.05)
			break;
		user_text(d, &users[i], name, sizeof(name));
		ret = buf_printf(&f->text, e, "%s %s %.0f %%%s",
				 told++ ? "," : "; bytes moved meanwhile:", name, 100 * share,
				 users[i].own ? " (itself)" : "");
		if (i == 0) {
			snprintf(f->culprit, sizeof(f->culprit), "%s", name);
			f->culprit_id = users[i].pid;
			f->part = share;
			f->itself = users[i].own;
		}
	}
	return ret;
}

/* Where its own reads came from: what the page cache did not have. */
static int say_cache(struct drill *d, struct found *f, struct err *e)
{
	static const char sql[] =
		"WITH u AS (SELECT dev, ino, sum(missed + fault_misses) AS n FROM page_use WHERE pid=?1"
		" OR pid IN (SELECT pid FROM " UNITS_LED " WHERE leader=?2) GROUP BY dev, ino)"
		" SELECT n, (SELECT total(n) FROM u), (SELECT max(path) FROM fd WHERE fd.dev=u.dev"
		" AND fd.ino=u.ino AND kind='file') FROM u ORDER BY n DESC, ino LIMIT 1";
	sqlite3_stmt *q;
	double most, all;
	int ret = db_query(&q, d->db, e, sql, "ii", (s64)drill_own(d),
			   d->u->kind == UNIT_TURN ? d->u->key : (s64)0);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	most = ret > 0 ? sqlite3_column_double(q, 0) : 0;
	all = ret > 0 ? sqlite3_column_double(q, 1) : 0;
	if (ret >= 0 && most <= 0)
		ret = buf_printf(&f->text, e,
				 " (what is read is not in the page cache, or goes around it)");
	else if (ret > 0)
		ret = buf_printf(
			&f->text, e,
			" (in the whole recording %.0f pages that it read or touched were not in the page "
			"cache, %.0f %% of them of %.200s)",
			all, 100 * most / all,
			db_text_or(q, 2, NULL) ? db_text_or(q, 2, NULL) : "a file not known");
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* What became of the requests of its own. */
static int say_own(struct drill *d, const struct disk_use *use, struct found *f, struct err *e)
{
	int ret = buf_printf(
		&f->text, e,
		"; its own %.0f requests took %.3f ms each before they were issued and "
		"%.3f ms in the device, %.0f of them reads",
		use->own, use->queued / use->own / 1e6, use->service / use->own / 1e6, use->reads);

	return ret < 0 || 2 * use->reads < use->own ? ret : say_cache(d, f, e);
}

int drill_disk(struct drill *d, struct found *f, struct err *e)
{
	struct disk_use use = { 0 };
	struct tally devices = { 0 };
	char name[64];
	int ret;

	f->kind = "disk";
	f->label = "OBSERVED"; /* in_iowait, or a request of its own was in flight */
	drill_each(d, CATEGORY_disk, on_disk, &devices);
	tally_sort(&devices);
	if (!devices.n || devices.of[0].key < 0)
		return buf_printf(&f->against, e, "which device it was is not recorded. ");
	use.dev = devices.of[0].key;
	ret = disk_name(d, use.dev, name, sizeof(name), e);
	if (ret == 0)
		ret = buf_printf(&f->text, e, " %s", name);
	if (ret == 0)
		ret = read_requests(d, &use, e);
	if (ret == 0 && use.bytes.total > 0)
		ret = say_users(d, &use, f, e);
	if (ret == 0 && use.own > 0)
		ret = say_own(d, &use, f, e);
	if (ret == 0 && !d->everything)
		ret = buf_printf(
			&f->against, e,
			"requests of processes that were not recorded may have been in front. ");
	if (f->culprit_id && !f->itself)
		f->label = "OVERLAP";
	return ret;
}

/* ---- other servers ---- */

#define PEERS 64

/* Other ends, by their address: a descriptor may be used for one after the other. */
struct peers {
	struct {
		char remote[80];
		double ns, n;
	} of[PEERS];
	int n;
	double total;
};

static void add_peer(struct peers *p, const char *remote, double ns)
{
	int i;

	p->total += ns;
	for (i = 0; i < p->n && strcmp(p->of[i].remote, remote) != 0; i++)
		;
	if (i == PEERS)
		return;
	if (i == p->n) {
		memset(&p->of[i], 0, sizeof(p->of[i]));
		snprintf(p->of[i].remote, sizeof(p->of[i].remote), "%s", remote);
		p->n++;
	}
	p->of[i].ns += ns;
	p->of[i].n++;
}

/* The other end of a connected socket at a time. */
static int add_peer_at(struct drill *d, struct peers *p, s64 pid, s64 fd, s64 ts, double ns,
		       struct err *e)
{
	static const char sql[] =
		"SELECT substr(coalesce(nullif(remote,''),nullif(path,''),'?'), 1, 79) FROM fd WHERE"
		" pid=? AND fd=? AND role='connected' AND ts<=? ORDER BY ts DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, d->db, e, sql, "iii", pid, fd, ts);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret >= 0)
		add_peer(p, ret > 0 ? db_text(q, 0) : "?", ns);
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int read_exchanges(struct drill *d, struct peers *p, struct err *e)
{
	struct moment m = around(d);
	sqlite3_stmt *q;
	s64 ns, ts;
	int ret = db_query(&q, d->db, e,
			   "SELECT ts, dur, pid, tid, fd FROM exchange WHERE ts<=? AND ts+dur>=?",
			   "ii", m.to, m.from);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		ts = sqlite3_column_int64(q, 0);
		ns = touches(d, ts, ts + sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 3));
		if (ns > 0 && add_peer_at(d, p, sqlite3_column_int64(q, 2),
					  sqlite3_column_int64(q, 4), ts, ns, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* The one with most time becomes the first. */
static void find_worst(struct peers *p)
{
	int i, best = 0;

	for (i = 1; i < p->n; i++)
		best = p->of[i].ns > p->of[best].ns ? i : best;
	if (best)
		p->of[0] = p->of[best];
}

struct waits_on_fd {
	struct drill *d;
	struct peers *p;
	struct err *e;
	int ret;
};

static void on_client(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct waits_on_fd *w = arg;

	(void)u;
	if (p->object >= 0 && w->ret == 0)
		w->ret = add_peer_at(w->d, w->p, names_of(&w->d->names, p->tid).pid, p->object,
				     p->ts, ns, w->e);
}

int drill_client(struct drill *d, struct found *f, struct err *e)
{
	struct peers *p = calloc(1, sizeof(*p));
	struct waits_on_fd w = { d, p, e, 0 };
	const char *port;
	int ret;

	if (!p)
		return err_set(e, ERR_FAIL, "out of memory for peers");
	f->kind = "peer";
	f->label = "OBSERVED";
	ret = read_exchanges(d, p, e);
	if (ret == 0 && !p->n) /* it connects, or waits for more of an answer */
		drill_each(d, CATEGORY_client, on_client, &w);
	ret = ret < 0 ? ret : w.ret;
	if (ret < 0 || !p->n)
		goto out;
	find_worst(p);
	snprintf(f->culprit, sizeof(f->culprit), "%s", p->of[0].remote);
	port = strrchr(p->of[0].remote, ':');
	f->culprit_id = port ? strtol(port + 1, NULL, 10) : 0;
	f->part = p->of[0].ns / p->total;
	ret = buf_printf(&f->text, e,
			 ": the answer of %s took %.3f ms on average (%.0f %% of these waits)",
			 p->of[0].remote, p->of[0].ns / p->of[0].n / 1e6, 100 * f->part);
	if (ret == 0)
		ret = buf_printf(&f->against, e,
				 "the time on the network between is in it as well. ");
out:
	free(p);
	return ret;
}

/* ---- pipes ---- */

/* Who else has the pipe open: for a partner that was not seen to wake anybody. */
static int other_end(struct drill *d, s64 fd, char *text, size_t size, struct err *e)
{
	static const char sql[] =
		"SELECT o.pid, (SELECT max(comm) FROM process WHERE pid=o.pid) FROM fd m JOIN fd o"
		" ON o.ino=m.ino AND o.dev=m.dev AND o.pid<>m.pid"
		" WHERE m.pid=? AND m.fd=? AND m.kind='pipe' LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, d->db, e, sql, "ii", (s64)drill_own(d), fd);

	text[0] = '\0';
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		snprintf(text, size, "%s[%lld]", db_text(q, 1), sqlite3_column_int64(q, 0));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

int drill_pipe(struct drill *d, struct found *f, struct err *e)
{
	struct slept *s = calloc(1, sizeof(*s));
	char name[64] = "";
	u32 waker;
	int ret = 0;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for waits");
	s->d = d;
	drill_each(d, CATEGORY_pipe, drill_on_slept, s);
	tally_sort(&s->objects);
	waker = drill_waker(s);
	f->kind = "pipe";
	f->label = waker ? "CAUSAL" : "OVERLAP";
	if (waker)
		process_text(&d->names, waker, name, sizeof(name));
	else if (s->objects.n && s->objects.of[0].key >= 0)
		ret = other_end(d, s->objects.of[0].key, name, sizeof(name), e);
	if (ret == 0 && s->objects.n && s->objects.of[0].key >= 0)
		ret = buf_printf(&f->text, e, ", descriptor %lld (%.0f %% of these waits)",
				 (long long)s->objects.of[0].key,
				 100 * s->objects.of[0].ns / s->objects.total);
	if (ret == 0 && name[0]) {
		snprintf(f->culprit, sizeof(f->culprit), "%s", name);
		f->culprit_id = waker ? names_of(&d->names, waker).pid : 0;
		ret = buf_printf(&f->text, e, "; at its other end is %s", name);
	}
	if (ret == 0 && waker)
		ret = drill_second(d, s, waker, f, e);
	if (ret == 0)
		ret = drill_limits(s, f, e);
	free(s);
	return ret;
}
