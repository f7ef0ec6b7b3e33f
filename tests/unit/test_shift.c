// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/metrics/shift.c and analyze/stats/stats_effect.c: series with known shifts
 * between the baseline and the slow half of a recording, one second a window.
 */
#include "tests/lib/unit.h"

#include "analyze/stats/stats_effect.h"
#include "format/buf.h"
#include "tests/lib/idle_threads.h"
#include "tests/lib/loaded.h"
#include "tests/lib/noise.h"

#include <math.h>

#define SECOND	    1000000000ll
#define MS	    1000000L
#define WINDOWS	    80
#define THREADS	    12 /* tids from 100 on */
#define SEEDS	    60
#define INTERVALS   500
#define FALSE_ALARM 0.05 /* that the analysis promises */

#define GIVEN                                                                            \
	"INSERT INTO recording VALUES('baseline_from', 0),('baseline_to', 40000000000)," \
	"('degraded_from', 40000000000),('degraded_to', 80000000000)"
#define FIRST "(SELECT subject FROM metric WHERE analysis='shift' ORDER BY rowid LIMIT 1)"
#define VALUE(column, name)                                                    \
	"SELECT " column " FROM metric WHERE analysis='shift' AND name='" name \
	"' AND subject=" FIRST
#define SAYS(value)                                                                                  \
	"SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE analysis='shift'" \
	" AND name='" value "'"
#define ROWS "SELECT count(*) FROM metric WHERE analysis='shift' AND name='delta'"

/* A process without requests, and `more` processes of one thread each: tids from 1000 on. */
static sqlite3 *recording_of(int more, const char *events)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;

	idle_threads(&text, &e, THREADS, more, WINDOWS * SECOND);
	buf_printf(&text, &e,
		   "%s9000 1500 waking target=100 context=0\n10000 0 switch next=100\n"
		   "11000 100 switch next=0 state=1\n",
		   events);
	db = loaded_buf(&text);
	changed(db, "DELETE FROM series");
	return db;
}

static sqlite3 *recording(int more)
{
	return recording_of(more, "");
}

#define RQ_TIME	   2
#define FUTEX_WAIT 16

/* A share of the time, around a half; more by `shift` in the second half. */
static void put_kind(sqlite3 *db, s64 kind, s64 resource, int tid, const double *x, double shift)
{
	struct err e = { 0 };
	double share;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		share = 0.5 + 0.1 * (x[i] + (i < WINDOWS / 2 ? 0 : shift));
		share = fmin(fmax(share, 0), 1);
		if (db_insert(db, TABLE_series, &e, "iiiiiiii", i * SECOND, kind, (s64)tid,
			      resource, (s64)(share * SECOND), (s64)0, (s64)0, (s64)0) < 0)
			fail_msg("%s", e.text);
	}
}

static void put_series(sqlite3 *db, int tid, const double *x, double shift)
{
	put_kind(db, RQ_TIME, 0, tid, x, shift);
}

/* Thread 107 shifts; all drift (rho). */
static void shifted(sqlite3 *db, struct noise *r, double rho, double shift)
{
	double x[WINDOWS];
	int k;

	changed(db, "DELETE FROM series; BEGIN");
	for (k = 0; k < THREADS; k++) {
		noise_ar(r, rho, x, WINDOWS);
		put_series(db, 100 + k, x, k == 7 ? shift : 0);
	}
	changed(db, "COMMIT");
	analysed(db, "shift");
}

static void a_shift_has_its_effect(void **state)
{
	sqlite3 *db = recording(0);
	struct noise r = { 3 };

	(void)state;
	changed(db, GIVEN);
	shifted(db, &r, 0.3, 2);
	is_number(db, ROWS, 1);
	is_text(db, "SELECT subject FROM metric WHERE analysis='shift' LIMIT 1",
		"t7[100/107] rq_time, %");
	/* 2 Phi(2 / sqrt(2)) - 1 = 0.84 */
	is_above(db, VALUE("100 * value", "delta"), 70);
	is_above(db, VALUE("100 * (0.84 - value)", "from"), 0);
	is_above(db, VALUE("100 * (value - 0.84)", "to"), 0);
	is_below(db, VALUE("100 * value", "to"), 100);
	is_below(db, VALUE("n", "delta"), WINDOWS);
	is_within(db, VALUE("value", "added"), 15, 25);
	is_below(db, VALUE("n", "slow"), WINDOWS / 2);
	is_number(db, SAYS("slow"), WINDOWS / 2);
	is_text(db, "SELECT kind || ' ' || evidence FROM finding WHERE analysis='shift'",
		"shifted CORRELATED");
	is_number(db, SAYS("tested"), THREADS);
	shifted(db, &r, 0.3, -2);
	is_number(db, ROWS, 1);
	is_below(db, VALUE("100 * value", "to"), -50);
	is_within(db, VALUE("value", "added"), -25, -15);
	db_close(db);
}

