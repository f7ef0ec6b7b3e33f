// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When did a server answer nothing although requests waited, for how long, what did its thread do,
 * and which request did it work on? A request waits from its arrival (request.ts -
 * request.queued) until its answer, or the end of the recording. Processes of one server are one:
 * while one of them answers, there is at most a pause of a part (pause_parts.h). No limit depends
 * on how long requests usually take; which pauses matter is the verdict's question. Of a process
 * without requests: the waits of its busiest thread.
 */
#include "pauses.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/idmap.h"
#include "analyze/store/request_rows.h"
#include "format/buf.h"
#include "pause_parts.h"
#include "pause_stalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MOST  64 /* those with most requests */
#define SERVICES_MOST 200000

static const struct metric metrics[] = {
	{ "start", "ns", NEITHER_IS_BETTER, "since the start of the recording" },
	{ "length", "ns", LOWER_IS_BETTER, "until the next answer" },
	{ "waited", "", LOWER_IS_BETTER, "requests that waited" },
	{ "max wait", "ns", LOWER_IS_BETTER, "longest of their waits" },
	{ "cpu", "%", NEITHER_IS_BETTER, "share in which the serving thread was on a CPU" },
	{ "runq", "%", NEITHER_IS_BETTER, "share in which it waited for a CPU" },
	{ "asleep", "%", NEITHER_IS_BETTER, "share in which it slept or waited for a disk" },
	{ "request in", "bytes", NEITHER_IS_BETTER, "size of the request that spans it" },
	{ "request out", "bytes", NEITHER_IS_BETTER, "size of its answer" },
	{ 0 },
};

struct found_pauses {
	struct silences silences;
	s64 servers[SERVERS_MOST]; /* ids by slot */
	struct idmap slots;	   /* service.id -> slot + 1 */
	struct idmap awaiting;	   /* names */
	struct pause *v;
	size_t n;
	struct pause_parts parts;
};

/* Slots of servers, and of their services in a map. */
static int read_servers(struct analysis_ctx *c, struct found_pauses *f, u32 *ret_n, struct err *e)
{
	sqlite3_stmt *q;
	u32 slot = 0;
	int ret = db_query(
		&q, c->db, e,
		"SELECT k.id, s.id FROM (SELECT id, requests FROM server WHERE requests > 0 ORDER BY"
		" requests DESC, id LIMIT ?1) k JOIN service s ON s.server=k.id ORDER BY k.requests DESC,"
		" k.id",
		"i", (s64)SERVERS_MOST);

	*ret_n = 0;
	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		s64 id = sqlite3_column_int64(q, 0);

		if (!*ret_n || f->servers[*ret_n - 1] != id)
			f->servers[(*ret_n)++] = id;
		slot = *ret_n; /* from 1 on: a map has no NULL */
		ret = idmap_put(&f->slots, (u64)sqlite3_column_int64(q, 1), (void *)(uintptr_t)slot,
				SERVICES_MOST, e);
	}
	sqlite3_finalize(q);
	return ret;
}

#define REQUESTS                                                                                 \
	COLUMN_OF(request, service) | COLUMN_OF(request, ts) | COLUMN_OF(request, queued) |      \
		COLUMN_OF(request, dur) | COLUMN_OF(request, name) | COLUMN_OF(request, lossy) | \
		COLUMN_OF(request, first_send) | COLUMN_OF(request, rest) |                      \
		COLUMN_OF(request, paced) | COLUMN_OF(request, held)

/* It waits for its answer once all of it has arrived, until the last send: what the socket holds
 * then, the server has answered. */
static struct row_request complete(const void *request)
{
	struct row_request row = *(const struct row_request *)request;

	row.dur -= row.held;
	row.queued -= row.rest < row.dur ? row.rest : row.dur;
	return row;
}

/* One more than the slot of a request's server; 0: not of these, lossy, or it awaits something, or
 * its client. */
static u32 slot_of(const struct found_pauses *f, const struct row_request *row)
{
	bool awaits = row->name != BULK_NULL && idmap_get(&f->awaiting, (u64)row->name);

	return row->lossy || awaits || (row->paced && row->paced != PACED_REQUEST)
		       ? 0
		       : (u32)(uintptr_t)idmap_get(&f->slots, (u64)row->service);
}

/* A pass over the requests. */
struct pass {
	struct found_pauses *f;
	void (*take)(struct silences *s, u32 slot, s64 arrival, s64 end);
};

static int take_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request row = complete(request);
	const struct pass *p = arg;
	u32 slot = slot_of(p->f, &row);

	(void)rowid;
	(void)e;
	if (!slot)
		return 0;
	p->take(&p->f->silences, slot - 1, row.ts - row.queued, row.ts + row.dur);
	parts_take(&p->f->parts, slot - 1, &row, p->take);
	return 0;
}

