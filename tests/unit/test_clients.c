// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_clients.c and analysis clients: whose requests are slow, and who
 * asks for most. */
#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define HOST(groups)                                                               \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=" groups \
	"\"\n2 100 thread pid=100 state=83 comm=\"server\"\n"
#define CONNECTION(fd, address)                             \
	"4 100 fd pid=100 fd=" #fd " mode=0140000 ino=" #fd \
	" family=2 role=2 socktype=1 sport=80 "             \
	"dport=4" #fd " daddr=" address "\n"
#define TWO CONNECTION(5, "10.0.0.1") CONNECTION(6, "10.0.0.2") CONNECTION(7, "10.0.0.1")
#define BEGIN                                                                                     \
	"10 0 info text=\"begin=10\"\n9_000_000_010 0 info text=\"stopped=9000000010\"\n@cpu 0\n" \
	"900 0 waking target=100\n900 0 switch next=100\n"

static s64 of_client(sqlite3 *db, const char *column, const char *address)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT %s FROM client WHERE address='%s'", column, address);
	return asked(db, sql);
}

/*
 * Two requests in one round of an event loop. That of 10.0.0.1 takes 4 us, and its answer is sent
 * after the other one was received and done.
 */
static void cpu_time_belongs_to_the_served_client(void **state)
{
	sqlite3 *db = loaded(
		HOST("core,syscalls,sched") TWO BEGIN
		"1000 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=10 ret=2\n"
		"1100 100 syscall nr=read fd=5 dur=10 ret=10\n"
		"5100 100 syscall nr=read fd=6 dur=20 ret=10\n"	  /* 3980 of the first, 20 of it */
		"5300 100 syscall nr=write fd=5 dur=30 ret=100\n" /* 170 of the second */
		"5400 100 syscall nr=write fd=6 dur=40 ret=200\n"
		"5500 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=50 ret=1\n" /* 50 more */
		"6000 100 syscall nr=read fd=7 dur=10 ret=30\n"
		"6100 100 switch next=0 flags=1\n7100 0 switch next=100\n" /* not its CPU time */
		"7200 100 syscall nr=write fd=7 dur=50 ret=300\n");

	(void)state;
	assert_int_equal(of_client(db, "cpu", "10.0.0.1"), 3980 + 30 + 10 + 200);
	assert_int_equal(of_client(db, "cpu", "10.0.0.2"), 20 + 170 + 100 + 50);
	assert_int_equal(of_client(db, "connections", "10.0.0.1"), 2);
	assert_int_equal(of_client(db, "requests", "10.0.0.1"), 2);
	assert_int_equal(of_client(db, "send_bytes", "10.0.0.1"), 400);
	assert_int_equal(of_client(db, "recv_bytes", "10.0.0.1"), 40);
	/* 4200; 1200, before which it waited 500 from the poll's return to the receive */
	assert_int_equal(of_client(db, "time", "10.0.0.1"), 4200 + 500 + 1200);
	assert_int_equal(of_client(db, "max", "10.0.0.1"), 4200);
	assert_int_equal(of_client(db, "time", "10.0.0.2"), 300);
	is_number(db,
		  "SELECT count(*) FROM request t JOIN client c ON c.id=t.client"
		  " WHERE c.address='10.0.0.1'",
		  2);
	db_close(db);
}

/* The peer of a Unix or a datagram socket is not recorded. */
static void clients_without_address_are_named(void **state)
{
	sqlite3 *db = loaded(HOST(
		"core,syscalls,sched") "4 100 fd pid=100 fd=5 mode=0140000 ino=5 family=1 role=2 socktype=1\n"
				       "4 100 fd pid=100 fd=6 mode=0140000 ino=6 family=2 role=4 socktype=2 sport=53 "
				       "daddr=10.0.0.9\n" BEGIN
				       "1100 100 syscall nr=read fd=5 dur=10 ret=10\n"
				       "1200 100 syscall nr=write fd=5 dur=10 ret=10\n"
				       "1300 100 syscall nr=recvfrom fd=6 dur=10 ret=10\n"
				       "1400 100 syscall nr=sendto fd=6 dur=10 ret=10\n");

	(void)state;
	assert_int_equal(of_client(db, "requests", "local"), 1);
	assert_int_equal(of_client(db, "requests", "?"), 1);
	is_number(db, "SELECT count(*) FROM client", 2);
	db_close(db);
}

