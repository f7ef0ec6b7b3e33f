// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/request/request_tree.c: requests that wait for requests. */
#include "tests/lib/request_trees.h"

/* The front waits for its back, which sleeps. */
#define SLEEPING_BACK                                                                                                                              \
	BEGIN "900 0 switch next=100\n" READ(1000, 100, 5) WRITE(                                                                                  \
		1100, 100,                                                                                                                         \
		6) "1150 100 switch next=0 state=1\n5000 0 waking target=100\n"                                                                    \
		   "5010 0 switch next=100\n5100 100 syscall nr=read fd=6 dur=3970 ret=10\n" WRITE(                                                \
			   5200, 100,                                                                                                              \
			   5) "@cpu 1\n1150 0 switch next=200\n" READ(1200, 200,                                                                   \
								      3) "1300 200 switch next=0 state=1\n4800 0 waking target=200\n"              \
									 "4810 0 switch next=200\n4850 200 syscall nr=nanosleep dur=3560\n" WRITE( \
										 4900, 200, 3)

/* An event loop has two requests open; each has the question that was asked after its receive. */
static void questions_belong_to_what_was_received_last(void **state)
{
	sqlite3 *db = loaded(HEAD TWO_TIERS BEGIN READ(1000, 100, 5)
				     WRITE(1100, 100, 6)	   /* the first asks */
			     READ(1200, 200, 3) READ(2000, 100, 7) /* the second comes */
			     WRITE(2100, 100, 8) READ(2200, 200, 4) WRITE(3000, 200, 4)
				     READ(3100, 100, 8) WRITE(3200, 100, 7) WRITE(5000, 200, 3)
					     READ(5100, 100, 6) WRITE(5200, 100, 5));
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));

	(void)state;
	assert_int_equal(t->n, 3);
	assert_int_equal(t->v[1].question.fd, 6);
	assert_int_equal(t->v[1].end, PATH_FOLLOWED);
	assert_int_equal(t->v[1].others, 0);
	assert_int_equal(t->v[2].id, request_on(db, 200, 3, 0));
	assert_int_equal(t->v[2].depth, 2);
	assert_int_equal(t->v[1].network, (1200 - 1100) + (5100 - 5000));
	t = tree_of(db, request_on(db, 100, 7, 0));
	assert_int_equal(t->n, 3);
	assert_int_equal(t->v[1].question.fd, 8);
	assert_int_equal(t->v[1].others, 1); /* the first is open as well */
	assert_int_equal(t->v[2].id, request_on(db, 200, 4, 0));
	db_close(db);
}

/* What is asked after an answer belongs to the request of the question that it answers. */
static void questions_in_a_row_belong_to_one_request(void **state)
{
	sqlite3 *db = loaded(HEAD TWO_TIERS BEGIN READ(1000, 100, 5) WRITE(1100, 100, 6)
				     READ(2000, 100, 7) WRITE(2100, 100, 8) READ(3000, 100, 6)
					     WRITE(3100, 100, 6) /* of the first again */
			     READ(4000, 100, 8) WRITE(4100, 100, 7) READ(5000, 100, 6)
				     WRITE(5100, 100, 5));
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));

	(void)state;
	assert_int_equal(t->n, 3);
	assert_int_equal(t->v[1].question.fd, 6);
	assert_int_equal(t->v[2].question.fd, 6);
	assert_int_equal(t->v[2].question.ts, 3100 - 10);
	t = tree_of(db, request_on(db, 100, 7, 0));
	assert_int_equal(t->n, 2);
	assert_int_equal(t->v[1].question.fd, 8);
	db_close(db);
}

