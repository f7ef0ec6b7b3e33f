// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/track_loss.c: what a program missed makes the times of requests unknown, or not.
 */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"
#include "tests/lib/server_start.h"

static void lossy(const char *group, s64 n)
{
	char text[2000];
	sqlite3 *db;

	snprintf(text, sizeof(text),
		 START "@recorder\n9500 0 missed since=1200 count=1 group=%s name=\"program\"\n"
		       "@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"
		       "2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
		       "9000 100 syscall nr=write fd=5 dur=100 ret=10\n",
		 group);
	db = loaded(text);
	is_number(db, "SELECT lossy FROM request", n);
	is_number(db, "SELECT count(*) FROM loss WHERE reason='missed'", 1);
	is_number(db, "SELECT total(lost) FROM coverage", 1);
	db_close(db);
}

static void a_missed_description_leaves_the_times_known(void **state)
{
	(void)state;
	lossy("requests", 0);
	lossy("cpu", 0);
}

static void a_missed_call_or_switch_makes_them_unknown(void **state)
{
	(void)state;
	lossy("syscalls", 1);
	lossy("sched", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_missed_description_leaves_the_times_known),
		T(a_missed_call_or_switch_makes_them_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
