// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether latency changed its level, when, and by which factor. Windows of time are the units, not
 * requests: neighbours wait for each other. The interval of the factor counts windows by what they
 * are worth, n / tau with tau from the correlation of neighbours at lag 1.
 */
#include "verdict.h"

#include "analyze/stats/stats_change.h"

#include <gsl/gsl_cdf.h>

#define SHORTEST 3 /* windows */

struct levels {
	double x[WINDOWS];     /* mean of ln(latency), or ln(mean latency) */
	int window[WINDOWS];   /* of x */
	double level[WINDOWS]; /* mean of its part */
	bool slow[WINDOWS];
	int n;
};

static void take_windows(const struct judged *j, bool arithmetic, struct levels *v)
{
	int i;

	v->n = 0;
	for (i = 0; i < j->n_windows; i++) {
		const struct verdict_window *w = &j->windows[i];

		if (w->n <= 0)
			continue;
		v->window[v->n] = i;
		v->x[v->n++] = arithmetic ? log(w->sum / w->n + 1) : w->logs / w->n;
	}
}

/* Parts of one level; those above the lowest long one by the factor are slow. */
static void find_levels(struct levels *v, double factor)
{
	size_t edge[CHANGES_MAX + 2], n;
	double lowest = INFINITY, sum;
	size_t p, i;

	edge[0] = 0;
	n = stats_changes(v->x, (size_t)v->n, log(factor), SHORTEST, edge + 1);
	edge[n + 1] = (size_t)v->n;
	for (p = 0; p <= n; p++) {
		for (sum = 0, i = edge[p]; i < edge[p + 1]; i++)
			sum += v->x[i];
		sum /= (double)(edge[p + 1] - edge[p]);
		for (i = edge[p]; i < edge[p + 1]; i++)
			v->level[i] = sum;
		if (10 * (edge[p + 1] - edge[p]) >= (size_t)v->n)
			lowest = fmin(lowest, sum);
	}
	for (i = 0; i < (size_t)v->n; i++)
		v->slow[i] = v->level[i] >= lowest + log(factor);
}

/* The windows that the user named. */
static int take_given(struct analysis_ctx *c, const struct judged *j, struct levels *v,
		      bool *ret_given, struct err *e)
{
	static const char sql[] = "SELECT CAST(value AS INTEGER) FROM recording WHERE key=?1";
	s64 from = 0, to = 0, slow_from = 0, slow_to = 0;
	int i, ret = db_int(c->db, &to, e, sql, "s", "baseline_to");

	if (ret == 0)
		ret = db_int(c->db, &from, e, sql, "s", "baseline_from");
	if (ret == 0)
		ret = db_int(c->db, &slow_from, e, sql, "s", "degraded_from");
	if (ret == 0)
		ret = db_int(c->db, &slow_to, e, sql, "s", "degraded_to");
	*ret_given = ret == 0 && to > 0;
	for (i = 0; *ret_given && i < v->n; i++) {
		double at = (v->window[i] + 0.5) * j->width;
		bool baseline = at >= (double)from && at < (double)to;

		v->slow[i] = !baseline &&
			     (!slow_to || (at >= (double)slow_from && at < (double)slow_to));
		v->level[i] = v->x[i];
	}
	return ret;
}

struct side {
	double n, logs, requests, sum, squares;
};

static struct side side_of(const struct judged *j, const struct levels *v, bool slow)
{
	struct side s = { 0 };
	int i;

	for (i = 0; i < v->n; i++) {
		if (v->slow[i] != slow)
			continue;
		s.n++;
		s.logs += v->x[i];
		s.requests += j->windows[v->window[i]].n;
		s.sum += j->windows[v->window[i]].sum;
	}
	s.logs /= s.n;
	for (i = 0; i < v->n; i++)
		if (v->slow[i] == slow)
			s.squares += (v->x[i] - s.logs) * (v->x[i] - s.logs);
	return s;
}

/* How many windows one independent window stands for. */
static double tau_of(const struct levels *v, const struct side *slow, const struct side *base)
{
	double products = 0, r, last = 0, now;
	int i;

	for (i = 0; i < v->n; i++) {
		now = v->x[i] - (v->slow[i] ? slow->logs : base->logs);
		products += i ? now * last : 0;
		last = now;
	}
	r = products / (slow->squares + base->squares);
	return isfinite(r) && r > 0 ? (1 + fmin(r, 0.98)) / (1 - fmin(r, 0.98)) : 1;
}

/* Fills j; false: no interval that excludes "no change", or too small. */
static bool judge_levels(struct judged *j, const struct levels *v, const struct limits *l)
{
	struct side slow = side_of(j, v, true), base = side_of(j, v, false);
	double tau = tau_of(v, &slow, &base), df = (slow.n + base.n) / tau - 2, d, error, t;
	int i, first = -1, last = 0;

	if (slow.n < 1 || base.n < SHORTEST || df < 1)
		return false;
	d = slow.logs - base.logs;
	error = sqrt((slow.squares + base.squares) / (slow.n + base.n - 2) * tau *
		     (1 / slow.n + 1 / base.n));
	t = gsl_cdf_tdist_Pinv(0.975, df);
	for (i = 0; i < v->n; i++)
		if (v->slow[i]) {
			first = first < 0 ? v->window[i] : first;
			last = v->window[i];
		}
	if (d - t * error <= 0 || d < log(l->factor) ||
	    slow.sum / slow.requests - base.sum / base.requests < l->latency)
		return false;
	if ((last + 1) * j->width <= START_NS)
		return false;
	j->slow = slow.sum / slow.requests;
	j->baseline = base.sum / base.requests;
	j->ratio = exp(d);
	j->ratio_low = exp(d - t * error);
	j->ratio_high = exp(d + t * error);
	j->start = first * j->width;
	j->end = (last + 1) * j->width;
	j->n = slow.n / tau;
	return true;
}

int verdict_change(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct levels v = { .n = 0 };
	bool given = false;
	int how, ret;

	for (how = 0; how < 2; how++) {
		take_windows(j, how == 1, &v);
		ret = take_given(c, j, &v, &given, e);
		if (ret < 0)
			return ret;
		if (v.n < 4 * SHORTEST)
			return 0;
		if (!given)
			find_levels(&v, l->factor);
		if (judge_levels(j, &v, l))
			return 1;
	}
	return 0;
}
