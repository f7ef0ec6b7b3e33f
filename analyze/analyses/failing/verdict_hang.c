// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server without any answer in the recording, although requests wait: bytes that it has not
 * read, or a request of a protocol that has answers. A process that only receives, as one that
 * takes logs, reads what arrives and has no such requests. Requests that were read, by a process
 * that waits for input, may have no answer yet: a note, no problem; unless the threads that read
 * them are stuck, or the clients of all of them sent a head, and nothing of the body.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/state.h"

#include <stdlib.h>

#define GROUPS_MOST 2 /* of threads, those with most CPU time first */

const char *const verdict_does[N_STATES] = {
#define STATE(id, name, off, category, series, label, does, doc) [id] = (does),
#include "analyze/store/waits.def"
#undef STATE
};

/* Threads that spent most of the time in one state. */
struct hang_group {
	s64 tid, n; /* the one with most CPU time; how many */
	int state;
	double share;
	bool one_path; /* all wait in the same functions */
	struct buf call;
};

/* Requests that wait for as long as the limit of pauses. */
static int read_waiting(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	static const char sql[] =
		"WITH w AS MATERIALIZED (SELECT * FROM unanswered u WHERE service IN (SELECT"
		" id FROM service WHERE server=?1) AND ?2 - ts >= ?3 AND (read IS NULL OR name IN (SELECT id"
		" FROM request_name WHERE readable(protocol) AND NOT awaits(protocol, name))) AND NOT EXISTS (SELECT 1 FROM fd WHERE fd.pid=u.pid"
		" AND path='anon_inode:[io_uring]')), m AS (SELECT * FROM w WHERE rest NOT NULL) SELECT (SELECT"
		" count(*) FROM w), (SELECT total(read IS NULL) FROM w), (SELECT min(ts) FROM w), count(*),"
		" total(rest=announced), min(announced), max(announced), total(announced - rest), count(DISTINCT"
		" client), iif(min(name)=max(name), name, 0), (SELECT client FROM m GROUP BY client ORDER BY"
		" count(*) DESC, client LIMIT 1), (SELECT count(*) FROM connection WHERE role='accepted' AND ts > 0"
		" AND received > 0 AND sent > 0 AND pid IN (SELECT pid FROM service WHERE server=?1)) FROM m";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iid", j->about.id, c->duration, l->pause);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		j->n = j->waited = sqlite3_column_double(q, 0);
		j->unread = sqlite3_column_double(q, 1);
		j->start = sqlite3_column_double(q, 2);
		j->missing = (struct verdict_missing){
			.n = sqlite3_column_double(q, 3),
			.none = sqlite3_column_double(q, 4),
			.least = sqlite3_column_double(q, 5),
			.most = sqlite3_column_double(q, 6),
			.arrived = sqlite3_column_double(q, 7),
			.clients = sqlite3_column_double(q, 8),
			.name = sqlite3_column_int64(q, 9),
			.client = sqlite3_column_int64(q, 10),
		};
		j->unpaired = sqlite3_column_double(q, 11);
	}
	return db_end(q, ret);
}

