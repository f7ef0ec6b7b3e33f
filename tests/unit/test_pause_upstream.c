// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_upstream.c: the other server, and which of its threads. */
#include "analyze/render/render.h"
#include "tests/lib/pausing.h"

/* 100 asks over UDP and waits in a call on that socket; 300 is bound to the address, or another. */
static sqlite3 *asking(const char *bound, bool accepts)
{
	struct text x = { 0 };

	head(&x);
	text_line(&x,
		  "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected"
		  " socktype=%d sport=33000 dport=53 saddr=127.0.0.1 daddr=127.0.0.1",
		  accepts ? 1 : 2);
	text_line(&x, "25 300 thread pid=300 state=83 comm=\"dns\"");
	text_line(&x,
		  "26 300 fd pid=300 fd=4 mode=0140000 ino=4 family=2 role=%s socktype=%d sport=53"
		  " dport=%d saddr=%s daddr=%s\n@cpu 0",
		  accepts ? "accepted" : "bound", accepts ? 1 : 2, accepts ? 33001 : 0, bound,
		  accepts ? "127.0.0.1" : "0.0.0.0");
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	sleeps(&x, "recvfrom", 9, 0);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=300\n%ld 300 switch next=0 state=1\n@cpu 0",
		  x.t - 400 * MS, x.t);
	return judged(&x);
}

/* Not by the port alone, nor another connection of the same server. */
static void a_pause_names_the_server_of_a_blocking_call(void **state)
{
	sqlite3 *db = asking("127.0.0.1", false);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for an upstream");
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "127.0.0.1:53");
	is_number(db, CAUSE_VALUE("v.id", "peer"), 300);
	is_text(db, CAUSE_VALUE("v.text", "peer_did"), "on a CPU or queued for one");
	db_close(db);
	db = asking("127.0.0.2", false);
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "127.0.0.1:53");
	is_number(db, CAUSE_VALUE("count(v.text)", "peer_did"), 0);
	db_close(db);
	db = asking("127.0.0.1", true);
	is_number(db, CAUSE_VALUE("count(v.text)", "peer_did"), 0);
	db_close(db);
}

/* How the question of a pause ends. */
enum end { ANSWERED, TIMED_OUT, GIVEN_UP, ASKED_AGAIN, ASKS_THREE };

/* 100 asks on a TCP connection, sleeps for the answer, and answers its own client then. */
static sqlite3 *question(enum end end)
{
	struct text x = { 0 };
	int i, n = end == ASKS_THREE ? 3 : 1;

	head(&x);
	for (i = 9; i < 11; i++)
		text_line(
			&x,
			"@recorder\n25 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=connected"
			" socktype=1 sport=%d dport=53 saddr=127.0.0.1 daddr=127.0.0.1\n@cpu 0",
			i, i, 33000 + i);
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	wakes(&x);
	for (i = 0; i < n; i++) {
		text_line(&x, "%ld 100 syscall nr=sendto fd=9 ret=20 count=20 dur=200", x.t + 5000);
		text_line(&x, "%ld 100 switch next=0 state=1", x.t + 10000);
		x.t += 300 * MS;
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		x.t += 2000;
		text_line(&x, "%ld 100 syscall nr=recvfrom fd=9 ret=%d count=99 dur=%ld", x.t,
			  end == TIMED_OUT || end == GIVEN_UP || end == ASKED_AGAIN ? -11 : 44,
			  300 * MS - 5000);
	}
	if (end == GIVEN_UP || end == ASKED_AGAIN)
		text_line(&x, "%ld 100 syscall nr=close fd=9 ret=0 dur=10", x.t + 100);
	if (end == ASKED_AGAIN) {
		text_line(&x, "%ld 100 syscall nr=sendto fd=10 ret=20 count=20 dur=20", x.t + 200);
		text_line(&x, "%ld 100 syscall nr=recvfrom fd=10 ret=44 count=99 dur=20",
			  x.t + 300);
	}
	x.t += 1000;
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t);
	x.t += 1000;
	return judged(&x);
}

