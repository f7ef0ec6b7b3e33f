// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/correlate.c: series with known relations, in a recording of WINDOWS s with
 * THREADS threads, one second a window.
 */
#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "format/buf.h"
#include "tests/lib/idle_threads.h"
#include "tests/lib/loaded.h"
#include "tests/lib/noise.h"

#include <math.h>
#include <stdlib.h>

#define SECOND	    1000000000ll
#define WINDOWS	    120
#define THREADS	    12 /* tids from 100 on */
#define SEEDS	    100
#define FALSE_SHARE 0.05 /* that the analysis promises */

/* As recording, with these lines at the end. */
static sqlite3 *recording_of(const char *more)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;

	idle_threads(&text, &e, THREADS, 0, WINDOWS * SECOND);
	buf_printf(&text, &e, "%s", more);
	db = loaded(text.data);
	buf_free(&text);
	if (db_exec(db, &e,
		    "DELETE FROM series; INSERT INTO recording VALUES('qos', 'own series')") < 0)
		fail_msg("%s", e.text);
	return db;
}

/* A recording in which nothing happens, with the user's own series as quality. */
static sqlite3 *recording(void)
{
	return recording_of("");
}

static void put_qos(sqlite3 *db, const double *y)
{
	struct err e = { 0 };
	int i;

	for (i = 0; i < WINDOWS; i++)
		if (!isnan(y[i]) &&
		    db_insert(db, TABLE_qos, &e, "idi", i * SECOND, y[i], (s64)1) < 0)
			fail_msg("%s", e.text);
}

/* A share of the time in the run queue (kind 2), around a half. */
static void put_series(sqlite3 *db, int tid, const double *x)
{
	struct err e = { 0 };
	double share;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		share = fmin(fmax(0.5 + 0.1 * x[i], 0), 1);
		if (db_insert(db, TABLE_series, &e, "iiiiiiii", i * SECOND, (s64)2, (s64)tid,
			      (s64)0, (s64)(share * SECOND), (s64)0, (s64)0, (s64)0) < 0)
			fail_msg("%s", e.text);
	}
}

static void run(sqlite3 *db)
{
	struct err e = { 0 };

	if (analyses_run(db, "correlate", &e) < 0)
		fail_msg("%s", e.text);
}

static void clear(sqlite3 *db)
{
	struct err e = { 0 };

	if (db_exec(db, &e, "DELETE FROM series; DELETE FROM qos; BEGIN") < 0)
		fail_msg("%s", e.text);
}

static void commit(sqlite3 *db)
{
	struct err e = { 0 };

	if (db_exec(db, &e, "COMMIT") < 0)
		fail_msg("%s", e.text);
}

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

#define FIRST	    "(SELECT subject FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1)"
#define FIRST_ID    "(SELECT subject_id FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1)"
#define VALUE(name) "FROM metric WHERE analysis='correlate' AND name='" name "' AND subject=" FIRST

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

/* Windows of a recording that is too short for rank correlation of levels. */
#define SHORT 30

