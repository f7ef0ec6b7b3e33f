// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_outage.c: no process listens on the port for a time. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS 1000000L

#define OUTAGE(what) FINDING_VALUE("verdict_outage", what, "v.number")

enum outage {
	KILLED,
	FAILED,	   /* it exits with a code */
	QUICK,	   /* restarted in order, in 300 ms */
	OVERLAP,   /* as old and new of a reload */
	INHERITED, /* the socket stays, with the connections that wait */
	WORKER,	   /* another process listens on the same socket */
	ALONE,	   /* nothing follows until the recording ends */
	LATER,	   /* clients come long after the restart */
	CLIENT,	   /* a program that does not listen ends */
	STOPPED,   /* nothing follows; a client was connected */
	LEFT,	   /* nothing follows; its clients had left */
	UNSERVED,  /* another listens, and accepts none of the connections that wait */
	UNASKED,   /* another listens, no connection waits */
};

static void answers(struct buf *x, int tid, int fd, int conn, long from, long to)
{
	struct err e = { 0 };
	long t, pos = 0;

	for (t = from; t < to; t += 10 * MS)
		buf_printf(x, &e,
			   "%ld %d syscall nr=read fd=%d dur=1 ret=10\n"
			   "+0 %d head conn=%d pos=%ld len=10 name=1 requests=1\n"
			   "+90000 %d syscall nr=write fd=%d dur=1 ret=20\n",
			   t, tid, fd, tid, conn, pos += 10, tid, fd);
}

static void socket_of(struct buf *x, long ts, int pid, int fd, int ino, int role, int dport)
{
	struct err e = { 0 };

	buf_printf(
		x, &e,
		"%ld %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=%d socktype=1 sport=80",
		ts, pid, pid, fd, ino, role);
	if (dport)
		buf_printf(x, &e, " dport=%d daddr=10.0.0.9", dport);
	buf_printf(x, &e, "\n");
}

/* Process 200 listens on another socket, and does no more. */
static void unserved(struct buf *x, long ts, int queue)
{
	struct err e = { 0 };
	long t;

	buf_printf(x, &e, "@cpu 1\n");
	socket_of(x, ts, 200, 3, 61, 1, 0);
	for (t = ts; t < 9900 * MS; t += 500 * MS) {
		buf_printf(x, &e, "@recorder\n%ld 0 accept_queue netns=1\n", t + 1000);
		if (queue)
			buf_printf(x, &e,
				   "%ld 0 accept_queue netns=1 ino=61 queue=%d limit=9 family=2"
				   " port=80\n",
				   t + 2000, queue);
	}
}

