// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/request/request_hops.c and table hop: the way of a question through network
 * devices. */
#include "analyze/causes/request/request_hops.h"
#include "analyze/render/request_text.h"
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

static struct request_tree tree;

/* The hops of the first question of the front's request. */
static const struct request_tree *hops_of(struct request_hops *ret, sqlite3 *db, int step)
{
	s64 id = 0;

	assert_int_equal(
		db_int(db, &id, NULL, "SELECT rowid FROM request WHERE pid=100 ORDER BY ts", ""),
		0);
	assert_int_equal(request_tree_make(&tree, db, id, NULL), 0);
	assert_int_equal(request_hops_make(ret, db, &tree, &tree.v[step], NULL), 0);
	return &tree;
}

static void has_line(sqlite3 *db, const char *text, bool wanted)
{
	static struct request_path path;
	struct buf out = { 0 };

	path.n = 0;
	assert_int_equal(request_text(&out, db, &tree, &path, NULL), 0);
	if (!strstr(out.data, text) == wanted)
		fail_msg("%s\nis %sin\n%s", text, wanted ? "not " : "", out.data);
	buf_free(&out);
}

#define END(id, n, role, from, to, local, remote)                                             \
	"4 " #id " fd pid=" #id " fd=" #n " mode=0140000 ino=" #id #n " family=2 role=" #role \
	" socktype=1 sport=" #from " dport=" #to " saddr=" local " daddr=" remote "\n"
#define KNOWN(n, id, fd, from, to, local, remote)                                        \
	"5 0 connection conn=" #n " ino=" #id #fd " family=2 sport=" #from " dport=" #to \
	" saddr=" local " daddr=" remote "\n"
#define TWO_HOSTS                                                                             \
	"@recorder\n0 0 info text=\"targets=all\"\n"                                          \
	"1 0 info text=\"groups=core,syscalls,sched,requests,hops\"\n"                        \
	"1 0 info text=\"host=near\"\n1 0 info text=\"2.host=far\"\n"                         \
	"1 0 info text=\"1.pid_offset=0\"\n1 0 info text=\"2.pid_offset=10000000\"\n" THREAD( \
		100, "front") THREAD(10000200, "back") FD(100, 5, 2, 80, 4005)
#define ASKED_IN_TIME       \
	READ(1000, 100, 5)  \
	WRITE(1100, 100, 6) \
	READ(1650, 100, 6)  \
	WRITE(1700, 100, 5) "@cpu 1000\n" READ(1400, 10000200, 3) WRITE(1500, 10000200, 3)

/* The clock of the far host is about 75 ns ahead: what it receives before the near one sends
 * contradicts. */
static void times_against_the_order_are_counted(void **state)
{
	static const struct {
		long far;
		int against;
	} cases[] = { { 1380, 0 }, { 1250, 1 } };
	struct request_hops h;
	struct buf text = { 0 };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(
			buf_printf(
				&text, NULL,
				"%s@cpu 1001\n%ld 0 hop conn=2 seq=7 len=10 ifindex=3 netns=5 flags=2"
				" device=\"b\"\n",
				TWO_HOSTS END(100, 6, 3, 4006, 90, "10.0.0.1", "10.0.0.2") END(
					10000200, 3, 2, 90, 4006, "10.0.0.2", "10.0.0.1")
					BEGIN KNOWN(1, 100, 6, 4006, 90, "10.0.0.1", "10.0.0.2")
						KNOWN(2, 10000200, 3, 90, 4006, "10.0.0.2",
						      "10.0.0.1") HOP(1200, 1, 7, 10, 1, 2, "a")
							ASKED_IN_TIME,
				cases[i].far),
			0);
		db = loaded_buf(&text);
		assert_true(hops_of(&h, db, 1)->clocks.v[1].known);
		assert_int_equal(h.n_there, 2);
		assert_int_equal(h.against_there, cases[i].against);
		assert_int_equal(h.against_back, 0);
		has_line(db, "; 1 time contradicts the order", cases[i].against);
		db_close(db);
	}
}

