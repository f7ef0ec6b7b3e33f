// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that are not answered any more, on connections that never had an answer; what came just
 * before. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define NAMED 29 /* bytes of a request */

enum { GET = 1, POST, FLUSH };

static long sent[9]; /* requests of each connection */

static void start(struct text *x)
{
	static const char *const names[] = { "GET /item", "POST /log", "Query FLUSH" };
	int i;

	srand(3);
	head_of(x, 4);
	text_line(x, "@recorder");
	for (i = 0; i < 3; i++)
		text_line(x, "34 0 request_name id=%d protocol=1 name=\"%s\"", i + 1, names[i]);
	for (i = 5; i < 9; i++) {
		sent[i] = 0;
		text_line(
			x,
			"35 0 connection sock=%d ino=%d conn=%d family=2 sport=80 dport=4000%d side=1"
			" saddr=127.0.0.1 daddr=10.0.0.9",
			i, 1000 + i, i, i);
	}
	text_line(x, "@cpu 0");
}

/* name 0: none. */
static void is_read(struct text *x, int fd, int name)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 2000);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=%d count=99 dur=200", x->t + 3000, fd,
		  NAMED);
	if (name)
		text_line(x, "%ld 100 head conn=%d pos=%ld len=%d name=%d requests=1", x->t + 3000,
			  fd, NAMED * sent[fd]++, NAMED, name);
	x->t += 4000;
}

static void answered(struct text *x, int fd, int name, long work)
{
	is_read(x, fd, name);
	x->t += work;
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x->t, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 1000);
	x->t += MS;
}

static void closes(struct text *x, int fd)
{
	text_line(x, "%ld 0 switch next=100", x->t);
	text_line(x, "%ld 100 syscall nr=close fd=%d dur=200", x->t + 1000, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 2000);
	x->t += MS;
}

/* 0.5 s in which the server waits for a futex, until the end. */
static sqlite3 *hangs(struct text *x)
{
	text_line(x, "%ld 100 switch next=0 state=1", x->t);
	x->t += 500 * MS;
	text_line(x, "@recorder\n%ld 100 syscall_args nr=futex arg0=0x1000 dur=%ld flags=2", x->t,
		  500 * MS);
	return judged(x, NULL);
}

/* The same time, of which it computes so long, then waits for its own timer, then for a futex. */
static sqlite3 *does_several(struct text *x, long computes)
{
	x->t += computes;
	text_line(x, "%ld 100 switch next=0 state=1", x->t);
	x->t += 150 * MS;
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1", x->t + 2000,
		  150 * MS + 4000);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 3000);
	x->t += 150 * MS;
	text_line(x, "@recorder\n%ld 100 syscall_args nr=futex arg0=0x1000 dur=%ld flags=2", x->t,
		  150 * MS - 2500);
	return judged(x, NULL);
}

static void items(struct text *x, int n)
{
	int i;

	for (i = 0; i < n; i++)
		answered(x, 5 + i % 2, GET, 100000 + rand() % 20000);
}

/* One is read on a connection on which nothing was answered. */
static sqlite3 *read_last(int name)
{
	struct text x = { 0 };

	start(&x);
	items(&x, 400);
	is_read(&x, 8, name);
	return hangs(&x);
}

/* That requests of its name have answers is how it is known that it waits for one. */
static void a_name_that_is_answered_waits_on_a_new_connection(void **state)
{
	sqlite3 *db = read_last(GET);

	(void)state;
	is_verdict(db, "problem", "pauses");
	is_within(db, "SELECT dur FROM pause WHERE counts", 499e6, 501e6);
	db_close(db);
	db = read_last(POST); /* as one that takes logs has it */
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	is_verdict(db, "none", "");
	db_close(db);
	db = read_last(0);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	is_verdict(db, "none", "");
	db_close(db);
}

enum way { JUST_BEFORE, EARLIER, NOT_NEW, ASKS_AGAIN, CLOSED, MORE_OF_IT, HANGS_ITSELF, UNREAD };

