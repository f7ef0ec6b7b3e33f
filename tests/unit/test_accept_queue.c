// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Full accept queues: track_accept.c, verdict_accept.c, verdict_unaccepted.c, and
 * accept_queues_count of the recorder. And what only looks so: another network namespace, another
 * socket, counters that stand still.
 */
#include "tests/lib/unit.h"

#include "record/host/accept_queues.h"
#include "tests/lib/judging.h"

#define LISTENER   900
#define SECONDS	   10
#define FULL	   5 /* in this second and the next two */
#define PER_SECOND 40

/* What the readings of a test have: namespaces 1 (its own) and 2, and a socket of each. */
struct full {
	int netns;     /* in which overflows are counted */
	long listener; /* which socket drops; 0: none */
	bool before;   /* all of it before the recording */
	bool early;    /* in the first second and the next two */
	int failed;    /* accept fails with EMFILE then: 1: at last; 2: others are accepted later */
};

static void readings(struct text *x, const struct full *f, int second)
{
	int at = f->early ? 0 : FULL;
	int past = f->before ? 3 : second <= at ? 0 : second > at + 3 ? 3 : second - at;

	text_line(x, "@recorder\n%ld 0 accept_queue netns=1 overflows=%d drops=%d", x->t,
		  f->netns == 1 ? 7 + PER_SECOND * past : 7,
		  f->netns == 1 ? 9 + PER_SECOND * past : 9);
	text_line(x, "%ld 0 accept_queue netns=2 overflows=%d drops=%d", x->t + 1,
		  f->netns == 2 ? PER_SECOND * past : 0, f->netns == 2 ? PER_SECOND * past : 0);
	if (past && f->listener)
		text_line(
			x,
			"%ld 0 accept_queue netns=1 ino=%ld drops=%d queue=6 limit=5 family=2 port=80",
			x->t + 2, f->listener, PER_SECOND * past + 1);
	text_line(x, "@cpu 0");
}

static void accepts(struct text *x, const struct full *f, int s)
{
	if (f->failed && s == FULL)
		text_line(x, "%ld 100 syscall nr=accept4 fd=3 ret=-24 dur=100", x->t + 2000);
	if (f->failed && (s == FULL || f->failed == 1) && s >= FULL)
		return;
	text_line(x, "%ld 100 syscall nr=accept4 fd=3 ret=%d dur=100", x->t + 2000, 20 + s);
	text_line(x,
		  "%ld 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=accepted"
		  " socktype=1 sport=80 dport=%d saddr=127.0.0.1 daddr=10.0.0.9",
		  x->t + 2000, 20 + s, 2000 + s, 50000 + s);
	text_line(x, "%ld 100 syscall nr=fcntl fd=%d dur=100", x->t + 2500, 20 + s);
}

/* A server that accepts 1 connection per second; fewer requests from 5 s on. */
static sqlite3 *recorded(struct full f)
{
	struct text x = { 0 };
	long next;
	int s;

	srand(1);
	head(&x);
	text_line(&x,
		  "@recorder\n32 100 fd pid=100 fd=3 mode=0140000 ino=%d family=2 role=listening"
		  " socktype=1 sport=80\n@cpu 0",
		  LISTENER);
	for (s = 0; s < SECONDS; s++) {
		next = (s + 1) * 1000 * MS;
		readings(&x, &f, s);
		x.t += 1000;
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		accepts(&x, &f, s);
		text_line(&x, "%ld 100 switch next=0 state=1", x.t + 3000);
		x.t += 10000;
		while (x.t < next - 60 * MS)
			many(&x, 1, 100000, (s < FULL || s > FULL + 2 ? 5 : 50) * MS);
		x.t = next;
	}
	readings(&x, &f, SECONDS);
	x.t += 1000;
	return judged(&x, NULL);
}