/* The look-alikes: a process has the address but not the port; it received nothing at that time. */
static void peers_that_are_not_there_are_not_followed(void **state)
{
	sqlite3 *db = loaded(
		HEAD FD(100, 5, 2, 80, 4005) FD(100, 6, 3, 4006, 90) FD(100, 8, 3, 4008, 90)
			FD(200, 3, 2, 90, 4999) FD(200, 4, 2, 90, 4008) BEGIN READ(1000, 100, 5)
				READ(1010, 200, 3) WRITE(1100, 100, 6) READ(2000, 100, 6) WRITE(
					2050, 200, 3) WRITE(2100, 100, 5) READ(3000, 100, 5)
					WRITE(3100, 100, 8) READ(3150, 200, 4) WRITE(3200, 200, 4)
						READ(3250, 100, 8) WRITE(3300, 100, 8)
							READ(9000, 100, 8) WRITE(9100, 100, 5));
	const struct request_tree *t;

	(void)state;
	t = tree_of(db, request_on(db, 100, 5, 0));
	assert_int_equal(t->n, 2);
	assert_int_equal(t->v[1].end, PATH_NO_PROCESS);
	has_text(db, t, "; no recorded process has the other end of the connection");
	has_text(db, t, "Not followed: 1 of 1 question.");
	t = tree_of(db, request_on(db, 100, 5, 2500));
	assert_int_equal(t->n, 4);
	assert_int_equal(t->v[1].end, PATH_FOLLOWED);
	assert_int_equal(t->v[3].end, PATH_NO_REQUEST); /* that of 3150 was answered before */
	has_text(db, t, "; its process received no request there at that time");
	assert_int_equal(request_tree_make(&(struct request_tree){ 0 }, db, 99, NULL), ERR_FAIL);
	db_close(db);
}

/* The front waits for its back, which sleeps: the sleep is the longest part, not the wait for it.
 */
static void the_longest_part_is_at_the_end_of_the_path(void **state)
{
	sqlite3 *db = loaded(HEAD TWO_TIERS SLEEPING_BACK);
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));
	struct part longest = request_tree_longest(t);

	(void)state;
	assert_int_equal(t->n, 3);
	assert_int_equal(t->v[0].waits[STATE_client], 5000 - 1150);
	assert_int_equal(longest.kind, PART_WAIT);
	assert_int_equal(longest.state, STATE_timer);
	assert_int_equal(longest.step, 2);
	assert_int_equal(longest.ns, 4800 - 1300);
	db_close(db);
}

/* The back asks the front on the connection on which it asked for this request, while it lasts. */
static void a_circle_ends_where_it_closes(void **state)
{
	sqlite3 *db = loaded(
		HEAD FD(100, 5, 2, 80, 4005) FD(100, 6, 3, 4006, 90) FD(200, 3, 2, 90, 4006)
			FD(200, 9, 3, 4005, 80) BEGIN READ(1000, 100, 5) WRITE(1100, 100, 6)
				READ(1200, 200, 3) WRITE(1250, 200, 9) WRITE(1800, 200, 3)
					READ(1850, 100, 6) WRITE(1900, 100, 5) READ(2000, 200, 9));
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));

	(void)state;
	assert_int_equal(t->n, 4);
	assert_int_equal(t->v[1].end, PATH_FOLLOWED);
	assert_int_equal(t->v[3].question.fd, 9);
	assert_int_equal(t->v[3].end, PATH_SEEN);
	has_text(db, t, "; its request is above already");
	has_text(db, t, "Not followed: 1 of 2 questions.");
	db_close(db);
}

static const struct request_path *path_of(sqlite3 *db, const struct request_tree *t)
{
	static struct request_path path;
	struct moment moments[HOST_LIMIT];
	struct spans spans = { 0 };

	assert_int_equal(spans_load(&spans, db, moments, request_path_moments(moments, t), NULL),
			 0);
	request_path_make(&path, t, &spans);
	spans_free(&spans);
	return &path;
}

/* From the arrival to the answer, without gaps. */
static void assert_whole(const struct request_path *p, const struct request_tree *t)
{
	const struct row_request *r = &t->v[0].request;
	s64 at = r->ts - r->queued;
	int i;

	for (i = 0; i < p->n; i++) {
		assert_int_equal(p->v[i].ts, at);
		assert_true(p->v[i].dur > 0);
		at += p->v[i].dur;
	}
	assert_int_equal(at, r->ts + r->dur);
}