/* FLUSH is answered before a GET hangs. */
static sqlite3 *flushed(enum way way)
{
	struct text x = { 0 };

	start(&x);
	if (way == NOT_NEW || way == ASKS_AGAIN)
		answered(&x, 8, way == NOT_NEW ? FLUSH : POST, 100000);
	items(&x, 200);
	if (way == EARLIER)
		answered(&x, 7, FLUSH, 100000);
	items(&x, 200);
	if (way != EARLIER)
		answered(&x, 7, FLUSH, 100000);
	if (way == ASKS_AGAIN)
		answered(&x, 7, POST, 100000);
	if (way == MORE_OF_IT) { /* the first one's connection is used, the last one's is not */
		answered(&x, 7, FLUSH, 100000);
		answered(&x, 8, FLUSH, 100000);
	}
	if (way == CLOSED)
		closes(&x, 7);
	is_read(&x, way == HANGS_ITSELF ? 7 : 5, GET);
	if (way == UNREAD) /* the same client asks, and is not read */
		text_line(&x, "%ld 0 segment conn=7 pos=%ld len=%d unread=0", x.t + 50 * MS,
			  NAMED * sent[7], NAMED);
	return hangs(&x);
}

/* A lock that no thread releases: who may hold it, of all sessions that wait for nothing. */
static void what_was_new_just_before_is_named(void **state)
{
	static const enum way others[] = { EARLIER,    NOT_NEW,	     ASKS_AGAIN, CLOSED,
					   MORE_OF_IT, HANGS_ITSELF, UNREAD };
	sqlite3 *db = flushed(JUST_BEFORE);
	size_t i;

	(void)state;
	is_verdict(db, "problem", "pauses");
	is_text(db,
		"SELECT n.name FROM finding f JOIN finding_value v ON v.finding=f.id JOIN request r ON"
		" r.rowid=v.id JOIN request_name n ON n.id=r.name WHERE f.kind='pause_before'",
		"Query FLUSH");
	db_close(db);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		db = flushed(others[i]);
		is_verdict(db, "problem", "pauses");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_before'", 0);
		db_close(db);
	}
}

static s64 named(long computes, bool closed)
{
	struct text x = { 0 };
	sqlite3 *db;
	s64 n;

	start(&x);
	items(&x, 400);
	answered(&x, 7, FLUSH, 100000);
	if (closed)
		closes(&x, 7);
	is_read(&x, 5, GET);
	db = does_several(&x, computes);
	is_verdict(db, "problem", "pauses");
	n = asked(db, "SELECT count(*) FROM finding WHERE kind='pause_before'");
	db_close(db);
	return n;
}

/* Goroutines and the like: no thread shows what they wait for. */
static void what_was_new_is_named_where_no_wait_explains_the_pause(void **state)
{
	(void)state;
	assert_int_equal(named(200 * MS, false), 1);
	/* its thread computes; the session is over */
	assert_int_equal(named(500 * MS, false), 0);
	assert_int_equal(named(200 * MS, true), 0);
}

enum open { OPEN, OLD, SECOND, PASSED, NAMELESS };

/* FLUSH is read, then GETs; none is answered until the end. */
static s64 open_request(enum open way)
{
	struct text x = { 0 };
	sqlite3 *db;
	s64 n;

	start(&x);
	items(&x, 200);
	if (way == SECOND)
		answered(&x, 7, FLUSH, 100000);
	items(&x, 200);
	is_read(&x, 7, way == NAMELESS ? 0 : FLUSH);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 1000);
	x.t += 100000;
	if (way == PASSED)
		answered(&x, 6, GET, 100000);
	is_read(&x, 5, GET);
	if (way == OLD) /* FLUSH has its answer */
		text_line(&x, "%ld 100 syscall nr=write fd=7 ret=900 count=900 dur=200", x.t + 100);
	db = hangs(&x);
	is_verdict(db, "problem", "pauses");
	n = asked(db, "SELECT count(*) FROM finding WHERE kind='pause_unanswered'");
	if (n)
		is_text(db,
			"SELECT n.name FROM finding f JOIN finding_value v ON v.finding=f.id JOIN request_name n ON"
			" n.id=v.id WHERE f.kind='pause_unanswered' AND v.name='name'",
			"Query FLUSH");
	db_close(db);
	return n;
}

/* The first of its name, and nothing that came later has an answer. */
static void what_came_first_and_has_no_answer_is_named(void **state)
{
	(void)state;
	assert_int_equal(open_request(OPEN), 1);
	assert_int_equal(open_request(OLD), 0);
	assert_int_equal(open_request(SECOND), 0);
	assert_int_equal(open_request(PASSED), 0);
	assert_int_equal(open_request(NAMELESS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_came_first_and_has_no_answer_is_named),
		cmocka_unit_test(a_name_that_is_answered_waits_on_a_new_connection),
		cmocka_unit_test(what_was_new_just_before_is_named),
		cmocka_unit_test(what_was_new_is_named_where_no_wait_explains_the_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
