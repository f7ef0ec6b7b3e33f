// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/stats/stats.c, hist.c, number.c, idmap.c, db.c, bulk.c: small machines, checked by hand.
 */
#include "analyze/analyses/analysis.h"
#include "analyze/base/idmap.h"
#include "analyze/base/number.h"
#include "analyze/render/pivot.h"
#include "analyze/render/render.h"
#include "analyze/stats/hist.h"
#include "analyze/stats/stats.h"
#include "analyze/store/columns/bulk.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <math.h>

static void near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * fabs(want) + 1e-12)
		fail_msg("%.12g is not %.12g", got, want);
}

static void moments(void **state)
{
	const double v[] = { 2, 4, 4, 4, 5, 5, 7, 9 };

	(void)state;
	near(stats_mean(v, 8), 5);
	near(stats_dispersion(v, 8), 32.0 / 7 / 5);
	assert_true(isnan(stats_mean(v, 0)));
	assert_true(isnan(stats_dispersion(v, 1)));
}

/* 9 windows (8 degrees of freedom: t = 2.306004), 400 events, Poisson: 2.306 sqrt(1/400). */
static void rate_interval(void **state)
{
	(void)state;
	assert_true(fabs(stats_rate_error(1, 400, 9) - 2.306004 / 20) < 1e-6);
	assert_true(isnan(stats_rate_error(1, 400, 1)));
	near(stats_rate_error(0, 400, 9), 0);
}

static void quantiles_from_buckets(void **state)
{
	const struct bucket b[] = { { 1, 2, 1 }, { 5, 6, 1 }, { 100, 110, 2 } };

	(void)state;
	near(stats_quantile(b, 3, 0.25), 1);
	near(stats_quantile(b, 3, 0.5), 5);
	near(stats_quantile(b, 3, 0.75), 102.5);
	near(stats_quantile(b, 3, 0.99), 107.5);
	assert_true(isnan(stats_quantile(b, 0, 0.5)));
}

/* as SQLite writes them */
static void numbers_with_all_digits(void **state)
{
	(void)state;
	assert_string_equal(all_digits(0).text, "0.0");
	assert_string_equal(all_digits(-42).text, "-42.0");
	assert_string_equal(all_digits(1e-5).text, "1.0e-05");
	assert_string_equal(all_digits(-1e300).text, "-1.0e+300");
	assert_string_equal(all_digits(8939250.138127470).text, "8939250.13812747");
	assert_string_equal(all_digits(2.0 / 3).text, "0.666666666666667");
	assert_string_equal(all_digits(-INFINITY).text, "-Inf");
}

struct tally {
	u64 n, lowest, highest;
	double widest;
};

static void tally(void *arg, u64 low, u64 high, u64 n)
{
	struct tally *t = arg;

	assert_true(low >= t->highest && high > low);
	t->n += n;
	t->highest = high;
	if (low >= HIST_SUB && (double)(high - low) / low > t->widest)
		t->widest = (double)(high - low) / low;
}

static void histograms_keep_every_value(void **state)
{
	struct tally t = { 0 };
	struct hist h = { 0 };
	u64 v, n = 0;

	(void)state;
	for (v = 0; v < 1000; v++, n++)
		hist_add(&h, v);
	for (v = 1; v && v < 1ull << 62; v *= 3, n++)
		hist_add(&h, v);
	hist_add(&h, UINT64_MAX);
	hist_each(&h, tally, &t);
	assert_int_equal(t.n, n + 1);
	assert_int_equal(h.n, n + 1);
	assert_int_equal(h.max, UINT64_MAX);
	assert_true(t.widest <= 1.0 / HIST_SUB);
	hist_free(&h);
}

static void numbers_for_people(void **state)
{
	static const struct {
		double v;
		const char *unit, *want;
	} cases[] = {
		{ 999, "ns", "999 ns" },	{ 1500, "ns", "1.50 us" },
		{ 25e6, "ns", "25.0 ms" },	{ 2e9, "ns", "2.00 s" },
		{ 1234567, "", "1,234,567" },	{ 12.34, "%", "12.3" },
		{ 75126.3, "1/s", "75,126" },	{ 1.5, "", "1.50" },
		{ 5e6, "bytes", "5.00 MB" },	{ NAN, "ns", "-" },
		{ -1234567, "", "-1,234,567" }, { 0, "", "0" },
		{ 175.2e3, "ns", "175 us" },	{ 9.996e6, "ns", "10.0 ms" },
		{ 999.9, "ns", "1.00 us" },	{ 17.456, "", "17.5" },
		{ 175.4, "1/s", "175" },	{ 99.96e3, "bytes", "100 kB" },
	};
	char text[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		number_text(text, sizeof(text), cases[i].v, cases[i].unit);
		assert_string_equal(text, cases[i].want);
	}
}

