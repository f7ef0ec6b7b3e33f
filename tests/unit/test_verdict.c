// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict*.c: what is a problem, and what is not. */
#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "analyze/render/render.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"

#include <stdlib.h>

#define MS 1000000L

struct text {
	struct buf b;
	long t;
};

static void add(struct text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *x, const char *fmt, ...)
{
	struct err e = { 0 };
	char line[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert_int_equal(buf_printf(&x->b, &e, "%s\n", line), 0);
}

static void head(struct text *x)
{
	int i;

	add(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	add(x, "1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched\"");
	add(x, "4 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"");
	for (i = 5; i < 9; i++)
		add(x,
		    "20 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 "
		    "dport=%d saddr=127.0.0.1 daddr=10.0.0.9",
		    i, 1000 + i, 40000 + i);
	add(x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"\n@cpu 0");
	x->t = MS;
}

static void request(struct text *x, int fd, long work)
{
	add(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	add(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", x->t + 2000);
	add(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, fd);
	add(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 4000 + work, fd);
	add(x, "%ld 100 switch next=0 state=1", x->t + 5000 + work);
	x->t += 6000 + work;
}

/* n requests that take work ns, 3 of 4 up to half less, so that no two windows are equal. */
static void many(struct text *x, int n, long work, long gap)
{
	int i;

	for (i = 0; i < n; i++) {
		request(x, 5 + i % 3, work - (rand() % 4 ? rand() % (work / 2) : 0));
		x->t += gap;
	}
}

static sqlite3 *judged(struct text *x, const char *facts)
{
	static const char *const run[] = { "pauses", "verdict" };
	struct err e = { 0 };
	sqlite3 *db;
	size_t i;

	add(x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x->t, x->t);
	db = loaded(x->b.data);
	buf_free(&x->b);
	if (facts && db_exec(db, &e, facts) < 0)
		fail_msg("%s", e.text);
	for (i = 0; i < 2; i++)
		if (analyses_run(db, run[i], &e) < 0)
			fail_msg("%s", e.text);
	return db;
}

static void is_verdict(sqlite3 *db, const char *status, const char *kind)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT status='%s' AND kind='%s' FROM verdict WHERE rank=1",
		 status, kind);
	if (!asked(db, sql)) {
		print_error("%s\n", sql);
		fail_msg("pauses %lld", (long long)asked(db, "SELECT pauses FROM verdict"));
	}
}

/* Healthy requests for 2 s, with `pauses` requests of `length` among them. */
static sqlite3 *paused(int pauses, long length, const char *facts)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	many(&x, 600, 100000, MS);
	for (i = 0; i < pauses; i++) {
		request(&x, 8, length);
		many(&x, 300, 100000, MS);
	}
	many(&x, 600, 100000, MS);
	return judged(&x, facts);
}

static void a_healthy_server_is_told_so(void **state)
{
	sqlite3 *db = paused(0, 0, NULL);

	(void)state;
	is_verdict(db, "none", "");
	assert_int_equal(asked(db, "SELECT requests FROM verdict"), 1200);
	assert_int_equal(asked(db, "SELECT max < 200000 AND p50 < p99 AND p99 <= max FROM verdict"),
			 1);
	assert_int_equal(asked(db, "SELECT idle > 80 AND idle < 99 FROM verdict"), 1);
	assert_int_equal(asked(db, "SELECT start IS NULL AND errors IS NULL FROM verdict"), 1);
	assert_int_equal(asked(db,
			       "SELECT f.kind='verdict_healthy' AND severity=0 FROM finding f JOIN"
			       " verdict v ON v.finding=f.id"),
			 1);
	sqlite3_close(db);
}

static void a_pause_is_a_problem(void **state)
{
	sqlite3 *db = paused(2, 300 * MS, NULL);

	(void)state;
	is_verdict(db, "problem", "pauses");
	assert_int_equal(asked(db, "SELECT pauses=2 AND n=2 FROM verdict"), 1);
	assert_in_range(asked(db, "SELECT paused FROM verdict"), 600 * MS, 602 * MS);
	assert_in_range(asked(db, "SELECT max FROM verdict"), 300 * MS, 301 * MS);
	assert_int_equal(asked(db, "SELECT p99_outside < 200000 FROM verdict"), 1);
	/* 600 requests of about 1.08 ms before it */
	assert_in_range(asked(db, "SELECT start FROM verdict"), 640 * MS, 660 * MS);
	assert_int_equal(asked(db,
			       "SELECT count(*) FROM finding WHERE kind='pause_cause' AND parent="
			       "(SELECT finding FROM verdict) AND evidence='OBSERVED'"),
			 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM finding_value WHERE name='client' AND"
				   " text='10.0.0.9:40008'"),
			 1);
	sqlite3_close(db);
}

static void limits_decide(void **state)
{
	sqlite3 *db = paused(2, 300 * MS,
			     "INSERT INTO recording VALUES('limit_pause_ns', 400000000),"
			     "('limit_factor', 1.5)");

	(void)state;
	/* long no more, but far above p99 and much of the time */
	is_verdict(db, "problem", "pauses");
	sqlite3_close(db);
	db = paused(1, 12 * MS, NULL); /* below 1 % of the time */
	is_verdict(db, "none", "");
	assert_in_range(asked(db, "SELECT pause_max FROM verdict"), 12 * MS, 13 * MS);
	sqlite3_close(db);
	db = paused(1, 12 * MS, "INSERT INTO recording VALUES('limit_pause_ns', 11000000)");
	is_verdict(db, "problem", "pauses");
	sqlite3_close(db);
	db = paused(8, 30 * MS, NULL); /* short, but often */
	is_verdict(db, "problem", "pauses");
	assert_int_equal(asked(db, "SELECT pauses FROM verdict"), 8);
	sqlite3_close(db);
}

/* Each request takes 200 ms: nothing is answered meanwhile, but that is how it serves. */
static void slow_service_is_no_pause(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	srand(3);
	head(&x);
	many(&x, 120, 200 * MS, MS);
	db = judged(&x, NULL);
	assert_int_equal(asked(db, "SELECT count(*) FROM pause WHERE dur > 100000000"), 120);
	is_verdict(db, "none", "");
	sqlite3_close(db);
}

static sqlite3 *changed(long before, long after, const char *facts)
{
	struct text x = { 0 };

	srand(3);
	head(&x);
	many(&x, 500, before, 2 * MS);
	many(&x, 500, after, 2 * MS);
	return judged(&x, facts);
}

static void slower_requests_are_a_problem(void **state)
{
	sqlite3 *db = changed(100000, 4 * MS, NULL);

	(void)state;
	is_verdict(db, "problem", "slower");
	/* 500 requests of about 2.08 ms before it */
	assert_in_range(asked(db, "SELECT start FROM verdict"), 840 * MS, 1240 * MS);
	assert_int_equal(asked(db, "SELECT ratio_low > 20 AND ratio < 60 AND ratio_low < ratio AND"
				   " ratio < ratio_high FROM verdict"),
			 1);
	assert_int_equal(asked(db, "SELECT slow > 2000000 AND baseline < 200000 FROM verdict"), 1);
	sqlite3_close(db);
}

/* Four times as long, but by less than the limit of 1 ms; or nothing but scatter. */
static void small_changes_are_none(void **state)
{
	sqlite3 *db = changed(50000, 200000, NULL);

	(void)state;
	is_verdict(db, "none", "");
	sqlite3_close(db);
	db = changed(50000, 200000, "INSERT INTO recording VALUES('limit_latency_ns', 50000)");
	is_verdict(db, "problem", "slower");
	sqlite3_close(db);
	db = changed(3 * MS, 3 * MS, NULL);
	is_verdict(db, "none", "");
	sqlite3_close(db);
	/* windows that the user named do not make it one */
	db = changed(3 * MS, 3 * MS,
		     "INSERT INTO recording VALUES('baseline_from', 0),"
		     "('baseline_to', 1000000000)");
	is_verdict(db, "none", "");
	sqlite3_close(db);
}

static void few_requests_are_not_enough(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	many(&x, 30, 100000, MS);
	db = judged(&x, NULL);
	is_verdict(db, "unknown", "requests");
	sqlite3_close(db);
}

/* What the default report prints fits a terminal of 80 x 24, also with the worst names. */
static void the_screen_fits(void **state)
{
	struct render_options o = { .format = RENDER_TEXT, .width = 80, .name = "incident.obs" };
	static const int pauses[] = { 0, 3 };
	struct buf out = { 0 };
	struct err e = { 0 };
	int k, lines, wide, at;
	size_t i;

	(void)state;
	for (k = 0; k < 2; k++) {
		sqlite3 *db = paused(pauses[k], 300 * MS,
				     "INSERT INTO recording VALUES('host', 'a-host-with-a-name')");

		buf_clear(&out);
		assert_int_equal(render_report(&out, db, &o, &e), 0);
		for (i = 0, at = wide = lines = 0; i < out.len; i++) {
			at = out.data[i] == '\n' ? 0 : at + 1;
			lines += out.data[i] == '\n';
			wide = at > wide ? at : wide;
		}
		assert_true(lines <= 24);
		assert_true(wide <= 80);
		assert_non_null(strstr(out.data, pauses[k] ? "PROBLEM  " : "NO PROBLEM FOUND"));
		assert_true(!pauses[k] == !strstr(out.data, "WORST MOMENTS"));
		o.format = RENDER_MARKDOWN;
		buf_clear(&out);
		assert_int_equal(render_report(&out, db, &o, &e), 0);
		for (i = 0, lines = 0; i < out.len; i++)
			lines += out.data[i] == '\n';
		assert_true(lines <= 40);
		o.format = RENDER_TEXT;
		sqlite3_close(db);
	}
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_healthy_server_is_told_so),
		T(a_pause_is_a_problem),
		T(limits_decide),
		T(slow_service_is_no_pause),
		T(slower_requests_are_a_problem),
		T(small_changes_are_none),
		T(few_requests_are_not_enough),
		T(the_screen_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
