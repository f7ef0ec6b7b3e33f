// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests without an answer until the recording ends, next to others of their names, which took
 * far less time: the thread that read one has waited for a futex since, as in a deadlock of
 * monitors, whose holders no futex word shows. Not if requests of that name are handed to other
 * threads, if the thread read others in that time, or if it waits where it does without a request:
 * then it is idle, and the request is elsewhere. Nor threads that run goroutines or the like.
 */
#include "verdict_stuck.h"

#include "analyze/store/state.h"

#include <stdlib.h>
#include <string.h>

/* %, of the time since the read: in state futex, other states are short moments between waits */
#define NEARLY_ALL  0.9
#define HANDED_MOST 0.1 /* of the requests of its name: another thread reads them */
/* Requests without an answer, times those of their names with one: few of both may be chance. */
#define EVIDENCE    200
#define PLACES_MOST 2

/*
 * ?1 server, ?2 duration, ?3 the least age, ?4 times as long as all others, ?5 so many others. Of
 * these c, those of names whose requests are answered by the thread that reads them (o), whose
 * thread waits for a futex (w), read nothing since (r), and not where it waits without one (b).
 */
static const char candidates_sql[] =
	"WITH own AS MATERIALIZED (SELECT id FROM service WHERE server=?1), a AS MATERIALIZED (SELECT name,"
	" max(max) AS longest, total(exchanges) AS n FROM request_stat WHERE service IN own AND name > 0 GROUP"
	" BY name), l AS (SELECT coalesce(max(ts + dur), 0) AS till FROM loss WHERE n > 0 AND grp IN ('core',"
	" 'syscalls', 'sched')), u AS MATERIALIZED (SELECT *, count(*) OVER (PARTITION BY tid) AS k FROM unanswered WHERE"
	" service IN own AND tid > 0 AND rest IS NULL), c AS MATERIALIZED (SELECT u.tid AS tid, u.ts AS ts, u.read AS read, u.name"
	" AS name, a.longest AS longest, a.n AS n FROM u JOIN a USING(name)"
	" JOIN l WHERE u.k=1 AND u.ts > l.till AND u.read NOT NULL AND ?2 - u.ts >= ?3 AND ?2 - u.ts > ?4 *"
	" a.longest AND a.n >= ?5 AND NOT EXISTS (SELECT 1 FROM request_name n WHERE n.id=u.name AND"
	" awaits(n.protocol, n.name)) AND NOT EXISTS (SELECT 1 FROM process p WHERE p.pid=u.pid AND green NOT NULL)"
	" ORDER BY u.name, u.tid LIMIT ?6), o AS MATERIALIZED (SELECT name FROM request WHERE service IN own GROUP"
	" BY name HAVING count(receiver) <= ?7 * count(*)), w AS MATERIALIZED (SELECT s.tid FROM thread_state s CROSS"
	" JOIN c ON c.tid=s.tid WHERE s.state=state_id('futex') AND s.ts < ?2 AND s.ts + s.dur > c.read GROUP BY"
	" s.tid HAVING total(min(s.ts + s.dur, ?2) - max(s.ts, c.read)) >= ?8 * (?2 - max(c.read))), r AS"
	" MATERIALIZED (SELECT c.tid FROM request q CROSS JOIN c ON c.tid=coalesce(q.receiver, q.tid) WHERE q.ts >"
	" c.read), i AS MATERIALIZED (SELECT DISTINCT x.tid, x.user_stack, c.read FROM offcpu x CROSS JOIN c ON"
	" c.tid=x.tid WHERE x.user_stack > 0 AND x.ts >= c.read AND 2 * x.dur > ?2 - c.read), b AS MATERIALIZED"
	" (SELECT x.tid FROM offcpu x CROSS JOIN i ON i.tid=x.tid AND i.user_stack=x.user_stack WHERE x.ts < i.read"
	" AND x.request IS NULL) SELECT tid, ts, read, name, longest, n FROM c WHERE name IN o AND tid IN w AND tid"
	" NOT IN r AND tid NOT IN b ORDER BY name, tid";

struct candidate {
	s64 tid, ts, read, name;
	double longest, answers;
};

static int read_candidates(struct candidate *v, int *ret_n, struct analysis_ctx *c,
			   const struct judged *j, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, candidates_sql, "iiddiidd", j->about.id, c->duration,
			   DUE_LEAST, DUE_TIMES, (s64)DUE_ANSWERS, (s64)STUCKS_MOST, HANDED_MOST,
			   NEARLY_ALL);

	if (ret < 0)
		return ret;
	while (*ret_n < STUCKS_MOST && (ret = db_step(q, e)) > 0)
		v[(*ret_n)++] = (struct candidate){
			.tid = sqlite3_column_int64(q, 0),
			.ts = sqlite3_column_int64(q, 1),
			.read = sqlite3_column_int64(q, 2),
			.name = sqlite3_column_int64(q, 3),
			.longest = sqlite3_column_double(q, 4),
			.answers = sqlite3_column_double(q, 5),
		};
	return db_end(q, ret);
}

