// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/queues/verdict_pool.c: requests that wait for a free thread, and servers that
 * only look so.
 */
#include "analyze/analyses/queues/pool_busy.h"
#include "analyze/store/state.h"
#include "tests/lib/pooled.h"

#include <limits.h>

#define SECONDS 6

/* How it serves. */
struct server {
	int clients;
	long work;	/* ns per request */
	long slow_from; /* from then on so many clients more; 0: never */
	int more;
	bool threads;	/* of one process, whose main thread accepts; else processes that do */
	bool bound;	/* connections stay open, and belong to one worker each */
	bool loop;	/* a worker reads at once, and answers later */
	bool made;	/* a thread is made for each connection */
	long slow;	/* ns: requests of worker 0 */
	long keeps;	/* ns that a connection stays open after its answer */
	long kept_from; /* from then on the next connection of each worker stays open, */
	long kept;	/* for so long, */
	bool kept_busy; /* without an answer */
	long missing;	/* from then on worker 3 takes none; 0: never */
	bool awaits;	/* and waits for an answer of another server */
	long pauses;	/* ns that a client waits before it asks again, at most */
};

struct run {
	const struct server *s;
	struct pool_text x;
	long at[CLIENTS], free_at[WORKERS], pos[CLIENTS];
	long conns, keeps;
	int kept;
};

static void begin(struct text *x, const struct server *s)
{
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(x,
		  "1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,requests\"");
	text_line(x, "3 200 thread pid=200 state=83 comm=\"server\"");
	for (i = 1; i <= WORKERS; i++)
		text_line(x, "4 %d thread pid=%d parent=200 state=83 comm=\"server\"", 200 + i,
			  s->threads ? 200 : 200 + i);
	for (i = 0; i < CLIENTS && s->bound; i++)
		text_line(
			x,
			"5 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d daddr=10.0.0.9",
			201 + i % WORKERS, 201 + i % WORKERS, 10 + i, 1000 + i, 4000 + i);
	text_line(x, "6 0 request_name id=1 protocol=1 name=\"GET /slow\"");
	text_line(x, "6 0 request_name id=2 protocol=1 name=\"GET /fast\"");
	text_line(x, "31 0 info text=\"begin=31\"");
	for (i = 0; i < CLIENTS && s->bound; i++)
		text_line(x, "@cpu 0\n%d 0 connection sock=%d ino=%d conn=%d family=2 side=1",
			  40 + i, i + 1, 1000 + i, i + 1);
}

/* The request of a client on a new connection. */
static void asks(struct run *r, int c, int w, long read, long end)
{
	long conn = 100 + ++r->conns, arrival = r->at[c];
	int tid = r->s->made ? 1000 + (int)r->conns : 201 + w, pid = r->s->threads ? 200 : tid;
	int acceptor = r->s->threads ? 200 : tid, fd = r->s->threads ? 10 + c : 5;
	long accept = r->s->threads ? arrival + 5000 : read - 3000;

	pool_line(&r->x, arrival, "0 connection sock=%ld conn=%ld family=2 side=1", conn, conn);
	pool_line(&r->x, arrival, "0 segment conn=%ld pos=0 len=10 unread=0", conn);
	if (r->s->made)
		pool_line(&r->x, read - 4000, "200 fork child=%d child_pid=200 pid=200 target=1",
			  tid);
	pool_line(
		&r->x, accept,
		"%d fd pid=%d fd=%d mode=0140000 ino=%ld family=2 role=2 socktype=1 sport=80 dport=%d"
		" daddr=10.0.0.9",
		acceptor, pid, fd, 10000 + conn, 4000 + c);
	pool_line(&r->x, read, "0 connection sock=%ld ino=%ld conn=%ld family=2 side=1", conn,
		  10000 + conn, conn);
	pool_line(&r->x, read, "%d syscall nr=read fd=%d dur=1000 ret=10", tid, fd);
	pool_line(&r->x, read, "%d head conn=%ld pos=0 len=10 name=%d requests=1", tid, conn,
		  c % 4 ? 1 : 2);
	pool_line(&r->x, end, "%d syscall nr=write fd=%d dur=1000 ret=20", tid, fd);
	pool_line(&r->x, end + 2000 + r->keeps, "%d syscall nr=close fd=%d dur=1000", tid, fd);
}

