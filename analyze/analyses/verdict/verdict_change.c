// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether latency changed its level, when, and by which factor. Windows of time are the units, not
 * requests: see verdict_levels.h. First by the typical request of each window, then by its mean:
 * some long ones hide among many that are as short as before.
 */
#include "verdict_levels.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a window counts with: log of the geometric mean, or of the mean. least: what is added to a
 * mean before its logarithm. Means that differ by less than the limit of latency are next to each
 * other then, however many times one is the other: their spread would hide some windows far above
 * them.
 */
struct scaled {
	enum { BY_TYPICAL, BY_MEAN, N_SCALES } by;
	double least;
};

static double scaled(const struct scaled *as, double n, double sum, double logs)
{
	return as->by == BY_MEAN ? log(sum / n + as->least) : logs / n;
}

static void take_windows(const struct judged *j, const struct scaled *as, struct levels *v)
{
	int i;

	v->n = 0;
	for (i = 0; i < j->n_windows; i++) {
		const struct verdict_window *w = &j->windows[i];

		if (w->n <= 0 || i * j->width < j->chance.drained)
			continue;
		v->window[v->n] = i;
		v->x[v->n++] = scaled(as, w->n, w->sum, w->logs);
	}
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

/* What all windows that are not slow are above those of the low side. */
static double above_low(const struct levels *v, double low)
{
	double n = 0, sum = 0;
	int i;

	for (i = 0; i < v->n; i++) {
		n += !v->slow[i];
		sum += v->slow[i] ? 0 : v->x[i];
	}
	return sum / n - low;
}

/* Requests of pauses of parts that count, said on their own, and their waits: of these windows. */
static void leave_paused(const struct judged *j, const struct levels *v, bool slow, double *n,
			 double *sum)
{
	int i, k;

	for (k = 0; k < j->n_pauses; k++) {
		const struct judged_pause *p = &j->pauses[k];

		for (i = 0; p->counts && judged_is_part(p) && i < v->n; i++)
			if (v->slow[i] == slow &&
			    v->window[i] == verdict_window_at(j, (double)p->end)) {
				*n -= (double)p->waiting;
				*sum -= p->part_waited;
			}
	}
}

/*
 * Mean latency of the requests that are slow, or of all others; and, unless NULL, without the
 * longest of them, or those that one pause of a part delayed.
 */
static void sum_up(const struct judged *j, const struct levels *v, bool slow, double *ret_mean,
		   double *ret_others)
{
	double requests = 0, sum = 0, longest = 0;
	int i;

	for (i = 0; i < v->n; i++) {
		if (v->slow[i] != slow)
			continue;
		requests += j->windows[v->window[i]].n;
		sum += j->windows[v->window[i]].sum;
		longest = fmax(longest, j->windows[v->window[i]].longest);
	}
	*ret_mean = sum / requests;
	if (!ret_others)
		return;
	*ret_others = requests > 1 ? (sum - longest) / (requests - 1) : *ret_mean;
	leave_paused(j, v, slow, &requests, &sum);
	if (requests > 0)
		*ret_others = fmin(*ret_others, sum / requests);
}

/* Of the low side alone: a start that is slow as well, and is not judged, is no baseline. */
static double low_mean(const struct judged *j, const struct levels *v)
{
	double n = 0, sum = 0;
	int i;

	for (i = 0; i < v->n; i++) {
		if (v->slow[i] || v->neither[i])
			continue;
		n += j->windows[v->window[i]].n;
		sum += j->windows[v->window[i]].sum;
	}
	return sum / n;
}

/*
 * A window has the requests that ended in it. One that added most of what makes it slow waited
 * since its arrival.
 */
static double since(const struct judged *j, int window, double start, double baseline)
{
	const struct verdict_window *w = &j->windows[window];

	if (j->given || w->longest <= baseline ||
	    2 * (w->longest - baseline) < w->sum - w->n * baseline)
		return start;
	return fmin(start, w->from);
}

/* The end of the last pause that counts, of those that end in this window or before. */
static double pause_end(const struct judged *j, int window)
{
	double last = 0;
	int i;

	for (i = 0; i < j->whole && j->pauses[i].end < (s64)((window + 1) * j->width); i++)
		if (j->pauses[i].counts)
			last = (double)j->pauses[i].end;
	return last;
}

/*
 * What is slow from then on arrived before the first of it was answered: back to where arrivals are
 * nearer to the other level, or to a pause, which has times of its own. What takes longer than
 * a window anyway was under way when the change came, so its arrivals show no start.
 */
static double arrived_since(const struct judged *j, const struct levels *v, int first,
			    const struct scaled *as, double baseline)
{
	int i, from = v->window[first];
	double middle, least = pause_end(j, from);

	if (j->given || first == 0 || baseline >= j->width)
		return from * j->width;
	middle = (v->level[first] + v->level[first - 1]) / 2;
	for (i = from - 1; i >= 0 && i * j->width >= least; i--) {
		const struct verdict_traffic *t = &j->traffic[i];

		if (t->arrived > 0 && scaled(as, t->arrived, t->took, t->logs) < middle)
			break;
		from = t->arrived > 0 ? i : from;
	}
	return from * j->width;
}

/* The slow time range with most added latency, and how many others there are. */
static void find_range(struct judged *j, const struct levels *v, const struct scaled *as,
		       double baseline)
{
	double added = 0, most = -1, start = 0, end = 0;
	int i, n = 0;

	j->added = 0;
	for (i = 0; i < v->n; i++) {
		const struct verdict_window *w = &j->windows[v->window[i]];

		if (!v->slow[i])
			continue;
		if (i == 0 || !v->slow[i - 1]) {
			start = arrived_since(j, v, i, as, baseline);
			start = fmax(since(j, v->window[i], start, baseline), end);
			added = 0;
			n++;
		}
		end = (v->window[i] + 1) * j->width;
		j->range[n - 1][0] = start;
		j->range[n - 1][1] = end;
		added += w->sum - w->n * baseline;
		j->added += w->sum - w->n * baseline;
		if (added > most) {
			most = added;
			j->start = start;
		}
		if (most == added || start == j->start)
			j->end = end;
	}
	j->ranges = n;
}

/* What arrived in the windows until this one, the longest left out where it could hide the others.
 */
static double arrivals_level(const struct judged *j, int last, const struct scaled *as)
{
	double n = 0, took = 0, logs = 0, longest = 0;
	int i;

	for (i = 0; i <= last; i++) {
		n += j->traffic[i].arrived;
		took += j->traffic[i].took;
		logs += j->traffic[i].logs;
		longest = fmax(longest, j->traffic[i].longest);
	}
	if (as->by == BY_MEAN && n > 1) {
		n--;
		took -= longest;
	}
	return n > 0 ? scaled(as, n, took, logs) : -INFINITY;
}

/*
 * Windows have the requests that end in them. When the recording starts, those that take long have
 * not ended yet, so windows look quick for as long as these take, a single one left out: what
 * arrived in them takes as long as the rest.
 */
static bool starts_quick(const struct judged *j, const struct levels *v, const struct scaled *as,
			 double slow_mean, const struct limits *l)
{
	double longest = 0, second = 0, x,
	       slow = as->by == BY_MEAN ? log(slow_mean + as->least) : levels_side(v, true).mean;
	int i, first = 0, last;

	while (first < v->n && !v->slow[first])
		first++;
	for (i = first; i < v->n && (v->slow[i] || v->neither[i]); i++) {
		x = j->windows[v->window[i]].longest;
		second = fmax(second, fmin(x, longest));
		longest = fmax(longest, x);
	}
	if (!first || i < v->n)
		return false;
	last = v->window[first - 1];
	return last * j->width <= fmax(j->begins, 0) + second &&
	       arrivals_level(j, last, as) + log(l->factor) > slow;
}

/* Of the slow windows, or of all others, each with its mean latency. */
struct means {
	double n, mean;
	double squares; /* of the differences from the mean, as shares of it, summed */
};

static struct means means_of(const struct judged *j, const struct levels *v, bool slow)
{
	struct means m = { 0 };
	int i, pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < v->n; i++) {
			const struct verdict_window *w = &j->windows[v->window[i]];
			double x = w->sum / w->n;

			if (v->slow[i] != slow)
				continue;
			m.n += !pass;
			m.mean += pass ? 0 : x;
			m.squares += pass ? (x / m.mean - 1) * (x / m.mean - 1) : 0;
		}
		m.mean /= pass ? 1 : m.n;
	}
	return m;
}

