// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_parts.c: a part of a server pauses while the rest answers. */
#include "tests/lib/unit.h"

#include "format/buf.h"
#include "tests/lib/loaded.h"

#define MS    1000000L
#define FDS   3
#define FIRST 5 /* descriptor: its requests have name 1, those of the others name 2 */

static void begin_of(struct buf *b, int last)
{
	struct err e = { 0 };
	int pid, fd;

	buf_printf(b, &e,
		   "@recorder\n0 0 info text=\"targets=all\"\n"
		   "1 0 info text=\"groups=core,syscalls,sched,requests\"\n"
		   "1 0 request_name id=1 protocol=1 name=\"GET /a\"\n"
		   "1 0 request_name id=2 protocol=1 name=\"POST /b\"\n");
	for (pid = 200; pid <= last; pid++) {
		buf_printf(b, &e, "2 %d thread pid=%d state=83 comm=\"work\"\n", pid, pid);
		for (fd = FIRST; fd < FIRST + FDS; fd++)
			buf_printf(b, &e,
				   "4 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=2"
				   " socktype=1 sport=90 dport=%d daddr=10.0.0.9\n",
				   pid, pid, fd, 10 * pid + fd, 10 * pid + fd);
	}
	buf_printf(
		b, &e,
		"8 0 clock monotonic=8 realtime=1700000000000000000 boottime=8\n"
		"10 0 info text=\"begin=10\"\n10000000000 0 info text=\"stopped=10000000000\"\n");
	for (pid = 200; pid <= last; pid++) {
		buf_printf(b, &e, "@cpu %d\n90 0 waking target=%d\n90 0 switch next=%d\n",
			   pid - 200, pid, pid);
		for (fd = FIRST; fd < FIRST + FDS; fd++)
			buf_printf(b, &e,
				   "100 0 connection sock=%d ino=%d conn=%d family=2 side=1\n",
				   10 * pid + fd, 10 * pid + fd, 10 * pid + fd);
	}
}

static void begin(struct buf *b)
{
	begin_of(b, 201);
}

static long position[3000];

static void arrives(struct buf *b, int pid, int fd, long ts)
{
	struct err e = { 0 };

	buf_printf(b, &e, "%ld 0 segment conn=%d pos=%ld len=10 unread=0\n", ts, 10 * pid + fd,
		   position[10 * pid + fd] += 10);
}

static void answers(struct buf *b, int pid, int fd, long read, long end)
{
	struct err e = { 0 };

	buf_printf(b, &e, "%ld %d syscall nr=read fd=%d dur=1 ret=10\n", read, pid, fd);
	buf_printf(b, &e, "%ld %d head conn=%d pos=%ld len=10 name=%d requests=1\n", read, pid,
		   10 * pid + fd, position[10 * pid + fd], fd == FIRST ? 1 : 2);
	buf_printf(b, &e, "%ld %d syscall nr=write fd=%d dur=1 ret=20\n", end, pid, fd);
}

/* A request every 10 ms, on one of the first n connections after the other. */
static void usual(struct buf *b, int pid, long from, long to, int n)
{
	long t;

	for (t = n ? from : to; t < to; t += 10) {
		int fd = FIRST + (int)(t / 10 % n);

		arrives(b, pid, fd, t * MS);
		answers(b, pid, fd, t * MS + 20000, t * MS + 900000 + t * 137 % 50000);
	}
}

/* Requests on descriptors from first to last arrive at a time, in ms, and are answered at another
 * one. */
static void quiet(struct buf *b, int pid, int first, int last, int others, long from, long to)
{
	int fd;

	for (fd = first; fd <= last; fd++)
		arrives(b, pid, fd, from * MS + fd);
	usual(b, pid, from + 10, to, others);
	for (fd = first; fd <= last; fd++)
		answers(b, pid, fd, to * MS + 10 * fd, to * MS + 10 * fd + 5);
}

/* From 4 s to 7 s. */
static void silent(struct buf *b, int pid, int first, int last, int others)
{
	usual(b, pid, 10, 4000, FDS);
	quiet(b, pid, first, last, others, 4000, 7000);
	usual(b, pid, 7010, 9900, FDS);
}

