// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_green.c: the threads of the server serve any request, as those of
 * Go: the one that works most in a pause is named, not the one that read a request; and what only
 * looks so.
 */
#include "tests/lib/pausing.h"

#define PROGRAM "UPDATE process SET green='goroutine';"
#define GREEN	PROGRAM "UPDATE thread SET green=1"

/*
 * Thread 100 reads a request, and sleeps in a call for 300 ms, until an interrupt, or 101, wakes
 * it. In that time 101 runs for so long, then waits for a futex until thread 200 wakes it, which
 * runs all the time.
 */
static sqlite3 *paused_in(const char *call, const char *change, long runs)
{
	struct text x = { 0 };
	sqlite3 *db;

	head(&x);
	many(&x, 100, 600, MS);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", x.t + 1000);
	text_line(&x, "%ld 101 switch next=0 state=1", x.t + 2000 + runs);
	text_line(&x, "%ld 200 waking target=101\n%ld 0 switch next=101", x.t + 290 * MS,
		  x.t + 291 * MS);
	text_line(&x, "%ld 101 syscall_args nr=futex arg0=0x1000 dur=%ld ret=0",
		  x.t + 291 * MS + 1000, 291 * MS - runs - 500);
	text_line(&x, "%ld 101 switch next=0 state=1", x.t + 291 * MS + 2000);
	text_line(&x, "@cpu 2\n%ld 0 switch next=200\n%ld 200 switch next=0 state=1\n@cpu 0",
		  x.t + 1000, x.t + 299 * MS);
	wakes(&x);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 5000);
	stays(&x, call, -1, strcmp(call, "futex") == 0 ? 101 : 0);
	text_line(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", x.t);
	x.t += 1000;
	text_line(&x, "%ld 100 syscall nr=write fd=7 ret=900 count=900 dur=200", x.t);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 1000);
	x.t += MS;
	many(&x, 100, 600, MS);
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x.t, x.t);
	db = analysed(changed(loaded_buf(&x.b), change), "pauses");
	return analysed(db, "verdict");
}

static sqlite3 *paused(const char *change, long runs)
{
	return paused_in("epoll_wait", change, runs);
}

static void the_thread_that_works_is_named(void **state)
{
	sqlite3 *db = paused(GREEN, 280 * MS);

	(void)state;
	is_number(db, "SELECT tid FROM pause WHERE counts", 101);
	is_number(db, "SELECT count(*) FROM pause WHERE counts AND request NOT NULL", 0);
	is_number(db, CAUSE_VALUE("v.id", "thread"), 101);
	is_text(db, CAUSE_VALUE("v.text", "state"), "on CPU");
	is_within(db, CAUSE_VALUE("v.number", "share"), 92, 95);
	db_close(db);
	/* its wait for a futex is one for work */
	db = paused(GREEN, 160 * MS);
	is_number(db, CAUSE_VALUE("v.id", "thread"), 101);
	is_within(db, CAUSE_VALUE("v.number", "share"), 52, 55);
	is_text(db,
		"SELECT coalesce(max(v.text), '') FROM finding f JOIN finding_value v ON v.finding=f.id"
		" WHERE f.kind='pause_cause' AND v.name='second'",
		"");
	db_close(db);
}

static void threads_without_work_say_nothing(void **state)
{
	static const char causes[] =
		"SELECT count(*) FROM finding WHERE kind IN ('pause_cause', 'pause_root')";
	static const char *const calls[] = { "epoll_wait", "futex" };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		db = paused_in(calls[i], GREEN, 20 * MS);
		is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
		is_number(db, "SELECT tid FROM pause WHERE counts", 100);
		is_number(db, causes, 0);
		db_close(db);
	}
	db = paused_in("futex", NULL, 20 * MS);
	is_number(db, causes, 2);
	is_number(db, FINDING_VALUE("pause_root", "end", "v.id"), 200);
	db_close(db);
}

/* Threads of its own; the runtime is one of a library, and the reader waits itself. */
static void others_wait_themselves(void **state)
{
	static const char *const changes[] = { NULL, PROGRAM, GREEN " WHERE tid=101" };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		db = paused(changes[i], 280 * MS);
		is_number(db, "SELECT tid FROM pause WHERE counts", 100);
		is_text(db, CAUSE_VALUE("v.text", "state"),
			"waiting in poll with all requests already read");
		db_close(db);
	}
}

static void exchange(struct text *x, int fd, long dur)
{
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=20 count=20 dur=200", x->t, fd);
	x->t += dur;
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=20 count=99 dur=200", x->t, fd);
	x->t += MS;
}

/*
 * 100 asks two other servers, one of them after long: both answered before. Then it reads a
 * request, asks them again, and sleeps until the recording ends, or they answer at once.
 */
static sqlite3 *asks_others(long longest, bool answer, const char *change)
{
	struct text x = { 0 };
	int fd;

	head(&x);
	for (fd = 20; fd < 22; fd++)
		text_line(&x,
			  "@recorder\n25 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2"
			  " role=connected socktype=1 sport=%d dport=%d saddr=127.0.0.1"
			  " daddr=127.0.0.1\n@cpu 0",
			  fd, fd, 33000 + fd, 9302 + fd);
	many(&x, 100, 600, MS);
	exchange(&x, 20, MS);
	exchange(&x, 21, longest);
	many(&x, 100, 50, MS);
	wakes(&x);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 5000);
	x.t += 10000;
	for (fd = 20; fd < 22; fd++) {
		text_line(&x, "%ld 100 syscall nr=write fd=%d ret=20 count=20 dur=200", x.t, fd);
		x.t += 1000;
		if (answer)
			text_line(&x, "%ld 100 syscall nr=read fd=%d ret=20 count=99 dur=200", x.t,
				  fd);
		x.t += 1000;
	}
	stays(&x, "futex", -1, 101);
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x.t, x.t);
	return analysed(analysed(changed(loaded_buf(&x.b), change), "pauses"), "verdict");
}

#define SILENT(what, value) FINDING_VALUE("pause_silent", what, value)

/* No thread says what the request waits for: the servers that answer nothing since are named. */
static void other_servers_that_answer_nothing(void **state)
{
	static const char none[] = "SELECT count(*) FROM finding WHERE kind='pause_silent'";
	sqlite3 *db = asks_others(MS, false, GREEN);

	(void)state;
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	is_number(db, SILENT("n", "v.number"), 2);
	is_text(db, SILENT("address", "v.text"), "127.0.0.1:9322");
	is_text(db, SILENT("second", "v.text"), "127.0.0.1:9323");
	db_close(db);
	db = asks_others(400 * MS, false, GREEN); /* one may answer later */
	is_number(db, SILENT("n", "v.number"), 1);
	is_text(db, SILENT("address", "v.text"), "127.0.0.1:9322");
	db_close(db);
	db = asks_others(MS, true, GREEN);
	is_number(db, none, 0);
	db_close(db);
	/* they never answered, as what takes metrics */
	db = asks_others(MS, false, GREEN "; DELETE FROM upstream");
	is_number(db, none, 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_thread_that_works_is_named),
		T(threads_without_work_say_nothing),
		T(others_wait_themselves),
		T(other_servers_that_answer_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