static s64 time_of(const struct request_path *p, enum path_what what, int step, enum state state)
{
	s64 ret = 0;
	int i;

	for (i = 0; i < p->n; i++)
		if (p->v[i].what == what && p->v[i].step == step && p->v[i].state == state)
			ret += p->v[i].dur;
	return ret;
}

static void the_path_goes_through_the_peer(void **state)
{
	sqlite3 *db = loaded(HEAD TWO_TIERS SLEEPING_BACK);
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));
	const struct request_path *p = path_of(db, t);

	(void)state;
	assert_whole(p, t);
	assert_int_equal(time_of(p, PATH_STATE, 2, STATE_timer), 4800 - 1300);
	assert_int_equal(time_of(p, PATH_NETWORK, 1, STATE_unknown), (1200 - 1100) + (5000 - 4900));
	assert_int_equal(time_of(p, PATH_STATE, 0, STATE_woken), 10);
	assert_int_equal(time_of(p, PATH_STATE, 0, STATE_client), 0);
	assert_int_equal(request_paths_put(db, NULL), 0);
	is_number(db,
		  "SELECT sum(dur) FROM request_path WHERE request=(SELECT rowid FROM request"
		  " WHERE pid=100)",
		  5200 - 1000);
	is_number(db,
		  "SELECT dur FROM request_path WHERE depth=1 AND state=state_id('timer') AND"
		  " request=(SELECT rowid FROM request WHERE pid=100)",
		  3500);
	db_close(db);
}

/* Both backs are asked at once: the second answer is waited for, the first one is there before. */
static void the_path_takes_the_last_of_questions_asked_at_once(void **state)
{
	sqlite3 *db = loaded(
		HEAD TWO_TIERS BEGIN
		"900 0 switch next=100\n" READ(1000, 100, 5) WRITE(1100, 100, 6) WRITE(
			1120, 100, 8) "1150 100 switch next=0 state=1\n"
				      "5000 0 waking target=100\n5010 0 switch next=100\n"
				      "5100 100 syscall nr=read fd=8 dur=3970 ret=10\n" READ(5150,
											     100, 6)
					      WRITE(5200, 100, 5) "@cpu 1\n" READ(1200, 200, 3)
						      WRITE(1300, 200, 3) READ(1310, 200, 4)
							      WRITE(4900, 200, 4));
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 0));
	const struct request_path *p = path_of(db, t);
	int i, peers[2] = { 0 };

	(void)state;
	assert_int_equal(t->n, 5);
	assert_whole(p, t);
	for (i = 0; i < p->n; i++)
		if (t->v[p->v[i].step].is_request && t->v[p->v[i].step].depth)
			peers[t->v[p->v[i].step].request.fd == 4] += p->v[i].dur > 0;
	assert_int_equal(peers[0], 0);
	assert_true(peers[1] > 0);
	db_close(db);
}

/* ---- several hosts ---- */

#define ENDS(id, n, role, from, to, local, remote)                                            \
	"4 " #id " fd pid=" #id " fd=" #n " mode=0140000 ino=" #id #n " family=2 role=" #role \
	" socktype=1 sport=" #from " dport=" #to " saddr=" local " daddr=" remote "\n"
#define TWO_HOSTS                                                                                  \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,sched\"\n" \
	"1 0 info text=\"host=near\"\n1 0 info text=\"2.host=far\"\n"                              \
	"1 0 info text=\"1.pid_offset=0\"\n1 0 info text=\"2.pid_offset=10000000\"\n" THREAD(      \
		100, "front") THREAD(10000200, "back")
#define FRONT_END ENDS(100, 5, 2, 80, 4005, "10.0.0.1", "10.0.0.9")

/*
 * n requests, one every 1 ms. The far clock is ahead by so much; a message needs 40 us there and 60
 * us back; sizes differ, so that there is one alignment.
 */
