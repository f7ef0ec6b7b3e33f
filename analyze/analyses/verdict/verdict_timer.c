// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that the server itself delays: a limit of their rate, a pause of its clients by a
 * command. Recorded facts decide. The thread that answers, or asks the upstream of which it passes
 * on the answer, slept in poll before. That call returned 0: its timeout ended, nothing arrived.
 * From there to the answer it neither slept nor took other news, and no question of its process to
 * another server, nor a connect, was outstanding: for these a timeout is a limit.
 */
#include "verdict.h"

#include "analyze/analyses/waits/polls.h"
#include "analyze/base/idmap.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

#define LONGEST	      64      /* requests that are looked at: those */
#define LARGEST	      0.9     /* with so much of their time */
#define MOSTLY	      0.5     /* of their time */
#define ENTRY	      1000000 /* ns: a call begins so much earlier than its wait at most */
#define CALL(abi, nr) ((u64)(abi) << 32 | (u32)(nr))

struct delayed {
	s64 rowid, took;
	s64 pid, tid, ts, sent, polled;
	s64 begin;	     /* of its answer, or of the question whose answer it passes on */
	s64 asked, question; /* that question, of upstream: ts and rowid; 0: none */
	struct {
		s64 ts, till, state, waker;
	} wait;	     /* the last of its thread before that; ts INT64_MIN: none */
	u64 call;    /* of that wait, which returned 0 */
	bool timed;  /* there is one */
	bool others; /* it had other news, or may have waited for another server */
};

struct timer {
	const struct judged *j;
	struct delayed v[LONGEST]; /* by length */
	int n;
	struct idmap tids;  /* of those that waited in poll */
	struct idmap polls; /* calls */
	bool passed_on;	    /* an answer of another server */
	u64 call;
	s64 tid;
	double times;
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct delayed one = { .rowid = rowid,
			       .took = (s64)(row->dur + row->queued),
			       .pid = row->pid,
			       .tid = row->tid,
			       .ts = row->ts,
			       .sent = row->first_send,
			       .begin = row->first_send },
		       swap;
	struct timer *t = arg;
	int i;

	(void)e;
	if (!verdict_is_about(t->j, row->ts - row->queued, row->ts + row->dur, row->name))
		return 0;
	for (i = 0; i < t->n; i++)
		if (one.took > t->v[i].took) {
			swap = t->v[i];
			t->v[i] = one;
			one = swap;
		}
	if (t->n < LONGEST)
		t->v[t->n++] = one;
	return 0;
}

/* Its answer is known, and it waited in poll. */
static bool is_candidate(const struct delayed *d)
{
	return d->sent != BULK_NULL && d->polled > 0;
}

/* Steps through the candidates of a thread, or of a process: i starts as 0. NULL: no more. */
static struct delayed *next_of(struct timer *t, int *i, s64 tid, s64 pid)
{
	for (; *i < t->n; (*i)++) {
		struct delayed *d = &t->v[*i];

		if (is_candidate(d) && (d->tid == tid || d->pid == pid))
			return &t->v[(*i)++];
	}
	return NULL;
}

#define EACH_OF_THREAD(t, d, i, tid)  (i = 0; (d = next_of(t, &i, tid, -1));)
#define EACH_OF_PROCESS(t, d, i, pid) (i = 0; (d = next_of(t, &i, -1, pid));)

static int on_part(void *arg, s64 rowid, const void *part, struct err *e)
{
	const struct row_request_wait *row = part;
	struct timer *t = arg;
	int i;

	(void)rowid;
	(void)e;
	for (i = 0; row->state == STATE_poll && i < t->n; i++)
		t->v[i].polled += t->v[i].rowid == row->request ? row->dur : 0;
	return 0;
}

static bool is_wait(s64 state)
{
	return state != STATE_run && state != STATE_woken && state != STATE_preempted &&
	       state != STATE_unknown;
}

/* The last wait before the answer, or the question, began. */
static int on_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct timer *t = arg;
	struct delayed *d;
	int i;

	(void)rowid;
	(void)e;
	if (!is_wait(row->state) || !idmap_get(&t->tids, (u64)row->tid))
		return 0;
	for
		EACH_OF_THREAD(t, d, i, row->tid)
	if (row->ts + row->dur <= d->begin && row->ts > d->wait.ts) {
		d->wait.ts = row->ts;
		d->wait.till = row->ts + row->dur;
		d->wait.state = row->state;
		d->wait.waker = row->waker;
	}
	return 0;
}

