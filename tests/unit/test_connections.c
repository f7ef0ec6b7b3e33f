// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/queues/verdict_connections.c: requests that wait for a connection to another
 * server, and others that wait for its answers.
 */
#include "tests/lib/pooled.h"

#define SECONDS	 4
#define OPEN_MAX 24

struct proxy {
	int limit;   /* questions at one time */
	int later;   /* in the second half, whatever is open; 0: as many */
	int open;    /* connections */
	bool shared; /* all questions on one of them */
	long answer, slow_answer;
	int clients, more; /* in the second half so many more */
	bool rarely; /* one request of four asks; the others wait as long for something else */
	bool stops;  /* none asks in the second half and just before, likewise */
};

/* A process of the server, with a CPU of its own. */
struct run {
	const struct proxy *p;
	struct pool_text *x;
	int pid, nth;
	long at[CLIENTS], pos[CLIENTS], free_at[OPEN_MAX];
};

static void process(struct text *x, const struct run *r)
{
	int i, ino = 1000 + 2000 * r->nth;

	text_line(x, "3 %d thread pid=%d state=83 comm=\"proxy\"", r->pid, r->pid);
	text_line(x,
		  "4 %d fd pid=%d fd=3 mode=0140000 ino=900 family=2 role=1 socktype=1 sport=80%s",
		  r->pid, r->pid, r->nth ? "" : " path=\"socket:[900]\"");
	for (i = 0; i < CLIENTS; i++)
		text_line(
			x,
			"5 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d daddr=10.0.0.9",
			r->pid, r->pid, 10 + i, ino + i, 4000 + 100 * r->nth + i);
	for (i = 0; i < r->p->open; i++)
		text_line(
			x,
			"5 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1 sport=%d"
			" dport=5432 daddr=10.0.0.7%s",
			r->pid, r->pid, 100 + i, ino + 1000 + i, 5000 + 100 * r->nth + i,
			i ? "" : " path=\"socket:[2000]\"");
}

static void begin(struct text *x, const struct run *r, int n)
{
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(x,
		  "1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,requests\"");
	for (i = 0; i < n; i++)
		process(x, &r[i]);
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 0; i < n * CLIENTS; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + i,
			  i + 1, 1000 + 2000 * (i / CLIENTS) + i % CLIENTS, i + 1);
}

static int next_client(const struct run *r, int clients)
{
	int i, c = 0;

	for (i = 1; i < clients; i++)
		c = r->at[i] < r->at[c] ? i : c;
	return c;
}

/* A request of client c; its question leaves when one of the limit's connections is free. */
static void asks(struct run *r, int c, long answer, bool question)
{
	long t = r->at[c], asked, end;
	int i, k = 0, fd, limit = r->p->limit;

	if (r->p->later && t >= SECONDS * 500 * POOL_MS)
		limit = r->p->later;
	for (i = 1; i < limit; i++)
		k = r->free_at[i] < r->free_at[k] ? i : k;
	fd = 100 + (r->p->shared ? 0 : k);
	asked = (r->free_at[k] > t ? r->free_at[k] : t) + 20000;
	end = asked + answer;
	if (question)
		r->free_at[k] = end;
	r->x->cpu = r->nth;
	pool_line(r->x, t, "0 segment conn=%d pos=%ld len=10 unread=0", r->nth * CLIENTS + c + 1,
		  r->pos[c]);
	r->pos[c] += 10;
	pool_line(r->x, t + 10000, "%d syscall nr=read fd=%d dur=1000 ret=10", r->pid, 10 + c);
	if (question) {
		pool_line(r->x, asked, "%d syscall nr=write fd=%d dur=1000 ret=10", r->pid, fd);
		pool_line(r->x, end, "%d syscall nr=read fd=%d dur=1000 ret=10", r->pid, fd);
	}
	pool_line(r->x, end + 10000, "%d syscall nr=write fd=%d dur=1000 ret=20", r->pid, 10 + c);
	r->at[c] = end + POOL_MS;
}

