// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/causes/units/spans.c, chain.c, stats_change.c: each rule for following wakers, on rows
 * written by hand. Thread 1 waits from 1000 to 2000; the tests look at what ended that wait.
 */
#include "analyze/causes/chain.h"
#include "analyze/stats/stats_change.h"
#include "tests/lib/unit.h"

#define TEXT(x) #x
#define ROW(ts, dur, tid, state, waker, context, object) \
	"(" #ts "," #dur "," #tid ",0," TEXT(state) ",NULL," #waker "," #context "," #object "),"
#define LAST "(0,1,99,0,0,NULL,NULL,NULL,NULL)"

/* States of waits.def. */
#define RUN    0
#define WOKEN  1
#define FUTEX  3
#define SOCKET 5
#define DISK   7
#define TIMER  9

struct world {
	sqlite3 *db;
	struct spans spans;
	struct names names;
	struct chain chain;
};

/* rows: of thread_state; then the wait of thread 1 is followed. */
static void followed(struct world *w, const char *rows, const char *threads)
{
	struct moment m[] = { { 1000, 2000 } };
	const struct span *p;
	struct err e = { 0 };
	char sql[8000];

	*w = (struct world){ 0 };
	assert_int_equal(db_open(&w->db, NULL, true, &e), 0);
	snprintf(sql, sizeof(sql), "INSERT INTO thread_state VALUES %s" LAST "; %s", rows, threads);
	if (db_exec(w->db, &e, sql) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(spans_load(&w->spans, w->db, m, 1, &e), 0);
	assert_int_equal(names_load(&w->names, w->db, &e), 0);
	p = spans_at(&w->spans, 1, 1000);
	assert_non_null(p);
	chain_follow(&w->chain, &w->spans, &w->names, p, 1000, 2000);
	assert_int_equal(w->chain.total, 1000);
}

static s64 ends(const struct world *w, u32 tid, enum chain_stop stop)
{
	s64 ns = 0;
	u32 i;

	for (i = 0; i < w->chain.n; i++)
		if (w->chain.links[i].tid == tid && w->chain.links[i].stop == stop)
			ns += w->chain.links[i].ns;
	return ns;
}

static void done(struct world *w)
{
	spans_free(&w->spans);
	names_free(&w->names);
	chain_free(&w->chain);
	db_close(w->db);
}

/* 2 woke 1; it ran 1000..1600, waited for a CPU to 1700 and ran again. */
static void a_running_waker_ends_the_chain(void **state)
{
	struct world w;

	(void)state;
	followed(&w,
		 ROW(1000, 1000, 1, FUTEX, 2, 0, 5) ROW(900, 700, 2, RUN, NULL, NULL, NULL)
			 ROW(1600, 100, 2, WOKEN, NULL, NULL, 3)
				 ROW(1700, 400, 2, RUN, NULL, NULL, NULL),
		 "");
	assert_int_equal(ends(&w, 2, STOP_running), 900);
	assert_int_equal(ends(&w, 2, STOP_queued), 100);
	assert_int_equal(w.chain.links[0].first, 2);
	assert_int_equal(w.chain.links[0].depth, 1);
	done(&w);
}

/* 2 itself waited for 3 until 1800, and 3 for its disk until 1500. */
static void waits_of_wakers_are_followed(void **state)
{
	struct world w;

	(void)state;
	followed(&w,
		 ROW(1000, 1000, 1, FUTEX, 2, 0, 5) ROW(500, 1300, 2, FUTEX, 3, 0, 6)
			 ROW(1800, 300, 2, RUN, NULL, NULL, NULL) ROW(700, 800, 3, DISK, NULL, 2, 8)
				 ROW(1500, 400, 3, RUN, NULL, NULL, NULL),
		 "");
	assert_int_equal(ends(&w, 3, STOP_device), 500);
	assert_int_equal(ends(&w, 3, STOP_running), 300);
	assert_int_equal(ends(&w, 2, STOP_running), 200);
	done(&w);
}

/* The thread that an interrupt happened to interrupt has nothing to do with it. */
static void interrupts_end_chains(void **state)
{
	static const struct {
		const char *rows;
		enum chain_stop stop;
	} cases[] = {
		{ ROW(1000, 1000, 1, DISK, 2, 2, 8) ROW(0, 9000, 2, RUN, NULL, NULL, NULL),
		  STOP_device },
		{ ROW(1000, 1000, 1, SOCKET, 2, 1, 8) ROW(0, 9000, 2, RUN, NULL, NULL, NULL),
		  STOP_network },
		{ ROW(1000, 1000, 1, TIMER, 2, 2, NULL) ROW(0, 9000, 2, RUN, NULL, NULL, NULL),
		  STOP_timer },
		{ ROW(1000, 1000, 1, FUTEX, 2, 2, 8) ROW(0, 9000, 2, RUN, NULL, NULL, NULL),
		  STOP_interrupt },
		{ ROW(1000, 1000, 1, FUTEX, NULL, NULL, 8), STOP_no_wakeup },
	};
	struct world w;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		followed(&w, cases[i].rows, "");
		assert_int_equal(ends(&w, 1, cases[i].stop), 1000);
		assert_int_equal(ends(&w, 2, STOP_running), 0);
		done(&w);
	}
}

