// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record/requests/statement.c: what is written of a statement. record/functions/usdt_wish.c: how it
 * is asked for. analyze/replay/requests/track_usdt.c, track_names.c: what it names.
 */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include "record/functions/usdt_wish.h"
#include "record/requests/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In memory of exactly that size, so that a byte more is seen. */
static char *stripped(const char *text, size_t n, bool *cut)
{
	u8 *own = malloc(n + 1), *again = malloc(n + 1);
	bool cut_again;
	size_t k;

	assert_non_null(own);
	assert_non_null(again);
	memcpy(again, text, n);
	k = statement_strip(again, n, cut);
	assert_true(k <= n);
	memcpy(own, again, k);
	own[k] = '\0';
	if (!*cut) { /* what is without values stays as it is */
		assert_int_equal(statement_strip(again, k, &cut_again), k);
		assert_memory_equal(again, own, k);
	}
	free(again);
	return (char *)own;
}

static void is_shape(const char *text, const char *want, bool want_cut)
{
	bool cut;
	char *got = stripped(text, strlen(text), &cut);

	if (strcmp(got, want) != 0 || cut != want_cut)
		fprintf(stderr, "of: %s\n", text);
	assert_string_equal(got, want);
	assert_int_equal(cut, want_cut);
	free(got);
}

static void values_are_removed(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "SELECT b FROM t WHERE a=1", "SELECT b FROM t WHERE a=?" },
		{ "select  b\n\tfrom t where a = 'it''s' ;", "select b from t where a=?" },
		{ "SELECT 1.5e-7, .5, 0x1F, 1_000", "SELECT ?" },
		{ "a = -5 AND b - 5 > +3", "a=? AND b - ?>?" },
		{ "x + -5", "x + ?" },
		{ "a IN (1, 2,3 , 'x')", "a IN (?)" },
		{ "INSERT INTO t (a,b) VALUES (1, NULL), (2, 'x'),(3, default)",
		  "INSERT INTO t (a,b) VALUES (?)" },
		{ "f(a, 1, 2, b)", "f(a,?,b)" },
		{ "a IS NULL", "a IS NULL" },
		{ "WHERE aid = $1 AND b = ?2 AND c = ?", "WHERE aid=? AND b=? AND c=?" },
		{ "WHERE a = :name AND b = @x::int", "WHERE a=:name AND b=@x::int" },
		{ "a = E'x' OR b=x'1F' OR c = N'y'", "a=? OR b=? OR c=?" },
		{ "$$secret$$ || $tag$it $$ x$tag$", "? || ?" },
		{ "SELECT /* user 7 */ a -- b\nFROM t", "SELECT a FROM t" },
		{ "SELECT \"t\".\"id\" FROM \"t\" WHERE \"t\".\"n\" = \"value\"",
		  "SELECT \"t\".\"id\" FROM \"t\" WHERE \"t\".\"n\"=?" },
		{ "SELECT trim('x' FROM \"secret\")", "SELECT trim(? FROM ?)" },
		{ "SELECT \"not a name\".x", "SELECT ?.x" },
		{ "SELECT `a` FROM `t t`", "SELECT `a` FROM ?" },
		{ "UPDATE \xc3\xa4 SET n='\xc3\xa4'", "UPDATE \xc3\xa4 SET n=?" },
		{ "t1.c2", "t1.c2" },
		{ "", "" },
		{ " ; ", "" },
		/* not ended */
		{ "a = 'sec", "a=?" },
		{ "a = \"sec", "a=?" },
		{ "a = $$sec", "a=?" },
		{ "a /* sec", "a" },
		{ "a = 12", "a=?" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_shape(cases[i].text, cases[i].want, false);
}

/* One dialect ends the string where another goes on: nothing of the rest is shown. */
static void a_statement_ends_where_dialects_differ(void **state)
{
	(void)state;
	is_shape("a = 'x\\' OR secret = 'y'", "a=?", true);
	is_shape("a = \"x\\\" secret \"", "a=?", true);
	is_shape("a = 'x\\\\' OR b=1", "a=? OR b=?", false);
	is_shape("a # it's secret", "a", true);
	is_shape("a --'\nsecret", "a", true);
	is_shape("a /* x /* y */ secret */", "a", true);
	is_shape("a /*!50000 secret */ b", "a", true);
	is_shape("a /*M! secret */ b", "a", true);
	is_shape("a -- b\r it's \n secret'", "a", true);
	is_shape("a -- b\r\nFROM t", "a FROM t", false);
	is_shape("$a$ it's $a$ secret", "?", true);
	is_shape("$a$ ` $a$ secret", "?", true);
	is_shape("SELECT [it's], 'secret', 'x'", "SELECT", true);
	is_shape("SELECT [a-- b],\nsecret", "SELECT", true);
	is_shape("SELECT [it's", "SELECT", true);
	is_shape("SELECT [a b], c[2], d[$1], ARRAY[1,2]", "SELECT [a b],c[?],d[?],ARRAY[?]", false);
	is_shape("a = 'x\x81\\\\' OR secret'", "a=?", true);
	is_shape("a IS DISTINCT FROM \"secret\"", "a IS DISTINCT FROM ?", false);
}

