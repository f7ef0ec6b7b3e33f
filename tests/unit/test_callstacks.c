// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/stacks/, analyses profile and offcpu: names, processes, requests, waits. */
#include "analyze/store/stacks/callstacks.h"
#include "analyze/store/stacks/stack_brief.h"
#include "tests/lib/callstacked.h"

/* Ids that name each other, or nothing, or twice. */
static void stacks_are_no_circles(void **state)
{
	sqlite3 *db =
		app("500 0 stack id=20 caller=21 frame=1\n500 0 stack id=21 caller=20 frame=2\n"
		    "500 0 stack id=21 caller=3 frame=2\n500 0 stack id=22 caller=99 frame=77\n"
		    "1000 100 sample pid=100 user_stack=21 weight=10\n"
		    "2000 100 sample pid=100 user_stack=22 weight=10\n"
		    "3000 100 sample pid=100 user_stack=98 weight=10 flags=4\n");

	(void)state;
	is_text(db, "SELECT user_stack FROM v_sample ORDER BY ts", "main;work");
	is_number(db, "SELECT count(*) FROM stack WHERE id=21", 1);
	is_number(db, "SELECT count(*) FROM metric WHERE analysis='profile' AND name='self'", 3);
	db_close(db);
}

static u32 sampled(sqlite3 *db, s64 user, s64 kernel, bool in_user)
{
	struct callstacks s = { 0 };
	u32 codes[STACK_DEEP], n;
	struct err e = { 0 };

	assert_int_equal(callstacks_load(&s, db, &e), 0);
	n = callstacks_sampled(&s, user, kernel, in_user, codes);
	callstacks_free(&s);
	return n;
}

/* On a CPU in user mode, the function that makes a system call says nothing; in the kernel it does.
 */
static void samples_end_before_the_system_call(void **state)
{
	sqlite3 *db = app("1_000 100 syscall nr=read fd=5 ret=9\n");

	(void)state;
	assert_int_equal(sampled(db, 5, 0, true), 2);
	assert_int_equal(sampled(db, 5, 0, false), 3);
	assert_int_equal(sampled(db, 5, 7, true), 5);
	assert_int_equal(sampled(db, 3, 0, true), 3);
	db_close(db);
	db = app("1_000 100 syscall nr=write fd=5 ret=9\n"); /* as memcpy: of no system call */
	assert_int_equal(sampled(db, 5, 0, true), 3);
	db_close(db);
}

/* Two requests wait on one thread: it works for the one that it answers next. */
static void samples_belong_to_the_request_answered_next(void **state)
{
	sqlite3 *db =
		app("1_000 100 syscall nr=read fd=5 ret=9\n"
		    "2_000 100 syscall nr=read fd=6 ret=9\n"
		    "3_000 100 sample pid=100 user_stack=3 weight=10\n"
		    "4_000 100 syscall nr=write fd=5 ret=9\n"
		    "5_000 100 sample pid=100 user_stack=3 weight=10\n"
		    "6_000 100 syscall nr=write fd=6 ret=9\n"
		    "7_000 100 sample pid=100 user_stack=3 weight=10\n"
		    "8_000 100 syscall nr=read fd=5 ret=9\n9_000 100 syscall nr=read fd=6 ret=9\n");

	(void)state;
	is_text(db,
		"SELECT group_concat(fd, ' ') FROM (SELECT coalesce(r.fd, 'none') AS fd FROM sample s"
		" LEFT JOIN request r ON r.rowid=s.request ORDER BY s.ts)",
		"5 6 none");
	db_close(db);
}

static void profile_counts_self_and_total(void **state)
{
	/* inner 6, work 2, app+0x1234 2, of 10 */
	sqlite3 *db =
		app("@times 6 10 0\n1000 100 sample pid=100 user_stack=3 weight=10\n"
		    "@times 2 10 0\n2000 100 sample pid=100 user_stack=2 weight=10\n"
		    "@times 2 10 0\n3000 100 sample pid=100 user_stack=4 weight=10 flags=1\n");

	(void)state;
	is_number(db, PROFILE("self", "inner"), 60);
	is_number(db, PROFILE("total", "work (work.c:12)"), 80);
	is_number(db, PROFILE("self", "work (work.c:12)"), 20);
	is_number(db, PROFILE("total", "main"), 100);
	is_number(db, PROFILE("cpu", "main"), 100);
	is_number(db, PROFILE("self", "app+0x1234"), 20);
	is_within(
		db,
		"SELECT low FROM metric WHERE analysis='profile' AND name='self' ORDER BY value DESC",
		30, 35);
	is_number(db, FINDING_VALUE("profile_stacks", "incomplete", "v.number"), 20);
	db_close(db);
}

