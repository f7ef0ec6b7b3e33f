// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/compare_*.c: names without process ids, and two recordings of a server whose turns take a
 * known time: what is found must be what was put in.
 */
#include "analyze/compare/compare.h"
#include "analyze/replay/load.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <math.h>
#include <stdlib.h>

#define TURNS  1200
#define PERIOD 1000000 /* ns */

/* Turns of 100..200 us on a CPU; every second waits for a futex. fd 5 accepted on port 80. */
static void script(struct buf *b, int pid, s64 lock, unsigned int seed)
{
	s64 t = 1000000, work;
	int i;

	buf_printf(b, NULL,
		   "@recorder\n100 0 info text=\"targets=%d\"\n"
		   "101 0 info text=\"groups=core,syscalls,sched\"\n"
		   "102 %d thread pid=%d state=83 comm=\"server\"\n"
		   "108 %d fd pid=%d fd=5 mode=0140000 ino=77 family=2 role=2 sport=80\n"
		   "1000 0 info text=\"begin=1000\"\n@cpu 0\n",
		   pid, pid, pid, pid, pid);
	for (i = 0; i < TURNS; i++, t += PERIOD) {
		seed = seed * 1103515245u + 12345u;
		work = 100000 + (seed >> 8) % 100000;
		buf_printf(b, NULL,
			   "%lld 0 waking target=%d cpu=0\n%lld 0 switch next=%d\n"
			   "%lld %d syscall nr=read fd=5 ret=9 dur=500\n",
			   (long long)t - 1000, pid, (long long)t, pid, (long long)t + 1000, pid);
		if (i % 2) {
			buf_printf(b, NULL,
				   "%lld %d switch next=0 state=1\n%lld 0 waking target=%d cpu=0\n"
				   "%lld 0 switch next=%d\n%lld %d syscall_args nr=futex arg0=64 "
				   "dur=%lld\n",
				   (long long)t + 2000, pid, (long long)t + 2000 + lock, pid,
				   (long long)t + 2000 + lock, pid, (long long)t + 2100 + lock, pid,
				   (long long)lock + 600);
			work += lock;
		}
		buf_printf(b, NULL,
			   "%lld %d syscall nr=write fd=5 count=7 ret=7 dur=500\n"
			   "%lld %d switch next=0 state=1\n",
			   (long long)(t + 3000 + work), pid, (long long)(t + 4000 + work), pid);
	}
	/* recordings of tests share an id: their lengths tell these two apart, not sizes of files
	 */
	t += pid;
	buf_printf(b, NULL, "@recorder\n%lld 0 info text=\"stopped=%lld\"\n", (long long)t,
		   (long long)t);
}

static void measure(struct measured *m, int pid, s64 lock, unsigned int seed)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db = NULL;
	const char *path;

	script(&text, pid, lock, seed);
	path = packed(text.data);
	if (load_any(&db, path, &e) < 0 || compare_read(m, path, db, &e) < 0)
		fail_msg("%s", e.text);
	sqlite3_close(db);
	unlink(path);
	buf_free(&text);
}

