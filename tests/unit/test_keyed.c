// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record/functions/span_wish.c, analyze/replay/requests/track_keyed.c: spans between two functions,
 * from the option to rows paired by their keys.
 */
#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "tests/lib/loaded.h"

#include "record/functions/span_wish.h"
#include "record/functions/usdt_wish.h"

static void is_end(const struct span_end *end, const char *text, bool back, u8 key)
{
	assert_string_equal(end->text, text);
	assert_int_equal(end->back, back);
	assert_int_equal(end->key, key);
}

static void wishes_are_read(void **state)
{
	struct span_wish w;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(span_wish_read(&w, "srv:begin..end@2,1", &e), 0);
	assert_true(w.keyed);
	is_end(&w.at[0], "srv:begin", false, 2);
	is_end(&w.at[1], "end", false, 1);
	assert_int_equal(span_wish_read(&w, "../srv:begin../usr/lib/b.so:end@6", &e), 0);
	is_end(&w.at[0], "../srv:begin", false, 6);
	is_end(&w.at[1], "/usr/lib/b.so:end", false, 6);
	assert_int_equal(span_wish_read(&w, "libc:malloc%return..free@return,1", &e), 0);
	is_end(&w.at[0], "libc:malloc", true, 0);
	is_end(&w.at[1], "free", false, 1);
	assert_int_equal(span_wish_read(&w, "a:b@V_1.2..c@@", &e), 0);
	assert_false(w.keyed);
	is_end(&w.at[0], "a:b@V_1.2", false, 0);
	is_end(&w.at[1], "c@@", false, 0);
	assert_int_equal(span_wish_read(&w, "a:f(char const*, ...)..ns::g(int)@1", &e), 0);
	is_end(&w.at[0], "a:f(char const*, ...)", false, 1);
	is_end(&w.at[1], "ns::g(int)", false, 1);
}

static void functions_are_no_spans(void **state)
{
	static const char *const others[] = {
		"srv:f", "../srv:f", "a/../srv:f", "srv:f(char const*, ...)",
		"srv",	 "srv:f..",  "srv:..f",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (span_wish_is(others[i]))
			fail_msg("'%s' is a span", others[i]);
}

static void wishes_are_refused(void **state)
{
	static const char *const bad[] = {
		"a:b..c@0",	   "a:b..c@7",	"a:b..c@1,7",	   "a:b..c@1,",
		"a:b..c%return@1", "a:b..@1",	"a:b%return..c@1", "a:b..c@return",
		"a:b..c@1,2,3",	   "a:%return", "a:b..%return",	   "a:b%return..c@return",
	};
	struct span_wish w;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = (struct err){ 0 };
		if (span_wish_read(&w, bad[i], &e) != ERR_FAIL || !e.text[0])
			fail_msg("'%s' was read", bad[i]);
	}
}

static void keys_of_static_probes(void **state)
{
	struct usdt_wish w;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(usdt_wish_read(&w, "node:a(2)..b@4,1", &e), 0);
	assert_int_equal(w.at[0].key, 4);
	assert_int_equal(w.at[1].key, 1);
	assert_int_equal(usdt_wish_read(&w, "a..b@12", &e), 0);
	assert_int_equal(w.at[1].key, 12);
	assert_int_equal(usdt_wish_read(&w, "a..b@13", &e), ERR_FAIL);
	assert_int_equal(usdt_wish_read(&w, "a@1", &e), ERR_FAIL);
	assert_int_equal(usdt_wish_read(&w, "a..b@return", &e), ERR_FAIL);
	assert_int_equal(usdt_wish_read(&w, "a(1,2,3,4)..b@1", &e), ERR_FAIL);
}

/* ---- what is recorded of them ---- */

#define SIZE 100000

#define START                                                                        \
	"@recorder\n900 0 info text=\"targets=100\"\n901 0 info text=\"follow=1\"\n" \
	"902 0 info text=\"groups=core,uprobe,sched\"\n"                             \
	"904 0 clock monotonic=904 realtime=1700000000000000000 boottime=904\n"      \
	"905 100 thread pid=100 state=S comm=\"srv\"\n"                              \
	"905 101 thread pid=100 state=S comm=\"srv\"\n"                              \
	"905 200 thread pid=200 state=S comm=\"other\"\n"                            \
	"906 0 site id=0 flags=11 text=\"/bin/srv:begin..end@1\"\n"                  \
	"907 0 site id=1 flags=11 text=\"/bin/srv:read..write@1\"\n"                 \
	"1000 0 info text=\"begin=1000\"\n@cpu 0\n"
#define BEGIN " usdt which=3 args=2 site="
#define END   " usdt which=4 args=1 site="

