// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/compare/: subjects by columns, and recordings of servers whose requests take a known
 * time: what is found must be what was put in.
 */
#include "analyze/compare/compare.h"
#include "format/buf.h"
#include "tests/lib/compared.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <math.h>
#include <stdlib.h>

#define REQUESTS 1200
#define PERIOD	 1000000 /* ns */

/* Requests of 100..200 us on a CPU; every second waits for a futex. fd 5 accepted on port 80. */
static void script(struct buf *b, int pid, s64 lock, unsigned int seed)
{
	s64 t = 1000000, work;
	int i;

	buf_printf(b, NULL,
		   "@recorder\n100 0 info text=\"targets=%d\"\n"
		   "101 0 info text=\"groups=core,syscalls,sched\"\n"
		   "102 %d thread pid=%d state=83 comm=\"server\"\n"
		   "108 %d fd pid=%d fd=5 mode=0140000 ino=77 family=2 role=2 sport=80\n"
		   "1000 0 info text=\"begin=1000\"\n@cpu 0\n",
		   pid, pid, pid, pid, pid);
	for (i = 0; i < REQUESTS; i++, t += PERIOD) {
		seed = seed * 1103515245u + 12345u;
		work = 100000 + (seed >> 8) % 100000;
		buf_printf(b, NULL,
			   "%lld 0 waking target=%d cpu=0\n%lld 0 switch next=%d\n"
			   "%lld %d syscall nr=read fd=5 ret=9 dur=500\n",
			   (long long)t - 1000, pid, (long long)t, pid, (long long)t + 1000, pid);
		if (i % 2) {
			buf_printf(b, NULL,
				   "%lld %d switch next=0 state=1\n%lld 0 waking target=%d cpu=0\n"
				   "%lld 0 switch next=%d\n%lld %d syscall_args nr=futex arg0=64 "
				   "dur=%lld\n",
				   (long long)t + 2000, pid, (long long)t + 2000 + lock, pid,
				   (long long)t + 2000 + lock, pid, (long long)t + 2100 + lock, pid,
				   (long long)lock + 600);
			work += lock;
		}
		buf_printf(b, NULL,
			   "%lld %d syscall nr=write fd=5 count=7 ret=7 dur=500\n"
			   "%lld %d switch next=0 state=1\n",
			   (long long)(t + 3000 + work), pid, (long long)(t + 4000 + work), pid);
	}
	/* recordings of tests share an id: their lengths differ, not the sizes of files
	 */
	t += pid;
	buf_printf(b, NULL, "@recorder\n%lld 0 info text=\"stopped=%lld\"\n", (long long)t,
		   (long long)t);
}

static void measure(struct measured *m, int pid, s64 lock, unsigned int seed)
{
	struct buf text = { 0 };

	script(&text, pid, lock, seed);
	measured(m, &text);
}

static sqlite3 *compared(s64 lock_before, s64 lock_after)
{
	struct measured a, b;

	measure(&a, 100, lock_before, 1);
	measure(&b, 4321, lock_after, 2);
	return compared_sides(&a, &b);
}

static void subjects_are_safe_columns(void **state)
{
	struct compared_subject a, b;
	char text[COMPARE_TEXT];

	(void)state;
	compare_subject(&a, COMPARE_SERVICE, "a[1]:7", "tcp", 80, NULL);
	compare_subject_text(text, sizeof(text), &a);
	assert_string_equal(text, "a[1]:7 :80");
	compare_subject(&b, COMPARE_SERVICE, "a[2]:7", "tcp", 80, NULL);
	assert_false(compare_same(&a, &b)); /* names are not taken to pieces */
	b = a;
	b.port = 81;
	assert_false(compare_same(&a, &b));
	compare_subject(&a, COMPARE_PROCESS, "evil\x1b[31m", NULL, COMPARE_NO_PORT, NULL);
	assert_string_equal(a.comm, "evil\\x1b[31m");
	memset(text, 'x', COMPARE_NAME);
	memcpy(text + COMPARE_NAME - 2, "\xc3\xa4", 3); /* no half characters */
	compare_subject(&a, COMPARE_PROCESS, text, NULL, COMPARE_NO_PORT, NULL);
	assert_int_equal(strlen(a.comm), COMPARE_NAME - 2);
}

