// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/verdict.c: the first sentence of a report, of recordings with a known cause. */
#include "tests/unit.h"

#include "analyze/verdict.h"
#include "tests/slowed.h"

/* How the first sentence of a report goes on behind the category. */
static void verdict_says(sqlite3 *db, const char *words)
{
	struct buf service = { 0 }, complete = { 0 };
	struct err e = { 0 };

	assert_int_equal(verdict_make(&service, &complete, db, &e), 0);
	if (!strstr(service.data, words))
		fail_msg("not \"%s\": %s", words, service.data);
	buf_free(&service);
	buf_free(&complete);
	sqlite3_close(db);
}

static void verdicts_name_who_is_behind_it(void **state)
{
	(void)state;
	verdict_says(
		slowed(preempted, 0, "all", NULL),
		"is waiting for a CPU in the run queue, most of it because of burner[200] (100 %) [");
	verdict_says(
		slowed(slow_disk, 0, "all", NULL),
		"is waiting for the disk, while 100 % of the bytes were moved by burner[200] [");
	verdict_says(slowed(slow_peer, 0, "all", NULL),
		     "most of it because of 10.0.0.9:9000 (100 %) [");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(verdicts_name_who_is_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
