// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers of several sends whose last part stays on the host of the server: with Nagle's algorithm
 * a small segment waits until all before it are acknowledged, and the client, that waits for the
 * rest, delays this ACK by 40 ms. It acknowledges all when the rest has come, and asks again at
 * once. Where the recorder marks the ACK that released the last part (request.held), this decides,
 * and the time is part of the latency; a change is one of latency then. In recordings of older
 * ones it is in no latency. During their whole time it is said of clients that ask when they want
 * to, but never before the ACK: the later it comes, the later they ask.
 *
 * Other late ACKs are none of these: a client that has the whole answer asks without regard to the
 * ACK, and its request is the ACK if it is earlier. A far network is as far before. Answers of one
 * send have nothing before them, and those that were sent again were lost.
 */
#include "analyze/store/db.h"
#include "analyze/store/request_rows.h"
#include "shares.h"
#include "verdict_queues.h"

#include <math.h>

#define LEAST	30   /* answers, in that time and outside */
#define MOST_OF 0.9  /* of the answers in that time */
#define STEP	0.5  /* of the answers of a window, more than outside */
#define AT_ONCE 1e6  /* ns from the ACK to the next request */
#define NEAR	20e6 /* ns: the path is far shorter than a delayed ACK */

/* h: answers with an ACK of all of it; late are those of several sends, with nothing sent again;
 * held: of these, the next request follows at once. */
#define ANSWERS                                                                                              \
	"WITH t AS MATERIALIZED (SELECT f.pid, f.fd, r.ts FROM retransmit r JOIN fd f ON f.local=r.local"    \
	" AND f.remote=r.remote WHERE f.role='accepted'), g AS (SELECT pid, fd, ts + dur AS at, sends,"      \
	" acked, client, lead(ts - queued) OVER (PARTITION BY pid, fd ORDER BY ts) - ts - dur AS next"       \
	" FROM request WHERE NOT lossy AND service IN (SELECT id FROM service WHERE server=?1)), a AS"       \
	" (SELECT at, sends, acked, client, next, sends > 1 AND acked BETWEEN ?2 AND ?3 AND coalesce(next >" \
	" acked, 1) AND NOT EXISTS (SELECT 1 FROM t WHERE t.pid=g.pid AND t.fd=g.fd AND t.ts BETWEEN at"     \
	" AND at + acked) AS late FROM g WHERE acked NOT NULL), h AS MATERIALIZED (SELECT *, late AND"       \
	" coalesce(next < acked + ?4, 0) AS held FROM a)"
#define BOUNDS "iddd"

static int on_window(void *arg, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	shares_add(arg, sqlite3_column_double(q, 0), sqlite3_column_double(q, 1));
	return 0;
}

struct acks {
	double from, to;
	struct verdict_nagle *n;
	double outside; /* held back */
	struct hist of[2];
};

/* In that time the first and the last that is held back are its ends. */
static int on_ack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct acks *a = arg;
	double at = sqlite3_column_double(q, 0), acked = sqlite3_column_double(q, 2);
	bool held = sqlite3_column_int(q, 1), in = at >= a->from && at < a->to;

	(void)e;
	if (!in) {
		a->outside += held;
		hist_add(&a->of[0], (u64)acked);
		return 0;
	}
	a->n->of++;
	if (!held)
		return 0;
	a->n->start = a->n->n > 0 ? a->n->start : at;
	a->n->end = fmax(a->n->end, at + acked);
	a->n->n++;
	hist_add(&a->of[1], (u64)acked);
	return 0;
}

static int read_range(struct analysis_ctx *c, struct judged *j, const double range[2],
		      struct err *e)
{
	static const char sql[] = ANSWERS " SELECT at, held, acked FROM h ORDER BY at";
	struct acks a = { .from = range[0], .to = range[1], .n = &j->nagle };
	struct verdict_nagle *n = &j->nagle;
	int ret = db_each(c->db, e, on_ack, &a, sql, BOUNDS, j->about.id, ACK_DELAYED,
			  ACK_DELAYED + ACK_TICK, AT_ONCE);

	n->late = verdict_quantile(&a.of[1], 0.5);
	n->before = verdict_quantile(&a.of[0], 0.5);
	if (n->n < LEAST || n->n < MOST_OF * n->of || a.of[0].n < LEAST ||
	    a.outside > (1 - MOST_OF) * (double)a.of[0].n || n->before > NEAR)
		n->n = 0;
	hist_free(&a.of[0]);
	hist_free(&a.of[1]);
	return ret;
}