/* In sentences and in tables. */
static void factors_have_a_limit(void **state)
{
	static const struct {
		double v;
		const char *want;
		bool precise;
	} cases[] = {
		{ 0, "0.00", true },	    { 1.754, "1.75", true },  { 17.54, "17.5", true },
		{ 175.4, "175", true },	    { 10000, "10000", true }, { 10001, "10000", false },
		{ 5.5e30, "10000", false },
	};
	char text[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(factor_text(text, sizeof(text), cases[i].v), cases[i].precise);
		assert_string_equal(text, cases[i].want);
	}
}

/* Expects the values of odd numbers one after the other; fails at the 100th. */
static int on_value(void *arg, void *value, struct err *e)
{
	char **next = arg;

	assert_ptr_equal(value, *next);
	*next += 2;
	return *(char *)value ? err_set(e, ERR_FAIL, "enough") : 0;
}

static void idmap_finds_what_was_put(void **state)
{
	static char values[5002], *next;
	struct idmap_slot *sorted;
	struct idmap m = { 0 };
	struct err e = { 0 };
	size_t at = 0, n = 0;
	u64 i;

	(void)state;
	for (i = 0; i < 5000; i++)
		assert_int_equal(idmap_put(&m, i * 4096, &values[i], 5000, &e), 0);
	assert_int_equal(idmap_put(&m, 1, values, 5000, &e), ERR_DAMAGED);
	for (i = 0; i < 5000; i += 2)
		assert_ptr_equal(idmap_take(&m, i * 4096), &values[i]);
	for (i = 0; i < 5000; i++)
		assert_ptr_equal(idmap_get(&m, i * 4096), i % 2 ? &values[i] : NULL);
	while (idmap_each(&m, &at))
		n++;
	assert_int_equal(n, 2500);
	sorted = idmap_sorted(&m, &e);
	assert_non_null(sorted);
	for (i = 0; i < 2500; i++)
		assert_ptr_equal(sorted[i].value, &values[2 * i + 1]);
	free(sorted);
	next = values + 1;
	assert_int_equal(idmap_in_order(&m, on_value, &next, &e), 0);
	assert_ptr_equal(next, values + 5001);
	next = values + 1;
	values[199] = 1;
	assert_int_equal(idmap_in_order(&m, on_value, &next, &e), ERR_FAIL);
	assert_ptr_equal(next, values + 201);
	assert_null(idmap_take(&m, 7));
	idmap_free(&m);
}

static void bulk_rows_arrive(void **state)
{
	struct err e = { 0 };
	struct bulk *b;
	sqlite3 *db;
	s64 *row, v;
	int i, c;

	(void)state;
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(bulk_open(&b, db, &e), 0);
	for (i = 0; i < 50000; i++) {
		row = bulk_row(b, TABLE_syscall);
		for (c = 0; c < tables[TABLE_syscall].n_columns; c++)
			row[c] = i + c;
		row[1] = i % 2 ? BULK_NULL : i;
	}
	assert_int_equal(bulk_close(b, &e), 0);
	bulk_free(b);
	db_int(db, &v, &e, "SELECT count(*) FROM syscall", "");
	assert_int_equal(v, 50000);
	db_int(db, &v, &e, "SELECT count(dur) FROM syscall", "");
	assert_int_equal(v, 25000);
	db_int(db, &v, &e, "SELECT ret FROM syscall WHERE ts=?", "i", (s64)49999);
	assert_int_equal(v, 49999 + 6);
	db_close(db);
}

static void databases_are_recognised(void **state)
{
	char path[] = "/tmp/obs-db-XXXXXX";
	struct err e = { 0 };
	sqlite3 *db;

	(void)state;
	close(mkstemp(path));
	assert_false(db_is_database(path));
	assert_int_equal(db_open(&db, path, true, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "exists already"));
	unlink(path);
	assert_int_equal(db_open(&db, path, true, &e), 0);
	db_close(db);
	assert_true(db_is_database(path));
	assert_int_equal(db_open(&db, path, false, &e), 0);
	assert_int_equal(db_exec(db, &e, "DELETE FROM syscall"), ERR_FAIL);
	db_close(db);
	sqlite3_open(path, &db);
	sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL);
	db_close(db);
	assert_int_equal(db_open(&db, path, false, &e), ERR_VERSION);
	unlink(path);
}

