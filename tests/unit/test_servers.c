// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_servers.c and the analysis saturation: gaps of a server are those
 * of all its processes. */
#include "analyze/analyses/analysis.h"
#include "analyze/commands/ask.h"
#include "analyze/commands/cache.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/serving.h"
#include "tests/lib/unit.h"

#include <math.h>

#define ALONE(pid, column)   \
	"SELECT sum(" column \
	") FROM request_window w JOIN service s ON s.id=w.service WHERE pid=" pid
#define TOGETHER(column)                                                                         \
	"SELECT sum(" column ") FROM server_window w JOIN server s ON s.id=w.server WHERE name=" \
	"'work:90 (2 processes)'"

/*
 * Two workers, on CPUs of their own. Sends at 1, 4, 9 and at 2, 6, 16 ms: alone, gaps of 3, 5 and
 * 4, 10 ms, squared deviations 2 and 18 ms^2; together 1, 2, 2, 3, 7, mean 3, squared deviations
 * 22. Another program on the same port is another server, and so is another port.
 */
static void gaps_of_a_server_are_those_of_all_its_processes(void **state)
{
	sqlite3 *db = loaded(SERVER WORKER("200") WORKER("201") WORKER("202") "2 202 thread pid=202 state=83 comm=\"proxy\"\n" END_AT(
		"1") "@cpu 0\n"
		     "900000 200 syscall nr=read fd=5 ret=9\n1000000 200 syscall nr=write fd=5 ret=9\n"
		     "4000000 200 syscall nr=write fd=5 ret=9\n9000000 200 syscall nr=write fd=5 ret=9\n"
		     "@cpu 1\n"
		     "1800000 201 syscall nr=read fd=5 ret=9\n2000000 201 syscall nr=write fd=5 ret=9\n"
		     "6000000 201 syscall nr=write fd=5 ret=9\n16000000 201 syscall nr=write fd=5 ret=9\n"
		     "@cpu 2\n3000000 202 syscall nr=write fd=5 ret=9\n"
		     "5000000 202 syscall nr=write fd=5 ret=9\n5500000 100 syscall nr=write fd=5 ret=9\n");

	(void)state;
	is_number(db, ALONE("200", "send_m2"), 2000000000000);
	is_number(db, ALONE("201", "send_m2"), 18000000000000);
	is_number(db, TOGETHER("send_gaps"), 5);
	is_number(db, TOGETHER("send_gap"), 3000000);
	is_number(db, TOGETHER("send_m2"), 22000000000000);
	is_number(db, TOGETHER("recv_gap * recv_gaps"), 900000);
	is_number(db, TOGETHER("w.sends"), 6);
	is_number(db, TOGETHER("w.requests"), 2);
	is_number(db, "SELECT sends FROM server WHERE processes=2", 6);
	is_number(db, "SELECT count(*) FROM server", 3);
	is_number(db, "SELECT count(*) FROM server WHERE name='proxy[202]:90'", 1);
	is_number(db, "SELECT count(*) FROM server WHERE name='server[100]:80'", 1);
	db_close(db);
}

/* What one worker does not lack, another one can: what was sent in between is unknown. */
static void no_gap_of_a_server_spans_lost_events(void **state)
{
	sqlite3 *db = loaded(SERVER WORKER("200") WORKER("201") END_AT(
		"1") "@cpu 0\n1000000 200 syscall nr=write fd=5 ret=2\n"
		     "2000000 200 syscall nr=write fd=5 ret=2\n@block\n@lost 3\n"
		     "9500000 0 counters group=syscalls seen=5 emitted=2 lost_full=3\n"
		     "@block\n10000000 200 syscall nr=write fd=5 ret=2\n"
		     "@cpu 1\n1500000 201 syscall nr=write fd=5 ret=2\n"
		     "4000000 201 syscall nr=write fd=5 ret=2\n"
		     "11000000 201 syscall nr=write fd=5 ret=2\n");

	(void)state;
	/* 1 to 1.5 and 10 to 11 ms; the loss is from 2 to 9.5, gaps that touch it are none */
	is_number(db, TOGETHER("send_gaps"), 2);
	is_number(db, TOGETHER("send_gap * send_gaps"), 1500000);
	db_close(db);
}

