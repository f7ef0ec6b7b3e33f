// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/replay/requests/track_services.c, track_uses.c, qos_csv.c and the analyses on them: how
 * requests look, the gaps between receives, which system call is chosen, and what is left out for
 * loss.
 */
#include "analyze/analyses/analysis.h"
#include "analyze/commands/ask.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/serving.h"
#include "tests/lib/unit.h"

#include <math.h>

static const char *word(sqlite3 *db, const char *sql)
{
	static char text[200];
	struct err e = { 0 };
	sqlite3_stmt *s;

	if (db_query(&s, db, &e, sql, "") < 0 || db_step(s, &e) <= 0)
		fail_msg("%s: %s", sql, e.text);
	snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return text;
}

static void shapes_of_requests_are_counted(void **state)
{
	sqlite3 *db = loaded(SERVER END_AT(
		"1") "@cpu 0\n"
		     /* 1:1, then 1:2 */
		     "1000 100 syscall nr=read fd=5 ret=20\n2000 100 syscall nr=write fd=5 ret=5\n"
		     "3000 100 syscall nr=read fd=5 ret=40\n4000 100 syscall nr=write fd=5 ret=5\n"
		     "5000 100 syscall nr=write fd=5 ret=5\n"
		     /* 2:1 while another connection waits as well, answered by another thread */
		     "6000 100 syscall nr=read fd=5 ret=10\n6100 100 syscall nr=read fd=6 ret=20\n"
		     "7000 100 syscall nr=read fd=5 ret=10\n8000 101 syscall nr=write fd=5 ret=5\n"
		     "8100 100 syscall nr=write fd=6 ret=5\n"
		     /* 2:2 */
		     "9000 100 syscall nr=read fd=5 ret=30\n9100 100 syscall nr=read fd=5 ret=30\n"
		     "9200 100 syscall nr=write fd=5 ret=5\n9300 100 syscall nr=write fd=5 ret=5\n");

	(void)state;
	is_number(db, "SELECT requests FROM service", 5);
	is_number(db, "SELECT one_many FROM service", 1);
	is_number(db, "SELECT many_one FROM service", 1);
	is_number(db, "SELECT many_many FROM service", 1);
	is_number(db, "SELECT paired FROM service", 1);
	is_number(db, "SELECT handed_over FROM service", 1);
	is_number(db, "SELECT most_open FROM service", 2);
	is_number(db, "SELECT connections FROM service", 2);
	is_number(db, "SELECT sum(requests) FROM request_window", 5);
	is_number(db, "SELECT sum(n) FROM latency_window", 5);
	/* the request of two sends is counted once, with its whole duration */
	is_number(db, "SELECT sum(n) FROM latency WHERE kind='service'", 5);
	is_number(db, "SELECT latency_sum FROM service", 1000 + 2000 + 2000 + 2000 + 300);
	db_close(db);
}

static void ports_and_protocols_are_services_of_their_own(void **state)
{
	sqlite3 *db = loaded(SERVER END_AT(
		"1") "@cpu 0\n"
		     "1000 100 syscall nr=read fd=5 ret=20\n2000 100 syscall nr=write fd=5 ret=5\n"
		     "3000 100 syscall nr=read fd=7 ret=20\n4000 100 syscall nr=write fd=7 ret=5\n"
		     "5000 100 syscall nr=recvfrom fd=8 ret=20\n6000 100 syscall nr=sendto fd=8 ret=5\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM service WHERE requests=1", 3);
	assert_string_equal(
		word(db,
		     "SELECT group_concat(name, ' ') FROM (SELECT name FROM service ORDER BY port)"),
		"server[100]:udp:53 server[100]:80 server[100]:81");
	is_number(db, "SELECT count(DISTINCT service) FROM request", 3);
	db_close(db);
}

