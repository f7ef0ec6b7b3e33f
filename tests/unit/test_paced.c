// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that their clients take slowly, and requests that they send slowly: request.blocked,
 * request.rest, and what the verdict makes of them.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

/* Process 100 with connection 5, number 1, on port 80. */
#define HOST                                                                                              \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,net,requests\"\n" \
	"2 100 thread pid=100 state=83 comm=\"server\"\n"                                                 \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80 dport=9\n"         \
	"10 0 info text=\"begin=10\"\n90_000 0 info text=\"stopped=90000\"\n@cpu 0\n"                     \
	"100 0 connection sock=7 ino=77 conn=1 family=2 sport=80 dport=9 side=1\n"
#define READ(ts)       #ts " 100 syscall nr=read fd=5 dur=50 ret=10\n"
#define WRITE(ts, ret) #ts " 100 syscall nr=write fd=5 dur=50 ret=" #ret "\n"
#define ACKED(ts)      #ts " 0 segment conn=1 pos=10 len=0 written=5 unacked=0\n"
#define ARRIVES	       "1000 0 segment conn=1 pos=0 len=10 unread=0\n"
#define BLOCKED	       "SELECT blocked FROM request"

static void from_a_send_that_would_block_to_the_next(void **state)
{
	sqlite3 *db = loaded(HOST ARRIVES READ(2000) WRITE(2500, 5) WRITE(3000, -11)
				     WRITE(4000, -11) WRITE(9000, 5) READ(12000));

	(void)state;
	is_number(db, BLOCKED, 5950);
	db_close(db);
	/* it had taken all, and the server sends only now */
	db = loaded(HOST ARRIVES READ(2000) WRITE(2500, 5) WRITE(3000, -11) ACKED(4000)
			    WRITE(9000, 5) READ(12000));
	is_number(db, BLOCKED, 1000);
	db_close(db);
	db = loaded(HOST ARRIVES READ(2000) WRITE(2500, 5) WRITE(9000, 5) READ(12000));
	is_number(db, BLOCKED, 0);
	db_close(db);
}

static void sends(struct text *x, int from, int to, const char *ret)
{
	int fd;

	text_line(x, "%ld 0 switch next=100", x->t);
	for (fd = from; fd < to; fd++)
		text_line(x, "%ld 100 syscall nr=write fd=%d dur=200 ret=%s", x->t += 1000, fd,
			  ret);
	text_line(x, "%ld 100 switch next=0 state=1", x->t += 1000);
	x->t += MS;
}

/* Segments are recorded, or the sockets are of another kind. */
static void connections(struct text *x, bool tcp)
{
	int fd;

	head_of(x, 14);
	text_line(x, "@recorder\n2 0 info text=\"groups=core,syscalls,sched,net,requests\"");
	for (fd = 5; fd < 19 && tcp; fd++)
		text_line(x,
			  "35 0 connection sock=%d ino=%d conn=%d family=2 sport=80 dport=%d side=1"
			  " saddr=127.0.0.1 daddr=10.0.0.9",
			  fd, 1000 + fd, fd, 40000 + fd);
	text_line(x, "@cpu 0");
}

/* Ten requests for a long answer next to so many others; full: its sends would block. */
static sqlite3 *downloads(bool full, bool tcp, int others)
{
	struct text x = { 0 };
	int fd;

	srand(3);
	connections(&x, tcp);
	many(&x, others, 100000, 2 * MS);
	text_line(&x, "%ld 0 switch next=100", x.t);
	for (fd = 9; fd < 19; fd++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x.t += 1000,
			  fd);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t += 1000);
	x.t += MS;
	sends(&x, 9, 19, "70000");
	if (full)
		sends(&x, 9, 19, "-11");
	if (others)
		many(&x, 500, 100000, 2 * MS);
	else
		x.t += 1000 * MS;
	sends(&x, 9, 19, "70000");
	if (others)
		many(&x, 50, 100000, 2 * MS);
	return judged(&x, NULL);
}

static void downloads_are_not_judged(void **state)
{
	sqlite3 *db = downloads(true, true, 500);

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE dur > 1000000000", 10);
	is_verdict(db, "none", "");
	is_below(db, "SELECT max FROM verdict", 10e6);
	is_number(db, FINDING_VALUE("verdict_paced", "n", "v.number"), 10);
	is_above(db, FINDING_VALUE("verdict_paced", "max", "v.number"), 1e9);
	db_close(db);
	/* no send would block: the server sends the rest late */
	db = downloads(false, true, 500);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_paced'", 0);
	is_above(db, "SELECT max FROM verdict", 1e9);
	db_close(db);
	/* what the client had taken is not known: the server may have been busy */
	db = downloads(true, false, 500);
	is_number(db, "SELECT sum(blocked) + sum(paced) FROM request", 0);
	is_above(db, "SELECT max FROM verdict", 1e9);
	db_close(db);
	/* it serves nothing else */
	db = downloads(true, true, 0);
	is_number(db, "SELECT count(*) FILTER (WHERE blocked) FROM request", 10);
	is_number(db, "SELECT sum(paced) FROM request", 0);
	is_above(db, "SELECT max FROM verdict", 1e9);
	db_close(db);
}

