// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_recycled.c: a worker of a server ends, and the one that its parent
 * forks answers nothing until the pause ends; and what only looks so.
 */
#include "tests/lib/pausing.h"

#define ENDED "(SELECT ts - 1000000 FROM pause ORDER BY dur DESC LIMIT 1)"
#define AS_WORKERS                                                                             \
	"UPDATE process SET parent=50; UPDATE process SET end=" ENDED " WHERE pid=200; UPDATE" \
	" process SET start=" ENDED " + 500000 WHERE pid=100;"

/* 200 answers until 100 takes 300 ms for a request. What it answered before does not matter. */
static sqlite3 *with(const char *change)
{
	struct text x = { 0 };

	head(&x);
	many(&x, 100, 600, MS);
	many(&x, 200, 100, MS);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	sleeps(&x, "epoll_wait", -1, 0);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	return judged_after(&x, change);
}

static void a_worker_is_replaced(void **state)
{
	sqlite3 *db = with(AS_WORKERS);

	(void)state;
	is_number(db, FINDING_VALUE("pause_recycled", "worker", "v.id"), 200);
	is_number(db, FINDING_VALUE("pause_recycled", "next", "v.id"), 100);
	is_number(
		db,
		"SELECT v.number - (" FINDING_VALUE(
			"pause_recycled", "start",
			"v.number") ") FROM"
				    " finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind='pause_recycled' AND"
				    " v.name='ended'",
		-500000);
	db_close(db);
}

static void what_only_looks_so(void **state)
{
	static const char *const changes[] = {
		"",
		AS_WORKERS "UPDATE process SET parent=51 WHERE pid=200",
		AS_WORKERS "UPDATE process SET comm='other' WHERE pid=200",
		/* it ended afterwards, or not at all; the next one was there before */
		AS_WORKERS "UPDATE process SET end=end + 1000000 WHERE pid=200",
		AS_WORKERS "UPDATE process SET end=NULL WHERE pid=200",
		AS_WORKERS "UPDATE process SET start=0 WHERE pid=100",
		/* another worker answered in between */
		AS_WORKERS "UPDATE process SET end=end - 20000000 WHERE pid=200",
		/* it served something else */
		AS_WORKERS "UPDATE service SET server=NULL WHERE pid=200",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		sqlite3 *db = with(changes[i]);

		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_recycled'", 0);
		db_close(db);
	}
}

/* As at a reload: 100 was forked before 200 ended; before: whether it had answered. */
static sqlite3 *reloaded(bool before)
{
	struct text x = { 0 };

	head(&x);
	many(&x, before ? 100 : 200, 600, MS);
	many(&x, 200, 100, MS);
	text_line(&x, "%ld 300 signal_sent target=50 pid=50 number=1 sender=300", x.t - 9 * MS);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	sleeps(&x, "epoll_wait", -1, 0);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	return judged_after(&x, AS_WORKERS "UPDATE process SET end=end + 50000000 WHERE pid=200;"
					   "UPDATE signal_sent SET pid=50, sender='sh', tid=300;");
}

static void all_workers_are_replaced(void **state)
{
	sqlite3 *db = reloaded(false);

	(void)state;
	is_number(db, FINDING_VALUE("pause_recycled", "worker", "v.id"), 200);
	is_number(db, FINDING_VALUE("pause_recycled", "next", "v.id"), 100);
	is_number(db, FINDING_VALUE("pause_recycled", "parent", "v.id"), 50);
	is_text(db, FINDING_VALUE("pause_recycled", "sender", "v.text"), "sh[300]");
	db_close(db);
	/* one that answered before is there */
	db = reloaded(true);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_recycled'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_worker_is_replaced),
		T(what_only_looks_so),
		T(all_workers_are_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
