// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_locked.c: a few requests wait for a lock of another connection.
 */
#include "tests/lib/backends.h"

#define SECOND (1000 * MS)
#define WAIT   (300 * MS)

enum { EVENTS = 4, LISTENS };

/* How each wait of 300 for 400 ends, or of 400 for 300. */
struct wait {
	int waits;	  /* that many */
	int name;	  /* of the requests that wait */
	bool same;	  /* it is always 300 that waits */
	bool idle;	  /* who ends it works on no request */
	bool no_client;	  /* 500 ends it */
	bool timed;	  /* a timeout ended most of it, before */
	bool at_disk;	  /* who ends it reads from a disk until then */
	const char *code; /* it fails */
	bool by_timer;	  /* no thread ends it */
	int others;	  /* name of every second request of 600 */
	bool turns;	  /* these wait as well, for a shorter time */
	long slower;	  /* ns, of all requests of 600 after 2 s */
};

/* It slept in epoll_wait since from. */
static void polled(struct text *x, int tid, long from, long ts, int ret)
{
	text_line(x, "%ld 0 switch next=%d", ts + 1000, tid);
	text_line(x, "%ld %d syscall_args nr=epoll_wait arg0=4 arg3=-1 ret=%d dur=%ld", ts + 2000,
		  tid, ret, ts - from + 3000);
}

/* 600 answers a request every 5 ms, for 4 s. */
static void load(struct text *x, const struct wait *how)
{
	int i = 0;
	long t;

	text_line(x, "@cpu 1");
	for (t = 2 * MS; t < 4 * SECOND; t += 5 * MS) {
		int name = i++ % 2 ? how->others : BEGINS;

		arrives(x, 600, t + 1000);
		reads(x, 600, name, t + 5000);
		if (how->turns && name == how->others) {
			text_line(x, "%ld 600 switch next=0 state=1\n%ld 50 waking target=600",
				  t + 10000, t + 3 * MS);
			polled(x, 600, t + 10000, t + 3 * MS, 1);
		}
		answers(x, 600,
			t + (how->turns ? 3 * MS : 0) + 50000 + rand() % 20000 +
				(t > 2 * SECOND ? how->slower : 0));
	}
}

/* tid waits from t on, holder ends that. */
static void waits(struct text *x, int tid, int holder, long t, const struct wait *how)
{
	long end = t + WAIT, from = t + 10000;

	text_line(x, "@cpu 0");
	arrives(x, tid, t - 2000);
	reads(x, tid, how->name, t);
	text_line(x, "%ld %d switch next=0 state=1", from, tid);
	if (how->timed) {
		text_line(x, "%ld 0 waking target=%d context=2", end - 5 * MS, tid);
		polled(x, tid, from, end - 5 * MS, 0);
		from = end - 4 * MS;
		text_line(x, "%ld %d switch next=0 state=1", from, tid);
	}
	text_line(x, "@cpu 2");
	if (!how->idle) {
		arrives(x, holder, how->at_disk ? t - 40000 : end - 40000);
		reads(x, holder, COMMITS, how->at_disk ? t - 30000 : end - 30000);
	}
	if (how->at_disk)
		text_line(x,
			  "%ld %d switch next=0 state=2 flags=2\n%ld 0 waking target=%d context=2\n"
			  "%ld 0 switch next=%d\n%ld %d syscall nr=pread64 fd=9 ret=8192 dur=%ld",
			  t - 20000, holder, end - 20000, holder, end - 18000, holder, end - 16000,
			  holder, WAIT - 5000);
	if (how->by_timer)
		text_line(x, "%ld 0 waking target=%d cpu=0 context=2", end, tid);
	else
		text_line(x, "%ld %d waking target=%d cpu=0", end, how->no_client ? 500 : holder,
			  tid);
	if (!how->idle)
		answers(x, holder, end + 20000);
	text_line(x, "@cpu 0");
	polled(x, tid, from, end, how->by_timer ? -4 : 1);
	if (how->code)
		text_line(x, "%ld %d answer conn=%d pos=%d len=20 status=1 protocol=6 code=\"%s\"",
			  end + 5000, tid, conn_of(tid), 20 * (int)(t / WAIT), how->code);
	answers(x, tid, end + 5000);
	if (how->idle) { /* it reads its next request afterwards */
		text_line(x, "@cpu 2");
		arrives(x, holder, end + MS);
		reads(x, holder, COMMITS, end + 2 * MS);
		answers(x, holder, end + 3 * MS);
	}
}

