// SPDX-License-Identifier: GPL-2.0-or-later
/* What requests are said to wait for whose threads are stuck, and who has it. */
#include "verdict_stuck.h"

#include "analyze/store/state.h"

#include <limits.h>
#include <stdlib.h>

#define GROUPS_MOST 2  /* of threads that wait for the same, those with most threads */
#define CHAIN_MOST  64 /* of threads that release each other */

static bool is_lock(const struct stuck *w)
{
	return w->state == STATE_futex || w->state == STATE_lock;
}

/* The thread that released it, or the one that released that one, if it is none of these. */
static s64 first_waker(const struct stucks *s, const struct stuck *w)
{
	s64 waker = w->waker;
	int i, hops;

	for (hops = 0; hops < CHAIN_MOST && waker > 0; hops++) {
		for (i = 0; i < s->n && s->v[i].tid != waker; i++)
			;
		if (i == s->n)
			return waker;
		waker = s->v[i].waker;
	}
	return 0;
}

int verdict_did(const char **ret_did, double *ret_share, sqlite3 *db, s64 tid, s64 from, s64 to,
		struct err *e)
{
	static const char sql[] =
		"SELECT state, 100.0 * sum(min(ts + dur, ?3) - max(ts, ?2)) / (?3 - ?2) AS share FROM"
		" thread_state WHERE tid=?1 AND ts < ?3 AND ts + dur > ?2 GROUP BY 1 ORDER BY 2 DESC LIMIT 1";
	sqlite3_stmt *q;
	int state, ret = db_query(&q, db, e, sql, "iii", tid, from, to);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	state = ret > 0 ? sqlite3_column_int(q, 0) : -1;
	if (state >= 0 && state < N_STATES && state != STATE_unknown) {
		*ret_did = verdict_does[state];
		*ret_share = sqlite3_column_double(q, 1);
	}
	return db_end(q, ret);
}

static int read_path(struct buf *out, sqlite3 *db, const struct stuck *w, struct err *e)
{
	static const char sql[] =
		"SELECT path FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1) AND fd=?2 AND kind="
		"'file' AND ts <= ?3 ORDER BY ts DESC LIMIT 1";

	return w->fd < 0 ? 0 : db_add_text(out, db, e, sql, "iii", w->tid, w->fd, w->call);
}

static int put_group(struct analysis_ctx *c, const struct judged *j, const struct stucks *s,
		     const struct stuck *w, int n, struct err *e)
{
	bool lock = is_lock(w), released;
	struct buf path = { 0 }, caller = { 0 };
	const char *did = NULL;
	double share = NAN;
	struct stuck_holder holder = { 0 };
	int ret = stuck_holder(&holder, c->db, w, e);
	s64 by = holder.tid;

	released = lock && !by;
	if (released)
		by = first_waker(s, w);
	if (ret == 0 && by)
		ret = verdict_did(&did, &share, c->db, by, w->ts, w->till, e);
	if (ret == 0)
		ret = read_path(&path, c->db, w, e);
	if (ret == 0)
		ret = verdict_wait_caller(&caller, c->db, w->tid, w->ts, w->till, e);
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, w->tid),
		VALUE_NUMBER("others", n > 1 ? n - 1 : NAN, ""),
		VALUE_TEXT("state",
			   w->state == STATE_futex ? "waiting for a lock" : verdict_does[w->state]),
		VALUE_TEXT("path", path.len ? path.data : NULL),
		VALUE_NUMBER("length", (double)(w->till - w->ts), "ns"),
		VALUE_MAYBE(released ? "waker" : "holder", thread, by),
		VALUE_TEXT("did", did),
		VALUE_NUMBER("share", did ? share : NAN, "%"),
		VALUE_TEXT("caller", caller.len ? caller.data : NULL),
		VALUE_TEXT("before", holder.before ? "before the recording" : NULL),
		VALUE_TEXT("unknown", lock && !by ? "not known" : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_stuck_thread,
				   PROBLEM,
				   released && by ? CAUSAL : OBSERVED,
				   j->about,
				   NULL,
				   values,
				   j->finding };

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&path);
	buf_free(&caller);
	return ret;
}