/* What is said of the slow windows, and of all others, also those of neither side. */
struct said {
	double level, base, ratio, low, high;
};

/* The interval is that of the logarithm of the ratio, by the delta method, with one coefficient of
 * variation for both sides. */
static struct said ratio_of_means(const struct judged *j, const struct levels *v, double tau)
{
	struct means slow = means_of(j, v, true), base = means_of(j, v, false);
	double spread = sqrt((slow.squares + base.squares) / (slow.n + base.n - 2) * tau *
			     (1 / slow.n + 1 / base.n));
	double df = fmax(1, (slow.n + base.n) / tau - 2);
	double half = gsl_cdf_tdist_Pinv(1 - LEVELS_ERROR / 2, df) * spread;
	double ratio = slow.mean / base.mean;

	return (struct said){ slow.mean, base.mean, ratio, ratio * exp(-half), ratio * exp(half) };
}

static struct said ratio_of_typical(const struct levels *v)
{
	struct levels_side slow = levels_side(v, true), base = levels_side(v, false);
	double others = above_low(v, base.mean), low = NAN, high = NAN;

	levels_differ(v, 1, LEVELS_ERROR, &low, &high);
	return (struct said){ exp(slow.mean), exp(base.mean + others),
			      exp(slow.mean - base.mean - others), exp(low - others),
			      exp(high - others) };
}