/* 2 and 1 wait for each other in turn: no thread is followed twice. */
static void cycles_end_chains(void **state)
{
	struct world w;

	(void)state;
	followed(&w,
		 ROW(1000, 1000, 1, FUTEX, 2, 0, 5) ROW(400, 1000, 2, FUTEX, 1, 0, 6)
			 ROW(1400, 900, 2, RUN, NULL, NULL, NULL),
		 "");
	assert_int_equal(ends(&w, 1, STOP_cycle), 400);
	assert_int_equal(ends(&w, 2, STOP_running), 600);
	done(&w);
}

/* Each of 2..99 waits for the next: after 64 hops it is enough. */
static void depth_is_limited(void **state)
{
	char rows[4000] = ROW(1000, 1000, 1, FUTEX, 2, 0, 5);
	struct world w;
	size_t n = strlen(rows);
	int i;

	(void)state;
	for (i = 2; i < 100; i++)
		n += snprintf(rows + n, sizeof(rows) - n, "(500,2000,%d,0,3,NULL,%d,0,7),", i,
			      i + 1);
	followed(&w, rows, "");
	assert_int_equal(ends(&w, 65, STOP_depth), 1000);
	done(&w);
}

/* Wakers of which the recording has no intervals: a stranger, and a thread of the kernel. */
static void strangers_and_workers_end_chains(void **state)
{
	struct world w;

	(void)state;
	followed(&w, ROW(1000, 1000, 1, FUTEX, 2, 0, 5), "");
	assert_int_equal(ends(&w, 1, STOP_stranger), 1000);
	assert_int_equal(w.chain.links[0].by, 2);
	done(&w);
	followed(&w, ROW(1000, 1000, 1, FUTEX, 2, 0, 5),
		 "INSERT INTO thread(tid,pid,start,comm) VALUES(2,2,0,'something');"
		 "INSERT INTO process(pid,start,parent,comm) VALUES(2,0,2,'something')");
	assert_int_equal(ends(&w, 1, STOP_worker), 1000);
	done(&w);
}

/* A thread of the kernel whose intervals are there is a link like others. */
static void recorded_workers_are_followed(void **state)
{
	struct world w;

	(void)state;
	followed(&w,
		 ROW(1000, 1000, 1, FUTEX, 2, 0, 5) ROW(500, 1000, 2, FUTEX, 3, 0, 6)
			 ROW(1500, 600, 2, RUN, NULL, NULL, NULL)
				 ROW(0, 5000, 3, RUN, NULL, NULL, NULL),
		 "INSERT INTO thread(tid,pid,start,comm) VALUES(2,2,0,'kworker/0:1')");
	assert_int_equal(ends(&w, 3, STOP_running), 500);
	assert_int_equal(ends(&w, 2, STOP_running), 500);
	done(&w);
}

/* The waker's first interval starts at 1600; before that only the wait for it is known. */
static void history_is_not_invented(void **state)
{
	struct world w;

	(void)state;
	followed(&w, ROW(1000, 1000, 1, FUTEX, 2, 0, 5) ROW(1600, 600, 2, RUN, NULL, NULL, NULL),
		 "");
	assert_int_equal(ends(&w, 1, STOP_history), 600);
	assert_int_equal(ends(&w, 2, STOP_running), 400);
	done(&w);
}

/* unknown (14): events were lost. */
static void loss_ends_chains(void **state)
{
	struct world w;

	(void)state;
	followed(&w,
		 ROW(1000, 1000, 1, FUTEX, 2, 0, 5) ROW(500, 900, 2, 14, NULL, NULL, NULL)
			 ROW(1400, 900, 2, RUN, NULL, NULL, NULL),
		 "");
	assert_int_equal(ends(&w, 1, STOP_loss), 400);
	done(&w);
}

