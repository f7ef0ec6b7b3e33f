// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/render/verdict.c: the first sentence of a report, of recordings with a known cause. */
#include "tests/lib/unit.h"

#include "tests/lib/slowed.h"

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
	     "is waiting for a CPU in the run queue, most of it because of burner[200] (100 %) [");
	says(slowed(slow_disk, 0, "all", NULL),
	     "is waiting for the disk, while 100 % of the bytes were moved by burner[200] [");
	says(slowed(slow_peer, 0, "all", NULL), "most of it because of 10.0.0.9:9000 (100 %) [");
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
		       " x.name || substr(unit, instr(unit, '[')) || ':80', 'requests', '1/s', 100, n"
		       " FROM cause, (SELECT 'busier' AS name, 900 AS n UNION ALL SELECT 'server', 10"
		       " UNION ALL SELECT 'serverless', 90) x WHERE rank=1",
		       ""),
		0);
	verdict_says(
		db,
		"server[100]:80 answered 100 requests a second; slow turns of server[100] take");
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