/* Two threads of one process, two names of requests: each has its own functions. */
static void profile_parts_has_names_and_threads(void **state)
{
	sqlite3 *db = app("1_000 100 syscall nr=read fd=5 ret=9\n"
			  "900 0 connection conn=9 ino=77 sock=7 family=2 sport=80 side=1\n"
			  "1_000 100 head conn=9 len=9 name=1 requests=1\n"
			  "@times 20 10 0\n2_000 100 sample pid=100 user_stack=3 weight=10\n"
			  "@times 5 10 0\n2_500 100 sample pid=100 user_stack=2 weight=10\n"
			  "4_000 100 syscall nr=write fd=5 ret=9\n"
			  "@times 20 10 0\n5_000 101 sample pid=100 user_stack=4 weight=10\n");

	(void)state;
#define PART(metric, subject) METRIC("profile_parts", metric, subject)
	is_number(db, PART("self", "GET: inner"), 80);
	is_number(db, PART("total", "GET: work (work.c:12)"), 100);
	is_number(db, PART("self", "helper[100/101] app+0x1234"), 100);
	is_number(db, PART("samples", "app[100] main"), 25);
	is_number(db,
		  "SELECT count(*) FROM metric WHERE analysis='profile_parts' AND subject LIKE"
		  " 'GET: app%'",
		  0);
	is_text(db,
		"SELECT group_concat(function || self, ' ') FROM (SELECT function, sum(self) AS self"
		" FROM v_sample_function WHERE request_name='GET' GROUP BY function ORDER BY 1)",
		"inner20 main0 work5");
	db_close(db);
}

/* A sleep of 3 ms in fsync, then 1 ms in the run queue. */
static void waits_have_their_state_and_reason(void **state)
{
	sqlite3 *db =
		app("1_000_000 0 switch next=100\n"
		    "2_000_000 100 switch next=0 state=2\n"
		    "5_000_000 0 waking target=100 context=1\n"
		    "6_000_000 0 switch next=100\n"
		    "6_000_000 100 offcpu pid=100 dur=4000000 user_stack=5 kernel_stack=7 state=2\n"
		    "6_100_000 100 syscall nr=fsync fd=9 dur=4200000\n"
		    "9_000_000 100 switch next=0 state=1\n");

	(void)state;
	is_text(db, "SELECT state || ' ' || syscall || ' ' || waited FROM v_offcpu",
		"blocked fsync 3000000");
	is_text(db, "SELECT user_stack || ' ' || kernel_stack FROM v_offcpu",
		"main;app+0x1234;read vfs_fsync;jbd2_log_wait_commit.isra.0");
	/* the C library is not the caller; the kernel's function has a meaning */
	is_text(db, "SELECT subject FROM metric WHERE analysis='offcpu' AND name='waits'",
		"app[100] blocked: main > app+0x1234; kernel: journal commit");
	is_number(db, "SELECT value FROM metric WHERE analysis='offcpu' AND name='total'", 3000000);
	db_close(db);
}

static void waits_that_last_have_stacks(void **state)
{
	sqlite3 *db = app("9_000_000 100 switch next=0 state=1\n"
			  "1_000_000_000 100 sleeper pid=100 dur=991000000 user_stack=5\n");

	(void)state;
	is_text(db, "SELECT ts || ' ' || dur || ' ' || (waited=dur) || ' ' || flags FROM offcpu",
		"8999991 991000000 1 32");
	db_close(db);
	/* since before the recording */
	db = app("1_000_000_000 100 sleeper pid=100 user_stack=5\n");
	is_text(db, "SELECT ts || ' ' || dur || ' ' || (waited=dur) || ' ' || flags FROM offcpu",
		"0 999999991 1 32");
	/* one that ran in between waits since the end only */
	db_close(db);
	db = app("8_000_000 0 switch next=100\n9_000_000 100 switch next=0 state=1\n"
		 "1_000_000_000 100 sleeper pid=100 user_stack=5\n");
	is_number(db, "SELECT count(*) FROM offcpu", 0);
	db_close(db);
	db = app("1_000_000_000 100 sleeper pid=100 user_stack=5\n");
	/* it is analysed without any event of these groups */
	is_number(db, "SELECT value FROM metric WHERE analysis='offcpu' AND name='waits'", 1);
	db_close(db);
}

/*
 * The kernel leaves semaphores out of stacks of waits: the innermost function has called one. One
 * that called something else waits for that.
 */
