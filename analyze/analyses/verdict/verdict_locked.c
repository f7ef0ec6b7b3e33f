// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A few requests that wait for a lock of another connection, next to many that do not: no level of
 * latency and no pause shows them. Recorded facts decide. On a server of PostgreSQL's protocol,
 * the thread sleeps in poll, and another connection ended that while it worked on a request of its
 * own (waits/releases.h); or the answer reports an error for want of a lock.
 * No such wait is a sleep that its timeout ended, as of pg_sleep, or one for a page that the other
 * reads from a disk. A deadlock is never the usual; other waits are it where half of the requests
 * of their name wait, as of clients that take turns by a lock, and one alone happens on a healthy
 * server.
 */
#include "verdict.h"

#include "analyze/analyses/waits/polls.h"
#include "analyze/analyses/waits/releases.h"
#include "analyze/store/error_names.h"
#include "format/protocols.h"
#include "verdict_names.h"

#include <stdlib.h>
#include <string.h>

#define WAITS_MOST  1000
#define NAMES_MOST  64
#define SLEEP_LEAST 1000000 /* ns */

/* A request that slept for most of its time. */
struct lock_wait {
	s64 ts, queued, end, tid, name;
	s64 slept;    /* ns */
	bool latch;   /* in poll, of a protocol with locks that end so */
	char code[8]; /* of its error for want of a lock; empty: none */
};

struct lock_name {
	s64 name;
	double requests, latency; /* of all; ns */
	double waits, waited;	  /* of lock_waits; ns */
	double polled;		  /* requests that slept in poll for most of their time */
};

struct lock_waits {
	struct lock_wait v[WAITS_MOST];
	struct release of[WAITS_MOST];
	struct lock_name names[NAMES_MOST];
	int n, n_names;
};

static bool is_deadlock(const struct lock_wait *w)
{
	return !strcmp(w->code, "40P01") || !strcmp(w->code, "1213");
}

static s64 latency_of(const struct lock_wait *w)
{
	return w->end - w->ts + w->queued;
}

static bool waited_for_lock(const struct lock_waits *s, int i)
{
	return s->v[i].code[0] || (s->v[i].latch && s->of[i].released);
}

static int on_wait(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct lock_waits *s = arg;
	struct lock_wait *w = &s->v[s->n];

	(void)e;
	if (s->n == WAITS_MOST)
		return 0;
	*w = (struct lock_wait){
		.ts = sqlite3_column_int64(q, 0),
		.queued = sqlite3_column_int64(q, 1),
		.end = sqlite3_column_int64(q, 2),
		.tid = sqlite3_column_int64(q, 3),
		.name = sqlite3_column_int64(q, 4),
		.slept = sqlite3_column_int64(q, 7),
		.latch = sqlite3_column_int(q, 9),
	};
	if (strlen(db_text(q, 10)) < sizeof(w->code))
		memcpy(w->code, db_text(q, 10), strlen(db_text(q, 10)) + 1);
	s->of[s->n++] = (struct release){ .waiter = w->tid,
					  .from = sqlite3_column_int64(q, 5),
					  .at = sqlite3_column_int64(q, 6),
					  .waker = sqlite3_column_int64(q, 8) };
	return 0;
}

/*
 * The last sleep of each; sleeps that follow each other are one wait, as before and after a check
 * for a deadlock, if the timeout of none ended it.
 */