/* The same on its own connection, to the worker that has it. */
static void asks_again(struct run *r, int c, int w, long read, long end)
{
	long arrival = r->at[c], pos = r->pos[c];

	r->pos[c] += 10;
	pool_line(&r->x, arrival, "0 segment conn=%d pos=%ld len=10 unread=0", c + 1, pos);
	pool_line(&r->x, read, "%d syscall nr=read fd=%d dur=1000 ret=10", 201 + w, 10 + c);
	pool_line(&r->x, end, "%d syscall nr=write fd=%d dur=1000 ret=20", 201 + w, 10 + c);
}

/* Who is next, and which worker takes it. */
static int next_client(const struct run *r, int clients)
{
	int i, c = 0;

	for (i = 1; i < clients; i++)
		c = r->at[i] < r->at[c] ? i : c;
	return c;
}

static int next_worker(const struct run *r, int c)
{
	int i, w = 0;

	if (r->s->bound)
		return c % WORKERS;
	for (i = 1; i < WORKERS; i++)
		w = r->free_at[i] < r->free_at[w] ? i : w;
	return w;
}

/* Worker 3 sends to another server, and sleeps in its receive until the recording ends. */
static void awaits(struct run *r, long from, long to)
{
	int tid = 200 + WORKERS;

	r->x.cpu = 3;
	pool_line(&r->x, from - 3000,
		  "%d fd pid=%d fd=30 mode=0140000 ino=99999 family=2 role=3 socktype=1"
		  " sport=5000 dport=99 daddr=10.0.0.5",
		  tid, tid);
	pool_line(&r->x, from - 1000, "0 switch next=%d", tid);
	pool_line(&r->x, from, "%d switch next=0 state=1", tid);
	pool_line(&r->x, to, "0 waking target=%d context=1", tid);
	pool_line(&r->x, to + 1000, "0 switch next=%d", tid);
	pool_line(&r->x, to + 2000, "%d syscall nr=recvfrom fd=30 ret=-4 dur=%ld", tid,
		  to + 2500 - from);
}

static sqlite3 *judged(const struct server *s)
{
	struct run r = { .s = s };
	struct text x = { 0 };
	int i, c, w, clients = s->clients;
	sqlite3 *db;

	srand(3);
	begin(&x, s);
	r.x.v = calloc(POOL_LINES, sizeof(*r.x.v));
	for (i = 0; i < CLIENTS; i++)
		r.at[i] = (i < s->clients ? POOL_MS : s->slow_from) + i * 300000L;
	for (;;) {
		long read, end, work;

		c = next_client(&r, clients);
		if (s->slow_from && clients == s->clients && r.at[c] >= s->slow_from)
			clients += s->more;
		if (s->missing && r.at[c] >= s->missing)
			r.free_at[WORKERS - 1] = LONG_MAX;
		w = next_worker(&r, c);
		work = s->slow && !w ? s->slow : s->work;
		work -= rand() % (work / 10);
		read = (s->loop || s->made || r.free_at[w] < r.at[c] ? r.at[c] : r.free_at[w]) +
		       10000;
		end = (s->loop && r.free_at[w] > read ? r.free_at[w] : read) + work;
		if (end > SECONDS * 1000 * POOL_MS - POOL_MS)
			break;
		r.keeps = s->keeps;
		if (s->kept_from && r.at[c] >= s->kept_from && r.kept < WORKERS) {
			r.kept++;
			*(s->kept_busy ? &end : &r.keeps) += s->kept;
		}
		(s->bound ? asks_again : asks)(&r, c, w, read, end);
		r.free_at[w] = end + 5000 + r.keeps;
		r.at[c] = end + POOL_MS + (s->pauses ? rand() % s->pauses : 0);
	}
	if (s->awaits)
		awaits(&r, s->missing + 250 * POOL_MS, (SECONDS * 1000 - 1) * POOL_MS);
	db = pool_loaded(&x, &r.x, SECONDS * 1000 * POOL_MS);
	analysed(db, "pauses");
	return analysed(db, "verdict");
}

#define OF_POOL(kind, name, what) FINDING_VALUE(kind, name, what)

