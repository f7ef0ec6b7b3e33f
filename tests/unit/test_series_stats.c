// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/stats/stats_series.c, stats_boot.c, moments.h: against values that were computed
 * elsewhere (plain Python from the textbook formulas), or by hand.
 */
#include "analyze/stats/moments.h"
#include "analyze/stats/stats_boot.h"
#include "analyze/stats/stats_series.h"
#include "tests/lib/unit.h"

#include <math.h>

static void near(double got, double want, double off)
{
	if (!(fabs(got - want) <= off))
		fail_msg("%.12g is not %.12g", got, want);
}

static const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4 };
static const double y[] = { 2, 1, 4, 3, 7, 5, 9, 8, 8, 8, 4, 2 };
#define N (sizeof(x) / sizeof(x[0]))

static void pearson_counts_effective_windows(void **state)
{
	struct correlation c = stats_pearson(x, y, N);

	(void)state;
	near(c.r, 0.870079290215872, 1e-12);
	near(c.n_eff, 5.559785172194321, 1e-9);
	near(c.low, 0.10795466087496795, 1e-9);
	near(c.high, 0.9880819263434039, 1e-9);
	near(c.p, 0.03289521407647193, 1e-9);
}

static void spearman_shares_ranks_of_equals(void **state)
{
	static const double want[] = { 2.5, 1, 5.5, 4, 8, 7, 12, 10, 10, 10, 5.5, 2.5 };
	double ranks[N], scratch[2 * N];
	struct correlation c;
	size_t i;

	(void)state;
	assert_true(stats_ranks(y, N, ranks));
	for (i = 0; i < N; i++)
		near(ranks[i], want[i], 0);
	c = stats_spearman(x, y, N, scratch);
	near(c.r, 0.9003615732097103, 1e-12);
	near(c.n_eff, 5.1063368839140635, 1e-9);
	near(c.low, 0.12303168860207732, 1e-9);
	near(c.high, 0.9929839422817544, 1e-9);
	near(c.p, 0.03240071019379442, 1e-9);
}

static void a_constant_series_correlates_with_nothing(void **state)
{
	static const double flat[] = { 3, 3, 3, 3, 3 };
	double scratch[10];

	(void)state;
	assert_true(isnan(stats_spearman(flat, x, 5, scratch).r));
	assert_true(isnan(stats_pearson(x, flat, 5).p));
	assert_true(isnan(stats_pearson(x, y, 2).r));
	assert_true(isnan(stats_pearson(x, y, 4).low)); /* too few for an interval */
}

/* A random walk against another: nearly always "significant" for one who counts all windows. */
static void drifting_series_are_not_called_related(void **state)
{
	double a[200], b[200], scratch[400], u = 0, v = 0;
	unsigned int seed = 12345, found = 0, round, i;

	(void)state;
	for (round = 0; round < 400; round++) {
		for (i = 0; i < 200; i++) {
			seed = seed * 1664525 + 1013904223;
			a[i] = u = 0.9 * u + (seed >> 8) / 16777216.0 - 0.5;
			seed = seed * 1664525 + 1013904223;
			b[i] = v = 0.9 * v + (seed >> 8) / 16777216.0 - 0.5;
		}
		found += stats_spearman(a, b, 200, scratch).p < 0.05;
	}
	/* 5 % of 400 is 20; without the correction it is more than 100 */
	assert_in_range(found, 5, 36);
}

