// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/tasks/track_cpu.c: who had the CPU during a wait of many switches. */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

#define START                                               \
	"@recorder\n"                                       \
	"900 0 info text=\"targets=all\"\n"                 \
	"901 0 info text=\"groups=core,syscalls,sched\"\n"  \
	"902 100 thread pid=100 state=83 comm=\"a\"\n"      \
	"904 200 thread pid=200 state=83 comm=\"burner\"\n" \
	"905 300 thread pid=300 state=83 comm=\"other\"\n"  \
	"1000 0 info text=\"begin=1000\"\n90000 0 info text=\"stopped=90000\"\n"

/*
 * 100 waits 2000..56000: 200 has the CPU until 50000, then 400 and 500 change places 300 times. Who
 * had it longest is found, also if 100 gets the other CPU at last, which 300 had all the time.
 */
static void the_longest_of_many_switches_is_found(void **state)
{
	static char text[60000];
	sqlite3 *db;
	int i, n, moved;

	(void)state;
	for (moved = 0; moved < 2; moved++) {
		n = snprintf(
			text, sizeof(text),
			"%s@cpu 0\n1500 0 switch next=200 prio=120\n@cpu 1\n1500 0 switch next=300"
			" prio=120\n2000 300 waking target=100 cpu=0 prio=120\n",
			START);
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "@cpu 0\n50000 200 switch next=400 prio=120\n");
		for (i = 0; i < 300; i++)
			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      "%d %d switch next=%d prio=120\n", 50010 + 10 * i,
				      i % 2 ? 500 : 400, i % 2 ? 400 : 500);
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      moved ? "55000 400 migrate target=100 from=0 to=1\n@cpu 1\n56000 300"
				      " switch next=100 prio=120\n"
				    : "56000 400 switch next=100 prio=120\n");
		db = loaded(text);
		is_number(db, "SELECT object FROM thread_state WHERE tid=100 AND state=1", 200);
		is_number(db, "SELECT woken FROM cpu_contender WHERE pid=100 AND tid=200", 48000);
		is_number(db, "SELECT total(woken) FROM cpu_contender WHERE pid=100 AND tid=300",
			  moved ? 1000 : 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_of_many_switches_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
