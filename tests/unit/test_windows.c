// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/causes/causes_windows.c, stats_levels.c: windows of time whose mix of states changes,
 * or does not. Windows are 1 s.
 */
#include "tests/lib/unit.h"

#include "analyze/causes/causes_compare.h"
#include "analyze/stats/stats_levels.h"
#include "tests/lib/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ll
#define SEEDS  200
#define ALARMS 10 /* 5 % of them */

struct walk {
	struct noise noise;
	double last; /* of AR(1) */
};

/* Variance 1, correlated with the last one by rho. */
static double ar(struct walk *r, double rho)
{
	return r->last = rho * r->last + sqrt(1 - rho * rho) * noise_normal(&r->noise);
}

static struct walk seeded(u64 seed)
{
	struct walk r = { .noise.seed = seed * 0x9e3779b97f4a7c15u + 1 };
	int i;

	for (i = 0; i < 10; i++)
		noise_uniform(&r.noise);
	r.last = noise_normal(&r.noise);
	return r;
}

/* Windows of a thread that spends a share of each in `state`, the rest in `rest`. */
static struct units *windows(void)
{
	struct units *u = calloc(1, sizeof(*u));

	assert_non_null(u);
	u->kind = UNIT_WINDOW;
	u->block = SECOND;
	return u;
}

static void window(struct units *u, int b, int state, double share, int rest)
{
	struct unit_sums *s = &u->blocks[b].all;

	share = share < 0 ? 0 : share > 1 ? 1 : share;
	s->n = 1;
	s->wall = SECOND;
	s->spent[state] += share * SECOND;
	s->spent[rest] += (1 - share) * SECOND;
	u->n++;
}

static void near(s64 got, int want)
{
	if (llabs(got - want * SECOND) > 2 * SECOND)
		fail_msg("%.0f s is not %d s", got / 1e9, want);
}

static void a_change_is_found_within_two_windows(void **state)
{
	struct comparison c;
	struct units *u;
	int seed, b;

	(void)state;
	for (seed = 0; seed < SEEDS; seed++) {
		struct walk r = seeded(seed);

		memset(&c, 0, sizeof(c));
		u = windows();
		for (b = 0; b < UNIT_BLOCKS; b++)
			window(u, b, SPAN_preempted,
			       (b < 50 ? 0.1 : 0.5) + 0.08 * noise_normal(&r.noise), SPAN_run);
		assert_true(causes_windows(u, &c));
		assert_true(c.found.waits);
		assert_int_equal(c.found.n_slow, 1);
		near(c.found.slow[0].from, 50);
		near(c.found.slow[0].to, UNIT_BLOCKS);
		assert_true(c.is_usual[20] && c.is_slow[90] && !c.is_usual[90] && !c.is_slow[20]);
		free(u);
	}
}

/* Slow from 40 to 70: before and after is the baseline; unknown windows are skipped. */
static void an_episode_has_two_baseline_ranges(void **state)
{
	struct comparison c = { 0 };
	struct units *u = windows();
	struct walk r = seeded(1);
	int b;

	(void)state;
	for (b = 0; b < UNIT_BLOCKS; b++)
		if (b % 9)
			window(u, b, SPAN_disk,
			       (b >= 40 && b < 70 ? 0.7 : 0.2) + 0.1 * noise_normal(&r.noise),
			       SPAN_run);
	assert_true(causes_windows(u, &c));
	assert_int_equal(c.found.n_slow, 1);
	assert_int_equal(c.found.n_usual, 2);
	near(c.found.slow[0].from, 40);
	near(c.found.slow[0].to, 70);
	near(c.found.usual[1].from, 70);
	assert_int_equal(c.found.n, UNIT_BLOCKS - (UNIT_BLOCKS + 8) / 9);
	assert_false(c.is_slow[45] || c.is_usual[45]); /* not known */
	free(u);
}