/* Late is not never. */
static void an_answer_that_comes_late_is_one(void **state)
{
	enum end end;
	sqlite3 *db;

	(void)state;
	for (end = ANSWERED; end <= ASKS_THREE; end++) {
		bool answered = end == ANSWERED || end == ASKS_THREE;

		db = question(end);
		is_text(db, CAUSE_VALUE("v.text", "upstream"), "127.0.0.1:53");
		is_number(db, CAUSE_VALUE("count(v.text)", "silent"), !answered);
		is_number(db, CAUSE_VALUE("round(total(v.number) / 1e7)", "answered"),
			  answered ? 30 : 0);
		is_number(db, CAUSE_VALUE("total(v.number)", "questions"),
			  end == ASKS_THREE ? 3 : 0);
		db_close(db);
	}
}

/* 100 waits for 300 over TCP. 301 has the request, or not, and sleeps, or asks another server; 300
 * runs a little more. */
static sqlite3 *with_worker(bool serves, bool asks)
{
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(&x, "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected"
		      " socktype=1 sport=33000 dport=6379 saddr=127.0.0.1 daddr=127.0.0.1");
	/* its parent has accepted the connection, and closes it */
	text_line(&x, "25 250 thread pid=250 state=83 comm=\"db\"");
	text_line(&x, "26 250 fd pid=250 fd=4 mode=0140000 ino=4 family=2 role=accepted socktype=1"
		      " sport=6379 dport=33000 saddr=127.0.0.1 daddr=127.0.0.1");
	text_line(&x, "25 300 thread pid=300 state=83 comm=\"db\"");
	text_line(&x, "25 301 thread pid=300 state=83 comm=\"db\"");
	text_line(&x, "26 300 fd pid=300 fd=4 mode=0140000 ino=4 family=2 role=accepted socktype=1"
		      " sport=6379 dport=33000 saddr=127.0.0.1 daddr=127.0.0.1\n@cpu 0");
	text_line(&x, "@recorder\n27 300 fd pid=300 fd=8 mode=0140000 ino=8 family=2 role=connected"
		      " socktype=1 sport=34000 dport=7000 saddr=10.0.0.1 daddr=10.0.0.5\n@cpu 0");
	text_line(&x, "500000 250 syscall nr=close fd=4 ret=0 dur=10");
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, "recvfrom", 9, 0);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=301", t - MS);
	if (serves)
		text_line(&x, "%ld 301 syscall nr=read fd=4 ret=29 count=99 dur=200", t + 20000);
	if (asks)
		text_line(&x, "%ld 301 syscall nr=sendto fd=8 ret=20 count=20 dur=200", t + 25000);
	text_line(&x, "%ld 301 switch next=0 state=1", t + 30000);
	text_line(&x, "%ld 0 waking target=301 context=1\n%ld 0 switch next=301", t + 299 * MS,
		  t + 299 * MS + 1000);
	if (asks)
		text_line(&x, "%ld 301 syscall nr=recvfrom fd=8 ret=20 count=99 dur=%ld",
			  t + 299 * MS + 2000, 299 * MS - 28000);
	else
		text_line(&x, "%ld 301 syscall_args nr=clock_nanosleep ret=0 dur=%ld",
			  t + 299 * MS + 2000, 299 * MS - 20000);
	if (serves)
		text_line(&x, "%ld 301 syscall nr=write fd=4 ret=9 count=9 dur=200",
			  t + 299 * MS + 9000);
	text_line(&x, "%ld 301 switch next=0 state=1", t + 300 * MS);
	text_line(&x, "@cpu 2\n%ld 0 switch next=300\n%ld 300 switch next=0 state=1\n@cpu 0",
		  t - MS, t + 20 * MS);
	return judged(&x);
}