static void parts_add_up_to_the_whole(void **state)
{
	sqlite3 *db = compared(50000, 250000);

	(void)state;
	/* every second request waits 200 us longer */
	is_number(db, "SELECT diff FROM excess WHERE category='futex'", 100000);
	assert_in_range(asked(db, "SELECT low FROM excess WHERE category='futex'"), 90000, 100000);
	assert_in_range(asked(db, "SELECT high FROM excess WHERE category='futex'"), 100000,
			110000);
	assert_in_range(asked(db,
			      "SELECT abs(sum(CASE category WHEN 'all' THEN -diff ELSE diff END))"
			      " * 1000 FROM excess"),
			0, 1);
	is_number(db,
		  "SELECT count(*) FROM change WHERE kind='service' AND comm='server'"
		  " AND port=80 AND name='request p90' AND verdict='slower'",
		  1);
	is_text(db, "SELECT verdict FROM change WHERE name='requests per second'", "equivalent");
	/* the verdict first, then its largest part */
	is_text(db, "SELECT kind FROM finding ORDER BY id LIMIT 1", "compare_slower");
	is_number(db, FINDING_VALUE("compare_added", "part", "number"), 100000);
	is_number(db,
		  "SELECT count(*) FROM finding WHERE evidence='LIMIT' AND"
		  " kind='compare_one_pair'",
		  1);
	is_number(db, "SELECT count(*) FROM cdf WHERE side='after' AND what='request'", CDF_POINTS);
	/* a distribution function rises */
	is_number(db,
		  "SELECT count(*) FROM cdf a JOIN cdf b ON a.side=b.side AND"
		  " a.what=b.what AND a.q < b.q AND a.value > b.value",
		  0);
	db_close(db);
}

static void nothing_changed(void **state)
{
	sqlite3 *db = compared(50000, 50000);

	(void)state;
	is_number(db,
		  "SELECT count(*) FROM change WHERE verdict IN ('slower', 'faster',"
		  " 'more', 'less')",
		  0);
	is_number(db, "SELECT count(*) FROM comparability WHERE verdict<>'comparable'", 0);
	is_number(db, "SELECT count(*) FROM excess WHERE low * high > 0", 0);
	/* no change, unless a duration is inconclusive */
	is_number(db,
		  "SELECT (SELECT count(*) FROM change WHERE unit='ns' AND"
		  " verdict='inconclusive') > 0 = (SELECT count(*) FROM finding"
		  " WHERE kind='compare_inconclusive')",
		  1);
	is_number(db,
		  "SELECT count(*) FROM finding WHERE kind IN"
		  " ('compare_inconclusive', 'compare_no_change')",
		  1);
	db_close(db);
}

/* ---- recordings as rows ---- */

#define LENGTH 10000000000 /* ns */

/* A process 100, a service on port 80, and the requests that a query of four columns makes:
 * arrival, read, end, thread. */
/* Requests by their thread: BLPOP, waits for its client to take the answer, arrives in parts. */
enum { AWAITS = 11, PACED, IN_PARTS };

static void measure_rows(struct measured *m, const char *uuid, const char *requests)
{
	struct err e = { 0 };
	sqlite3 *db = NULL;
	char sql[1800];

	snprintf(
		sql, sizeof(sql),
		"INSERT INTO recording VALUES ('duration_ns', 10000000000), ('targets', '100'),"
		" ('uuid', '%s'), ('end', 'signal'), ('groups', 'syscalls,sched');"
		"INSERT INTO process(pid, start, comm) VALUES (100, 0, 'server');"
		"INSERT INTO service(id, pid, kind, port, name, requests)"
		" VALUES (1, 100, 'tcp', 80, 'server[100]:80', 1000);"
		"INSERT INTO request_name(id, protocol, name) VALUES (1, 4, 'BLPOP');"
		"INSERT INTO request(ts, dur, pid, tid, split, lossy, service, queued, name, paced, rest)"
		" SELECT b, c - b, 100, d, 1, 0, 1, b - a, iif(d=%d, 1, NULL), d=%d, iif(d=%d, c - b, 0)"
		" FROM (%s) ORDER BY c",
		uuid, AWAITS, PACED, IN_PARTS, requests);
	if (db_open(&db, NULL, true, &e) < 0 || db_exec(db, &e, sql) < 0 ||
	    compare_read(m, uuid, db, &e) < 0)
		fail_msg("%s", e.text);
	db_close(db);
}