static void pairs_are_made_by_key(void **state)
{
	sqlite3 *db = loaded(START "2000 100" BEGIN "0 arg0=7 arg1=70\n2100 100" BEGIN
				   "0 arg0=8 arg1=80\n2150 100" BEGIN "1 arg0=7\n2300 101" END
				   "0 arg0=7\n2500 100" END "0 arg0=8\n2600 100" END "1 arg0=7\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM call", 3);
	is_number(db, "SELECT dur FROM call WHERE site=0 AND arg0=7", 300);
	is_number(db, "SELECT tid * 1000 + end_tid FROM call WHERE site=0 AND arg0=7", 100101);
	is_number(db, "SELECT arg1 FROM call WHERE arg0=8", 80);
	is_number(db, "SELECT dur FROM call WHERE arg0=8", 400);
	is_number(db, "SELECT dur FROM call WHERE site=1", 450);
	is_number(db, "SELECT n * 10 + moved FROM call_stat WHERE site=0", 21);
	is_number(db, "SELECT moved_total FROM call_stat WHERE site=0", 300);
	is_number(db, "SELECT count(*) FROM call_defect", 0);
	is_number(db, "SELECT count(*) FROM span_defect", 0);
	db_close(db);
}

/* Of the two threads, only the one that starts and ends a span says where its time went. */
static void states_are_those_of_one_thread(void **state)
{
	sqlite3 *db = loaded(START "1100 0 switch next=100\n"
				   "2000 100" BEGIN "0 arg0=1\n2100 100" BEGIN "0 arg0=2\n"
				   "2200 100 switch next=101 state=1\n"
				   "2300 101" END "0 arg0=2\n"
				   "2400 101 waking target=100\n"
				   "2500 101 switch next=100 state=1\n"
				   "2700 100" END "0 arg0=1\n");

	(void)state;
	is_number(db, "SELECT dur FROM call WHERE arg0=1", 700);
	is_number(db, "SELECT run FROM call WHERE arg0=1", 400);
	is_null(db, "SELECT run FROM call WHERE arg0=2");
	is_number(db, "SELECT moved FROM call_stat", 1);
	is_number(db, "SELECT total FROM call_state WHERE state=state_id('run')", 400);
	is_number(db,
		  "SELECT sum(n) FROM latency WHERE kind='call_state' AND subject=0"
		  " AND item=state_id('run')",
		  1);
	analysed(db, "functions");
	is_number(db, FINDING_VALUE("spans_moved", "n", "v.number"), 1);
	db_close(db);
}

static void defects_are_counted_and_located(void **state)
{
	sqlite3 *db =
		loaded(START "2000 100" BEGIN "0 arg0=7\n2100 101" BEGIN "0 arg0=7\n2300 100" END
			     "0 arg0=7\n2400 100" END "0 arg0=7\n2500 101" BEGIN
			     "0 arg0=9\n2600 200" END "0 arg0=9\n2700 100" BEGIN
			     "0 arg0=3 unread=1\n2800 100" END "0 arg0=3 unread=1\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM call", 1);
	is_number(db, "SELECT dur FROM call", 200);
	is_number(db, "SELECT reused FROM call_defect", 1);
	is_number(db, "SELECT unmatched FROM call_defect", 2);
	is_number(db, "SELECT open FROM call_defect", 1);
	is_number(db, "SELECT keyless FROM call_defect", 2);
	is_number(db, "SELECT oldest FROM call_defect", 300);
	is_text(db,
		"SELECT group_concat(ts || ' ' || tid || ' ' || coalesce(key, '-') || ' ' || defect,"
		" ', ') FROM (SELECT * FROM span_defect ORDER BY ts)",
		"1000 100 7 reused, 1400 100 7 no start, 1500 101 9 no end, 1600 200 9 no start, "
		"1700 100 - no key, 1800 100 - no key");
	db_close(db);
}

/* A new program has other addresses; the thread goes on. */
static void exec_ends_all(void **state)
{
	sqlite3 *db =
		loaded(START "2000 100" BEGIN "0 arg0=7\n2100 100 exec\n2200 100" END "0 arg0=7\n");

	(void)state;
	is_number(db, "SELECT open * 10 + unmatched FROM call_defect", 11);
	is_number(db, "SELECT count(*) FROM call", 0);
	db_close(db);
}

static void many_defects_have_few_rows(void **state)
{
	char *text = malloc(SIZE);
	size_t at;
	sqlite3 *db;
	int i;

	(void)state;
	assert_non_null(text);
	at = (size_t)snprintf(text, SIZE, "%s", START);
	for (i = 0; i < 1000; i++)
		at += (size_t)snprintf(text + at, SIZE - at, "%d 100" END "0 arg0=%d\n", 2000 + i,
				       i);
	db = loaded(text);
	is_number(db, "SELECT unmatched FROM call_defect", 1000);
	is_number(db, "SELECT count(*) FROM span_defect", 100);
	is_number(db, "SELECT max(key) FROM span_defect", 99);
	db_close(db);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(wishes_are_read),
		T(functions_are_no_spans),
		T(wishes_are_refused),
		T(keys_of_static_probes),
		T(pairs_are_made_by_key),
		T(states_are_those_of_one_thread),
		T(defects_are_counted_and_located),
		T(exec_ends_all),
		T(many_defects_have_few_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