/* 12 clients of 4 processes: each request waits for two others, before accept. */
static void processes_are_all_busy(void **state)
{
	sqlite3 *db = judged(&(struct server){ .clients = 12, .work = 20 * POOL_MS });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem pool");
	is_number(db, OF_POOL("verdict_pool_level", "processes", "v.number"), WORKERS);
	is_number(db, OF_POOL("verdict_pool_level", "threads", "count(v.number)"), 0);
	is_within(db, OF_POOL("verdict_pool_level", "full", "v.number"), 80, 100);
	is_within(db, OF_POOL("verdict_pool_level", "queued", "v.number"), 33e6, 40e6);
	is_within(db, OF_POOL("verdict_pool_level", "accept", "v.number"), 33e6, 40e6);
	/* a part of the wait is no longer than the wait */
	is_number(db,
		  "SELECT (" OF_POOL("verdict_pool_level", "accept", "v.number") ") <= (" OF_POOL(
			  "verdict_pool_level", "queued", "v.number") ")",
		  1);
	is_text(db,
		"SELECT n.name FROM finding_value v JOIN request_name n ON n.id=v.id WHERE v.name='name'",
		"GET /slow");
	db_close(db);
}

/* Short requests, whose connections then stay open for 60 ms. */
static void processes_keep_idle_connections(void **state)
{
	sqlite3 *db =
		judged(&(struct server){ .clients = 12, .work = POOL_MS, .keeps = 60 * POOL_MS });

	(void)state;
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pool");
	is_number(db, OF_POOL("verdict_kept", "processes", "v.number"), WORKERS);
	is_within(db, OF_POOL("verdict_kept", "full", "v.number"), 90, 100);
	is_within(db, OF_POOL("verdict_kept", "idle", "v.number"), 95, 100);
	is_within(db, OF_POOL("verdict_kept", "accept", "v.number"), 50e6, 200e6);
	is_number(db, OF_POOL("verdict_kept", "client", "count(v.text)"), 0);
	db_close(db);
	/* those of busy processes are not idle */
	db = judged(&(struct server){ .clients = 12, .work = 20 * POOL_MS });
	is_number(db, OF_POOL("verdict_kept", "processes", "count(v.number)"), 0);
	db_close(db);
}

/* For 1.5 s, each process keeps one connection, and the other clients wait. */
static void processes_keep_connections_for_a_while(void **state)
{
	struct server s = { .clients = 12,
			    .work = POOL_MS,
			    .pauses = 100 * POOL_MS,
			    .kept_from = 3000 * POOL_MS,
			    .kept = 1500 * POOL_MS };
	sqlite3 *db = judged(&s);

	(void)state;
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	is_number(db, OF_POOL("verdict_kept_then", "processes", "v.number"), WORKERS);
	is_within(db, OF_POOL("verdict_kept_then", "full", "v.number"), 95, 100);
	is_number(db, OF_POOL("verdict_kept_then", "of_client", "v.number"), WORKERS);
	is_text(db, OF_POOL("verdict_kept_then", "client", "v.text"), "10.0.0.9");
	is_within(db, OF_POOL("verdict_kept_then", "longest", "v.number"), 1.3e9, 1.6e9);
	is_number(db, OF_POOL("verdict_kept_then", "queue", "count(v.number)"), 0);
	db_close(db);
	/* they work on a request of it, as on a slow upload */
	s.kept_busy = true;
	db = judged(&s);
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	is_number(db, OF_POOL("verdict_kept_then", "processes", "count(v.number)"), 0);
	db_close(db);
	/* one process with threads accepts at once */
	s.kept_busy = false;
	s.threads = true;
	db = judged(&s);
	is_number(db, OF_POOL("verdict_kept_then", "processes", "count(v.number)"), 0);
	db_close(db);
}

/* Threads of a process whose main thread accepts at once. */
static void threads_are_all_busy(void **state)
{
	sqlite3 *db =
		judged(&(struct server){ .clients = 12, .work = 20 * POOL_MS, .threads = true });

	(void)state;
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pool");
	is_number(db, OF_POOL("verdict_pool_level", "threads", "v.number"), WORKERS);
	is_number(db, OF_POOL("verdict_pool_level", "accept", "count(v.number)"), 0);
	db_close(db);
}