/* Requests without an answer: as if the end of the recording answered them. */
static int each_unanswered(struct analysis_ctx *c, row_fn fn, void *arg, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(
		&q, c->db, e,
		"SELECT service, ts, coalesce(read, ?1), pid, tid, fd, client, coalesce(name, ?2) FROM unanswered"
		" u WHERE " ANSWER_DUE,
		"ii", c->duration, BULK_NULL);

	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		struct row_request row = { .service = sqlite3_column_int64(q, 0),
					   .ts = sqlite3_column_int64(q, 2),
					   .pid = sqlite3_column_int64(q, 3),
					   .tid = sqlite3_column_int64(q, 4),
					   .fd = sqlite3_column_int64(q, 5),
					   .client = sqlite3_column_int64(q, 6),
					   .first_send = BULK_NULL,
					   .name = sqlite3_column_int64(q, 7) };

		row.queued = row.ts - sqlite3_column_int64(q, 1);
		row.dur = c->duration - row.ts;
		ret = fn(arg, 0, &row, e);
	}
	sqlite3_finalize(q);
	return ret;
}

static int each_request(struct analysis_ctx *c, u32 set, row_fn fn, void *arg, struct err *e)
{
	int ret = rows_each(c->db, TABLE_request, set, fn, arg, e);

	return ret < 0 ? ret : each_unanswered(c, fn, arg, e);
}

/* Parts of answers leave before their end: windows in which bytes were sent are no silence. */
static int cut_by_sends(struct analysis_ctx *c, struct found_pauses *f, u32 n, struct err *e)
{
	sqlite3_stmt *q;
	u32 slot;
	int ret = db_query(
		&q, c->db, e,
		"SELECT server, ts, ts + dur FROM server_window WHERE sends > 0 AND server IN"
		" (SELECT id FROM server WHERE requests > 0) ORDER BY server, ts",
		"");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		for (slot = 0; slot < n && f->servers[slot] != sqlite3_column_int64(q, 0); slot++)
			;
		if (slot < n)
			silences_sent(&f->silences, slot, sqlite3_column_int64(q, 1),
				      sqlite3_column_int64(q, 2));
	}
	return db_end(q, ret);
}

static int third_pass(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request row = complete(request);
	struct found_pauses *f = arg;
	s64 end = row.ts + row.dur;
	u32 slot = slot_of(f, &row);
	size_t i, last = slot ? f->silences.first[slot] : 0;

	(void)e;
	if (!slot)
		return 0;
	for (i = silences_after(&f->silences, slot - 1, row.ts - row.queued);
	     i < last && f->v[i].end <= end; i++)
		pause_waited(&f->v[i], &row, rowid, end);
	parts_wait(&f->parts, slot - 1, &row, rowid);
	return 0;
}

static int mark_losses(struct analysis_ctx *c, struct found_pauses *f, struct err *e)
{
	sqlite3_stmt *q;
	size_t i;
	int ret = db_query(
		&q, c->db, e,
		"SELECT min(ts), max(ts + dur) FROM loss WHERE n > 0 AND grp IN ('syscalls',"
		" 'core') GROUP BY ts, dur",
		"");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		for (i = 0; i < f->n; i++)
			f->v[i].lossy |= sqlite3_column_int64(q, 0) < f->v[i].end &&
					 sqlite3_column_int64(q, 1) > f->v[i].start;
	return db_end(q, ret);
}

static int take_silences(struct found_pauses *f, struct err *e)
{
	size_t i;

	silences_end(&f->silences, PAUSES_MOST);
	f->n = f->silences.n;
	f->v = calloc(f->n ? f->n : 1, sizeof(*f->v));
	if (!f->v)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < f->n; i++) {
		const struct silence *s = &f->silences.v[i];

		f->v[i].server = f->servers[s->server];
		f->v[i].start = s->start;
		f->v[i].end = s->end;
		f->v[i].edge = s->edge;
	}
	return 0;
}

/* What threads did is read of each kind on its own: a part may pause while all do. */
static int add_parts(struct analysis_ctx *c, struct found_pauses *f, struct err *e)
{
	struct pause_parts *p = &f->parts;
	struct pause *all;
	int ret;

	parts_choose(p, f->v, f->n);
	ret = pauses_green(p->v, p->n_v, c->db, e);
	if (ret == 0)
		ret = pauses_threads(p->v, p->n_v, c->db, e);
	if (ret < 0 || !p->n_v)
		return ret < 0 ? ret : mark_losses(c, f, e);
	all = realloc(f->v, (f->n + p->n_v) * sizeof(*all));
	if (!all)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	f->v = all;
	memcpy(all + f->n, p->v, p->n_v * sizeof(*all));
	f->n += p->n_v;
	return mark_losses(c, f, e);
}

