// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_cut.c: answers that end early, and those that only look so. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <string.h>

#define MS 1000000L

#define VERDICT		    "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define VALUE(kind, what)   FINDING_VALUE(kind, what, "v.number")
#define TEXT_OF(kind, what) FINDING_VALUE(kind, what, "v.text")

/*
 * After 5 s each answer of a rare name has so many bytes, and its connection is closed, as one to
 * an upstream was within the request.
 */
struct cut {
	int bytes;
	bool kept,	    /* the connection is */
		fresh,	    /* it is of one request */
		alone,	    /* the connection to the upstream is open */
		failing,    /* a tenth of other requests reports errors */
		slow,	    /* complete answers take longer */
		ring, some, /* of the connections are kept */
		whole,	    /* these have complete answers */
		longer,	    /* the requests are then: they ask for the close */
		held,	    /* it is closed 1.6 s later, with another one to the upstream */
		unused,	    /* that was not asked within the request */
		many,	    /* the process closes 1 other per ms */
		other,	    /* a request of another name had it closed so after 9 s */
		ends,	    /* the process ends later */
		stops;	    /* it stops to listen before */
	int left;	    /* the client closed it first, the server reads this */
	const char *call;   /* by this call */
	const char *change; /* of the tables */
};

#define UPSTREAM 200 /* first fd of those that are closed with one of a client */

static void ask_upstream(struct buf *x, int fd, long t)
{
	struct err e = { 0 };

	buf_printf(x, &e, "%ld 100 syscall nr=write fd=%d dur=1 ret=20\n", t, fd);
	buf_printf(x, &e, "%ld 100 syscall nr=read fd=%d dur=1 ret=20\n", t + 10000, fd);
}

static void begin_cut(struct buf *x, struct cut f)
{
	struct err e = { 0 };
	int k;

	begin_host(x);
	begin_more(x);
	buf_printf(x, &e,
		   "@recorder\n5 100 fd pid=100 fd=90 mode=0140000 ino=190 family=2 role=3"
		   " socktype=1 sport=5000 dport=90 daddr=10.0.0.90\n");
	for (k = 0; k < 2 * MORE && f.held; k++)
		buf_printf(x, &e,
			   "5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1"
			   " sport=%d dport=90 daddr=10.0.0.90\n",
			   UPSTREAM + k, 1000 + k, 6000 + k);
	if (f.ring)
		buf_printf(x, &e, "5 100 fd pid=100 fd=91 path=\"anon_inode:[io_uring]\"\n");
	if (f.stops)
		buf_printf(x, &e,
			   "5 100 fd pid=100 fd=92 mode=0140000 ino=192 family=2 role=listening"
			   " socktype=1 sport=80\n");
	buf_printf(x, &e, "@cpu 0\n");
	if (f.stops)
		buf_printf(x, &e, "%ld 100 syscall nr=close fd=92 dur=1\n", 18 * MS);
	if (!f.other)
		return;
	ask(x, 4, 100, 15 * MS, 15 * MS + 10000, 15 * MS + 100000);
	buf_printf(x, &e, "@cpu 1\n");
	ask_upstream(x, 90, 15 * MS + 20000);
	buf_printf(x, &e, "@cpu 0\n");
}

/* Its number is that of its fd. */
static int connection_of(struct cut f, int k, bool late)
{
	if (!f.fresh)
		return MORE_FIRST + k % (MORE - 1);
	return MORE_FIRST + (late ? 2 + k % 9 : k % 2);
}

/* Those that the server holds for 1.6 s. */
static void close_held(struct buf *x, long *due, long t)
{
	struct err e = { 0 };
	int conn;

	for (conn = 0; conn <= OTHER_PORT; conn++) {
		if (!due[conn] || due[conn] > t)
			continue;
		due[conn] = 0;
		buf_printf(x, &e, "%ld 100 syscall nr=close fd=%d dur=1\n", t - 2000,
			   UPSTREAM + conn);
		buf_printf(x, &e, "%ld 100 syscall nr=close fd=%d dur=1\n", t - 1000, conn);
	}
}

