// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Levels of what is answered: the share of answers that report an error, and the rate of requests.
 * More errors are a problem. HTTP 4xx are requests that were wrong: no problem while good answers,
 * also of the name that fails, leave as often as before. Fewer requests without slower ones, pauses
 * or requests that wait at the end arrived less often: no problem of the server. With as many
 * outstanding requests as before (rate times latency, Little), demand did not fall: clients ask
 * again after an answer, which takes longer.
 */
#include "verdict_levels.h"
#include "verdict_name_fails.h"

#include "analyze/analyses/failing/own_errors.h"
#include "analyze/analyses/failing/verdict_left.h"
#include "analyze/store/error_names.h"

#include <stdlib.h>

#define FEWER 0.9 /* of the outstanding requests: less demand */

/* Answers of a window, and its errors, without those whose clients left without a wait. */
struct judging {
	double answers[WINDOWS], errors[WINDOWS];
};

static int read_left(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		     struct judging *x, struct err *e)
{
	double left[WINDOWS];
	int i, ret = verdict_left(c, j, l, left, e);

	for (i = 0; i < j->n_windows && ret == 0; i++) {
		left[i] = fmin(left[i], j->traffic[i].errors);
		x->answers[i] = j->traffic[i].answers - left[i];
		x->errors[i] = j->traffic[i].errors - left[i];
	}
	return ret;
}

/* Most of the errors are in windows that are not slow: no latency is why. */
static bool at_usual_latency(const struct judged *j, const struct judging *x,
			     const struct levels *v, int first, int last)
{
	double errors[2] = { 0 };
	bool slow;
	int i;

	for (i = first; i <= last; i++) {
		slow = verdict_in_ranges(JUDGED_RANGES(j), j->ranges,
					 (v->window[i] + 0.5) * j->width);
		errors[slow] += x->errors[v->window[i]];
	}
	return errors[0] > errors[1];
}

static void sum_errors(const struct judged *j, const struct judging *x, const struct levels *v,
		       int first, int last, struct verdict_errors *in)
{
	double all[2] = { 0 }, errors[2] = { 0 };
	int i;

	for (i = 0; i < v->n; i++) {
		bool inside = i >= first && i <= last;

		if (!inside && v->slow[i])
			continue;
		all[inside] += x->answers[v->window[i]];
		errors[inside] += x->errors[v->window[i]];
		in->windows[inside]++;
	}
	in->share = 100 * errors[1] / all[1];
	in->before = 100 * errors[0] / all[0];
	in->n = errors[1];
	in->good = (all[1] - errors[1]) / in->windows[1];
	in->good_before = (all[0] - errors[0]) / in->windows[0];
	in->start = v->window[first] * j->width;
	in->end = (last + 1 < v->n ? v->window[last] + 1 : j->n_windows) * j->width;
	in->usual = at_usual_latency(j, x, v, first, last);
}

/* Refused logins are one error of several answers: they are counted in connections. */
static int read_logins(struct analysis_ctx *c, const struct judged *j, int protocol, int status,
		       struct verdict_errors *in, struct err *e)
{
	static const char sql[] =
		"SELECT count(DISTINCT remote) FROM fd WHERE role='accepted' AND ts >= ?2 AND ts < ?3 AND pid IN"
		" (SELECT pid FROM service WHERE server=?1)";
	bool each = false;
	s64 n = 0;
	int ret = 0;

	if (is_login_error(protocol, status, in->code.data ? in->code.data : "", &each) && !each)
		ret = db_int(c->db, &n, e, sql, "idd", j->about.id, in->start, in->end);
	in->logins = fmax(n, n ? in->n : 0);
	return ret;
}

/*
 * Of the errors in the time range, the name with most of them, and the most frequent status; none
 * of clients that left without a wait.
 */
