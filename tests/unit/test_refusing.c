// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_holders.c: who has the connections of a server that refuses
 * more. */
#include "analyze/render/render.h"
#include "analyze/store/error_names.h"
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS   1000000L
#define HELD 12

#define VALUE(what, name_) FINDING_VALUE("failing_holders", name_, what)

/* From the middle on answers on connection 1 refuse; `close`: clients close theirs a second later.
 */
static sqlite3 *refusing_since(int status, bool close, long opened)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;
	int i = 0, k;

	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		for (k = 0; k < HELD && t == opened; k++)
			buf_printf(&x, &e,
				   "%ld 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2"
				   " socktype=1 sport=80 dport=%d daddr=10.0.0.7\n",
				   t + k, 30 + k, 500 + k, 500 + k);
		ask(&x, 1, 100, t, t + 10000, t + 200000);
		if (t > SECONDS * 500 * MS)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=1 pos=0 len=20 status=%d protocol=7"
				   " code=\"08004\"\n",
				   t + 200000, status);
		for (k = 0; k < HELD && close && i == 600; k++)
			buf_printf(&x, &e, "%ld 100 syscall nr=close fd=%d dur=1 ret=0\n",
				   t + 3 * MS + k, 30 + k);
	}
	return analysed(loaded_buf(&x), NULL);
}

static sqlite3 *refusing(int status, bool close)
{
	return refusing_since(status, close, 20 * MS);
}

static void connections_that_stay_open_are_counted_by_client(void **state)
{
	sqlite3 *db = refusing(1203, false);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem errors");
	is_number(db, VALUE("v.number", "n"), HELD + NAMES);
	is_number(db, VALUE("v.number", "of"), HELD);
	is_text(db, VALUE("v.text", "most"), "10.0.0.7");
	is_number(db, VALUE("v.number", "idle"), HELD + NAMES - 1);
	db_close(db);
}

/* Clients that come and go have none of them all the time; a wrong password is no lack of them. */
static void others_are_not_said(void **state)
{
	sqlite3 *db = refusing(1203, true);

	(void)state;
	is_number(db, VALUE("v.number", "n"), NAMES);
	db_close(db);
	db = refusing(1045, false);
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem errors");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='failing_holders'", 0);
	db_close(db);
}

/* Some are opened when others are refused already; those near the end are not why. */
static void places_that_are_taken_later(void **state)
{
	sqlite3 *db = refusing_since(1040, false, 5500 * MS);

	(void)state;
	is_number(db, VALUE("v.number", "n"), HELD + NAMES);
	is_within(db, VALUE("v.number", "until"), 5.5e9, 5.51e9);
	db_close(db);
	db = refusing_since(1040, false, 9000 * MS);
	is_number(db, VALUE("v.number", "n"), NAMES);
	db_close(db);
}

/* Of MySQL the number says more than SQLSTATE; a state without a name has that of its class. */
static void codes_have_names(void **state)
{
	sqlite3 *db = refusing(1040, false);

	(void)state;
	is_text(db,
		"SELECT v.text FROM finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind LIKE"
		" 'verdict_errors%' AND v.name='meaning'",
		"Too many connections");
	db_close(db);
	assert_string_equal(error_name("08004"), "connection exception");
	assert_string_equal(error_name("08006"), "connection_failure");
	assert_null(error_name("IOERR"));
	assert_null(error_name("5300"));
	assert_null(error_name("503"));
	assert_null(error_name(NULL));
}

static void shows(sqlite3 *db, const char *text)
{
	struct render_options o = { .format = RENDER_TEXT, .name = "x.obs" };
	struct buf out = { 0 };
	struct err e = { 0 };

	assert_int_equal(render_report(&out, db, &o, &e), 0);
	if (!strstr(out.data, text))
		fail_msg("no \"%s\" in: %s", text, out.data);
	buf_free(&out);
}

/* Errors that harm less than what is said first; refusals are none. */
static void errors_are_said_next_to_a_problem(void **state)
{
	static const char less[] =
		"UPDATE verdict SET finding=(SELECT max(id) + 1 FROM finding); INSERT INTO finding(id, analysis,"
		" kind, severity, evidence, parent, subject_kind, subject) SELECT finding, 'verdict',"
		" 'verdict_limits', 2, 'OBSERVED', 0, subject_kind, subject FROM verdict WHERE rank=1";
	sqlite3 *db = changed(refusing(1040, false), less);

	(void)state;
	shows(db, "ALSO     GET /a: since");
	db_close(db);
}

/* Requests, and logins that are refused, on a connection without a name. */
static sqlite3 *refused_logins(void)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;

	begin_host(&x);
	begin_more(&x);
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS) {
		ask(&x, 1, 100, t, t + 10000, t + 200000);
		ask_more(&x, MORE_FIRST, 100, 100, t + MS, t + MS + 10000, t + MS + 200000);
		buf_printf(
			&x, &e,
			"%ld 100 answer conn=%d pos=0 len=20 status=1040 protocol=7 code=\"08004\"\n",
			t + MS + 200000, MORE_FIRST);
	}
	return analysed(loaded_buf(&x), NULL);
}

/* A refused login is an error of no request: their number is no share of the requests. */
static void errors_of_no_request_are_no_share(void **state)
{
	sqlite3 *db = changed(refusing(1203, false), "UPDATE verdict SET errors=5, read=9");

	(void)state;
	shows(db, "errors 5 of 9");
	db_close(db);
	db = changed(refusing(1203, false), "UPDATE verdict SET errors=9, read=5");
	shows(db, "errors 9\n");
	db_close(db);
	/* fewer than the requests that were read, among which it is not */
	db = changed(refused_logins(), "UPDATE verdict SET errors=5, read=9");
	shows(db, "errors 5\n");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(connections_that_stay_open_are_counted_by_client),
		T(others_are_not_said),
		T(places_that_are_taken_later),
		T(codes_have_names),
		T(errors_are_said_next_to_a_problem),
		T(errors_of_no_request_are_no_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