static void the_thread_that_has_the_request_is_named(void **state)
{
	sqlite3 *db = with_worker(true, false);

	(void)state;
	is_number(db, CAUSE_VALUE("v.id", "peer"), 301);
	is_text(db, CAUSE_VALUE("v.text", "peer_did"), "asleep until a timer");
	is_number(db, CAUSE_VALUE("count(v.text)", "beyond"), 0);
	db_close(db);
	/* and the server that it waits for in its turn */
	db = with_worker(true, true);
	is_text(db, CAUSE_VALUE("v.text", "peer_did"), "waiting for another server");
	is_text(db, CAUSE_VALUE("v.text", "beyond"), "10.0.0.5:7000");
	is_within(db, CAUSE_VALUE("v.number", "beyond_after"), 298e6, 299e6);
	db_close(db);
	/* of none the one that ran most */
	db = with_worker(false, false);
	is_number(db, CAUSE_VALUE("v.id", "peer"), 300);
	db_close(db);
}

/*
 * 300 has the connection that 100 waits for. 400 accepts one from the same port after both have
 * closed it, until the end, or has one of a host with the same addresses.
 */
static sqlite3 *with_port_again(bool later, bool other_host)
{
	struct text x = { 0 };
	int pid = other_host ? 10000400 : 400;

	head(&x);
	text_line(&x, "@recorder\n24 0 info text=\"1.pid_offset=0\"\n24 0 info text="
		      "\"2.pid_offset=10000000\"");
	text_line(&x, "25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected socktype=1"
		      " sport=33000 dport=6379 saddr=127.0.0.1 daddr=127.0.0.1");
	text_line(&x, "25 300 thread pid=300 state=83 comm=\"db\"");
	text_line(&x, "25 %d thread pid=%d state=83 comm=\"other\"", pid, pid);
	text_line(&x, "26 300 fd pid=300 fd=4 mode=0140000 ino=4 family=2 role=accepted socktype=1"
		      " sport=6379 dport=33000 saddr=127.0.0.1 daddr=127.0.0.1\n@cpu 0");
	many(&x, 100, 600, MS);
	sleeps(&x, "recvfrom", 9, 0);
	text_line(&x, "@cpu 1\n%ld 0 switch next=300\n%ld 300 switch next=0 state=1",
		  x.t - 250 * MS, x.t - 2000);
	text_line(&x, "%ld 300 syscall nr=close fd=4 ret=0 dur=10", x.t - 1000);
	text_line(&x, "@cpu 2\n%ld 0 switch next=%d\n%ld %d switch next=0 state=1", x.t - 280 * MS,
		  pid, x.t, pid);
	text_line(&x,
		  "%s\n%ld %d fd pid=%d fd=4 mode=0140000 ino=14 family=2 role=accepted socktype=1"
		  " sport=6379 dport=33000 saddr=127.0.0.1 daddr=127.0.0.1\n@cpu 0",
		  later ? "@cpu 2" : "@recorder", later ? x.t + 4 * MS : 27, pid, pid);
	text_line(&x, "%ld 100 syscall nr=close fd=9 ret=0 dur=10", x.t - 100);
	return judged(&x);
}

static void a_port_that_is_used_again_is_another_connection(void **state)
{
	sqlite3 *db = with_port_again(true, false);

	(void)state;
	is_number(db, CAUSE_VALUE("v.id", "peer"), 300);
	db_close(db);
	db = with_port_again(false, true);
	is_number(db, CAUSE_VALUE("v.id", "peer"), 300);
	db_close(db);
}

