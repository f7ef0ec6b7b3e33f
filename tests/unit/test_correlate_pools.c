// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/metrics/correlate.c, pools.c: which threads are one pool, which come first, and
 * of which server. */
#include "tests/lib/correlating.h"

/* Sleep for requests is the complement of work: as large a change as it has, it is no cause. */
static void waits_for_work_are_excluded(void **state)
{
	sqlite3 *db = recording();
	struct noise r = { 5 };

	(void)state;
	step(db, &r, 4, 2);
	changed(db, "INSERT INTO series SELECT ts, 18, 103, 0, time, 1, 0, 0 FROM series"
		    " WHERE tid=107");
	run(db);
	is_number(db, "SELECT " FIRST_ID "=107", 1);
	is_number(
		db,
		"SELECT count(*) FROM metric WHERE analysis='correlate' AND subject_id=103 AND name='q'",
		0);
	/* the same time in a futex is a wait that counts */
	changed(db, "UPDATE series SET kind=16 WHERE kind=18");
	run(db);
	is_above(
		db,
		"SELECT count(*) FROM metric WHERE analysis='correlate' AND subject_id=103 AND name='q'",
		0);
	db_close(db);
}

#define SOCKET(n, role)                                                                        \
	"900 100 fd pid=100 fd=" n " mode=0140000 ino=7" n " family=2 role=" role " sport=8" n \
	" dport=9" n " socktype=1\n"

/*
 * In each window 103 has a request open, and waits in epoll, if slower for longer after half of the
 * time; ask: for an upstream.
 */
static sqlite3 *event_loop(bool ask, bool slower)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	struct noise r = { 5 };
	long long t, wait;
	sqlite3 *db;
	int i;

	buf_printf(&text, &e, "@recorder\n" SOCKET("5", "2") SOCKET("6", "3") "@cpu 1\n");
	for (i = 0; i < SHORT; i++) {
		t = 1000000 + i * SECOND;
		wait = (i < SHORT / 2 || !slower ? 300000000 : 600000000) +
		       (long long)(1e7 * noise_normal(&r));
		buf_printf(&text, &e,
			   "%lld 0 waking target=103 context=1\n%lld 0 switch next=103\n"
			   "%lld 103 syscall nr=read fd=5 ret=10 dur=500\n",
			   t, t + 1000, t + 5000);
		if (ask)
			buf_printf(&text, &e, "%lld 103 syscall nr=write fd=6 ret=20 dur=500\n",
				   t + 6000);
		buf_printf(&text, &e, "%lld 103 switch next=0 state=1\n", t + 10000);
		t += wait;
		buf_printf(&text, &e,
			   "%lld 0 waking target=103 context=1\n%lld 0 switch next=103\n"
			   "%lld 103 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%lld ret=1\n",
			   t, t + 1000, t + 3000, wait - 5000);
		if (ask)
			buf_printf(&text, &e, "%lld 103 syscall nr=read fd=6 ret=30 dur=500\n",
				   t + 5000);
		buf_printf(&text, &e,
			   "%lld 103 syscall nr=write fd=5 ret=10 dur=500\n"
			   "%lld 103 switch next=0 state=1\n",
			   t + 8000, t + 20000);
	}
	db = recording_of(text.data);
	buf_free(&text);
	return db;
}

#define MOVES_103 \
	"SELECT count(*) > 0 FROM metric WHERE analysis='correlate' AND subject_id=103 AND name='q'"

static void moves(sqlite3 *db, const char *sql, bool expected)
{
	struct noise r = { 5 };

	step(db, &r, 4, 2);
	changed(db, sql);
	run(db);
	is_number(db, MOVES_103, expected);
}

#define IN_EPOLL                                                                            \
	"INSERT INTO series SELECT ts, series_id('epoll_wait'), 103, 0, time, 1, 0, 0 FROM" \
	" series WHERE tid=107"

/* Time in epoll is a wait for an upstream while a request waits for one, else a wait for work. */
static void epoll_with_an_open_question_counts(void **state)
{
	sqlite3 *db = event_loop(true, true);

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE tid=103", SHORT);
	moves(db, IN_EPOLL, true);
	moves(db, "SELECT 1", false); /* no event loop: its waits are series of their own */
	db_close(db);
	db = event_loop(false, true);
	is_number(db, "SELECT count(*) FROM request WHERE tid=103", SHORT);
	moves(db, IN_EPOLL, false);
	db_close(db);
}