/* A process that answers on one port by both protocols is one server, and one process. */
static void both_internet_protocols_are_one_server(void **state)
{
	sqlite3 *db = loaded(SERVER "9 100 fd pid=100 fd=9 mode=0140000 ino=81 family=10 role=2 "
				    "socktype=1 sport=80 dport=9\n" END_AT(
					    "1") "@cpu 0\n"
						 "1000000 100 syscall nr=read fd=5 ret=2\n"
						 "2000000 100 syscall nr=read fd=9 ret=2\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM service", 2);
	is_number(db, "SELECT recvs FROM server WHERE name='server[100]:80'", 2);
	is_number(db, "SELECT recv_gaps FROM server_window", 1);
	db_close(db);
}

/* A resolver may ask from a port of its own each time. */
static void servers_beyond_a_limit_are_counted(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	buf_printf(&text, &e, "%s" END_AT("1"), SERVER);
	for (i = 0; i < 50100; i++)
		buf_printf(
			&text, &e,
			"%s9 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=4 socktype=2 "
			"sport=%d\n",
			i % 5000 ? "" : "@block\n", 100 + i, 1000 + i, 10000 + i);
	buf_printf(&text, &e, "@cpu 0\n");
	for (i = 0; i < 50100; i++)
		buf_printf(&text, &e, "%s%d 100 syscall nr=recvmsg fd=%d ret=2\n",
			   i % 5000 ? "" : "@block\n", 1000 + i, 100 + i);
	/* one that is followed gets more when all places are taken */
	buf_printf(&text, &e, "100000 100 syscall nr=recvmsg fd=100 ret=2\n");
	db = loaded_buf(&text);
	is_number(db, "SELECT count(*) FROM service", 50100);
	is_number(db, "SELECT count(*) FROM service WHERE server=0", 100);
	is_number(db, "SELECT count(*) FROM server", 50000);
	is_number(db, "SELECT recvs FROM server WHERE port=10000", 2);
	analysed(db, "saturation");
	is_number(db,
		  "SELECT number FROM finding f JOIN finding_value v ON"
		  " v.finding=f.id WHERE f.kind='servers_beyond'",
		  100);
	db_close(db);
}

#define SPACING(m)                                                                                 \
	"SELECT round(1000 * value) FROM metric WHERE analysis='saturation' AND name='" m "' AND " \
	"subject='work:90 (2 processes)'"

/* Each is regular, every 10 ms, one 1 ms after the other: gaps of 1 and 9 ms, variance 16 ms^2. */
static void saturation_is_of_the_server(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;

	(void)state;
	buf_printf(&text, &e, "%s@cpu 0\n", SERVER WORKER("200") WORKER("201") END_AT("10"));
	worker(&text, 200, 1000, 1000000, 10000000, 1000);
	buf_printf(&text, &e, "@cpu 1\n");
	worker(&text, 201, 1000, 2000000, 10000000, 1000);
	buf_printf(&text, &e, "@cpu 2\n");
	worker(&text, 100, 1000, 7000000, 10000000, 1000);
	db = loaded_buf(&text);
	analysed(db, "saturation");
	is_number(db, SPACING("send var"), 16000000000);
	is_number(db, SPACING("send CV2"), 640);
	is_number(db, SPACING("recv CV2"), 640);
	is_below(db, "SELECT sum(send_m2) FROM request_window", 1);
	/* one row for them, one for the server that is one process */
	is_number(db, "SELECT count(DISTINCT subject) FROM metric", 2);
	is_number(db,
		  "SELECT round(1000 * value) FROM metric WHERE "
		  "subject='server[100]:80' AND name='send CV2'",
		  0);
	db_close(db);
}

#define SCHEDULED                                                                                  \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,sched\"\n" \
	"8 0 clock monotonic=8 realtime=1700000000000000000 boottime=8\n"                          \
	"10 0 info text=\"begin=10\"\n"

