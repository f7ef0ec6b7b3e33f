// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause_stalls.h"

#include "format/buf.h"
#include "handoffs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MOST 1000
#define STALLS_MOST   16
#define WAIT_LEAST    100000000 /* ns: shorter requests are not looked at */
#define SLEEP_LEAST   1000000	/* ns */
#define USUAL_LEAST   100	/* requests: fewer have no p99 */

struct stalled {
	struct row_request row;
	s64 server, rowid, till;
	bool upstream;
	struct handoff wait; /* its last one */
	/* address; or thread that woke it, or the first of those that passed the lock on, and when
	 * its last sleep before ended; empty: not known */
	char cause[64];
};

struct all_stalled {
	struct stalled v[REQUESTS_MOST];
	int n;
};

static s64 arrival_of(const struct stalled *s)
{
	return s->row.ts - s->row.queued;
}

static int on_stalled(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct all_stalled *all = arg;
	struct stalled *s = &all->v[all->n];
	const char *address = (const char *)sqlite3_column_text(q, 16);

	(void)e;
	if (all->n == REQUESTS_MOST)
		return 0;
	*s = (struct stalled){
		.row = { .ts = sqlite3_column_int64(q, 2),
			 .queued = sqlite3_column_int64(q, 3),
			 .dur = sqlite3_column_int64(q, 4),
			 .pid = sqlite3_column_int64(q, 5),
			 .tid = sqlite3_column_int64(q, 6),
			 .fd = sqlite3_column_int64(q, 7),
			 .client = sqlite3_column_int64(q, 8),
			 .recv_bytes = sqlite3_column_int64(q, 9),
			 .send_bytes = sqlite3_column_int64(q, 10),
			 .name = sqlite3_column_int64(q, 11) },
		.server = sqlite3_column_int64(q, 1),
		.rowid = sqlite3_column_int64(q, 0),
		.till = sqlite3_column_int64(q, 12),
		.upstream = sqlite3_column_int(q, 13) == STATE_client,
		.wait = { .ts = sqlite3_column_int64(q, 15),
			  .end = sqlite3_column_int64(q, 12),
			  .waker = sqlite3_column_int64(q, 14) },
	};
	if (s->upstream && address && strlen(address) < sizeof(s->cause))
		memcpy(s->cause, address, strlen(address) + 1);
	all->n++;
	return 0;
}