/* The other server has a problem of its own; facts: SQL that makes its verdict, and more. */
static void shows_cause(const char *facts, bool shown)
{
	static const char sql[] =
		"INSERT INTO finding(id, analysis, kind, severity, evidence, parent, subject_kind, subject)"
		" VALUES(901, 'verdict', 'verdict_pauses', 2, 'OBSERVED', 0, 'server', 2), (902, 'verdict',"
		" 'verdict_unmatched', 2, 'OBSERVED', 901, 'server', 2);"
		"INSERT INTO finding_value(finding, seq, name, text) VALUES(902, 0, 'target', 'held');"
		"DELETE FROM verdict WHERE rank > 1; INSERT INTO verdict(rank, status, kind, subject_kind,"
		" subject, start, end, finding) VALUES(2, 'problem', 'pauses', 'server', (SELECT server FROM"
		" service WHERE pid=300), 0, 1000000000, 901);";
	struct render_options o = { .format = RENDER_TEXT, .name = "x.obs" };
	struct buf out = { 0 };
	struct err e = { 0 };
	char all[2000];
	sqlite3 *db;

	snprintf(all, sizeof(all), "%s%s", sql, facts);
	db = changed(with_worker(true, false), all);
	assert_int_equal(render_report(&out, db, &o, &e), 0);
	if (!strstr(out.data, "db[300]:6379: ") == shown)
		fail_msg("%s\n%s", facts, out.data);
	buf_free(&out);
	db_close(db);
}

static void the_cause_of_the_other_server_is_shown(void **state)
{
	(void)state;
	shows_cause("", true);
	/* at another time */
	shows_cause("UPDATE verdict SET end=1000000 WHERE rank=2", false);
	/* no problem */
	shows_cause("UPDATE verdict SET status='none' WHERE rank=2", false);
}

/* The thread is not known, but the connection on which the answer came. */
#define BY_CONNECTION                                                                             \
	"DELETE FROM finding_value WHERE name='peer'; DELETE FROM upstream;"                      \
	" INSERT INTO upstream(ts, dur, pid, tid, fd) SELECT start + 1000, 1000000, 100, 100, 9 " \
	"FROM verdict WHERE rank=1;"

static void the_other_end_of_the_connection_is_the_server(void **state)
{
	(void)state;
	shows_cause(BY_CONNECTION, true);
	/* nothing was asked while it lasted */
	shows_cause(BY_CONNECTION "UPDATE upstream SET ts=1, dur=1", false);
	shows_cause(BY_CONNECTION "DELETE FROM upstream", false);
	/* that server's problem was over before it was asked */
	shows_cause(BY_CONNECTION "UPDATE verdict SET end=(SELECT start + 500 FROM verdict WHERE"
				  " rank=1) WHERE rank=2",
		    false);
	/* a connection of another client on that port */
	shows_cause(BY_CONNECTION "UPDATE fd SET remote='127.0.0.1:33001' WHERE pid=300", false);
	/* the verdict waits for another address */
	shows_cause(BY_CONNECTION "UPDATE finding_value SET text='127.0.0.1:1' WHERE"
				  " name='upstream'",
		    false);
}

/*
 * 100 reads requests on 7, then on 6, and waits in a call on a socket of another server. Whose
 * answer is the first; 5: of one read afterwards.
 */
static sqlite3 *asked_for(int first)
{
	struct text x = { 0 };
	int fd;

	head(&x);
	text_line(&x, "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected"
		      " socktype=1 sport=33000 dport=53 saddr=127.0.0.1 daddr=127.0.0.1\n@cpu 0");
	many(&x, 100, 600, MS);
	wakes(&x);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 5000);
	stays(&x, "recvfrom", 9, 0);
	if (first == 5)
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	text_line(&x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=200", x.t + 1000, first);
	for (fd = 6; fd < 8; fd++)
		if (fd != first)
			text_line(&x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=200",
				  x.t + 1000 * fd, fd);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 9000);
	x.t += MS;
	many(&x, 100, 600, MS);
	return answered(&x);
}

