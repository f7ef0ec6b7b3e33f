// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/metrics/correlate.c: series with known relations, in a recording of WINDOWS s
 * with THREADS threads, one second a window.
 */
#include "tests/lib/correlating.h"

#define SEEDS	    100
#define FALSE_SHARE 0.05 /* that the analysis promises */

/*
 * What thread 107 waits shows in the quality `lag` windows later, with as much noise as signal when
 * noise is 1; all others are noise. Series drift (rho).
 */
static void relate(sqlite3 *db, struct noise *r, double rho, int lag, double sign, double noise)
{
	double common[WINDOWS + 8], x[WINDOWS], y[WINDOWS];
	int i, k;

	clear(db);
	noise_ar(r, rho, common, WINDOWS + 8);
	for (i = 0; i < WINDOWS; i++)
		y[i] = 5 + common[i + 4 - lag];
	put_qos(db, y);
	for (k = 0; k < THREADS; k++) {
		noise_ar(r, rho, x, WINDOWS);
		for (i = 0; i < WINDOWS && k == 7; i++)
			x[i] = sign * common[i + 4] + noise * noise_normal(r);
		put_series(db, 100 + k, x);
	}
	commit(db);
	run(db);
}

/* One recording without a false one; how many have one is tested below. */
static void what_is_related_comes_first(void **state)
{
	sqlite3 *db = recording();
	struct noise r = { 3 };

	(void)state;
	relate(db, &r, 0.5, 0, 1, 0.5);
	is_number(db, "SELECT " FIRST_ID "=107", 1);
	is_number(db, "SELECT count(*) FROM metric WHERE analysis='correlate' AND name='rho'", 1);
	is_number(db, "SELECT value > 0.8 " VALUE("rho"), 1); /* 1 / sqrt(1.25) = 0.89 */
	is_number(db, "SELECT value < 0.95 " VALUE("rho"), 1);
	is_number(db, "SELECT value " VALUE("lag"), 0);
	/* 50 % -+ 10 % * 1.15 (an eighth of windows is below), by chance 2 either way */
	is_number(db, "SELECT value BETWEEN 33 AND 44 " VALUE("at low"), 1);
	is_number(db, "SELECT value BETWEEN 56 AND 67 " VALUE("at high"), 1);
	is_number(db, "SELECT value < 0.9 * 120 " VALUE("n_eff"), 1);
	is_text(db,
		"SELECT evidence || ' ' || v.id || ' ' || v.kind FROM finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind='correlated' AND v.name='series'",
		"CORRELATED 107 thread");
	is_above(
		db,
		"SELECT v.number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind='correlated' AND v.name='series'",
		10);
	db_close(db);
}

/* The wait comes two windows before the quality shows it; the other way round it is below 0. */
static void shifts_in_time_are_reported(void **state)
{
	sqlite3 *db = recording();
	struct noise r = { 2 };

	(void)state;
	relate(db, &r, 0.8, 2, -1, 0.3);
	is_number(db, "SELECT " FIRST_ID "=107", 1);
	is_number(db, "SELECT value " VALUE("lag"), 2 * SECOND);
	is_number(db, "SELECT value < -0.4 " VALUE("rho"), 1);
	is_number(db,
		  "SELECT (SELECT value " VALUE("at low") ") > (SELECT value " VALUE("at high") ")",
		  1);
	relate(db, &r, 0.8, -2, 1, 0.3);
	is_number(db, "SELECT " FIRST_ID "=107", 1);
	is_number(db, "SELECT value " VALUE("lag"), -2 * SECOND);
	db_close(db);
}

static void a_step_is_compared_by_levels(void **state)
{
	sqlite3 *db = recording();
	struct noise r = { 5 };

	(void)state;
	step(db, &r, 4, 2);
	is_number(db, "SELECT " FIRST_ID "=107", 1);
	is_number(db, "SELECT value BETWEEN 15 AND 25 " VALUE("added"), 1);
	/* the quality has a step, the thread has none: no more than chance */
	step(db, &r, 4, 0);
	is_number(
		db,
		"SELECT count(*) FROM metric WHERE analysis='correlate' AND subject_id=107 AND name='q'",
		0);
	db_close(db);
}

/* How many series are reported, of THREADS that could be tested. */
static int found(sqlite3 *db)
{
	is_number(db,
		  "SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		  " f.analysis='correlate' AND f.evidence='CORRELATED' AND v.name='tested'",
		  12);
	return (int)asked(db,
			  "SELECT count(*) FROM metric WHERE analysis='correlate' AND name='rho'");
}

/* A share of n that is meant to be at most FALSE_SHARE, with what chance adds (2 standard errors).
 */
static double most(double n)
{
	return FALSE_SHARE + 2 * sqrt(FALSE_SHARE * (1 - FALSE_SHARE) / n);
}

/*
 * Nothing is related, but everything drifts: then all that is reported is false, and in 5 of 100
 * recordings something may be. Counted as if windows were independent, it is in most of those with
 * rho 0.8.
 */
static void drift_raises_no_alarm(void **state)
{
	static const double rhos[] = { 0, 0.5, 0.8 };
	sqlite3 *db = recording();
	int seed, alarms = 0, i;
	size_t k;

	(void)state;
	for (k = 0; k < 3; k++)
		for (seed = 0; seed < SEEDS; seed++) {
			struct noise r = { 1000 * k + seed + 1 };
			double x[WINDOWS];

			clear(db);
			noise_ar(&r, rhos[k], x, WINDOWS);
			put_qos(db, x);
			for (i = 0; i < THREADS; i++) {
				noise_ar(&r, rhos[k], x, WINDOWS);
				put_series(db, 100 + i, x);
			}
			commit(db);
			run(db);
			alarms += found(db) > 0;
		}
	if (alarms > most(3 * SEEDS) * 3 * SEEDS)
		fail_msg("%d alarms in %d recordings", alarms, 3 * SEEDS);
	db_close(db);
}

/* One is related: it is first in all, and of what is reported 5 % may be false.
 */
static void few_of_those_reported_are_false(void **state)
{
	sqlite3 *db = recording();
	double share = 0;
	int seed, n;

	(void)state;
	for (seed = 0; seed < SEEDS; seed++) {
		struct noise r = { 500000 + seed };

		relate(db, &r, 0.6, 0, 1, 0.5);
		n = found(db);
		is_number(db, "SELECT " FIRST_ID "=107", 1);
		share += (n - 1.0) / n / SEEDS;
	}
	if (share > most(SEEDS))
		fail_msg("%.3f of what is reported is false", share);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_related_comes_first),	    T(shifts_in_time_are_reported),
		T(a_step_is_compared_by_levels),    T(drift_raises_no_alarm),
		T(few_of_those_reported_are_false),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