/* Connections to the upstream, each of one exchange, until the next request. */
static void close_many(struct buf *x, long t)
{
	struct err e = { 0 };
	int i;

	for (i = 2; i < 9; i++, t += MS) {
		buf_printf(x, &e,
			   "%ld 100 fd pid=100 fd=300 mode=0140000 ino=%ld family=2 role=3"
			   " socktype=1 sport=7000 dport=90 daddr=10.0.0.90\n",
			   t + 2 * MS, 5000 + t / MS);
		ask_upstream(x, 300, t + 2 * MS + 1000);
		buf_printf(x, &e, "%ld 100 syscall nr=close fd=300 dur=1\n", t + 2 * MS + 20000);
	}
}

static void end_of_cut(struct buf *x, struct cut f, int conn, long end, bool late)
{
	struct err e = { 0 };

	/* a receive that began before the answer */
	if (late && f.call)
		buf_printf(x, &e, "%ld 101 syscall nr=%s fd=%d dur=%ld ret=%d\n", end + MS, f.call,
			   conn, MS + 50000, f.left);
	if (late && !f.kept && !f.held && !(f.some && conn % 3 == 0))
		buf_printf(x, &e, "%ld 100 syscall nr=close fd=%d dur=1\n", end + 2 * MS, conn);
}

static sqlite3 *cut(struct cut f)
{
	long t, end, at[OTHER_PORT + 1] = { 0 }, due[OTHER_PORT + 1] = { 0 };
	struct buf x = { 0 };
	struct err e = { 0 };
	int i = 0, conn, late, len;

	begin_cut(&x, f);
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		late = t >= 5000 * MS;
		end = t + (late ? 100000 : f.slow ? 8 * MS : 3 * MS); /* it is faster then */
		len = late && f.longer ? 29 : 10;
		close_held(&x, due, t);
		if (f.many && i)
			close_many(&x, t - 10 * MS);
		if (i % 40 != 5 || i / 40 >= 2 * (MORE - 1)) {
			ask(&x, 1 + i % 2, 100, t, t + 10000, t + 100000 + i % 7 * 1000);
			if (f.failing && i % 10 == 0)
				error_of(&x, t + 100000 + i % 7 * 1000, 1, 500, 1);
			continue;
		}
		conn = connection_of(f, i / 40, late);
		due[conn] = late && f.held ? t + 1600 * MS : 0;
		buf_printf(&x, &e, "%ld 0 segment conn=%d pos=%ld len=%d unread=0\n", t, conn,
			   at[conn] += 10, len);
		buf_printf(&x, &e, "%ld 100 syscall nr=read fd=%d dur=1 ret=%d\n", t + 10000, conn,
			   len);
		buf_printf(&x, &e, "%ld 100 head conn=%d pos=%ld len=%d name=3 requests=1\n",
			   t + 10000, conn, at[conn], len);
		if (late && f.held && !f.unused)
			ask_upstream(&x, UPSTREAM + conn, t + 20000);
		if (!f.alone)
			buf_printf(&x, &e, "%ld 100 syscall nr=read fd=90 dur=1 ret=0\n",
				   t + 50000);
		buf_printf(&x, &e, "%ld 100 syscall nr=write fd=%d dur=1 ret=%d\n", end, conn,
			   late && !(f.whole && conn % 3 == 0) ? f.bytes : 20000);
		end_of_cut(&x, f, conn, end, late);
	}
	if (f.other)
		buf_printf(&x, &e,
			   "%ld 100 syscall nr=close fd=90 dur=1\n"
			   "%ld 100 syscall nr=close fd=8 dur=1\n",
			   t, t + 1000);
	if (f.ends)
		buf_printf(&x, &e, "%ld 100 switch next=0 state=1\n", t + 1000);
	for (i = 104; i >= 100 && f.ends; i--)
		buf_printf(
			&x, &e,
			"%ld 0 switch next=%d\n+100 %d exit pid=100\n+100 %d switch next=0 state=128\n",
			t += 2000, i, i, i);
	return analysed(changed(loaded_buf(&x), f.change), "verdict");
}

#define LOST(group)                                                                                  \
	"INSERT INTO loss(ts, dur, cpu, grp, reason, n) SELECT ts + dur + 1000000, 1000, 0, '" group \
	"', 'full', 1 FROM request WHERE send_bytes=7000"