static sqlite3 *judged_locks(const struct wait *how)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	memset(position, 0, sizeof(position));
	nameless = 0;
	start(&x, "8 0 request_name id=4 protocol=1 name=\"GET /events\"\n"
		  "8 0 request_name id=5 protocol=6 name=\"Query LISTEN\"");
	load(&x, how);
	for (i = 0; i < how->waits; i++) {
		bool turn = i % 2 && !how->same;

		waits(&x, turn ? 400 : 300, turn ? 300 : 400, SECOND / 2 + i * (WAIT + 100 * MS),
		      how);
	}
	x.t = 4 * SECOND;
	db = answered(&x);
	return analysed(db, "verdict");
}

/* 300 waits for 400, and that for 600, which lets go in a request of load(). */
static void waits_in_turn(struct text *x, long t)
{
	long from = t + WAIT / 4, end = t + WAIT + 20000;

	text_line(x, "@cpu 0");
	arrives(x, 300, t - 2000);
	reads(x, 300, UPDATES, t);
	text_line(x, "%ld 300 switch next=0 state=1", t + 10000);
	arrives(x, 400, from - 5000);
	reads(x, 400, UPDATES, from - 3000);
	text_line(x, "%ld 400 switch next=0 state=1", from);
	text_line(x, "@cpu 2\n%ld 600 waking target=400 cpu=0", end);
	text_line(x, "@cpu 0");
	polled(x, 400, from, end, 1);
	text_line(x, "%ld 400 waking target=300 cpu=2", end + 10000);
	answers(x, 400, end + 20000);
	text_line(x, "@cpu 2");
	polled(x, 300, t + 10000, end + 10000, 1);
	answers(x, 300, end + 30000);
	text_line(x, "@cpu 0");
}

static sqlite3 *judged_turns(void)
{
	const struct wait how = { .others = UPDATES };
	struct text x = { 0 };
	int i;

	memset(position, 0, sizeof(position));
	nameless = 0;
	start(&x, NULL);
	load(&x, &how);
	for (i = 0; i < 3; i++)
		waits_in_turn(&x, SECOND / 2 + 2 * MS + i * 2 * WAIT);
	x.t = 4 * SECOND;
	return analysed(answered(&x), "verdict");
}

#define SAID(what, name_)   FINDING_VALUE("verdict_locked", name_, what)
#define WAITED(what, name_) FINDING_VALUE("locked_wait", name_, what)

static void is(sqlite3 *db, const char *verdict)
{
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", verdict);
}

static void a_few_requests_that_wait_for_a_lock_are_a_problem(void **state)
{
	sqlite3 *db =
		judged_locks(&(struct wait){ .waits = 3, .name = UPDATES, .others = UPDATES });

	(void)state;
	is(db, "problem locked");
	is_number(db, "SELECT n FROM verdict", 3);
	is_within(db, "SELECT start FROM verdict", SECOND / 2 - MS, SECOND / 2 + MS);
	is_within(db, "SELECT end FROM verdict", SECOND / 2 + 800 * MS + WAIT,
		  SECOND / 2 + 800 * MS + WAIT + MS);
	is_number(db, SAID("v.id", "name"), UPDATES);
	is_number(db, WAITED("v.id", "holder"), 400);
	is_number(db, WAITED("v.id", "thread"), 300);
	is_text(db, WAITED("v.text", "did"), "without a request of its client");
	is_number(db, SAID("count(v.text)", "code"), 0);
	is_number(db, WAITED("count(v.text)", "unknown"), 0);
	db_close(db);
}