/* A request every `period` ns, from `first` on: each keeps the thread busy for so long; then it
 * sleeps. */
static void busy(struct buf *text, int tid, long long first, int period, int n, int ns)
{
	struct err e = { 0 };
	int i;

	for (i = 0; i < n; i++) {
		buf_printf(text, &e, "%lld 0 waking target=%d context=1\n+0 0 switch next=%d\n",
			   first + (long long)i * period, tid, tid);
		buf_printf(text, &e,
			   "+5 %d syscall_args nr=epoll_wait arg0=4 arg3=-1 ret=1 dur=%d\n", tid,
			   i ? period - ns + 5 : 5);
		buf_printf(text, &e,
			   "+5 %d syscall nr=read fd=5 ret=2\n+10 %d syscall nr=write fd=5 ret=2\n",
			   tid, tid);
		buf_printf(text, &e, "+%d %d switch next=0 state=1\n", ns - 20, tid);
	}
}

static sqlite3 *slack_of(int wait, int other)
{
	struct buf text = { 0 };
	struct err e = { 0 };

	buf_printf(&text, &e, "%s@cpu 0\n", SCHEDULED WORKER("200") WORKER("201") END_AT("2"));
	busy(&text, 200, 10000000, 10000000, 199, 10000000 - wait);
	buf_printf(&text, &e, "@cpu 1\n");
	busy(&text, 201, 10000000, 10000000, 199, 10000000 - other);
	return analysed(loaded_buf(&text), "slack");
}

#define ROOM(kind, id, m)                                                     \
	"SELECT round(value) FROM metric WHERE analysis='slack' AND name='" m \
	"' AND subject_kind='" kind "' AND subject_id=" id " ORDER BY rowid LIMIT 1"
#define SERVER_90 "(SELECT id FROM server WHERE port=90)"
#define LEFT	  "SELECT count(*) FROM finding WHERE kind='saturated'"

/* Idle for 0.6 and 0.2 of the time. */
static void room_is_left_in_the_server(void **state)
{
	sqlite3 *db = slack_of(6000000, 2000000);

	(void)state;
	is_number(db, ROOM("server", SERVER_90, "idle share"), 40);
	assert_in_range(asked(db, ROOM("server", SERVER_90, "mean wait")), 3900000, 4000100);
	is_number(db, ROOM("server", SERVER_90, "waits"), 398);
	is_number(db, ROOM("server", SERVER_90, "CPUs"), 2);
	is_number(db, ROOM("process", "200", "idle share"), 60);
	is_number(db, ROOM("process", "201", "idle share"), 20);
	is_number(db, LEFT, 0);
	db_close(db);
	/* no room in any: one finding, about the server */
	db = slack_of(100000, 300000);
	is_number(db, LEFT " AND subject_kind='server' AND subject=" SERVER_90, 1);
	is_number(db, LEFT, 1);
	db_close(db);
	/* one has none: it is about this one */
	db = slack_of(100000, 9000000);
	is_number(db, LEFT " AND subject_kind='process' AND subject=200", 1);
	is_number(db, LEFT, 1);
	db_close(db);
}

#define THREADS                                                                         \
	SCHEDULED WORKER("200") "1 201 thread pid=200 state=83 comm=\"work\"\n"         \
				"1 202 thread pid=200 state=83 comm=\"work\"\n" END_AT( \
					"2") "@cpu 0\n"