/* An answer that was passed on at once: its question. */
static int on_answer(void *arg, s64 rowid, const void *answer, struct err *e)
{
	const struct row_upstream *row = answer;
	struct timer *t = arg;
	struct delayed *d;
	s64 end = row->ts + row->dur;
	int i;

	(void)e;
	if (!idmap_get(&t->tids, (u64)row->tid))
		return 0;
	for
		EACH_OF_THREAD(t, d, i, row->tid)
	if (row->ts >= d->ts && end <= d->sent && d->wait.ts < end && row->ts > d->asked) {
		d->asked = row->ts;
		d->question = rowid;
		t->passed_on = true;
	}
	return 0;
}

/* Its question began, or the socket for it, when the delay ended. */
static int begin_of(struct delayed *d, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH u AS (SELECT pid, fd, coalesce(first_send, ts) AS first FROM upstream WHERE rowid=?1)"
		" SELECT max(?2, min(first, coalesce((SELECT nullif(f.ts, 0) FROM fd f WHERE"
		" f.pid=u.pid AND f.fd=u.fd AND f.ts <= u.first AND f.ts >= ?2 ORDER BY f.ts DESC LIMIT 1),"
		" first))) FROM u";
	int ret = db_int(db, &d->begin, e, sql, "ii", d->question, d->ts);

	d->begin = d->begin > 0 ? d->begin : d->sent;
	return ret;
}

/* In poll, and no thread woke it. */
static bool is_idle(const struct delayed *d)
{
	return d->wait.ts != INT64_MIN && d->wait.till > d->ts && d->wait.state == STATE_poll &&
	       d->wait.waker == BULK_NULL;
}

/* The call of that wait, and later ones that returned news. */
static int on_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct timer *t = arg;
	struct delayed *d;
	int i;

	(void)rowid;
	(void)e;
	if (row->ret < 0 || !idmap_get(&t->polls, CALL(row->abi, row->nr)) ||
	    !idmap_get(&t->tids, (u64)row->tid))
		return 0;
	for
		EACH_OF_THREAD(t, d, i, row->tid)
		{
			if (row->ret > 0) {
				d->others |= row->ts >= d->wait.till && row->ts < d->begin;
			} else if (!d->timed && row->dur != BULK_NULL && row->ts <= d->wait.ts &&
				   row->ts >= d->wait.ts - ENTRY &&
				   row->ts + row->dur >= d->wait.till) {
				d->timed = true;
				d->call = CALL(row->abi, row->nr);
			}
		}
	return 0;
}

static bool within(const struct delayed *d, s64 ts)
{
	return ts >= d->ts && ts <= d->wait.till;
}

/* Questions of its process to other servers that were not answered before it; a socket may be
 * closed when the time for the answer is over. */
static int on_question(void *arg, s64 rowid, const void *question, struct err *e)
{
	const struct row_upstream *row = question;
	struct timer *t = arg;
	struct delayed *d;
	int i;

	(void)rowid;
	(void)e;
	for
		EACH_OF_PROCESS(t, d, i, row->pid)
	d->others |= row->ts + row->dur >= d->wait.till &&
		     within(d, row->first_send == BULK_NULL ? row->ts : row->first_send);
	return 0;
}

static int on_unanswered(void *arg, s64 rowid, const void *question, struct err *e)
{
	const struct row_upstream_unanswered *row = question;
	struct timer *t = arg;
	struct delayed *d;
	int i;

	(void)rowid;
	(void)e;
	for
		EACH_OF_PROCESS(t, d, i, row->pid)
	d->others |= within(d, row->ts);
	return 0;
}

/* The same of connections: ts, end of the handshake. */
static int on_connect(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct timer *t = arg;
	struct delayed *d;
	int i;

	(void)e;
	for
		EACH_OF_PROCESS(t, d, i, sqlite3_column_int64(q, 0))
	d->others |=
		within(d, sqlite3_column_int64(q, 1)) && sqlite3_column_int64(q, 2) >= d->wait.till;
	return 0;
}

/* Those that make up most of the time: a few that take far longer than the others are the problem.
 */
static void shorten(struct timer *t)
{
	double all = 0, sum = 0;
	int i;

	for (i = 0; i < t->n; i++)
		all += (double)t->v[i].took;
	for (i = 0; i < t->n && sum < LARGEST * all; i++)
		sum += (double)t->v[i].took;
	t->n = i;
}

static void forget_waits(struct timer *t)
{
	int i;

	for (i = 0; i < t->n; i++)
		t->v[i].wait.ts = INT64_MIN;
}

/* Each table is read once or twice, for all of them. */
static int read_waits(struct timer *t, sqlite3 *db, struct err *e)
{
	static const u32 states = COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
				  COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state) |
				  COLUMN_OF(thread_state, waker);
	static const u32 answers =
		COLUMN_OF(upstream, ts) | COLUMN_OF(upstream, dur) | COLUMN_OF(upstream, tid);
	int i, ret;

	forget_waits(t);
	ret = rows_each(db, TABLE_thread_state, states, on_state, t, e);
	if (ret == 0)
		ret = rows_each(db, TABLE_upstream, answers, on_answer, t, e);
	if (ret < 0 || !t->passed_on)
		return ret;
	for (i = 0; i < t->n && ret == 0; i++)
		if (t->v[i].question)
			ret = begin_of(&t->v[i], db, e);
	forget_waits(t);
	return ret < 0 ? ret : rows_each(db, TABLE_thread_state, states, on_state, t, e);
}