static s64 length(const struct stuck *w)
{
	return w->till - w->ts;
}

/* How many threads n waits are of. */
static int threads_of(const struct stuck *v, int n)
{
	int i, k, threads = 0;

	for (i = 0; i < n; i++) {
		for (k = 0; k < i && v[k].tid != v[i].tid; k++)
			;
		threads += k == i;
	}
	return threads;
}

/* That of its longest wait stands for a group. */
static int put_groups(struct analysis_ctx *c, const struct judged *j, const struct stucks *s,
		      struct err *e)
{
	struct group {
		int from, n, longest;
	} g, most, last = { -1, INT_MAX, 0 };
	int i, said, ret = 0;

	for (said = 0; said < GROUPS_MOST && ret == 0; said++, last = most) {
		most = (struct group){ 0 };
		for (i = 0; i < s->n; i += g.n) {
			g = (struct group){ i, 0, i };
			for (; i + g.n < s->n && stuck_same(&s->v[i], &s->v[i + g.n]) == 0; g.n++)
				if (length(&s->v[i + g.n]) > length(&s->v[g.longest]))
					g.longest = i + g.n;
			if (g.n > most.n && (g.n < last.n || (g.n == last.n && i > last.from)))
				most = g;
		}
		if (!most.n)
			break;
		ret = put_group(c, j, s, &s->v[most.longest], threads_of(&s->v[most.from], most.n),
				e);
	}
	return ret;
}

/* What else was found, in the same sentence. */
struct also {
	double paused, longest, slower_end;
};

#define ALSO(j, a)                                                                          \
	VALUE_NUMBER("paused", (a).paused, ""), VALUE_NUMBER("longest", (a).longest, "ns"), \
		VALUE_NUMBER("slower", (j)->slower_from, "at"),                             \
		VALUE_NUMBER("slower_end", (a).slower_end, "at"),                           \
		VALUE_NUMBER("slower_ratio", (j)->slower_ratio, "x")

static struct also also_of(const struct judged *j)
{
	struct also a;

	a.paused = verdict_also_paused(j, &a.longest);
	a.slower_end = verdict_until(j, j->slower_to);
	return a;
}