static void no_slow_range_is_silent(void **state)
{
	sqlite3 *db = recording(0);
	struct noise r = { 3 };

	(void)state;
	shifted(db, &r, 0.3, 2);
	is_number(db, "SELECT count(*) FROM metric WHERE analysis='shift'", 0);
	is_number(db, "SELECT count(*) FROM finding WHERE analysis='shift'", 0);
	db_close(db);
}

static void a_constant_series_never_shifts(void **state)
{
	static const double level[WINDOWS] = { 0 };
	sqlite3 *db = recording(0);
	int k;

	(void)state;
	changed(db, GIVEN);
	for (k = 0; k < THREADS; k++)
		put_series(db, 100 + k, level, 0);
	analysed(db, "shift");
	is_number(db, ROWS, 0);
	is_text(db, "SELECT kind FROM finding WHERE analysis='shift'", "none_shifted");
	/* one level in each half: all windows of one side are above those of the other */
	changed(db, "DELETE FROM series WHERE tid=107");
	put_series(db, 107, level, 1);
	analysed(db, "shift");
	is_number(db, ROWS, 1);
	is_number(db, VALUE("value", "delta"), 1);
	is_below(db, VALUE("100 * value", "from"), 99);
	db_close(db);
}

/* Most windows are equal: the test of ranks is sure of a shift whose interval holds 0. */
static void a_row_has_an_interval_without_0(void **state)
{
	sqlite3 *db = recording(0);
	double x[WINDOWS] = { 0 };
	int i;

	(void)state;
	changed(db, GIVEN);
	for (i = 0; i < 6; i++)
		x[45 + 5 * i] = 2;
	put_series(db, 107, x, 0);
	analysed(db, "shift");
	is_number(db, SAYS("tested"), 1);
	is_number(db, ROWS, 0);
	changed(db, "DELETE FROM series");
	for (i = 0; i < 15; i++)
		x[41 + 2 * i] = 2;
	put_series(db, 107, x, 0);
	analysed(db, "shift");
	is_number(db, ROWS, 1);
	is_above(db, VALUE("100 * value", "from"), 0);
	db_close(db);
}

/* Windows of which one side has two cannot differ, however far they are away. */
static void few_windows_are_not_enough(void **state)
{
	sqlite3 *db = recording(0);
	struct noise r = { 3 };

	(void)state;
	changed(db, "INSERT INTO recording VALUES('baseline_from', 0),('baseline_to', 40000000000),"
		    "('degraded_from', 50000000000),('degraded_to', 52000000000)");
	shifted(db, &r, 0.3, 4);
	is_number(db, ROWS, 0);
	is_text(db, "SELECT kind || ' ' || evidence FROM finding WHERE analysis='shift'",
		"too_short_to_shift LIMIT");
	is_number(db, SAYS("slow"), 2);
	db_close(db);
}

/*
 * A thousand threads drift, all of which together shift; so does thread 1500, which woke a thread
 * of the process. It has a row, the others one row together.
 */
static void of_many_threads_relevant_ones_have_rows(void **state)
{
	sqlite3 *db = recording(1000);
	struct noise r = { 9 };
	double x[WINDOWS];
	int k;

	(void)state;
	changed(db, GIVEN "; BEGIN");
	for (k = 0; k < 1000; k++) {
		noise_ar(&r, 0.3, x, WINDOWS);
		put_series(db, 1000 + k, x, k == 500 || k == 700 || k == 800 ? 3 : 0.5);
	}
	changed(db, "COMMIT");
	analysed(db, "shift");
	is_number(db,
		  "SELECT count(*) FROM metric WHERE analysis='shift' AND name='delta' AND"
		  " subject_kind='thread' AND subject_id=1500",
		  1);
	/* 64 pools: 12 of the process, 1500 and 51 others */
	is_number(db,
		  "SELECT count(*) FROM metric WHERE analysis='shift' AND name='delta' AND"
		  " subject_kind='none' AND subject='948 other threads rq_time, %'",
		  1);
	is_number(db, SAYS("tested"), 64 - THREADS + 1);
	db_close(db);
}

#define SOCKET(pid, fd, role, sport, dport, s, d)                                                \
	"5000 " #pid " fd pid=" #pid " fd=" #fd " mode=0140000 ino=" #pid #fd " family=2"        \
	" socktype=1 role=" #role " sport=" #sport " dport=" #dport " saddr=1.1.1." #s " daddr=" \
	"1.1.1." #d "\n"
#define ANSWER(ts, tid, fd)                                                                  \
#ts "00 0 switch next=" #tid "\n" #ts "20 " #tid " syscall nr=read fd=" #fd          \
	    " ret=9 dur=5\n" #ts "30 " #tid " syscall nr=write fd=" #fd " ret=9 dur=5\n" #ts \
	    "40 " #tid " switch next=0 state=1\n"