/* Receives at 1, 2, 4 and 7 ms: gaps 1, 2, 3 ms; mean 2 ms, squared deviations 2 (ms^2). */
static void gaps_between_receives_have_moments(void **state)
{
	sqlite3 *db = loaded(SERVER END_AT("1") "@cpu 0\n1000000 100 syscall nr=read fd=5 ret=2\n"
						"2000000 100 syscall nr=read fd=6 ret=2\n"
						"4000000 100 syscall nr=read fd=5 ret=2\n"
						"7000000 100 syscall nr=read fd=6 ret=2\n");

	(void)state;
	is_number(db, "SELECT recv_gaps FROM request_window", 3);
	is_number(db, "SELECT recv_gap FROM request_window", 2000000);
	is_number(db, "SELECT recv_m2 FROM request_window", 2000000000000);
	is_number(db, "SELECT send_gaps FROM request_window", 0);
	db_close(db);
}

static void no_gap_spans_lost_events(void **state)
{
	sqlite3 *db = loaded(SERVER END_AT(
		"1") "@cpu 0\n1000000 100 syscall nr=read fd=5 ret=2\n"
		     "1500000 100 syscall nr=read fd=5 ret=2\n"
		     "2000000 100 syscall nr=read fd=5 ret=2\n@block\n@lost 3\n"
		     "9000000 100 syscall nr=read fd=5 ret=2\n"
		     "9500000 0 counters group=syscalls seen=6 emitted=3 lost_full=3\n"
		     "@block\n10000000 100 syscall nr=read fd=5 ret=2\n"
		     "11000000 100 syscall nr=read fd=5 ret=2\n");

	(void)state;
	/* the loss lies between 2 and 9.5 ms: gaps that touch it are none */
	is_number(db, "SELECT sum(recv_gaps) FROM request_window", 2);
	is_number(db, "SELECT sum(recv_gap * recv_gaps) FROM request_window", 1500000);
	db_close(db);
}

/* n requests, one every 10 ms; after some of them, `extra` more lines. */
static sqlite3 *server_of(int n, const char *seconds, bool varied)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	int i, k;

	buf_printf(&text, &e, "%s%s_000_000_010 0 info text=\"stopped=%s000000010\"\n@cpu 0\n",
		   SERVER, seconds, seconds);
	for (i = 0; i < n; i++) {
		long long ts = 1000000 + i * 10000000ll;

		buf_printf(&text, &e, "%lld 100 syscall nr=read fd=5 ret=20\n", ts);
		buf_printf(&text, &e, "+1000 100 syscall nr=sendmsg fd=5 ret=20\n");
		for (k = 0; varied && k < i % 4 * 3; k++)
			buf_printf(&text, &e, "+100 100 syscall nr=write fd=5 ret=20\n");
	}
	return analysed(loaded_buf(&text), NULL);
}

static void the_steady_call_is_chosen(void **state)
{
	sqlite3 *db = server_of(200, "2", true);

	(void)state;
	/* one sendmsg in each request; 0, 3, 6 or 9 writes, more in all */
	is_number(db,
		  "SELECT n FROM socket_use JOIN syscall_name USING(abi, nr) WHERE "
		  "name='write'",
		  900);
	is_number(db, METRIC("rps", "sends/request"), 1000);
	is_number(db, METRIC("rps", "spread"), 0);
	is_number(db, METRIC("rps", "sends"), 100000);
	is_number(db, METRIC("rps", "requests"), 100000);
	is_number(db, FINDING_VALUE("several_sends", "share", "round(number)"), 75);
	db_close(db);
}

/* Requests of 50 bytes on a shared connection: 1, 2, 3 and 4 in turn make 2.5 times 100 per second.
 */
static void receives_with_several_requests_are_not_counted(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	buf_printf(&text, &e, "%s%s@cpu 0\n", SERVER, END_AT("2"));
	for (i = 0; i < 200; i++)
		buf_printf(&text, &e,
			   "%lld 100 syscall nr=read fd=5 ret=%d\n"
			   "+500 100 syscall nr=write fd=5 ret=9\n"
			   "+500 100 syscall nr=write fd=5 ret=%d\n",
			   1000000 + i * 10000000ll, 50 * (1 + i % 4), 30 * (1 + i % 4) - 9);
	db = loaded_buf(&text);
	analysed(db, NULL);
	is_number(db, METRIC("rps", "requests"), 100000);
	assert_in_range(asked(db, "SELECT value FROM metric WHERE name='received'"), 12500, 12600);
	assert_in_range(asked(db, "SELECT value FROM metric WHERE name='sent'"), 7500, 7560);
	is_number(db, FINDING_VALUE("several_sends", "share", "round(number)"), 100);
	db_close(db);
}