/* more: SQL for further pauses. */
static sqlite3 *judged_with(struct buf *b, const char *more)
{
	struct err e = { 0 };
	sqlite3 *db = loaded_buf(b);

	analysed(db, "pauses");
	assert_int_equal(db_exec(db, &e, more), 0);
	return analysed(db, "verdict");
}

static sqlite3 *judged(struct buf *b)
{
	return judged_with(b, "SELECT 1");
}

static void a_process_pauses_alone(void **state)
{
	struct buf b = { 0 };
	sqlite3 *db;

	(void)state;
	begin(&b);
	silent(&b, 200, FIRST, FIRST + 2, 0);
	buf_printf(&b, NULL, "@cpu 1\n");
	usual(&b, 201, 10, 9900, FDS);
	db = judged(&b);
	is_text(db, "SELECT status || ' ' || kind || ' ' || pauses FROM verdict",
		"problem pauses 1");
	is_within(db, "SELECT start FROM verdict", 3999e6, 4001e6);
	is_within(db, "SELECT end FROM verdict", 7000e6, 7001e6);
	is_text(db,
		"SELECT s.name || ' ' || p.waiting || ' ' || p.name FROM pause p JOIN service s"
		" ON s.id=p.service WHERE counts",
		"work[200]:90 3 0");
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"1 pause of work[200]:90 at %: nothing was answered for 3.00 s. 3 requests had no answer%");
	db_close(db);
}

static void a_name_pauses_alone(void **state)
{
	struct buf b = { 0 };
	sqlite3 *db;

	(void)state;
	begin(&b);
	silent(&b, 200, FIRST + 1, FIRST + 2, 1);
	buf_printf(&b, NULL, "@cpu 1\n");
	silent(&b, 201, FIRST + 1, FIRST + 2, 1);
	db = judged(&b);
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem pauses");
	is_text(db, "SELECT name || ' ' || service || ' ' || waiting FROM pause WHERE counts",
		"2 0 4");
	is_like(db, "SELECT sentence(finding) FROM verdict", "1 pause of POST /b at %: nothing%");
	db_close(db);
}

/*
 * Every 45 ms a request of the name arrives, and soon afterwards another one is answered: silences
 * of the server cover most of the time, but none of them does.
 */
static void a_name_pauses_between_answers_of_others(void **state)
{
	struct buf b = { 0 };
	sqlite3 *db;
	int pid, i;

	(void)state;
	begin_of(&b, 205);
	for (pid = 200; pid <= 205; pid++) {
		long t = 4000 + 90 * (pid - 200);

		buf_printf(&b, NULL, "@cpu %d\n", pid - 200);
		usual(&b, pid, 10, 4000, FDS);
		for (i = 1; i < FDS; i++) {
			arrives(&b, pid, FIRST + i, (t + 45 * (i - 1)) * MS);
			usual(&b, pid, t + 45 * i - 5, t + 45 * i, 1);
		}
		for (i = 1; i < FDS; i++)
			answers(&b, pid, FIRST + i, 4600 * MS + 10 * i, 4600 * MS + 10 * i + 5);
		usual(&b, pid, 4610, 9900, FDS);
	}
	db = judged(&b);
	is_text(db, "SELECT kind || ' ' || pauses FROM verdict", "pauses 1");
	is_text(db, "SELECT name || ' ' || waiting FROM pause WHERE counts", "2 12");
	is_number(db,
		  "SELECT sum(dur) > 400000000 AND max(dur) < 100000000 FROM pause WHERE name=0 AND"
		  " service=0 AND ts BETWEEN 3999000000 AND 4600000000",
		  1);
	db_close(db);
}