static int read_waits(struct lock_waits *s, struct analysis_ctx *c, const struct judged *j,
		      const struct limits *l, struct err *e)
{
	static const char sql[] =
		"WITH r AS MATERIALIZED (SELECT q.rowid AS id, q.ts, q.queued, q.ts + q.dur AS till, q.tid, q.name,"
		" n.protocol IN (?5, ?6) AS latch FROM request q JOIN request_name n ON n.id=q.name WHERE q.dur >= ?2"
		" AND NOT q.lossy AND readable(n.protocol) AND NOT awaits(n.protocol, n.name) AND q.service IN (SELECT"
		" id FROM service WHERE server=?1) ORDER BY q.dur DESC LIMIT ?3), t AS MATERIALIZED (SELECT r.id AS id,"
		" max(s.ts + s.dur) AS since FROM syscall s CROSS JOIN r ON r.tid=s.tid WHERE s.ret=0 AND s.dur >= ?4"
		" AND s.ts >= (SELECT min(ts) FROM r) AND s.ts >= r.ts AND s.ts + s.dur <= r.till AND s.nr IN " POLLS
		" GROUP BY r.id), w AS MATERIALIZED (SELECT r.id AS id, s.ts AS since, max(s.ts + s.dur) AS at,"
		" sum(s.dur) AS ns, iif(s.context=0, coalesce(s.waker, 0), 0) AS waker, s.state=state_id('poll') AND"
		" latch AS latch FROM thread_state s CROSS JOIN r ON r.tid=s.tid LEFT JOIN t ON t.id=r.id WHERE s.dur >="
		" ?4 AND s.ts >= r.ts AND s.ts + s.dur <= r.till AND s.ts >= coalesce(t.since, r.ts) AND s.state IN"
		" (state_id('poll'), state_id('futex')) GROUP BY r.id, s.state HAVING 2 * sum(s.dur) > r.till - r.ts)"
		" SELECT r.ts, queued, till, tid, name, since, at, ns, waker, w.latch, coalesce((SELECT code FROM (SELECT"
		" " ERROR_CODE_OF
		" AS code FROM request_error e WHERE e.tid=r.tid AND e.ts BETWEEN r.ts AND till) JOIN"
		" " LOCK_ERRORS " USING(code) LIMIT 1), '') FROM r JOIN w USING(id) ORDER BY r.ts";
	s64 longest = 0;
	int ret = db_int(
		c->db, &longest, e,
		"SELECT coalesce(max(max), 0) FROM request_stat WHERE service IN (SELECT id FROM"
		" service WHERE server=?1)",
		"i", j->about.id);

	if (ret < 0 || (double)longest < l->pause) /* the states of all threads need not be read */
		return ret;
	ret = db_each(c->db, e, on_wait, s, sql, "idiiii", j->about.id, l->pause, (s64)WAITS_MOST,
		      (s64)SLEEP_LEAST, (s64)PROTOCOL_POSTGRES, (s64)PROTOCOL_STATEMENT);
	return ret < 0 || !s->n ? ret : releases_find(c->db, s->of, (size_t)s->n, e);
}

/* A page that the other one reads: one sleep of it at a disk is most of the wait. */
static int leave_out_disks(struct lock_waits *s, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT count(*) FROM thread_state WHERE tid=?1 AND state=state_id('disk') AND ts < ?3 AND ts + dur > ?2"
		" AND 2 * (min(ts + dur, ?3) - max(ts, ?2)) > ?3 - ?2";
	int i, ret = 0;
	s64 at_disk;

	for (i = 0; i < s->n && ret == 0; i++) {
		struct release *w = &s->of[i];

		at_disk = 0;
		if (w->released)
			ret = db_int(db, &at_disk, e, sql, "iii", w->waker, w->at - s->v[i].slept,
				     w->at);
		w->released = w->released && !at_disk;
	}
	return ret;
}

static int on_name(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct lock_name *n = arg;

	(void)e;
	n->requests = sqlite3_column_double(q, 0);
	n->latency = sqlite3_column_double(q, 1);
	return 0;
}

static struct lock_name *name_of(struct lock_waits *s, s64 name)
{
	int i;

	for (i = 0; i < s->n_names && s->names[i].name != name; i++)
		;
	return i < s->n_names ? &s->names[i] : NULL;
}

static int on_polled(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct lock_name *n = name_of(arg, sqlite3_column_int64(q, 0));

	(void)e;
	if (n)
		n->polled = sqlite3_column_double(q, 1);
	return 0;
}