/* It says as well what the last one did, that the others wait for. */
static void who_waits_in_turn_is_followed(void **state)
{
	sqlite3 *db = judged_turns();

	(void)state;
	is(db, "problem locked");
	is_number(db, WAITED("v.id", "holder"), 400);
	is_text(db, WAITED("v.text", "did"), "itself waiting for a lock");
	is_number(db, WAITED("v.id", "waited_for"), 600);
	is_text(db, WAITED("v.text", "next_did"), "without a request of its client");
	is_within(db, WAITED("v.number", "next_share"), 95, 100);
	db_close(db);
	db = judged_locks(&(struct wait){ .waits = 3, .name = UPDATES, .others = UPDATES });
	is_number(db, WAITED("count(v.text)", "next_did"), 0);
	db_close(db);
}

static void one_deadlock_is_enough(void **state)
{
	struct wait how = { .waits = 1, .name = UPDATES, .others = UPDATES, .by_timer = true };
	sqlite3 *db;

	(void)state;
	how.code = "40P01";
	db = judged_locks(&how);
	is(db, "problem locked");
	is_text(db, SAID("v.text", "code"), "40P01");
	is_text(db, SAID("v.text", "meaning"), "deadlock_detected");
	is_text(db, WAITED("v.text", "unknown"), "not known");
	db_close(db);
	/* also if all requests of its name wait */
	how.others = BEGINS;
	db = judged_locks(&how);
	is(db, "problem locked");
	db_close(db);
	/* one lock timeout happens, and a statement that was cancelled waited for nothing known */
	how.others = UPDATES;
	how.code = "55P03";
	db = judged_locks(&how);
	is(db, "none ");
	db_close(db);
	how.code = "57014";
	how.waits = 3;
	db = judged_locks(&how);
	is(db, "none ");
	db_close(db);
}

/* Stack 2: exec > ProcSleep. */
static const char stacks[] =
	"9 0 info text=\"stack_threshold=1000000\"\n9 0 module id=1 kind=3 path=\"/srv/postgres\"\n"
	"9 0 frame id=1 module=1 address=1\n9 0 frame id=2 module=1 address=2\n"
	"9 0 stack id=1 frame=1\n9 0 stack id=2 caller=1 frame=2\n"
	"9 0 symbol frame=1 text=\"exec\"\n9 0 symbol frame=2 text=\"ProcSleep\"";

/* 400 waits 5 ms for 300, which fails at once. */
static sqlite3 *short_waits_and(long slower, int times, int status, const char *code)
{
	const struct wait how = { .others = UPDATES, .slower = slower };
	struct text x = { 0 };
	sqlite3 *db;
	long t, fails;

	memset(position, 0, sizeof(position));
	nameless = 0;
	start(&x, stacks);
	load(&x, &how);
	for (t = SECOND; times-- > 0; t += SECOND) {
		fails = t + 5 * MS;
		text_line(&x, "@cpu 0");
		arrives(&x, 400, t - 2000);
		reads(&x, 400, UPDATES, t);
		text_line(&x, "%ld 400 switch next=0 state=1\n@cpu 2", t + 10000);
		arrives(&x, 300, fails - 3000);
		reads(&x, 300, UPDATES, fails);
		text_line(&x, "%ld 300 waking target=400 cpu=0", fails + 10000);
		text_line(&x,
			  "%ld 300 answer conn=1 pos=%ld len=20 status=%d protocol=7 code=\"%s\"",
			  fails + 20000, 20 * (t / SECOND - 1), status, code);
		answers(&x, 300, fails + 20000);
		text_line(&x, "@cpu 0");
		text_line(&x, "%ld 400 offcpu pid=400 dur=%ld user_stack=2 state=1", fails + 11000,
			  fails + 1000 - t);
		polled(&x, 400, t + 10000, fails + 10000, 1);
		answers(&x, 400, fails + 15000);
	}
	x.t = 4 * SECOND;
	db = answered(&x);
	return analysed(db, "verdict");
}

static sqlite3 *short_waits(int times, int status, const char *code)
{
	return short_waits_and(0, times, status, code);
}

/* Unless what else is slower harms more: a failure has the weight of a second. */
static void deadlocks_come_before_a_small_slowdown(void **state)
{
	sqlite3 *db = short_waits_and(3 * MS, 2, 1213, "40001");

	(void)state;
	is(db, "problem locked");
	db_close(db);
	db = short_waits_and(3 * MS, 1, 1213, "40001");
	is(db, "problem slower");
	db_close(db);
}