/* One pause of all and two of a name: the requests waited longer in one kind. */
static void where_requests_waited_longer_comes_first(void **state)
{
	static const struct {
		long length; /* of each pause of the name, ms */
		const char *counts;
	} cases[] = { { 300, "0 1" }, { 500, "2 2" } };
	size_t i;
	int pid;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		long length = cases[i].length;
		struct buf b = { 0 };
		sqlite3 *db;

		begin(&b);
		for (pid = 200; pid < 202; pid++) {
			buf_printf(&b, NULL, "@cpu %d\n", pid - 200);
			usual(&b, pid, 10, 2000, FDS);
			quiet(&b, pid, FIRST, FIRST + 2, 0, 2000, 2500);
			usual(&b, pid, 2510, 4000, FDS);
			quiet(&b, pid, FIRST + 1, FIRST + 2, 1, 4000, 4000 + length);
			usual(&b, pid, 4010 + length, 6000, FDS);
			quiet(&b, pid, FIRST + 1, FIRST + 2, 1, 6000, 6000 + length);
			usual(&b, pid, 6010 + length, 9900, FDS);
		}
		db = judged(&b);
		is_text(db, "SELECT kind FROM verdict", "pauses");
		is_text(db, "SELECT max(name) || ' ' || count(*) FROM pause WHERE counts",
			cases[i].counts);
		db_close(db);
	}
}

#define MANY(id, dur, waiting, name)                                                               \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"           \
	" INSERT INTO pause(id, server, pid, tid, ts, dur, waiting, max_wait, edge, lossy,"        \
	" waited, service, name, poll) SELECT " id ", 1, 200, 200, i * 2000000, " dur ", " waiting \
	", " dur ", 0, 0, 1, 0, " name ", 1000000 FROM n"

/* Many short silences of a server, or pauses of a name shorter than the limit, hide no long one. */
static void a_long_pause_among_many_short_ones(void **state)
{
	struct buf b = { 0 }, whole = { 0 };
	sqlite3 *db;

	(void)state;
	begin(&b);
	silent(&b, 200, FIRST + 1, FIRST + 2, 1);
	buf_printf(&b, NULL, "@cpu 1\n");
	usual(&b, 201, 10, 4000, FDS);
	usual(&b, 201, 4010, 7000, 1);
	usual(&b, 201, 7010, 9900, FDS);
	db = judged_with(&b, MANY("1000 + i", "1000000", "1", "0"));
	is_text(db, "SELECT status || ' ' || kind || ' ' || pauses FROM verdict",
		"problem pauses 1");
	is_number(db, "SELECT count(*) FROM pause WHERE counts AND name > 0", 1);
	db_close(db);
	begin(&whole);
	silent(&whole, 200, FIRST, FIRST + 2, 0);
	buf_printf(&whole, NULL, "@cpu 1\n");
	silent(&whole, 201, FIRST, FIRST + 2, 0);
	db = judged_with(&whole, MANY("-i", "20000000", "2", "2"));
	is_text(db, "SELECT kind || ' ' || pauses FROM verdict", "pauses 1");
	is_number(db, "SELECT count(*) FROM pause WHERE counts AND name=0", 1);
	db_close(db);
}

/* Only one connection waits: its request takes long. */
static void one_long_request_is_no_pause(void **state)
{
	struct buf b = { 0 };
	sqlite3 *db;

	(void)state;
	begin(&b);
	silent(&b, 200, FIRST + 1, FIRST + 1, 0);
	buf_printf(&b, NULL, "@cpu 1\n");
	usual(&b, 201, 10, 9900, FDS);
	db = judged(&b);
	is_number(db, "SELECT count(*) FROM pause WHERE dur > 1000000000", 0);
	db_close(db);
}

/* All requests of a name take 0.2 s, two at a time: that is how long they take. */
static void slow_requests_of_a_name_are_no_pause(void **state)
{
	struct buf b = { 0 };
	sqlite3 *db;
	int pid, fd;
	long t;

	(void)state;
	begin(&b);
	for (pid = 200; pid < 202; pid++) {
		buf_printf(&b, NULL, "@cpu %d\n", pid - 200);
		for (t = 10; t < 9700; t += 210) {
			for (fd = FIRST + 1; fd < FIRST + FDS; fd++)
				arrives(&b, pid, fd, t * MS + fd);
			usual(&b, pid, t + 10, t + 200, 1);
			for (fd = FIRST + 1; fd < FIRST + FDS; fd++)
				answers(&b, pid, fd, (t + 200) * MS + fd * 20,
					(t + 200) * MS + fd * 20 + 9);
		}
	}
	db = judged(&b);
	is_number(db,
		  "SELECT requests > 180 FROM request_name n JOIN (SELECT name, sum(requests) AS"
		  " requests FROM request_stat GROUP BY name) s ON s.name=n.id WHERE id=2",
		  1);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	db_close(db);
}