/* What one process does in all the time. */
static void runs(struct run *r, long half)
{
	const struct proxy *p = r->p;
	int i, c, clients = p->clients, n = 0;

	for (i = 0; i < CLIENTS; i++)
		r->at[i] = (i < p->clients ? POOL_MS : half) + i * 300000L;
	for (;;) {
		bool question = !p->rarely || n++ % 4 == 0;
		long answer;

		c = next_client(r, clients);
		if (clients == p->clients && r->at[c] >= half)
			clients += p->more;
		if (r->at[c] > 2 * half - 200 * POOL_MS)
			break;
		answer = r->at[c] < half ? p->answer : p->slow_answer;
		question &= !p->stops || r->at[c] < half - 100 * POOL_MS;
		asks(r, c, answer - rand() % (answer / 10), question);
	}
}

/* other: a second process of the server, if any. */
static sqlite3 *judged_both(const struct proxy *p, const struct proxy *other)
{
	struct pool_text lines = { 0 };
	struct run r[2] = { { p, &lines, 100, 0, { 0 }, { 0 }, { 0 } },
			    { other, &lines, 200, 1, { 0 }, { 0 }, { 0 } } };
	struct text x = { 0 };
	long half = SECONDS * 500 * POOL_MS;
	int i, n = other ? 2 : 1;
	sqlite3 *db;

	srand(3);
	begin(&x, r, n);
	lines.v = calloc(POOL_LINES, sizeof(*lines.v));
	for (i = 0; i < n; i++)
		runs(&r[i], half);
	db = pool_loaded(&x, &lines, 2 * half);
	analysed(db, "pauses");
	return analysed(db, "verdict");
}

static sqlite3 *judged(const struct proxy *p)
{
	return judged_both(p, NULL);
}

static void all_connections_are_busy(void **state)
{
	sqlite3 *db = judged(&(struct proxy){ .limit = 2,
					      .open = 2,
					      .answer = 5 * POOL_MS,
					      .slow_answer = 5 * POOL_MS,
					      .clients = 2,
					      .more = 12 });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_number(db, FINDING_VALUE("verdict_connections", "n", "v.number"), 2);
	is_within(db, FINDING_VALUE("verdict_connections", "full", "v.number"), 85, 100);
	is_within(db, FINDING_VALUE("verdict_connections", "queued", "v.number"), 20e6, 30e6);
	is_within(db, FINDING_VALUE("verdict_connections", "answer", "v.number"), 4.4e6, 5.1e6);
	is_text(db,
		"SELECT f.remote FROM finding_value v JOIN fd f ON f.rowid=v.id WHERE v.name='upstream'",
		"10.0.0.7:5432");
	db_close(db);
}

/* A limit of connections is not known: it may be one object after the other. */
static void one_question_at_a_time(void **state)
{
	sqlite3 *db = judged(&(struct proxy){ .limit = 1,
					      .open = 1,
					      .answer = 5 * POOL_MS,
					      .slow_answer = 5 * POOL_MS,
					      .clients = 1,
					      .more = 6 });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_within(db, FINDING_VALUE("verdict_one_question", "full", "v.number"), 85, 100);
	is_within(db, FINDING_VALUE("verdict_one_question", "queued", "v.number"), 20e6, 30e6);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_connections'", 0);
	db_close(db);
}

/* The connections stay open: it is a limit of questions, and it was set then. */
static void fewer_questions_than_before(void **state)
{
	sqlite3 *db = judged(&(struct proxy){ .limit = 8,
					      .later = 2,
					      .open = 8,
					      .answer = 5 * POOL_MS,
					      .slow_answer = 5 * POOL_MS,
					      .clients = 8 });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_number(db, FINDING_VALUE("verdict_questions", "n", "v.number"), 2);
	is_number(db, FINDING_VALUE("verdict_questions", "before", "v.number"), 8);
	is_within(db, FINDING_VALUE("verdict_questions", "full", "v.number"), 85, 100);
	is_within(db, FINDING_VALUE("verdict_questions", "answer", "v.number"), 4.4e6, 5.1e6);
	db_close(db);
}