static void a_full_accept_queue_is_a_problem(void **state)
{
	sqlite3 *db = recorded((struct full){ .netns = 1, .listener = LISTENER });

	(void)state;
	is_verdict(db, "problem", "accept");
	is_number(db, "SELECT count(*) FROM accept_queue WHERE ino IS NULL", 2 * SECONDS);
	is_number(db, "SELECT total(overflows) FROM accept_queue WHERE netns=1", 3 * PER_SECOND);
	/* its sk_drops has one more, for another reason */
	is_number(db, "SELECT total(drops) FROM accept_queue WHERE ino=900", 3 * PER_SECOND + 1);
	is_number(db, FINDING_VALUE("verdict_accept", "n", "v.number"), 3 * PER_SECOND);
	is_number(db, FINDING_VALUE("verdict_accept", "backlog", "v.number"), 5);
	is_text(db, FINDING_VALUE("verdict_accept", "port", "v.text"), "80");
	is_within(db, FINDING_VALUE("verdict_accept", "start", "v.number"), 4.9e9, 5.1e9);
	is_within(db, FINDING_VALUE("verdict_accept", "end", "v.number"), 7.9e9, 8.1e9);
	is_number(db, FINDING_VALUE("accept_thread", "thread", "v.id"), 100);
	is_number(db, FINDING_VALUE("accept_thread", "accepted", "v.number"), 3);
	is_number(
		db,
		"SELECT f.parent=v.finding FROM finding f, verdict v WHERE f.kind='accept_thread'",
		1);
	db_close(db);
}

/* Demand falls; attempts before the recording; another namespace; another socket; other drops. */
static void what_only_looks_like_a_full_queue(void **state)
{
	static const struct full of[] = { { .netns = 0, .listener = 0 },
					  { .netns = 1, .listener = LISTENER, .before = true },
					  { .netns = 2, .listener = LISTENER },
					  { .netns = 1, .listener = LISTENER + 1 },
					  { .netns = 0, .listener = LISTENER } };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		db = recorded(of[i]);
		is_verdict(db, "none", "");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_accept'", 0);
		is_number(
			db,
			"SELECT count(*) FROM finding f JOIN verdict v ON v.finding=f.id JOIN"
			" finding_value x ON x.finding=f.id WHERE x.name='fewer' AND x.number > 0",
			1);
		db_close(db);
	}
}

/* Since the failure, if none was accepted after it. */
static void accept_fails_for_open_files(void **state)
{
	sqlite3 *db = recorded((struct full){ .netns = 1, .listener = LISTENER, .failed = 1 });

	(void)state;
	is_verdict(db, "problem", "accept");
	is_within(db, FINDING_VALUE("verdict_open_limit", "alone", "v.number"), 5.0e9, 5.1e9);
	is_number(db, FINDING_VALUE("accept_thread", "accepted", "v.number"), 0);
	is_within(db, FINDING_VALUE("accept_thread", "last", "v.number"), 4e9, 4.1e9);
	is_number(db, "SELECT kind='verdict_open_limit' FROM finding WHERE parent > 0 ORDER BY id",
		  1);
	db_close(db);
	db = recorded((struct full){ .netns = 1, .listener = LISTENER, .failed = 2 });
	is_verdict(db, "problem", "accept");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_open_limit'", 0);
	db_close(db);
	db = recorded((struct full){ .netns = 1, .listener = LISTENER, .failed = 0 });
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_open_limit'", 0);
	db_close(db);
}

/* The first reading has the drops since the start: not since when; a failed accept says it. */
static void drops_of_the_first_interval_have_no_start(void **state)
{
	static const char first[] =
		"UPDATE accept_queue SET dur=dur + ts, ts=0 WHERE ts < 500000000";
	sqlite3 *db = recorded((struct full){ .netns = 1, .listener = LISTENER, .early = true });

	(void)state;
	is_within(db, FINDING_VALUE("verdict_accept", "start", "v.number"), 0, 0.1e9);
	changed(db, "DELETE FROM finding_value; DELETE FROM finding");
	analysed(changed(db, first), "verdict");
	is_null(db, FINDING_VALUE("verdict_accept", "start", "v.number"));
	is_within(db, FINDING_VALUE("verdict_accept", "first", "v.number"), 0.9e9, 1.1e9);
	db_close(db);
}