/* Threads of one process: an acceptor that sleeps; threads of connections, each mostly asleep. */
static void sleeping_threads_are_no_room(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	buf_printf(&text, &e, "%s", THREADS);
	busy(&text, 200, 10000000, 10000000, 199, 9800000);
	db = analysed(loaded_buf(&text), "slack");
	is_number(db, LEFT, 1);
	assert_in_range(asked(db, ROOM("process", "200", "idle share")), 1, 4);
	db_close(db);
	/* three in turn on one CPU, each asleep for two thirds */
	buf_printf(&text, &e, "%s", THREADS);
	for (i = 0; i < 597; i++)
		busy(&text, 200 + i % 3, 10000000 + i * 3333333ll, 10000000, 1, 3300000);
	db = analysed(loaded_buf(&text), "slack");
	is_number(db, LEFT, 1);
	is_number(db, ROOM("process", "200", "CPUs"), 1);
	db_close(db);
	/* two at the same time on two CPUs, both busy for half of it: room for as much again */
	buf_printf(&text, &e, "%s", THREADS);
	busy(&text, 200, 10000000, 10000000, 199, 5000000);
	buf_printf(&text, &e, "@cpu 1\n");
	busy(&text, 201, 10000000, 10000000, 199, 5000000);
	db = analysed(loaded_buf(&text), "slack");
	is_number(db, LEFT, 0);
	is_number(db, ROOM("process", "200", "idle share"), 50);
	is_number(db, ROOM("process", "200", "CPUs"), 2);
	db_close(db);
}

/* 40 windows of 0.1 s with 100 to 490 requests, each busy for so long, or for so much of its gap.
 */
static sqlite3 *rising(int ns, int percent, long long step)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	struct asked ask = { .step = step };
	bool answered;
	const char *path;
	sqlite3 *db = NULL;
	int w;

	buf_printf(&text, &e, "%s@cpu 0\n", SCHEDULED WORKER("200") END_AT("4"));
	for (w = 0; w < 40; w++) {
		int gap = 99990000 / (100 + 10 * w);

		busy(&text, 200, w * 100000000ll + 1000, gap, 100 + 10 * w,
		     percent ? gap / 100 * percent : ns);
	}
	path = packed(text.data);
	buf_free(&text);
	if (cache_open(&db, &answered, path, &ask, &e) < 0 ||
	    analyses_run(db, "saturation", &e) < 0)
		fail_msg("%s", e.text);
	unlink(path);
	return db;
}

/* 0.2 ms at 5000 per second at most; with half of it, no rate is too much. */
static void saturation_comes_from_the_idle_share(void **state)
{
	sqlite3 *db = rising(200000, 0, 100000000);

	(void)state;
	is_number(db, "SELECT count(*) FROM finding WHERE kind='saturated_from'", 1);
	assert_in_range(asked(db, METRIC("saturation", "saturated from")) / 1000, 4500, 4800);
	assert_in_range(asked(db, "SELECT low FROM metric WHERE name='saturated from'"), 4400,
			4800);
	db_close(db);
	db = rising(100000, 0, 100000000);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='saturated_from'", 0);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='not_saturated'", 1);
	db_close(db);
}

/* Full in all windows, whatever the rate; and too few windows to say anything. */
static void saturation_without_a_rate_is_said(void **state)
{
	sqlite3 *db = rising(0, 95, 100000000);

	(void)state;
	is_text(db, "SELECT group_concat(kind) FROM finding WHERE kind LIKE '%saturated%'",
		"saturated_always");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='saturation_few'", 0);
	db_close(db);
	db = rising(100000, 0, 1000000000);
	is_number(db,
		  "SELECT count(*) FROM finding WHERE kind IN ('saturated_always',"
		  " 'not_saturated')",
		  0);
	is_number(db, FINDING_VALUE("saturation_few", "windows", "number"), 4);
	db_close(db);
}

/* Receives in a window, and how long one gap in ten is: CV^2 is 7.3 rough^2. */
struct load {
	int n;
	double rough;
};

/* From 400 per second on: regular up to 4000, then one gap in ten takes up to twenty times as long.
 */
static struct load regular_first(int w)
{
	int n = 40 + 18 * w;

	return (struct load){ n, n > 400 ? (n - 400) / 500.0 : 0 };
}

/* CV^2 rises from the lowest rate on, from 0.3 to 6, each time by the same share. */
static struct load rougher_and_rougher(int w)
{
	return (struct load){ 40 + 18 * w, sqrt(0.3 * pow(20, w / 40.0) / 7.3) };
}

