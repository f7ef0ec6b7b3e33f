// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_level.c: a server that is slow from the first second on, with
 * nothing to compare with, and servers that only look so.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

static sqlite3 *judged(sqlite3 *db, const char *facts)
{
	return analysed(changed(db, facts), NULL);
}

/* Of the verdict and of its first cause. */
static void is(sqlite3 *db, const char *status, const char *kind, const char *cause)
{
	is_text(db, "SELECT status FROM verdict WHERE rank=1", status);
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", kind);
	if (cause)
		is_text(db, "SELECT kind || ' ' || basis FROM cause WHERE rank=1", cause);
	db_close(db);
}

/* Every request waits for 2 ms: the wait is said, and what it is for. */
static void waits_from_the_first_request_on(void **state)
{
	static const struct {
		fault_fn fault;
		const char *cause;
	} cases[] = {
		{ held_lock, "lock all" },
		{ slow_disk, "disk all" },
		{ slow_peer, "peer all" },
		{ preempted, "cpu_contender all" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is(judged(slowed(cases[i].fault, 1, "all", NULL), NULL), "unchanged", "wait",
		   cases[i].cause);
}

/* Few long waits make a mean, no level; what every request waits is one. */
static void a_few_stalls_are_no_level(void **state)
{
	static const char least[] = "INSERT INTO recording VALUES('limit_latency_ns', 40000)";

	(void)state;
	is(judged(slowed(preempted, 30, "all", NULL), least), "none", "", NULL);
	is(judged(slowed(preempted, 1, "all", NULL), least), "unchanged", "wait", NULL);
}

/* One wait replaces another of the same length: what there is more of since then is the cause. */
static void a_wait_that_replaces_another_is_the_cause(void **state)
{
	struct script one = { 0 }, mixed = { 0 };
	long i, end = BEGIN + REQUESTS * (long)PERIOD;
	sqlite3 *db;

	(void)state;
	for (i = 0; i < REQUESTS; i++) {
		long t = BEGIN + i * PERIOD;

		script_request(&one, t, i < REQUESTS / 2 ? preempted : slow_disk);
		script_request(&mixed, t, i % 3 ? slow_disk : preempted);
	}
	db = judged(script_play(&one, "all", end, NULL), NULL);
	is_within(db, FINDING_VALUE("cause_replaced", "start", "v.number"), end / 2 - 50000000,
		  end / 2 + 50000000);
	is(db, "unchanged", "wait", "disk change");
	is(judged(script_play(&mixed, "all", end, NULL), NULL), "unchanged", "wait", "disk all");
}

static long disk_then_idle(struct script *s, long t)
{
	t = slow_disk(s, t) + 1000;
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 0, 100, t + 700000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=702000 ret=1", t + 703000);
	return t + 704000;
}

/* From the middle on they are idle for longer: before, the share of the disk is larger, no time. */
static void a_larger_share_of_less_time_replaces_nothing(void **state)
{
	struct script s = { 0 };
	long i, end = BEGIN + REQUESTS * (long)PERIOD;

	(void)state;
	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * PERIOD,
			       i < REQUESTS / 2 ? slow_disk : disk_then_idle);
	is(judged(script_play(&s, "all", end, NULL), NULL), "unchanged", "wait", "disk all");
}

/* The finding has the part, the latency and the largest wait. */
static void the_wait_has_its_numbers(void **state)
{
	sqlite3 *db = judged(slowed(slow_disk, 1, "all", NULL), NULL);

	(void)state;
	is_text(db, "SELECT f.kind FROM finding f JOIN verdict v ON v.finding=f.id",
		"verdict_wait");
	is_within(db, "SELECT number FROM finding_value WHERE name='part'", 92, 98);
	is_within(db, "SELECT number FROM finding_value WHERE name='latency'", 2.0e6, 2.2e6);
	is_text(db, "SELECT text FROM finding_value WHERE name='where'", "waiting for the disk");
	is_number(db, "SELECT severity FROM finding f JOIN verdict v ON v.finding=f.id", 1);
	is(db, "unchanged", "wait", NULL);
}

/* Short waits, waits of one request in ten, and time on a CPU without a name: healthy. */
static void other_levels_are_healthy(void **state)
{
	(void)state;
	is(judged(slowed(NULL, 1, "all", NULL), NULL), "none", "", NULL);
	is(judged(slowed(held_lock, 10, "all", NULL), NULL), "none", "", NULL);
	is(judged(slowed(computes, 1, "all", NULL), NULL), "none", "", NULL);
	is(judged(slowed(held_lock, 1, "all", NULL),
		  "INSERT INTO recording VALUES('limit_latency_ns', 3000000)"),
	   "none", "", NULL);
}

/*
 * Requests that take work ns of one thread, by connections of one name each: with about gap ns
 * between two, or each as soon as its connection has the answer to the one before (gap 0).
 */
static sqlite3 *load(int first, int names, long work, long gap)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t = 1000000, free_at = 0, read, ended[NAMES] = { 0 };
	int i;

	srand(3);
	begin_host(&b);
	buf_printf(&b, &e, "@cpu 0\n");
	for (i = 0; t < SECONDS * 990000000L; i++) {
		t = gap ? t + gap * (rand() % 2000) / 1000 : ended[i % names] + 20000;
		t = t > ended[i % names] ? t : ended[i % names] + 20000;
		read = free_at + 1000 > t ? free_at + 1000 : t + 1000;
		ended[i % names] = free_at = read + work - rand() % 2000;
		ask(&b, first + i % names, 100, t, read, free_at);
	}
	return loaded_buf(&b);
}