static void parts(struct text *x, bool arrive, bool read, int pos)
{
	int fd;

	for (fd = 9; fd < 19 && arrive; fd++)
		text_line(x, "%ld 0 segment conn=%d pos=%d len=29 unread=0", x->t += 1000, fd, pos);
	text_line(x, "%ld 0 switch next=100", x->t += 1000);
	for (fd = 9; fd < 19 && read; fd++) {
		text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t += 1000,
			  fd);
		if (pos)
			text_line(x, "%ld 100 syscall nr=write fd=%d ret=9 dur=200", x->t += 1000,
				  fd);
	}
	text_line(x, "%ld 100 switch next=0 state=1", x->t += 1000);
	x->t += MS;
}

/* Ten requests in two parts next to others; late: the second has arrived, and is not read. */
static sqlite3 *uploads(bool late)
{
	struct text x = { 0 };

	srand(3);
	connections(&x, true);
	many(&x, 500, 100000, 2 * MS);
	parts(&x, true, true, 0);
	if (late)
		parts(&x, true, false, 29);
	many(&x, 500, 100000, 2 * MS);
	parts(&x, !late, true, 29);
	many(&x, 50, 100000, 2 * MS);
	return judged(&x, NULL);
}

static void uploads_are_not_judged(void **state)
{
	sqlite3 *db = uploads(false);

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE rest > 1000000000", 10);
	is_number(db, "SELECT count(*) FROM request WHERE paced=2", 10);
	is_verdict(db, "none", "");
	is_below(db, "SELECT max FROM verdict", 10e6);
	is_number(db, FINDING_VALUE("verdict_paced", "n", "v.number"), 10);
	db_close(db);
	/* the server reads late what had arrived */
	db = uploads(true);
	is_number(db, "SELECT sum(paced) FROM request", 0);
	is_above(db, "SELECT max FROM verdict", 1e9);
	db_close(db);
}

#define PART(ts, pos, len) #ts " 0 segment conn=1 pos=" #pos " len=" #len " unread=0\n"
#define READS(ts, pos, len, of)                                                         \
#ts " 100 syscall nr=read fd=5 ret=" #len "\n" #ts " 100 head conn=1 pos=" #pos \
	    " len=" #len " " of "\n"

/* A handler that does not read the body: its server does, after the answer. */
static void a_body_read_after_the_answer(void **state)
{
	sqlite3 *db = loaded(
		HOST "3000 0 request_name id=1 protocol=1 name=\"POST /\"\n" PART(5000, 0, 10)
			READS(6000, 0, 10, "name=1 requests=1 rest=4") WRITE(7000, 5) PART(
				7500, 10, 4) READS(8000, 10, 4, "requests=0") PART(50000, 14, 10)
				READS(51000, 14, 10, "name=1 requests=1 rest=0") WRITE(52000, 5));

	(void)state;
	is_number(db, "SELECT count(*) FROM request", 2);
	is_number(db, "SELECT max(dur + queued) FROM request", 2000);
	is_number(db, "SELECT max(recv_bytes) FROM request", 14);
	is_number(db, "SELECT sum(rest) FROM request", 0);
	db_close(db);
	/* it answers more after the body: the client sent that late */
	db = loaded(HOST "3000 0 request_name id=1 protocol=1 name=\"POST /\"\n" PART(5000, 0, 10)
			    READS(6000, 0, 10, "name=1 requests=1 rest=4") WRITE(7000, 5)
				    PART(47000, 10, 4) READS(48000, 10, 4, "requests=0")
					    WRITE(49000, 5));
	is_number(db, "SELECT dur + queued FROM request", 44000);
	is_number(db, "SELECT rest FROM request", 40000);
	db_close(db);
	/* as long as more than was announced: of the next request */
	db = loaded(HOST "3000 0 request_name id=1 protocol=1 name=\"POST /\"\n" PART(5000, 0, 10)
			    READS(6000, 0, 10, "name=1 requests=1 rest=4") WRITE(7000, 5)
				    PART(7500, 10, 14)
					    READS(8000, 10, 14, "name=1 requests=1 first=4")
						    WRITE(9000, 5));
	is_number(db, "SELECT count(*) FROM request", 2);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_a_send_that_would_block_to_the_next),
		cmocka_unit_test(downloads_are_not_judged),
		cmocka_unit_test(uploads_are_not_judged),
		cmocka_unit_test(a_body_read_after_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