/* What happens in the last seconds of a server that accepts 1 connection per second until then. */
enum stop { STOPS, FALLS, EMPTY_BETWEEN, NEVER, LAST_ONLY, COMPUTES, NO_FILES, ACCEPTS };

static bool has_queue(enum stop how, int s)
{
	return how == LAST_ONLY ? s == SECONDS
	       : how == NEVER	? true
				: s > FULL && !(how == EMPTY_BETWEEN && s == FULL + 2);
}

static void queue_is_read(struct text *x, enum stop how, int s)
{
	text_line(x, "@recorder\n%ld 0 accept_queue netns=1", x->t);
	if (has_queue(how, s))
		text_line(x, "%ld 0 accept_queue netns=1 ino=%d queue=%d limit=9 family=2 port=80",
			  x->t + 2, LISTENER, how == FALLS && s == FULL + 3 ? 2 : 6);
	text_line(x, "@cpu 0");
}

/* It has been in epoll since *idle; then it works for so long. */
static void wakes_for(struct text *x, long *idle, int fd, long work)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1", x->t + 2000,
		  x->t + 2500 - *idle);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, fd);
	x->t += work;
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 4000, fd);
	*idle = x->t + 5000;
	text_line(x, "%ld 100 switch next=0 state=1", *idle);
	x->t += 5 * MS;
}

static sqlite3 *stops(enum stop how)
{
	static const struct full none;
	struct text x = { 0 };
	long next, idle = MS / 2;
	int s, i;

	srand(1);
	head(&x);
	text_line(&x,
		  "@recorder\n32 100 fd pid=100 fd=3 mode=0140000 ino=%d family=2 role=listening"
		  " socktype=1 sport=80\n@cpu 0",
		  LISTENER);
	for (s = 0; s < SECONDS; s++) {
		next = (s + 1) * 1000 * MS;
		queue_is_read(&x, how, s);
		x.t += 1000;
		wakes_for(&x, &idle, 5, 50000);
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 500);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1",
			  x.t + 1000, x.t + 1500 - idle);
		if (how != NEVER && (s < FULL || how == ACCEPTS))
			accepts(&x, &none, s);
		if (how == NO_FILES && s == FULL)
			text_line(&x, "%ld 100 syscall nr=accept4 fd=3 ret=-24 dur=100",
				  x.t + 2000);
		x.t += how == COMPUTES && s >= FULL ? 800 * MS : 0;
		idle = x.t + 4000;
		text_line(&x, "%ld 100 switch next=0 state=1", idle);
		x.t += 5 * MS;
		for (i = 0; x.t < next - 60 * MS; i++)
			wakes_for(&x, &idle, 5 + i % 3, 50000);
		x.t = next;
	}
	queue_is_read(&x, how, SECONDS);
	x.t += 1000;
	return judged(&x, NULL);
}

static void connections_wait_until_the_end(void **state)
{
	sqlite3 *db = stops(STOPS);

	(void)state;
	is_verdict(db, "problem", "connections");
	is_number(db, FINDING_VALUE("verdict_unaccepted", "n", "v.number"), 6);
	is_within(db, FINDING_VALUE("verdict_unaccepted", "start", "v.number"), 4e9, 4.1e9);
	is_within(db, FINDING_VALUE("verdict_unaccepted", "first", "v.number"), 5.9e9, 6.1e9);
	is_number(db, FINDING_VALUE("unaccepted_clients", "thread", "v.id"), 100);
	is_number(db, FINDING_VALUE("unaccepted_clients", "clients", "v.number"), 4 + FULL);
	is_number(db, FINDING_VALUE("unaccepted_clients", "quiet", "v.number"), 1 + FULL);
	is_text(db, FINDING_VALUE("unaccepted_clients", "client", "v.text"), "10.0.0.9");
	db_close(db);
}

