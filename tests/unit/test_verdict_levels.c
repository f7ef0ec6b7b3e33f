// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_levels.c: how many windows one independent window stands for.
 * verdict_change.c: when a slow time range starts.
 */
#include "analyze/analyses/verdict/verdict_levels.h"
#include "analyze/store/db.h"
#include "tests/lib/unit.h"

#define N 90

/* A third of the windows is slow; each differs from its level by what `off` says. */
static double tau_of(double base, double (*off)(int i))
{
	struct levels v = { .n = N };
	struct levels_side slow, fast;
	int i;

	for (i = 0; i < N; i++) {
		v.slow[i] = i >= N / 3 && i < 2 * N / 3;
		v.x[i] = (v.slow[i] ? 2 * base : base) + off(i);
	}
	slow = levels_side(&v, true);
	fast = levels_side(&v, false);
	return levels_tau(&v, &slow, &fast);
}

/* Sums of a latency that is always the same, in another order in each window. */
static double rounding(int i)
{
	return i % 20 < 10 ? 3e-14 : -3e-14;
}

static double none(int i)
{
	return 0 * i;
}

static double alternating(int i)
{
	return i % 2 ? 0.1 : -0.1;
}

static double in_long_waves(int i)
{
	return i % 20 < 10 ? 0.1 : -0.1;
}

/* As small as a change can be: 1 us of 100 ms. */
static double in_small_waves(int i)
{
	return 1e-4 * in_long_waves(i);
}

static void constant_latencies_are_not_correlated(void **state)
{
	double base;

	(void)state;
	for (base = log(100000); base < log(1e9); base += 0.7) {
		assert_true(tau_of(base, none) == 1);
		assert_true(tau_of(base, rounding) == 1);
	}
	assert_true(tau_of(1234567.1, none) == 1); /* means in ns */
}

static void neighbours_that_are_alike_are(void **state)
{
	(void)state;
	assert_true(tau_of(log(1e6), in_long_waves) > 5);
	assert_true(tau_of(log(1e8), in_small_waves) > 5);
	assert_true(tau_of(log(1e6), alternating) == 1);
}

/* Thirds of the windows have these levels: does the highest one stand out, alone? */
static bool stands_out(double first, double second, double third)
{
	const double level[] = { first, second, third };
	struct levels v = { .n = N };
	bool alone;
	int i;

	for (i = 0; i < N; i++)
		v.x[i] = level[3 * i / N] + (i % 2 ? 0.01 : -0.01);
	levels_find(&v, 0.4);
	alone = levels_raise(&v);
	for (i = 0; i < N && alone; i++) {
		assert_int_equal(v.slow[i], 3 * i / N == 2);
		assert_int_equal(v.neither[i], 3 * i / N == 0);
	}
	return alone;
}

static void a_level_far_above_all_others_stands_out(void **state)
{
	(void)state;
	assert_true(stands_out(1, 0, 4));
	assert_false(stands_out(1, 0, 1.9)); /* not further from 1 than 1 is from 0 */
	assert_false(stands_out(0, 0, 4));   /* no level between */
	assert_false(stands_out(1, 1, 4));   /* nothing is lower */
}

#define WIDTH 50e6

/*
 * In windows 60 to 89 ten requests, of `usual` or 1 ms elsewhere, take so long; the first of them
 * took `first` and arrived at so many ns. Those that arrive in window `since` or later take so
 * long; 0: not known.
 */
struct slower {
	double others, first, arrival, usual;
	int since;
};

/* Is it a change? */
static bool is_change(const struct slower *s, double *ret_start)
{
	double usual = s->usual > 0 ? s->usual : 1e6;
	const struct limits limits = { LIMIT_PAUSE, LIMIT_LATENCY, LIMIT_FACTOR, LIMIT_ERRORS };
	static struct judged j;
	struct analysis_ctx c = { 0 };
	struct err e = { 0 };
	int i, changed;

	j = (struct judged){ .n_windows = N, .width = WIDTH, .ends = INFINITY };
	for (i = 0; i < N; i++) {
		bool slow = i >= 60;
		double took = slow ? s->others : usual, longest = i == 60 ? s->first : took,
		       later = i >= s->since ? s->others : usual;

		if (s->since)
			j.traffic[i] = (struct verdict_traffic){ .arrived = 10,
								 .took = 10 * later,
								 .logs = 10 * log(later) };
		j.windows[i] = (struct verdict_window){
			.n = 10,
			.sum = 9 * took + longest,
			.logs = 9 * log(took) + log(longest) + 0.1 * (i % 2),
			.longest = longest,
			.from = i == 60 ? s->arrival : (i + 0.5) * WIDTH,
		};
	}
	assert_int_equal(db_open(&c.db, NULL, true, &e), 0);
	changed = verdict_change(&c, &j, &limits, &e);
	assert_true(changed >= 0);
	db_close(c.db);
	*ret_start = j.start;
	return changed;
}

static bool changes(double others, double first, double arrival, double *ret_start)
{
	const struct slower s = { .others = others, .first = first, .arrival = arrival };

	return is_change(&s, ret_start);
}

static double starts_at(double others, double first, double arrival)
{
	double start;

	assert_true(changes(others, first, arrival, &start));
	return start;
}

/* A window has what ended in it: one long request made it slow, or all did. */
static void a_slow_range_starts_when_its_request_arrived(void **state)
{
	(void)state;
	assert_true(starts_at(20e6, 1e9, 40 * WIDTH) == 40 * WIDTH);
	assert_true(starts_at(20e6, 60e6, 58 * WIDTH) == 60 * WIDTH);
	assert_true(starts_at(20e6, 20e6, 60.5 * WIDTH) == 60 * WIDTH);
}