/* It is held up at the beginning: what came later is usual. */
static void more_waiting_is_slow_wherever_it_is(void **state)
{
	struct comparison c = { 0 };
	struct units *u = windows();
	int b;

	(void)state;
	for (b = 0; b < UNIT_BLOCKS; b++)
		window(u, b, SPAN_futex, b < 30 ? 0.4 : 0.1, b < 30 ? SPAN_timer : SPAN_run);
	assert_true(causes_windows(u, &c));
	assert_true(c.found.waits);
	near(c.found.slow[0].from, 0);
	near(c.found.slow[0].to, 30);
	free(u);
}

/* Nothing holds it up, it only computes more, or less: then what was first is usual. */
static void other_changes_start_with_the_baseline(void **state)
{
	static const double shares[] = { 0.2, 0.6, 0.2 };
	int k, b;

	(void)state;
	for (k = 0; k < 2; k++) {
		struct comparison c = { 0 };
		struct units *u = windows();

		for (b = 0; b < UNIT_BLOCKS; b++)
			window(u, b, SPAN_run, shares[k + (b >= 80)], SPAN_timer);
		assert_true(causes_windows(u, &c));
		assert_false(c.found.waits);
		near(c.found.usual[0].from, 0);
		near(c.found.slow[0].from, 80);
		free(u);
	}
}

/* One wait gives way to another of the same length: the sum of waits does not show it. */
static void another_wait_is_a_change(void **state)
{
	struct comparison c = { 0 };
	struct units *u = windows();
	struct walk r = seeded(3);
	int b;

	(void)state;
	for (b = 0; b < UNIT_BLOCKS; b++)
		window(u, b, b < 64 ? SPAN_disk : SPAN_client, 0.5 + 0.02 * noise_normal(&r.noise),
		       SPAN_run);
	assert_true(causes_windows(u, &c));
	near(c.found.slow[0].from, 64);
	free(u);
}

/* ---- nothing changes ---- */

static double ar_0(struct walk *r, int b)
{
	(void)b;
	return 0.4 + 0.15 * ar(r, 0);
}

static double ar_5(struct walk *r, int b)
{
	(void)b;
	return 0.4 + 0.15 * ar(r, 0.5);
}

static double ar_8(struct walk *r, int b)
{
	(void)b;
	return 0.4 + 0.15 * ar(r, 0.8);
}

static double ar_9(struct walk *r, int b)
{
	(void)b;
	return 0.4 + 0.15 * ar(r, 0.9);
}

/* One window of twenty is nearly all waiting. */
static double rare(struct walk *r, int b)
{
	(void)b;
	return noise_uniform(&r->noise) < 0.05 ? 0.9 : 0.02 * noise_uniform(&r->noise);
}

static double cycle(struct walk *r, int b, int period)
{
	return (b % period < period / 2 ? 0.7 : 0.1) + 0.05 * noise_normal(&r->noise);
}

static double cycle_8(struct walk *r, int b)
{
	return cycle(r, b + (int)r->last, 8);
}

static double cycle_20(struct walk *r, int b)
{
	return cycle(r, b, 20);
}

static double cycle_40(struct walk *r, int b)
{
	return cycle(r, b + 7, 40);
}

static double level(struct walk *r, int b)
{
	(void)r;
	(void)b;
	return 0.3;
}

/* A change too small to matter, though it is sure. */
static double tiny(struct walk *r, int b)
{
	return (b < 64 ? 0.3 : 0.38) + 0.001 * noise_normal(&r->noise);
}

static void steady_recordings_raise_no_alarm(void **state)
{
	static double (*const kinds[])(struct walk * r, int b) = {
		ar_0, ar_5, ar_8, ar_9, rare, cycle_8, cycle_20, cycle_40, level, tiny,
	};
	size_t k;
	int seed, b, alarms;

	(void)state;
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (alarms = seed = 0; seed < SEEDS; seed++) {
			struct walk r = seeded(1000 * k + seed);
			struct comparison c = { 0 };
			struct units *u = windows();

			for (b = 0; b < UNIT_BLOCKS; b++)
				window(u, b, seed % 2 ? SPAN_preempted : SPAN_run, kinds[k](&r, b),
				       seed % 2 ? SPAN_run : SPAN_timer);
			alarms += causes_windows(u, &c);
			free(u);
		}
		if (alarms > ALARMS)
			fail_msg("kind %zu: %d alarms of %d", k, alarms, SEEDS);
	}
}