/*
 * A thread that waits in a call from a time on until it is woken, in a request of name 2 or in
 * none. Then it wakes the next one, if there is one.
 */
static void waits(struct buf *b, int pid, const char *call, bool serves, long from, long wake,
		  int next)
{
	struct err e = { 0 };
	int fd = FIRST + 1;

	buf_printf(b, &e, "@cpu %d\n", pid - 200);
	usual(b, pid, 10, from / MS, FDS);
	if (serves) {
		arrives(b, pid, fd, from + pid);
		buf_printf(b, &e, "%ld %d syscall nr=read fd=%d dur=1 ret=10\n", from + 20000, pid,
			   fd);
		buf_printf(b, &e, "%ld %d head conn=%d pos=%ld len=10 name=2 requests=1\n",
			   from + 20000, pid, 10 * pid + fd, position[10 * pid + fd]);
	}
	buf_printf(b, &e, "%ld %d switch next=0 state=1\n", from + 40000, pid);
	buf_printf(b, &e, "%ld 0 switch next=%d\n", wake + 1000, pid);
	buf_printf(b, &e, "%ld %d %s ret=1 dur=%ld\n", wake + 2000, pid, call, wake - from - 30000);
	if (next)
		buf_printf(b, &e, "%ld %d waking target=%d\n", wake + 5000, pid, next);
	if (serves)
		buf_printf(b, &e, "%ld %d syscall nr=write fd=%d dur=1 ret=20\n",
			   wake + 10000 + pid, pid, fd);
	usual(b, pid, wake / MS + 10, 9900, FDS);
}

/* A request of name 2 that waits in a call from 4 s on; 202 ends that. */
static void stalls(struct buf *b, int pid, const char *call, long wake)
{
	waits(b, pid, call, true, 4000 * MS, wake * MS, 0);
}

/* 202 goes on with the same names, wakes 200 and 201, and sleeps before the second. */
static void others_go_on(struct buf *b, long first, long second, long answer)
{
	struct err e = { 0 };

	buf_printf(b, &e, "@cpu 2\n");
	usual(b, 202, 10, answer, FDS);
	buf_printf(b, &e, "%ld 202 syscall nr=write fd=9 dur=1 ret=10\n", answer * MS + 1000);
	buf_printf(b, &e, "%ld 202 syscall nr=read fd=9 dur=1 ret=10\n", answer * MS + 900000);
	usual(b, 202, answer + 10, first, FDS);
	buf_printf(b, &e, "%ld 202 waking target=200\n", first * MS);
	usual(b, 202, first + 10, second, FDS);
	if (second > first)
		buf_printf(b, &e,
			   "%ld 202 switch next=0 state=1\n%ld 0 waking target=202 context=1\n"
			   "%ld 0 switch next=202\n",
			   second * MS - 3000, second * MS - 2000, second * MS - 1000);
	buf_printf(b, &e, "%ld 202 waking target=201\n", second * MS + 500);
	usual(b, 202, second + 10, 9900, FDS);
}

static sqlite3 *stalled(const char *call, long second, long answer)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	int pid;

	begin_of(&b, 202);
	buf_printf(&b, &e, "@recorder\n");
	for (pid = 200; pid < 203; pid++)
		buf_printf(&b, &e,
			   "9 %d fd pid=%d fd=9 mode=0140000 ino=%d family=2 role=connected"
			   " socktype=1 sport=%d dport=11211 saddr=127.0.0.1 daddr=127.0.0.1\n",
			   pid, pid, 9000 + pid, 33000 + pid);
	stalls(&b, 200, call, 7000);
	stalls(&b, 201, call, second);
	others_go_on(&b, 7000, second, answer);
	return judged(&b);
}

#define LOCK	 "syscall_args nr=futex arg0=4096 arg1=0"
#define UPSTREAM "syscall nr=recvfrom fd=9"

