// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks of files that are tried again and again: the sleeps between tries, the file, and the
 * holder; sleeps that have nothing to do with them.
 */
#include "tests/lib/loaded.h"
#include "tests/lib/pausing.h"
#include "tests/lib/unit.h"

#include <stdio.h>

enum trying {
	FLOCK,
	FCNTL,
	NOT_TRIED,
	NO_FAILURE,
	WORK_BETWEEN,
	OUTSIDE,
	TWO_FILES, /* two processes try for another file as well, which a third has */
};

/* Request that tries n times, each 20 ms, while process 300 has the lock of /data/lock. */
static void locked(struct text *x, enum trying how, int n)
{
	const char *nr = how == FCNTL ? "fcntl" : "flock";
	int cmd = 6; /* F_SETLK; LOCK_EX | LOCK_NB */
	/* without the process that has it, the waiter itself called last */
	int i, last = how == OUTSIDE ? 100 : 300, fd = how == OUTSIDE ? 9 : 3;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", x->t + 3000);
	text_line(x, "%ld %d syscall_args nr=%s arg0=%d arg1=%d ret=0 dur=20", x->t + 4000, last,
		  nr, fd, how == FCNTL ? 6 : 2);
	for (i = 0; i < n; i++, x->t += 20 * MS) {
		if (how != NOT_TRIED)
			text_line(x, "%ld 100 syscall_args nr=%s arg0=9 arg1=%d ret=%d dur=20",
				  x->t + 5000, nr, cmd, how == NO_FAILURE ? 0 : -11);
		if (how == TWO_FILES)
			text_line(x,
				  "%ld 200 syscall_args nr=flock arg0=9 arg1=6 ret=-11 dur=20\n"
				  "%ld 201 syscall_args nr=flock arg0=9 arg1=6 ret=-11 dur=20",
				  x->t + 5200, x->t + 5400);
		if (how == FCNTL) /* what it got of the lock */
			text_line(x, "%ld 100 syscall_args nr=fcntl arg0=9 arg1=6 ret=0 dur=20",
				  x->t + 6000);
		if (how == WORK_BETWEEN)
			text_line(x, "%ld 100 syscall nr=read fd=10 ret=1 count=9 dur=200",
				  x->t + 7000);
		text_line(x, "%ld 100 switch next=0 state=1", x->t + 9000);
		text_line(x, "%ld 0 waking target=100 context=2\n%ld 0 switch next=100",
			  x->t + 20 * MS - 5000, x->t + 20 * MS - 4000);
		text_line(x, "%ld 100 syscall_args nr=clock_nanosleep ret=0 dur=%ld",
			  x->t + 20 * MS - 3000, 20 * MS - 11000);
	}
	if (how != OUTSIDE)
		text_line(x, "%ld 300 syscall_args nr=%s arg0=3 arg1=%d ret=0 dur=20", x->t, nr,
			  how == FCNTL ? 6 : 8);
	text_line(x, "%ld 100 syscall_args nr=%s arg0=9 arg1=%d ret=0 dur=20", x->t + 5000, nr,
		  cmd);
	x->t += 10000;
}

static sqlite3 *trying(enum trying how)
{
	struct text x = { { 0 }, 0 };
	int pid;

	srand(1);
	head(&x);
	text_line(&x, "@recorder\n6 300 thread pid=300 state=83 comm=\"backup\"");
	text_line(&x, "20 100 fd pid=100 fd=9 mode=0100000 dev=5 ino=44 path=\"/data/lock\"");
	text_line(&x, "20 300 fd pid=300 fd=3 mode=0100000 dev=5 ino=44 path=\"/data/lock\"");
	for (pid = 200; pid < 203; pid++)
		text_line(
			&x,
			"7 %d thread pid=%d state=83 comm=\"mail\"\n20 %d fd pid=%d fd=9 mode=0100000"
			" dev=5 ino=46 path=\"/data/mail\"",
			pid, pid, pid, pid);
	text_line(&x, "20 100 fd pid=100 fd=10 mode=0100000 dev=5 ino=45 path=\"/data/x\"\n@cpu 0");
	text_line(&x, "500000 202 syscall_args nr=flock arg0=9 arg1=2 ret=0 dur=20");
	many(&x, 100, 600, MS);
	locked(&x, how, 20);
	return judged(&x);
}