static int read_groups(struct analysis_ctx *c, const struct judged *j, struct hang_group *v,
		       int *ret_n, struct err *e)
{
	static const char sql[] =
		"WITH o AS MATERIALIZED (SELECT tid, max(user_stack) AS stack FROM offcpu WHERE flags & 32 GROUP BY"
		" tid), t AS (SELECT tid, used + run AS busy FROM thread WHERE wall > 0 AND CASE ?1 WHEN 0 THEN"
		" pid=?4 AND ?6 OR pid=?4 AND EXISTS (SELECT 1 FROM fd WHERE fd.pid=?4 AND role='accepted' AND fd.end IS NULL)"
		" OR pid=?4 AND (SELECT total(run) FROM thread WHERE pid=?4)=0 ELSE pid IN (SELECT"
		" pid FROM service WHERE server=?1) OR ?7 AND pid IN (SELECT pid FROM process WHERE parent IN (SELECT"
		" pid FROM service WHERE server=?1)) END), s AS (SELECT tid, state, nr,"
		" sum(min(ts + dur, ?3) - max(ts, ?2)) AS ns FROM thread_state WHERE tid IN (SELECT tid FROM t)"
		" AND ts < ?3 AND ts + dur > ?2 GROUP BY 1, 2, 3), m AS (SELECT tid, state, nr, max(ns) AS ns,"
		" o.stack FROM s LEFT JOIN o USING(tid) GROUP BY tid) SELECT tid, state, (SELECT name FROM syscall_name n WHERE n.nr=m.nr ORDER BY abi"
		" LIMIT 1), count(*), 1.0 * ns / (?3 - ?2), max(busy), stack > 0 FROM m JOIN t USING(tid) GROUP"
		" BY state, nr, stack ORDER BY max(busy) DESC, tid LIMIT ?5";
	double from = isnan(j->start) ? 0 : j->start;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ididiii",
			   j->about.kind == SUBJECT_server ? j->about.id : (s64)0, from,
			   c->duration, (double)j->about.id, (s64)GROUPS_MOST,
			   (s64)(j->unaccepted.n > 0), (s64)(j->unpaired > 0));

	*ret_n = 0;
	if (ret < 0)
		return ret;
	while (ret >= 0 && *ret_n < GROUPS_MOST && (ret = db_step(q, e)) > 0) {
		struct hang_group *g = &v[(*ret_n)++];
		s64 state = sqlite3_column_int64(q, 1);

		g->tid = sqlite3_column_int64(q, 0);
		g->state = state >= 0 && state < N_STATES ? (int)state : STATE_unknown;
		g->n = sqlite3_column_int64(q, 3);
		g->share = 100 * sqlite3_column_double(q, 4);
		g->one_path = g->n == 1 || sqlite3_column_int64(q, 6);
		ret = buf_printf(&g->call, e, "%s", db_text(q, 2));
	}
	return db_end(q, ret);
}

static void free_groups(struct hang_group *v, int n)
{
	while (n-- > 0)
		buf_free(&v[n].call);
}

static int put_group(struct analysis_ctx *c, const struct judged *j, const struct hang_group *g,
		     struct err *e)
{
	struct buf function = { 0 }, caller = { 0 };
	double part = NAN, samples = NAN;
	s64 from = isnan(j->start) ? 0 : (s64)j->start;
	int ret = 0;

	if (g->state == STATE_run || g->state == STATE_preempted || g->state == STATE_woken)
		ret = pause_stack(&function, &part, &samples, c->db, j, g->tid, e);
	else if (g->one_path)
		ret = verdict_wait_caller(&caller, c->db, g->tid, from, c->duration, e);

	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, g->tid),
		VALUE_NUMBER("others", g->n > 1 ? (double)(g->n - 1) : NAN, ""),
		VALUE_TEXT("state", verdict_does[g->state]),
		VALUE_NUMBER("share", g->share, "%"),
		VALUE_TEXT("call", g->state != STATE_run && g->call.len ? g->call.data : NULL),
		VALUE_TEXT("function", function.len ? function.data : NULL),
		VALUE_NUMBER("part", function.len ? 100 * part : NAN, "%"),
		VALUE_NUMBER("samples", function.len ? samples : NAN, ""),
		VALUE_TEXT("caller", caller.len ? caller.data : NULL),
		{ 0 },
	};
	struct finding f = { FINDING_hang_thread,
			     j->status == STATUS_PROBLEM ? PROBLEM : NOTE,
			     OBSERVED,
			     j->about,
			     NULL,
			     values,
			     j->finding };

	ret = ret < 0 ? ret : finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&function);
	buf_free(&caller);
	return ret;
}