static int read_stalled(struct all_stalled *all, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH r AS MATERIALIZED (SELECT q.rowid AS id, s.server AS server, q.ts, q.queued, q.dur, q.pid, q.tid,"
		" q.fd, q.client, q.recv_bytes, q.send_bytes, q.name FROM request q JOIN service s ON s.id=q.service"
		" JOIN request_name n ON n.id=q.name WHERE q.dur >= ?1 AND NOT q.lossy AND readable(n.protocol) AND"
		" NOT awaits(n.protocol, n.name) ORDER BY q.dur DESC LIMIT ?3), w AS MATERIALIZED (SELECT r.id AS id,"
		" max(s.ts + s.dur) AS till, s.state AS state, s.waker AS waker, s.object AS object, s.ts AS since FROM"
		" thread_state s CROSS JOIN r ON r.tid=s.tid WHERE s.dur >= ?2 AND s.ts >= r.ts AND s.ts + s.dur <= r.ts"
		" + r.dur AND s.state IN (state_id('futex'), state_id('client'), state_id('lock')) GROUP BY r.id, s.state"
		" HAVING 2 * sum(s.dur) > r.dur) SELECT r.*, w.till, w.state, w.waker, w.since, iif(w.state="
		"state_id('client'), (SELECT remote FROM fd WHERE fd.pid=r.pid AND fd.fd=w.object AND fd.ts <= w.till"
		" ORDER BY fd.ts DESC LIMIT 1), NULL) AS address FROM r JOIN w USING(id)";

	return db_each(db, e, on_stalled, all, sql, "iii", (s64)WAIT_LEAST, (s64)SLEEP_LEAST,
		       (s64)REQUESTS_MOST);
}

/* By name and cause, then by the end of the wait. */
static int by_cause(const void *a, const void *b)
{
	const struct stalled *x = a, *y = b;
	const s64 of[] = { x->server - y->server, x->row.name - y->row.name,
			   strcmp(x->cause, y->cause), x->till - y->till, x->rowid - y->rowid };
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (of[i])
			return of[i] < 0 ? -1 : 1;
	return 0;
}

/*
 * A lock that is passed on ends all these waits when it is passed on first: who arrives later waits
 * for others.
 */
static void read_cause(struct stalled *s, const struct handoffs *h)
{
	struct handoff first = handoffs_first(h, s->wait);

	if (first.waker <= 0 || arrival_of(s) >= first.end)
		return;
	s->till = first.end;
	snprintf(s->cause, sizeof(s->cause), "%lld %lld", (long long)first.waker,
		 (long long)handoffs_slept(h, first.waker, first.end));
}

/* Drops those without a cause. */
static int read_causes(struct all_stalled *all, sqlite3 *db, struct err *e)
{
	s64(*ranges)[2] = calloc((size_t)all->n + 1, sizeof(*ranges));
	struct handoffs h = { 0 };
	int i, n = 0, ret = ranges ? 0 : err_set(e, ERR_FAIL, "out of memory for pauses");

	for (i = 0; i < all->n && ret == 0; i++) {
		if (all->v[i].upstream || all->v[i].wait.waker <= 0)
			continue;
		ranges[n][0] = all->v[i].row.ts;
		ranges[n++][1] = all->v[i].till;
	}
	if (ret == 0)
		ret = handoffs_read(&h, db, ranges, n, e);
	for (i = n = 0; i < all->n && ret == 0; i++) {
		if (!all->v[i].upstream)
			read_cause(&all->v[i], &h);
		if (all->v[i].cause[0])
			all->v[n++] = all->v[i];
	}
	all->n = n;
	qsort(all->v, (size_t)all->n, sizeof(*all->v), by_cause);
	handoffs_free(&h);
	free(ranges);
	return ret;
}

static bool alike(const struct stalled *a, const struct stalled *b)
{
	return a->server == b->server && a->row.name == b->row.name && !strcmp(a->cause, b->cause);
}

/* The last answer of the upstream to any process of the server in this time; or its start. */
static int last_answer(s64 *ret_ts, sqlite3 *db, const struct stalled *s, s64 from, s64 to,
		       struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(max(u.ts + u.dur), ?1) FROM upstream u WHERE u.ts + u.dur > ?1 AND u.ts + u.dur < ?2"
		" AND u.pid IN (SELECT pid FROM service WHERE server=?3) AND ?4=(SELECT remote FROM fd WHERE"
		" fd.pid=u.pid AND fd.fd=u.fd AND fd.ts <= u.ts + u.dur ORDER BY fd.ts DESC LIMIT 1)";

	*ret_ts = from;
	return s->upstream ? db_int(db, ret_ts, e, sql, "iiis", from, to, s->server, s->cause) : 0;
}

/* Requests v to last are of one cause: those that wait when the first of their waits ends. */
static int take_stall(struct pause *p, sqlite3 *db, const struct stalled *v, int n, struct err *e)
{
	s64 end = v->till, start = arrival_of(v);
	int i, ret;

	for (i = 0; i < n; i++)
		start = arrival_of(&v[i]) < start ? arrival_of(&v[i]) : start;
	ret = last_answer(&start, db, v, start, end, e);
	*p = (struct pause){
		.server = v->server, .name = v->row.name, .stall = true, .start = start, .end = end
	};
	for (i = 0; i < n; i++)
		if (arrival_of(&v[i]) < end)
			pause_waited(p, &v[i].row, v[i].rowid, v[i].row.ts + v[i].row.dur);
	return ret;
}

/* p99 of the requests of the name that touch none of its stalls. */
static int read_usual(struct pause *p, const struct pause *v, int n, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH q AS MATERIALIZED (SELECT r.queued + r.dur AS took FROM request r JOIN service s ON s.id=r.service"
		" WHERE s.server=?1 AND r.name=?2 AND NOT r.lossy AND NOT EXISTS (SELECT 1 FROM json_each(?3) x WHERE"
		" r.ts - r.queued < x.value ->> 1 AND r.ts + r.dur > x.value ->> 0)) SELECT took FROM q WHERE (SELECT"
		" count(*) FROM q) >= ?4 ORDER BY took LIMIT 1 OFFSET (SELECT 99 * count(*) / 100 FROM q)";
	struct buf times = { 0 };
	s64 usual = 0;
	int i, ret = buf_printf(&times, e, "[[0,0]");

	for (i = 0; i < n && ret == 0; i++)
		if (v[i].server == p->server && v[i].name == p->name)
			ret = buf_printf(&times, e, ",[%lld,%lld]", (long long)v[i].start,
					 (long long)v[i].end);
	if (ret == 0)
		ret = buf_printf(&times, e, "]");
	if (ret == 0)
		ret = db_int(db, &usual, e, sql, "iisi", p->server, p->name, times.data,
			     (s64)USUAL_LEAST);
	p->usual = (double)usual;
	buf_free(&times);
	return ret;
}

static int find_stalls(struct pause *v, int *ret_n, sqlite3 *db, const struct all_stalled *all,
		       struct err *e)
{
	int i, n, ret = 0;

	for (i = 0; i < all->n && *ret_n < STALLS_MOST && ret == 0; i += n) {
		const struct stalled *s = &all->v[i];

		for (n = 1; i + n < all->n && alike(s, s + n) && arrival_of(s + n) < s->till; n++)
			;
		if (n < 2)
			continue;
		ret = take_stall(&v[*ret_n], db, s, n, e);
		*ret_n += v[*ret_n].several;
	}
	for (i = 0; i < *ret_n && ret == 0; i++)
		ret = read_usual(&v[i], v, *ret_n, db, e);
	return ret;
}

int stalls_add(struct pause_parts *p, sqlite3 *db, struct err *e)
{
	struct all_stalled *all;
	struct pause v[STALLS_MOST] = { 0 }, *more;
	s64 longest = 0;
	int n = 0,
	    ret = db_int(db, &longest, e, "SELECT coalesce(max(max), 0) FROM request_stat", "");

	if (ret < 0 || longest < WAIT_LEAST) /* the states of all threads need not be read */
		return ret;
	all = calloc(1, sizeof(*all));
	ret = all ? read_stalled(all, db, e) : err_set(e, ERR_FAIL, "out of memory");
	if (ret == 0)
		ret = read_causes(all, db, e);
	if (ret == 0)
		ret = find_stalls(v, &n, db, all, e);
	free(all);
	if (ret < 0 || !n)
		return ret;
	more = realloc(p->v, (p->n_v + (size_t)n) * sizeof(*more));
	if (!more)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	p->v = more;
	memcpy(more + p->n_v, v, (size_t)n * sizeof(*v));
	p->n_v += (size_t)n;
	return 0;
}