/* Few windows, and none at all. */
static void too_few_windows_have_no_change(void **state)
{
	struct comparison c = { 0 };
	struct units *u = windows();
	int b;

	(void)state;
	assert_false(causes_windows(u, &c));
	for (b = 0; b < 19; b++)
		window(u, b, SPAN_disk, b < 9 ? 0 : 1, SPAN_run);
	assert_false(causes_windows(u, &c));
	assert_int_equal(c.found.n, 19);
	window(u, 19, SPAN_disk, 1, SPAN_run);
	assert_true(causes_windows(u, &c)); /* 10 and 10 */
	free(u);
}

/* What is said to be seen is: at least about 80 of 100. */
static void what_would_be_seen_is_seen(void **state)
{
	static const double scatters[] = { 0.02, 0.05, 0.15 };
	size_t k;
	int seed, b, seen, brief;

	(void)state;
	for (k = 0; k < 3; k++) {
		for (seen = brief = seed = 0; seed < SEEDS; seed++) {
			struct comparison c[3] = { 0 };
			struct units *u[3] = { windows(), windows(), windows() };
			struct walk r = seeded(77000 + seed);
			double x[UNIT_BLOCKS];

			for (b = 0; b < UNIT_BLOCKS; b++) {
				x[b] = 0.3 + scatters[k] * noise_normal(&r.noise);
				window(u[0], b, SPAN_disk, x[b], SPAN_run);
			}
			if (!causes_windows(u[0], &c[0]))
				for (b = 0; b < UNIT_BLOCKS; b++) {
					window(u[1], b, SPAN_disk,
					       x[b] + (b >= 64 ? c[0].found.half : 0), SPAN_run);
					window(u[2], b, SPAN_disk,
					       x[b] + (b >= 60 && b < 70 ? c[0].found.brief : 0),
					       SPAN_run);
				}
			seen += causes_windows(u[1], &c[1]);
			brief += causes_windows(u[2], &c[2]);
			for (b = 0; b < 3; b++)
				free(u[b]);
		}
		assert_in_range(seen, SEEDS * 3 / 4, SEEDS);
		assert_in_range(brief, SEEDS * 3 / 4, SEEDS);
	}
}

/* Rows of two numbers in three levels, which only both together separate. */
static void parts_are_cut_where_squares_are_least(void **state)
{
	size_t edge[LEVELS_MAX + 1] = { 0 }, i;
	double x[30][2];
	struct scatter s;

	(void)state;
	for (i = 0; i < 30; i++) {
		x[i][0] = i < 12 ? 0 : 1;
		x[i][1] = i < 20 ? 0 : 1;
	}
	assert_true(stats_levels_cut(&x[0][0], 30, 2, 3, 4, edge));
	assert_int_equal(edge[0], 0);
	assert_int_equal(edge[1], 12);
	assert_int_equal(edge[2], 20);
	assert_int_equal(edge[3], 30);
	s = stats_levels_scatter(x[0], 30, edge, 3);
	assert_true(s.tau >= 1);
	assert_true(stats_levels_cut(&x[0][0], 30, 2, 2, 15, edge)); /* nowhere else */
	assert_int_equal(edge[1], 15);
	assert_false(stats_levels_cut(&x[0][0], 30, 2, 3, 11, edge));
	assert_false(stats_levels_cut(&x[0][0], 30, 2, 0, 1, edge));
	assert_false(stats_levels_cut(&x[0][0], 30, 2, LEVELS_MAX + 1, 1, edge));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_change_is_found_within_two_windows),
		T(an_episode_has_two_baseline_ranges),
		T(more_waiting_is_slow_wherever_it_is),
		T(other_changes_start_with_the_baseline),
		T(another_wait_is_a_change),
		T(steady_recordings_raise_no_alarm),
		T(too_few_windows_have_no_change),
		T(what_would_be_seen_is_seen),
		T(parts_are_cut_where_squares_are_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
