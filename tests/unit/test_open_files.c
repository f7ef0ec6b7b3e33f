// SPDX-License-Identifier: GPL-2.0-or-later
/* The limit of open files: requests fail, and take longer; which files fill it. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS   1000000L
#define OPEN "syscall_args nr=openat dur=1000 ret=-24"

#define VERDICT	    "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define VALUE(what) FINDING_VALUE("verdict_open_files", what, "v.number")

/* A request each 10 ms; from a time on they take 5 ms longer, from the middle on they fail; with
 * this call. */
static sqlite3 *failing(const char *call, long slow)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	int i = 0;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		bool bad = t >= 5000 * MS;

		end = t + 100000 + rand() % 9000 + (t >= slow * MS) * 5 * MS;
		ask(&x, 1 + i % 2, 100, t, t + 10000, end);
		if (bad)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=%d pos=0 len=20 status=500 protocol=1\n",
				   end, 1 + i % 2);
		if (bad && call)
			buf_printf(&x, &e, "%ld 100 %s\n", t + 50000, call);
	}
	return loaded_buf(&x);
}

/* 40 descriptors more, three of them from the start. */
static sqlite3 *leaking(const char *rest, const char *call, long slow)
{
	sqlite3 *db = failing(call, slow);
	char sql[512];

	snprintf(
		sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT 20 UNION ALL SELECT i + 1 FROM n WHERE i < 59) INSERT INTO"
		" fd(pid, fd, ts, end, kind, role, remote, path) SELECT 100, i, iif(i < 23, 0, 1000000 * i),"
		" %s FROM n; UPDATE process SET files_limit=44 WHERE pid=100",
		rest);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	return analysed(db, NULL);
}

static void what_fails_comes_before_what_takes_longer(void **state)
{
	sqlite3 *db = leaking("NULL, 'socket', 'connected', '10.0.0.7:5432', ''", OPEN, 5000);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_above(db, "SELECT number FROM finding_value WHERE name='slower_ratio'", 10);
	is_text(db, FINDING_VALUE("verdict_calls", "errno", "v.text"), "EMFILE");
	is_number(db, VALUE("all"), 44);
	is_number(db, VALUE("limit"), 44);
	is_number(db, VALUE("upstreams"), 40);
	is_number(db, VALUE("before"), 3);
	is_text(db,
		"SELECT remote FROM fd WHERE rowid=(" FINDING_VALUE("verdict_open_files",
								    "upstream", "v.id") ")",
		"10.0.0.7:5432");
	db_close(db);
	/* no call says why they fail: they may do so since they take long */
	db = analysed(failing(NULL, 5000), NULL);
	is_text(db, VERDICT, "problem slower");
	db_close(db);
	/* slow long before: connections became many for that */
	db = leaking("NULL, 'socket', 'connected', '10.0.0.7:5432', ''", OPEN, 2500);
	is_text(db, VERDICT, "problem slower");
	db_close(db);
}

/* A limit of its own, or another errno is why. */
static void other_limits_are_not_of_open_files(void **state)
{
	sqlite3 *db = leaking("NULL, 'file', '', '', '/srv/data'",
			      "syscall_args nr=inotify_init1 dur=1000 ret=-24", 5000);

	(void)state;
	is_text(db, FINDING_VALUE("verdict_calls", "limit", "v.text"),
		"limit of the user: fs.inotify.max_user_instances");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_open_files'", 0);
	db_close(db);
	db = leaking("NULL, 'file', '', '', '/srv/data'", "syscall_args nr=openat dur=1000 ret=-28",
		     5000);
	is_text(db, FINDING_VALUE("verdict_calls", "errno", "v.text"), "ENOSPC");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_open_files'", 0);
	db_close(db);
}

static void what_was_not_closed_is_named(void **state)
{
	sqlite3 *db = leaking("NULL, 'file', '', '', '/srv/data'", OPEN, 5000);

	(void)state;
	is_number(db, VALUE("same"), 40);
	is_text(db, FINDING_VALUE("verdict_open_files", "file", "v.text"), "/srv/data");
	db_close(db);
	/* closed again: the clients' are most */
	db = leaking("1000000 * i + 5, 'file', '', '', '/srv/data'", OPEN, 5000);
	is_number(db, VALUE("all"), 4);
	is_number(db, VALUE("clients"), 4);
	db_close(db);
	db = leaking("NULL, 'pipe', '', '', 'pipe:[' || i || ']'", OPEN, 5000);
	is_number(db, VALUE("others"), 40);
	is_text(db, FINDING_VALUE("verdict_open_files", "kind", "v.text"), "pipe");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fails_comes_before_what_takes_longer),
		cmocka_unit_test(what_was_not_closed_is_named),
		cmocka_unit_test(other_limits_are_not_of_open_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