static int read_others(struct timer *t, sqlite3 *db, struct err *e)
{
	static const u32 calls = COLUMN_OF(syscall, ts) | COLUMN_OF(syscall, dur) |
				 COLUMN_OF(syscall, tid) | COLUMN_OF(syscall, abi) |
				 COLUMN_OF(syscall, nr) | COLUMN_OF(syscall, ret);
	static const u32 questions = COLUMN_OF(upstream, ts) | COLUMN_OF(upstream, dur) |
				     COLUMN_OF(upstream, pid) | COLUMN_OF(upstream, first_send);
	static const u32 unanswered =
		COLUMN_OF(upstream_unanswered, ts) | COLUMN_OF(upstream_unanswered, pid);
	int ret = db_each(db, e, db_idmap, &t->polls,
			  "SELECT s.abi << 32 | s.nr, 1 FROM syscall_name s WHERE s.nr IN " POLLS,
			  "");

	if (ret == 0)
		ret = rows_each(db, TABLE_syscall, calls, on_call, t, e);
	if (ret == 0)
		ret = rows_each(db, TABLE_upstream, questions, on_question, t, e);
	if (ret == 0)
		ret = rows_each(db, TABLE_upstream_unanswered, unanswered, on_unanswered, t, e);
	return ret < 0 ? ret
		       : db_each(db, e, on_connect, t,
				 "SELECT pid, ts, coalesce(ts + handshake, 9e18) FROM connection WHERE"
				 " role='connected'",
				 "");
}

/* Fills polled, and tids; 1: some waited in poll. */
static int read_polled(struct timer *t, sqlite3 *db, struct err *e)
{
	int i, some = 0, ret = rows_each(db, TABLE_request_wait, COLUMNS_ALL, on_part, t, e);

	for (i = 0; i < t->n && ret == 0; i++) {
		if (!is_candidate(&t->v[i]))
			continue;
		some = 1;
		ret = idmap_put(&t->tids, (u64)t->v[i].tid, t, LONGEST, e);
	}
	return ret < 0 ? ret : some;
}

/* 1: most of the time of the longest requests ended with a timer. */
static int judge(struct timer *t, sqlite3 *db, struct err *e)
{
	double all = 0, polled = 0;
	int i, ret = read_polled(t, db, e);

	if (ret <= 0)
		return ret;
	ret = read_waits(t, db, e);
	if (ret == 0)
		ret = read_others(t, db, e);
	for (i = 0; i < t->n && ret == 0; i++) {
		struct delayed *d = &t->v[i];

		all += (double)d->took;
		if (!is_candidate(d) || !is_idle(d) || !d->timed || d->others)
			continue;
		t->tid = t->times > 0 ? t->tid : d->tid;
		t->call = t->times > 0 ? t->call : d->call;
		t->times++;
		polled += (double)d->polled;
	}
	return ret < 0 ? ret : t->times > 0 && polled >= MOSTLY * all;
}

int verdict_timer(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char name[] = "SELECT name FROM syscall_name WHERE abi=?1 AND nr=?2 LIMIT 1";
	struct timer t = { .j = j };
	struct buf call = { 0 };
	int ret = requests_each(
		c->db,
		COLUMN_OF(request, pid) | COLUMN_OF(request, tid) | COLUMN_OF(request, first_send),
		"SELECT id FROM service WHERE server=?1", j->about.id, add_request, &t, e);

	shorten(&t);
	if (ret == 0)
		ret = judge(&t, c->db, e);
	if (ret > 0 &&
	    db_add_text(&call, c->db, e, name, "ii", (s64)(t.call >> 32), (s64)(u32)t.call) < 0)
		ret = ERR_FAIL;
	if (ret > 0) {
		const struct value values[] = {
			VALUE_SUBJECT("thread", thread, t.tid),
			VALUE_NUMBER("of", t.n > 1 ? t.n : NAN, ""),
			VALUE_NUMBER("n", t.times, ""),
			VALUE_TEXT("call", call.len ? call.data : NULL),
			{ 0 },
		};
		const struct finding f = {
			FINDING_verdict_timer, PROBLEM, OBSERVED, j->about, NULL, values, j->finding
		};

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e) < 0 ? ERR_FAIL : 1;
	}
	buf_free(&call);
	idmap_free(&t.tids);
	idmap_free(&t.polls);
	return ret;
}
