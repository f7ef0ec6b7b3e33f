// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/causes/kinds/causes_demand.c: run-queue latency that the CPU time of a service itself
 * makes, and that of contenders; causes_load.c: how the load differs.
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

#define PARTS "112 0 info text=\"switch_parts=away,softirq,irq,stolen,throttled\"\n"

static long run_for(struct script *s, long t, long ns, long softirq)
{
	script_line(s, 0, "%ld 100 switch next=200 flags=1 softirq=%ld", t + ns, softirq);
	script_line(s, 0, "%ld 200 switch next=100", t + ns + 1000);
	return t + ns + 1000;
}

static long briefly(struct script *s, long t)
{
	return run_for(s, t, 20000, 0);
}

static long for_2_ms(struct script *s, long t)
{
	return run_for(s, t, 2000000, 0);
}

static long for_2_ms_of_softirqs(struct script *s, long t)
{
	return run_for(s, t, 2000000, 1980000);
}

/* A flood of packets for others: the requests need as much CPU time as before. */
static void softirqs_make_no_request_dearer(void **state)
{
	(void)state;
	first_is(halves(briefly, for_2_ms, PARTS), "self", NULL, CHILD("load_dearer", "1"));
	first_is(halves(briefly, for_2_ms_of_softirqs, PARTS), "self", NULL,
		 "NOT " CHILD("load_dearer", "1") " AND " CHILD(
			 "cause_parts", "v.name='softirq' AND v.number > 80"));
}

static long taken_by_housekeeping(struct script *s, long t)
{
	return taken(s, t, 300, 3000000);
}

/* A thread of the server that answers nothing has its CPU: requests are as cheap as before. */
static void other_threads_make_no_request_dearer(void **state)
{
	sqlite3 *db = halves(NULL, taken_by_housekeeping, NULL);

	(void)state;
	is_above(db, "SELECT max(cpu_ratio) FROM cause", 5);
	first_is(
		db, "self", NULL,
		CHILD("load_threads", "v.name='thread' AND v.id=300") " AND " CHILD(
			"load_threads",
			"v.name='part' AND v.number BETWEEN 95 AND 100") " AND NOT " CHILD("load_dearer",
											   "1"));
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

/* ---- load ---- */

static void ratios_name_the_kind_of_load(void **state)
{
	static const struct {
		struct load load;
		enum finding_kind kind;
	} cases[] = {
		{ { 1.59, 0.96, 0.1, 0.4, 1, NAN, NAN, NAN, 0, 0, 0 }, FINDING_load_more },
		{ { 1.0, 2.0, 0.1, 0.4, 1, NAN, NAN, NAN, 0, 0, 0 }, FINDING_load_dearer },
		{ { 0.5, 7.0, 0.1, 0.4, 1, NAN, NAN, NAN, 0, 0, 0 }, FINDING_load_dearer },
		{ { 0.13, 1.0, 0.9, 0.4, 1, NAN, NAN, NAN, 0, 0, 0 }, FINDING_load_less },
		{ { 0.13, 1.0, 0.9, 0.4, 1, NAN, NAN, NAN, 0, 0, 7 }, FINDING_load_dropped },
		{ { 0.13, 1.0, 0.9, 0.4, 1, 1.2, 0.16, NAN, 0, 0, 0 }, FINDING_load_less },
		/* in threads that answer; in others */
		{ { 1.0, 2.0, 0.1, 0.4, 1, NAN, NAN, 0.3, 0.3, 9, 0 }, FINDING_load_dearer },
		{ { 1.0, 2.0, 0.1, 0.4, 1, NAN, NAN, 0.9, 0.9, 9, 0 }, FINDING_load_threads },
		/* as many are outstanding: each client waits for longer */
		{ { 0.13, 1.0, 0.9, 0.4, 1, 7.7, 1.0, NAN, 0, 0, 0 }, FINDING_load_closed },
		{ { 0.13, 2.0, 0.9, 0.4, 1, 7.7, 1.0, NAN, 0, 0, 0 }, FINDING_load_dearer },
		{ { 0.13, 1.0, 0.1, 0.4, 1, NAN, NAN, NAN, 0, 0, 0 },
		  FINDING_load_same }, /* it is not idle: it is slow */
		{ { 1.05, 0.97, 0.4, 0.4, 1, NAN, NAN, NAN, 0, 0, 0 }, FINDING_load_same },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(load_kind(&cases[i].load), cases[i].kind);
}

static long computes_briefly(struct script *s, long t)
{
	(void)s;
	return t + 400000;
}

/* The same, and a lock that 300 has for 2 ms. */
static long waits_for_a_lock(struct script *s, long t)
{
	t += 400000;
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 300, t + 2000000);
	script_line(s, 1, "%ld 300 syscall_args nr=nanosleep dur=1990000", t + 2003000);
	script_wake(s, 1, 300, t + 2010000);
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	script_resume(s, t + 2013000, t + 2015000, 2020000);
	script_line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x81 dur=1000",
		    t + 2025000);
	return t + 2030000;
}

/*
 * Requests of 0.5 ms, 0.05 ms after each other; then, for as long, those of 2.5 ms with so many ns
 * between them.
 */
static sqlite3 *slower_with_gaps(long gap)
{
	long t = BEGIN, half = 120 * (2530000 + gap);
	struct script s = { 0 };
	char windows[200];

	snprintf(windows, sizeof(windows),
		 "INSERT INTO recording VALUES('baseline_from',0),('baseline_to',%ld),"
		 "('degraded_from',%ld),('degraded_to',%ld)",
		 half, half, 2 * half);
	for (; t < BEGIN + half; t += 550000)
		script_request(&s, t, computes_briefly);
	for (; t < BEGIN + 2 * half; t += 2530000 + gap)
		script_request(&s, t, waits_for_a_lock);
	return script_play(&s, "all", t, windows);
}

/*
 * A client that asks again after each answer has as many requests outstanding while they take
 * longer. Fewer outstanding ones are fewer requests from outside, however long each takes.
 */
static void demand_of_clients_that_wait_did_not_fall(void **state)
{
	(void)state;
	first_is(slower_with_gaps(50000), "lock", NULL,
		 CHILD("load_closed", "v.name='rate' AND v.number BETWEEN 0.2 AND 0.22"));
	first_is(slower_with_gaps(50000), "lock", NULL,
		 CHILD("load_closed", "v.name='latency' AND v.number BETWEEN 4.9 AND 5.1"));
	first_is(slower_with_gaps(50000), "lock", NULL,
		 CHILD("load_closed", "v.name='outstanding' AND v.number BETWEEN 1.0 AND 1.1"));
	first_is(slower_with_gaps(2530000), "lock", NULL,
		 CHILD("load_less", "v.name='rate' AND v.number BETWEEN 0.1 AND 0.12"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(dearer_requests_wait_longer_for_a_shared_cpu),
		T(dearer_requests_next_to_new_contenders),
		T(softirqs_make_no_request_dearer),
		T(other_threads_make_no_request_dearer),
		T(a_new_contender_is_the_cause),
		T(a_contender_next_to_dearer_requests_keeps_its_part),
		T(dearer_requests_do_not_wait_for_an_idle_cpu),
		T(more_of_its_own_threads_on_the_cpu_is_its_cost),
		T(a_contender_next_to_its_own_threads_is_named),
		T(a_pool_that_computes_more_is_the_cost),
		T(the_same_own_work_at_another_time_is_no_new_cost),
		T(ratios_name_the_kind_of_load),
		T(demand_of_clients_that_wait_did_not_fall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