static int read_most(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		     struct verdict_errors *in, struct err *e)
{
	static const char sql[] =
		"WITH " LEFT_WITH
		", x AS MATERIALIZED (SELECT name, protocol, status, code FROM request_error WHERE ts >= ?2 AND"
		" ts < ?5 AND (?6=0 OR name=?6) AND service IN (SELECT id FROM service WHERE server=?1) AND NOT"
		" " LEFT_ALONE "),"
		" m AS (SELECT protocol, status, code, count(*) AS n FROM x GROUP BY 1, 2, 3 ORDER BY n DESC"
		" LIMIT 1) SELECT coalesce((SELECT name FROM x WHERE name IS NOT NULL GROUP BY name HAVING"
		" 2 * count(*) > (SELECT count(*) FROM x)), 0), " ERROR_CODE_OF ", " WRONG_REQUEST(
			"e") ", protocol, status, protocol IN (6, 7) AND NOT EXISTS"
			     " (SELECT 1 FROM x WHERE name IS NOT NULL OR status=0) FROM m e";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iddddi", j->about.id, in->start, l->latency,
			   l->factor, in->end, in->of_name ? in->name : 0);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		in->name = in->of_name ? in->name : sqlite3_column_int64(q, 0);
		in->connections = sqlite3_column_int(q, 5);
		in->refused = sqlite3_column_int(q, 2) && in->good * l->factor >= in->good_before;
		ret = buf_printf(&in->code, e, "%s", db_text(q, 1));
		if (ret == 0)
			ret = read_logins(c, j, sqlite3_column_int(q, 3), sqlite3_column_int(q, 4),
					  in, e);
	}
	return db_end(q, ret);
}

/*
 * Most of the errors are in the place of good answers, which the name had before: what was right is
 * refused.
 */
static bool replace_good(const struct verdict_errors *in, double good, double good_before,
			 double rest, const struct limits *l)
{
	double expected = good_before * (in->end - in->start) / rest;

	return rest > 0 && good * l->factor < expected && 2 * (expected - good) > in->name_n;
}

/* Of the name with most errors: how many, and of how many answers. */
static int read_name(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		     struct verdict_errors *in, struct err *e)
{
	static const char sql[] =
		"WITH " LEFT_WITH
		", k AS MATERIALIZED (SELECT ts, ts >= ?5 AND ts < ?6 AS inside, " LEFT_ALONE
		" AS alone FROM request_error WHERE name=?2 AND service IN (SELECT id FROM service WHERE server=?1)),"
		" g AS MATERIALIZED (SELECT total(inside) AS left_in, total(NOT inside) AS left_out FROM k WHERE"
		" alone), x AS MATERIALIZED (SELECT ts + dur AS end, ts + dur >= ?5 AND ts + dur < ?6 AS inside, ts"
		" - queued AS arrival, max(requests, 1) AS n, min(errors, max(requests, 1)) AS failed FROM request"
		" WHERE name=?2 AND service IN (SELECT id FROM service WHERE server=?1)) SELECT total(failed) FILTER"
		" (WHERE inside) - left_in, total(n) FILTER (WHERE inside) - left_in, total(failed) FILTER (WHERE"
		" NOT inside) - left_out, total(n) FILTER (WHERE NOT inside) - left_out, min(arrival) FILTER (WHERE"
		" inside AND failed > 0 AND (left_in=0 OR end >= (SELECT min(ts) FROM k WHERE k.inside AND NOT"
		" alone))) FROM g LEFT JOIN x"; /* the first that failed, or one before it */
	double rest = (double)c->duration - (in->end - in->start), before;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iidddd", j->about.id, in->name, l->latency,
			   l->factor, in->start, in->end);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		double failed = fmax(0, sqlite3_column_double(q, 2)),
		       of = fmax(failed, sqlite3_column_double(q, 3));

		in->name_n = fmax(0, sqlite3_column_double(q, 0));
		in->name_of = fmax(in->name_n, sqlite3_column_double(q, 1));
		in->first = db_number(q, 4);
		before = of - failed;
		in->name_before = percent(failed, of);
		in->refused &= !replace_good(in, in->name_of - in->name_n, before, rest, l);
	}
	return db_end(q, ret);
}

/*
 * Clients that end leave answers that cannot be written. They may also end because of errors: then
 * some were written.
 */