/* Whether there may be any: all answers need not be put in the order of their connections. */
static int may_be(bool *ret, struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT count(*) FROM (SELECT 1 FROM request WHERE sends > 1 AND acked BETWEEN ?2 AND ?3 AND"
		" NOT lossy AND service IN (SELECT id FROM service WHERE server=?1) LIMIT ?4)";
	s64 n = 0;
	int r = db_int(c->db, &n, e, sql, "iddi", j->about.id, ACK_DELAYED, ACK_DELAYED + ACK_TICK,
		       (s64)LEAST);

	*ret = n >= LEAST;
	return r;
}

/* ---- of the whole recording ---- */

/* Sums over late answers whose next request follows soon: x is the ACK, y that request. */
struct always {
	double n, of, near;
	double early; /* requests that are the ACK of an answer, about when it is due */
	double k, x, y, xx, xy, yy;
	struct hist late;
};

static int on_answer(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct always *a = arg;
	bool late = sqlite3_column_int(q, 0), several = sqlite3_column_int(q, 3);
	double acked = sqlite3_column_double(q, 1), next = sqlite3_column_double(q, 2);
	double x = acked - ACK_DELAYED, y = next - ACK_DELAYED;

	(void)e;
	a->of++;
	a->near += acked < NEAR;
	a->early += several && fabs(x) <= ACK_TICK && next > 0 && next <= acked;
	if (!late)
		return 0;
	a->n++;
	hist_add(&a->late, (u64)acked);
	if (!(next > 0) || next > acked + ACK_TICK)
		return 0;
	a->k++;
	a->x += x;
	a->y += y;
	a->xx += x * x;
	a->xy += x * y;
	a->yy += y * y;
	return 0;
}

/*
 * The slope of least squares is 1 if clients wait for the ACK, and 0 if they do not; nor do
 * requests come before the ACK then.
 */
static bool moves_with_ack(const struct always *a)
{
	double xx = a->xx - a->x * a->x / a->k, xy = a->xy - a->x * a->y / a->k;
	double slope = xy / xx, rest = a->yy - a->y * a->y / a->k - slope * xy;

	return a->k >= LEAST && a->early < SIDE_MOST * a->k &&
	       slope - 2 * sqrt(fmax(rest, 0) / (a->k - 2) / xx) > STEP;
}

/* Of clients whose path is short: some answers arrive before. */
static int read_always(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] = ANSWERS
		" SELECT late, acked, next, sends > 1 FROM h WHERE client IN (SELECT client FROM h GROUP BY"
		" client HAVING min(acked) < ?5)";
	struct always a = { 0 };
	int ret = db_each(c->db, e, on_answer, &a, sql, BOUNDS "d", j->about.id, ACK_DELAYED,
			  ACK_DELAYED + ACK_TICK, AT_ONCE, NEAR);

	if (ret == 0 && a.near >= LEAST && a.n > SIDE_MOST * a.of && moves_with_ack(&a))
		j->nagle = (struct verdict_nagle){ .n = a.n,
						   .of = a.of,
						   .end = (double)c->duration,
						   .late = verdict_quantile(&a.late, 0.5),
						   .always = true };
	hist_free(&a.late);
	return ret;
}

static int read_change(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] = ANSWERS " SELECT at, held FROM h";
	struct shares w = { .width = j->width, .n = j->n_windows };
	double range[2] = { 0 };
	int ret = db_each(c->db, e, on_window, &w, sql, BOUNDS, j->about.id, ACK_DELAYED,
			  ACK_DELAYED + ACK_TICK, AT_ONCE);

	return ret == 0 && shares_range(&w, STEP, range) ? read_range(c, j, range, e) : ret;
}

/* ---- recorded ---- */

struct recorded {
	const struct judged *j;
	double n, of;	  /* held; of all, outside of the time of another problem */
	struct hist held; /* of all that were */
};

static int on_recorded(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct recorded *a = arg;
	double end = (double)row->ts + (double)row->dur;

	(void)rowid;
	(void)e;
	if (row->held > 0)
		hist_add(&a->held, (u64)row->held);
	if (a->j->status == STATUS_PROBLEM && end >= a->j->start && end < a->j->end)
		return 0;
	a->of++;
	a->n += row->held > 0;
	return 0;
}