#define STATE_OF_SLEEPS                                                                        \
	"SELECT state_name(state) FROM thread_state WHERE tid=100 AND dur > 10000000 ORDER BY" \
	" ts LIMIT 1"

static void a_thread_that_tries_is_no_holder(void **state)
{
	sqlite3 *db = trying(OUTSIDE);

	(void)state;
	is_text(db, FINDING_VALUE("pause_filelock", "path", "v.text"), "/data/lock");
	is_number(db, FINDING_VALUE("pause_filelock", "holder", "total(v.id)"), 0);
	is_number(db, FINDING_VALUE("pause_filelock", "unknown", "count(v.text)"), 1);
	db_close(db);
}

static void sleeps_between_tries_are_for_the_lock(void **state)
{
	static const enum trying cases[] = { FLOCK, FCNTL, TWO_FILES };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = trying(cases[i]);

		is_text(db, STATE_OF_SLEEPS, "lock");
		is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a file lock");
		is_text(db, FINDING_VALUE("pause_filelock", "path", "v.text"), "/data/lock");
		is_number(db, FINDING_VALUE("pause_filelock", "holder", "v.id"), 300);
		is_number(db, FINDING_VALUE("pause_filelock", "tries", "v.number"), 20);
		db_close(db);
	}
}

static void other_sleeps_are_not(void **state)
{
	static const enum trying cases[] = { NOT_TRIED, NO_FAILURE, WORK_BETWEEN };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = trying(cases[i]);

		is_text(db, STATE_OF_SLEEPS, "timer");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_filelock'", 0);
		db_close(db);
	}
}

/* Processes 300, 400 and 500 with descriptors of one file. */
#define THREE                                                                                  \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls\"\n"   \
	"2 300 thread pid=300 state=83 comm=\"a\"\n2 400 thread pid=400 state=83 comm=\"b\"\n" \
	"2 500 thread pid=500 state=83 comm=\"c\"\n"                                           \
	"3 300 fd pid=300 fd=3 mode=0100000 dev=5 ino=44 path=\"/f\"\n"                        \
	"3 300 fd pid=300 fd=4 mode=0100000 dev=5 ino=44 path=\"/f\"\n"                        \
	"3 400 fd pid=400 fd=3 mode=0100000 dev=5 ino=44 path=\"/f\"\n"                        \
	"3 500 fd pid=500 fd=3 mode=0100000 dev=5 ino=44 path=\"/f\"\n"                        \
	"10 0 info text=\"begin=10\"\n@cpu 0\n"
/* F_SETLK or another command; type 0 to share, 1 alone, 2 to unlock; first byte and number of them
 */
#define LOCK(ts, pid, cmd, type, start, len, ret)                                              \
#ts " " #pid " syscall_args nr=fcntl arg0=3 arg1=" #cmd " arg3=" #type " arg4=" #start \
	    " arg5=" #len " flags=16 ret=" #ret " dur=20\n"
/* A line of the kernel's list; flags 1: for writing, 2: flock, 4: when the recording ends */
#define LISTED(ts, pid, from, to, holder, flags)                                          \
	"@recorder\n" #ts " 0 file_lock ino=44 dev=5 pid=" #pid " from=" #from " to=" #to \
	" holder=" #holder " flags=" #flags "\n@cpu 0\n"
/* A call of 500 that gets the lock at once, or slept for 20 us, and was off its CPU for long. */
#define WITH_SCHED                                                          \
	"@recorder\n1 0 info text=\"groups=core,sched,syscalls\"\n@cpu 0\n" \
	"50 0 switch next=500\n"
#define SLEPT                                                                      \
	"440000 500 switch next=0 state=1\n450010 0 waking target=500 context=1\n" \
	"450020 0 switch next=500\n"
#define PREEMPTED "200000 500 switch next=0 state=0\n450020 0 switch next=500\n"
#define ASKED                                                                                 \
	"500100 500 syscall_args nr=fcntl arg0=3 arg1=7 arg3=1 arg4=0 arg5=1 flags=16 ret=0 " \
	"dur=490000\n"