/* The sum of a list of values, and the sums of each value and the one before it. */
static void sums_do_not_fail(void **state)
{
	static const struct {
		const char *values, *sum, *pairs;
	} rows[] = {
		/* what rounding loses comes back, in any order */
		{ "(1e17), (1.5), (-1e17)", "1.5", "1.0e+17 1.0e+17 -1.0e+17" },
		{ "(1), (2), (-4)", "-1", "1 3 -2" },
		{ "(NULL), (7), (NULL)", "7", " 7 7" },
		{ "(NULL)", "", "" },
		{ "(1), (0.5), (-3)", "-1.5", "1 1.5 -2.5" },
		{ "(9223372036854775807), (1), (1)", "9.22337203685478e+18",
		  "9223372036854775807 9.22337203685478e+18 2" },
		{ "(-9223372036854775807), (-2), (-2), (2)", "-9.22337203685478e+18",
		  "-9223372036854775807 -9.22337203685478e+18 -4 0" },
	};
	struct err e = { 0 };
	sqlite3 *db = NULL;
	char sql[400];
	size_t i;

	(void)state;
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT coalesce(sum(column1), '') FROM (VALUES %s)",
			 rows[i].values);
		is_text(db, sql, rows[i].sum);
		snprintf(sql, sizeof(sql),
			 "SELECT group_concat(coalesce(s, ''), ' ') FROM (SELECT sum(column1) OVER"
			 " (ROWS 1 PRECEDING) AS s FROM (VALUES %s))",
			 rows[i].values);
		is_text(db, sql, rows[i].pairs);
	}
	db_close(db);
}

/* Opens the database that SQL has made of an empty one of ours; returns what db_open_ours said. */
static int opened_after(const char *sql, struct err *e)
{
	char path[] = "/tmp/obs-db-XXXXXX";
	sqlite3 *db = NULL;
	int ret;

	close(mkstemp(path));
	unlink(path);
	assert_int_equal(db_open(&db, path, true, e), 0);
	if (db_exec(db, e, sql) < 0)
		fail_msg("%s", e->text);
	db_close(db);
	ret = db_open_ours(&db, path, e);
	if (ret == 0)
		db_close(db);
	unlink(path);
	return ret;
}

static void tables_of_databases_must_be_tables(void **state)
{
	static const char *const bad[] = {
		"DROP TABLE finding; CREATE VIEW finding AS WITH RECURSIVE r(i) AS (SELECT 1 UNION"
		" ALL SELECT i + 1 FROM r) SELECT 'a' AS analysis, 1 AS severity, 'b' AS label,"
		" 'c' AS sentence, 'd' AS sql FROM r",
		"DROP TABLE metric",
		"ALTER TABLE metric RENAME COLUMN value TO worth",
		"DROP TABLE qos; CREATE TABLE qos(ts INT, value AS (hex(zeroblob(ts))))",
	};
	struct err e = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(opened_after(bad[i], &e), ERR_FAIL);
		assert_non_null(strstr(e.text, "is not one of obsanalyze"));
	}
	assert_int_equal(opened_after("CREATE VIEW own AS SELECT 1; CREATE TABLE mine(a)", &e), 0);
}