int verdict_hang_threads(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct hang_group v[GROUPS_MOST] = { 0 };
	int i, n, ret = read_groups(c, j, v, &n, e);

	for (i = 0; i < n && ret == 0; i++)
		if (v[i].state != STATE_unknown)
			ret = put_group(c, j, &v[i], e);
	free_groups(v, n);
	return ret;
}

/*
 * Threads of a pool wait for work on a futex, or until a time: while another thread of the process
 * waits for input, that is no sign of a hang. Threads that run goroutines or the like take turns to
 * wait for input, and park otherwise: then all of them count together.
 */
static int is_stuck(bool *ret_stuck, struct analysis_ctx *c, const struct judged *j,
		    const struct hang_group *g, struct err *e)
{
	static const char sql[] =
		"WITH p AS (SELECT pid FROM thread WHERE tid=?1), x AS MATERIALIZED (SELECT tid, state,"
		" sum(min(ts + dur, ?3) - max(ts, ?2)) AS ns FROM thread_state WHERE ts < ?3 AND ts + dur > ?2"
		" AND tid IN (SELECT tid FROM thread WHERE pid IN p) GROUP BY 1, 2) SELECT (SELECT count(*) FROM"
		" (SELECT state, max(ns) FROM x GROUP BY tid) WHERE state IN (state_id('poll'),"
		" state_id('socket'))) + (EXISTS (SELECT 1 FROM process WHERE pid IN p AND green NOT NULL) AND"
		" (SELECT 2 * total(ns) FROM x WHERE state IN (state_id('poll'), state_id('socket'))) >= ?3 -"
		" ?2)";
	bool idle = g->state == STATE_futex || g->state == STATE_timer;
	s64 inputs = 0;

	*ret_stuck =
		g->state != STATE_poll && g->state != STATE_socket && g->state != STATE_unknown;
	if (!*ret_stuck || !idle)
		return 0;
	if (db_int(c->db, &inputs, e, sql, "idi", g->tid, j->start, c->duration) < 0)
		return ERR_FAIL;
	*ret_stuck = !inputs;
	return 0;
}

/*
 * Each thread that read one of these requests waits ever since for something that is no input, and
 * woke no thread of its process before: it serves the request itself. On a futex it waits for a
 * lock: a condition variable may be how it waits for news, as in a long poll.
 */
static int are_readers_stuck(bool *ret_stuck, struct analysis_ctx *c, const struct judged *j,
			     const struct limits *l, struct err *e)
{
	static const char sql[] =
		"WITH u AS MATERIALIZED (SELECT pid, tid, read FROM unanswered WHERE service IN (SELECT id FROM"
		" service WHERE server=?1) AND ?2 - ts >= ?3 AND name IN (SELECT id FROM request_name WHERE"
		" readable(protocol) AND NOT awaits(protocol, name))), t AS MATERIALIZED (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM"
		" u)), s AS MATERIALIZED (SELECT tid, state, ts, max(ts + dur) FROM thread_state WHERE tid IN"
		" (SELECT tid FROM u) GROUP BY tid), w AS MATERIALIZED (SELECT waker, ts + dur AS at FROM"
		" thread_state WHERE waker IN (SELECT tid FROM u) AND tid IN t) SELECT count(*) > 0 AND count(*) ="
		" (SELECT count(*) FROM u WHERE read NOT NULL) FROM u JOIN s ON s.tid=u.tid AND s.ts >= u.read"
		" WHERE s.state NOT IN (state_id('run'), state_id('woken'), state_id('preempted'),"
		" state_id('poll'), state_id('socket'), state_id('unknown')) AND NOT EXISTS (SELECT 1 FROM w"
		" WHERE w.waker=u.tid AND w.at BETWEEN u.read AND s.ts) AND (s.state<>state_id('futex') OR EXISTS"
		" (SELECT 1 FROM futex_holder h WHERE h.tid=u.tid AND h.ts BETWEEN u.read AND s.ts))";
	s64 stuck = 0;
	int ret = db_int(c->db, &stuck, e, sql, "iid", j->about.id, c->duration, l->pause);

	*ret_stuck = stuck;
	return ret;
}

