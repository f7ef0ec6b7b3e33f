// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/: functions of causes, and recordings that only look as if there were one. */
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

/* Ten functions that serve calls, 20 to 29. */
#define TEN(x)	  x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29)
#define FRAME(n)  "210 0 frame id=" #n " module=1 address=" #n "\n"
#define STACK(n)  "220 0 stack id=" #n " caller=2 frame=" #n "\n"
#define SYMBOL(n) "230 0 symbol frame=" #n " text=\"part_" #n "\"\n"

/*
 * Stacks: 3 main > serve > parse, 5 main > serve > report > push, 8 main > serve > get > lock in
 * the C library, 13 main > serve > report > push > part_20 > part_21, 10 main > sweep > sleep in
 * it; 11 the kernel's side of fsync; 14 main > serve > parse > lock in the C library. Of a script
 * are 30 main > serve > handle and 32 main > serve > emit > handle.
 */
static const char facts[] =
	"200 0 info text=\"groups=core,syscalls,sched,block,cpu\"\n"
	"201 0 info text=\"stack_threshold=1000000\"\n"
	"210 0 module id=1 kind=3 path=\"/srv/server\"\n210 0 module id=2 kind=3 path=\"/lib/libc.so.6\"\n"
	"210 0 module id=3 kind=1 path=\"[kernel]\"\n210 0 module id=4 kind=5 path=\"[generated]\"\n"
	"210 0 frame id=30 module=4 address=30\n210 0 frame id=31 module=4 address=31\n"
	"210 0 frame id=1 module=1 address=1\n210 0 frame id=2 module=1 address=2\n"
	"210 0 frame id=3 module=1 address=3\n210 0 frame id=4 module=1 address=4\n"
	"210 0 frame id=5 module=1 address=5\n210 0 frame id=6 module=1 address=6\n"
	"210 0 frame id=7 module=2 address=7\n210 0 frame id=8 module=1 address=8\n"
	"210 0 frame id=9 module=2 address=9\n210 0 frame id=10 module=3 address=10\n" TEN(
		FRAME) "220 0 stack id=1 frame=1\n220 0 stack id=2 caller=1 frame=2\n220 0 stack id=3 caller=2 frame=3\n"
		       "220 0 stack id=4 caller=2 frame=4\n220 0 stack id=5 caller=4 frame=5\n"
		       "220 0 stack id=6 caller=2 frame=6\n220 0 stack id=8 caller=6 frame=7\n"
		       "220 0 stack id=12 caller=5 frame=20\n220 0 stack id=13 caller=12 frame=21\n"
		       "220 0 stack id=14 caller=3 frame=7\n220 0 stack id=30 caller=2 frame=30\n"
		       "220 0 stack id=31 caller=2 frame=31\n220 0 stack id=32 caller=31 frame=30\n"
		       "230 0 symbol frame=30 text=\"handle\"\n230 0 symbol frame=31 text=\"emit\"\n"
		       "220 0 stack id=9 caller=1 frame=8\n220 0 stack id=10 caller=9 frame=9\n220 0 stack id=11 frame=10\n" TEN(
			       STACK) "230 0 symbol frame=1 text=\"main\"\n230 0 symbol frame=2 text=\"serve\"\n"
				      "230 0 symbol frame=3 text=\"parse\"\n230 0 symbol frame=4 text=\"report\"\n"
				      "230 0 symbol frame=5 text=\"push\"\n230 0 symbol frame=6 text=\"get\"\n"
				      "230 0 symbol frame=7 text=\"pthread_mutex_lock\"\n230 0 symbol frame=8 text=\"sweep\"\n"
				      "230 0 symbol frame=9 text=\"nanosleep\"\n230 0 symbol frame=10 text=\"jbd2_log_wait_commit\"\n" TEN(
					      SYMBOL);

/* A path that the sentence does not call added. */
#define NOT_ADDED                                                                                   \
	"EXISTS (SELECT 1 FROM finding_value v WHERE v.finding=cause.finding AND v.name='spent_in'" \
	" AND v.text=path) AND NOT EXISTS (SELECT 1 FROM finding_value v WHERE"                     \
	" v.finding=cause.finding AND v.name='function')"