static void exchanges(struct text *x, int n, long ahead, int moved_from, long moved)
{
	int i;

	text_line(x, "@cpu 0");
	for (i = 0; i < n; i++) {
		x->t = 1000000 + i * 1000000;
		text_line(x, "%ld 100 syscall nr=read fd=5 dur=10 ret=10", x->t);
		text_line(x, "%ld 100 syscall nr=write fd=6 dur=10 ret=%d", x->t + 10000,
			  20 + i * 7 % 13);
		text_line(x, "%ld 100 syscall nr=read fd=6 dur=10 ret=30", x->t + 300000);
		text_line(x, "%ld 100 syscall nr=write fd=5 dur=10 ret=30", x->t + 310000);
	}
	text_line(x, "@cpu 1000");
	for (i = 0; i < n; i++) {
		x->t = 1000000 + i * 1000000 + ahead + (i >= moved_from ? moved : 0);
		text_line(x, "%ld 10000200 syscall nr=read fd=3 dur=10 ret=%d", x->t + 50000,
			  20 + i * 7 % 13);
		text_line(x, "%ld 10000200 syscall nr=write fd=3 dur=10 ret=30", x->t + 240000);
	}
}

static sqlite3 *two_hosts(const char *ends, int n, long ahead, int moved_from, long moved)
{
	struct text x = { 0 };

	assert_int_equal(buf_printf(&x.b, NULL, "%s%s%s", TWO_HOSTS FRONT_END, ends, BEGIN), 0);
	exchanges(&x, n, ahead, moved_from, moved);
	return loaded_buf(&x.b);
}

#define FAR_END                                           \
	ENDS(100, 6, 3, 4006, 90, "10.0.0.1", "10.0.0.2") \
	ENDS(10000200, 3, 2, 90, 4006, "10.0.0.2", "10.0.0.1")

/* Longer than the time between two requests, either way, and none. */
static void clocks_are_corrected_by_messages(void **state)
{
	static const long ahead[] = { 0, 30000, 7300000, 2000000 };
	const struct request_tree *t;
	const struct host_clock *far;
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		db = two_hosts(FAR_END, 20, ahead[i], 99, 0);
		t = tree_of(db, request_on(db, 100, 5, 9500000));
		far = &t->clocks.v[1];
		assert_int_equal(t->clocks.n, 2);
		assert_string_equal(far->name, "far");
		assert_true(far->known);
		assert_true(labs(far->add + ahead[i]) <= far->error);
		assert_in_range(far->error, 1, 60000);
		assert_int_equal(far->against, 0);
		assert_int_equal(far->others, 0);
		assert_int_equal(t->n, 3);
		assert_int_equal(t->v[1].end, PATH_FOLLOWED);
		assert_int_equal(t->v[2].request.recv_bytes, t->v[1].question.send_bytes);
		/* both directions together do not depend on the offset */
		assert_int_equal(t->v[1].network, 40000 + 60000);
		assert_whole(path_of(db, t), t);
		db_close(db);
	}
}

/* In the middle the far clock is set back by half a millisecond: no offset fits all messages. */
static void messages_against_causality_are_counted(void **state)
{
	sqlite3 *db = two_hosts(FAR_END, 20, 0, 10, -500000);
	const struct request_tree *t = tree_of(db, request_on(db, 100, 5, 9500000));

	(void)state;
	assert_true(t->clocks.v[1].known);
	assert_in_range(t->clocks.v[1].against, 1, 40);
	assert_true(t->clocks.v[1].error >= 199000);
	/* of the later half, from the tenth exchange on, or of the earlier one */
	assert_in_range(t->clocks.v[1].against_from, 1000000, 20000000);
	assert_in_range(t->clocks.v[1].against_to, t->clocks.v[1].against_from, 21000000);
	has_text(db, t, " contradict the others, from ");
	db_close(db);
}

#define LOOPBACK                                            \
	ENDS(100, 6, 3, 4006, 90, "127.0.0.1", "127.0.0.1") \
	ENDS(10000200, 3, 2, 90, 4006, "127.0.0.1", "127.0.0.1")