static void requests_with_loss_are_in_no_time(void **state)
{
	sqlite3 *db = loaded(HOST("core,syscalls,sched") TWO BEGIN
			     "1100 100 syscall nr=read fd=5 dur=10 ret=10\n"
			     "1300 100 syscall nr=write fd=5 dur=10 ret=10\n"
			     "2000 100 syscall nr=read fd=5 dur=10 ret=10\n@block\n@lost 3\n"
			     "9000 100 syscall nr=write fd=5 dur=10 ret=10\n");

	(void)state;
	assert_int_equal(of_client(db, "requests", "10.0.0.1"), 2);
	assert_int_equal(of_client(db, "lossy", "10.0.0.1"), 1);
	assert_int_equal(of_client(db, "time", "10.0.0.1"), 200);
	is_number(db, "SELECT sum(n) FROM latency WHERE kind='client'", 1);
	db_close(db);
}

/* 2000 requests of 10.0.0.1 that take 10 us, and after each 40th one of 10.0.0.2 that takes 1 ms.
 */
static sqlite3 *served(const char *start, const char *slow)
{
	struct err e = { 0 };
	struct buf text = { 0 };
	int i, ret = buf_printf(&text, &e, "%s", start);

	for (i = 0; i < 2000 && ret == 0; i++) {
		ret = buf_printf(&text, &e,
				 "+1_000 100 syscall nr=read fd=5 dur=100 ret=10\n"
				 "+10_000 100 syscall nr=write fd=5 dur=100 ret=20\n");
		if (ret == 0 && i % 40 == 0)
			ret = buf_printf(&text, &e,
					 "+1_000 100 syscall nr=read fd=6 dur=100 ret=10\n%s"
					 "+1_000 100 syscall nr=write fd=6 dur=100 ret=20\n",
					 slow);
	}
	assert_int_equal(ret, 0);
	return analysed(loaded_buf(&text), "clients");
}

/* A value of the finding of this kind, rounded; the number of such findings without a name. */
static s64 found(sqlite3 *db, const char *kind, const char *name)
{
	char sql[300];

	snprintf(
		sql, sizeof(sql),
		"SELECT %s FROM finding f LEFT JOIN finding_value v ON v.finding=f.id AND v.name='%s'"
		" WHERE f.analysis='clients' AND f.kind LIKE '%s'",
		*name ? "round(v.number)" : "count(*)", name, kind);
	return asked(db, sql);
}

/* A metric of 10.0.0.2, in thousandths. */
static s64 metric(sqlite3 *db, const char *name)
{
	char sql[300];

	snprintf(
		sql, sizeof(sql),
		"SELECT CAST(round(1000 * value) AS INTEGER) FROM metric WHERE analysis='clients' AND"
		" subject_kind='client' AND subject_id IN (SELECT id FROM client WHERE"
		" address='10.0.0.2') AND name='%s'",
		name);
	return asked(db, sql);
}

#define ASLEEP                                                                       \
	"+0 100 switch next=0 state=1\n+1_000_000 0 waking target=100\n+0 0 switch " \
	"next=100\n+500 100 syscall_args nr=futex arg0=0x1000 dur=1000500\n"
#define BUSY "+1_000_500 100 syscall nr=getpid\n"