/* Half of the change in each of two threads of one name: together it comes first. */
static void threads_of_a_pool_add_up(void **state)
{
	sqlite3 *db = recording();
	struct noise r = { 5 };

	(void)state;
	step(db, &r, 4, 2);
	changed(db, "UPDATE thread SET comm='pool' WHERE tid IN (107, 108);"
		    "DELETE FROM series WHERE tid=108;"
		    "UPDATE series SET time=time/2 WHERE tid=107;"
		    "INSERT INTO series SELECT ts, kind, 108, resource, time, n, refused,"
		    " timeouts FROM series WHERE tid=107");
	run(db);
	is_text(db,
		"SELECT subject_kind || ' ' || subject_id FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1",
		"process 100");
	is_number(db, "SELECT value BETWEEN 15 AND 25 " VALUE("added"), 1);
	db_close(db);
}

/*
 * Half of the change in each of two workers of one name: together they come first, if their parent
 * has that name too. Processes of one name that have nothing in common stay separate.
 */
static void workers_of_a_server_add_up(void **state)
{
	sqlite3 *db = recording();
	struct noise r = { 5 };

	(void)state;
	step(db, &r, 4, 2);
	changed(db, "UPDATE thread SET comm='work', pid=tid WHERE tid IN (107, 108);"
		    "INSERT INTO process(pid, parent, comm) VALUES(90, 1, 'work'),"
		    " (107, 90, 'work'), (108, 90, 'work');"
		    "DELETE FROM series WHERE tid=108;"
		    "UPDATE series SET time=time/2 WHERE tid=107;"
		    "INSERT INTO series SELECT ts, kind, 108, resource, time, n, refused,"
		    " timeouts FROM series WHERE tid=107");
	run(db);
	is_text(db,
		"SELECT subject_kind || ' ' || subject_id FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1",
		"process 90");
	is_number(db, "SELECT value BETWEEN 15 AND 25 " VALUE("added"), 1);
	changed(db, "UPDATE process SET comm='starter' WHERE pid=90");
	run(db);
	is_number(db, "SELECT " FIRST_ID " IN (107, 108)", 1);
	is_number(db, "SELECT value BETWEEN 7 AND 13 " VALUE("added"), 1);
	db_close(db);
}

#define TWO_WORKERS                                                                        \
	"UPDATE thread SET comm='work', pid=tid WHERE tid IN (107, 108);"                  \
	"INSERT INTO process(pid, parent, comm) VALUES(90, 1, 'work'), (107, 90, 'work')," \
	" (108, 90, 'work'); DELETE FROM fd; DELETE FROM service;"                         \
	"INSERT INTO service(id, pid, kind, port, requests, server)"                       \
	" VALUES(7, 108, 'tcp', 80, 99, 7);"                                               \
	"DELETE FROM series WHERE tid=108; UPDATE series SET time=time/2 WHERE tid=107;"   \
	"INSERT INTO series SELECT ts, kind, 108, resource, time, n, refused, timeouts"    \
	" FROM series WHERE tid=107;"
#define FD(pid, role, from, to)                                                                   \
	"INSERT INTO fd(pid, fd, kind, role, local, remote) VALUES(" #pid ", 5, 'socket', '" role \
	"', '10.0.0.1:" #from "', '10.0.0.1:" #to "');"

/*
 * Processes of one name and one parent, of which one has the other end of a connection that 108
 * accepted: is it a worker as well?
 */
