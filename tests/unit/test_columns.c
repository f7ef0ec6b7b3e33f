// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of chunks answer as plain tables of the same rows do, and damaged chunks are refused. */
#include "analyze/replay/load.h"
#include "analyze/store/columns/bulk.h"
#include "analyze/store/columns/columns.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <string.h>
#include <unistd.h>

#define ROWS 40000

static u64 seed = 88172645463325252u;

static u64 noise(u64 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void fill(sqlite3 *db, u64 from)
{
	struct row_thread_state *row;
	struct err e = { 0 };
	struct bulk *b;
	s64 i;

	seed = from;
	assert_int_equal(bulk_open(&b, db, &e), 0);
	for (i = 0; i < ROWS; i++) {
		row = bulk_add(b, thread_state);
		*row = (struct row_thread_state){
			.ts = i * 1000 + (s64)noise(5000),
			.dur = (s64)noise(i % 3 ? 200 : 1ull << 40),
			.tid = 100 + (s64)noise(7) - (i / 16384 == 1 ? 300 : 0),
			.cpu = 3,
			.state = (s64)noise(19),
			.nr = noise(3) ? BULK_NULL : 7,
			.waker = i < 20000 ? BULK_NULL : (s64)noise(70000),
			.context = noise(2) ? INT64_MAX : INT64_MIN + 1 + (s64)noise(4),
			.object = noise(5) ? (s64)(noise(255)) : BULK_NULL,
		};
	}
	assert_int_equal(bulk_close(b, &e), 0);
	bulk_free(b);
}

static void open_both(sqlite3 **chunks, sqlite3 **plain)
{
	struct err e = { 0 };

	assert_int_equal(db_open(chunks, NULL, true, &e), 0);
	assert_int_equal(columns_use(*chunks, &e), 0);
	assert_int_equal(db_open(plain, NULL, true, &e), 0);
	fill(*chunks, 5);
	fill(*plain, 5);
	assert_true(columns_has(*chunks, TABLE_thread_state));
	assert_false(columns_has(*plain, TABLE_thread_state));
}

static u64 hash_of(sqlite3 *db, const char *sql)
{
	u64 h = 0xcbf29ce484222325u;
	struct err e = { 0 };
	sqlite3_stmt *q;
	const char *text;
	int i, got;

	assert_int_equal(db_query(&q, db, &e, sql, ""), 0);
	while ((got = db_step(q, &e)) > 0)
		for (i = 0; i < sqlite3_column_count(q); i++)
			for (text = db_text_or(q, i, "-"); *text; text++)
				h = (h ^ (u8)*text) * 0x100000001b3u;
	assert_int_equal(got, 0);
	sqlite3_finalize(q);
	return h;
}

static void conditions_leave_the_same_rows(void **state)
{
	static const char *const columns[] = { "rowid", "ts",	 "dur",	    "tid",   "cpu",
					       "nr",	"waker", "context", "object" };
	static const char *const ops[] = { "=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT" };
	static const char *const values[] = {
		"0",
		"1",
		"3",
		"7",
		"104",
		"16384",
		"16385",
		"-197",
		"20000000",
		"40000",
		"'7'",
		"104.5",
		"9223372036854775807",
		"NULL",
		"-5e20",
		"100000000",
		"255",
		"''",
		"254",
		"-9223372036854775808",
	};
	sqlite3 *chunks, *plain;
	char sql[400];
	int i, k, n;

	(void)state;
	open_both(&chunks, &plain);
	for (i = 0; i < 400; i++) {
		n = snprintf(sql, sizeof(sql), "SELECT rowid, * FROM thread_state WHERE 1");
		for (k = 0; k < 1 + i % 3; k++)
			n += snprintf(sql + n, sizeof(sql) - (size_t)n, " AND %s %s %s",
				      columns[noise(9)], ops[noise(8)], values[noise(20)]);
		snprintf(sql + n, sizeof(sql) - (size_t)n, "%s",
			 i % 4 == 0   ? " ORDER BY rowid DESC"
			 : i % 4 == 1 ? " ORDER BY rowid LIMIT 9"
				      : "");
		if (hash_of(chunks, sql) != hash_of(plain, sql))
			fail_msg("not the same: %s", sql);
	}
	db_close(chunks);
	db_close(plain);
}

static void queries_answer_the_same(void **state)
{
	static const char *const queries[] = {
		"SELECT tid, state, count(*), total(dur) FROM thread_state GROUP BY 1, 2",
		"SELECT * FROM thread_state WHERE tid IN (SELECT tid FROM thread_state WHERE dur > 1e12)",
		"SELECT * FROM thread_state WHERE rowid IN (5, 40000, 1, 40001, 0, -1, 16384, 5)",
		"SELECT ts FROM thread_state ORDER BY dur DESC, ts LIMIT 5",
		"SELECT max(rowid), min(ts), count(waker), sum(object) FROM thread_state",
		"SELECT a.ts FROM thread_state a JOIN thread_state b ON b.rowid=a.rowid + 1"
		" WHERE a.tid=-197",
		"SELECT (SELECT max(dur) FROM thread_state s WHERE s.tid=x.tid) FROM (SELECT DISTINCT"
		" tid FROM thread_state) x",
	};
	sqlite3 *chunks, *plain;
	size_t i;

	(void)state;
	open_both(&chunks, &plain);
	for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (hash_of(chunks, queries[i]) != hash_of(plain, queries[i]))
			fail_msg("not the same: %s", queries[i]);
	db_close(chunks);
	db_close(plain);
}

struct sum {
	s64 rows, first, last;
	u64 h;
};

static int add(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct sum *s = arg;

	(void)e;
	s->first = s->rows++ ? s->first : rowid;
	s->last = rowid;
	s->h = s->h * 31 + (u64)row->ts + (u64)row->waker * 7 + (u64)row->context +
	       (u64)row->cpu * 11 + (u64)row->nr * 13 + (u64)row->object * 17;
	assert_int_equal(row->tid, 0); /* not asked for */
	return s->rows == 30000;
}

static void c_reads_the_same(void **state)
{
	const u32 set = COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, waker) |
			COLUMN_OF(thread_state, context);
	const u32 all = COLUMNS_ALL & ~COLUMN_OF(thread_state, tid);
	struct sum a = { 0 }, b = { 0 };
	struct err e = { 0 };
	sqlite3 *chunks, *plain;

	(void)state;
	open_both(&chunks, &plain);
	assert_int_equal(rows_each(chunks, TABLE_thread_state, set, add, &a, &e), 1);
	assert_int_equal(rows_each(plain, TABLE_thread_state, set, add, &b, &e), 1);
	assert_int_equal(a.rows, 30000);
	assert_int_equal(a.last, 30000);
	assert_true(a.rows == b.rows && a.first == b.first && a.last == b.last && a.h == b.h);
	a = b = (struct sum){ 0 };
	assert_int_equal(rows_each(chunks, TABLE_thread_state, all, add, &a, &e), 1);
	assert_int_equal(rows_each(plain, TABLE_thread_state, all, add, &b, &e), 1);
	assert_true(a.rows == b.rows && a.first == b.first && a.last == b.last && a.h == b.h);
	db_close(chunks);
	db_close(plain);
}

