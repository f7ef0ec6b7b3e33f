// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/stats/stats_compare.c, stats_shift.c: against values computed elsewhere (plain Python
 * from the textbook formulas), by hand, and by simulation of a queue whose neighbours depend on
 * each other.
 */
#include "analyze/stats/sorted.h"
#include "analyze/stats/stats_compare.h"
#include "tests/lib/unit.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

static void near(double got, double want, double off)
{
	if (!(fabs(got - want) <= off))
		fail_msg("%.12g is not %.12g", got, want);
}

static const double before[] = { 10.1, 9.8, 10.4, 10.0, 9.7, 10.3, 10.2, 9.9 };
static const double after[] = { 11.2, 10.6, 11.9, 11.1, 10.9, 12.4 };

static void welch_is_the_textbooks(void **state)
{
	struct estimate a = stats_mean_of(before, 8), b = stats_mean_of(after, 6);
	struct contrast c = stats_welch(&a, &b);

	(void)state;
	near(a.value, 10.05, 1e-12);
	near(a.error, 0.08660254037844, 1e-12);
	near(c.diff, 1.3, 1e-12);
	near(c.df, 6.004859365716087, 1e-6);
	near(c.p, 0.004003312129519987, 1e-7);
	near(c.low, 0.5966064989077435, 1e-6);
	near(c.high, 2.0033935010922543, 1e-6);
	near(c.low90, 0.7413814277917026, 1e-6);
}

static void without_spread_there_is_no_doubt(void **state)
{
	struct estimate a = { 1, 0, 9, false }, b = { 2, 0, 9, false }, none = { 1, NAN, 9, false };
	struct contrast c = stats_welch(&a, &b);

	(void)state;
	near(c.low, 1, 0);
	near(c.p, 0, 0);
	near(stats_welch(&a, &a).p, 1, 0);
	assert_true(isnan(stats_welch(&a, &none).p));
	assert_int_equal(stats_judge(&c, c.p, 0.05), VERDICT_HIGHER);
	c = stats_welch(&a, &none);
	assert_int_equal(stats_judge(&c, c.p, 0.05), VERDICT_NO_DATA);
}

static void windows_that_depend_widen_the_error(void **state)
{
	static const double w[] = { 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9.5 };
	static const double shuffled[] = { 5, 1, 9, 3, 9.5, 2, 7, 4, 6, 3, 8, 6 };
	struct estimate r = stats_mean_of(w, 12), free = stats_mean_of(shuffled, 12);

	(void)state;
	near(r.error, 1.6328556966980443, 1e-12);
	assert_true(r.dependent);
	near(free.error, 0.7988114592785631, 1e-12);
	assert_false(free.dependent);
	assert_true(isnan(stats_mean_of(w, 1).error));
}

static void a_ratio_has_the_error_of_its_windows(void **state)
{
	static const double num[] = { 12, 15, 9, 20, 14 }, den[] = { 100, 120, 95, 130, 110 };
	static const double none[] = { 0, 0, 0, 0, 0 };

	(void)state;
	near(stats_log_ratio(num, den, 5, false).value, -2.0704728716970755, 1e-12);
	near(stats_log_ratio(num, den, 5, false).error, 0.07540306486750854, 1e-12);
	/* steadier than chance: as counts it is not */
	near(stats_log_ratio(num, den, 5, true).error, 0.11952286093343936, 1e-12);
	assert_true(isnan(stats_log_ratio(none, den, 5, true).value));
}

static void tau_counts_neighbours(void **state)
{
	unsigned long s = 12345;
	double x[500], v = 0, flat[] = { 2, 2, 2, 2 };
	int i;

	(void)state;
	for (i = 0; i < 500; i++) {
		s = (s * 1103515245 + 12345) % 2147483648UL;
		x[i] = v = 0.8 * v + (s / 2147483648.0 - 0.5);
	}
	near(stats_tau(x, 500), 8.044706587675616, 1e-9);
	near(stats_tau(flat, 4), 1, 0);
	assert_true(isnan(stats_tau(x, 2)));
	assert_int_equal(stats_window_count(20000, 9, 0.5), 30);
	assert_int_equal(stats_window_count(20000, 89, 0.5), 11);
	assert_int_equal(stats_window_count(20000, 370, 0.5), 10);
	assert_int_equal(stats_window_count(20000, 9, 0.99), 20); /* 10 values above it in each */
	assert_int_equal(stats_window_count(9000, 1, 0.99), 0);
}

static void holm_steps_down(void **state)
{
	static const double p[] = { 0.01, 0.04, NAN, 0.03, 0.005 };
	double got[5];

	(void)state;
	assert_true(stats_holm(p, 5, got));
	near(got[0], 0.03, 1e-15);
	near(got[1], 0.06, 1e-15);
	assert_true(isnan(got[2]));
	near(got[3], 0.06, 1e-15);
	near(got[4], 0.02, 1e-15);
}