#define NUMBERS(n) \
	"WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i + 1 < " #n ")"

static double part(const struct measured *m, int which)
{
	double sum = 0;
	int w;

	assert_int_equal(m->n_splits, 1);
	for (w = 0; w < COMPARE_WINDOWS; w++)
		sum += m->splits[0].sum[w][which];
	return sum / m->splits[0].n;
}

static void waiting_for_other_requests_is_no_cpu_time(void **state)
{
	struct measured m;

	(void)state;
	/* pairs: one is served for 9 ms, the other arrives 1 ms later and is served for 100 us */
	measure_rows(&m, "q",
		     NUMBERS(100) "SELECT i * 100000000 AS a, i * 100000000 AS b,"
				  " i * 100000000 + 9000000 AS c, 7 AS d FROM k UNION ALL SELECT"
				  " i * 100000000 + 1000000, i * 100000000 + 9000000,"
				  " i * 100000000 + 9100000, 7 FROM k");
	assert_int_equal(part(&m, CATEGORY_queue), 8000000 / 2);
	assert_int_equal(part(&m, CATEGORY_cpu), 9100000 / 2);
	assert_int_equal(part(&m, PART_ALL), 17100000 / 2);
	compare_free(&m);
	/* an event loop reads two, then answers both: after 1 ms the first waits for the second */
	measure_rows(&m, "q",
		     NUMBERS(100) "SELECT i * 100000000 AS a, i * 100000000 AS b,"
				  " i * 100000000 + 9000000 AS c, 7 AS d FROM k UNION ALL SELECT"
				  " i * 100000000, i * 100000000 + 1000000,"
				  " i * 100000000 + 9500000, 7 FROM k");
	assert_int_equal(part(&m, CATEGORY_queue), (8000000 + 1000000) / 2);
	assert_int_equal(part(&m, CATEGORY_cpu), (1000000 + 8500000) / 2);
	compare_free(&m);
	/* of another thread it is not known what it did instead */
	measure_rows(&m, "q",
		     NUMBERS(100) "SELECT i * 100000000 AS a, i * 100000000 AS b,"
				  " i * 100000000 + 9000000 AS c, 7 AS d FROM k UNION ALL SELECT"
				  " i * 100000000 + 1000000, i * 100000000 + 9000000,"
				  " i * 100000000 + 9100000, 8 FROM k");
	assert_int_equal(part(&m, CATEGORY_queue), 0);
	compare_free(&m);
}

static const struct sample *sample_of(const struct measured *m, enum compare_metric metric)
{
	struct compared_subject s;

	compare_subject(&s, COMPARE_SERVICE, "server", "tcp", 80, NULL);
	return compare_find(m, &s, metric);
}

static void pauses_count_once_however_many_wait(void **state)
{
	struct measured m;
	const struct events *slow;

	(void)state;
	/* quick ones; at 2 s and 6 s eight wait for 300 ms */
	measure_rows(&m, "p",
		     NUMBERS(200) "SELECT i * 50000000 AS a, i * 50000000 AS b,"
				  " i * 50000000 + 50000 AS c, 7 AS d FROM k UNION ALL SELECT"
				  " iif(i < 8, 2, 6) * 1000000000 + 1000000 * (i % 8 + 1),"
				  " iif(i < 8, 2, 6) * 1000000000 + 290000000,"
				  " iif(i < 8, 2, 6) * 1000000000 + 301000000 + i, 8 FROM k"
				  " WHERE i < 16 UNION ALL SELECT 100, 100, 2000000000, 9");
	/* between them quick ones are answered: no pause */
	assert_int_equal(sample_of(&m, COMPARE_pauses)->value, 0);
	slow = sample_of(&m, COMPARE_slow_episodes)->slow;
	assert_int_equal(slow[3].n, 3); /* 100 ms: the two, and the one of 2 s */
	assert_int_equal(slow[4].n, 1); /* 1 s */
	assert_int_equal(sample_of(&m, COMPARE_request_max)->value, 1999999900);
	compare_free(&m);
	/* without the quick ones nothing is answered */
	measure_rows(
		&m, "p",
		NUMBERS(200) "SELECT i * 50000000 AS a, i * 50000000 AS b,"
			     " i * 50000000 + 50000 AS c, 7 AS d FROM k"
			     " WHERE i NOT BETWEEN 40 AND 46 AND i NOT BETWEEN 120 AND 126"
			     " UNION ALL SELECT iif(i < 8, 2, 6) * 1000000000 + 1000000 * (i % 8 + 1),"
			     " iif(i < 8, 2, 6) * 1000000000 + 290000000,"
			     " iif(i < 8, 2, 6) * 1000000000 + 301000000 + i, 8 FROM k"
			     " WHERE i < 16");
	assert_int_equal(sample_of(&m, COMPARE_pauses)->value, 2);
	/* from the first of the eight, 1 ms after the second, to the answer */
	assert_int_equal(sample_of(&m, COMPARE_pause_time)->value, 600000008);
	compare_free(&m);
}