/* The server is 1700. Thread 1800 answers it, thread 1900 another client of the same port. */
static void upstream_threads_are_relevant(void **state)
{
	sqlite3 *db = recording_of(
		1000, SOCKET(1700, 3, 2, 70, 6, 1, 9) SOCKET(1700, 7, 3, 5, 80, 1, 2)
			      SOCKET(1800, 3, 2, 80, 5, 2, 1) SOCKET(1900, 3, 2, 80, 5, 2, 3)
				      ANSWER(60, 1900, 3) ANSWER(61, 1800, 3) ANSWER(62, 1700, 3)
					      ANSWER(63, 1700, 3) ANSWER(64, 1700, 3));
	struct noise r = { 9 };
	double x[WINDOWS];
	int k;

	(void)state;
	changed(db, GIVEN
		"; UPDATE service SET requests=0 WHERE pid<>1700; UPDATE thread SET run = tid NOT IN (1800, 1900); BEGIN");
	for (k = 0; k < 1000; k++) {
		noise_ar(&r, 0.3, x, WINDOWS);
		put_series(db, 1000 + k, x, k == 800 || k == 900 ? 3 : 0);
	}
	changed(db, "COMMIT");
	analysed(db, "shift");
	is_text(db,
		"SELECT group_concat(subject_id) FROM metric WHERE analysis='shift' AND name='delta'",
		"1800");
	db_close(db);
}

static void drift_raises_no_alarm(void **state)
{
	static const double rhos[] = { 0, 0.5, 0.8 };
	sqlite3 *db = recording(0);
	double n = 3 * SEEDS;
	int seed, alarms = 0;
	size_t k;

	(void)state;
	changed(db, GIVEN);
	for (k = 0; k < 3; k++)
		for (seed = 0; seed < SEEDS; seed++) {
			struct noise r = { 1000 * k + seed + 1 };

			shifted(db, &r, rhos[k], 0);
			alarms += asked(db, ROWS) > 0;
		}
	/* what chance adds: 2 standard errors */
	if (alarms > n * FALSE_ALARM + 2 * sqrt(n * FALSE_ALARM * (1 - FALSE_ALARM)))
		fail_msg("%d alarms in %g recordings", alarms, n);
	db_close(db);
}

/* An idle thread waits for work on two futexes in turn, as condition variables do: of one of them
 * only timeouts are seen. */
static void waits_for_work_are_no_shift(void **state)
{
	static const struct {
		const char *futex;
		int rows;
	} cases[] = { { "UPDATE futex SET class='handoff'", 0 },
		      { "UPDATE futex SET class='timeout'", 0 },
		      { "UPDATE futex SET class='contention'", 1 } };
	sqlite3 *db = recording(0);
	struct noise r = { 5 };
	double x[WINDOWS];
	size_t i;

	(void)state;
	changed(db, GIVEN "; INSERT INTO resource(id, kind, pid, dev, number, name, pool) VALUES"
			  "(1, 'futex', 100, 0, 4096, 'futex', 'futex')");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		changed(db, "DELETE FROM series; DELETE FROM futex;"
			    "INSERT INTO futex(id, pid, address) VALUES(1, 100, 4096)");
		noise_ar(&r, 0.3, x, WINDOWS);
		put_kind(db, FUTEX_WAIT, 1, 107, x, 3);
		put_series(db, 108, x, 0);
		changed(db, cases[i].futex);
		analysed(db, "shift");
		is_number(db, ROWS, cases[i].rows);
	}
	db_close(db);
}

/* ---- requests ---- */

static void request(struct text *x, long work, long period)
{
	long t = x->t;

	work -= rand() % (work / 4);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t + 3000);
	text_line(x, "%ld 100 syscall nr=write fd=5 ret=900 count=900 dur=200", t + 4000 + work);
	text_line(x, "%ld 100 switch next=0 state=1", t + 5000 + work);
	x->t += period - rand() % (period / 4);
}

/* 12 s of requests of `work` ns each `period` ns, then 12 s of others. */
static sqlite3 *server(long work, long period, long then, long then_period)
{
	struct text x = { 0 };

	srand(3);
	text_line(&x, "@recorder\n1 0 info text=\"targets=all\"");
	text_line(&x, "2 0 info text=\"groups=core,syscalls,sched\"");
	text_line(&x, "4 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"");
	text_line(&x,
		  "20 100 fd pid=100 fd=5 mode=0140000 ino=5 family=2 role=2 socktype=1 sport=80"
		  " dport=40000 saddr=127.0.0.1 daddr=10.0.0.9");
	text_line(&x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"\n@cpu 0");
	x.t = MS;
	while (x.t < 12 * SECOND)
		request(&x, work, period);
	while (x.t < 24 * SECOND)
		request(&x, then, then_period);
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x.t, x.t);
	return loaded_buf(&x.b);
}