#define OF_ALL(m)                                                                           \
	"SELECT round(1000 * value) FROM metric WHERE analysis='rps' AND name='" m "' AND " \
	"subject_kind='server' AND subject_id=(SELECT id FROM server WHERE port=90)"

/* Three workers: 200 requests of 1 us, 100 of 2 us and 10, too few for a rate of their own. */
static void workers_of_one_socket_are_one_server(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;

	(void)state;
	buf_printf(&text, &e, "%s%s\n",
		   SERVER WORKER("200") WORKER("201") WORKER("202") END_AT("2"), "@cpu 0");
	worker(&text, 200, 200, 1000000, 10000000, 1000);
	buf_printf(&text, &e, "@cpu 1\n");
	worker(&text, 201, 100, 3000000, 20000000, 2000);
	buf_printf(&text, &e, "@cpu 2\n");
	worker(&text, 202, 10, 6000000, 100000000, 1000);
	buf_printf(&text, &e, "@cpu 3\n");
	worker(&text, 100, 50, 7000000, 20000000, 1000);
	db = loaded_buf(&text);
	analysed(db, NULL);
	/* 310 in 2 s */
	is_number(db, OF_ALL("requests"), 155000);
	is_number(db, OF_ALL("sends"), 155000);
	is_number(db, OF_ALL("connections"), 3000);
	is_number(db, OF_ALL("latency"), 1322581);
	assert_true(asked(db, OF_ALL("p50")) <= 1032000 && asked(db, OF_ALL("p99")) >= 1968000);
	is_number(db, "SELECT count(*) FROM metric WHERE analysis='rps' AND name='requests'", 4);
	/* one sentence for them, one for the server on port 80; none says that 10 requests are too
	 * few
	 */
	is_number(db, "SELECT count(*) FROM finding WHERE analysis='rps'", 2);
	is_number(db,
		  "SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id"
		  " WHERE f.subject_kind='server' AND f.kind='request_rate' AND"
		  " v.name='requests'",
		  310);
	db_close(db);
}

static void regular_arrivals_have_no_variance(void **state)
{
	sqlite3 *db = server_of(1000, "10", false);

	(void)state;
	is_number(db, METRIC("saturation", "recv CV2"), 0);
	is_number(db, METRIC("saturation", "windows"), 10000);
	is_number(db, "SELECT count(*) FROM metric WHERE name='recv knee'", 0);
	is_number(db, METRIC("rps", "index of dispersion"), 0);
	db_close(db);
}

static s64 qos_of(const char *csv, const char *sql, const char *refused)
{
	char path[] = "/tmp/obs-qos-XXXXXX";
	sqlite3 *db = loaded(SERVER END_AT("5"));
	struct err e = { 0 };
	int fd = mkstemp(path), ret;
	s64 got = 0;

	assert_true(fd >= 0);
	assert_true(write(fd, csv, strlen(csv)) == (ssize_t)strlen(csv));
	close(fd);
	ret = qos_csv(db, path, &e);
	unlink(path);
	if (refused) {
		assert_true(ret < 0);
		if (!strstr(e.text, refused))
			fail_msg("%s", e.text);
	} else if (ret < 0) {
		fail_msg("%s", e.text);
	} else {
		got = asked(db, sql);
	}
	db_close(db);
	return got;
}