/* They are from half of the recording on: the change has its reason. */
static void they_are_from_a_moment_on(void **state)
{
	sqlite3 *db = judged(&(struct server){ .clients = 3,
					       .work = 20 * POOL_MS,
					       .slow_from = SECONDS * 500 * POOL_MS,
					       .more = 15 });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_number(db, OF_POOL("verdict_pool", "processes", "v.number"), WORKERS);
	is_within(db, OF_POOL("verdict_pool", "full", "v.number"), 80, 100);
	is_within(db, OF_POOL("verdict_pool", "queued", "v.number"), 50e6, 80e6);
	is_number(db,
		  "SELECT count(*) FROM finding f JOIN verdict v ON v.finding=f.parent WHERE"
		  " f.kind='verdict_pool'",
		  1);
	db_close(db);
}

/*
 * One of them has waited for another server since 3.2 s, in a request; or for its next news, or its
 * thread does not wait for it: nothing reads what a log's server would send.
 */
static void a_silent_server_takes_one_away(void **state)
{
	static const struct {
		int answered;
		bool awaits;
	} cases[] = { { 0, true }, { 1, true }, { 0, false } };
	static const char missing[] =
		"INSERT INTO unanswered(ts, read, pid, tid, fd, service, client, name, answered)"
		" SELECT 3100000000, 3100000000, pid, pid, 5, id, 0, 2, 0 FROM service WHERE pid=204;"
		"INSERT INTO upstream_unanswered VALUES(3200000000, 204, 204, 30, 1, %d, 0, 0, NULL);"
		"INSERT INTO fd(pid, fd, ts, kind, role, remote) VALUES(204, 30, 3150000000, 'socket',"
		" 'connected', '10.0.0.5:99'); DELETE FROM finding_value; DELETE FROM finding";
	char facts[sizeof(missing) + 16];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = judged(&(struct server){ .clients = 3,
						       .work = 20 * POOL_MS,
						       .slow_from = SECONDS * 500 * POOL_MS,
						       .missing = SECONDS * 500 * POOL_MS,
						       .awaits = cases[i].awaits,
						       .more = 15 });

		snprintf(facts, sizeof(facts), missing, cases[i].answered);
		analysed(changed(db, facts), "verdict");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='connect_unanswered'", !i);
		if (!i)
			is_text(db, OF_POOL("connect_unanswered", "address", "v.text"),
				"10.0.0.5:99");
		db_close(db);
	}
}

/* Clients that pause: some requests find a free one. */
static void those_that_wait_are_counted(void **state)
{
	static const char waits[] =
		"SELECT (SELECT %s FROM request WHERE queued > 20000 AND ts + dur > start) / (SELECT v.number FROM"
		" finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind='verdict_pool' AND v.name='%s')"
		" FROM verdict WHERE rank=1";
	sqlite3 *db = judged(&(struct server){ .clients = 3,
					       .work = 20 * POOL_MS,
					       .slow_from = SECONDS * 500 * POOL_MS,
					       .more = 12,
					       .pauses = 75 * POOL_MS });
	char sql[400];

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	snprintf(sql, sizeof(sql), waits, "count(*)", "waited");
	is_within(db, sql, 0.98, 1.02);
	snprintf(sql, sizeof(sql), waits, "avg(queued)", "queued");
	is_within(db, sql, 0.98, 1.02);
	is_within(db,
		  "SELECT (" OF_POOL("verdict_pool", "waited", "v.number") ") / (" OF_POOL(
			  "verdict_pool", "of", "v.number") ")",
		  0.5, 0.98);
	db_close(db);
}

static void is_silent(const struct server *s)
{
	sqlite3 *db = judged(s);

	is_number(
		db,
		"SELECT count(*) FROM finding WHERE kind IN ('verdict_pool', 'verdict_pool_level')",
		0);
	is_above(db, "SELECT count(*) FROM request", 100);
	db_close(db);
}

/* A thread is free all the time; requests are slow by themselves. */
static void an_idle_worker_is_left(void **state)
{
	(void)state;
	is_silent(&(struct server){ .clients = 3, .work = 20 * POOL_MS });
	is_silent(&(struct server){ .clients = 3, .work = 20 * POOL_MS, .threads = true });
}

/* Requests wait for the thread that has their connection. */
static void one_worker_is_slow(void **state)
{
	(void)state;
	is_silent(&(struct server){
		.clients = 12, .work = 2 * POOL_MS, .slow = 60 * POOL_MS, .bound = true });
}

