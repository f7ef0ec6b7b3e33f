// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_backlog.c: a queue from before the recording that drains. */
#include "tests/lib/queueing.h"
#include "tests/lib/unit.h"

#define WORK (6 * MS)

/* obsrec used 0.7 s before the recording. */
#define START "INSERT INTO overhead(ts, process) VALUES(0, 700000000), (1000000000, 720000000)"
#define NOTED "SELECT count(*) FROM finding WHERE kind='verdict_backlog'"

static sqlite3 *with_backlog(int n, double rate, double rate_later)
{
	static struct queueing q;

	srand(5);
	q = (struct queueing){ 0 };
	arrived_before(&q, n, WORK);
	arrive(&q, rate, 0.001, 3, WORK);
	arrive(&q, rate_later, 3, 14, WORK);
	return queued(&q, START);
}

static void the_start_of_obsrec_is_no_problem(void **state)
{
	sqlite3 *db = with_backlog(200, 110, 110);

	(void)state;
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	is_number(db, NOTED, 1);
	is_number(
		db,
		"SELECT number FROM finding_value WHERE name='n' AND finding=(SELECT id FROM finding"
		" WHERE kind='verdict_backlog')",
		200);
	is_within(db,
		  "SELECT number FROM finding_value WHERE name='end' AND finding=(SELECT id FROM"
		  " finding WHERE kind='verdict_backlog')",
		  2e9, 6e9);
	is_like(db, "SELECT sentence(id) FROM finding WHERE kind='verdict_backlog'",
		"Not judged until %: 200 requests waited when the recording started, and the queue drained"
		" at the usual load. obsrec used 700 ms of CPU time before the first event.");
	db_close(db);
}

/* It never drains. */
static void an_overload_is_one(void **state)
{
	sqlite3 *db = with_backlog(60, 180, 180);

	(void)state;
	is_verdict(db, "problem", "overload");
	is_number(db, NOTED, 0);
	db_close(db);
}

/* More arrive until 3 s. */
static void more_requests_at_the_start_are_one(void **state)
{
	sqlite3 *db = with_backlog(60, 190, 110);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_below(db, "SELECT start FROM verdict", 5e8);
	is_number(db, NOTED, 0);
	db_close(db);
}

/* Those at the start wait for a disk, or take more CPU time. */
static void slower_requests_at_the_start_are_one(void **state)
{
	static struct queueing q;
	sqlite3 *db;
	int i, waits;

	(void)state;
	for (waits = 0; waits < 2; waits++) {
		srand(5);
		q = (struct queueing){ 0 };
		arrived_before(&q, 60, WORK);
		arrive(&q, 110, 0.001, 10, WORK);
		for (i = 0; i < 300; i++)
			*(waits ? &q.wait[i] : &q.work[i]) += 3 * MS;
		db = queued(&q, START);
		is_verdict(db, "problem", "slower");
		is_below(db, "SELECT start FROM verdict", 5e8);
		is_number(db, NOTED, 0);
		db_close(db);
	}
}

/* From 4 s on at this rate, until then; it answers 166 per second. */
static sqlite3 *with_more(double rate, double until, double later)
{
	static struct queueing q;

	srand(5);
	q = (struct queueing){ 0 };
	arrive(&q, 60, 0.001, 4, WORK);
	arrive(&q, rate, 4, until, WORK);
	arrive(&q, later, until, 9, WORK);
	return queued(&q, NULL);
}

static void a_queue_that_grows_is_slower(void **state)
{
	sqlite3 *db = with_more(172, 9, 60);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_within(db, "SELECT start FROM verdict", 4e9, 4.5e9);
	db_close(db);
	/* it answers these; or the queue drains: no longer than that */
	db = with_more(120, 9, 60);
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
	db = with_more(190, 5, 60);
	is_below(db, "SELECT coalesce(max(end), 0) FROM verdict_range", 7e9);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_start_of_obsrec_is_no_problem),  T(an_overload_is_one),
		T(more_requests_at_the_start_are_one), T(slower_requests_at_the_start_are_one),
		T(a_queue_that_grows_is_slower),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