#define HALVES                                                                           \
	"INSERT INTO recording VALUES('baseline_from', 0),('baseline_to', 12000000000)," \
	"('degraded_from', 12000000000),('degraded_to', 24000000000)"
#define RUNTIME "subject_id=100 AND subject LIKE '% runtime, %'"

/* Without names of windows, the slow ones are those of the verdict. */
static void slow_windows_are_those_of_the_verdict(void **state)
{
	sqlite3 *db = server(MS, 20 * MS, 8 * MS, 20 * MS);

	(void)state;
	analysed(db, "shift");
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem slower");
	is_number(db, "SELECT count(*) FROM verdict_range", 1);
	is_within(db, "SELECT start FROM verdict_range", 11.5e9, 12.5e9);
	is_number(db,
		  "SELECT count(*) FROM metric WHERE analysis='shift' AND name='delta' AND "
		  "value=1 AND " RUNTIME,
		  1);
	is_within(db, VALUE("value", "slow"), 30, 45);
	is_within(db, VALUE("value", "baseline"), 3, 7);
	is_within(db, SAYS("slow"), 11, 12);
	is_within(db, SAYS("baseline"), 11, 12);
	db_close(db);
}

/* Three times as many requests, each as before: nothing but the load has changed. */
static void load_alone_is_no_shift(void **state)
{
	sqlite3 *db = server(MS, 30 * MS, MS, 10 * MS);

	(void)state;
	changed(db, HALVES);
	analysed(db, "shift");
	is_number(db, ROWS, 0);
	is_above(db, SAYS("load"), 0);
	is_text(db, "SELECT kind FROM finding WHERE analysis='shift'", "none_shifted");
	db_close(db);
	/* each takes more, too */
	db = server(MS, 30 * MS, 3 * MS, 10 * MS);
	changed(db, HALVES);
	analysed(db, "shift");
	is_number(db,
		  "SELECT count(*) FROM metric WHERE analysis='shift' AND name='per request' AND "
		  "value > 0.9 AND " RUNTIME,
		  1);
	db_close(db);
}

static void delta_is_cliffs(void **state)
{
	static const double x[] = { 1, 2, 2, 3, 2, 3, 4, 5 };
	double scratch[8];
	struct effect f = stats_effect(x, 4, 4, scratch);

	(void)state;
	/* of 16 pairs 12 are higher, 1 is lower, 3 are equal */
	assert_true(fabs(f.delta - 11.0 / 16) < 1e-9);
	assert_true(f.low < f.delta && f.delta < f.high && f.high < 1);
	f = stats_effect(x + 1, 1, 1, scratch);
	assert_true(isnan(f.p));
	assert_true(isnan(stats_effect(x, 0, 4, scratch).delta));
}

/* Of intervals at 95 %, 5 of 100 may miss, and by chance (2 standard errors) 2 more. */
static void intervals_hold_delta(void **state)
{
	static const double rhos[] = { 0, 0.4, 0.7 }, shifts[] = { 0, 1, 2 };
	double x[WINDOWS], scratch[WINDOWS], truth;
	size_t k, at;
	int seed, i, missed;

	(void)state;
	for (k = 0; k < 3; k++)
		for (at = 0; at < 3; at++) {
			truth = erf(shifts[at] / 2); /* 2 Phi(shift / sqrt(2)) - 1 */
			for (missed = 0, seed = 0; seed < INTERVALS; seed++) {
				struct noise r = { 7000 * k + 100 * at + seed + 1 };
				struct effect f;

				noise_ar(&r, rhos[k], x, WINDOWS);
				for (i = WINDOWS / 2; i < WINDOWS; i++)
					x[i] += shifts[at];
				f = stats_effect(x, WINDOWS / 2, WINDOWS / 2, scratch);
				missed += f.low > truth || f.high < truth;
			}
			if (missed > 0.07 * INTERVALS)
				fail_msg("rho %g, shift %g: %d of %d miss", rhos[k], shifts[at],
					 missed, INTERVALS);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_shift_has_its_effect),	   T(no_slow_range_is_silent),
		T(a_constant_series_never_shifts), T(a_row_has_an_interval_without_0),
		T(few_windows_are_not_enough),	   T(of_many_threads_relevant_ones_have_rows),
		T(upstream_threads_are_relevant),  T(drift_raises_no_alarm),
		T(waits_for_work_are_no_shift),	   T(slow_windows_are_those_of_the_verdict),
		T(load_alone_is_no_shift),	   T(delta_is_cliffs),
		T(intervals_hold_delta),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
