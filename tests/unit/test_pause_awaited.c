// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_awaited.c: requests wait for a thread that wakes them after it has
 * read from a replica, which is stopped; and what only looks so.
 */
#include "tests/lib/pooled.h"

#define SECONDS 8
#define THREADS 2   /* 101 and 102, of CPUs 1 and 2 */
#define REPLICA 30  /* fd */
#define HEARS	103 /* thread, of CPU 3 */

struct replica {
	bool reads;  /* from the replica until the end */
	bool others; /* another thread ends every second wait */
	bool alone;  /* the waits end without a read before */
};

struct run {
	struct pool_text x;
	long pos[THREADS + 1];
	int nth;
};

static void begin(struct text *x)
{
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(
		x,
		"1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched,process,requests\"");
	text_line(x, "3 100 thread pid=100 state=83 comm=\"db\"\n4 0 request_name id=1 protocol=1"
		     " name=\"GET /item\"");
	for (i = 1; i <= THREADS + 2; i++)
		text_line(x, "5 %d thread pid=100 state=83 comm=\"db\"", 100 + i);
	text_line(x, "5 200 thread pid=200 state=83 comm=\"replica\"");
	for (i = 1; i <= THREADS; i++)
		text_line(
			x,
			"6 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d daddr=10.0.0.9",
			10 + i, 1000 + i, 4000 + i);
	text_line(x,
		  "6 100 fd pid=100 fd=%d mode=0140000 ino=2000 family=2 role=2 socktype=1 sport=81"
		  " saddr=10.0.0.1 dport=5000 daddr=10.0.0.7",
		  REPLICA);
	text_line(
		x,
		"6 200 fd pid=200 fd=3 mode=0140000 ino=2001 family=2 role=3 socktype=1 sport=5000"
		" saddr=10.0.0.7 dport=81 daddr=10.0.0.1");
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 1; i <= THREADS; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + i, i,
			  1000 + i, i);
}

/* A thread reads a request, and sleeps in poll. */
static void reads(struct run *r, int k, long t)
{
	r->x.cpu = 0;
	pool_line(&r->x, t, "0 segment conn=%d pos=%ld len=10 unread=0", k, r->pos[k]);
	r->x.cpu = k;
	pool_line(&r->x, t + 1000, "0 waking target=%d context=1", 100 + k);
	pool_line(&r->x, t + 2000, "0 switch next=%d", 100 + k);
	pool_line(&r->x, t + 4000, "%d syscall nr=read fd=%d dur=3000 ret=10", 100 + k, 10 + k);
	pool_line(&r->x, t + 4000, "%d head conn=%d pos=%ld len=10 name=1 requests=1", 100 + k, k,
		  r->pos[k]);
	pool_line(&r->x, t + 12000, "%d switch next=0 state=1", 100 + k);
	r->pos[k] += 10;
}

static void hears(struct run *r, long t)
{
	r->x.cpu = 3;
	pool_line(&r->x, t, "0 switch next=%d", HEARS);
	pool_line(&r->x, t + 5000, "%d syscall nr=read fd=%d dur=1000 ret=34", HEARS, REPLICA);
	pool_line(&r->x, t + 9000, "%d switch next=0 state=1", HEARS);
}

static void serves(struct run *r, const struct replica *m, int k, long t)
{
	long woken = t + POOL_MS;
	bool other = m->others && r->nth++ % 2;

	reads(r, k, t);
	if (!m->alone)
		hears(r, woken - 20000);
	r->x.cpu = other ? 4 : 3;
	pool_line(&r->x, woken - 1000, "0 switch next=%d", other ? HEARS + 1 : HEARS);
	pool_line(&r->x, woken, "%d waking target=%d context=0", other ? HEARS + 1 : HEARS,
		  100 + k);
	pool_line(&r->x, woken + 500, "%d switch next=0 state=1", other ? HEARS + 1 : HEARS);
	r->x.cpu = k;
	pool_line(&r->x, woken + 1000, "0 switch next=%d", 100 + k);
	pool_line(&r->x, woken + 2000, "%d syscall nr=epoll_wait fd=4 dur=%ld ret=1", 100 + k,
		  POOL_MS - 9000);
	pool_line(&r->x, woken + 5000, "%d syscall nr=write fd=%d dur=1000 ret=20", 100 + k,
		  10 + k);
	pool_line(&r->x, woken + 7000, "%d switch next=0 state=1", 100 + k);
}

static sqlite3 *judged(struct replica m)
{
	long middle = SECONDS * 500 * POOL_MS, last = SECONDS * 1000 * POOL_MS, t;
	struct text x = { 0 };
	struct run r = { 0 };
	int k, i = 0;
	sqlite3 *db;

	begin(&x);
	r.x.v = calloc(POOL_LINES, sizeof(*r.x.v));
	for (t = POOL_MS; t < middle - 10 * POOL_MS; t += 3 * POOL_MS)
		serves(&r, &m, 1 + i++ % THREADS, t);
	r.x.cpu = 4;
	pool_line(&r.x, middle - 5 * POOL_MS, "104 signal_sent target=200 pid=200 number=19");
	for (k = 1; k <= THREADS; k++) {
		reads(&r, k, middle + k * POOL_MS);
		pool_line(&r.x, last - 9000, "0 waking target=%d context=2", 100 + k);
		pool_line(&r.x, last - 8000, "0 switch next=%d", 100 + k);
		pool_line(&r.x, last - 7000, "%d syscall nr=epoll_wait fd=4 dur=%ld ret=0", 100 + k,
			  last - 16000 - middle - k * POOL_MS);
	}
	for (t = middle; m.reads && t < last; t += 500 * POOL_MS)
		hears(&r, t);
	db = pool_loaded(&x, &r.x, last);
	analysed(db, "pauses");
	analysed(db, "verdict");
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	return db;
}

#define VALUE(name, what) FINDING_VALUE("pause_awaited", name, what)

static void a_replica_is_stopped(void **state)
{
	sqlite3 *db = judged((struct replica){ 0 });

	(void)state;
	is_number(db, VALUE("waker", "v.id"), HEARS);
	is_above(db, VALUE("n", "v.number"), 1000);
	is_number(db, VALUE("peer", "v.id"), 200);
	is_within(db, VALUE("last", "v.number"), 3980e6, 4000e6);
	is_within(db, VALUE("stopped", "v.number"), 3994e6, 3996e6);
	is_number(db, VALUE("sender", "v.id"), 104);
	is_number(db, VALUE("left", "count(v.number)"), 0);
	db_close(db);
}

/* It is heard all the time; several threads end the waits; they do so unasked. */
static void what_only_looks_so(void **state)
{
	static const struct replica all[] = { { .reads = true },
					      { .others = true },
					      { .alone = true } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = judged(all[i]);

		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_awaited'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_replica_is_stopped),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