static void sample(struct script *s, long t, int stack, long weight)
{
	script_line(s, 0, "%ld 100 sample pid=100 user_stack=%d weight=%ld", t, stack, weight);
}

/* Each request has a sample in parse; `mixed`: every third is in push. */
static sqlite3 *requests(fault_fn fault, bool mixed)
{
	struct script s = { .facts = facts };
	long i, t;

	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * PERIOD;
		script_request(&s, t, i >= REQUESTS / 2 ? fault : NULL);
		sample(&s, t + 6000, mixed && i % 3 == 2 ? 5 : 3, 50000);
	}
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

/* 2 ms, four samples of it in push. */
static long reports(struct script *s, long t)
{
	int i;

	for (i = 0; i < 4; i++)
		sample(s, t + 400000 * i, 5, 500000);
	return t + 2000000;
}

/* 2 ms, with the samples of all others. */
static long takes_longer(struct script *s, long t)
{
	int i;

	for (i = 0; i < 3; i++)
		sample(s, t + 400000 * i, i == 2 ? 5 : 3, 600000);
	return t + 2000000;
}

static void time_on_a_cpu_names_the_function(void **state)
{
	(void)state;
	first_is(
		requests(reports, false), "self", NULL,
		"path='serve > report > push' AND path_part > 0.95 AND path_low > 0.9 AND path_n=480");
}

/* All five samples in report, three of them in what it calls: 13. */
static long reports_deeper(struct script *s, long t)
{
	int i;

	for (i = 0; i < 5; i++)
		sample(s, t + 300000 * i, i < 3 ? 13 : 4, 400000);
	return t + 2000000;
}

static void the_function_that_has_most_is_first(void **state)
{
	(void)state;
	first_is(requests(reports_deeper, false), "self", NULL,
		 "path='report > ... > part_20 > part_21' AND path_part BETWEEN 0.55 AND 0.65");
}

static const int *five; /* stacks of the samples of a slow request */

static long has_five(struct script *s, long t)
{
	int i;

	for (i = 0; i < 5; i++)
		sample(s, t + 300000 * i, five[i], 400000);
	return t + 2000000;
}

static void a_function_of_several_callers_is_named(void **state)
{
	static const int program[] = { 12, 20, 12, 20, 3 }, library[] = { 8, 14, 8, 14, 5 };

	(void)state;
	five = program;
	first_is(requests(has_five, false), "self", NULL,
		 "path='main > serve > ... > part_20' AND path_part BETWEEN 0.75 AND 0.85");
	/* what the C library does for all of them says nothing */
	five = library;
	first_is(requests(has_five, false), "self", NULL, "path=''");
}

/* Its compiler has put emit into serve for some calls: emit alone has three of five. */
static void a_function_of_a_script_is_one_by_all_its_callers(void **state)
{
	static const int script[] = { 32, 32, 30, 32, 30 };

	(void)state;
	five = script;
	first_is(requests(has_five, false), "self", NULL,
		 "path='main > serve > ... > handle' AND path_part > 0.9");
}

static int reported; /* of the 50 samples of a slow request; one of them is in report alone */

static long reports_partly(struct script *s, long t)
{
	int i;

	for (i = 0; i < 50; i++)
		sample(s, t + 30000 * i, i >= reported ? 3 : i ? 5 : 4, 40000);
	return t + 2000000;
}

/* Ten baseline requests have a sample: five of them in push. */
static sqlite3 *few_of_baseline(int of_slow)
{
	struct script s = { .facts = facts };
	long i, t;

	reported = of_slow;
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * PERIOD;
		script_request(&s, t, i >= REQUESTS / 2 ? reports_partly : NULL);
		if (i < REQUESTS / 2 && i % 12 == 2)
			sample(&s, t + 6000, i / 12 % 2 ? 5 : 3, 50000);
	}
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

/* They prove a larger share of report, but not of push, which report has it from. */
static void the_callee_that_has_it_is_named(void **state)
{
	(void)state;
	first_is(few_of_baseline(42), "self", NULL, "path='serve > report > push'");
	first_is(few_of_baseline(40), "self", NULL, NOT_ADDED);
}