static void answers_that_end_early(void **state)
{
	static const struct cut f = { .bytes = 7000 }, slow = { .bytes = 7000, .slow = true };
	sqlite3 *db = cut(f);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_number(db, VALUE("verdict_cut", "n"), 9);
	is_number(db, VALUE("verdict_cut", "of"), 9);
	is_number(db, VALUE("verdict_cut", "cut"), 7000);
	is_number(db, VALUE("verdict_cut", "complete"), 20000);
	is_within(db, VALUE("verdict_cut", "start"), 5000 * MS, 5500 * MS);
	is_number(
		db,
		"SELECT count(v.number) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		" f.kind='verdict_cut' AND v.name IN ('baseline', 'first', 'more')",
		0);
	is_number(db,
		  "SELECT count(*) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		  " f.kind='verdict_cut' AND v.name='upstream'",
		  1);
	db_close(db);
	db = cut(slow); /* that they were complete is why others took longer */
	is_text(db, VERDICT, "problem errors");
	db_close(db);
}

/* No upstream closed its connection: all answers of the name, and none before. */
static void answers_that_the_server_ends(void **state)
{
	static const struct cut f = { .bytes = 7000, .alone = true },
				other = { .bytes = 7000, .alone = true, .other = true },
				held = { .bytes = 7000, .alone = true, .held = true };
	sqlite3 *db = cut(f);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_number(db, VALUE("verdict_cut_own", "n"), 9);
	is_number(db, VALUE("verdict_cut_own", "of"), 9);
	is_number(db, VALUE("verdict_cut_own", "cut"), 7000);
	is_within(db, VALUE("verdict_cut_own", "start"), 5000 * MS, 5500 * MS);
	is_within(db, VALUE("verdict_cut_own", "wait"), 0, 5 * MS);
	is_number(db,
		  "SELECT count(*) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		  " f.kind='verdict_cut_own' AND v.name='upstream' AND v.kind='upstream'",
		  0);
	db_close(db);
	db = cut(other); /* some are closed late */
	is_number(db, VALUE("verdict_cut_own", "n"), 9);
	db_close(db);
	db = cut(held);
	is_text(db, VERDICT, "problem errors");
	is_number(db, VALUE("verdict_cut_own", "n"), 8); /* the last is still open */
	is_number(db, VALUE("verdict_cut_own", "of"), 8);
	is_within(db, VALUE("verdict_cut_own", "wait"), 1595 * MS, 1615 * MS);
	is_number(db,
		  "SELECT count(*) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		  " f.kind='verdict_cut_own' AND v.name='upstream' AND v.kind='upstream'",
		  1);
	db_close(db);
}

static void answers_that_need_not_end_early(void **state)
{
	static const struct cut others[] = {
		{ .bytes = 7000, .kept = true },
		{ .bytes = 7000, .call = "read" },
		{ .bytes = 7000, .call = "read", .left = -104 },
		{ .bytes = 7000, .call = "getsockopt" },
		{ .bytes = 7000, .fresh = true },
		{ .bytes = 7000, .alone = true, .longer = true },
		{ .bytes = 7000, .alone = true, .some = true },
		{ .bytes = 7000, .alone = true, .some = true, .whole = true },
		{ .bytes = 7000, .alone = true, .call = "read" },
		{ .bytes = 7000, .alone = true, .fresh = true },
		{ .bytes = 19000, .alone = true },
		{ .bytes = 7000, .alone = true, .held = true, .unused = true },
		{ .bytes = 7000, .alone = true, .held = true, .many = true },
		{ .bytes = 7000, .alone = true, .some = true, .other = true },
		{ .bytes = 7000, .alone = true, .ends = true },
		{ .bytes = 7000, .alone = true, .stops = true },
		{ .bytes = 7000, .change = LOST("syscalls") },
		{ .bytes = 7000, .alone = true, .change = LOST("syscalls") },
		{ .bytes = 7000, .ring = true },
		{ .bytes = 19000 },
	};
	sqlite3 *db = cut((struct cut){ .bytes = 7000, .call = "read", .left = -11 });
	size_t i;

	(void)state;
	is_number(db, VALUE("verdict_cut", "n"), 9); /* it would block: it did not end */
	db_close(db);
	db = cut((struct cut){ .bytes = 7000, .change = LOST("disk") });
	is_number(db, VALUE("verdict_cut", "n"), 9);
	db_close(db);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		db = cut(others[i]);
		is_number(db, "SELECT count(*) FROM finding WHERE kind GLOB 'verdict_cut*'", 0);
		db_close(db);
	}
	db = cut((struct cut){ .bytes = 7000, .failing = true });
	is_text(db, VERDICT, "problem errors");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_failing'", 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers_that_end_early),
		T(answers_that_need_not_end_early),
		T(answers_that_the_server_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
