// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_circle.c and verdict_oldest.c: a pool of two processes that
 * waits for a proxy, which waits for the pool; and which names wait until the recording ends.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS   1000000L
#define FROM (1000 * MS)
#define TO   (2000 * MS)

struct waits {
	int port;  /* of the server that the proxy asks; the pool has 80 */
	bool both; /* processes of the pool wait */
};

static void socket_of(struct text *x, int pid, int fd, const char *role, int port, int peer)
{
	text_line(x,
		  "20 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=%s socktype=1 sport=%d"
		  " dport=%d saddr=127.0.0.1 daddr=127.0.0.1",
		  pid, pid, fd, 100 * pid + fd, role, port, peer);
}

static void begin(struct text *x, const struct waits *w)
{
	int i;

	text_line(x, "@recorder\n1 0 info text=\"targets=all\"\n"
		     "2 0 info text=\"groups=core,syscalls,sched\"");
	for (i = 0; i < 2; i++) {
		text_line(x, "4 %d thread pid=%d parent=99 state=83 comm=\"pool\"", 100 + i,
			  100 + i);
		socket_of(x, 100 + i, 5, "accepted", 80, 40000 + i);
		socket_of(x, 100 + i, 9, "connected", 33000 + i, 7444);
		socket_of(x, 300, 5 + i, "accepted", 7444, 33000 + i);
	}
	text_line(x, "4 300 thread pid=300 parent=98 state=83 comm=\"proxy\"");
	socket_of(x, 300, 9, "connected", 34000, w->port);
	text_line(x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"");
}

/* The thread runs from t on, and sleeps again at the end. */
static void runs(struct text *x, int tid, long t, const char *call, int fd, const char *then,
		 int to)
{
	text_line(x, "%ld 0 waking target=%d context=1\n%ld 0 switch next=%d", t, tid, t + 1000,
		  tid);
	text_line(x, "%ld %d syscall nr=%s fd=%d ret=20 count=99 dur=200", t + 3000, tid, call, fd);
	text_line(x, "%ld %d syscall nr=%s fd=%d ret=30 count=30 dur=200", t + 20000, tid, then,
		  to);
	text_line(x, "%ld %d switch next=0 state=1", t + 25000, tid);
}

static sqlite3 *waiting(const struct waits *w)
{
	struct text x = { 0 };
	long t;
	int i;

	begin(&x, w);
	for (i = 0; i < 2; i++) {
		text_line(&x, "@cpu %d", i);
		for (t = 5 * MS; t < 3000 * MS; t += 10 * MS)
			if (t < FROM || t > TO)
				runs(&x, 100 + i, t + i * 100000 * (t < FROM || t > TO + 20 * MS),
				     "read", 5, "write", 5);
			else if (t == FROM + 5 * MS && (i == 0 || w->both))
				runs(&x, 100 + i, t, "read", 5, "sendto", 9);
			else if (t == TO - 5 * MS && (i == 0 || w->both))
				runs(&x, 100 + i, t, "recvfrom", 9, "write", 5);
	}
	text_line(&x, "@cpu 2");
	runs(&x, 300, FROM + 6 * MS, "read", 5, "sendto", 9);
	runs(&x, 300, TO - 6 * MS, "recvfrom", 9, "write", 5);
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", 3000 * MS, 3000 * MS);
	return analysed(loaded_buf(&x.b), NULL);
}

static void a_pool_that_waits_for_itself_is_said(void **state)
{
	const struct waits itself = { 80, true }, other = { 81, true }, one = { 80, false };
	sqlite3 *db = waiting(&itself);

	(void)state;
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	is_number(db, FINDING_VALUE("verdict_circle", "n", "v.number"), 2);
	is_text(db, FINDING_VALUE("verdict_circle", "address", "v.text"), "127.0.0.1:7444");
	is_text(db, FINDING_VALUE("verdict_circle", "back", "v.text"), "127.0.0.1:80");
	db_close(db);
	db = waiting(&other);
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_circle'", 0);
	db_close(db);
	db = waiting(&one);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_circle'", 0);
	db_close(db);
}

/* From 8 s on requests of two names have no answer; or, in the middle, those of one for 1 s. */
static sqlite3 *unanswered(bool until_end)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t;

	begin_host(&b);
	buf_printf(&b, &e, "@cpu 1\n");
	for (t = 20; t < (until_end ? 8000 : 9900); t += 20)
		if (until_end || t < 8000 || t > 9000)
			ask(&b, 1 + t / 20 % 2, 101 + t / 20 % 2, t * MS, t * MS + 20000,
			    t * MS + 2 * MS);
		else if (t == 8000)
			ask(&b, 2, 102, t * MS, t * MS + 20000, 9000 * MS);
	if (until_end) {
		buf_printf(&b, &e, "%ld 0 segment conn=2 pos=100000 len=10 unread=0\n", 8000 * MS);
		buf_printf(&b, &e, "%ld 102 syscall nr=read fd=6 dur=1 ret=10\n", 8001 * MS);
		buf_printf(&b, &e, "%ld 102 head conn=2 pos=100000 len=10 name=2 requests=1\n",
			   8001 * MS);
		buf_printf(&b, &e, "%ld 0 segment conn=1 pos=100000 len=10 unread=0\n", 8100 * MS);
		buf_printf(&b, &e, "%ld 101 syscall nr=read fd=5 dur=1 ret=10\n", 8101 * MS);
		buf_printf(&b, &e, "%ld 101 head conn=1 pos=100000 len=10 name=1 requests=1\n",
			   8101 * MS);
	}
	return analysed(loaded_buf(&b), NULL);
}

static void names_without_an_answer_are_said(void **state)
{
	sqlite3 *db = unanswered(true);

	(void)state;
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	is_number(db, FINDING_VALUE("verdict_oldest", "name", "v.id"), 2);
	is_within(db, FINDING_VALUE("verdict_oldest", "since", "v.number"), 7.99e9, 8.01e9);
	is_number(db, FINDING_VALUE("verdict_oldest", "n", "v.number"), 1);
	is_number(db, FINDING_VALUE("verdict_oldest", "second", "v.id"), 1);
	db_close(db);
	db = unanswered(false);
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_oldest'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_that_waits_for_itself_is_said),
		cmocka_unit_test(names_without_an_answer_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