/* As in report: what awaits something, a client that takes its answer, or the rest of a request. */
static void what_the_server_does_not_owe_is_no_pause(void **state)
{
	static const int threads[] = { 8, AWAITS, PACED, IN_PARTS };
	struct measured m;
	char rows[600];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		snprintf(rows, sizeof(rows),
			 NUMBERS(200) "SELECT i * 50000000 AS a, i * 50000000 AS b,"
				      " i * 50000000 + 50000 AS c, 7 AS d FROM k"
				      " WHERE i NOT BETWEEN 40 AND 46"
				      " UNION ALL SELECT 2001000000, 2001000000, 2301000000, %d",
			 threads[i]);
		measure_rows(&m, "p", rows);
		assert_int_equal(sample_of(&m, COMPARE_pauses)->value, threads[i] == 8);
		assert_int_equal(sample_of(&m, COMPARE_request_max)->value > 1e8, threads[i] == 8);
		compare_free(&m);
	}
}

/*
 * n requests of 50 us and a few ns more, evenly. Of 4000, in the first of 20 parts those of 300 ms
 * are answered at the end of these only.
 */
static void steady(struct measured *m, const char *uuid, int n, int pauses)
{
	char requests[800];

	snprintf(requests, sizeof(requests),
		 "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i + 1 < %d)"
		 " SELECT t AS a, t + 1000 + x AS b, t + 51000 + x + i * 7919 %% 997 AS c, 7 AS d"
		 " FROM (SELECT i, t, iif(i %% 200 BETWEEN 9 AND 128 AND i < %d,"
		 " i / 200 * 500000000 + 322500000 - t, 0) AS x"
		 " FROM (SELECT i, i * (10000000000 / %d) AS t FROM k))",
		 n, pauses * 200, n);
	measure_rows(m, uuid, requests);
}

static void a_fall_of_throughput_is_reported_first(void **state)
{
	struct measured a, b;
	sqlite3 *db;

	(void)state;
	steady(&a, "a", 4000, 0);
	steady(&b, "b", 1600, 0);
	db = compared_sides(&a, &b);
	is_text(db, "SELECT kind FROM finding WHERE evidence<>'LIMIT' ORDER BY id LIMIT 1",
		"compare_throughput_fell");
	is_number(db,
		  "SELECT count(*) FROM finding WHERE kind IN"
		  " ('compare_no_change', 'compare_inconclusive', 'compare_slower')",
		  0);
	db_close(db);
}