static void a_client_of_a_server_is_no_worker(void **state)
{
	static const struct {
		const char *ends;
		bool worker;
	} cases[] = {
		{ "", true },
		{ FD(108, "accepted", 80, 4000) FD(107, "connected", 4000, 80), false },
		{ FD(90, "accepted", 80, 4000) FD(107, "connected", 4000, 80), false },
		/* of another server, of another's connection */
		{ FD(108, "accepted", 80, 4000) FD(107, "connected", 4000, 81), true },
		{ FD(108, "accepted", 80, 4000) FD(107, "connected", 4001, 80), true },
		{ FD(109, "accepted", 80, 4000) FD(107, "connected", 4000, 80), true },
		/* it answers on that port itself */
		{ FD(108, "accepted", 80, 4000)
			  FD(107, "connected", 4000,
			     80) "INSERT INTO service(id, pid, kind, port, requests, server)"
				 " VALUES(8, 107, 'tcp', 80, 9, 7)",
		  true },
		{ FD(108, "accepted", 80, 4000)
			  FD(107, "connected", 4000,
			     80) "INSERT INTO service(id, pid, kind, port, requests, server)"
				 " VALUES(8, 107, 'tcp', 90, 9, 8)",
		  false },
	};
	struct err e = { 0 };
	struct noise r = { 5 };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		db = recording();
		step(db, &r, 4, 2);
		if (db_exec(db, &e, TWO_WORKERS) < 0 || db_exec(db, &e, cases[i].ends) < 0)
			fail_msg("%s", e.text);
		run(db);
		is_text(db,
			"SELECT subject_kind FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1",
			cases[i].worker ? "process" : "thread");
		is_number(db,
			  "SELECT count(DISTINCT leader) FROM " LED_PROCESSES " WHERE pid > 106",
			  cases[i].worker ? 1 : 2);
		db_close(db);
	}
}

/* A parent that asks its children. */
static void a_parent_that_asks_does_not_lead(void **state)
{
	struct err e = { 0 };
	sqlite3 *db = recording();

	(void)state;
	if (db_exec(db, &e,
		    TWO_WORKERS FD(108, "accepted", 80, 4000) FD(90, "connected", 4000, 80)) < 0)
		fail_msg("%s", e.text);
	is_number(db, "SELECT leader FROM " LED_PROCESSES " WHERE pid=108", 108);
	is_number(db, "SELECT leader FROM " LED_PROCESSES " WHERE pid=107", 90);
	db_close(db);
}

/* The latency of the server, of which 103 waits less than 107; pid: the process of 107. */
static void first_of(sqlite3 *db, int pid, int expected)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "UPDATE thread SET pid=%d WHERE tid=107", pid);
	changed(db, sql);
	run(db);
	is_number(db, "SELECT " FIRST_ID, expected);
}

/* What adds most to a thread of another process, as of a client that waits, comes after the
 * server's own. */
static void series_of_the_server_come_first(void **state)
{
	sqlite3 *db = event_loop(false, true);
	struct noise r = { 5 };

	(void)state;
	step(db, &r, 4, 2);
	changed(db,
		"UPDATE recording SET value='p95' WHERE key='qos';"
		"INSERT INTO series SELECT ts, series_id('block_time'), 103, 0, time / 2, 1, 0, 0"
		" FROM series WHERE tid=107");
	first_of(db, 100, 107);
	first_of(db, 200, 103);
	is_above(
		db,
		"SELECT count(*) FROM metric WHERE analysis='correlate' AND subject_id=107 AND name='q'",
		0);
	db_close(db);
}

#define OF "SELECT subject FROM finding WHERE analysis='correlate'"

/* The server of the quality, when another one is busier. */
static void quality_of(bool slower, s64 expected)
{
	sqlite3 *db = event_loop(false, slower);

	changed(db, "UPDATE recording SET value='p95' WHERE key='qos';"
		    "INSERT INTO service(id, pid, kind, port, name, requests, server)"
		    " VALUES(99, 300, 'tcp', 1, 'x', 1000, 99)");
	run(db);
	is_number(db, "SELECT status='problem' FROM verdict WHERE subject=1", slower);
	is_number(db, "SELECT subject FROM finding WHERE analysis='correlate'", expected);
	db_close(db);
}

/* The server of the verdict's first problem, not the busiest; one without a problem is not
 * preferred. */
static void the_quality_is_that_of_the_server_with_a_problem(void **state)
{
	(void)state;
	quality_of(true, 1);
	quality_of(false, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(waits_for_work_are_excluded),
		T(epoll_with_an_open_question_counts),
		T(threads_of_a_pool_add_up),
		T(workers_of_a_server_add_up),
		T(a_client_of_a_server_is_no_worker),
		T(a_parent_that_asks_does_not_lead),
		T(series_of_the_server_come_first),
		T(the_quality_is_that_of_the_server_with_a_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