/* They have been answered, next to many that did not wait. */
static int put_file_waits(struct analysis_ctx *c, struct judged *j, const struct stucks *s,
			  struct err *e)
{
	const struct also a = also_of(j);
	const struct value values[] = {
		VALUE_NUMBER("n", s->requests, ""),
		VALUE_NUMBER("of", s->of, ""),
		VALUE_NUMBER("max", s->max, "ns"),
		VALUE_NUMBER("start", s->start, "at"),
		VALUE_NUMBER("end", s->end, "at"),
		ALSO(j, a),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_file_waits,	     PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM file_lock_holder", values,  0 };

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

static int put_stuck(struct analysis_ctx *c, struct judged *j, const struct stucks *s,
		     struct err *e)
{
	bool open = j->end >= (double)c->duration - STUCK_ENTRY;
	double before = 0, oldest = 0, since = NAN;
	const struct also a = also_of(j);
	int i;

	for (i = 0; i < s->n; i++) {
		before += s->v[i].before;
		if (s->v[i].before)
			oldest = fmax(oldest, (double)-s->v[i].since);
		else
			since = fmin(isnan(since) ? INFINITY : since, (double)s->v[i].since);
	}
	const struct value values[] = {
		VALUE_NUMBER("n", s->n, ""),
		VALUE_NUMBER("max", s->max, "ns"),
		VALUE_TEXT("before", before == s->n ? "All" : NULL),
		VALUE_NUMBER("some", before > 0 && before < s->n ? before : NAN, ""),
		VALUE_NUMBER("oldest", before > 0 ? oldest : NAN, "ns"),
		VALUE_NUMBER(before > 0 ? "since" : "first", since, "at"),
		VALUE_NUMBER("end", open ? NAN : j->end, "at"),
		VALUE_TEXT("open", open ? "the recording ends" : NULL),
		ALSO(j, a),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_stuck,	   PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM request_before", values,  0 };

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

/* Others of their names were answered, in far less time. */
static int put_overdue(struct analysis_ctx *c, struct judged *j, const struct stucks *s,
		       struct err *e)
{
	const struct also a = also_of(j);
	const struct value values[] = {
		VALUE_NUMBER("n", s->requests, ""),
		VALUE_SUBJECT("name", request_name, s->name),
		VALUE_NUMBER("others", s->names > 1 ? s->names - 1 : NAN, ""),
		VALUE_NUMBER("max", s->max, "ns"),
		VALUE_TEXT("whose", s->names > 1 ? "these names" : "this name"),
		VALUE_NUMBER("usual", s->usual, "ns"),
		VALUE_NUMBER("first", s->start, "at"),
		ALSO(j, a),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_overdue,    PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM unanswered", values,	0 };

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

int verdict_stuck_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct stucks *s = j->stuck;
	int ret;

	j->status = STATUS_PROBLEM;
	if (stucks_are_overdue(s)) {
		ret = put_overdue(c, j, s, e);
		return ret == 0 ? overdue_threads(c, j, s, e) : ret;
	}
	ret = s->of > 0 ? put_file_waits(c, j, s, e) : put_stuck(c, j, s, e);
	return ret == 0 ? put_groups(c, j, s, e) : ret;
}

/* Whether a wait has half or more of a pause that counts. */
static bool explains_pause(const struct judged *j, const struct stuck *w)
{
	int i;

	for (i = 0; i < j->n_pauses; i++) {
		const struct judged_pause *p = &j->pauses[i];
		s64 from = w->ts > p->start ? w->ts : p->start,
		    to = w->till < p->end ? w->till : p->end;

		if (p->counts && 2 * (to - from) >= p->end - p->start)
			return true;
	}
	return false;
}

int verdict_stuck_asked(struct analysis_ctx *c, const struct judged *j, const struct judged *all,
			int n, struct err *e)
{
	struct stucks s = { 0 };
	int i, k, ret = 0;

	for (i = 0; i < n && (all[i].about.id != j->asked || !all[i].stuck); i++)
		;
	if (i == n || j->kind != VERDICT_pauses || !j->asked || stucks_are_overdue(all[i].stuck))
		return 0;
	s.v = calloc((size_t)all[i].stuck->n + 1, sizeof(*s.v));
	if (!s.v)
		return err_set(e, ERR_FAIL, "out of memory for the verdict");
	for (k = 0; k < all[i].stuck->n; k++)
		if (explains_pause(j, &all[i].stuck->v[k]))
			s.v[s.n++] = all[i].stuck->v[k];
	ret = put_groups(c, j, &s, e);
	free(s.v);
	return ret;
}

int verdict_stuck_maybe(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
			struct err *e)
{
	static const char before[] = "SELECT count(*) FROM request_before WHERE end IS NULL AND"
				     " service IN (SELECT id FROM service WHERE server=?1)";
	struct stucks s = { 0 };
	s64 n = 0; /* next to none have any: the states of all threads need not be read */
	int ret = 0;

	if (j->about.kind == SUBJECT_server)
		ret = db_int(c->db, &n, e, before, "i", j->about.id);
	if (ret == 0 && n)
		ret = stuck_read(&s, c, j, l, STUCK_MAY_SERVE, e);
	if (ret == 0 && s.n) {
		const struct value values[] = {
			VALUE_SUBJECT("thread", thread, s.v[0].tid),
			VALUE_TEXT("state", s.v[0].state == STATE_futex
						    ? "waiting for a lock"
						    : verdict_does[s.v[0].state]),
			VALUE_NUMBER("age", (double)-s.v[0].since, "ns"),
			VALUE_TEXT("unknown", "not known"),
			{ 0 },
		};
		const struct finding f = { FINDING_stuck_maybe,
					   NOTE,
					   LIMIT,
					   j->about,
					   "SELECT * FROM request_before",
					   values,
					   0 };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	free(s.v);
	return ret;
}