static void both_are_silent(const struct proxy *p, const struct proxy *other)
{
	sqlite3 *db = judged_both(p, other);

	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_number(db,
		  "SELECT count(*) FROM finding WHERE kind IN ('verdict_connections',"
		  " 'verdict_questions')",
		  0);
	db_close(db);
}

static void is_silent(const struct proxy *p)
{
	both_are_silent(p, NULL);
}

/* Each request has its question, which takes longer. */
static void a_slow_server_is_no_limit(void **state)
{
	(void)state;
	is_silent(&(struct proxy){ .limit = 20,
				   .open = 20,
				   .answer = 5 * POOL_MS,
				   .slow_answer = 40 * POOL_MS,
				   .clients = 8 });
}

/* Connections are left: something else limits the questions. */
static void idle_connections_are_left(void **state)
{
	(void)state;
	is_silent(&(struct proxy){ .limit = 2,
				   .open = 8,
				   .answer = 5 * POOL_MS,
				   .slow_answer = 5 * POOL_MS,
				   .clients = 2,
				   .more = 12 });
}

/* Each of two processes has that limit. */
static void processes_have_limits_of_their_own(void **state)
{
	const struct proxy p = { .limit = 8,
				 .later = 2,
				 .open = 8,
				 .answer = 5 * POOL_MS,
				 .slow_answer = 5 * POOL_MS,
				 .clients = 8 };
	sqlite3 *db = judged_both(&p, &p);

	(void)state;
	is_number(db, FINDING_VALUE("verdict_questions", "n", "v.number"), 4);
	is_within(db, FINDING_VALUE("verdict_questions", "before", "v.number"), 9, 16);
	is_within(db, FINDING_VALUE("verdict_questions", "full", "v.number"), 70, 100);
	is_within(db, FINDING_VALUE("verdict_questions", "answer", "v.number"), 4.4e6, 5.1e6);
	db_close(db);
}

/*
 * One process asks as before and has no request that waits. The requests of the other take longer,
 * and ask nothing: they do not wait for the answers to the first one.
 */
static void who_asks_nothing_waits_for_no_answer(void **state)
{
	(void)state;
	both_are_silent(&(struct proxy){ .limit = 1,
					 .open = 1,
					 .answer = 5 * POOL_MS,
					 .slow_answer = 5 * POOL_MS,
					 .clients = 1 },
			&(struct proxy){ .limit = 4,
					 .open = 4,
					 .answer = 5 * POOL_MS,
					 .slow_answer = 60 * POOL_MS,
					 .clients = 1,
					 .more = 3,
					 .stops = true });
}

/* All questions are on one connection, at one time. */
static void one_connection_for_all(void **state)
{
	(void)state;
	is_silent(&(struct proxy){ .limit = 20,
				   .open = 1,
				   .shared = true,
				   .answer = 5 * POOL_MS,
				   .slow_answer = 40 * POOL_MS,
				   .clients = 8 });
}

/* Most requests wait for something else. */
static void few_requests_ask(void **state)
{
	(void)state;
	is_silent(&(struct proxy){ .limit = 2,
				   .open = 2,
				   .answer = 5 * POOL_MS,
				   .slow_answer = 40 * POOL_MS,
				   .clients = 8,
				   .rarely = true });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(all_connections_are_busy),
		T(one_question_at_a_time),
		T(fewer_questions_than_before),
		T(a_slow_server_is_no_limit),
		T(idle_connections_are_left),
		T(one_connection_for_all),
		T(few_requests_ask),
		T(processes_have_limits_of_their_own),
		T(who_asks_nothing_waits_for_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