int verdict_hang(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct hang_group v[GROUPS_MOST] = { 0 };
	bool stuck = false;
	int n = 0, ret;

	j->p50 = j->p99 = j->p99_outside = j->max = j->idle = j->rate = j->errors = NAN;
	j->status = STATUS_UNKNOWN;
	j->kind = VERDICT_requests;
	ret = read_waiting(c, j, l, e);
	if (ret < 0 || j->n < 1)
		return ret;
	j->kind = VERDICT_hang;
	j->end = (double)c->duration;
	j->paused = j->end - j->start;
	j->pauses = calloc(1, sizeof(*j->pauses));
	if (!j->pauses)
		return err_set(e, ERR_FAIL, "out of memory for the verdict");
	j->pauses[0].start = (s64)j->start; /* no row of table pause */
	j->pauses[0].end = c->duration;
	j->pauses[0].counts = true;
	j->n_pauses = j->counted = 1;
	ret = read_groups(c, j, v, &n, e);
	if (ret == 0 && n)
		ret = is_stuck(&stuck, c, j, &v[0], e);
	if (ret == 0 && n && !stuck)
		ret = are_readers_stuck(&stuck, c, j, l, e);
	if (j->unread > 0 || stuck || j->missing.none >= j->n)
		j->status = STATUS_PROBLEM;
	free_groups(v, n);
	return ret;
}

static int put_missing(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_missing *m = &j->missing;
	const struct value values[] = {
		VALUE_NUMBER("n", m->n, ""),
		VALUE_MAYBE("name", request_name, m->name),
		VALUE_MAYBE("client", client, m->client),
		VALUE_NUMBER("others", m->clients > 1 ? m->clients - 1 : NAN, ""),
		VALUE_NUMBER("least", m->least < m->most ? m->least : NAN, "bytes"),
		VALUE_NUMBER("most", m->most, "bytes"),
		VALUE_NUMBER("arrived", m->arrived, "bytes"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_hang_missing,
		j->status == STATUS_PROBLEM ? PROBLEM : NOTE,
		OBSERVED,
		j->about,
		"SELECT ts, read, announced, rest, client FROM unanswered WHERE rest > 0",
		values,
		j->finding,
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_hang_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	bool before = j->start <= 0;
	const struct value values[] = {
		VALUE_NUMBER("duration", j->unpaired > 0 ? NAN : (double)c->duration, "ns"),
		VALUE_NUMBER("n", j->n, ""),
		VALUE_NUMBER("unread", j->unread > 0 ? j->unread : NAN, ""),
		VALUE_NUMBER("since", before ? NAN : j->start, "at"),
		VALUE_TEXT("before", before ? "before the recording" : NULL),
		VALUE_NUMBER("others", j->unpaired > 0 ? j->unpaired : NAN, ""),
		{ 0 },
	};
	struct finding f = { FINDING_verdict_hang,
			     j->status == STATUS_PROBLEM ? PROBLEM : NOTE,
			     OBSERVED,
			     j->about,
			     "SELECT * FROM unanswered",
			     values,
			     0 };
	const struct value none[] = { { 0 } };
	struct finding idle = { FINDING_hang_idle,
				NOTE,
				OBSERVED,
				j->about,
				"SELECT ts, read, tid FROM unanswered",
				none,
				0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	if (ret == 0)
		ret = verdict_connect_cause(c, j, e);
	if (ret == 0 && j->missing.n > 0)
		ret = put_missing(c, j, e);
	/* threads without work are no cause */
	if (ret < 0 || j->missing.n >= j->n)
		return ret;
	idle.parent = j->finding;
	if (j->status != STATUS_PROBLEM)
		return finding_put(c->db, c->analysis->name, &idle, NULL, e);
	return verdict_hang_threads(c, j, e);
}
