// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/render/verdict.c: the first sentence of a report, of recordings with a known cause. */
#include "tests/unit.h"

#include "tests/slowed.h"

/* Of a database that is not needed afterwards. */
static void says(sqlite3 *db, const char *words)
{
	verdict_says(db, words);
	sqlite3_close(db);
}

static void verdicts_name_who_is_behind_it(void **state)
{
	(void)state;
	says(slowed(preempted, 0, "all", NULL),
	     "run-queue latency; the CPU ran burner[200] 100 %.");
	says(slowed(slow_disk, 0, "all", NULL),
	     "waiting for disk vda; bytes moved by burner[200] 100 %");
	says(slowed(slow_peer, 0, "all", NULL), "waiting for upstream 10.0.0.9:9000");
}

static void both_halves_tell_of_one_server(void **state)
{
	sqlite3 *db = slowed(preempted, 0, "all", NULL);
	struct err e = { 0 };

	(void)state;
	/* another one that answers more, and has no cause; one whose name only begins alike */
	assert_int_equal(
		db_run(db, &e,
		       "INSERT INTO metric(analysis, subject, name, unit, value, n) SELECT 'rps',"
		       " name || '[100]:80', 'turns', '1/s', 100, n FROM (SELECT 'busier' AS name,"
		       " 900 AS n UNION ALL SELECT 'server', 10 UNION ALL SELECT 'serverless', 90)",
		       ""),
		0);
	verdict_says(
		db, "server[100]:80 answered 100 requests a second. server[100]:80: requests take");
	assert_int_equal(db_run(db, &e, "DELETE FROM cause", ""), 0);
	says(db, "busier[100]:80 answered");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(verdicts_name_who_is_behind_it),
		T(both_halves_tell_of_one_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