static int read_names(struct lock_waits *s, struct analysis_ctx *c, const struct judged *j,
		      struct err *e)
{
	static const char sql[] =
		"SELECT total(exchanges), total(latency) FROM request_stat WHERE name=?2 AND service IN (SELECT id"
		" FROM service WHERE server=?1)";
	static const char polled[] =
		"SELECT q.name, count(*) FROM request_wait w CROSS JOIN request q ON q.rowid=w.request WHERE"
		" w.state=state_id('poll') AND 2 * w.dur > q.dur AND q.service IN (SELECT id FROM service WHERE"
		" server=?1) GROUP BY 1";
	struct lock_name *n;
	int i, ret = 0;

	for (i = 0; i < s->n && ret == 0; i++) {
		if (!waited_for_lock(s, i))
			continue;
		n = name_of(s, s->v[i].name);
		if (!n && s->n_names < NAMES_MOST) {
			n = &s->names[s->n_names++];
			n->name = s->v[i].name;
			ret = db_each(c->db, e, on_name, n, sql, "ii", j->about.id, n->name);
		}
		if (n) {
			n->waits++;
			n->waited += (double)latency_of(&s->v[i]);
		}
	}
	return ret < 0 || !s->n_names ? ret
				      : db_each(c->db, e, on_polled, s, polled, "i", j->about.id);
}

/* ns of one without such a wait. */
static double usual_of(const struct lock_name *n)
{
	return n->requests > n->waits ? fmax(n->latency - n->waited, 0) / (n->requests - n->waits)
				      : 0;
}

/* ns that it took longer than others of its name; 0: it does not count. */
static double added_of(struct lock_waits *s, int i, const struct judged *j, const struct limits *l)
{
	const struct lock_wait *w = &s->v[i];
	const struct lock_name *n = waited_for_lock(s, i) ? name_of(s, w->name) : NULL;
	double took = (double)latency_of(w), usual = n ? usual_of(n) : 0;

	if (!n || verdict_in_pause(j, (double)(w->ts - w->queued), (double)w->end))
		return 0;
	if (!is_deadlock(w) && 2 * fmax(n->waits, w->latch ? n->polled : 0) >= n->requests)
		return 0;
	return took >= usual + l->latency && took >= usual * l->factor ? took - usual : 0;
}

static bool of_change(const struct judged *j, s64 name)
{
	int i;

	for (i = 0; j->names && i < j->names->n; i++)
		if (j->names->id[i] == name)
			return true;
	return !j->names;
}

/* ns that the change added without these waits: neither in it, nor in what it is compared with. */
static double added_without(struct lock_waits *s, const struct judged *j, const struct limits *l)
{
	double waits[2] = { 0 }, n[2] = { 0 };
	int i;

	for (i = 0; i < s->n; i++)
		if (of_change(j, s->v[i].name))
			waits[verdict_in_ranges(JUDGED_RANGES(j), j->ranges,
						(double)s->v[i].end)] += added_of(s, i, j, l);
	for (i = 0; i < j->n_windows; i++)
		n[verdict_in_ranges(JUDGED_RANGES(j), j->ranges, i * j->width)] += j->windows[i].n;
	return verdict_added_outside(j) - waits[1] + (n[0] > 0 ? waits[0] / n[0] * n[1] : 0);
}

/*
 * Most requests of the names of those that count, in the time range of a change: it is about the
 * level. A name of a single request, as the one that the others wait for, does not count.
 */
static int most_waited(bool *ret_most, struct lock_waits *s, struct analysis_ctx *c,
		       const struct judged *j, const struct limits *l, struct err *e)
{
	static const char sql[] =
		"SELECT count(*) FROM request WHERE name=?2 AND ts + dur >= ?3 AND ts + dur < ?4 AND NOT lossy AND"
		" service IN (SELECT id FROM service WHERE server=?1)";
	int i, k, ret = 0;
	s64 all;

	for (k = 0; k < s->n_names && ret == 0; k++) {
		double n = 0;

		for (i = 0; i < s->n; i++)
			n += s->v[i].name == s->names[k].name && added_of(s, i, j, l) > 0 &&
			     (double)s->v[i].end >= j->start && (double)s->v[i].end < j->end;
		all = 0;
		ret = db_int(c->db, &all, e, sql, "iidd", j->about.id, s->names[k].name, j->start,
			     j->end);
		*ret_most |= n > 0 && 2 * n >= (double)all;
	}
	return ret;
}