/* Of any bytes: no digit of a number and nothing of a closed quoted string is left. */
static void hostile_bytes_end_in_bounds(void **state)
{
	static const char bytes[] = "aE'\"`$()-+/*#.,;? =\\\n\x01\x80\xff"
				    "17";
	u32 seed = 1, i, k, n;
	char text[64];
	bool cut;

	(void)state;
	for (i = 0; i < 200000; i++) {
		n = (seed >> 8) % sizeof(text);
		for (k = 0; k < n; k++) {
			seed = seed * 1664525 + 1013904223;
			text[k] = bytes[(seed >> 16) % (sizeof(bytes) - 1)];
		}
		seed = seed * 1664525 + 1013904223;
		free(stripped(text, n, &cut));
	}
	free(stripped("\0 1 \0", 5, &cut));
}

static void arguments_are_asked_for(void **state)
{
	static const struct {
		const char *text;
		int args, arg, max, offset;
	} cases[] = {
		{ "0", 0, 0, 200, 0 },	      { "4", 4, 0, 200, 0 },
		{ "s2", 0, 2, 200, 0 },	      { "s1:64", 0, 1, 64, 0 },
		{ "2,s6:255", 2, 6, 255, 0 }, { "s1+248:128", 0, 1, 128, 248 },
	};
	static const char *const bad[] = { "",	   "5",	    "s0",    "s7",	  "s1:0", "s1:256",
					   "1s2",  "1,",    ",s1",   "s1+",	  "s1:",  "s1:1x",
					   "s1,1", "s1:-5", "s1+ 4", "s1:9999999" };
	struct text_wish wish;
	struct err e = { 0 };
	u32 args;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(args_wish_read(&args, &wish, cases[i].text, &e), 0);
		assert_int_equal(args, cases[i].args);
		assert_int_equal(wish.arg, cases[i].arg);
		assert_int_equal(wish.max, cases[i].max);
		assert_int_equal(wish.offset, cases[i].offset);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(args_wish_read(&args, &wish, bad[i], &e) < 0);
}

/* The record is written without values, shorter, and says where it is not complete. */
static void records_lose_their_values(void **state)
{
	u64 room[64] = { 0 };
	struct ev_call_text *ev = (void *)room;
	struct ev_usdt *usdt = (void *)room;
	struct buf out = { 0 };
	struct err e = { 0 };

	(void)state;
	ev->h = (struct ev_header){ 5, 7, EV_call_text, sizeof(*ev) + USDT_TEXT_MAX };
	ev->site = 3;
	ev->unread = USDT_TEXT_STATEMENT;
	memcpy(ev->text, "SELECT 'secret\\' x'", 19);
	assert_true(statement_in(&ev->h));
	assert_int_equal(statement_put(&ev->h, &out, &e), 0);
	ev = (void *)out.data;
	assert_int_equal(out.len, sizeof(*ev) + 8);
	assert_int_equal(ev->h.size, out.len);
	assert_int_equal(ev->site, 3);
	assert_int_equal(ev->unread, USDT_TEXT_STATEMENT | USDT_TEXT_CUT);
	assert_memory_equal(ev->text, "SELECT ?", 8);
	buf_free(&out);

	usdt->h.type = EV_usdt;
	usdt->unread = 0; /* :str */
	assert_false(statement_in(&usdt->h));
}

#define HOST                                                                                                      \
	"@recorder\n0 0 info text=\"targets=all\"\n"                                                              \
	"1 0 info text=\"groups=core,syscalls,sched,requests,uprobe\"\n"                                          \
	"2 100 thread pid=100 state=83 comm=\"server\"\n"                                                         \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80 dport=9\n"                 \
	"4 0 request_name id=1 protocol=6 name=\"Execute SELECT\"\n"                                              \
	"4 0 request_name id=2 protocol=1 name=\"GET /x\"\n4 0 request_name id=3 protocol=8 name=\"encrypted\"\n" \
	"5 0 site id=0 flags=3 text=\"/x:run\"\n"                                                                 \
	"10 0 info text=\"begin=10\"\n90_000 0 info text=\"stopped=90000\"\n@cpu 0\n"                             \
	"100 0 connection sock=7 ino=77 conn=1 family=2 sport=80 dport=9 side=1\n"                                \
	"900 0 waking target=100\n900 0 switch next=100\n"