/* From 2 s on more than 4000 per second are sent: the rate stays, only its spacing changes. */
static struct load at_most_4000(int w)
{
	return (struct load){ w < 20 ? 40 + 18 * w : 400, w < 20 ? 0.37 : 0.83 };
}

/* 40 windows of 0.1 s; several workers take turns. */
static sqlite3 *swept(struct load (*load)(int w), int workers)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	bool answered;
	struct asked ask = { 0 };
	const char *path;
	sqlite3 *db = NULL;
	int w, i;

	buf_printf(&text, &e, "%s@cpu 0\n", SERVER WORKER("200") WORKER("201") END_AT("4"));
	for (w = 0; w < 40; w++) {
		struct load l = load(w);
		double at = w * 1e8 + 1000, gap = 0.98e8 / l.n;

		for (i = 0; i < l.n; i++) {
			buf_printf(&text, &e, "%.0f %d syscall nr=read fd=5 ret=20\n", at,
				   workers > 1 ? 200 + i % workers : 100);
			at += gap * (i % 10 ? 1 - l.rough * 0.9 : 1 + l.rough * 8.1);
		}
	}
	path = packed(text.data);
	buf_free(&text);
	ask.step = 100000000;
	if (cache_open(&db, &answered, path, &ask, &e) < 0 ||
	    analyses_run(db, "saturation", &e) < 0)
		fail_msg("%s", e.text);
	unlink(path);
	return db;
}

#define KNEES                                                                                           \
	"SELECT count(DISTINCT subject_id) FROM metric WHERE analysis='saturation' AND name IN ('recv " \
	"knee', 'send knee') AND value > 0 AND low > 0"

static void the_knee_of_a_sweep_is_found(void **state)
{
	sqlite3 *db = swept(regular_first, 1);

	(void)state;
	assert_in_range(asked(db, METRIC("saturation", "recv knee")) / 1000, 3900, 5600);
	assert_in_range(asked(db, "SELECT low FROM metric WHERE name='recv knee'"), 3500, 5600);
	assert_in_range(asked(db, "SELECT high FROM metric WHERE name='recv knee'"), 4000, 6500);
	is_number(db, KNEES, 1);
	db_close(db);
}

static void the_knee_is_of_the_server(void **state)
{
	sqlite3 *db = swept(regular_first, 2);

	(void)state;
	assert_in_range(asked(db, SPACING("recv knee")) / 1000, 3900, 5600);
	assert_in_range(asked(db, "SELECT low FROM metric WHERE name='recv knee'"), 3500, 5600);
	is_number(db, KNEES " AND subject_id=" SERVER_90, 1);
	is_number(db, KNEES, 1);
	db_close(db);
}

static void what_rises_from_the_lowest_rate_on_has_no_knee(void **state)
{
	sqlite3 *db = swept(rougher_and_rougher, 1);

	(void)state;
	is_number(db, KNEES, 0);
	db_close(db);
}

static void a_rate_that_cannot_grow_has_its_knee_there(void **state)
{
	sqlite3 *db = swept(at_most_4000, 1);

	(void)state;
	assert_in_range(asked(db, METRIC("saturation", "recv knee")) / 1000, 3500, 4100);
	assert_in_range(asked(db, "SELECT low FROM metric WHERE name='recv knee'"), 3000, 4100);
	is_number(db, KNEES, 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(gaps_of_a_server_are_those_of_all_its_processes),
		T(no_gap_of_a_server_spans_lost_events),
		T(both_internet_protocols_are_one_server),
		T(servers_beyond_a_limit_are_counted),
		T(saturation_is_of_the_server),
		T(room_is_left_in_the_server),
		T(sleeping_threads_are_no_room),
		T(saturation_comes_from_the_idle_share),
		T(saturation_without_a_rate_is_said),
		T(the_knee_of_a_sweep_is_found),
		T(the_knee_is_of_the_server),
		T(what_rises_from_the_lowest_rate_on_has_no_knee),
		T(a_rate_that_cannot_grow_has_its_knee_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