static void what_called_a_semaphore_names_it(void **state)
{
	static const struct {
		int stack;
		const char *subject;
	} cases[] = {
		{ 8, "app[100] blocked: main > app+0x1234; kernel: mmap lock" },
		{ 9, "app[100] blocked: main > app+0x1234" },
	};
	struct buf text = { 0 };
	struct err e = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db;

		buf_clear(&text);
		buf_printf(
			&text, &e,
			"20 0 frame id=8 module=2 address=0x800\n20 0 stack id=8 frame=8\n"
			"20 0 frame id=9 module=2 address=0x900\n20 0 stack id=9 caller=8 frame=9\n"
			"21 0 symbol frame=8 text=\"vm_mmap_pgoff\"\n"
			"21 0 symbol frame=9 text=\"do_mmap\"\n"
			"1_000_000 0 switch next=100\n2_000_000 100 switch next=0 state=2\n"
			"5_000_000 0 waking target=100 context=1\n6_000_000 0 switch next=100\n"
			"6_000_000 100 offcpu pid=100 dur=4000000 user_stack=5 kernel_stack=%d state=2\n",
			cases[i].stack);
		db = app(text.data);
		is_text(db, "SELECT subject FROM metric WHERE analysis='offcpu' AND name='waits'",
			cases[i].subject);
		db_close(db);
	}
	buf_free(&text);
}

/* Of a binary without symbols: the nearest caller with a name comes first. */
static void a_path_without_names_has_a_caller_with_one(void **state)
{
	sqlite3 *db = app("20 0 stack id=8 caller=4 frame=4\n20 0 stack id=9 caller=8 frame=4\n"
			  "20 0 stack id=10 caller=9 frame=4\n"
			  "1_000_000 100 switch next=0 state=1\n"
			  "5_000_000 0 switch next=100\n"
			  "5_000_000 100 offcpu pid=100 dur=4000000 user_stack=9 state=1\n"
			  "6_000_000 100 switch next=0 state=1\n"
			  "9_000_000 0 switch next=100\n"
			  "9_000_000 100 offcpu pid=100 dur=3000000 user_stack=10 state=1\n");

	(void)state;
#define SUBJECT_OF(part)                                                            \
	"SELECT count(*) FROM metric WHERE analysis='offcpu' AND name='waits' AND " \
	"subject LIKE '% main > " part "app+0x1234 > app+0x1234 > app+0x1234%'"
	is_number(db, SUBJECT_OF(""), 1);
	is_number(db, SUBJECT_OF("... > "), 1);
	db_close(db);
}

/* On the first screen: no frames without a name, and not how the kernel is entered. */
static void useful_frames_have_names(void **state)
{
	sqlite3 *db =
		app("20 0 frame id=8 module=2 address=0x800\n20 0 frame id=9 module=2"
		    " address=0x900\n20 0 stack id=8 frame=8\n20 0 stack id=9 caller=8 frame=9\n"
		    "20 0 stack id=10 caller=9 frame=6\n20 0 stack id=11 caller=5 frame=4\n"
		    "21 0 symbol frame=8 text=\"entry_SYSCALL_64_after_hwframe\"\n"
		    "21 0 symbol frame=9 text=\"do_syscall_64\"\n");
	struct callstacks s = { 0 };
	struct buf out = { 0 };
	struct err e = { 0 };
	u32 codes[STACK_DEEP], n;

	(void)state;
	assert_int_equal(callstacks_load(&s, db, &e), 0);
	n = callstacks_useful(&s, codes, callstacks_codes(&s, 3, 10, codes));
	assert_int_equal(n, 4); /* vfs_fsync; main, work, inner */
	assert_string_equal(s.codes[codes[0]].name, "vfs_fsync");
	n = callstacks_useful(&s, codes, callstacks_codes(&s, 0, 9, codes));
	assert_int_equal(n, 0);
	assert_int_equal(callstacks_callers(&out, &s, 11, true, &e), 0);
	assert_string_equal(out.data, "main");
	buf_clear(&out);
	assert_int_equal(callstacks_callers(&out, &s, 11, false, &e), 0);
	assert_string_equal(out.data, "app+0x1234 > read > app+0x1234");
	buf_free(&out);
	callstacks_free(&s);
	db_close(db);
}

/* Three sleeps of 3 ms of which one has a stack, and one of 30 ms, which has its own. */
static sqlite3 *rationed(const char *fact)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	long t = 1000000;
	sqlite3 *db;
	int i;

	for (i = 0; i < 4; i++) {
		long end = t + 1000000 + (i == 3 ? 30000000 : 3000000);

		buf_printf(&text, &e,
			   "%ld 0 switch next=100\n%ld 100 switch next=0 state=2\n"
			   "%ld 0 waking target=100 context=1\n%ld 0 switch next=100\n",
			   t, t + 1000000, end - 1000, end);
		if (i == 1 || i == 3)
			buf_printf(&text, &e,
				   "%ld 100 offcpu pid=100 dur=%ld user_stack=5 state=2\n", end,
				   end - t - 1000000);
		buf_printf(&text, &e,
			   "%ld 100 syscall nr=fsync fd=9 dur=%ld\n%ld 100 switch next=0 "
			   "state=1\n",
			   end + 1000, end - t - 900000, end + 2000);
		t = end + 1000000;
	}
	buf_printf(&text, &e, "@recorder\n%ld 0 info text=\"%s\"\n", t, fact);
	db = app(text.data);
	buf_free(&text);
	return db;
}

