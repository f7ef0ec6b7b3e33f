// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_read.c: what is slow while connections begin or end is no
 * change. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

enum { CLOSES = 1, EARLIER = 2 };

/* A second of nothing, or of requests; then slow requests, usual ones for 3 s, slow ones. */
static sqlite3 *edges(int slow_first, int slow_last, int how)
{
	struct text x = { 0 };
	int fd;

	srand(3);
	head(&x);
	if (how & EARLIER)
		many(&x, 900, 100000, MS);
	x.t = 1000 * MS;
	many(&x, slow_first, 5 * MS, MS);
	many(&x, 2700, 100000, MS);
	many(&x, slow_last, 5 * MS, MS);
	for (fd = 5; fd < 9 && how & CLOSES; fd++)
		text_line(&x, "%ld 100 syscall nr=close fd=%d", x.t += 1000, fd);
	x.t += 50 * MS;
	return judged(&x, NULL);
}

static void slow_first_requests_are_no_change(void **state)
{
	sqlite3 *db = edges(80, 0, 0);

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	/* their connections were used before */
	db = edges(80, 0, EARLIER);
	is_verdict(db, "problem", "slower");
	db_close(db);
	/* for longer than connections take to begin */
	db = edges(240, 0, 0);
	is_verdict(db, "problem", "slower");
	db_close(db);
}

static void slow_last_requests_are_no_change_if_all_connections_close(void **state)
{
	sqlite3 *db = edges(80, 80, CLOSES);

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	db = edges(80, 80, 0);
	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT count(*) FROM verdict_range", 1);
	is_above(db, "SELECT start FROM verdict_range", 1500 * MS);
	db_close(db);
}

enum { NEW = 1, USED = 2, BRIEF = 4, CATCH_UP = 8, SLOW = 16 };

#define CLIENTS 40
#define BATCH	16

static void accepted(struct text *x, int fd)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=accept4 fd=3 ret=%d dur=100", x->t + 2000, fd);
	text_line(x,
		  "%ld 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=accepted socktype=1"
		  " sport=80 dport=%d saddr=127.0.0.1 daddr=10.0.0.9",
		  x->t + 2000, fd, 2000 + fd, 3000 + fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 3000);
	x->t += 10000;
}

/* Requests that are read together and answered one after the other. */
static void batch(struct text *x, long gap)
{
	int i;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 2000);
	for (i = 0; i < BATCH; i++)
		text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x->t + 3000 + 300 * i, 20 + i);
	for (i = 1; i <= BATCH; i++)
		text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200",
			  x->t + i * 400000L + rand() % 90000, 19 + i);
	x->t += (BATCH + 1) * 400000L;
	text_line(x, "%ld 100 switch next=0 state=1", x->t);
	x->t += gap;
}

/* Clients connect, and the first requests are slow, for longer than traffic begins; 3 s follow. */
static sqlite3 *opening(long work, int how)
{
	struct text x = { 0 };
	int i, k;

	srand(3);
	head(&x);
	text_line(&x,
		  "@recorder\n32 100 fd pid=100 fd=3 mode=0140000 ino=99 family=2 role=listening"
		  " socktype=1 sport=80\n@cpu 0");
	x.t = 1000 * MS;
	for (i = 0; i < CLIENTS && how & NEW; i++)
		accepted(&x, 20 + i);
	for (i = 0; i < CLIENTS && how & USED; i++)
		for (k = 0; k < 3; k++)
			request(&x, 20 + i, 100000);
	for (i = 0; i < CLIENTS; i++)
		request(&x, how & NEW ? 20 + i : 5 + i % 4, work);
	for (i = 0; i < 60 && how & (CATCH_UP | SLOW); i++)
		batch(&x, how & SLOW ? 11 * MS : 100000);
	for (i = 0; i < 2700; i++) {
		if (how & BRIEF)
			accepted(&x, 100 + i);
		request(&x, how & BRIEF ? 100 + i : 5 + i % 4, 100000);
		x.t += MS;
	}
	return judged(&x, NULL);
}