static void mann_whitney_counts_orders(void **state)
{
	static const double x[] = { 1, 4, 5.5, 7 }, y[] = { 2, 3, 6, 8, 9 },
			    same[] = { 1, 1, 1, 1 };

	(void)state;
	near(stats_mann_whitney(before, 8, after, 6), 0.000666000666000666, 1e-15);
	near(stats_mann_whitney(x, 4, y, 5), 0.5555555555555556, 1e-14);
	near(stats_mann_whitney(same, 4, same, 4), 1, 0);
	assert_true(isnan(stats_mann_whitney(x, 0, y, 5)));
}

static void counts_of_events_are_binomial(void **state)
{
	struct contrast c = stats_counts(0, 10, 6, 10);

	(void)state;
	near(c.p, 2 / 64.0, 1e-12); /* six of six on one side */
	near(c.low, log(0.5407419 / (1 - 0.5407419)), 1e-5);
	assert_true(isinf(c.high) && c.high > 0 && isinf(c.diff));
	c = stats_counts(5, 10, 10, 20); /* the same rate */
	near(c.diff, 0, 1e-12);
	near(c.p, 1, 1e-12);
	assert_true(c.low < -0.5 && c.high > 0.5);
	assert_true(isnan(stats_counts(0, 1, 0, 1).p));
}