/*
 * As reports, while another thread has a request for most of that time, in parse. It was not seen
 * to run again once, so the causes have no time of that request.
 */
static sqlite3 *reports_next_to_a_long_one(void)
{
	struct script s = { .facts = facts };
	long i, t, from = BEGIN + REQUESTS / 2 * (long)PERIOD;

	script_line(&s, 3,
		    "3 100 fd pid=100 fd=8 mode=socket ino=80 family=inet role=accepted"
		    " socktype=1 sport=80 dport=2 daddr=10.0.0.2");
	script_line(&s, 1, "%ld 0 switch next=300", from);
	script_line(&s, 1, "%ld 300 syscall nr=read fd=8 ret=10 dur=100", from + 1000);
	script_line(&s, 1, "%ld 300 switch next=0 state=1", from + 2000);
	for (i = 0; i < 100; i++)
		script_line(&s, 1, "%ld 300 sample pid=100 user_stack=3 weight=50000000",
			    from + 3000 + 10000 * i);
	script_line(&s, 1, "%ld 300 switch next=0 state=1", from + 2000000);
	script_timer(&s, 1, 300, from + 500 * 1000000L);
	script_line(&s, 1, "%ld 300 syscall nr=write fd=8 ret=10 dur=100", from + 500100000);
	script_line(&s, 1, "%ld 300 switch next=0 state=1", from + 500200000);
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * PERIOD;
		script_request(&s, t, i >= REQUESTS / 2 ? reports : NULL);
		sample(&s, t + 6000, 3, 50000);
	}
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

static void a_request_as_long_as_the_time_has_no_part(void **state)
{
	(void)state;
	first_is(
		reports_next_to_a_long_one(), "self", NULL,
		"path='serve > report > push' AND path_part > 0.95 AND (SELECT count(*) FROM request WHERE"
		" dur > 400000000 AND split)=1");
}

/* The same profile in both: each request takes longer. What it runs then is not called added. */
static void the_same_profile_of_dearer_requests_is_named(void **state)
{
	(void)state;
	first_is(
		requests(takes_longer, true), "self", NULL,
		"path='main > serve > parse' AND path_part BETWEEN 0.6 AND 0.75 AND path_low > 0.5 AND " NOT_ADDED);
}

static long takes_longer_in_all(struct script *s, long t)
{
	int i;

	for (i = 0; i < 10; i++)
		sample(s, t + 150000 * i, 20 + i, 180000);
	return t + 2000000;
}

/* `waits`: of the thread outside serve, once. */
static sqlite3 *dearer_in_all(bool waits)
{
	struct script s = { .facts = facts };
	long i, t;

	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * PERIOD;
		script_request(&s, t, i >= REQUESTS / 2 ? takes_longer_in_all : NULL);
		sample(&s, t + 6000, 20 + i % 10, 50000);
		if (waits && !i)
			script_line(&s, 0,
				    "%ld 100 offcpu pid=100 dur=1000000 user_stack=10 state=1",
				    t + 7000);
	}
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

/* What all stacks of the thread have: main > serve. */
static void the_root_of_dearer_requests_is_not_named(void **state)
{
	(void)state;
	first_is(dearer_in_all(false), "self", NULL,
		 "path='' AND path_n=0 AND " CHILD("load_dearer", "1"));
}

/* Then serve is what it runs, however many stacks there are in it. */
static void a_thread_that_waits_elsewhere_has_a_shorter_root(void **state)
{
	(void)state;
	first_is(dearer_in_all(true), "self", NULL, "path='main > serve' AND " NOT_ADDED);
}

/* A thread that answers none has the CPU: the requests are not dearer. */
static long is_preempted_by_its_own(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=101 flags=1 prio=120", t);
	script_line(s, 0, "%ld 101 switch next=100 flags=1 prio=120", t + 3000000);
	return t + 3000000;
}

static void the_same_profile_of_other_requests_is_not_named(void **state)
{
	(void)state;
	first_is(requests(is_preempted_by_its_own, true), "self", NULL,
		 "path='' AND path_n=0 AND NOT " CHILD("load_dearer", "1"));
}

