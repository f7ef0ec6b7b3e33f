// SPDX-License-Identifier: GPL-2.0-or-later
#include "columns.h"

#include "chunk_table.h"
#include "column_chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum table_id large[] = { TABLE_syscall, TABLE_request, TABLE_thread_state };

/* SQLite connects a virtual table at its first use, and not under an authorizer that refuses
 * CREATE. */
int columns_register(sqlite3 *db, struct err *e)
{
	sqlite3_stmt *s;
	char sql[64];
	size_t i;
	int ret = chunk_table_register(db, e);

	for (i = 0; i < sizeof(large) / sizeof(large[0]) && ret == 0; i++) {
		snprintf(sql, sizeof(sql), "SELECT 1 FROM %s", tables[large[i]].name);
		ret = db_query(&s, db, e, sql, "");
		sqlite3_finalize(s);
	}
	return ret;
}

int columns_use(sqlite3 *db, struct err *e)
{
	struct buf sql = { 0 };
	size_t i;
	int ret = chunk_table_register(db, e);

	if (ret == 0)
		ret = db_exec(db, e, "CREATE TABLE column_chunk(data BLOB)");

	for (i = 0; i < sizeof(large) / sizeof(large[0]) && ret == 0; i++) {
		const char *name = tables[large[i]].name;

		buf_clear(&sql);
		ret = buf_printf(
			&sql, e,
			"DROP TABLE \"%s\"; CREATE VIRTUAL TABLE \"%s\" USING column_chunks", name,
			name);
		if (ret == 0)
			ret = db_exec(db, e, sql.data);
	}
	buf_free(&sql);
	return ret;
}

bool columns_has(sqlite3 *db, enum table_id t)
{
	s64 n = 0;

	return db_int(db, &n, NULL,
		      "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name=?"
		      " AND sql LIKE '%USING column_chunks'",
		      "s", tables[t].name) == 0 &&
	       n > 0;
}

int columns_writer(sqlite3_stmt **ret, sqlite3 *db, struct err *e)
{
	return db_query(ret, db, e, "INSERT INTO column_chunk(rowid, data) VALUES(?, ?)", "");
}

int columns_write(sqlite3_stmt *s, struct buf *out, enum table_id t, s64 chunk, const s64 *values,
		  u32 rows, struct err *e)
{
	int ret = chunk_pack(out, values, rows, (u32)tables[t].n_columns, e);

	if (ret < 0)
		return ret;
	if (sqlite3_bind_int64(s, 1, chunk_key(t, chunk)) != SQLITE_OK ||
	    sqlite3_bind_blob(s, 2, out->data, (int)out->len, SQLITE_STATIC) != SQLITE_OK)
		return err_set(e, ERR_FAIL, "out of memory for the database");
	ret = db_step(s, e);
	sqlite3_reset(s);
	return ret < 0 ? ret : 0;
}

/* ---- reading by C ---- */

#define ROWS_AT_A_TIME 1024 /* of a table that has no chunks */

struct scan {
	struct columns c;
	columns_fn fn;
	void *arg;
	u32 set;     /* of the columns that are asked for */
	s64 *values; /* of these, room for so many rows each */
	u32 room;
};

/* Room for more rows, before there are values. */
static int scan_room(struct scan *s, u32 rows, struct err *e)
{
	u32 i, n = 0;

	if (s->values && rows <= s->room)
		return 0;
	free(s->values);
	s->values = malloc((size_t)8 * rows * (size_t)__builtin_popcount(s->set) + 1);
	s->room = rows;
	if (!s->values)
		return err_set(e, ERR_FAIL, "out of memory for columns");
	for (i = 0; i < 32; i++)
		if (s->set >> i & 1)
			s->c.value[i] = s->values + (size_t)rows * n++;
	return 0;
}

static int scan_chunks(struct scan *s, sqlite3 *db, enum table_id t, s64 from, s64 to,
		       struct err *e)
{
	struct chunk_file f = { .db = db, .table = t };
	u32 i, first, last;
	s64 k;
	int ret = chunk_file_open(&f, e);

	for (k = from > 1 ? (from - 1) / CHUNK_ROWS : 0;
	     ret == 0 && k < f.chunks && k * CHUNK_ROWS + 1 < to; k++) {
		ret = chunk_file_load(&f, k, e);
		if (ret < 0)
			break;
		first = from > k * CHUNK_ROWS + 1 ? (u32)(from - k * CHUNK_ROWS - 1) : 0;
		last = to - k * CHUNK_ROWS - 1 < f.head.rows ? (u32)(to - k * CHUNK_ROWS - 1)
							     : f.head.rows;
		if (first >= last)
			continue;
		ret = scan_room(s, f.head.rows, e);
		if (ret < 0)
			break;
		s->c.rowid = k * CHUNK_ROWS + 1 + first;
		s->c.rows = last - first;
		for (i = 0; i < f.head.columns; i++)
			if (s->c.value[i])
				chunk_values(f.bytes, &f.head.column[i], first, last,
					     (s64 *)s->c.value[i]);
		ret = s->fn(s->arg, &s->c, e);
	}
	chunk_file_close(&f);
	return ret;
}