#define HOLDERS \
	"SELECT group_concat(tid || ' ' || holder || ' ' || failed, ', ') FROM file_lock_holder"

static const struct {
	const char *text, *holders;
} tried[] = {
	/* other bytes, and the same: those of 300; of 400 only after it unlocked some */
	{ LOCK(100, 300, 6, 1, 0, 10, 0) LOCK(200, 400, 6, 1, 10, 10, 0)
		  LOCK(300, 500, 6, 1, 5, 1, -11) LOCK(400, 300, 6, 2, 4, 2, 0)
			  LOCK(500, 500, 6, 1, 5, 1, 0) LOCK(600, 500, 6, 1, 6, 1, -11),
	  "500 300 1, 500 300 1" },
	/* shared with others who share; to the end of the file, however long */
	{ LOCK(100, 300, 6, 0, 0, 0, 0) LOCK(200, 400, 6, 0, 7, 1, 0)
		  LOCK(300, 500, 6, 1, 999, 1, -11),
	  "500 300 1" },
	/* closing another descriptor of the file unlocks all; so does the end */
	{ LOCK(100, 300, 6, 1, 0, 10,
	       0) "200 300 syscall nr=close fd=4 ret=0 dur=5\n" LOCK(300, 500, 6, 1, 5, 1, -11),
	  NULL },
	{ LOCK(100, 300, 6, 1, 0, 10, 0) "200 300 exit pid=300\n" LOCK(300, 500, 6, 1, 5, 1, -11),
	  NULL },
	/* it waited until the other one unlocked them */
	{ LOCK(100, 300, 6, 1, 0, 10, 0) LOCK(
		  450000, 300, 6, 2, 0, 10,
		  0) "500100 500 syscall_args nr=fcntl arg0=3 arg1=7 arg3=1 arg4=0 arg5=1 flags=16 ret=0 dur=400000\n",
	  "500 300 0" },
	/* what was unlocked before is not waited for */
	{ LOCK(100, 300, 6, 1, 0, 10, 0) LOCK(
		  200, 300, 6, 2, 0, 10,
		  0) "500100 500 syscall_args nr=fcntl arg0=3 arg1=7 arg3=1 arg4=0 arg5=1 flags=16 ret=0 dur=400000\n",
	  NULL },
	/* its switches are known: it slept for 20 us; it was preempted for long, and slept never */
	{ WITH_SCHED LOCK(60, 300, 6, 1, 0, 10, 0) SLEPT LOCK(450000, 300, 6, 2, 0, 10, 0) ASKED,
	  "500 300 0" },
	{ WITH_SCHED LOCK(60, 300, 6, 1, 0, 10, 0) PREEMPTED LOCK(450000, 300, 6, 2, 0, 10, 0)
		  ASKED,
	  NULL },
	/* a lock of the open file, which is the process's own */
	{ LOCK(100, 300, 37, 1, 0, 10, 0) LOCK(200, 300, 6, 1, 0, 1, -11), NULL },
	/* from a position that is not known; of an older recorder, which has no range */
	{ LOCK(100, 300, 6, 65537, 0, 10, 0) LOCK(200, 500, 6, 1, 0, 1, -11), NULL },
	{ "100 300 syscall_args nr=fcntl arg0=3 arg1=6 arg3=1 arg5=10 ret=0 dur=20\n" LOCK(
		  200, 500, 6, 1, 0, 1, -11),
	  NULL },
	/* descriptors that a process closes otherwise; the end of the process, of its flock
	   too */
	{ LOCK(100, 300, 6, 1, 0, 0, 0) "150 300 syscall_args nr=close_range arg0=3 arg1=4294967295"
					" ret=0 dur=5\n" LOCK(300, 500, 6, 1, 5, 1, -11),
	  NULL },
	{ "100 300 syscall_args nr=flock arg0=3 arg1=2 ret=0 dur=20\n200 300 exit pid=300\n"
	  "300 500 syscall_args nr=flock arg0=3 arg1=6 ret=-11 dur=20\n",
	  NULL },
	/* who gets it at once disproves a holder; one that waited had it until then */
	{ LOCK(100, 300, 6, 1, 0, 1, 0) LOCK(300, 500, 6, 1, 0, 1, 0)
		  LOCK(400, 400, 6, 1, 0, 1, -11),
	  "400 500 1" },
	{ LOCK(100, 300, 6, 1, 0, 1, 0) "500100 500 syscall_args nr=fcntl arg0=3 arg1=7 arg3=1"
					" arg4=0 arg5=1 flags=16 ret=0 dur=400000\n",
	  "500 300 0" },
	/* flock that cannot be converted is lost */
	{ "100 300 syscall_args nr=flock arg0=3 arg1=1 ret=0 dur=20\n"
	  "110 400 syscall_args nr=flock arg0=3 arg1=1 ret=0 dur=20\n"
	  "120 300 syscall_args nr=flock arg0=3 arg1=6 ret=-11 dur=20\n"
	  "130 400 syscall_args nr=flock arg0=3 arg1=6 ret=-11 dur=20\n",
	  "300 400 1" },
	/* lockf(3) unlocks from a position that is not known */
	{ LOCK(100, 300, 6, 1, 0, 1, 0) LOCK(200, 300, 6, 65538, 0, 1, 0)
		  LOCK(300, 500, 6, 1, 0, 1, -11),
	  NULL },
	/* from before the recording: until it is unlocked */
	{ LISTED(5, 300, 0, 9, 0, 1) LOCK(200, 500, 6, 1, 5, 1, -11) LOCK(300, 300, 6, 2, 0, 10, 0)
		  LOCK(400, 400, 6, 1, 5, 1, -11),
	  "500 300 1" },
	{ LISTED(5, 300, 0, 9, 0, 0) LOCK(200, 500, 6, 0, 5, 1, -11), NULL },
	{ LISTED(5, 300, 0, 9223372036854775807, 0, 1) LOCK(200, 500, 6, 1, 999, 1, -11),
	  "500 300 1" },
	/* flock of an open file with one descriptor, and with two */
	{ LISTED(5, 400, 0, 9223372036854775807, 0,
		 3) "300 500 syscall_args nr=flock arg0=3 arg1=6 ret=-11 dur=20\n",
	  "500 400 1" },
	{ LISTED(5, 300, 0, 9223372036854775807, 0,
		 3) "300 500 syscall_args nr=flock arg0=3 arg1=6 ret=-11 dur=20\n",
	  NULL },
	/* a process that is not recorded: at the start and at the end; of these bytes */
	{ LISTED(5, 900, 0, 9, 0, 1) LOCK(200, 500, 6, 1, 5, 1, -11)
		  LOCK(300, 500, 6, 1, 10, 1, -11) LISTED(900, 900, 0, 9, 0, 5),
	  "500 900 1" },
	{ LISTED(5, 900, 0, 9, 0, 1) LOCK(200, 500, 6, 1, 5, 1, -11) LISTED(900, 901, 0, 9, 0, 5),
	  NULL },
	{ LISTED(5, 900, 0, 9, 0, 1) LOCK(200, 500, 6, 1, 5, 1, -11) LISTED(900, 900, 0, 8, 0, 5),
	  NULL },
	{ LOCK(200, 500, 6, 1, 5, 1, -11) LISTED(900, 900, 0, 9, 0, 5), NULL },
	/* of a list that was read again: tries from then on */
	{ LOCK(200, 500, 6, 1, 5, 1, -11) LISTED(300, 900, 0, 9, 0, 1)
		  LOCK(400, 500, 6, 1, 6, 1, -11) LOCK(500, 500, 6, 1, 7, 1, -11)
			  LISTED(900, 900, 0, 9, 0, 5),
	  "500 900 1, 500 900 1" },
	/* one that waits when the recording ends, and one that was read while it waited */
	{ "900 500 syscall_args nr=fcntl arg0=3 arg1=7 flags=2 dur=500\n" LISTED(
		  901, 900, 0, 9, 0, 5) LISTED(902, 500, 0, 9, 900, 5),
	  "500 900 2" },
	{ "900 500 syscall_args nr=flock arg0=3 arg1=2 flags=3\n" LISTED(
		  902, 500, 0, 9223372036854775807, 300, 7),
	  "500 300 2" },
	{ "900 500 syscall_args nr=fcntl arg0=3 arg1=3 flags=2 dur=5\n" LISTED(902, 500, 0, 9, 900,
									       5),
	  NULL },
	{ "900 500 syscall_args nr=fcntl arg0=3 arg1=7 flags=2 dur=5\n" LISTED(902, 500, 0, 9, 900,
									       1),
	  NULL },
	/* flock, which is no lock of bytes */
	{ "100 300 syscall_args nr=flock arg0=3 arg1=2 ret=0 dur=20\n" LOCK(
		  200, 400, 6, 1, 0, 0,
		  0) "300 500 syscall_args nr=flock arg0=3 arg1=5 ret=-11 dur=20\n",
	  "500 300 1" },
};