static int find_of_servers(struct analysis_ctx *c, struct found_pauses *f, u32 n, struct err *e)
{
	struct pass answers = { f, silences_answer }, arrivals = { f, silences_arrival };
	int ret = silences_begin(&f->silences, n, c->duration, e);

	if (ret == 0)
		ret = parts_read(&f->parts, c->db, f->servers, n, c->duration, e);
	if (ret == 0)
		ret = each_request(c, REQUESTS, take_request, &answers, e);
	if (ret == 0)
		ret = silences_between(&f->silences, e);
	if (ret == 0)
		ret = silences_between(&f->parts.silences, e);
	if (ret == 0)
		ret = each_request(c, REQUESTS, take_request, &arrivals, e);
	if (ret == 0)
		ret = cut_by_sends(c, f, n, e);
	if (ret == 0)
		ret = take_silences(f, e);
	if (ret == 0)
		ret = parts_found(&f->parts, e);
	if (ret == 0)
		ret = stalls_add(&f->parts, c->db, e);
	if (ret == 0 && (f->n || f->parts.n_v))
		ret = each_request(c,
				   REQUESTS | COLUMN_OF(request, pid) | COLUMN_OF(request, tid) |
					   COLUMN_OF(request, fd) | COLUMN_OF(request, client) |
					   COLUMN_OF(request, recv_bytes) |
					   COLUMN_OF(request, send_bytes),
				   third_pass, f, e);
	if (ret == 0)
		ret = pauses_green(f->v, f->n, c->db, e);
	if (ret == 0)
		ret = pauses_threads(f->v, f->n, c->db, e);
	return ret < 0 ? ret : add_parts(c, f, e);
}

/* Without requests: when the thread that ran most did not run. */
static int find_of_thread(struct analysis_ctx *c, struct found_pauses *f, struct err *e)
{
	static const char sql[] =
		"SELECT s.ts, s.dur, t.pid, t.tid FROM (SELECT tid, pid, start, wall FROM thread"
		" ORDER BY run DESC, tid LIMIT 1) t JOIN thread_state s ON s.tid=t.tid AND s.ts >= t.start"
		" AND s.ts + s.dur <= t.start + t.wall WHERE s.state NOT IN (state_id('run'), state_id('unknown')) AND s.dur >= ?"
		" ORDER BY s.dur DESC, s.ts LIMIT ?";
	sqlite3_stmt *q;
	int ret;

	f->v = calloc(PAUSES_MOST, sizeof(*f->v));
	if (!f->v)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	ret = db_query(&q, c->db, e, sql, "ii", (s64)SILENCE_LEAST, (s64)PAUSES_MOST);
	if (ret < 0)
		return ret;
	while (f->n < PAUSES_MOST && (ret = db_step(q, e)) > 0) {
		struct pause *p = &f->v[f->n++];

		p->start = sqlite3_column_int64(q, 0);
		p->end = p->start + sqlite3_column_int64(q, 1);
		p->pid = sqlite3_column_int64(q, 2);
		p->tid = sqlite3_column_int64(q, 3);
	}
	sqlite3_finalize(q);
	if (ret == 0)
		ret = pauses_threads(f->v, f->n, c->db, e);
	return ret < 0 ? ret : mark_losses(c, f, e);
}

