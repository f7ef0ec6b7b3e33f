// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/request/request_tree.c: requests that several threads of a process work on. */
#include "tests/lib/request_trees.h"

/* Thread 100 receives, worker 101 answers: two clients, one after the other, each with a question
 * of its own. */
#define WORKER "2 101 thread pid=100 state=83 comm=\"worker\"\n"
#define HELPER "2 102 thread pid=100 state=83 comm=\"helper\"\n"
#define TWO_HANDED                                                                 \
	BEGIN READ(1000, 100, 5) READ(1100, 100, 7) /* both wait for the worker */ \
		WRITE(1200, 101, 6) READ(2000, 101, 6)                             \
			WRITE(2100, 101, 5) /* the first is answered */            \
		WRITE(2200, 101, 8) READ(3000, 101, 8) WRITE(3100, 101, 7)

static void a_worker_takes_one_request_after_the_other(void **state)
{
	sqlite3 *db = loaded(HEAD WORKER TWO_TIERS TWO_HANDED);
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));

	(void)state;
	assert_int_equal(t->n, 2);
	assert_int_equal(t->v[1].question.fd, 6);
	assert_int_equal(t->v[0].of_others, 0);
	t = tree_of(db, request_on(db, 100, 7, 0));
	assert_int_equal(t->n, 2);
	assert_int_equal(t->v[1].question.fd,
			 8); /* that of the first was asked after it had been read, too */
	assert_int_equal(t->v[1].others, 0);
	is_number(db, "SELECT receiver FROM request WHERE fd=7", 100);
	db_close(db);
}

/* What the receiving thread asks before it hands the request over, and what the worker asks then.
 */
static void both_threads_of_a_request_ask(void **state)
{
	sqlite3 *db = loaded(HEAD WORKER TWO_TIERS BEGIN READ(1000, 100, 5) WRITE(1100, 100, 6)
				     READ(1500, 100, 6) WRITE(1600, 101, 8) READ(2000, 101, 8)
					     WRITE(2100, 101, 5));
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));

	(void)state;
	assert_int_equal(t->n, 3);
	assert_int_equal(t->v[1].question.fd, 6);
	assert_int_equal(t->v[2].question.fd, 8);
	db_close(db);
}

/* One thread reads clients and asks, the other reads answers and answers: each question has its
 * request. */
static void questions_are_those_of_the_thread_that_asks(void **state)
{
	sqlite3 *db =
		loaded(HEAD WORKER TWO_TIERS BEGIN READ(1000, 100, 5) WRITE(1100, 100, 6)
			       READ(1200, 100, 7) WRITE(1300, 100, 8) READ(2000, 101, 6)
				       WRITE(2100, 101, 5) READ(2200, 101, 8) WRITE(2300, 101, 7));
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));

	(void)state;
	assert_int_equal(t->n, 2);
	assert_int_equal(t->v[1].question.fd, 6);
	t = tree_of(db, request_on(db, 100, 7, 0));
	assert_int_equal(t->n, 2);
	assert_int_equal(t->v[1].question.fd, 8);
	is_number(db, "SELECT asker FROM upstream WHERE fd=8", 100);
	db_close(db);
}

/* A worker that has received a request of its own answers another one on the way: that one's
 * question is not its. */
static void a_request_taken_over_has_its_own_questions(void **state)
{
	sqlite3 *db = loaded(HEAD WORKER TWO_TIERS BEGIN READ(1000, 101, 5) READ(1100, 100, 7)
				     WRITE(1200, 101, 8) READ(1400, 101, 8) WRITE(1500, 101, 7)
					     WRITE(2000, 101, 5));

	(void)state;
	assert_int_equal(tree_of(db, request_on(db, 100, 5, 0))->n, 1);
	assert_int_equal(tree_of(db, request_on(db, 100, 7, 0))->n, 2);
	db_close(db);
}

/* The loop receives and answers, a thread without a request asks then: said, not followed. */
static void questions_of_others_are_counted(void **state)
{
	sqlite3 *db = loaded(HEAD HELPER TWO_TIERS BEGIN READ(1000, 100, 5) WRITE(1100, 102, 6)
				     READ(1500, 102, 6) WRITE(2100, 100, 5)
			     /* not so: before it was received */
			     WRITE(2900, 102, 8) READ(3000, 100, 7) READ(3050, 102, 8)
				     WRITE(3100, 100, 7));
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));

	(void)state;
	assert_int_equal(t->n, 1);
	assert_int_equal(t->v[0].of_others, 1);
	has_text(db, t, "; not followed: 1 question of threads without a request");
	is_null(db, "SELECT receiver FROM request WHERE fd=5");
	t = tree_of(db, request_on(db, 100, 7, 0));
	assert_int_equal(t->v[0].of_others, 0);
	db_close(db);
}

/* Another thread asks for a request of its own: that is followed there. */
static void questions_for_other_requests_are_theirs(void **state)
{
	sqlite3 *db = loaded(HEAD HELPER TWO_TIERS BEGIN READ(1000, 100, 5) READ(1050, 102, 7)
				     WRITE(1100, 102, 6) READ(1500, 102, 6) WRITE(1600, 102, 7)
					     WRITE(2100, 100, 5));

	(void)state;
	assert_int_equal(tree_of(db, request_on(db, 100, 5, 0))->v[0].of_others, 0);
	assert_int_equal(tree_of(db, request_on(db, 100, 7, 0))->n, 2);
	db_close(db);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_worker_takes_one_request_after_the_other),
		T(both_threads_of_a_request_ask),
		T(questions_are_those_of_the_thread_that_asks),
		T(a_request_taken_over_has_its_own_questions),
		T(questions_of_others_are_counted),
		T(questions_for_other_requests_are_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