static void who_has_the_bytes(void **state)
{
	char text[4096];
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", THREE, tried[i].text);
		db = loaded(text);
		if (tried[i].holders)
			is_text(db, HOLDERS, tried[i].holders);
		else
			is_number(db, "SELECT count(*) FROM file_lock_holder", 0);
		db_close(db);
	}
}

#define UNFINISHED "900 500 syscall_args nr=fcntl arg0=3 arg1=7 flags=2 dur=500\n"
#define SINCE                                                                                 \
	"SELECT group_concat(tid || ' ' || holder || ' ' || coalesce(since, '?'), ', ') FROM" \
	" file_lock_holder"

/* since: 0 is before the recording, ? is not known. */
static const struct {
	const char *text, *since;
} taken[] = {
	/* in the recording; before it; of a process that is not recorded: it may have taken it
	 * again
	 */
	{ LOCK(100, 300, 6, 1, 0, 10, 0) LOCK(200, 500, 6, 1, 5, 1, -11), "500 300 90" },
	{ LISTED(5, 300, 0, 9, 0, 1) LOCK(200, 500, 6, 1, 5, 1, -11), "500 300 0" },
	{ LISTED(5, 900, 0, 9, 0, 1) LOCK(200, 500, 6, 1, 5, 1, -11) LISTED(900, 900, 0, 9, 0, 5),
	  "500 900 ?" },
	/* another one had them in between: the tries before may have failed because of that one */
	{ LISTED(5, 900, 0, 9, 0, 1) LOCK(200, 500, 6, 1, 5, 1, -11) LOCK(300, 400, 6, 1, 0, 1, 0)
		  LOCK(400, 500, 6, 1, 5, 1, -11) LISTED(900, 900, 0, 9, 0, 5),
	  "500 900 ?" },
	/* what is waited for at the end */
	{ LOCK(100, 300, 6, 1, 0, 10, 0) UNFINISHED LISTED(902, 500, 0, 9, 300, 5), "500 300 90" },
	{ LISTED(5, 300, 0, 9, 0, 1) UNFINISHED LISTED(902, 500, 0, 9, 300, 5), "500 300 0" },
	{ LISTED(5, 900, 0, 9, 0, 1) UNFINISHED LISTED(902, 500, 0, 9, 900, 5), "500 900 ?" },
	{ UNFINISHED LISTED(902, 500, 0, 9, 900, 5), "500 900 ?" },
	/* two threads of a process wait, for what others have: which for which is not known */
	{ UNFINISHED LISTED(902, 500, 0, 9, 900, 5) LISTED(903, 500, 20, 29, 901, 5), NULL },
};

static void since_when_it_is_held(void **state)
{
	char text[4096];
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", THREE, taken[i].text);
		db = loaded(text);
		if (taken[i].since)
			is_text(db, SINCE, taken[i].since);
		else
			is_number(db, "SELECT count(*) FROM file_lock_holder", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_thread_that_tries_is_no_holder),
		T(sleeps_between_tries_are_for_the_lock),
		T(other_sleeps_are_not),
		T(who_has_the_bytes),
		T(since_when_it_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