/* *ret_marked: the recorder marks them, as it says or some are. */
static int read_recorded(bool *ret_marked, struct analysis_ctx *c, struct judged *j,
			 const struct limits *l, struct err *e)
{
	struct recorded a = { .j = j };
	int ret = requests_each(c->db, COLUMN_OF(request, held),
				"SELECT id FROM service WHERE server=?1", j->about.id, on_recorded,
				&a, e);
	double late = verdict_quantile(&a.held, 0.5);
	s64 said = 0;

	if (ret == 0)
		ret = db_int(c->db, &said, e, "SELECT count(*) FROM recording WHERE key='nagle'",
			     "");
	*ret_marked = said || a.held.n > 0;
	if (a.n >= LEAST && a.n > SIDE_MOST * a.of && late >= l->latency)
		j->nagle = (struct verdict_nagle){ .n = a.n,
						   .of = a.of,
						   .end = (double)c->duration,
						   .late = late,
						   .always = true,
						   .recorded = true };
	hist_free(&a.held);
	return ret;
}

/* By ACKs: what a recorder that does not record the one that released the last part shows. */
static int read_acks(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	bool any;
	int ret = may_be(&any, c, j, e);

	if (ret < 0 || !any)
		return ret;
	if (j->status == STATUS_NONE)
		ret = read_change(c, j, e);
	return ret == 0 && !(j->nagle.n > 0) ? read_always(c, j, e) : ret;
}

int verdict_nagle(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	bool marked = false;
	int ret;

	if (j->about.kind != SUBJECT_server || j->status == STATUS_UNKNOWN || !j->n_windows ||
	    l->latency > ACK_DELAYED)
		return 0;
	ret = read_recorded(&marked, c, j, l, e);
	if (ret == 0 && !marked)
		ret = read_acks(c, j, e);
	if (ret < 0 || !(j->nagle.n > 0) || !verdict_outweighs(j, 0))
		return ret;
	verdict_take(j, VERDICT_nagle, j->nagle.start, j->nagle.end, j->nagle.n);
	return 0;
}

static int say_cause(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct value ack[] = { VALUE_NUMBER("ack", ACK_DELAYED, "ns"), { 0 } };
	const struct finding f = {
		FINDING_nagle_held, PROBLEM, j->nagle.recorded ? OBSERVED : OVERLAP,
		j->about,	    NULL,    ack,
		j->finding
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

static int say_always(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	bool first = j->kind == VERDICT_nagle, recorded = j->nagle.recorded;
	const struct value values[] = {
		VALUE_NUMBER("n", j->nagle.n, ""),
		VALUE_NUMBER("of", j->nagle.of, ""),
		VALUE_NUMBER("late", j->nagle.late, "ns"),
		VALUE_NUMBER("ack", first && recorded ? NAN : ACK_DELAYED, "ns"),
		{ 0 },
	};
	const struct finding f = { recorded ? FINDING_verdict_nagle_left
					    : FINDING_verdict_nagle_always,
				   PROBLEM,
				   recorded ? OBSERVED : OVERLAP,
				   j->about,
				   "SELECT ts, dur, sends, held, acked, client FROM request",
				   values,
				   0 };
	int ret = finding_put(c->db, c->analysis->name, &f, first ? &j->finding : NULL, e);

	return ret < 0 || !first || !recorded ? ret : say_cause(c, j, e);
}

int verdict_nagle_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_nagle *n = &j->nagle;
	const struct value values[] = {
		VALUE_NUMBER("start", n->start, "at"),
		VALUE_NUMBER("end", n->end < (double)c->duration - j->width ? n->end : NAN, "at"),
		VALUE_NUMBER("late", n->late, "ns"),
		VALUE_NUMBER("before", n->before, "ns"),
		VALUE_NUMBER("n", n->n, ""),
		VALUE_NUMBER("of", n->of, ""),
		VALUE_NUMBER("fewer", j->fewer > 0 ? j->fewer : NAN, "1/s"),
		VALUE_NUMBER("usual", j->fewer > 0 ? j->usual : NAN, "1/s"),
		{ 0 },
	};
	if (n->always)
		return say_always(c, j, e);

	const struct finding f = { FINDING_verdict_nagle,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT ts, dur, sends, acked, client FROM request",
				   values,
				   0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 ? ret : say_cause(c, j, e);
}
