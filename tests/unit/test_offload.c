// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/queues/verdict_offload.c: an event loop that waits for threads of its own
 * process, and loops that work themselves or wait for others.
 */
#include "tests/lib/pooled.h"

#define SECONDS 4
#define BURST	80000 /* ns of the loop for each event */

enum how { BY_THREADS, ITSELF, OTHER_SERVER };

struct loop {
	enum how how;
	bool disk;  /* they wait for the disk */
	int names;  /* of requests; of two, the second takes an eighth of the work */
	bool loops; /* they are event loops themselves, and sleep on a futex for their work */
};

struct run {
	const struct loop *l;
	struct pool_text x;
	long at[CLIENTS], pos[CLIENTS]; /* its next event */
	int worker[CLIENTS]; /* 0: it asks next; else 1 + the worker that ends its work */
	long free_at[WORKERS], slept[WORKERS], loop_at, loop_slept;
};

static void begin(struct text *x)
{
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(x, "1 0 info text=\"targets=all\"\n"
		     "2 0 info text=\"groups=core,syscalls,sched,requests\"");
	for (i = 0; i <= WORKERS; i++)
		text_line(x, "3 %d thread pid=100 state=83 comm=\"loop\"", 100 + i);
	text_line(x, "3 200 thread pid=200 state=83 comm=\"other\"");
	for (i = 0; i < CLIENTS; i++)
		text_line(
			x,
			"5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d daddr=10.0.0.9",
			10 + i, 1000 + i, 4000 + i);
	text_line(x, "5 100 fd pid=100 fd=60 mode=0100000 ino=9 dev=1 path=\"/data/file\"");
	for (i = 1; i <= 3; i++)
		text_line(x, "8 0 request_name id=%d protocol=1 name=\"GET /%d\"", i, i);
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 0; i < CLIENTS; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + i,
			  i + 1, 1000 + i, i + 1);
}

/* The loop runs for this long from ts or later on, woken so; returns when it does. */
static long wakes(struct run *r, long ts, const char *by, long work)
{
	long t = ts > r->loop_at ? ts : r->loop_at;

	r->x.cpu = 0;
	pool_line(&r->x, t, "%s", by);
	pool_line(&r->x, t + 1000, "0 switch next=100");
	pool_line(&r->x, t + 2000, "100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1",
		  r->loop_slept ? t + 3000 - r->loop_slept : 9000);
	r->loop_slept = t + work - 1000;
	pool_line(&r->x, t + work - 1000, "100 switch next=0 state=1");
	r->loop_at = t + work + 20000;
	return t;
}

/* Worker w works for the request from ts on; returns the end. */
static long works(struct run *r, int w, long ts, long work)
{
	long from = r->free_at[w] > ts ? r->free_at[w] : ts, end = from + work;

	r->x.cpu = 1 + w;
	if (from == ts) { /* it slept in futex */
		pool_line(&r->x, ts, "100 waking target=%d", 101 + w);
		pool_line(&r->x, ts + 1000, "0 switch next=%d", 101 + w);
		pool_line(&r->x, ts + 2000, "%d syscall_args nr=%s dur=%ld", 101 + w,
			  r->l->loops ? "epoll_wait arg0=70 arg3=-1"
				      : "futex arg0=0x2000 arg1=0x80",
			  ts + 13000 - r->slept[w]);
	}
	if (r->l->loops) {
		pool_line(&r->x, from + 20000, "%d switch next=0 state=1", 101 + w);
		pool_line(&r->x, end - 20000, "0 waking target=%d context=2", 101 + w);
		pool_line(&r->x, end - 19000, "0 switch next=%d", 101 + w);
		pool_line(&r->x, end - 18000,
			  "%d syscall_args nr=futex arg0=0x3000 arg1=0x80 dur=%ld ret=-110",
			  101 + w, end - 18000 - from - 19000);
	}
	if (r->l->disk) {
		pool_line(&r->x, from + 20000, "%d switch next=0 state=2 flags=2", 101 + w);
		pool_line(&r->x, end - 20000, "0 waking target=%d context=2", 101 + w);
		pool_line(&r->x, end - 19000, "0 switch next=%d", 101 + w);
		pool_line(&r->x, end - 18000, "%d syscall nr=read fd=60 dur=%ld ret=4096", 101 + w,
			  end - 18000 - from - 19000);
	}
	r->free_at[w] = end + 30000;
	return end;
}

static void answers(struct run *r, int c, long ts)
{
	r->x.cpu = 0;
	pool_line(&r->x, ts, "100 syscall nr=write fd=%d dur=1000 ret=20", 10 + c);
	r->at[c] = ts + 3 * POOL_MS;
	r->worker[c] = 0;
}

static void asks(struct run *r, int c, long work)
{
	bool itself = r->l->how == ITSELF;
	long arrival = r->at[c];
	long t = wakes(r, arrival, "0 waking target=100 context=1", itself ? work : BURST);
	int i, w = 0;

	pool_line(&r->x, arrival, "0 segment conn=%d pos=%ld len=10 unread=0", c + 1, r->pos[c]);
	pool_line(&r->x, t + 5000, "100 syscall nr=read fd=%d dur=1000 ret=10", 10 + c);
	if (r->l->names)
		pool_line(&r->x, t + 5000, "100 head conn=%d pos=%ld len=10 name=%d requests=1",
			  c + 1, r->pos[c], 1 + c % r->l->names);
	r->pos[c] += 10;
	if (itself) {
		answers(r, c, t + work - 5000);
		return;
	}
	for (i = 1; i < WORKERS; i++)
		w = r->free_at[i] < r->free_at[w] ? i : w;
	r->worker[c] = 1 + w;
	r->at[c] = r->l->how == BY_THREADS ? works(r, w, t + 50000, work) : t + work;
}