static void loopback_of_ipv6_is_of_one_host(void **state)
{
	sqlite3 *db = two_hosts(LOOPBACK, 5, 0, 99, 0);

	(void)state;
	assert_int_equal(db_exec(db, NULL,
				 "UPDATE fd SET local = replace(local, '127.0.0.1', '[::1]'),"
				 " remote = replace(remote, '127.0.0.1', '[::1]')"),
			 0);
	assert_int_equal(tree_of(db, request_on(db, 100, 5, 2500000))->v[1].end, PATH_NO_PROCESS);
	db_close(db);
}

static void translated_addresses_are_named(void **state)
{
	static const struct {
		const char *ends, *translated;
	} cases[] = {
		/* a service's address stands for the server */
		{ ENDS(100, 6, 3, 4006, 90, "10.0.0.1", "10.96.0.7")
			  ENDS(10000200, 3, 2, 9090, 4006, "10.0.0.2", "10.0.0.1"),
		  "10.0.0.2:9090" },
		/* a gateway's address stands for the client */
		{ ENDS(100, 6, 3, 4006, 90, "10.0.0.1", "10.0.0.2")
			  ENDS(10000200, 3, 2, 90, 4006, "10.0.0.2", "10.0.0.254"),
		  "10.0.0.254:4006" },
		/* the port belongs to another connection of the client's, which is recorded */
		{ ENDS(100, 6, 3, 4006, 90, "10.0.0.1", "10.0.0.3")
			  ENDS(100, 8, 3, 4006, 90, "10.0.0.1", "10.0.0.2")
				  ENDS(10000200, 3, 2, 90, 4006, "10.0.0.2", "10.0.0.1"),
		  NULL },
		/* loopback addresses are the same on every host */
		{ LOOPBACK, NULL },
	};
	const struct request_tree *t;
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		db = two_hosts(cases[i].ends, 5, 0, 99, 0);
		t = tree_of(db, request_on(db, 100, 5, 2500000));
		assert_int_equal(t->v[1].end,
				 cases[i].translated ? PATH_FOLLOWED : PATH_NO_PROCESS);
		assert_string_equal(t->v[1].translated,
				    cases[i].translated ? cases[i].translated : "");
		db_close(db);
	}
}

/* A database can come from elsewhere, with any text in its columns. */
static void translated_addresses_reach_no_terminal_raw(void **state)
{
	static struct request_path path;
	struct request_tree *t;
	struct spans spans = { 0 };
	struct moment moments[HOST_LIMIT];
	struct buf out = { 0 };
	sqlite3 *db = two_hosts(ENDS(100, 6, 3, 4006, 90, "10.0.0.1", "10.96.0.7")
					ENDS(10000200, 3, 2, 9090, 4006, "10.0.0.2", "10.0.0.1"),
				5, 0, 99, 0);

	(void)state;
	assert_int_equal(db_exec(db, NULL, "UPDATE fd SET local = char(27) || '[2J' WHERE fd=3"),
			 0);
	t = tree_of(db, request_on(db, 100, 5, 2500000));
	assert_int_equal(t->v[1].translated[0], 27);
	assert_int_equal(spans_load(&spans, db, moments, request_path_moments(moments, t), NULL),
			 0);
	request_path_make(&path, t, &spans);
	assert_int_equal(request_text(&out, db, t, &path, NULL), 0);
	assert_null(memchr(out.data, 27, out.len));
	buf_free(&out);
	spans_free(&spans);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(questions_belong_to_what_was_received_last),
		T(questions_in_a_row_belong_to_one_request),
		T(the_longest_part_is_at_the_end_of_the_path),
		T(peers_that_are_not_there_are_not_followed),
		T(a_circle_ends_where_it_closes),
		T(the_path_goes_through_the_peer),
		T(the_path_takes_the_last_of_questions_asked_at_once),
		T(clocks_are_corrected_by_messages),
		T(messages_against_causality_are_counted),
		T(loopback_of_ipv6_is_of_one_host),
		T(translated_addresses_are_named),
		T(translated_addresses_reach_no_terminal_raw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