static void who_asked_is_answered_first(void **state)
{
	sqlite3 *db;

	(void)state;
	db = asked_for(7);
	is_number(db, "SELECT fd FROM pause WHERE id=1", 7);
	db_close(db);
	db = asked_for(6);
	is_number(db, "SELECT fd FROM pause WHERE id=1", 6);
	db_close(db);
	db = asked_for(5);
	is_number(db, "SELECT count(*) FROM pause WHERE id=1 AND request IS NULL", 1);
	db_close(db);
}

/* 100 waits in a call on a connection: what the call does with it is what is waited for. */
static void waits_in(const char *call, bool sends)
{
	struct text x = { 0 };
	sqlite3 *db;

	head(&x);
	text_line(&x, "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected"
		      " socktype=1 sport=33000 dport=6379 saddr=127.0.0.1 daddr=127.0.0.1\n@cpu 0");
	many(&x, 100, 600, MS);
	wakes(&x);
	stays(&x, call, 9, 0);
	db = judged(&x);
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for an upstream");
	is_text(db, sends ? CAUSE_VALUE("v.text", "receiver") : CAUSE_VALUE("v.text", "upstream"),
		"127.0.0.1:6379");
	is_number(db,
		  sends ? CAUSE_VALUE("count(*)", "upstream") : CAUSE_VALUE("count(*)", "receiver"),
		  0);
	db_close(db);
}

static void a_call_sends_or_receives(void **state)
{
	(void)state;
	waits_in("recvfrom", false);
	waits_in("splice", false);
	waits_in("sendto", true);
	waits_in("sendfile", true);
}

static void datagram(struct text *x, long ts, int to, const char *call)
{
	text_line(x, "%ld 100 datagram daddr=10.0.0.%d family=2 dport=53", ts, to);
	text_line(x, "%ld 100 syscall nr=%s fd=9 ret=30 dur=10", ts, call);
}

/*
 * Before a pause in epoll_wait of 300 ms, or in it, a name server that answered before is asked,
 * and answers nothing until then. Another one answers what it is asked as the first is.
 */
static sqlite3 *resolving(bool before, bool in)
{
	struct text x = { 0 };

	head(&x);
	text_line(&x,
		  "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=4 socktype=2"
		  " sport=40000\n@cpu 0");
	datagram(&x, x.t, 7, "sendto");
	datagram(&x, x.t + 100, 7, "recvfrom");
	x.t += 1000;
	many(&x, 100, 600, MS);
	if (before)
		datagram(&x, x.t, 7, "sendto");
	datagram(&x, x.t + 100, 8, "sendto");
	datagram(&x, x.t + 200, 8, "recvfrom");
	x.t += 1000;
	many(&x, 100, 600, MS);
	wakes(&x);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 4000);
	if (in)
		datagram(&x, x.t + 5000, 7, "sendto");
	stays(&x, "epoll_wait", -1, 0);
	if (in)
		datagram(&x, x.t - 1000, 7, "recvfrom");
	text_line(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", x.t - 500);
	return judged(&x);
}

static void who_is_asked_in_the_pause_answers_nothing(void **state)
{
	sqlite3 *db;
	int before;

	(void)state;
	for (before = 0; before < 2; before++) {
		db = resolving(before, true);
		is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for an upstream");
		is_text(db, CAUSE_VALUE("v.text", "upstream"), "10.0.0.7:53");
		db_close(db);
	}
	/* what was lost long before is no longer waited for */
	db = resolving(true, false);
	is_number(db, CAUSE_VALUE("count(v.text)", "upstream"), 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_asked_is_answered_first),
		T(a_port_that_is_used_again_is_another_connection),
		T(a_call_sends_or_receives),
		T(who_is_asked_in_the_pause_answers_nothing),
		T(a_pause_names_the_server_of_a_blocking_call),
		T(an_answer_that_comes_late_is_one),
		T(the_thread_that_has_the_request_is_named),
		T(the_cause_of_the_other_server_is_shown),
		T(the_other_end_of_the_connection_is_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