/* By name. */
static void take(struct stucks *s, const struct candidate *v, int n, s64 end)
{
	double answers = 0, most = 0, of = 0;
	int i;

	for (i = 0; i < n; i++) {
		bool first = !i || v[i].name != v[i - 1].name;

		answers += first ? v[i].answers : 0;
		s->names += first;
		of = first ? 1 : of + 1;
		s->usual = fmax(s->usual, v[i].longest);
		if (of > most)
			s->name = v[i].name;
		most = fmax(most, of);
	}
	if (answers * n < EVIDENCE) {
		s->names = 0;
		return;
	}
	for (i = 0; i < n; i++)
		s->v[s->n++] = (struct stuck){ .tid = v[i].tid,
					       .ts = v[i].read,
					       .till = end,
					       .since = v[i].ts,
					       .fd = -1,
					       .state = STATE_futex };
}

int overdue_read(struct stucks *s, struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct candidate *v;
	int i, n = 0, ret;

	if (j->due < 1)
		return 0;
	v = calloc(STUCKS_MOST, sizeof(*v));
	if (!v)
		return err_set(e, ERR_FAIL, "out of memory for the verdict");
	ret = read_candidates(v, &n, c, j, e);
	if (ret == 0)
		take(s, v, n, c->duration);
	for (i = 0; i < s->n; i++)
		stuck_add(s, &s->v[i]);
	free(v);
	return ret;
}

/* ---- where they wait ---- */

/* The thread that woke one of them last; 0: none. */
static int read_waker(s64 *ret_waker, sqlite3 *db, const struct stuck *w, struct err *e)
{
	static const char sql[] =
		"SELECT waker FROM thread_state WHERE tid=?1 AND state=state_id('futex') AND waker > 0 AND ts"
		" >= ?2 AND ts + dur < ?3 ORDER BY ts DESC LIMIT 1";

	return db_int(db, ret_waker, e, sql, "iii", w->tid, w->ts, w->till);
}

static int put_place(struct analysis_ctx *c, const struct judged *j, const struct stuck *first,
		     double since, const struct buf *place, int n, s64 waker, struct err *e)
{
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, first->tid),
		VALUE_NUMBER("others", n > 1 ? n - 1 : NAN, ""),
		VALUE_NUMBER("since", since, "at"),
		VALUE_TEXT("caller", place->len ? place->data : NULL),
		VALUE_TEXT("none", waker ? NULL : "No thread"),
		VALUE_MAYBE("waker", thread, waker),
		{ 0 },
	};
	const struct finding f = { FINDING_overdue_thread,	 PROBLEM, OBSERVED,  j->about,
				   "SELECT * FROM thread_state", values,  j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

static bool is_same(const struct buf *x, const struct buf *y)
{
	return strcmp(x->len ? x->data : "", y->len ? y->data : "") == 0;
}

/* The threads that wait at places[first], which are not said yet; they are, then. */
static int put_group(struct analysis_ctx *c, const struct judged *j, const struct stucks *s,
		     const struct buf *places, bool *said, int first, struct err *e)
{
	double since = INFINITY;
	s64 waker = 0;
	int i, n = 0, ret = 0;

	for (i = first; i < s->n && ret == 0; i++) {
		if (said[i] || !is_same(&places[i], &places[first]))
			continue;
		said[i] = true;
		since = fmin(since, (double)s->v[i].ts);
		n++;
		if (!waker)
			ret = read_waker(&waker, c->db, &s->v[i], e);
	}
	return ret < 0 ? ret : put_place(c, j, &s->v[first], since, &places[first], n, waker, e);
}

int overdue_threads(struct analysis_ctx *c, const struct judged *j, const struct stucks *s,
		    struct err *e)
{
	struct buf *places = calloc((size_t)s->n, sizeof(*places));
	bool *said = calloc((size_t)s->n, sizeof(*said));
	int i, k, n, most, best, groups,
		ret = places && said ? 0 : err_set(e, ERR_FAIL, "out of memory for threads");

	for (i = 0; i < s->n && ret == 0; i++)
		ret = verdict_wait_caller(&places[i], c->db, s->v[i].tid, s->v[i].ts, s->v[i].till,
					  e);
	for (groups = 0; groups < PLACES_MOST && ret == 0; groups++) {
		for (most = 0, best = 0, i = 0; i < s->n; i++) {
			for (n = 0, k = i; k < s->n; k++)
				n += !said[i] && !said[k] && is_same(&places[i], &places[k]);
			best = n > most ? i : best;
			most = n > most ? n : most;
		}
		if (!most)
			break;
		ret = put_group(c, j, s, places, said, best, e);
	}
	for (i = 0; i < s->n && places; i++)
		buf_free(&places[i]);
	free(places);
	free(said);
	return ret;
}