/* Woken by 2, ran 30 us, slept again on the same futex, woken by 3; on another futex it counts. */
static void waits_after_spurious_wakeups_are_joined(void **state)
{
	struct moment m[] = { { 0, 900000 } };
	struct spans s;
	struct err e = { 0 };
	sqlite3 *db;

	(void)state;
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(
		db_exec(db, &e,
			"INSERT INTO thread_state VALUES " ROW(100000, 100000, 1, FUTEX, 2, 0, 5)
				ROW(200000, 5000, 1, WOKEN, 2, 0,
				    NULL) ROW(205000, 30000, 1, RUN, NULL, NULL,
					      NULL) ROW(235000, 100000, 1, FUTEX, 3, 0, 5)
					ROW(335000, 30000, 1, RUN, NULL, NULL,
					    NULL) ROW(365000, 100000, 1, FUTEX, 4, 0, 6)
						ROW(465000, 60000, 1, RUN, NULL, NULL, NULL) ROW(
							525000, 100000, 1, FUTEX, 7, 0, 6) LAST),
		0);
	assert_int_equal(spans_load(&s, db, m, 1, &e), 0);
	assert_int_equal(spans_at(&s, 1, 100000)->waker, 3);
	assert_int_equal(spans_at(&s, 1, 240000)->waker, 3);
	assert_int_equal(spans_at(&s, 1, 370000)->waker, 4); /* 60 us of work is not in vain */
	assert_int_equal(spans_at(&s, 1, 530000)->waker, 7);
	assert_null(spans_at(&s, 1, 700000));
	spans_free(&s);
	db_close(db);
}

static double noise(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return (double)(*seed >> 16 & 1023) / 1023 - 0.5;
}

static void changes_of_level_are_found(void **state)
{
	size_t at[CHANGES_MAX], n;
	unsigned int seed = 7, false_alarms = 0;
	double x[128];
	int i, k;

	(void)state;
	for (i = 0; i < 128; i++)
		x[i] = (i >= 40 && i < 90 ? 1 : 0) + noise(&seed);
	n = stats_changes(x, 128, 0.1, 4, at);
	assert_int_equal(n, 2);
	assert_in_range(at[0], 38, 42);
	assert_in_range(at[1], 88, 92);
	for (k = 0; k < 200; k++) { /* no change: hardly ever one is found */
		for (i = 0; i < 128; i++)
			x[i] = noise(&seed);
		false_alarms += stats_changes(x, 128, 0.1, 4, at) > 0;
	}
	assert_in_range(false_alarms, 0, 4);
	for (i = 0; i < 128; i++) /* a change too small to matter */
		x[i] = i >= 64 ? 0.05 : 0;
	assert_int_equal(stats_changes(x, 128, 0.1, 4, at), 0);
	assert_int_equal(stats_changes(x, 3, 0.1, 4, at), 0);
}

static void absurd_waits_add_up_within_bounds(void **state)
{
	const s64 long_time = 4000000000000000000;
	const struct span *p;
	struct world w;
	int i;

	(void)state;
	followed(&w, ROW(0, 4000000000000000000, 1, DISK, NULL, NULL, NULL), "");
	p = spans_at(&w.spans, 1, 1000);
	for (i = 0; i < 4; i++)
		chain_follow(&w.chain, &w.spans, &w.names, p, 0, long_time);
	assert_true(w.chain.total >= long_time);
	assert_true(w.chain.links[0].ns >= long_time && w.chain.links[0].ns <= w.chain.total);
	done(&w);
}

/* 300 wakers, one after the other, each asleep until a timer for a part of the wait. */
static void chains_keep_all_of_their_ends(void **state)
{
	struct span wait = { .dur = 1000000, .tid = 1, .state = FUTEX, .object = 5 };
	struct world w = { 0 };
	struct err e = { 0 };
	struct moment m[] = { { 0, 400000 } };
	char sql[100];
	int i;

	(void)state;
	assert_int_equal(db_open(&w.db, NULL, true, &e), 0);
	for (i = 0; i < 300; i++) { /* each asleep in a system call of its own */
		snprintf(sql, sizeof(sql),
			 "INSERT INTO thread_state VALUES(0,900000,%d,0,9,%d,NULL,2,NULL)", 10 + i,
			 i % 7);
		assert_int_equal(db_exec(w.db, &e, sql), 0);
	}
	assert_int_equal(spans_load(&w.spans, w.db, m, 1, &e), 0);
	for (i = 0; i < 300; i++) {
		wait.waker = 10 + i;
		chain_follow(&w.chain, &w.spans, &w.names, &wait, i * 1000, i * 1000 + 1000);
	}
	assert_int_equal(w.chain.n, 300);
	assert_int_equal(w.chain.others, 0);
	assert_int_equal(w.chain.total, 300000);
	for (i = 0; i < 300; i++)
		assert_int_equal(ends(&w, 10 + i, STOP_timer), 1000);
	done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_running_waker_ends_the_chain),
		T(waits_of_wakers_are_followed),
		T(interrupts_end_chains),
		T(cycles_end_chains),
		T(depth_is_limited),
		T(strangers_and_workers_end_chains),
		T(recorded_workers_are_followed),
		T(history_is_not_invented),
		T(loss_ends_chains),
		T(waits_after_spurious_wakeups_are_joined),
		T(absurd_waits_add_up_within_bounds),
		T(changes_of_level_are_found),
		T(chains_keep_all_of_their_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