static int by_length(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;
	s64 m = x->end - x->start, n = y->end - y->start;

	if (m != n)
		return m > n ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int put_rows(struct analysis_ctx *c, const struct found_pauses *f, struct err *e)
{
	sqlite3_stmt *q;
	size_t i;
	int k, s,
		ret = db_query(&q, c->db, e,
			       "INSERT INTO pause VALUES(?,?,?,?,?,?,?,?,?,?,"
#define STATE(id, name, ...) "?,"
#include "analyze/store/waits.def"
#undef STATE
			       "nullif(?,-1),?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,nullif(?,0),?,0)",
			       "");

	for (i = 0; i < f->n && ret == 0; i++) {
		const struct pause *p = &f->v[i];
		const s64 head[] = { (s64)i + 1, p->server,	    p->pid,	p->tid,
				     p->start,	 p->end - p->start, p->waiting, p->max_wait,
				     p->victims, p->victim_wait };
		const s64 tail[] = { p->request_ts, p->request_dur, p->fd,   p->client,
				     p->received,   p->sent,	    p->edge, p->lossy,
				     p->waited,	    p->service,	    p->name };

		for (k = 0; k < (int)(sizeof(head) / sizeof(head[0])); k++)
			sqlite3_bind_int64(q, k + 1, head[k]);
		for (s = 0; s < N_STATES; s++)
			sqlite3_bind_int64(q, ++k, p->spent[s]);
		sqlite3_bind_int64(q, ++k, p->partner);
		if (p->call) {
			sqlite3_bind_int64(q, k + 1, p->abi);
			sqlite3_bind_int64(q, k + 2, p->nr);
			sqlite3_bind_int64(q, k + 3, p->call);
		}
		if (p->request)
			sqlite3_bind_int64(q, k + 4, p->request);
		k += 4;
		for (s = 0; s < (int)(sizeof(tail) / sizeof(tail[0])); s++)
			if (p->request || s > 5)
				sqlite3_bind_int64(q, k + s + 1, tail[s]);
		sqlite3_bind_double(q, k + s + 1, p->usual);
		sqlite3_bind_int(q, k + s + 2, p->stall);
		ret = db_step(q, e);
		sqlite3_reset(q);
		sqlite3_clear_bindings(q);
	}
	return db_end(q, ret);
}

/* "pause1 epoll_wait 10.0.0.9:51114": its longest system call, and the client of its request. */
static int name_pause(struct analysis_ctx *c, s64 id, struct buf *to, struct err *e)
{
	static const char sql[] =
		"SELECT 'pause' || p.id || coalesce(' ' || (SELECT name FROM syscall_name n WHERE"
		" n.abi=p.abi AND n.nr=p.nr AND 2 * p.call > p.dur), '') || coalesce(' ' ||"
		" (SELECT coalesce((SELECT nullif(remote, '') FROM fd WHERE fd.pid=p.pid AND fd.fd=p.fd"
		" AND fd.ts <= p.request_ts ORDER BY fd.ts DESC LIMIT 1), nullif(address, '')) FROM client"
		" WHERE client.id=p.peer), '') FROM pause p WHERE p.id=?1";

	buf_clear(to);
	return db_add_text(to, c->db, e, sql, "i", id);
}

/* Those of at least a twentieth of the longest. */
static int put_metrics(struct analysis_ctx *c, const struct found_pauses *f, int most,
		       struct err *e)
{
	struct buf subject = { 0 };
	size_t i, k;
	int s, ret = 0;

	for (i = 0; i < f->n && (int)i < most && ret == 0; i++) {
		const struct pause *p = &f->v[i];
		double all = (double)(p->end - p->start), off = 0;

		if (20 * all < (double)(f->v[0].end - f->v[0].start))
			break;
		for (s = STATE_run + 1; s < N_STATES; s++)
			off += s == STATE_woken || s == STATE_preempted ? 0 : (double)p->spent[s];
		const struct {
			const char *name;
			double value;
		} values[] = {
			{ "start", (double)p->start },
			{ "length", all },
			{ "waited", p->server ? (double)p->waiting : NAN },
			{ "max wait", p->server ? (double)p->max_wait : NAN },
			{ "cpu", 100 * (double)p->spent[STATE_run] / all },
			{ "runq",
			  100 * (double)(p->spent[STATE_woken] + p->spent[STATE_preempted]) / all },
			{ "asleep", 100 * off / all },
			{ "request in", p->request ? (double)p->received : NAN },
			{ "request out", p->request ? (double)p->sent : NAN },
		};

		ret = name_pause(c, (s64)i + 1, &subject, e);
		for (k = 0; k < sizeof(values) / sizeof(values[0]) && ret == 0; k++)
			ret = put_metric(c, e, subject.data, values[k].name, values[k].value,
					 NO_INTERVAL, 1);
	}
	buf_free(&subject);
	return ret;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct found_pauses f = { 0 };
	u32 n = 0;
	int ret = db_exec(c->db, e, "DELETE FROM pause");

	if (ret == 0)
		ret = awaiting_names(&f.awaiting, c->db, e);
	if (ret == 0)
		ret = read_servers(c, &f, &n, e);
	if (ret == 0)
		ret = n ? find_of_servers(c, &f, n, e) : find_of_thread(c, &f, e);
	if (ret == 0) {
		qsort(f.v, f.n, sizeof(*f.v), by_length);
		ret = put_rows(c, &f, e);
	}
	if (ret == 0)
		ret = put_metrics(c, &f, c->analysis->rows, e);
	idmap_free(&f.slots);
	idmap_free(&f.awaiting);
	silences_free(&f.silences);
	parts_free(&f.parts);
	free(f.v);
	return ret;
}

const struct analysis analysis_pauses = {
	.name = "pauses",
	.doc = "When was nothing answered although requests waited",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