#define READ(ts, name, n)                                  \
#ts " 100 syscall nr=read fd=5 dur=50 ret=9\n" #ts \
	    " 100 head conn=1 pos=0 len=9 name=" #name " requests=" #n "\n"
#define RUN(ts, end, flags, words)                                                     \
#ts " 100 call_text site=0 sp=800 unread=" #flags " text=\"" words "\"\n" #end \
	    " 100 return site=0 sp=800\n"
#define WRITE(ts) #ts " 100 syscall nr=write fd=5 dur=50 ret=9\n"
#define NAME_OF(row) \
	"SELECT n.name FROM request q LEFT JOIN request_name n ON n.id=q.name WHERE q.rowid=" #row

/* By the first statement; unless the protocol shows a name, or there are several requests. */
static void statements_name_requests(void **state)
{
	sqlite3 *db = loaded(
		HOST READ(2000, 1, 1) RUN(2100, 2200, 64, "SELECT ?") RUN(2300, 2400, 64, "other")
			WRITE(3000) READ(4000, 2, 1) RUN(4100, 4200, 64, "SELECT ?") WRITE(5000)
				READ(6000, 3, 0) RUN(6100, 6200, 96, "SELECT ?") WRITE(7000)
					READ(8000, 1, 2) RUN(8100, 8200, 64, "SELECT ?") WRITE(9000)
						RUN(9100, 9300, 64, "late"));

	(void)state;
	is_text(db, NAME_OF(1), "SELECT ?");
	is_text(db, NAME_OF(2), "GET /x");
	is_text(db, NAME_OF(3), "SELECT ? ...");
	is_text(db, NAME_OF(4), "Execute SELECT");
	is_number(db, "SELECT requests FROM request_stat WHERE name=1", 2);
	is_number(db, "SELECT sum(requests) FROM request_stat WHERE name>65536", 2);
	is_number(db, "SELECT count(*) FROM request_stat WHERE name=3", 0);
	is_number(db, "SELECT sum(requests) FROM request_stat", 5);
	is_number(db, "SELECT count(*) FROM request_name WHERE protocol=9", 2);
	is_number(db, "SELECT sum(received) FROM service", 5);
	/* calls by statement */
	is_number(db, "SELECT n FROM v_statement WHERE text='SELECT ?'", 3);
	is_number(db, "SELECT p50 FROM v_statement WHERE text='SELECT ?'", 100);
	is_number(db, "SELECT max FROM v_statement WHERE text='late'", 200);
	is_number(db, "SELECT cut FROM call_defect", 1);
	is_number(db, "SELECT unreadable FROM call_defect", 0);
	db_close(db);
}

/* Of 4 calls: a statement, one that cannot be read, NULL, empty. */
static void texts_that_are_missing_are_counted(void **state)
{
	sqlite3 *db = loaded(HOST RUN(2100, 2200, 64, "BEGIN") RUN(2300, 2400, 80, "")
				     RUN(2500, 2600, 192, "") RUN(2700, 2800, 64, ""));

	(void)state;
	is_number(db, "SELECT count(*) FROM call", 4);
	is_number(db, "SELECT count(text) FROM call", 1);
	is_number(db, "SELECT unreadable FROM call_defect", 1);
	is_text(db,
		"SELECT ts || ' ' || tid || ' ' || site || ' ' || coalesce(key, '-') || ' ' || defect"
		" FROM span_defect",
		"2290 100 0 - no text");
	analysed(db, "queries");
	is_number(db, FINDING_VALUE("texts_unreadable", "n", "v.number"), 1);
	is_number(db, FINDING_VALUE("texts_unreadable", "first", "v.number"), 2290);
	analysed(db, "functions");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='spans_unpaired'", 0);
	is_number(db, "SELECT n FROM v_statement", 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_removed),
		cmocka_unit_test(a_statement_ends_where_dialects_differ),
		cmocka_unit_test(hostile_bytes_end_in_bounds),
		cmocka_unit_test(arguments_are_asked_for),
		cmocka_unit_test(records_lose_their_values),
		cmocka_unit_test(statements_name_requests),
		cmocka_unit_test(texts_that_are_missing_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