/* held_lock, with the stacks of both threads. */
static long lock_with_stacks(struct script *s, long t)
{
	script_line(s, 1, "%ld 300 offcpu pid=100 dur=4981000 user_stack=10 state=1", t + 2001000);
	script_line(s, 0, "%ld 100 offcpu pid=100 dur=2013000 user_stack=8 state=1", t + 2013000);
	return held_lock(s, t);
}

static void locks_name_the_caller_and_the_end(void **state)
{
	(void)state;
	first_is(requests(lock_with_stacks, false), "lock", "housekeeper[100/300]",
		 "path='get' AND path_n=120 AND end_path='main > sweep' AND " CHILD(
			 "cause_end_stack", "v.text='main > sweep'"));
}

/* The end of the chain has no user memory, as a thread of the kernel. */
static long lock_of_a_kernel_thread(struct script *s, long t)
{
	script_line(s, 1, "%ld 300 offcpu pid=100 dur=4981000 kernel_stack=11 state=1",
		    t + 2001000);
	script_line(s, 0, "%ld 100 offcpu pid=100 dur=2013000 user_stack=8 state=1", t + 2013000);
	return held_lock(s, t);
}

static void a_kernel_thread_at_the_end_has_its_reason(void **state)
{
	(void)state;
	first_is(requests(lock_of_a_kernel_thread, false), "lock", "housekeeper[100/300]",
		 "path='get' AND end_path='' AND " CHILD(
			 "cause_end_reason", "v.name='reason' AND v.text='journal commit'"));
}

/* preempted, with samples of what has the CPU then. */
static long preempted_by_sweep(struct script *s, long t)
{
	long i;

	for (i = 0; i < 3; i++)
		script_line(s, 0, "%ld 200 sample pid=200 user_stack=9 weight=600000",
			    t + 100000 + i * 600000);
	return preempted(s, t);
}

static void what_had_the_cpu_has_its_function(void **state)
{
	(void)state;
	first_is(requests(preempted_by_sweep, false), "cpu_contender", "burner[200]",
		 "path='' AND end_path='main > sweep' AND " CHILD("cause_end_stack",
								  "v.text='main > sweep'"));
}

static long fsync_with_stacks(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=0 state=2", t);
	script_line(s, 0, "%ld 0 waking target=100 cpu=0 context=1", t + 2000000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2001000);
	script_line(s, 0, "%ld 100 offcpu pid=100 dur=2001000 user_stack=6 kernel_stack=11 state=2",
		    t + 2001000);
	script_line(s, 0, "%ld 100 syscall nr=fsync fd=9 dur=2005000", t + 2005000);
	return t + 2005000;
}

static void uninterruptible_waits_name_the_reason(void **state)
{
	(void)state;
	first_is(requests(fsync_with_stacks, false), "blocked", NULL,
		 "path='get' AND reason='journal commit'");
}

/* No stacks: no functions. */
static void without_stacks_nothing_is_named(void **state)
{
	(void)state;
	first_is(slowed(computes, 0, "all", NULL), "self", NULL, "path='' AND end_path=''");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_on_a_cpu_names_the_function),
		cmocka_unit_test(the_function_that_has_most_is_first),
		cmocka_unit_test(a_function_of_several_callers_is_named),
		cmocka_unit_test(a_function_of_a_script_is_one_by_all_its_callers),
		cmocka_unit_test(the_callee_that_has_it_is_named),
		cmocka_unit_test(a_request_as_long_as_the_time_has_no_part),
		cmocka_unit_test(the_same_profile_of_dearer_requests_is_named),
		cmocka_unit_test(the_root_of_dearer_requests_is_not_named),
		cmocka_unit_test(a_thread_that_waits_elsewhere_has_a_shorter_root),
		cmocka_unit_test(the_same_profile_of_other_requests_is_not_named),
		cmocka_unit_test(locks_name_the_caller_and_the_end),
		cmocka_unit_test(a_kernel_thread_at_the_end_has_its_reason),
		cmocka_unit_test(what_had_the_cpu_has_its_function),
		cmocka_unit_test(uninterruptible_waits_name_the_reason),
		cmocka_unit_test(without_stacks_nothing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
