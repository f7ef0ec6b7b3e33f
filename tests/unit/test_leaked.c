// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/queues/verdict_leaked.c: requests keep connections to another server after their
 * answer, so that others wait for one until their timeout; and what only looks so.
 */
#include "tests/lib/pooled.h"

#define SECONDS 8
#define THREADS 3 /* 101 to 103, of CPUs 1 to 3 */
#define POOL	2
#define LEAKED	"SELECT count(*) FROM finding WHERE kind='verdict_leaked'"

enum then {
	TIMEOUTS, /* requests wait for a futex until their timeouts */
	FOREVER,  /* until the recording ends */
	WOKEN,	  /* a thread ends each wait */
	BUSY	  /* they have connections, and wait for answers */
};

/* What happens from the middle of the recording on. */
struct leak {
	enum then then;
	bool same;   /* the requests that used the connections last are of a rare name */
	bool spare;  /* a third connection is in use until the end */
	bool before; /* all of this since before the recording */
};

struct run {
	struct pool_text x;
	long pos[THREADS + 1];
};

static void begin(struct text *x, const struct leak *m)
{
	static const char *const names[] = { "GET /item", "GET /order" };
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(
		x,
		"1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched,requests\"");
	text_line(x, "3 100 thread pid=100 state=83 comm=\"app\"");
	for (i = 0; i < 2; i++)
		text_line(x, "4 0 request_name id=%d protocol=1 name=\"%s\"", i + 1, names[i]);
	for (i = 1; i <= THREADS; i++) {
		text_line(x, "5 %d thread pid=100 state=83 comm=\"app\"", 100 + i);
		text_line(
			x,
			"5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d daddr=10.0.0.9",
			10 + i, 1000 + i, 4000 + i);
	}
	for (i = 0; i < POOL + m->spare; i++)
		text_line(
			x,
			"5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1 sport=%d"
			" dport=5432 daddr=10.0.0.7",
			50 + i, 2000 + i, 5000 + i);
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 1; i <= THREADS; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + i, i,
			  1000 + i, i);
}

/* A thread begins to run, and reads a request that arrived before. */
static void reads(struct run *r, int k, int name, long t)
{
	r->x.cpu = 0;
	pool_line(&r->x, t, "0 segment conn=%d pos=%ld len=10 unread=0", k, r->pos[k]);
	r->x.cpu = k;
	pool_line(&r->x, t + 1000, "0 waking target=%d context=1", 100 + k);
	pool_line(&r->x, t + 2000, "0 switch next=%d", 100 + k);
	pool_line(&r->x, t + 4000, "%d syscall nr=read fd=%d dur=3000000 ret=10", 100 + k, 10 + k);
	pool_line(&r->x, t + 4000, "%d head conn=%d pos=%ld len=10 name=%d requests=1", 100 + k, k,
		  r->pos[k], name);
	r->pos[k] += 10;
}

static void answers(struct run *r, int k, long t)
{
	pool_line(&r->x, t, "%d syscall nr=write fd=%d dur=1000 ret=20", 100 + k, 10 + k);
	pool_line(&r->x, t + 2000, "%d switch next=0 state=1", 100 + k);
}

/* A request that asks on a connection, of which the answer takes so long. */
static void serves(struct run *r, int k, int name, long t, int connection, long took)
{
	reads(r, k, name, t);
	pool_line(&r->x, t + 10000, "%d syscall nr=write fd=%d dur=1000 ret=10", 100 + k,
		  50 + connection);
	pool_line(&r->x, t + 12000, "%d switch next=0 state=1", 100 + k);
	pool_line(&r->x, t + took, "0 waking target=%d context=1", 100 + k);
	pool_line(&r->x, t + took + 1000, "0 switch next=%d", 100 + k);
	pool_line(&r->x, t + took + 2000, "%d syscall nr=read fd=%d dur=%ld ret=10", 100 + k,
		  50 + connection, took - 10000);
	answers(r, k, t + took + 10000);
}

/* A request that waits for a futex so long; 0: until the end. */
static void waits(struct run *r, const struct leak *m, int k, long t, long took)
{
	bool woken = m->then == WOKEN;

	reads(r, k, 1, t);
	pool_line(&r->x, t + 12000, "%d switch next=0 state=1", 100 + k);
	pool_line(&r->x, t + took, "%d waking target=%d context=%d", woken ? 100 : 0, 100 + k,
		  woken ? 0 : 2);
	pool_line(&r->x, t + took + 1000, "0 switch next=%d", 100 + k);
	pool_line(&r->x, t + took + 2000, "%d syscall_args nr=futex arg0=%d dur=%ld", 100 + k,
		  4096 * k, took - 8000);
	answers(r, k, t + took + 10000);
}