/* All are busy, but no thread could read the request of another one's connection. */
static void connections_belong_to_threads(void **state)
{
	(void)state;
	is_silent(&(struct server){ .clients = 12, .work = 20 * POOL_MS, .bound = true });
}

static void event_loops_are_no_pool(void **state)
{
	(void)state;
	is_silent(&(struct server){ .clients = 12, .work = 20 * POOL_MS, .loop = true });
}

/* As many threads as connections: all of them have a request all the time. */
static void a_thread_for_each_connection(void **state)
{
	(void)state;
	is_silent(&(struct server){
		.clients = 12, .work = 20 * POOL_MS, .threads = true, .made = true });
}

/* Worker tid waits in flock from 100 ms until waker ends that. */
static void locks(struct pool_text *x, int tid, long till, int waker)
{
	x->cpu = tid - 200;
	pool_line(x, 90 * POOL_MS, "0 switch next=%d", tid);
	pool_line(x, 91 * POOL_MS, "%d syscall nr=read fd=10 dur=1000 ret=10", tid);
	pool_line(x, 100 * POOL_MS, "%d switch next=0 state=1", tid);
	pool_line(x, till, "%d waking target=%d%s", waker, tid, waker ? "" : " context=1");
	pool_line(x, till + 1000, "0 switch next=%d", tid);
	pool_line(x, till + 2000, "%d syscall nr=flock fd=12 dur=%ld", tid,
		  till - 100 * POOL_MS + 4000);
	pool_line(x, till + 3000, "%d syscall nr=write fd=10 dur=1000 ret=20", tid);
	pool_line(x, till + 4000, "%d switch next=0 state=1", tid);
}

/*
 * Workers 202 to 204 wait for a file lock from 100 to 900 ms and 10 ms longer each; 201 wakes the
 * first, others the next ones. Who had it from then until 1 s.
 */
static s64 holder(int second, int third, long from)
{
	struct pool_held h = { 0 };
	struct pool_text lines = { .v = calloc(POOL_LINES, sizeof(*lines.v)) };
	struct text x = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	text_line(&x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(&x,
		  "1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched\"");
	for (i = 201; i < 207; i++) {
		text_line(&x, "4 %d thread pid=%d state=83 comm=\"server\"", i, i);
		text_line(&x,
			  "5 %d fd pid=%d fd=10 mode=0140000 ino=%d family=2 role=2 socktype=1"
			  " sport=80 dport=%d daddr=10.0.0.9",
			  i, i, 1000 + i, 4000 + i);
	}
	text_line(&x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"");
	locks(&lines, 202, 900 * POOL_MS, 201);
	locks(&lines, 203, 910 * POOL_MS, second);
	locks(&lines, 204, 920 * POOL_MS, third);
	db = pool_loaded(&x, &lines, 1000 * POOL_MS);
	is_number(db, "SELECT count(*) FROM thread_state WHERE state=state_id('lock')", 3);
	if (pool_held(&h, db, asked(db, "SELECT max(id) FROM server"), from * POOL_MS,
		      1000 * POOL_MS, &e) < 0)
		fail_msg("%s", e.text);
	buf_free(&h.function);
	db_close(db);
	return h.tid;
}

static void a_file_lock_has_its_holder(void **state)
{
	(void)state;
	/* 201 released it; who got it released it 10 ms later */
	assert_int_equal(holder(202, 203, 100), 201);
	/* different locks, of as many holders */
	assert_int_equal(holder(205, 206, 100), 0);
	/* not recorded who released it to most */
	assert_int_equal(holder(0, 0, 100), 0);
	/* no wait in that time */
	assert_int_equal(holder(202, 203, 950), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(processes_keep_idle_connections), T(processes_keep_connections_for_a_while),
		T(processes_are_all_busy),	    T(threads_are_all_busy),
		T(those_that_wait_are_counted),	    T(they_are_from_a_moment_on),
		T(an_idle_worker_is_left),	    T(one_worker_is_slow),
		T(connections_belong_to_threads),   T(event_loops_are_no_pool),
		T(a_thread_for_each_connection),    T(a_file_lock_has_its_holder),
		T(a_silent_server_takes_one_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