/*
 * Fills j; false: no interval that excludes "no change", or too small. least: what the difference
 * must surely be more than.
 */
static bool judge_levels(struct judged *j, const struct levels *v, const struct scaled *as,
			 const struct limits *l, double least)
{
	struct levels_side slow = levels_side(v, true), base = levels_side(v, false);
	double surely, end, slow_mean, slow_others, base_mean, tau;
	struct said said;

	if (!levels_differ(v, 1, j->given ? LEVELS_ERROR : LEVELS_CHOSEN, &surely, &end))
		return false;
	sum_up(j, v, true, &slow_mean, &slow_others);
	sum_up(j, v, false, &base_mean, NULL);
	tau = levels_tau(v, &slow, &base);
	/* one request is no change of all: the others have to be slower by the limit as well */
	if (surely - above_low(v, base.mean) <= least ||
	    fmin(slow_mean, slow_others) - base_mean < l->latency ||
	    (!j->given && starts_quick(j, v, as, fmin(slow_mean, slow_others), l)))
		return false;
	said = as->by == BY_MEAN ? ratio_of_means(j, v, tau) : ratio_of_typical(v);
	if (said.ratio < l->factor || !(said.low > 1))
		return false;
	j->typical = said.level;
	j->typical_base = said.base;
	j->ratio = said.ratio;
	j->ratio_low = said.low;
	j->ratio_high = said.high;
	j->by_mean = as->by == BY_MEAN;
	j->slow = slow_mean;
	j->baseline = base_mean;
	find_range(j, v, as, low_mean(j, v));
	j->n = slow.n / tau;
	return true;
}

/* The upper end of the interval of the difference between slow windows and the others; NAN: too
 * few. */
static double upper_end(const struct levels *v)
{
	double low, high;

	return levels_differ(v, LEVELS_SHORTEST, LEVELS_ERROR, &low, &high) ? high : NAN;
}