static void waiting_clients_differ_from_greedy_ones(void **state)
{
	sqlite3 *busy = served(HOST("core,syscalls,sched") TWO BEGIN, BUSY);
	sqlite3 *asleep = served(HOST("core,syscalls,sched") TWO BEGIN, ASLEEP);

	(void)state;
	assert_int_equal(metric(busy, "requests"), 50000);
	assert_int_equal(metric(busy, "share of slow"), 100000);
	assert_int_equal(metric(busy, "share of requests"), 2439);
	is_number(busy, "SELECT n FROM metric WHERE name='share of slow' LIMIT 1", 50);
	assert_in_range(metric(busy, "p50"), 970000000, 1030000000);
	assert_in_range(metric(busy, "cpu"), 1001000000, 1003000000);
	assert_int_equal(found(busy, "slow_client_costly", "of_slow"), 100);
	assert_int_equal(found(busy, "slow_client_costly", "slow"), 50);
	assert_in_range(found(busy, "slow_client_costly", "own"), 1001000, 1003000);
	assert_int_equal(found(busy, "slow_client_waits", ""), 0);
	assert_int_equal(metric(asleep, "share of slow"), 100000);
	assert_in_range(metric(asleep, "cpu"), 2000000, 4000000);
	assert_int_equal(found(asleep, "slow_client_waits", ""), 1);
	assert_int_equal(found(asleep, "slow_client_costly", ""), 0);
	db_close(busy);
	db_close(asleep);
}

/* No switches: CPU time is not known, and is not guessed. All requests are the same: no finding. */
static void unknown_cpu_time_is_not_reported(void **state)
{
	sqlite3 *db = served(HOST("core,syscalls") TWO "10 0 info text=\"begin=10\"\n@cpu 0\n",
			     "+1_000_000 100 syscall nr=getpid\n");
	sqlite3 *alike =
		served(HOST("core,syscalls,sched") TWO BEGIN, "+9_000 100 syscall nr=getpid\n");

	(void)state;
	is_number(db,
		  "SELECT count(*) FROM metric WHERE name IN ('cpu','share of CPU') AND "
		  "analysis='clients' AND value IS NOT NULL",
		  0);
	assert_int_equal(found(db, "slow_client", ""), 1);
	is_number(alike,
		  "SELECT count(*) FROM metric WHERE analysis='clients' AND "
		  "name='requests'",
		  2);
	assert_int_equal(found(alike, "%", ""), 0);
	db_close(db);
	db_close(alike);
}

/* Seven addresses: five rows, and one for the other two. */
static void others_are_one_row(void **state)
{
	struct err e = { 0 };
	struct buf text = { 0 };
	sqlite3 *db;
	int i, ret = buf_printf(&text, &e, "%s", HOST("core,syscalls,sched"));

	(void)state;
	for (i = 0; i < 7 && ret == 0; i++)
		ret = buf_printf(&text, &e,
				 "4 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 "
				 "socktype=1 sport=80 dport=9 daddr=10.0.0.%d\n",
				 10 + i, i, i);
	if (ret == 0)
		ret = buf_printf(&text, &e, "%s", BEGIN);
	for (i = 0; i < 28 && ret == 0; i++)
		ret = buf_printf(&text, &e,
				 "+1_000 100 syscall nr=read fd=%d dur=100 ret=10\n"
				 "+%d_000 100 syscall nr=write fd=%d dur=100 ret=20\n",
				 10 + i % 7, 10 + i % 7, 10 + i % 7);
	assert_int_equal(ret, 0);
	db = loaded_buf(&text);
	analysed(db, "clients");
	is_number(db,
		  "SELECT count(*) FROM metric WHERE analysis='clients' AND "
		  "name='requests' AND value=4",
		  5);
	is_number(db,
		  "SELECT value FROM metric WHERE analysis='clients' AND "
		  "name='requests' AND subject LIKE '% < others (2 addresses)'",
		  8);
	/* the slowest is shown, then by address: 14 and 15 us are left */
	is_within(
		db,
		"SELECT value FROM metric WHERE name='p99' AND analysis='clients' AND subject LIKE '%others%'",
		14500, 15500);
	is_within(
		db,
		"SELECT total(value) FROM metric WHERE analysis='clients' AND name='share of slow'",
		99.99, 100.01);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(cpu_time_belongs_to_the_served_client),
		T(clients_without_address_are_named),
		T(requests_with_loss_are_in_no_time),
		T(waiting_clients_differ_from_greedy_ones),
		T(unknown_cpu_time_is_not_reported),
		T(others_are_one_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