/* A request of one name takes 3 ms of CPU time; of four names, none has most of it. */
static void the_cost_of_one_name(void **state)
{
	sqlite3 *db = judged(load(2, 1, 3000000, 30000000), NULL);

	(void)state;
	is_text(db,
		"SELECT n.name FROM finding_value v JOIN request_name n ON n.id=v.id WHERE v.name='name'"
		" AND finding=(SELECT finding FROM verdict WHERE rank=1)",
		"GET /report/:id");
	is(db, "unchanged", "cost", NULL);
	is(judged(load(1, 4, 3000000, 30000000), NULL), "none", "", NULL);
	is(judged(load(2, 1, 500000, 5000000), NULL), "none", "", NULL);
}

/* Four connections that ask at once keep the thread full; 80 % of that load does not. */
static void requests_wait_at_nearly_all_instants(void **state)
{
	sqlite3 *db = judged(load(1, 4, 500000, 0), NULL);

	(void)state;
	is_within(db, "SELECT number FROM finding_value WHERE name='queued'", 1.3e6, 1.6e6);
	is(db, "problem", "overload", NULL);
	is(judged(load(1, 4, 500000, 625000), NULL), "none", "", NULL);
}

/*
 * Eleven connections that ask at once keep the thread full; another program has the CPU for held ns
 * of every n-th request.
 */
static sqlite3 *full(long held, int n)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long read, free_at = 1000000, ended[MORE - 1] = { 0 };
	int i, k;

	begin_host(&b);
	begin_more(&b);
	for (i = 0; free_at < SECONDS * 990000000L; i++) {
		k = i % (MORE - 1);
		read = free_at + 1000;
		free_at = read + 500000;
		if (i % n == 0) {
			buf_printf(&b, &e,
				   "%ld 100 switch next=200 flags=1 prio=120\n"
				   "%ld 200 switch next=100 flags=1 prio=120\n",
				   read + 100000, read + 100000 + held);
			free_at += held;
		}
		ask_more(&b, MORE_FIRST + k, 100, 100, ended[k] ? ended[k] + 20000 : 1000000 + k,
			 read, free_at);
		ended[k] = free_at;
	}
	return loaded_buf(&b);
}

/* All that wait are charged with a neighbour's time: it is their wait only if it is most of it. */
static void a_full_thread_waits_for_no_neighbour(void **state)
{
	(void)state;
	is(judged(full(1000000, 10), NULL), "problem", "overload", NULL);
	is(judged(full(1000000, 1), NULL), "unchanged", "wait", "cpu_contender all");
}

static long reads_cold(struct script *s, long t)
{
	long i;

	for (i = 0; i < 9; i++)
		t = slow_disk(s, t);
	return t;
}

static long waits_briefly(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=200 flags=1 prio=120", t);
	script_line(s, 0, "%ld 200 switch next=100 flags=1 prio=120", t + 1600000);
	return t + 1600000;
}

/* A slow start is no part of a later slowdown: the causes are those of its time range. */
static void windows_of_the_verdict_count(void **state)
{
	struct script s = { 0 };
	long i, t = BEGIN;
	sqlite3 *db;

	(void)state;
	for (i = 0; i < 3 * REQUESTS; i++) {
		script_request(&s, t,
			       i < 12		  ? reads_cold
			       : i > 2 * REQUESTS ? waits_briefly
						  : NULL);
		t += i < 12 ? 5L * PERIOD : PERIOD;
	}
	db = analysed(script_play(&s, "all", t, NULL), NULL);
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "slower");
	is_above(db, "SELECT min(start) FROM verdict_range", 2 * REQUESTS * (s64)PERIOD);
	first_is(db, "cpu_contender", "burner[200]", "contribution > 0.95 AND basis='change'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(waits_from_the_first_request_on),
		T(a_few_stalls_are_no_level),
		T(a_wait_that_replaces_another_is_the_cause),
		T(a_larger_share_of_less_time_replaces_nothing),
		T(the_wait_has_its_numbers),
		T(other_levels_are_healthy),
		T(the_cost_of_one_name),
		T(requests_wait_at_nearly_all_instants),
		T(a_full_thread_waits_for_no_neighbour),
		T(windows_of_the_verdict_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