/* Each end knows a part of the way under its own addresses. */
static void a_translated_way_is_joined(void **state)
{
	struct request_hops h;
	sqlite3 *db = loaded(
		TWO_HOSTS END(100, 6, 3, 4006, 90, "10.0.0.1", "10.96.0.7")
			END(10000200, 3, 2, 9090, 4006, "10.0.0.2", "10.0.0.1")
				BEGIN KNOWN(1, 100, 6, 4006, 90, "10.0.0.1", "10.96.0.7")
					KNOWN(2, 10000200, 3, 9090, 4006, "10.0.0.2", "10.0.0.1")
						HOP(1095, 1, 7, 10, 1, 2, "a") ASKED_IN_TIME
		"@cpu 1001\n1380 0 hop conn=2 seq=7 len=10 ifindex=3 netns=5 flags=2 device=\"b\"\n");

	(void)state;
	assert_string_equal(hops_of(&h, db, 1)->v[1].translated, "10.0.0.2:9090");
	assert_int_equal(h.n_there, 2);
	assert_string_equal(h.there[0].device, "a");
	assert_string_equal(h.there[1].device, "b");
	assert_int_equal(h.against_there, 0);
	has_line(db, "address translated: there 10.0.0.2:9090", true);
	has_line(db, "no connection has the same addresses on both hosts", true);
	db_close(db);
}

/* Without the peer neither the arrival nor when the answer was sent is known. */
static void a_missing_peer_leaves_the_ends_unknown(void **state)
{
	struct request_hops h;
	sqlite3 *db = loaded(TWO_HOSTS END(100, 6, 3, 4006, 90, "10.0.0.1", "10.0.0.3")
				     BEGIN KNOWN(1, 100, 6, 4006, 90, "10.0.0.1", "10.0.0.3")
					     HOP(1095, 1, 7, 10, 1, 2, "a")
						     HOP(1600, 1, 9, 10, 2, 2, "a") ASKED_IN_TIME);

	(void)state;
	assert_int_equal(hops_of(&h, db, 1)->v[1].end, PATH_NO_PROCESS);
	assert_int_equal(h.n_there, 1);
	assert_int_equal(h.arrival, -1);
	assert_int_equal(h.n_back, 1);
	assert_int_equal(h.back[0].dur, -1);
	assert_int_equal(h.receive, 50);
	assert_int_equal(h.against_there + h.against_back, 0);
	db_close(db);
}

/* The back asks the front on the connection on which it was asked. */
static void a_circle_has_one_way_for_each_question(void **state)
{
	struct request_hops h;
	sqlite3 *db = loaded(
		"@recorder\n0 0 info text=\"targets=all\"\n"
		"1 0 info text=\"groups=core,syscalls,sched,requests,hops\"\n" THREAD(100, "front")
			THREAD(200, "back") FD(100, 5, 2, 80, 4005) FD(100, 6, 3, 4006, 90)
				FD(200, 3, 2, 90, 4006) FD(200, 9, 3, 4005, 80) BEGIN CONN(
					1, 200, 9, 4005, 80) READ(1000, 100, 5) WRITE(1100, 100, 6)
					READ(1200, 200, 3) HOP(1245, 1, 7, 10, 1, 2, "a")
						WRITE(1250, 200, 9) WRITE(1800, 200, 3)
							READ(1850, 100, 6) WRITE(1900, 100, 5)
								READ(2000, 200, 9));

	(void)state;
	assert_int_equal(hops_of(&h, db, 3)->v[3].end, PATH_SEEN);
	assert_int_equal(h.n_there, 1);
	assert_int_equal(h.arrival, -1);
	assert_int_equal(h.n_back, 0);
	has_line(db, "; its request is above already", true);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_way_is_that_of_the_last_byte),
		T(times_against_the_order_are_counted),
		T(a_translated_way_is_joined),
		T(a_missing_peer_leaves_the_ends_unknown),
		T(a_circle_has_one_way_for_each_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