static int count(void *arg, const struct columns *c, struct err *e)
{
	(void)e;
	*(s64 *)arg += c->rows + 1000000 * (c->rowid == 16380);
	return 0;
}

static void ranges_cross_chunks(void **state)
{
	struct err e = { 0 };
	sqlite3 *db[2];
	s64 n;
	int i;

	(void)state;
	open_both(&db[0], &db[1]);
	for (i = 0; i < 2; i++) {
		n = 0;
		assert_int_equal(
			columns_range(db[i], TABLE_thread_state, 1, 16380, 32800, count, &n, &e),
			0);
		assert_int_equal(n, 1000000 + 32800 - 16380);
		n = 0;
		assert_int_equal(columns_range(db[i], TABLE_thread_state, 1, -50, 3, count, &n, &e),
				 0);
		assert_int_equal(n, 2);
		n = 0;
		assert_int_equal(columns_range(db[i], TABLE_thread_state, 1, 40001, INT64_MAX,
					       count, &n, &e),
				 0);
		assert_int_equal(n, 0);
		db_close(db[i]);
	}
}

static int none(void *arg, s64 rowid, const void *row, struct err *e)
{
	(void)arg;
	(void)rowid;
	(void)row;
	(void)e;
	return 0;
}

static void damaged_chunks_are_refused(void **state)
{
	static const char *const damages[] = {
		"UPDATE column_chunk SET data=substr(data, 1, 20)",
		"UPDATE column_chunk SET data=substr(data, 1, 5000)",
		"UPDATE column_chunk SET data=zeroblob(200000)",
		"UPDATE column_chunk SET data=CAST(x'ffffffff' || substr(data, 5) AS BLOB)",
		"UPDATE column_chunk SET data=NULL",
		"DELETE FROM column_chunk WHERE rowid=(SELECT min(rowid) FROM column_chunk)",
	};
	struct err e = { 0 };
	sqlite3 *db;
	size_t i;
	s64 n = 0;

	(void)state;
	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		assert_int_equal(db_open(&db, NULL, true, &e), 0);
		assert_int_equal(columns_use(db, &e), 0);
		fill(db, 9);
		changed(db, damages[i]);
		assert_int_equal(db_int(db, &n, &e, "SELECT sum(dur) FROM thread_state", ""),
				 ERR_FAIL);
		assert_int_equal(
			columns_range(db, TABLE_thread_state, 1, 0, INT64_MAX, count, &n, &e),
			ERR_FAIL);
		assert_non_null(strstr(e.text, "thread_state"));
		assert_int_equal(rows_each(db, TABLE_thread_state, 1, none, NULL, &e), ERR_FAIL);
		db_close(db);
	}
}