/* Quality and thread 107 change their level after half of the time; the others drift. */
static void step(sqlite3 *db, struct noise *r, double size, double own)
{
	double x[WINDOWS], y[WINDOWS];
	int i, k;

	clear(db);
	for (i = 0; i < WINDOWS; i++)
		y[i] = 5 + (i < SHORT / 2 ? 0 : size) + 0.1 * noise_normal(r);
	for (i = SHORT; i < WINDOWS; i++)
		y[i] = NAN;
	put_qos(db, y);
	for (k = 0; k < THREADS; k++) {
		noise_ar(r, 0.5, x, WINDOWS);
		for (i = 0; i < WINDOWS && k == 7; i++)
			x[i] = (i < SHORT / 2 ? 0 : own) + 0.1 * noise_normal(r);
		put_series(db, 100 + k, x);
	}
	commit(db);
	run(db);
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

/* Sleep for requests is the complement of work: as large a change as it has, it is no cause. */
static void waits_for_work_are_excluded(void **state)
{
	struct err e = { 0 };
	sqlite3 *db = recording();
	struct noise r = { 5 };

	(void)state;
	step(db, &r, 4, 2);
	assert_int_equal(
		db_exec(db, &e,
			"INSERT INTO series SELECT ts, 18, 103, 0, time, 1, 0, 0 FROM series"
			" WHERE tid=107"),
		0);
	run(db);
	is_number(db, "SELECT " FIRST_ID "=107", 1);
	is_number(
		db,
		"SELECT count(*) FROM metric WHERE analysis='correlate' AND subject_id=103 AND name='q'",
		0);
	/* the same time in a futex is a wait that counts */
	assert_int_equal(db_exec(db, &e, "UPDATE series SET kind=16 WHERE kind=18"), 0);
	run(db);
	is_above(
		db,
		"SELECT count(*) FROM metric WHERE analysis='correlate' AND subject_id=103 AND name='q'",
		0);
	db_close(db);
}

#define SOCKET(n, role)                                                                        \
	"900 100 fd pid=100 fd=" n " mode=0140000 ino=7" n " family=2 role=" role " sport=8" n \
	" dport=9" n " socktype=1\n"

/*
 * In each window 103 has a request open, and waits in epoll for longer after half of the time; ask:
 * for an upstream.
 */
static sqlite3 *event_loop(bool ask)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	struct noise r = { 5 };
	long long t, wait;
	sqlite3 *db;
	int i;

	buf_printf(&text, &e, "@recorder\n" SOCKET("5", "2") SOCKET("6", "3") "@cpu 1\n");
	for (i = 0; i < SHORT; i++) {
		t = 1000000 + i * SECOND;
		wait = (i < SHORT / 2 ? 300000000 : 600000000) +
		       (long long)(1e7 * noise_normal(&r));
		buf_printf(&text, &e,
			   "%lld 0 waking target=103 context=1\n%lld 0 switch next=103\n"
			   "%lld 103 syscall nr=read fd=5 ret=10 dur=500\n",
			   t, t + 1000, t + 5000);
		if (ask)
			buf_printf(&text, &e, "%lld 103 syscall nr=write fd=6 ret=20 dur=500\n",
				   t + 6000);
		buf_printf(&text, &e, "%lld 103 switch next=0 state=1\n", t + 10000);
		t += wait;
		buf_printf(&text, &e,
			   "%lld 0 waking target=103 context=1\n%lld 0 switch next=103\n"
			   "%lld 103 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%lld ret=1\n",
			   t, t + 1000, t + 3000, wait - 5000);
		if (ask)
			buf_printf(&text, &e, "%lld 103 syscall nr=read fd=6 ret=30 dur=500\n",
				   t + 5000);
		buf_printf(&text, &e,
			   "%lld 103 syscall nr=write fd=5 ret=10 dur=500\n"
			   "%lld 103 switch next=0 state=1\n",
			   t + 8000, t + 20000);
	}
	db = recording_of(text.data);
	buf_free(&text);
	return db;
}

#define MOVES_103 \
	"SELECT count(*) > 0 FROM metric WHERE analysis='correlate' AND subject_id=103 AND name='q'"

static void moves(sqlite3 *db, const char *sql, bool expected)
{
	struct err e = { 0 };
	struct noise r = { 5 };

	step(db, &r, 4, 2);
	if (db_exec(db, &e, sql) < 0)
		fail_msg("%s", e.text);
	run(db);
	is_number(db, MOVES_103, expected);
}

#define IN_EPOLL                                                                            \
	"INSERT INTO series SELECT ts, series_id('epoll_wait'), 103, 0, time, 1, 0, 0 FROM" \
	" series WHERE tid=107"

/* Time in epoll is a wait for an upstream while a request waits for one, else a wait for work. */
static void epoll_with_an_open_question_counts(void **state)
{
	sqlite3 *db = event_loop(true);

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE tid=103", SHORT);
	moves(db, IN_EPOLL, true);
	moves(db, "SELECT 1", false); /* no event loop: its waits are series of their own */
	db_close(db);
	db = event_loop(false);
	is_number(db, "SELECT count(*) FROM request WHERE tid=103", SHORT);
	moves(db, IN_EPOLL, false);
	db_close(db);
}

/* Half of the change in each of two threads of one name: together it comes first. */
static void threads_of_a_pool_add_up(void **state)
{
	struct err e = { 0 };
	sqlite3 *db = recording();
	struct noise r = { 5 };

	(void)state;
	step(db, &r, 4, 2);
	assert_int_equal(
		db_exec(db, &e,
			"UPDATE thread SET comm='pool' WHERE tid IN (107, 108);"
			"DELETE FROM series WHERE tid=108;"
			"UPDATE series SET time=time/2 WHERE tid=107;"
			"INSERT INTO series SELECT ts, kind, 108, resource, time, n, refused,"
			" timeouts FROM series WHERE tid=107"),
		0);
	run(db);
	is_text(db,
		"SELECT subject_kind || ' ' || subject_id FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1",
		"process 100");
	is_number(db, "SELECT value BETWEEN 15 AND 25 " VALUE("added"), 1);
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
		T(what_is_related_comes_first),
		T(shifts_in_time_are_reported),
		T(a_step_is_compared_by_levels),
		T(waits_for_work_are_excluded),
		T(epoll_with_an_open_question_counts),
		T(threads_of_a_pool_add_up),
		T(drift_raises_no_alarm),
		T(few_of_those_reported_are_false),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