/* A report of a database in which each value is NULL. */
static void null_is_no_text_in_reports(void **state)
{
	static const char *const fills[] = {
		("INSERT INTO recording(key) VALUES('duration_ns'),('file'),('host'),('start'),"
		 "('kernel'),('complete'),('sound'),('damaged_blocks'),('step_ns'),('targets')"),
		"INSERT INTO metric(analysis, subject) VALUES('overview', 'x'),('rps', 'y')",
		"INSERT INTO metric(analysis, name) VALUES('overview', 'run'),('rps', 'requests')",
		"INSERT INTO metric(name) VALUES(NULL)",
		"INSERT INTO finding(analysis) VALUES('overview'),('causes'),(NULL)",
		"INSERT INTO finding(id, analysis, kind, evidence) VALUES(6, 'overview', 'calls_nested', 'LIMIT')",
		"INSERT INTO finding_value(finding) VALUES(NULL),(6)",
		"INSERT INTO cause(rank) VALUES(NULL),(1)",
		"INSERT INTO coverage(records) VALUES(NULL),(1)",
		"INSERT INTO thread(tid) VALUES(NULL),(1)",
		"INSERT INTO timeline_unit(unit) VALUES(NULL),(1)",
		"INSERT INTO timeline(unit) VALUES(NULL),(1)",
		"INSERT INTO loss(ts) VALUES(NULL),(1)",
	};
	static const enum render_format formats[] = { RENDER_TEXT, RENDER_MARKDOWN, RENDER_JSON,
						      RENDER_HTML };
	struct render_options o = { .name = "x" };
	struct buf out = { 0 };
	struct err e = { 0 };
	sqlite3 *db = NULL;
	size_t i, k;

	(void)state;
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	for (i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
		changed(db, fills[i]);
	for (k = 0; k < sizeof(formats) / sizeof(formats[0]); k++) {
		o.format = formats[k];
		buf_clear(&out);
		assert_int_equal(render_report(&out, db, &o, &e), 0);
		assert_true(out.len > 0);
	}
	buf_free(&out);
	db_close(db);
}

/* What a cell says of a value, its interval and unit. */
static const char *cell(double value, double low, double high, const char *unit)
{
	static char text[80];
	struct err e = { 0 };
	sqlite3 *db = NULL;
	struct pivot p;

	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(db_insert(db, TABLE_metric, &e, "sssisssdddis", "a", "who", "none", (s64)0,
				   "m", unit, "", value, low, high, (s64)1, "COMPLETE"),
			 0);
	assert_int_equal(pivot_read(&p, db, "a", 9, ESCAPE_TEXT, &e), 0);
	snprintf(text, sizeof(text), "%s", p.rows[0].cell[0]);
	pivot_free(&p);
	db_close(db);
	return text;
}

static void intervals_in_cells(void **state)
{
	(void)state;
	assert_string_equal(cell(200, 190, 210, "1/s"), "200 +-5.0%");
	assert_string_equal(cell(200, 160, 240, "1/s"), "200 +-20%");
	/* wide ones have two ends, and percents always */
	assert_string_equal(cell(2e6, 5e5, 4.5e6, "ns"), "2.00 ms (500 us..4.50 ms)");
	assert_string_equal(cell(50, 45, 100, "%"), "50.0 (45.0..100.0)");
	/* nothing to say */
	assert_string_equal(cell(50, NAN, NAN, "%"), "50.0");
	assert_string_equal(cell(100, 100, 100, "1/s"), "100");
	assert_string_equal(cell(-0.04, NAN, NAN, "%"), "0.0");
	assert_string_equal(cell(-0.06, NAN, NAN, "%"), "-0.1");
}

/* Garwood's table; GSL alone aborts at 1,736, as its quantile does not converge. */
static void few_events_are_few(void **state)
{
	double n;

	(void)state;
	assert_true(stats_events_low(0) == 0);
	assert_true(fabs(stats_events_low(1) - 0.0253) < 1e-4);
	assert_true(fabs(stats_events_low(10) - 4.7954) < 1e-4);
	/* no step where the approximation begins */
	assert_true(fabs(stats_events_low(1001) - stats_events_low(1000) - 0.97) < 0.03);
	for (n = 1700; n < 1800; n++)
		assert_true(fabs(stats_events_low(n) - (n - 1.96 * sqrt(n))) < 2);
	assert_true(fabs(stats_events_low(1e7) - (1e7 - 1.96 * sqrt(1e7))) < 2);
}

static void counts_in_sentences_have_separators(void **state)
{
	(void)state;
	assert_string_equal(counted(0).text, "0");
	assert_string_equal(counted(999).text, "999");
	assert_string_equal(counted(164112).text, "164,112");
	assert_string_equal(counted(1e15).text, "1,000,000,000,000,000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(moments),
		T(intervals_in_cells),
		T(rate_interval),
		T(quantiles_from_buckets),
		T(numbers_with_all_digits),
		T(histograms_keep_every_value),
		T(numbers_for_people),
		T(factors_have_a_limit),
		T(idmap_finds_what_was_put),
		T(bulk_rows_arrive),
		T(sums_do_not_fail),
		T(tables_of_databases_must_be_tables),
		T(null_is_no_text_in_reports),
		T(databases_are_recognised),
		T(few_events_are_few),
		T(counts_in_sentences_have_separators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
