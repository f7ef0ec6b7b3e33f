// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/verdict.c: the first sentence of a report, of recordings with a known cause. */
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
	     "is waiting for a CPU in the run queue, most of it because of burner[200] (100 %) [");
	says(slowed(slow_disk, 0, "all", NULL),
	     "is waiting for the disk, while 100 % of the bytes were moved by burner[200] [");
	says(slowed(slow_peer, 0, "all", NULL), "most of it because of 10.0.0.9:9000 (100 %) [");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(verdicts_name_who_is_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