static int clients_ended(struct analysis_ctx *c, const struct judged *j, int first, int last,
			 bool *ret_ended, struct err *e)
{
	static const char sql[] =
		"SELECT NOT EXISTS (SELECT 1 FROM request_error WHERE status<>0 AND ts >= ?2 AND ts < ?3 AND"
		" service IN (SELECT id FROM service WHERE server=?1))";
	s64 only = 0;
	int ret = 0;

	if (first * j->width >= j->ends - START_NS)
		ret = db_int(c->db, &only, e, sql, "idd", j->about.id, first * j->width,
			     (last + 1) * j->width);
	*ret_ended = only > 0;
	return ret;
}

static int find_range(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		      struct verdict_errors *ret_errors, struct err *e)
{
	struct verdict_errors most = { 0 }, one;
	struct levels v = { .n = 0 };
	double low, high, n = 0;
	int i, first, last = -1;
	struct judging x;
	bool ended, differ;

	if (read_left(c, j, l, &x, e) < 0)
		return ERR_FAIL;
	for (i = 0; i < j->n_windows; i++) {
		if (x.answers[i] <= 0)
			continue;
		v.window[v.n] = i;
		v.x[v.n++] = x.errors[i] / x.answers[i];
	}
	if (v.n < 4 * LEVELS_SHORTEST || !(j->errors > 0))
		return 0;
	levels_find(&v, l->errors);
	do /* a window of an edge raises the level next to it */
		differ = levels_differ(&v, LEVELS_SHORTEST, LEVELS_ERROR, &low, &high) && low > 0;
	while (!differ && levels_raise(&v));
	if (!differ)
		return 0;
	while (levels_range(&v, last + 1, &first, &last)) {
		if (clients_ended(c, j, v.window[first], v.window[last], &ended, e) < 0)
			return ERR_FAIL;
		if (ended)
			continue;
		one = (struct verdict_errors){ 0 };
		sum_errors(j, &x, &v, first, last, &one);
		if (!(one.share >= l->factor * one.before))
			continue;
		n += one.n;
		most.again++;
		most.again_end = one.end;
		one.usual |= most.usual && 2 * most.n >= one.n;
		most.usual |= one.usual && 2 * one.n >= most.n;
		one.again = most.again;
		one.again_end = most.again_end;
		if (one.n > 2 * most.n) /* the first of several */
			most = one;
	}
	most.again--;
	most.again_n = n - most.n;
	*ret_errors = most;
	return 0;
}

/* A time range by levels; else of a name, all of whose answers report errors from a time on. */
int verdict_errors(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		   struct verdict_errors *ret_errors, struct err *e)
{
	int ret = find_range(c, j, l, ret_errors, e);

	if (ret == 0 && !(ret_errors->n > 0) && j->errors > 0)
		ret = verdict_name_fails(c, j, l, true, ret_errors, e);
	if (ret < 0 || !(ret_errors->n > 0))
		return ret;
	ret = read_most(c, j, l, ret_errors, e);
	return ret < 0 ? ret : read_name(c, j, l, ret_errors, e);
}

void verdict_rate(struct judged *j, const struct limits *l)
{
	double low, high, n[2] = { 0 }, windows[2] = { 0 }, waited[2] = { 0 };
	struct levels v = { .n = 0 };
	int i, first = -1;

	for (i = 0; i < j->n_windows; i++) {
		v.window[v.n] = i;
		v.x[v.n++] = -log(j->traffic[i].exchanges + 0.5);
	}
	if (v.n < 4 * LEVELS_SHORTEST)
		return;
	levels_find(&v, log(l->factor));
	if (!levels_differ(&v, LEVELS_SHORTEST, LEVELS_ERROR, &low, &high) || low <= 0)
		return;
	for (i = 0; i < v.n; i++) {
		n[v.slow[i]] += j->traffic[i].exchanges;
		waited[v.slow[i]] += j->traffic[i].waited;
		windows[v.slow[i]]++;
		first = first < 0 && v.slow[i] ? i : first;
	}
	if (first <= 0 || n[0] * windows[1] < l->factor * n[1] * windows[0])
		return; /* from the start of the recording on: the load starts */
	if (waited[1] * windows[0] > FEWER * waited[0] * windows[1])
		return;
	j->fewer = n[1] * 1e9 / (windows[1] * j->width);
	j->usual = n[0] * 1e9 / (windows[0] * j->width);
	j->fewer_from = first * j->width;
}