static int scan_rows(struct scan *s, sqlite3 *db, enum table_id t, s64 from, s64 to, struct err *e)
{
	struct buf sql = { 0 };
	sqlite3_stmt *q = NULL;
	int got = 0, i, k, ret = scan_room(s, ROWS_AT_A_TIME, e);

	if (ret == 0)
		ret = buf_printf(&sql, e, "SELECT rowid");

	for (i = 0; i < tables[t].n_columns && ret == 0; i++)
		if (s->c.value[i])
			ret = buf_printf(&sql, e, ", \"%s\"", tables[t].columns[i].name);
	if (ret == 0)
		ret = buf_printf(&sql, e,
				 " FROM \"%s\" WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
				 tables[t].name);
	if (ret == 0)
		ret = db_query(&q, db, e, sql.data, "ii", from, to);
	while (ret == 0 && (got = db_step(q, e)) > 0) {
		s64 rowid = sqlite3_column_int64(q, 0);

		if (s->c.rows == ROWS_AT_A_TIME || (s->c.rows && rowid != s->c.rowid + s->c.rows)) {
			ret = s->fn(s->arg, &s->c, e);
			s->c.rows = 0;
		}
		if (!s->c.rows)
			s->c.rowid = rowid;
		for (i = 0, k = 1; i < tables[t].n_columns; i++)
			if (s->c.value[i])
				((s64 *)s->c.value[i])[s->c.rows] =
					sqlite3_column_type(q, k) == SQLITE_NULL
						? (k++, BULK_NULL)
						: sqlite3_column_int64(q, k++);
		s->c.rows++;
	}
	if (ret == 0 && got == 0 && s->c.rows)
		ret = s->fn(s->arg, &s->c, e);
	sqlite3_finalize(q);
	buf_free(&sql);
	return got < 0 ? got : ret;
}

int columns_range(sqlite3 *db, enum table_id t, u32 set, s64 from, s64 to, columns_fn fn, void *arg,
		  struct err *e)
{
	struct scan s = { .fn = fn, .arg = arg };
	int ret;

	s.set = set & (u32)((1ULL << tables[t].n_columns) - 1);
	ret = columns_has(db, t) ? scan_chunks(&s, db, t, from, to, e)
				 : scan_rows(&s, db, t, from, to, e);
	free(s.values);
	return ret;
}

int columns_each(sqlite3 *db, enum table_id t, u32 set, columns_fn fn, void *arg, struct err *e)
{
	return columns_range(db, t, set, 0, INT64_MAX, fn, arg, e);
}

struct each {
	row_fn fn;
	void *arg;
	int columns;
};

static int each_of(void *arg, const struct columns *c, struct err *e)
{
	const struct each *each = arg;
	s64 row[CHUNK_COLUMNS] = { 0 }, *to[CHUNK_COLUMNS];
	const s64 *from[CHUNK_COLUMNS];
	int i, n = 0, ret = 0;
	u32 at;

	for (i = 0; i < each->columns; i++)
		if (c->value[i]) {
			to[n] = &row[i];
			from[n++] = c->value[i];
		}
	for (at = 0; at < c->rows && ret == 0; at++) {
		for (i = 0; i < n; i++)
			*to[i] = from[i][at];
		ret = each->fn(each->arg, c->rowid + at, row, e);
	}
	return ret;
}

#define TOGETHER 128 /* rows that are made at a time: they stay in the cache */

/* fn for the rows of a chunk, without columns in between. */
static int each_in(const struct chunk_file *f, u32 set, s64 *rows, const struct each *each,
		   struct err *e)
{
	u32 columns = f->head.columns, at, end, i;
	s64 rowid = f->at * CHUNK_ROWS + 1;
	int ret = 0;

	for (at = 0; at < f->head.rows && ret == 0; at = end) {
		end = f->head.rows - at < TOGETHER ? f->head.rows : at + TOGETHER;
		for (i = 0; i < columns; i++)
			if (set >> i & 1)
				chunk_values_spread(f->bytes, &f->head.column[i], at, end, rows + i,
						    columns);
		for (i = at; i < end && ret == 0; i++)
			ret = each->fn(each->arg, rowid + i, rows + (size_t)(i - at) * columns, e);
	}
	return ret;
}

static int each_chunk(sqlite3 *db, enum table_id t, u32 set, const struct each *each, struct err *e)
{
	struct chunk_file f = { .db = db, .table = t };
	s64 *rows = calloc(TOGETHER, sizeof(*rows) * (size_t)each->columns), k;
	int ret = rows ? chunk_file_open(&f, e) : err_set(e, ERR_FAIL, "out of memory for columns");

	for (k = 0; ret == 0 && k < f.chunks; k++) {
		ret = chunk_file_load(&f, k, e);
		if (ret == 0)
			ret = each_in(&f, set, rows, each, e);
	}
	chunk_file_close(&f);
	free(rows);
	return ret;
}

int rows_each(sqlite3 *db, enum table_id t, u32 set, row_fn fn, void *arg, struct err *e)
{
	struct each each = { fn, arg, tables[t].n_columns };

	return columns_has(db, t) ? each_chunk(db, t, set, &each, e)
				  : columns_each(db, t, set, each_of, &each, e);
}
