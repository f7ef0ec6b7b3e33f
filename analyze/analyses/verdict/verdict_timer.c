// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that the server itself delays: a limit of their rate, a pause of its clients by a
 * command. Recorded facts decide. The thread that answers, or asks the upstream of which it passes
 * on the answer, slept in poll before. That call returned 0: its timeout ended, nothing arrived.
 * From there to the answer it neither slept nor took other news, and no question of its process to
 * another server, nor a connect, was outstanding: for these a timeout is a limit.
 */
#include "verdict.h"

#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

#define LONGEST 64  /* requests that are looked at: those */
#define LARGEST 0.9 /* with so much of their time */
#define MOSTLY	0.5 /* of their time */
#define WAITS \
	"state NOT IN (state_id('run'), state_id('woken'), state_id('preempted'), state_id('unknown'))"

struct delayed {
	s64 rowid, took;
	s64 pid, tid, ts, sent, polled;
};

struct timer {
	const struct judged *j;
	struct delayed v[LONGEST]; /* by length */
	int n;
	struct buf call;
	s64 tid;
	double times;
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct delayed one = { .rowid = rowid, .took = (s64)(row->dur + row->queued) }, swap;
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

/* False: when its answer began is not known. */
static int read_request(struct delayed *d, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT pid, tid, ts, first_send, (SELECT total(dur) FROM request_wait WHERE request=?1 AND"
		" state=state_id('poll')) FROM request WHERE rowid=?1 AND first_send NOT NULL";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "i", d->rowid);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		d->pid = sqlite3_column_int64(q, 0);
		d->tid = sqlite3_column_int64(q, 1);
		d->ts = sqlite3_column_int64(q, 2);
		d->sent = sqlite3_column_int64(q, 3);
		d->polled = sqlite3_column_int64(q, 4);
	}
	sqlite3_finalize(q);
	return ret;
}

/* An answer that was passed on: its question began, or the socket for it, when the delay ended. */
static int begin_of(s64 *ret_begin, const struct delayed *d, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH u AS (SELECT u.pid, u.fd, u.ts AS asked, coalesce(u.first_send, u.ts) AS first FROM upstream u"
		" WHERE u.tid=?1 AND u.ts >= ?2 AND u.ts + u.dur <= ?3 AND NOT EXISTS (SELECT 1 FROM thread_state s"
		" WHERE s.tid=?1 AND s.ts >= u.ts + u.dur AND s.ts + s.dur <= ?3 AND s." WAITS
		") ORDER BY u.ts DESC LIMIT 1) SELECT max(?2, min(first, coalesce((SELECT nullif(f.ts, 0) FROM fd f WHERE"
		" f.pid=u.pid AND f.fd=u.fd AND f.ts <= u.first AND f.ts >= ?2 ORDER BY f.ts DESC LIMIT 1),"
		" first))) FROM u";

	int ret = db_int(db, ret_begin, e, sql, "iii", d->tid, d->ts, d->sent);

	*ret_begin = *ret_begin > 0 ? *ret_begin : d->sent;
	return ret;
}

/* The last wait before it: in poll, ended by its timeout; 1: so. */
static int is_timed(struct timer *t, const struct delayed *d, s64 begin, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH w AS MATERIALIZED (SELECT ts, ts + dur AS till, state, waker FROM thread_state WHERE tid=?1 AND"
		" ts < ?4 AND ts + dur > ?3 AND ts + dur <= ?4 AND " WAITS
		" ORDER BY ts DESC LIMIT 1) SELECT n.name FROM w JOIN syscall s ON s.tid=?1 AND s.ts BETWEEN w.ts -"
		" 1000000 AND w.ts AND s.ts + s.dur >= w.till AND s.ret=0 AND s.nr IN " POLLS
		" JOIN syscall_name n ON n.abi=s.abi AND n.nr=s.nr WHERE w.state=state_id('poll') AND w.waker IS NULL"
		" AND NOT EXISTS (SELECT 1 FROM syscall s WHERE s.tid=?1 AND s.ts >= w.till AND s.ts < ?4 AND s.ret > 0"
		" AND s.nr IN " POLLS
		") AND NOT EXISTS (SELECT 1 FROM upstream u WHERE u.pid=?2 AND u.ts + u.dur >= w.till AND"
		" coalesce(u.first_send, u.ts) BETWEEN ?3 AND w.till) AND NOT EXISTS (SELECT 1 FROM"
		" upstream_unanswered u WHERE NOT u.closed AND u.pid=?2 AND u.ts BETWEEN ?3 AND w.till) AND NOT EXISTS (SELECT 1 FROM"
		" connection k WHERE k.pid=?2 AND k.role='connected' AND k.ts BETWEEN ?3 AND w.till AND (k.handshake IS"
		" NULL OR k.ts + k.handshake >= w.till)) LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iiii", d->tid, d->pid, d->ts, begin);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && !t->call.len)
		ret = buf_printf(&t->call, e, "%s", db_text(q, 0)) < 0 ? ERR_FAIL : 1;
	sqlite3_finalize(q);
	return ret;
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

/* 1: most of the time of the longest requests ended with a timer. */
static int judge(struct timer *t, sqlite3 *db, struct err *e)
{
	double all = 0, polled = 0;
	s64 begin;
	int i, ret;

	for (i = 0; i < t->n; i++) {
		struct delayed *d = &t->v[i];

		all += (double)d->took;
		ret = read_request(d, db, e);
		if (ret <= 0 || d->polled <= 0) {
			if (ret < 0)
				return ret;
			continue;
		}
		ret = begin_of(&begin, d, db, e);
		if (ret == 0)
			ret = is_timed(t, d, begin, db, e);
		if (ret < 0)
			return ret;
		t->tid = ret && !t->tid ? d->tid : t->tid;
		t->times += ret;
		polled += ret ? (double)d->polled : 0;
	}
	return t->times > 0 && polled >= MOSTLY * all;
}

int verdict_timer(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct timer t = { .j = j };
	int ret = requests_each(c->db, 0, "SELECT id FROM service WHERE server=?1", j->about.id,
				add_request, &t, e);

	shorten(&t);
	if (ret == 0)
		ret = judge(&t, c->db, e);
	if (ret > 0) {
		const struct value values[] = {
			VALUE_SUBJECT("thread", thread, t.tid),
			VALUE_NUMBER("of", t.n, ""),
			VALUE_NUMBER("n", t.times, ""),
			VALUE_TEXT("call", t.call.len ? t.call.data : NULL),
			{ 0 },
		};
		const struct finding f = {
			FINDING_verdict_timer, PROBLEM, OBSERVED, j->about, NULL, values, j->finding
		};

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e) < 0 ? ERR_FAIL : 1;
	}
	buf_free(&t.call);
	return ret;
}
