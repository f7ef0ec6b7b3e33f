// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/request_hops.c and table hop: the way of a question through network devices. */
#include "analyze/causes/request_hops.h"
#include "tests/lib/loaded.h"
#include "tests/lib/two_tiers.h"
#include "tests/lib/unit.h"

#define CONN(n, id, fd, from, to)                                                        \
	"5 0 connection conn=" #n " ino=" #id #fd " family=2 sport=" #from " dport=" #to \
	" saddr=127.0.0.1 daddr=127.0.0.1\n"
#define HOP(ts, n, seq, len, flags, at, name)                                                    \
#ts " 0 hop conn=" #n " seq=" #seq " len=" #len " ifindex=" #at " netns=4 flags=" #flags \
	    " device=\"" name "\"\n"

/*
 * The question leaves as one segment and arrives as two, of which the first is lost between b and
 * c, and sent again; the answer is recorded for the end that sends it.
 */
static void the_way_is_that_of_the_last_byte(void **state)
{
	sqlite3 *db = loaded(
		"@recorder\n0 0 info text=\"targets=all\"\n"
		"1 0 info text=\"groups=core,syscalls,sched,requests,hops\"\n" THREAD(
			100, "front") THREAD(200, "back") TWO_TIERS BEGIN CONN(1, 100, 6, 4006, 90)
			CONN(2, 200, 3, 90, 4006) READ(1000, 100, 5) HOP(
				1095, 1, 4294967290, 20, 1, 2,
				"a") WRITE(1100, 100, 6) HOP(1110, 1, 4294967290, 10, 0, 3, "b")
				HOP(1112, 1, 4, 10, 0, 3, "b") HOP(1130, 1, 4, 10, 1, 4, "c") HOP(
					1300, 1, 4294967290, 10, 1,
					2, "a") HOP(1310, 1, 4294967290, 10, 0, 3, "b")
					HOP(1350, 1, 4294967290, 10, 1, 4, "c") READ(1400, 200, 3)
						WRITE(1500, 200, 3) HOP(1520, 2, 70, 30, 1, 4, "c")
							HOP(1600, 2, 70, 30, 0, 2, "a")
								READ(1650, 100, 6)
									WRITE(1700, 100, 5));
	static struct request_tree tree;
	const struct request_tree *t = &tree;
	struct request_hops h;
	s64 id = 0;

	(void)state;
	assert_int_equal(db_int(db, &id, NULL, "SELECT rowid FROM request WHERE pid=100", ""), 0);
	assert_int_equal(request_tree_make(&tree, db, id, NULL), 0);
	assert_int_equal(t->v[1].end, PATH_FOLLOWED);
	assert_int_equal(request_hops_make(&h, db, t, &t->v[1], NULL), 0);
	assert_int_equal(h.n_there, 3);
	assert_string_equal(h.there[2].device, "c");
	assert_true(h.there[2].sends);
	assert_int_equal(h.there[2].dur, 1350 - 1310);
	assert_int_equal(h.there[1].dur, 1310 - 1300);
	assert_int_equal(h.arrival, 1400 - 1350);
	assert_int_equal(h.n_back, 2);
	assert_int_equal(h.back[0].dur, 20);
	assert_int_equal(h.back[1].dur, 80);
	assert_int_equal(h.receive, 50);
	is_number(db, "SELECT sum(dur IS NULL) FROM hop", 3); /* a twice, c of the answer */
	is_number(db, "SELECT max(dur) FROM hop WHERE from_peer=0 AND conn=1", 40);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_way_is_that_of_the_last_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