static sqlite3 *compared(s64 lock_before, s64 lock_after)
{
	struct measured a, b;
	struct sides s = { { &a, &b }, { 1, 1 } };
	struct buf refused = { 0 };
	struct err e = { 0 };
	sqlite3 *db = NULL;

	measure(&a, 100, lock_before, 1);
	measure(&b, 4321, lock_after, 2);
	if (db_open(&db, NULL, true, &e) < 0 || compare_check(db, &s, &refused, &e) < 0 ||
	    compare_judge(db, &s, 0.05, &e) < 0 || compare_explain(db, &s, &e) < 0 ||
	    compare_say(db, &s, 0.05, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(refused.len, 0);
	buf_free(&refused);
	compare_free(&a);
	compare_free(&b);
	return db;
}

static void names_lose_their_process(void **state)
{
	char text[24];

	(void)state;
	compare_strip(text, sizeof(text), "server[123]:80");
	assert_string_equal(text, "server:80");
	compare_strip(text, sizeof(text), "a[1]b[x][22]");
	assert_string_equal(text, "ab[x]");
	compare_strip(text, sizeof(text), "evil\x1b[31m");
	assert_string_equal(text, "evil\\x1b[31m");
	compare_strip(text, 4, "a\xc3\xa4\xc3\xa4");
	assert_string_equal(text, "a\xc3\xa4");
}

static void parts_add_up_to_the_whole(void **state)
{
	sqlite3 *db = compared(50000, 250000);

	(void)state;
	/* every second turn waits 200 us longer */
	assert_int_equal(asked(db, "SELECT diff FROM excess WHERE category='futex'"), 100000);
	assert_int_equal(asked(db, "SELECT low <= 100000 AND high >= 100000 FROM excess"
				   " WHERE category='futex'"),
			 1);
	assert_in_range(asked(db,
			      "SELECT abs(sum(CASE category WHEN 'all' THEN -diff ELSE diff END))"
			      " * 1000 FROM excess"),
			0, 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM change WHERE subject='server:80' AND"
				   " name='turn p90' AND verdict='slower'"),
			 1);
	assert_int_equal(asked(db, "SELECT verdict='equivalent' FROM change WHERE name='turns/s'"),
			 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM finding WHERE sentence(id) LIKE"
				   " '%waiting for a futex%' AND sentence(id) LIKE '%+100 us%'"),
			 1);
	assert_int_equal(
		asked(db, "SELECT count(*) FROM finding WHERE evidence='LIMIT' AND sentence(id)"
			  " LIKE '%run-to-run%'"),
		1);
	assert_int_equal(asked(db, "SELECT count(*) FROM cdf WHERE side='after'"), CDF_POINTS);
	/* a distribution function rises */
	assert_int_equal(asked(db, "SELECT count(*) FROM cdf a JOIN cdf b ON a.side=b.side AND"
				   " a.q < b.q AND a.value > b.value"),
			 0);
	sqlite3_close(db);
}

static void nothing_changed(void **state)
{
	sqlite3 *db = compared(50000, 50000);

	(void)state;
	assert_int_equal(asked(db,
			       "SELECT count(*) FROM change WHERE verdict IN ('slower', 'faster',"
			       " 'more', 'less')"),
			 0);
	assert_int_equal(asked(db, "SELECT count(*) FROM comparability WHERE verdict<>'alike'"), 0);
	assert_int_equal(asked(db, "SELECT count(*) FROM excess WHERE low * high > 0"), 0);
	sqlite3_close(db);
}

/* One recording with a service for each name, of process server. */
static struct measured with_services(const char *const *names)
{
	struct measured m = { 0 };
	struct shape *x;

	m.shapes = calloc(4, sizeof(*m.shapes));
	for (; *names; names++) {
		x = &m.shapes[m.n_shapes++];
		x->what = "turn";
		snprintf(x->process, sizeof(x->process), "server");
		snprintf(x->subject, sizeof(x->subject), "%s", *names);
		assert_non_null(compare_add(&m, *names, COMPARE_turn_p50, NULL));
		assert_non_null(compare_add(&m, *names, COMPARE_run_turn, NULL));
	}
	return m;
}

static bool paired(const char *const *before, const char *const *after)
{
	struct measured a = with_services(before), b = with_services(after);
	struct sides s = { { &a, &b }, { 1, 1 } };
	struct err e = { 0 };
	sqlite3 *db = NULL;
	bool both;

	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(compare_pair(db, &s, &e), 0);
	both = compare_find(&a, "server", COMPARE_turn_p50) &&
	       compare_find(&b, "server", COMPARE_turn_p50);
	/* it is said; what is not of the service keeps its name */
	assert_int_equal(asked(db, "SELECT count(*) FROM comparability WHERE what='service'"),
			 both);
	assert_null(compare_find(&a, "server", COMPARE_run_turn));
	sqlite3_close(db);
	compare_free(&a);
	compare_free(&b);
	return both;
}

static void services_pair_by_port_or_alone(void **state)
{
	static const char *const one[] = { "server:80", NULL }, *const other[] = { "server:81",
										   NULL };
	static const char *const two[] = { "server:81", "server:82", NULL }, *const none[] = {
		NULL
	};

	(void)state;
	assert_true(paired(one, other));
	assert_false(paired(one, one)); /* by port */
	assert_false(paired(one, two));
	assert_false(paired(two, one));
	assert_false(paired(one, none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_lose_their_process),
		T(parts_add_up_to_the_whole),
		T(nothing_changed),
		T(services_pair_by_port_or_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