static void several_deadlocks_are_a_problem_however_short(void **state)
{
	sqlite3 *db = short_waits(2, 1213, "40001");

	(void)state;
	is(db, "problem locked");
	is_number(db, "SELECT n FROM verdict", 2);
	is_within(db, "SELECT start FROM verdict", SECOND, SECOND + 6 * MS);
	is_text(db, FINDING_VALUE("verdict_deadlocks", "code", "v.text"), "1213");
	is_text(db, FINDING_VALUE("verdict_deadlocks", "meaning", "v.text"), "ER_LOCK_DEADLOCK");
	is_number(db, FINDING_VALUE("deadlock_wait", "thread", "v.id"), 300);
	is_within(db, FINDING_VALUE("deadlock_wait", "length", "v.number"), 4.9 * MS, 5.1 * MS);
	is_text(db, FINDING_VALUE("deadlock_wait", "caller", "v.text"),
		"exec > ProcSleep (waits for a lock of PostgreSQL)");
	is_number(db,
		  FINDING_VALUE("deadlock_wait", "other",
				"(SELECT tid FROM request r WHERE r.rowid=v.id)"),
		  400);
	db_close(db);
	/* one happens; other errors are no deadlocks */
	db = short_waits(1, 1213, "40001");
	is(db, "none ");
	db_close(db);
	db = short_waits(2, 1062, "23000");
	is(db, "none ");
	db_close(db);
	db = short_waits(2, 1, "40001"); /* of PostgreSQL: no lock */
	is(db, "none ");
	db_close(db);
}

/* What looks the same without the facts that decide. */
static void other_long_waits_are_no_problem(void **state)
{
	static const struct wait cases[] = {
		/* one lone wait; waits of one connection */
		{ .waits = 1, .name = UPDATES },
		{ .waits = 3, .name = UPDATES, .same = true },
		/* a helper of the server, and a notification of a connection without a request */
		{ .waits = 3, .name = UPDATES, .no_client = true },
		{ .waits = 3, .name = UPDATES, .idle = true },
		/* pg_sleep(), then a lock for a moment */
		{ .waits = 3, .name = UPDATES, .timed = true },
		/* a page that the other one reads */
		{ .waits = 3, .name = UPDATES, .at_disk = true },
		/* pg_cancel_backend() */
		{ .waits = 3, .name = UPDATES, .code = "57014" },
		/* long polls that another request answers, and notifications */
		{ .waits = 3, .name = EVENTS },
		{ .waits = 3, .name = LISTENS },
		/* clients that take turns: all requests of the name wait */
		{ .waits = 3, .name = UPDATES, .others = BEGINS },
		{ .waits = 3, .name = UPDATES, .turns = true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait how = cases[i];
		sqlite3 *db;

		how.others = how.others ? how.others : how.name;
		db = judged_locks(&how);
		if (asked(db, "SELECT status='problem' FROM verdict WHERE rank=1"))
			fail_msg("case %zu", i);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_locked'", 0);
		db_close(db);
	}
}

/* What added more time to requests comes first. */
static void a_change_that_added_more_comes_first(void **state)
{
	struct wait how = { .waits = 3, .name = UPDATES, .others = UPDATES, .slower = 4 * MS };
	sqlite3 *db = judged_locks(&how);

	(void)state;
	is(db, "problem slower"); /* 400 times 4 ms; 3 times 300 ms */
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_locked'", 0);
	db_close(db);
	how.slower = 3 * MS / 2; /* 400 times 1.5 ms */
	db = judged_locks(&how);
	is(db, "problem locked");
	db_close(db);
	how.waits = 0;
	db = judged_locks(&how);
	is(db, "problem slower");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_few_requests_that_wait_for_a_lock_are_a_problem),
		T(who_waits_in_turn_is_followed),
		T(one_deadlock_is_enough),
		T(several_deadlocks_are_a_problem_however_short),
		T(deadlocks_come_before_a_small_slowdown),
		T(other_long_waits_are_no_problem),
		T(a_change_that_added_more_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