/* Whether these waits added more time than what else was found. */
static int outweighs(bool *ret, struct lock_waits *s, struct analysis_ctx *c,
		     const struct judged *j, const struct limits *l, bool deadlock, struct err *e)
{
	bool most = false;

	*ret = j->status == STATUS_NONE || (deadlock && j->kind == VERDICT_requests) ||
	       (j->kind == VERDICT_errors && 2 * j->locked.failed > j->n) ||
	       (j->kind == VERDICT_pauses && j->locked.added > j->spent);
	if (j->kind != VERDICT_slower || j->given)
		return 0;
	if (most_waited(&most, s, c, j, l, e) < 0)
		return ERR_FAIL;
	*ret = !most && j->locked.added > added_without(s, j, l) && j->locked.added > j->spent;
	return 0;
}

/* The longest with a holder, else the longest. */
static bool is_example(const struct lock_waits *s, int i, int best)
{
	if (best < 0 || s->of[i].released != s->of[best].released)
		return best < 0 || s->of[i].released;
	return s->v[i].slept > s->v[best].slept;
}

/* Fills j->locked; false: too few. */
static bool sum_up(struct lock_waits *s, struct judged *j, const struct limits *l,
		   bool *ret_deadlock)
{
	struct verdict_locked *k = &j->locked;
	bool several = false;
	s64 tid = 0;
	int i, best = -1;

	k->start = INFINITY;
	for (i = 0; i < s->n; i++) {
		const struct lock_wait *w = &s->v[i];
		double added = added_of(s, i, j, l);

		if (!(added > 0))
			continue;
		k->n++;
		k->added += added;
		k->max = fmax(k->max, (double)latency_of(w));
		k->start = fmin(k->start, (double)(w->ts - w->queued));
		k->end = fmax(k->end, (double)w->end);
		k->failed += w->code[0] != 0;
		if (w->code[0] && (!k->code[0] || is_deadlock(w)))
			memcpy(k->code, w->code, sizeof(k->code));
		*ret_deadlock |= is_deadlock(w);
		k->name = k->n > 1 && k->name != w->name ? 0 : w->name;
		several |= tid && tid != w->tid;
		tid = w->tid;
		best = is_example(s, i, best) ? i : best;
	}
	if (!*ret_deadlock && !several)
		return false;
	k->example = s->of[best];
	k->example.from = s->of[best].at - s->v[best].slept;
	for (i = 0; i < s->n && k->example.released; i++) {
		s64 from = s->of[i].at - s->v[i].slept, to = s->of[i].at, in;

		from = from > k->example.from ? from : k->example.from;
		to = to < k->example.at ? to : k->example.at;
		in = to - from;
		if (waited_for_lock(s, i) && s->v[i].tid == k->example.waker && in > k->in_turn) {
			k->in_turn = in;
			k->next = s->of[i];
		}
	}
	return true;
}

int verdict_locked(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct lock_waits *s = calloc(1, sizeof(*s));
	bool deadlock = false, first = false;
	int ret = s ? 0 : err_set(e, ERR_FAIL, "out of memory for waits for locks");

	if (ret == 0)
		ret = read_waits(s, c, j, l, e);
	if (ret == 0)
		ret = leave_out_disks(s, c->db, e);
	if (ret == 0)
		ret = read_names(s, c, j, e);
	if (ret == 0 && s->n_names && sum_up(s, j, l, &deadlock))
		ret = outweighs(&first, s, c, j, l, deadlock, e);
	if (ret == 0 && j->locked.name)
		j->locked.of = name_of(s, j->locked.name)->requests;
	free(s);
	return ret < 0 ? ret : first;
}