static void verdicts(void **state)
{
	static const struct {
		struct contrast c;
		double p;
		enum verdict want;
	} cases[] = {
		{ { 0.10, 0.06, 0.14, 0.07, 0.13, 0.001, 20 }, 0.003, VERDICT_HIGHER },
		{ { -0.10, -0.14, -0.06, -0.13, -0.07, 0.001, 20 }, 0.003, VERDICT_LOWER },
		/* seen with certainty, but less than what matters */
		{ { 0.02, 0.01, 0.03, 0.012, 0.028, 0.001, 20 }, 0.003, VERDICT_EQUIVALENT },
		{ { 0.04, 0.01, 0.07, 0.015, 0.065, 0.01, 20 }, 0.02, VERDICT_INCONCLUSIVE },
		/* one of many questions */
		{ { 0.10, 0.01, 0.19, 0.02, 0.18, 0.03, 20 }, 0.3, VERDICT_INCONCLUSIVE },
		{ { 0.00, -0.2, 0.2, -0.18, 0.18, 1, 20 }, 1, VERDICT_INCONCLUSIVE },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(stats_judge(&cases[i].c, cases[i].p, 0.05), cases[i].want);
}

/* ---- a queue with one server: waiting makes neighbours depend on each other ---- */

#define REQUESTS  10000
#define QUESTIONS 3

static const double questions[QUESTIONS] = { 0.5, 0.9, 0.99 };

struct queue {
	s64 ts[REQUESTS];
	double x[REQUESTS]; /* logarithms of times in the system */
};

/* Arrivals Poisson at `rate`, service exponential: time in it is exponential, mean 1 / (mu - rate)
 */
static void serve(struct queue *q, gsl_rng *rng, double rate, double mu)
{
	double now = 0, wait = 0, gap, work = 0;
	int i;

	for (i = -2000; i < REQUESTS; i++) { /* until it is in its steady state */
		gap = gsl_ran_exponential(rng, 1 / rate);
		wait = fmax(0, wait + work - gap);
		work = gsl_ran_exponential(rng, 1 / mu);
		now += gap;
		if (i < 0)
			continue;
		q->ts[i] = (s64)((now + wait + work) * 1e6);
		q->x[i] = log(wait + work);
	}
}

/* The answers for one pair, and whether there was an alarm with and without a threshold. */
static void ask(const struct queue *a, const struct queue *b, struct contrast *c, enum verdict *ret,
		bool *ret_alarm)
{
	const struct queue *sides[] = { a, b };
	double w[WINDOWS_MOST], p[QUESTIONS], holm[QUESTIONS], tau[2];
	static double sorted[REQUESTS];
	size_t edges[WINDOWS_MOST + 1];
	struct estimate e[2];
	int i, s, k;

	for (s = 0; s < 2; s++)
		tau[s] = stats_tau(sides[s]->x, REQUESTS);
	for (i = 0; i < QUESTIONS; i++) {
		for (s = 0; s < 2; s++) {
			k = stats_window_count(REQUESTS, tau[s], questions[i]);
			stats_window_sort(sides[s]->ts, sides[s]->x, REQUESTS, k, sorted, edges);
			k = stats_window_quantiles(sorted, edges, k, questions[i], w);
			e[s] = stats_mean_of(w, k);
		}
		c[i] = stats_welch(&e[0], &e[1]);
		p[i] = c[i].p;
	}
	assert_true(stats_holm(p, QUESTIONS, holm));
	ret_alarm[0] = ret_alarm[1] = false;
	for (i = 0; i < QUESTIONS; i++) {
		ret[i] = stats_judge(&c[i], holm[i], 0.05);
		ret_alarm[0] |= ret[i] == VERDICT_HIGHER || ret[i] == VERDICT_LOWER;
		ret_alarm[1] |= holm[i] < 0.05;
	}
}

struct outcome {
	double alarms, plain;  /* share of pairs with one, and without a threshold */
	double found, covered; /* of the median: higher; interval holds the truth */
};

static struct outcome simulate(double rate, double mu_b, int pairs)
{
	static struct queue a, b;
	double truth = log((1 - rate) / (mu_b - rate));
	struct outcome o = { 0, 0, 0, 0 };
	struct contrast c[QUESTIONS];
	enum verdict v[QUESTIONS];
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	bool alarm[2];
	int i;

	gsl_rng_set(rng, 20240607);
	for (i = 0; i < pairs; i++) {
		serve(&a, rng, rate, 1);
		serve(&b, rng, rate, mu_b);
		ask(&a, &b, c, v, alarm);
		o.alarms += (double)alarm[0] / pairs;
		o.plain += (double)alarm[1] / pairs;
		o.found += (double)(v[0] == VERDICT_HIGHER) / pairs;
		o.covered += (double)(c[0].low <= truth && truth <= c[0].high) / pairs;
	}
	gsl_rng_free(rng);
	print_message("# load %.1f, medians differ by %+.0f %%, %d pairs: alarms %.2f %%, without "
		      "threshold %.2f %%, found %.1f %%, covered %.1f %%\n",
		      rate, 100 * expm1(truth), pairs, 100 * o.alarms, 100 * o.plain, 100 * o.found,
		      100 * o.covered);
	return o;
}

static void no_alarm_where_nothing_changed(void **state)
{
	struct outcome half = simulate(0.5, 1, 400), high = simulate(0.8, 1, 400);

	(void)state;
	assert_true(half.alarms <= 0.05);
	assert_true(high.alarms <= 0.05);
	/* three questions at once; two standard errors are what 400 pairs cannot tell */
	assert_true(half.plain <= 0.05 + 2 * 0.0109);
	assert_true(high.plain <= 0.05 + 2 * 0.0109);
	assert_true(half.covered >= 0.95 - 2 * 0.0109);
}

/* Service takes 10 % longer: at this load the time in the queue grows by 22 %. */
static void ten_percent_are_found(void **state)
{
	struct outcome o = simulate(0.5, 1 / 1.1, 200);

	(void)state;
	assert_true(o.found >= 0.95);
	assert_true(o.covered >= 0.92);
}

static void bootstrap_of_quantiles_covers(void **state)
{
	static const double at[] = { 0.1, 0.5, 0.99 };
	static double boot[400 * 3], sorted[REQUESTS];
	static struct queue q;
	double got[3], truth, tau;
	int covered = 0, i, k, above, below, pairs = 100;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	(void)state;
	gsl_rng_set(rng, 7);
	for (i = 0; i < pairs; i++) {
		serve(&q, rng, 0.5, 1);
		tau = stats_tau(q.x, REQUESTS);
		memcpy(sorted, q.x, sizeof(sorted));
		sort_numbers(sorted, REQUESTS);
		assert_true(stats_quantile_boot(q.x, sorted, REQUESTS, 3 * tau, at, 3, 400, i + 1,
						got, boot));
		truth = log(-log(1 - at[1]) / 0.5);
		for (above = below = k = 0; k < 400; k++) {
			above += boot[3 * k + 1] > truth;
			below += boot[3 * k + 1] < truth;
		}
		covered += above > 10 && below > 10; /* 2.5 % on each side */
		assert_true(got[0] < got[1] && got[1] < got[2]);
	}
	gsl_rng_free(rng);
	assert_in_range(covered, 86, 100);
	assert_false(stats_quantile_boot(q.x, sorted, 100, 50, at, 3, 400, 1, got, boot));
}

static void levels_are_stationary_or_not(void **state)
{
	/* quarters of 1, 3, 1, 3: variance 4/3 of their means, less 1/3 of 0.5 from the scatter
	 * within */
	double moved[8] = { 0.5, 1.5, 2.5, 3.5, 0.5, 1.5, 2.5, 3.5 },
	       flat[8] = { 1, 2, 2, 1, 1, 2, 2, 1 };
	struct estimate a = { 0, 3, 7, false };

	(void)state;
	near(stats_wander(moved, 8), 4 / 3.0 - 0.5 * 0.5, 1e-12);
	near(stats_wander(flat, 8), -0.5 * 0.5, 1e-12);
	assert_true(isnan(stats_wander(moved, 7)));
	stats_widen(&a, 16, 6);
	near(a.error, 5, 1e-12);
	near(a.df, 625 / (81 / 7.0 + 256 / 6.0), 1e-9);
	stats_widen(&a, -1, 6);
	near(a.error, 5, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(levels_are_stationary_or_not),
		T(welch_is_the_textbooks),
		T(without_spread_there_is_no_doubt),
		T(windows_that_depend_widen_the_error),
		T(a_ratio_has_the_error_of_its_windows),
		T(tau_counts_neighbours),
		T(holm_steps_down),
		T(mann_whitney_counts_orders),
		T(counts_of_events_are_binomial),
		T(verdicts),
		T(no_alarm_where_nothing_changed),
		T(ten_percent_are_found),
		T(bootstrap_of_quantiles_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