/* The pause has no name of its own: others of the name are answered. */
static void is_stall(sqlite3 *db)
{
	is_text(db, "SELECT status || ' ' || kind || ' ' || pauses FROM verdict",
		"problem pauses 1");
	is_text(db, "SELECT name || ' ' || stall || ' ' || waiting FROM pause WHERE counts",
		"2 1 2");
	is_within(db, "SELECT start FROM verdict", 3999e6, 4001e6);
	is_within(db, "SELECT end FROM verdict", 6999e6, 7001e6);
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"1 pause of some POST /b requests at %: nothing was answered for 3.00 s. 2 requests%");
	db_close(db);
}

static void one_wake_up_ends_a_stall(void **state)
{
	sqlite3 *db;

	(void)state;
	is_stall(stalled(LOCK, 7000, 5500));
	/* woken at separate times: two locks */
	db = stalled(LOCK, 7500, 5500);
	is_number(db, "SELECT count(*) FROM pause WHERE stall", 0);
	db_close(db);
}

/*
 * 202 releases a lock to 200, which passes it on to 201, which passes it on to 203. Thread 204 goes
 * on with the same names. pool: 200 waits for work; else from when on it waits in a request.
 */
static sqlite3 *passed_on(bool pool, long from)
{
	struct buf b = { 0 };

	begin_of(&b, 204);
	waits(&b, 200, LOCK, !pool, from * MS, 7000 * MS, 201);
	waits(&b, 201, LOCK, true, 4000 * MS, 7000 * MS + 5000, pool ? 0 : 203);
	if (pool)
		waits(&b, 203, LOCK, true, 4000 * MS, 7000 * MS + 300, 0);
	else
		waits(&b, 203, LOCK, true, 4000 * MS, 7000 * MS + 10000, 0);
	buf_printf(&b, NULL, "@cpu 2\n");
	usual(&b, 202, 10, 7000, FDS);
	buf_printf(&b, NULL, "%ld 202 waking target=200\n", 7000 * MS);
	if (pool)
		buf_printf(&b, NULL, "%ld 202 waking target=203\n", 7000 * MS + 300);
	usual(&b, 202, 7010, 9900, FDS);
	buf_printf(&b, NULL, "@cpu 4\n");
	usual(&b, 204, 10, 9900, FDS);
	return judged(&b);
}

static void a_lock_that_is_passed_on_stalls_all_that_wait_for_it(void **state)
{
	sqlite3 *db = passed_on(false, 4000);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind || ' ' || pauses FROM verdict",
		"problem pauses 1");
	is_text(db, "SELECT name || ' ' || stall || ' ' || waiting FROM pause WHERE counts",
		"2 1 3");
	is_within(db, "SELECT end FROM verdict", 6999e6, 7001e6);
	db_close(db);
	/* the first one came last, after it had waited for work */
	db = passed_on(false, 6990);
	is_text(db, "SELECT name || ' ' || stall || ' ' || waiting FROM pause WHERE counts",
		"2 1 2");
	db_close(db);
	/* a thread that waited for work ends only the wait of one */
	db = passed_on(true, 4000);
	is_number(db, "SELECT count(*) FROM pause WHERE stall", 0);
	db_close(db);
}

static void an_upstream_stalls_who_asks_it(void **state)
{
	sqlite3 *db;

	(void)state;
	is_stall(stalled(UPSTREAM, 7000, 2000));
	/* it answers others in that time: these requests take long */
	db = stalled(UPSTREAM, 7000, 6980);
	is_number(db, "SELECT count(*) FROM pause WHERE stall AND dur > 50000000", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_process_pauses_alone),
		T(a_name_pauses_alone),
		T(a_name_pauses_between_answers_of_others),
		T(where_requests_waited_longer_comes_first),
		T(a_long_pause_among_many_short_ones),
		T(one_long_request_is_no_pause),
		T(slow_requests_of_a_name_are_no_pause),
		T(one_wake_up_ends_a_stall),
		T(a_lock_that_is_passed_on_stalls_all_that_wait_for_it),
		T(an_upstream_stalls_who_asks_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