/* Another process accepts; nothing ever does; it has just started; the server is busy. */
static void other_queues_are_not_left_waiting(void **state)
{
	sqlite3 *db;
	int how;

	(void)state;
	for (how = FALLS; how <= ACCEPTS; how++) {
		db = stops(how);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_unaccepted'", 0);
		db_close(db);
	}
}

/* No request: a process that listens, and has work of its own. */
static sqlite3 *starts(int from, int to, bool late)
{
	static const struct full none;
	struct text x = { 0 };
	int s;

	head_of(&x, 0);
	text_line(&x,
		  "@recorder\n32 100 fd pid=100 fd=3 mode=0140000 ino=%d family=2 role=listening"
		  " socktype=1 sport=80\n@cpu 0\n%ld 0 switch next=100",
		  LISTENER, x.t);
	for (s = 0; s <= SECONDS; s++) {
		x.t = MS + s * 1000 * MS;
		text_line(&x, "@recorder\n%ld 0 accept_queue netns=1", x.t);
		if (s >= from && s <= to)
			text_line(&x,
				  "%ld 0 accept_queue netns=1 ino=%d queue=31 limit=99 family=2"
				  " port=80",
				  x.t + 2, LISTENER);
		text_line(&x, "@cpu 0");
		if (late && s == SECONDS - 1)
			accepts(&x, &none, s);
	}
	return judged(&x, NULL);
}

static void a_server_that_never_accepts(void **state)
{
	sqlite3 *db = starts(0, SECONDS, false);

	(void)state;
	is_verdict(db, "problem", "connections");
	is_number(db, FINDING_VALUE("verdict_unaccepted", "n", "v.number"), 31);
	is_text(db, FINDING_VALUE("verdict_unaccepted", "port", "v.text"), "80");
	is_null(db, FINDING_VALUE("verdict_unaccepted", "start", "v.number"));
	is_number(db, FINDING_VALUE("hang_thread", "thread", "v.id"), 100);
	db_close(db);
	db = starts(1, 0, false); /* no queue */
	is_verdict(db, "unknown", "requests");
	db_close(db);
	db = starts(SECONDS, SECONDS, false); /* one reading */
	is_verdict(db, "unknown", "requests");
	db_close(db);
	db = starts(2, SECONDS - 3, false); /* another process accepts them */
	is_verdict(db, "unknown", "requests");
	db_close(db);
	db = starts(0, SECONDS, true);
	is_verdict(db, "unknown", "requests");
	db_close(db);
}

static void accepted(struct text *x, long t, int tid, int from, int fd)
{
	text_line(x, "%ld %d syscall nr=accept4 fd=%d ret=%d dur=100", t, tid, from, fd);
	text_line(x,
		  "%ld %d fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=accepted socktype=1"
		  " sport=80 dport=%d saddr=127.0.0.1 daddr=10.0.0.9",
		  t, tid, fd, 2000 + fd, 50000 + fd);
	text_line(x, "%ld %d syscall nr=fcntl fd=%d dur=100", t + 500, tid, fd);
}