static double starts(double others, double usual, int since)
{
	const struct slower s = { .others = others,
				  .first = others,
				  .arrival = 60.5 * WIDTH,
				  .usual = usual,
				  .since = since };
	double start;

	assert_true(is_change(&s, &start));
	return start;
}

/* Not where each takes so long anyway that the last ones of before have not ended yet. */
static void a_slow_range_starts_with_its_arrivals(void **state)
{
	(void)state;
	assert_true(starts(500e6, 1e6, 50) == 50 * WIDTH);
	assert_true(starts(500e6, 1e6, 60) == 60 * WIDTH);
	assert_true(starts(500e6, 100e6, 50) == 60 * WIDTH);
}

/* A download of 4 s among requests that take 0.8 ms longer, less than the limit of 1 ms. */
static void one_long_request_is_no_change_of_all(void **state)
{
	double start;

	(void)state;
	assert_false(changes(1.8e6, 4e9, 60.5 * WIDTH, &start));
	assert_true(changes(2.2e6, 4e9, 60.5 * WIDTH, &start));
}

/*
 * Requests take 0.8 ms longer, less than the limit of 1 ms; six of them waited 2 s each, in one
 * pause of a part, or each for itself.
 */
static bool changes_besides(bool paused)
{
	const struct limits limits = { LIMIT_PAUSE, LIMIT_LATENCY, LIMIT_FACTOR, LIMIT_ERRORS };
	struct judged_pause p = { .end = (s64)(60.5 * WIDTH),
				  .waiting = 6,
				  .part_waited = 12e9,
				  .name = 1,
				  .counts = true };
	static struct judged j;
	struct analysis_ctx c = { 0 };
	struct err e = { 0 };
	int i, changed;

	j = (struct judged){
		.n_windows = N, .width = WIDTH, .ends = INFINITY, .pauses = &p, .n_pauses = paused
	};
	for (i = 0; i < N; i++) {
		double took = i >= 60 ? 1.8e6 : 1e6;
		int stalled = i == 60 ? 6 : 0;

		j.windows[i] = (struct verdict_window){
			.n = 10,
			.sum = (10 - stalled) * took + stalled * 2e9,
			.logs = (10 - stalled) * log(took) + stalled * log(2e9) + 0.1 * (i % 2),
			.longest = stalled ? 2e9 : took,
			.from = stalled ? 60.5 * WIDTH - 2e9 : (i + 0.5) * WIDTH,
		};
	}
	assert_int_equal(db_open(&c.db, NULL, true, &e), 0);
	changed = verdict_change(&c, &j, &limits, &e);
	assert_true(changed >= 0);
	db_close(c.db);
	return changed;
}

static void a_pause_of_a_part_is_no_change_of_all(void **state)
{
	(void)state;
	assert_true(changes_besides(false));
	assert_false(changes_besides(true));
}

#define MANY 200 /* windows */

/* From one window to the next, nine tenths of the difference from the usual latency are left. */
static double walks(double *x)
{
	*x = 0.9 * *x + (rand() % 2001 - 1000) / 1000.0;
	return *x;
}

/* Requests wait at all instants of the second half. */
static bool is_found(bool full)
{
	const struct limits limits = { LIMIT_PAUSE, LIMIT_LATENCY, LIMIT_FACTOR, LIMIT_ERRORS };
	static struct judged j;
	struct analysis_ctx c = { 0 };
	struct err e = { 0 };
	double x = 0;
	int i, changed;

	j = (struct judged){ .n_windows = MANY,
			     .width = WIDTH,
			     .ends = INFINITY,
			     .chance = { .full = full ? MANY / 2 * WIDTH : MANY * WIDTH,
					 .last_wait = 500e6 } };
	for (i = 0; i < MANY; i++) {
		double took = 20e6 * exp(walks(&x));

		j.windows[i] = (struct verdict_window){
			.n = 10, .sum = 10 * took, .logs = 10 * log(took), .longest = took
		};
	}
	assert_int_equal(db_open(&c.db, NULL, true, &e), 0);
	changed = verdict_change(&c, &j, &limits, &e);
	assert_true(changed >= 0);
	db_close(c.db);
	return changed;
}

static bool trend_differs(double rise)
{
	struct levels v = { .n = N, .grows = true };
	double low, high;
	int i;

	for (i = 0; i < N; i++) {
		v.slow[i] = i >= N / 2;
		v.x[i] = alternating(i) + (v.slow[i] ? 3 + rise * log(1 + i - N / 2) : 0);
	}
	return levels_differ(&v, 1, LEVELS_CHOSEN, &low, &high);
}

static void a_trend_is_no_correlation(void **state)
{
	int i, n = 0, full = 0;

	(void)state;
	assert_true(trend_differs(1));
	assert_false(trend_differs(-1)); /* a queue that drains */
	for (i = 0; i < 100; i++) {
		srand(i);
		n += is_found(false);
		srand(i);
		full += is_found(true);
	}
	assert_int_equal(full, n); /* a walk is none, though requests wait at all instants */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constant_latencies_are_not_correlated),
		cmocka_unit_test(neighbours_that_are_alike_are),
		cmocka_unit_test(a_level_far_above_all_others_stands_out),
		cmocka_unit_test(a_slow_range_starts_when_its_request_arrived),
		cmocka_unit_test(a_slow_range_starts_with_its_arrivals),
		cmocka_unit_test(one_long_request_is_no_change_of_all),
		cmocka_unit_test(a_pause_of_a_part_is_no_change_of_all),
		cmocka_unit_test(a_trend_is_no_correlation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