static void first_requests_of_new_connections_are_no_change(void **state)
{
	const struct {
		long work;
		int how;
		const char *status;
	} cases[] = {
		{ 18 * MS, NEW, "none" },
		/* clients catch up: they send more than later */
		{ 18 * MS, NEW | CATCH_UP, "none" },
		/* as many requests as later, but slow */
		{ 18 * MS, NEW | SLOW, "problem" },
		/* for long: something is wrong */
		{ 55 * MS, NEW, "problem" },
		/* connections from before the recording; from before, as far as requests go */
		{ 18 * MS, 0, "problem" },
		{ 18 * MS, NEW | USED, "problem" },
		/* all requests are the first of their connections */
		{ 18 * MS, NEW | BRIEF, "problem" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = opening(cases[i].work, cases[i].how);

		is_text(db, "SELECT status FROM verdict WHERE rank=1", cases[i].status);
		db_close(db);
	}
}

#define WAITERS 20

static void part_of_request(struct text *x, const char *io, int fd)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=%s fd=%d ret=29 count=99 dur=200", x->t + 3000, io, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 5000);
	x->t += 6000;
}

/*
 * 3 s of usual requests; then also some of 1.7 s each, which all touch a short pause: they
 * are slow by more than that.
 */
static void requests_far_longer_than_a_pause_are_a_change(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	srand(3);
	head_of(&x, 3 + WAITERS);
	many(&x, 2700, 100000, MS);
	for (i = 0; i < 2 * WAITERS; i++) {
		if (i >= WAITERS)
			part_of_request(&x, "write", 8 + i % WAITERS);
		part_of_request(&x, "read", 8 + i % WAITERS);
		many(&x, 40, 100000, 2 * MS);
		if (i == WAITERS - 1)
			request(&x, 5, 20 * MS);
	}
	db = judged(&x, NULL);
	is_number(db, "SELECT count(*) FROM pause WHERE dur >= 20000000", 1);
	is_verdict(db, "problem", "slower");
	is_above(db, "SELECT max(end)-min(start) FROM verdict_range", 1500 * MS);
	db_close(db);
}

static void all_lossy_is(int requests, const char *sentence)
{
	struct text x = { 0 };
	sqlite3 *db;

	head(&x);
	if (requests)
		many(&x, requests, 100000, MS);
	text_line(&x, "@lost 9\n%ld 100 switch next=0 state=1", x.t);
	db = judged(&x, NULL);
	is_verdict(db, "unknown", "requests");
	is_text(db, "SELECT sentence(finding) FROM verdict", sentence);
	db_close(db);
}

/* Events lost in all of them: requests there were. */
static void lossy_requests_alone_are_said(void **state)
{
	(void)state;
	all_lossy_is(30,
		     "No request is complete: events were lost while each of 30 requests lasted.");
	all_lossy_is(0, "No requests were detected on server sockets.");
}

/* Healthy requests; then `slow` of 300 ms each on two connections, and `lost` events with them. */
static sqlite3 *lost_beside(int slow, int lost)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	many(&x, 1200, 100000, MS);
	text_line(&x, "@block");
	for (i = 0; i < slow; i++)
		request(&x, 5 + i % 2, 300 * MS);
	text_line(&x, "%ld 0 counters cpu=0 group=syscalls seen=9999 lost_full=%d", x.t, lost);
	text_line(&x, "@lost %d\n@block", lost);
	many(&x, 1200, 100000, MS);
	return judged(&x, NULL);
}

/* A lost event falsifies one request; no more than that took long. */
static void slow_requests_with_losses_are_not_called_healthy(void **state)
{
	sqlite3 *db = lost_beside(5, 1);

	(void)state;
	is_verdict(db, "unknown", "loss");
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"Events were lost while 5 requests of up to 300 ms lasted: these are not judged.%");
	db_close(db);
	db = lost_beside(1, 1);
	is_verdict(db, "none", "");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(slow_first_requests_are_no_change),
		T(first_requests_of_new_connections_are_no_change),
		T(slow_last_requests_are_no_change_if_all_connections_close),
		T(requests_far_longer_than_a_pause_are_a_change),
		T(lossy_requests_alone_are_said),
		T(slow_requests_with_losses_are_not_called_healthy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