static void until_leaked(struct run *r, const struct leak *m, long middle)
{
	long t;
	int i = 0;

	for (t = POOL_MS; t < middle - 20 * POOL_MS; t += 3 * POOL_MS, i++)
		serves(r, 1 + i % THREADS, i % 20 ? 1 : 2, t, i % POOL, POOL_MS / 2);
	for (i = 0; i < POOL; i++)
		serves(r, 1 + i, m->same ? 2 : 1 + i, middle - (10 - i) * POOL_MS, i, POOL_MS / 2);
}

static sqlite3 *judged(struct leak m)
{
	long middle = SECONDS * 500 * POOL_MS, last = SECONDS * 1000 * POOL_MS, t;
	long timeout = (m.before ? 100 : 1000) * POOL_MS;
	struct text x = { 0 };
	struct run r = { 0 };
	int k;
	sqlite3 *db;

	begin(&x, &m);
	r.x.v = calloc(POOL_LINES, sizeof(*r.x.v));
	if (m.before)
		middle = 20 * POOL_MS;
	else
		until_leaked(&r, &m, middle);
	for (k = 1; k <= THREADS; k++) {
		t = middle + k * POOL_MS;
		if (m.then == FOREVER)
			waits(&r, &m, k, t, last - t);
		for (; m.then != FOREVER && t < last - 1100 * POOL_MS; t += timeout + 5 * POOL_MS)
			if (m.then == BUSY)
				serves(&r, k, 1, t, k % POOL, timeout);
			else
				waits(&r, &m, k, t, timeout);
	}
	for (t = middle; m.spare && t < last; t += 1000 * POOL_MS) {
		r.x.cpu = 4;
		pool_line(&r.x, t, "100 syscall nr=write fd=%d dur=1000 ret=10", 50 + POOL);
		pool_line(&r.x, t + POOL_MS, "100 syscall nr=read fd=%d dur=1000 ret=10",
			  50 + POOL);
	}
	db = pool_loaded(&x, &r.x, last);
	analysed(db, "pauses");
	analysed(db, "verdict");
	is_number(
		db,
		"SELECT count(*) FROM verdict WHERE rank=1 AND status IN ('problem', 'unchanged')",
		1);
	return db;
}

#define VALUE(name, what) FINDING_VALUE("verdict_leaked", name, what)

static void requests_keep_all_connections(void **state)
{
	static const struct leak all[] = {
		{ .then = TIMEOUTS, .same = true },
		{ .then = TIMEOUTS },
		{ .then = FOREVER, .same = true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = judged(all[i]);

		is_number(db, VALUE("n", "v.number"), POOL);
		is_text(db,
			"SELECT f.remote FROM finding_value v JOIN fd f ON f.rowid=v.id WHERE v.name='upstream'",
			"10.0.0.7:5432");
		is_within(db, VALUE("since", "v.number"), 3990e6, 4000e6);
		is_number(db, VALUE("times", "v.number"), all[i].same ? POOL : 1);
		is_number(db, VALUE("timeouts", "total(v.number)"),
			  all[i].then == TIMEOUTS ? 9 : 0);
		is_text(db, "SELECT evidence FROM finding WHERE kind='verdict_leaked'",
			all[i].same ? "OVERLAP" : "CORRELATED");
		db_close(db);
	}
}

static void connections_were_kept_before_the_recording(void **state)
{
	sqlite3 *db = judged((struct leak){ .then = TIMEOUTS, .before = true });

	(void)state;
	is_number(db, VALUE("n", "v.number"), POOL);
	is_text(db, VALUE("always", "v.text"), "the whole recording");
	db_close(db);
}

/* Threads wake them; the connections are in use; one is; it is chance who used them last. */
static void what_only_looks_so(void **state)
{
	static const struct leak all[] = {
		{ .then = WOKEN, .same = true },
		{ .then = BUSY, .same = true },
		{ .then = TIMEOUTS, .same = true, .spare = true },
		{ .then = FOREVER },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = judged(all[i]);

		is_number(db, LEAKED, 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_keep_all_connections),
		T(connections_were_kept_before_the_recording),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
