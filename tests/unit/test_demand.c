// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/causes/causes_demand.c: run-queue latency that the CPU time of a service itself makes,
 * and that of contenders.
 */
#include "analyze/causes/causes.h"
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#define NOT_QUEUED                                                                                    \
	"NOT EXISTS (SELECT 1 FROM finding_value v WHERE v.finding=cause.finding AND v.name='queued'" \
	" AND v.number > 10)"

/* Of the CPU, in ns: at the start, in the middle of the requests and at their end. */
#define READINGS(middle, end)                                               \
	"2000 0 cpu_time cpu=0 user=0\n601_000_000 0 cpu_time user=" middle \
	"\n1_201_000_000 0 cpu_time user=" end "\n"

/* Another thread has the CPU from t on, for ns. */
static long taken(struct script *s, long t, int by, long ns)
{
	script_line(s, 0, "%ld 100 switch next=%d flags=1 prio=120", t, by);
	script_line(s, 0, "%ld %d switch next=100 flags=1 prio=120", t + ns, by);
	return t + ns;
}

/* 200 has the CPU for as long as the request. */
static long cheap_on_a_shared_cpu(struct script *s, long t)
{
	return taken(s, t, 200, 100000);
}

static long dear_on_a_shared_cpu(struct script *s, long t)
{
	return taken(s, t + 700000, 200, 2900000) + 700000;
}

static long cheap_on_a_taken_cpu(struct script *s, long t)
{
	return taken(s, t, 200, 1500000);
}

/* Others use 0.1 s of CPU time in each half: the server is preempted because it needs more. */
static void dearer_requests_wait_longer_for_a_shared_cpu(void **state)
{
	(void)state;
	first_is(halves(cheap_on_a_shared_cpu, dear_on_a_shared_cpu,
			READINGS("120_000_000", "320_000_000")),
		 "self", NULL,
		 "own=1 AND contribution > 0.8 AND " CHILD("load_dearer",
							   "v.name='cpu' AND v.number > 5"));
}

/* Others use ten times as much CPU time as before, or it is not known. */
static void dearer_requests_next_to_new_contenders(void **state)
{
	(void)state;
	first_is(halves(cheap_on_a_shared_cpu, dear_on_a_shared_cpu,
			READINGS("120_000_000", "1_220_000_000")),
		 "cpu_contender", "burner[200]", "contribution > 0.5");
	first_is(halves(cheap_on_a_shared_cpu, dear_on_a_shared_cpu, NULL), "cpu_contender",
		 "burner[200]", "contribution > 0.6");
}

static void a_new_contender_is_the_cause(void **state)
{
	(void)state;
	first_is(halves(cheap_on_a_shared_cpu, cheap_on_a_taken_cpu,
			READINGS("120_000_000", "320_000_000")),
		 "cpu_contender", "burner[200]", "own=0 AND contribution > 0.9 AND " NOT_QUEUED);
}

/* Both: each has its part. */
static long dear_on_a_taken_cpu(struct script *s, long t)
{
	return taken(s, t + 200000, 200, 2500000) + 100000;
}

static void a_contender_next_to_dearer_requests_keeps_its_part(void **state)
{
	(void)state;
	first_is(halves(cheap_on_a_shared_cpu, dear_on_a_taken_cpu, NULL), "cpu_contender",
		 "burner[200]", "contribution < 0.95");
}

/* Nothing has the CPU: stolen time, for example. */
static long dear_on_an_idle_cpu(struct script *s, long t)
{
	return taken(s, t + 700000, 0, 2900000) + 700000;
}

static void dearer_requests_do_not_wait_for_an_idle_cpu(void **state)
{
	(void)state;
	first_is(halves(cheap_on_a_shared_cpu, dear_on_an_idle_cpu,
			READINGS("120_000_000", "320_000_000")),
		 "runq", NULL, "contribution > 0.6");
}

/* Another thread of the server computes while the request waits; or later. */
static long next_to_its_own(struct script *s, long t)
{
	return taken(s, t, 101, 2000000);
}

static long before_its_own(struct script *s, long t)
{
	script_line(s, 1, "%ld 0 waking target=101 cpu=1 context=1", t + 1000000);
	script_line(s, 1, "%ld 0 switch next=101 prio=120", t + 1001000);
	script_line(s, 1, "%ld 101 switch next=0 state=1", t + 3001000);
	return t;
}

static void more_of_its_own_threads_on_the_cpu_is_its_cost(void **state)
{
	(void)state;
	first_is(halves(NULL, next_to_its_own, NULL), "self", NULL, "own=1 AND contribution > 0.8");
}

/* As much work of its own as before, at another time: the requests are not dearer. */
static void the_same_own_work_at_another_time_is_no_new_cost(void **state)
{
	sqlite3 *db = halves(before_its_own, next_to_its_own, NULL);

	(void)state;
	is_number(db, "SELECT count(*) FROM cause WHERE kind='self'", 0);
	first_is(db, "cpu_contender", NULL, "own=1");
}

/* As that, but a neighbour has the CPU in two of five requests: the second cause. */
static void a_contender_next_to_its_own_threads_is_named(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * PERIOD,
			       i < REQUESTS / 2 ? NULL
			       : i % 5 < 3	? next_to_its_own
						: preempted);
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_text(db, "SELECT group_concat(kind || own, ' ') FROM cause ORDER BY rank",
		"self1 cpu_contender0");
	is_number(db, "SELECT offender FROM cause WHERE rank=2", 200);
	is_within(db, "SELECT contribution FROM cause WHERE rank=2", 0.38, 0.5);
	db_close(db);
}

/* The event loop waits for a thread of its process that computes for 2 ms on another CPU. */
static long pool_computes(struct script *s, long t)
{
	script_line(s, 1, "%ld 100 waking target=101 cpu=1", t - 1000);
	script_line(s, 1, "%ld 0 switch next=101 prio=120", t);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 1, "%ld 101 waking target=100 cpu=0", t + 2000000);
	script_line(s, 1, "%ld 101 switch next=0 state=1", t + 2010000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2003000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2006000 ret=1",
		    t + 2005000);
	return t + 2005000;
}

static void a_pool_that_computes_more_is_the_cost(void **state)
{
	sqlite3 *db = halves(before_its_own, pool_computes, NULL);

	(void)state;
	first_is(halves(NULL, pool_computes, NULL), "self", NULL, "own=1 AND contribution > 0.8");
	/* as much as before, when no request waited */
	is_number(db, "SELECT count(*) FROM cause WHERE kind='self'", 0);
	first_is(db, "poll", NULL, "end_state='run'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(dearer_requests_wait_longer_for_a_shared_cpu),
		T(dearer_requests_next_to_new_contenders),
		T(a_new_contender_is_the_cause),
		T(a_contender_next_to_dearer_requests_keeps_its_part),
		T(dearer_requests_do_not_wait_for_an_idle_cpu),
		T(more_of_its_own_threads_on_the_cpu_is_its_cost),
		T(a_contender_next_to_its_own_threads_is_named),
		T(a_pool_that_computes_more_is_the_cost),
		T(the_same_own_work_at_another_time_is_no_new_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