/* The example of Benjamini and Hochberg (1995), table 1: 4 of 15 are accepted at 5 %. */
static void false_discoveries_are_bounded(void **state)
{
	static const double p[] = { 0.0298, 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0344,
				    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
	double q[15];
	int i, accepted = 0;

	(void)state;
	assert_true(stats_fdr(p, 15, q));
	for (i = 0; i < 15; i++)
		accepted += q[i] <= 0.05;
	assert_int_equal(accepted, 4);
	near(q[1], 0.0015, 1e-12);
	near(q[4], 0.0095 * 15 / 4, 1e-12);
	near(q[14], 1, 0);
	near(q[0], 0.0298 * 15 / 7, 1e-12);
}

static void lines_go_through_the_origin(void **state)
{
	static const double lx[] = { 1, 2, 3, 4, 5 }, ly[] = { 2.1, 3.9, 6.2, 7.8, 10.1 };
	struct line l = stats_line(lx, ly, 5);

	(void)state;
	near(l.slope, 2.003636363636364, 1e-12);
	near(l.low, 1.9417587378002485, 1e-9);
	near(l.high, 2.065513989472479, 1e-9);
	near(l.r2, 0.9973053289009772, 1e-12);
	near(l.r2_identity, -0.3979550720257883, 1e-12);
	assert_true(isnan(stats_line(lx, ly, 2).slope));
}

/* y is 3 up to x = 20, then rises by 0.5 for each x: found exactly, as 20 is a quantile. */
static void the_knee_of_a_hinge_is_found(void **state)
{
	double hx[41], hy[41];
	size_t order[41], i;
	struct hinge h;

	(void)state;
	for (i = 0; i < 41; i++) {
		order[i] = i;
		hx[i] = i;
		hy[i] = 3 + 0.5 * (i > 20 ? i - 20.0 : 0);
	}
	h = stats_hinge(hx, hy, order, 41);
	near(h.knee, 20, 1e-9);
	near(h.level, 3, 1e-9);
	near(h.slope, 0.5, 1e-9);
	near(h.explained, 1, 1e-9);
	for (i = 0; i < 41; i++) /* falling: no knee */
		hy[i] = 100.0 - i;
	assert_true(isnan(stats_hinge(hx, hy, order, 41).knee));
	for (i = 0; i < 41; i++) /* flat: no knee */
		hy[i] = 7;
	assert_true(isnan(stats_hinge(hx, hy, order, 41).knee));
}

struct sample {
	double v[400];
};

static double mean_of(void *arg, const size_t *order, size_t n)
{
	const struct sample *s = arg;
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += s->v[order[i]];
	return sum / n;
}

static double never(void *arg, const size_t *order, size_t n)
{
	(void)arg;
	(void)order;
	(void)n;
	return NAN;
}

/* The interval of a mean of independent values has a formula: 1.96 s / sqrt(n). */
static void the_bootstrap_agrees_with_the_formula(void **state)
{
	struct sample s;
	struct boot b, again;
	unsigned int seed = 99;
	double half;
	int i;

	(void)state;
	for (i = 0; i < 400; i++) {
		seed = seed * 1664525 + 1013904223;
		s.v[i] = (seed >> 8) / 16777216.0;
	}
	half = 1.96 * sqrt(1 / 12.0) / 20; /* uniform: variance 1/12 */
	b = stats_boot(400, 1, 2000, mean_of, &s);
	near((b.high - b.low) / 2, half, 0.15 * half);
	near((b.high + b.low) / 2, b.value, 0.1 * half);
	again = stats_boot(400, 1, 2000, mean_of, &s);
	near(again.low, b.low, 0);
	/* each value ten times: only blocks see that there are 40 values, not 400 */
	for (i = 0; i < 400; i++)
		s.v[i] = s.v[i / 10 * 10];
	again = stats_boot(400, 1, 2000, mean_of, &s);
	b = stats_boot(400, 40, 2000, mean_of, &s);
	assert_true(b.high - b.low > 2 * (again.high - again.low));
	b = stats_boot(400, 1, 50, never, &s);
	assert_true(isnan(b.low));
	near(b.failed, 1, 0);
	assert_true(isnan(stats_boot(2, 1, 50, mean_of, &s).low));
	assert_int_equal(stats_boot_block(1000), 10);
	assert_int_equal(stats_boot_block(0), 1);
}

/* Nanoseconds squared near 1e18: the sum of squares would lose what is asked for. */
static void moments_keep_their_digits(void **state)
{
	struct moments all = { 0 }, parts[2] = { 0 };
	int i;

	(void)state;
	assert_true(isnan(moments_variance(&all)));
	for (i = 0; i < 1000; i++) {
		moments_add(&all, 1e12 + i % 2);
		moments_add(&parts[i >= 300], 1e12 + i % 2);
	}
	near(moments_variance(&all), 0.25, 1e-6);
	moments_merge(&parts[0], &parts[1]);
	assert_int_equal(parts[0].n, 1000);
	near(parts[0].mean, all.mean, 1e-3);
	near(moments_variance(&parts[0]), 0.25, 1e-6);
	all = (struct moments){ 0 };
	moments_add(&all, 1);
	moments_add(&all, 3);
	near(moments_cv2(&all), 0.25, 1e-12); /* mean 2, variance 1 */
	moments_merge(&all, &(struct moments){ 0 });
	assert_int_equal(all.n, 2);
}

static void medians(void **state)
{
	double v[] = { 5, 1, 3, 2 };

	(void)state;
	near(stats_median(v, 4), 2.5, 0);
	near(stats_median(v, 3), 2, 0); /* sorted by now: 1, 2, 3 */
	assert_true(isnan(stats_median(v, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(pearson_counts_effective_windows),
		T(spearman_shares_ranks_of_equals),
		T(a_constant_series_correlates_with_nothing),
		T(drifting_series_are_not_called_related),
		T(false_discoveries_are_bounded),
		T(lines_go_through_the_origin),
		T(the_knee_of_a_hinge_is_found),
		T(the_bootstrap_agrees_with_the_formula),
		T(moments_keep_their_digits),
		T(medians),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