static void a_users_series_is_read(void **state)
{
	(void)state;
	assert_int_equal(qos_of("time,ms\n0.5,10\n0.7,20\n3.5,7\n",
				"SELECT value FROM qos WHERE ts=0", NULL),
			 15);
	assert_int_equal(qos_of("0.5;10\n99;1\n", "SELECT count(*) FROM qos", NULL), 1);
	/* the recording begins 2 ns after 2023-11-14T22:13:20Z */
	assert_int_equal(qos_of("1700000003.5\t4\r\n", "SELECT ts FROM qos", NULL), 3000000000);
	assert_int_equal(
		qos_of("\"2023-11-14T22:13:22.25Z\",\"8\"\n", "SELECT ts + value FROM qos", NULL),
		2000000008);
	qos_of("99,1\n", NULL, "no line of");
	qos_of("nonsense\nmore of it\n1,1\n", NULL, "2 lines without");
	qos_of("1,nan\n2,inf\n3,1\n", NULL, "2 lines without");
}

static void options_are_checked(void **state)
{
	struct asked a = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(ask_baseline(&a, "1..2.5", &e), 0);
	assert_true(a.baseline.from == 1000000000 && a.baseline.to == 2500000000);
	assert_int_equal(ask_baseline(&a, "0.5..10", &e), 0);
	assert_true(a.baseline.from == 500000000 && a.baseline.to == 10000000000);
	assert_int_equal(ask_baseline(&a, "250ms..1.5m", &e), 0);
	assert_true(a.baseline.from == 250000000 && a.baseline.to == 90000000000);
	assert_true(ask_baseline(&a, "14:03..14:04", &e) < 0);
	assert_true(ask_baseline(&a, "1..2x", &e) < 0);
	assert_true(ask_baseline(&a, "1..nan", &e) < 0);
	assert_true(ask_baseline(&a, "5..2", &e) < 0);
	assert_true(ask_baseline(&a, "5", &e) < 0);
	assert_true(ask_baseline(&a, "..5", &e) < 0);
	assert_true(ask_baseline(&a, "1..x", &e) < 0);
	assert_true(ask_baseline(&a, "-1..2", &e) < 0);
	assert_true(ask_step(&a, "0.0001", &e) < 0);
	assert_int_equal(ask_step(&a, "0.5", &e), 0);
	assert_true(a.step == 500000000);
	assert_int_equal(ask_step(&a, "20ms", &e), 0);
	assert_true(a.step == 20000000);
	assert_true(ask_step(&a, "0", &e) < 0);
	assert_true(ask_step(&a, "nan", &e) < 0);
}

/* A datagram socket of the process: sport 53 or as the kernel chooses; what it does first. */
static s64 datagrams(const char *fields, const char *calls)
{
	char text[2000];
	sqlite3 *db;
	s64 services;

	snprintf(text, sizeof(text),
		 SERVER
		 "3 100 fd pid=100 fd=9 mode=0140000 ino=90 family=2 role=4 socktype=2 %s\n" END_AT(
			 "1") "@cpu 0\n%s",
		 fields, calls);
	db = loaded(text);
	services = asked(db, "SELECT count(*) FROM service WHERE kind='udp'");
	db_close(db);
	return services;
}

#define SENDS(ts)    ts " 100 syscall nr=sendto fd=9 ret=30\n"
#define RECEIVES(ts) ts " 100 syscall nr=recvfrom fd=9 ret=40\n"

static void a_datagram_socket_that_asks_is_no_server(void **state)
{
	(void)state;
	assert_int_equal(datagrams("sport=40000", SENDS("1000000") RECEIVES("2000000")), 0);
	assert_int_equal(datagrams("sport=53", RECEIVES("1000000") SENDS("2000000")), 1);
	/* the answer to a request from before the recording */
	assert_int_equal(
		datagrams("sport=53", SENDS("1000000") RECEIVES("2000000") SENDS("3000000")), 1);
	/* a server on a port of its own choice that was asked first */
	assert_int_equal(datagrams("sport=40000", RECEIVES("1000000") SENDS("2000000")), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(shapes_of_requests_are_counted),
		T(ports_and_protocols_are_services_of_their_own),
		T(gaps_between_receives_have_moments),
		T(no_gap_spans_lost_events),
		T(the_steady_call_is_chosen),
		T(receives_with_several_requests_are_not_counted),
		T(workers_of_one_socket_are_one_server),
		T(regular_arrivals_have_no_variance),
		T(a_users_series_is_read),
		T(options_are_checked),
		T(a_datagram_socket_that_asks_is_no_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