/* Two sockets on one port; what accepts from the first leaves the CPU for good, in this state. */
static sqlite3 *two_sockets(int state)
{
	struct text x = { 0 };
	long next, idle = MS / 2;
	int s, i;

	head(&x);
	text_line(&x, "@recorder\n3 101 thread pid=100 state=83");
	for (i = 0; i < 2; i++)
		text_line(&x,
			  "32 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=listening"
			  " socktype=1 sport=80",
			  i ? 3 : 15, LISTENER + i);
	for (s = 0; s < SECONDS; s++) {
		next = (s + 1) * 1000 * MS;
		text_line(&x, "@recorder\n%ld 0 accept_queue netns=1", x.t);
		if (s >= FULL)
			text_line(
				&x,
				"%ld 0 accept_queue netns=1 ino=%d queue=%d limit=99 family=2 port=80",
				x.t + 2, LISTENER + 1, 2 * s);
		text_line(&x, "@cpu 1");
		if (s < FULL) {
			text_line(&x, "%ld 0 waking target=101 context=1\n%ld 0 switch next=101",
				  x.t + 500, x.t + 600);
			accepted(&x, x.t + 2000, 101, 3, 20 + s);
			if (s == FULL - 1 && state == 4)
				text_line(&x,
					  "%ld 300 signal_sent target=101 pid=100 number=19"
					  " sender=300 comm=\"sh\"",
					  x.t + 2900);
			if (s < FULL - 1 || state)
				text_line(&x, "%ld 101 switch next=0 state=%d", x.t + 3000,
					  s < FULL - 1 ? 1 : state);
		}
		text_line(&x, "@cpu 0");
		x.t += 1000;
		wakes_for(&x, &idle, 5, 50000);
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 500);
		accepted(&x, x.t + 2000, 100, 15, 40 + s);
		idle = x.t + 4000;
		text_line(&x, "%ld 100 switch next=0 state=1", idle);
		x.t += 5 * MS;
		for (i = 0; x.t < next - 60 * MS; i++)
			wakes_for(&x, &idle, 5 + i % 3, 50000);
		x.t = next;
	}
	text_line(
		&x,
		"@recorder\n%ld 0 accept_queue netns=1\n%ld 0 accept_queue netns=1 ino=%d queue=30"
		" limit=99 family=2 port=80\n@cpu 0",
		x.t, x.t + 2, LISTENER + 1);
	x.t += 1000;
	return judged(&x, NULL);
}

/* The other socket is accepted from until the end. */
static void one_of_several_sockets(void **state)
{
	sqlite3 *db = two_sockets(4);
	int i;

	(void)state;
	is_verdict(db, "problem", "connections");
	is_number(db, FINDING_VALUE("verdict_unaccepted", "n", "v.number"), 30);
	is_number(db, FINDING_VALUE("verdict_unaccepted", "thread", "v.id"), 101);
	is_within(db, FINDING_VALUE("verdict_unaccepted", "start", "v.number"), 4.0e9, 4.1e9);
	is_text(db, FINDING_VALUE("pause_stopped", "signal", "v.text"), "SIGSTOP");
	is_number(
		db,
		"SELECT f.parent=v.finding FROM finding f, verdict v WHERE f.kind='pause_stopped'",
		1);
	db_close(db);
	for (i = 0; i <= 2; i++) { /* it computes, or sleeps */
		db = two_sockets(i);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_unaccepted'", 0);
		db_close(db);
	}
}

static void counts_are_read_by_name(void **state)
{
	static const char text[] = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPHPHits\n"
				   "TcpExt: 1 22 333 4444\n"
				   "IpExt: InNoRoutes ListenDrops\nIpExt: 5 6\n";

	(void)state;
	assert_int_equal(accept_queues_count(text, "ListenOverflows"), 22);
	assert_int_equal(accept_queues_count(text, "ListenDrops"), 333);
	assert_int_equal(accept_queues_count(text, "TCPHPHits"), 4444);
	assert_int_equal(accept_queues_count(text, "Listen"), 0);
	assert_int_equal(accept_queues_count("", "ListenDrops"), 0);
	assert_int_equal(accept_queues_count("TcpExt: ListenDrops", "ListenDrops"), 0);
	assert_int_equal(accept_queues_count("TcpExt: ListenDrops\nTcpExt:", "ListenDrops"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_full_accept_queue_is_a_problem),
		T(what_only_looks_like_a_full_queue),
		T(accept_fails_for_open_files),
		T(drops_of_the_first_interval_have_no_start),
		T(counts_are_read_by_name),
		T(connections_wait_until_the_end),
		T(other_queues_are_not_left_waiting),
		T(a_server_that_never_accepts),
		T(one_of_several_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