/* The next event of a client. */
static void steps(struct run *r, int c, long work)
{
	char by[64] = "200 waking target=100 context=1";

	if (!r->worker[c]) {
		asks(r, c, work);
		return;
	}
	if (r->l->how == BY_THREADS)
		snprintf(by, sizeof(by), "%d waking target=100", 100 + r->worker[c]);
	answers(r, c, wakes(r, r->at[c], by, BURST) + 30000);
}

/* Threads with nothing more to do for a while sleep. */
static void sleep_after(struct run *r, long now)
{
	int i;

	for (i = 0; i < WORKERS && r->l->how == BY_THREADS; i++) {
		if (r->free_at[i] >= now || r->slept[i] >= r->free_at[i])
			continue;
		r->x.cpu = 1 + i;
		r->slept[i] = r->free_at[i];
		pool_line(&r->x, r->slept[i] - 10000, "%d switch next=0 state=1", 101 + i);
	}
}

/* From half of the recording on requests take longer. */
static sqlite3 *judged(const struct loop *l)
{
	struct run r = { .l = l };
	struct text x = { 0 };
	long half = SECONDS * 500 * POOL_MS, end = 2 * half;
	int i, c;
	sqlite3 *db;

	srand(3);
	begin(&x);
	r.x.v = calloc(POOL_LINES, sizeof(*r.x.v));
	for (i = 0; i < WORKERS; i++)
		r.free_at[i] = 50000;
	for (i = 0; i < 6; i++)
		r.at[i] = POOL_MS + i * 700000L;
	for (;;) {
		long work;

		for (c = 0, i = 1; i < 6; i++)
			c = r.at[i] < r.at[c] ? i : c;
		if (r.at[c] > end - 100 * POOL_MS)
			break;
		work = r.at[c] < half ? POOL_MS / 2 : (l->how == ITSELF ? 2 : 16) * POOL_MS;
		if (l->names == 2 && c % 2)
			work /= 8;
		sleep_after(&r, r.at[c]);
		steps(&r, c, work - rand() % (work / 10));
	}
	db = pool_loaded(&x, &r.x, end);
	return analysed(db, NULL);
}

static void threads_of_the_process_work(void **state)
{
	sqlite3 *db = judged(&(struct loop){ .how = BY_THREADS });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_within(db, FINDING_VALUE("verdict_offload", "share", "v.number"), 80, 100);
	is_number(db, FINDING_VALUE("verdict_offload", "others", "v.number"), WORKERS - 1);
	is_within(db, FINDING_VALUE("verdict_offload", "thread", "v.id"), 101, 100 + WORKERS);
	is_text(db, FINDING_VALUE("verdict_offload", "state", "v.text"),
		"on a CPU or queued for one");
	is_number(db, FINDING_VALUE("verdict_offload", "place", "count(v.text)"), 0);
	db_close(db);
}

static void they_wait_for_the_disk(void **state)
{
	sqlite3 *db = judged(&(struct loop){ .how = BY_THREADS, .disk = true });

	(void)state;
	is_text(db, FINDING_VALUE("verdict_offload", "state", "v.text"), "waiting for the disk");
	is_text(db, FINDING_VALUE("verdict_offload", "call", "v.text"), "read");
	is_text(db, FINDING_VALUE("verdict_offload", "place", "v.text"), "/data/file");
	db_close(db);
}

/* Requests of one name keep them from those of others. */
static void most_of_their_work_is_of_a_name(void **state)
{
	sqlite3 *db = judged(&(struct loop){ .how = BY_THREADS, .names = 2 });

	(void)state;
	is_number(db, FINDING_VALUE("verdict_offload", "name", "v.id"), 1);
	db_close(db);
	db = judged(&(struct loop){ .how = BY_THREADS, .names = 3 });
	is_within(db, FINDING_VALUE("verdict_offload", "share", "v.number"), 80, 100);
	is_number(db, FINDING_VALUE("verdict_offload", "name", "total(v.id)"), 0);
	db_close(db);
}

/* They wait for work in poll: a sleep on a futex is their work. */
static void they_are_loops_themselves(void **state)
{
	sqlite3 *db = judged(&(struct loop){ .how = BY_THREADS, .loops = true });

	(void)state;
	is_text(db, FINDING_VALUE("verdict_offload", "state", "v.text"), "waiting for a futex");
	is_text(db, FINDING_VALUE("verdict_offload", "call", "v.text"), "futex");
	is_number(db, FINDING_VALUE("verdict_offload", "place", "count(v.text)"), 0);
	is_within(db, FINDING_VALUE("verdict_offload", "part", "v.number"), 90, 100);
	db_close(db);
}

/* The loop computes, or another process ends its sleeps. */
static void others_do_not(void **state)
{
	static const enum how cases[] = { ITSELF, OTHER_SERVER };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		sqlite3 *db = judged(&(struct loop){ .how = cases[i] });

		is_text(db, "SELECT kind FROM verdict WHERE rank=1", "slower");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_offload'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(threads_of_the_process_work),
		T(they_wait_for_the_disk),
		T(most_of_their_work_is_of_a_name),
		T(they_are_loops_themselves),
		T(others_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