static void waits_without_a_stack_are_shared_among_those_with_one(void **state)
{
	sqlite3 *db = rationed("stack_waits=100");

	(void)state;
	is_number(db, "SELECT weight FROM offcpu ORDER BY ts LIMIT 1", 3 * 2999000);
	is_number(db, "SELECT weight FROM offcpu ORDER BY ts DESC LIMIT 1", 29999000);
	is_number(db, "SELECT value FROM metric WHERE analysis='offcpu' AND name='waits'", 4);
	is_number(db, "SELECT value FROM metric WHERE analysis='offcpu' AND name='total'",
		  3 * 2999000 + 29999000);
	db_close(db);
	db = rationed("label.a=b"); /* all have one, but for losses */
	is_number(db, "SELECT sum(weight = waited) FROM offcpu", 2);
	db_close(db);
}

/* Of one recording that it was merged of, too. */
static void what_was_not_seen_of_mappings_is_said(void **state)
{
	static const char said[] =
		"SELECT count(*) FROM finding WHERE kind IN ('code_unwatched', 'code_lost')";
	static const char text[] = HEAD "@cpu 0\n1000 100 sample pid=100 user_stack=3 weight=10\n";
	sqlite3 *db = changed(loaded(text), "INSERT INTO recording VALUES('code_unwatched', '1'),"
					    " ('2.code_lost', '3')");

	(void)state;
	is_number(analysed(db, "profile"), said, 2);
	db_close(db);
	db = analysed(loaded(text), "profile");
	is_number(db, said, 0);
	db_close(db);
}

static void without_the_group_nothing_is_claimed(void **state)
{
	sqlite3 *db =
		loaded("@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core\"\n"
		       "@cpu 0\n1000 100 switch next=0\n");

	(void)state;
	analysed(db, NULL);
	is_number(db, "SELECT count(*) FROM metric WHERE analysis IN ('profile', 'offcpu')", 0);
	is_number(db,
		  "SELECT count(*) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		  " f.kind='questions_unanswered' AND v.text='profile (group cpu)'",
		  1);
	db_close(db);
}

/* Root main > loop, as all stacks have; eval and call repeat, as in an interpreter. */
static void a_brief_path_has_what_is_its_own(void **state)
{
	enum { MAIN = 1, LOOP, EVAL, CALL, POLL, WORK };
	struct code codes[] = {
		[MAIN] = { .named = true }, [LOOP] = { .named = true },
		[EVAL] = { .named = true }, [CALL] = { .named = true },
		[WORK] = { .named = true }, [POLL] = { .named = true, .runtime = true },
	};
	const struct callstacks s = { .codes = codes, .n_codes = WORK };
	static const struct stack_root root = { 2, { MAIN, LOOP } };
	u32 loop[] = { POLL, LOOP, MAIN }, own[] = { POLL, WORK, LOOP, MAIN };
	u32 again[] = { POLL, CALL, EVAL, CALL, EVAL, WORK, LOOP, MAIN };
	u32 self[] = { WORK, WORK, WORK, LOOP, MAIN };

	(void)state;
	assert_int_equal(stack_brief(&root, &s, loop, 3, true), 0);
	assert_int_equal(stack_brief(&root, &s, own, 4, true), 1);
	assert_int_equal(own[0], WORK);
	assert_int_equal(stack_brief(&root, &s, again, 8, true), 3);
	assert_int_equal(again[0], POLL);
	assert_int_equal(again[1], CALL);
	assert_int_equal(again[2], WORK);
	/* on a CPU a recursive function stays, and the root */
	assert_int_equal(stack_brief(NULL, &s, self, 5, false), 3);
	assert_int_equal(self[0], WORK);
	assert_int_equal(self[1], LOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_no_circles),
		cmocka_unit_test(samples_end_before_the_system_call),
		cmocka_unit_test(samples_belong_to_the_request_answered_next),
		cmocka_unit_test(profile_counts_self_and_total),
		cmocka_unit_test(profile_parts_has_names_and_threads),
		cmocka_unit_test(waits_have_their_state_and_reason),
		cmocka_unit_test(waits_that_last_have_stacks),
		cmocka_unit_test(what_called_a_semaphore_names_it),
		cmocka_unit_test(a_path_without_names_has_a_caller_with_one),
		cmocka_unit_test(useful_frames_have_names),
		cmocka_unit_test(waits_without_a_stack_are_shared_among_those_with_one),
		cmocka_unit_test(a_brief_path_has_what_is_its_own),
		cmocka_unit_test(what_was_not_seen_of_mappings_is_said),
		cmocka_unit_test(without_the_group_nothing_is_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