/* Process 100 answers until 5 s, 200 from 8 s on; last: the name of the last request it read. */
static sqlite3 *outage_after(enum outage how, int last)
{
	long until = 5000 * MS, from = how == QUICK ? 5300 * MS : 8000 * MS;
	long listens = how == OVERLAP ? 4900 * MS : how == LATER ? from - 2000 * MS : from;
	int code = how == KILLED || how == ALONE ? 9 : how == FAILED ? 256 : 0;
	struct buf x = { 0 };
	struct err e = { 0 };
	int i;

	begin_host(&x);
	buf_printf(&x, &e,
		   "@recorder\n3 200 thread pid=200 state=83 comm=\"server\"\n"
		   "3 300 thread pid=300 state=83 comm=\"server\"\n");
	if (how != CLIENT)
		socket_of(&x, 4, 100, 3, 60, 1, 0);
	if (how == WORKER)
		socket_of(&x, 4, 300, 3, 60, 1, 0);
	socket_of(&x, 5, 100, 20, 70, 2, 9);
	buf_printf(&x, &e, "@cpu 0\n120 0 connection sock=90 ino=70 conn=90 family=2 side=1\n");
	answers(&x, 100, 20, 90, 20 * MS, until);
	if (last)
		buf_printf(&x, &e,
			   "%ld 100 syscall nr=read fd=20 dur=1 ret=10\n"
			   "+0 100 head conn=90 pos=4990 len=10 name=%d requests=1\n",
			   until - 5 * MS, last);
	if (how == LEFT) /* and other connections of begin_host */
		for (i = 4; i <= 20; i++)
			buf_printf(&x, &e, "%ld 100 syscall nr=close fd=%d dur=1\n",
				   until - 20 * MS, i);
	if (how >= STOPPED)
		buf_printf(&x, &e,
			   "%ld 900 signal_sent target=100 pid=100 number=15 sender=900"
			   " comm=\"sh\"\n",
			   until - 10 * MS);
	for (i = 1; i <= NAMES; i++)
		buf_printf(&x, &e, "%ld 10%d exit pid=100\n", until, i);
	buf_printf(&x, &e,
		   "%ld 100 ended pid=100 parent=1 code=%d\n%ld 100 exit pid=100 code=%d\n"
		   "+1000 100 switch next=0 state=128\n",
		   until, code, until, code);
	buf_printf(&x, &e, "@cpu 2\n");
	for (i = NAMES; i >= 1; i--)
		buf_printf(&x, &e, "%ld 0 switch next=10%d\n+500 10%d switch next=0 state=128\n",
			   until - 1000 * i, i, i);
	if (how == UNSERVED || how == UNASKED)
		unserved(&x, from, how == UNSERVED ? 7 : 0);
	if (how < CLIENT && how != ALONE) {
		buf_printf(&x, &e, "@cpu 1\n");
		socket_of(&x, listens, 200, 3, how == INHERITED ? 60 : 61, 1, 0);
		socket_of(&x, from + 1000, 200, 20, 71, 2, 10);
		buf_printf(&x, &e,
			   "%ld 0 connection sock=91 ino=71 conn=91 family=2 side=1\n"
			   "%ld 0 waking target=200\n%ld 0 switch next=200\n",
			   from + 2000, from + 3000, from + 4000);
		answers(&x, 200, 20, 91, from + 10 * MS, 9900 * MS);
	}
	return analysed(loaded_buf(&x), NULL);
}

static sqlite3 *outage(enum outage how)
{
	return outage_after(how, 0);
}

static void the_last_request_is_named(void **state)
{
	sqlite3 *db = outage_after(FAILED, 3);

	(void)state;
	is_number(db, FINDING_VALUE("outage_last", "name", "v.id"), 3);
	is_number(db, FINDING_VALUE("outage_last", "name_n", "v.number"), 1);
	db_close(db);
	db = outage_after(FAILED, 1); /* others of its name were answered */
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_outage'", 1);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='outage_last'", 0);
	db_close(db);
	db = outage_after(KILLED, 3);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='outage_last'", 0);
	db_close(db);
}

static void nothing_serves_until_the_end(void **state)
{
	enum outage how;

	(void)state;
	for (how = STOPPED; how <= UNASKED; how++) {
		sqlite3 *db = outage(how);

		if (how == STOPPED || how == UNSERVED) {
			is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
				"problem ended");
			is_within(db, OUTAGE("start"), 4990e6, 5010e6);
			is_null(db, OUTAGE("end"));
		} else {
			is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_outage'",
				  0);
		}
		if (how == UNSERVED) {
			is_number(db, OUTAGE("waiting"), 7);
			is_number(db, FINDING_VALUE("verdict_outage", "next", "v.id"), 200);
		}
		if (how == STOPPED)
			is_text(db, FINDING_VALUE("outage_signal", "sender", "v.text"), "sh[900]");
		db_close(db);
	}
}

static void nothing_listens(void **state)
{
	enum outage how;

	(void)state;
	for (how = KILLED; how <= CLIENT; how++) {
		sqlite3 *db = outage(how);

		if (how == KILLED || how == FAILED) {
			is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
				"problem ended");
			is_within(db, OUTAGE("start"), 4990e6, 5010e6);
			is_within(db, OUTAGE("end"), 7990e6, 8010e6);
			is_number(db, FINDING_VALUE("verdict_outage", "process", "v.id"), 100);
			is_number(db, FINDING_VALUE("verdict_outage", "next", "v.id"), 200);
			is_text(db, FINDING_VALUE("verdict_outage", "port", "v.text"), "80");
		} else {
			is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_outage'",
				  0);
		}
		if (how == FAILED)
			is_number(db, OUTAGE("code"), 1);
		if (how == KILLED)
			is_text(db, FINDING_VALUE("verdict_killed", "signal", "v.text"), "SIGKILL");
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_listens),
		T(nothing_serves_until_the_end),
		T(the_last_request_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