static void no_change_needs_equivalence_and_equal_pauses(void **state)
{
	struct measured a, b;
	sqlite3 *db;

	(void)state;
	steady(&a, "a", 4000, 0);
	steady(&b, "b", 4000, 0);
	db = compared_sides(&a, &b);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='compare_no_change'", 1);
	db_close(db);
	/* one pause proves nothing, but is none the less there */
	steady(&a, "a", 4000, 0);
	steady(&b, "b", 4000, 1);
	db = compared_sides(&a, &b);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='compare_no_change'", 0);
	is_number(db, FINDING_VALUE("compare_pauses", "after", "number"), 1);
	db_close(db);
	/* nor do ten of one half of the time: they are as few as their clumps */
	steady(&a, "a", 4000, 0);
	steady(&b, "b", 4000, 10);
	db = compared_sides(&a, &b);
	assert_in_range(asked(db, "SELECT 1000 * eff_after FROM change WHERE name='pauses'"), 2000,
			6000);
	is_text(db, "SELECT verdict FROM change WHERE name='pauses'", "inconclusive");
	db_close(db);
	/* twenty are more than none */
	steady(&a, "a", 4000, 0);
	steady(&b, "b", 4000, 20);
	db = compared_sides(&a, &b);
	is_text(db, "SELECT verdict FROM change WHERE name='pauses' AND n_after=20", "more");
	is_number(db, "SELECT max(severity) FROM finding WHERE kind='compare_pauses'", 2);
	db_close(db);
}

/* Twice the service time from the middle on: quantiles of the whole mix two phases. */
static void changes_of_level_are_noted(void **state)
{
	struct measured a, b;
	sqlite3 *db;

	(void)state;
	steady(&a, "a", 4000, 0);
	measure_rows(
		&b, "b",
		NUMBERS(4000) "SELECT i * 2500000 AS a, i * 2500000 AS b, i * 2500000 + 50000"
			      " + iif(i < 2000, 0, 50000) + i * 7919 % 997 AS c, 7 AS d FROM k");
	assert_int_equal(a.shapes[0].levels, 1);
	assert_int_equal(b.shapes[0].levels, 2);
	db = compared_sides(&a, &b);
	is_text(db, "SELECT verdict FROM comparability WHERE what='level'", "differs");
	is_above(db, "SELECT finding FROM comparability WHERE what='level'", 0);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='compare_unsteady'", 1);
	db_close(db);
}

/* ---- pairs ---- */

/* One recording with services of process server on these ports. */
static struct measured with_services(const int *ports)
{
	struct compared_subject s;
	struct measured m = { 0 };

	for (; *ports; ports++) {
		compare_subject(&s, COMPARE_SERVICE, "server", "tcp", *ports, NULL);
		assert_non_null(compare_add(&m, &s, COMPARE_request_p50, NULL));
		s.kind = COMPARE_PROCESS;
		assert_non_null(compare_add(&m, &s, COMPARE_run_request, NULL));
	}
	return m;
}

static bool paired(const int *before, const int *after)
{
	struct measured a = with_services(before), b = with_services(after);
	struct sides s = { { &a, &b }, { 1, 1 } };
	struct err e = { 0 };
	struct compared_subject server;
	sqlite3 *db = NULL;
	bool both;

	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(compare_pair(db, &s, &e), 0);
	compare_subject(&server, COMPARE_SERVICE, "server", "tcp", COMPARE_NO_PORT, NULL);
	both = compare_find(&a, &server, COMPARE_request_p50) &&
	       compare_find(&b, &server, COMPARE_request_p50);
	/* it is reported; what is not of the service keeps its columns */
	is_number(db, "SELECT count(*) FROM comparability WHERE what='service'", both);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='compare_ports'", both);
	server.kind = COMPARE_PROCESS;
	assert_null(compare_find(&a, &server, COMPARE_run_request));
	db_close(db);
	compare_free(&a);
	compare_free(&b);
	return both;
}

static void services_pair_by_port_or_alone(void **state)
{
	static const int one[] = { 80, 0 }, other[] = { 81, 0 }, two[] = { 81, 82, 0 },
			 none[] = { 0 };

	(void)state;
	assert_true(paired(one, other));
	assert_false(paired(one, one)); /* by port */
	assert_false(paired(one, two));
	assert_false(paired(two, one));
	assert_false(paired(one, none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(subjects_are_safe_columns),
		T(parts_add_up_to_the_whole),
		T(nothing_changed),
		T(waiting_for_other_requests_is_no_cpu_time),
		T(pauses_count_once_however_many_wait),
		T(what_the_server_does_not_owe_is_no_pause),
		T(a_fall_of_throughput_is_reported_first),
		T(no_change_needs_equivalence_and_equal_pauses),
		T(changes_of_level_are_noted),
		T(services_pair_by_port_or_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