int verdict_same(const struct judged *j, double start, double end, const struct limits *l)
{
	const struct scaled typical = { .by = BY_TYPICAL };
	struct levels v = { .n = 0 };
	double upper, added;
	int i;

	take_windows(j, &typical, &v);
	for (i = 0; i < v.n; i++) {
		double at = (v.window[i] + 0.5) * j->width;

		v.slow[i] = at >= start && at < end;
	}
	upper = upper_end(&v);
	for (i = 0; i < v.n; i++)
		v.x[i] = j->windows[v.window[i]].sum / j->windows[v.window[i]].n;
	added = upper_end(&v);
	return isnan(upper) ? -1 : upper < log(l->factor) || added < l->latency;
}

/* Sides that were not found by levels: each window has the mean of those of its side. */
static void level_sides(struct levels *v)
{
	enum { LOW, HIGH, NEITHER, N_SIDES };
	double n[N_SIDES] = { 0 }, sum[N_SIDES] = { 0 };
	int i, k;

	for (i = 0; i < 2 * v->n; i++) {
		k = i % v->n;
		int side = v->slow[k] ? HIGH : v->neither[k] ? NEITHER : LOW;

		n[side] += i < v->n;
		sum[side] += i < v->n ? v->x[k] : 0;
		v->level[k] = sum[side] / n[side];
	}
}

bool verdict_judge_sides(struct judged *j, struct levels *v, int by, const struct limits *l)
{
	struct scaled as = { .least = fmax(l->latency, 1) };
	bool judged = false;

	for (as.by = by; !judged && as.by < N_SCALES; as.by++) {
		take_windows(j, &as, v);
		level_sides(v);
		judged = judge_levels(j, v, &as, l, 0);
	}
	return judged;
}

/* Of a change that was found: 1. */
static int start_at_quota(struct analysis_ctx *c, struct judged *j, const struct levels *found,
			  const struct scaled *by, const struct limits *l, struct err *e)
{
	struct levels v = *found;
	bool later = false;
	int ret = j->given ? 0 : verdict_quota_since(c, j, &v, l, &later, e);

	if (ret == 0 && later)
		verdict_judge_sides(j, &v, by->by, l);
	return ret < 0 ? ret : 1;
}

/* Of a queue that grows until the end: by the typical request, as the mean of few is. 1: found. */
static int change_grows(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	const struct scaled typical = { .by = BY_TYPICAL };
	struct levels v = { .n = 0 };
	bool load = false;
	int first, ret;

	if (j->given)
		return 0;
	take_windows(j, &typical, &v);
	levels_find(&v, log(l->factor));
	levels_skip_edges(&v, j);
	first = verdict_grows(j, &v);
	if (first < 0 || !judge_levels(j, &v, &typical, l, 0))
		return 0;
	ret = verdict_is_load(c, j, &v, l, &load, e);
	if (load) {
		verdict_forget_change(j);
		j->added = 0;
	}
	if (ret < 0 || load)
		return ret;
	for (; first < v.n; first++) /* it began to grow before it was never empty */
		v.slow[first] = true;
	find_range(j, &v, &typical, low_mean(j, &v));
	return 1;
}

int verdict_change(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct scaled as = { .least = fmax(l->latency, 1) };
	struct levels v = { .n = 0 };
	double least;
	bool load;
	int ret;

	for (as.by = BY_TYPICAL; as.by < N_SCALES; as.by++) {
		take_windows(j, &as, &v);
		ret = take_given(c, j, &v, &j->given, e);
		if (ret < 0)
			return ret;
		if (v.n < 4 * LEVELS_SHORTEST)
			return 0;
		if (!j->given)
			levels_find(&v, log(l->factor));
		least = 0;
		do {
			if (!j->given)
				levels_skip_edges(&v, j);
			if (judge_levels(j, &v, &as, l, least)) {
				ret = verdict_is_load(c, j, &v, l, &load, e);
				if (ret < 0 || !load)
					return ret < 0 ? ret : start_at_quota(c, j, &v, &as, l, e);
				verdict_forget_change(j);
				j->added = 0;
			}
			least = log(l->factor); /* more splits are more chances */
		} while (!j->given && levels_raise(&v));
	}
	return change_grows(c, j, l, e);
}