static void there_are_no_chunks_of_other_tables(void **state)
{
	struct err e = { 0 };
	sqlite3 *db;

	(void)state;
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(columns_use(db, &e), 0);
	assert_int_equal(db_exec(db, NULL, "CREATE VIRTUAL TABLE none USING column_chunks"),
			 ERR_FAIL);
	assert_int_equal(db_exec(db, NULL, "DELETE FROM request"), ERR_FAIL);
	is_number(db, "SELECT count(*) FROM request", 0);
	db_close(db);
}

static void the_first_failed_write_ends_the_replay(void **state)
{
	struct text x = { 0 };
	struct reader *r = NULL;
	struct err e = { 0 };
	const char *path;
	sqlite3 *db;
	size_t n;
	int i;

	(void)state;
	for (i = 0; i < 5 * ROWS; i++) {
		if (i % 10000 == 0)
			text_line(&x, i ? "@block" : "@cpu 0");
		text_line(&x, "%d 100 syscall nr=read fd=3 ret=9 count=9 dur=10", 1000 + i * 100);
	}
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(columns_use(db, &e), 0);
	assert_int_equal(db_int(db, &(s64){ 0 }, &e, "PRAGMA max_page_count=1", ""), 0);
	path = packed(x.b.data);
	assert_int_equal(reader_open(&r, path, &e), 0);
	unlink(path);
	assert_int_equal(load_recording(db, r, NULL, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "full"));
	reader_blocks(r, &n);
	assert_int_equal(n, 5 * ROWS / 10000);
	assert_in_range(reader_state(r)->decoded, 2, n / 2);
	reader_free(r);
	db_close(db);
	buf_free(&x.b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_leave_the_same_rows),
		cmocka_unit_test(queries_answer_the_same),
		cmocka_unit_test(c_reads_the_same),
		cmocka_unit_test(ranges_cross_chunks),
		cmocka_unit_test(damaged_chunks_are_refused),
		cmocka_unit_test(there_are_no_chunks_of_other_tables),
		cmocka_unit_test(the_first_failed_write_ends_the_replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
