// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict_read.c: what is slow while connections begin or end is no change. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

enum { CLOSES = 1, EARLIER = 2 };

/* A second of nothing, or of requests; then slow requests, usual ones for 3 s, slow ones. */
static sqlite3 *edges(int slow_first, int slow_last, int how)
{
	struct text x = { 0 };
	int fd;

	srand(3);
	head(&x);
	if (how & EARLIER)
		many(&x, 900, 100000, MS);
	x.t = 1000 * MS;
	many(&x, slow_first, 5 * MS, MS);
	many(&x, 2700, 100000, MS);
	many(&x, slow_last, 5 * MS, MS);
	for (fd = 5; fd < 9 && how & CLOSES; fd++)
		text_line(&x, "%ld 100 syscall nr=close fd=%d", x.t += 1000, fd);
	x.t += 50 * MS;
	return judged(&x, NULL);
}

static void slow_first_requests_are_no_change(void **state)
{
	sqlite3 *db = edges(80, 0, 0);

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	/* their connections were used before */
	db = edges(80, 0, EARLIER);
	is_verdict(db, "problem", "slower");
	db_close(db);
	/* for longer than connections take to begin */
	db = edges(240, 0, 0);
	is_verdict(db, "problem", "slower");
	db_close(db);
}

static void slow_last_requests_are_no_change_if_all_connections_close(void **state)
{
	sqlite3 *db = edges(80, 80, CLOSES);

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	db = edges(80, 80, 0);
	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT count(*) FROM verdict_range", 1);
	is_above(db, "SELECT start FROM verdict_range", 3000 * MS);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(slow_first_requests_are_no_change),
		T(slow_last_requests_are_no_change_if_all_connections_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
