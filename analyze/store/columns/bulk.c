// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows by the million: gathered in memory, then read by SQLite itself through the
 * virtual table `feed`, which shows the rows of the table being written.
 */
#include "bulk.h"

#include "column_chunk.h"
#include "columns.h"

#include "format/buf.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST  64
#define ROWS	    CHUNK_ROWS /* gathered for one table before they are written */
#define COLUMNS_MAX 32

struct feed_table {
	sqlite3_vtab base;
	struct bulk *bulk;
};

struct feed_cursor {
	sqlite3_vtab_cursor base;
	int row;
};

struct rows {
	char *values; /* NULL until the table is used */
	int n, room;  /* rows; up to ROWS */
	bool opened;
	bool columns; /* written as chunks of columns */
	s64 chunks;
	sqlite3_stmt *write;
};

struct bulk {
	sqlite3 *db;
	struct rows tables[N_TABLES];
	sqlite3_stmt *write_chunk;
	struct buf packed;
	const char *shown; /* what feed shows now */
	int shown_rows;
	int shown_columns;
	u32 shown_reals;   /* bit c: column c holds doubles */
	struct err failed; /* code 0 while all is well */
	s64 nowhere[COLUMNS_MAX];
};

/* ---- the virtual table ---- */

static int feed_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **why)
{
	static const char decl[] =
		"CREATE TABLE feed(c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,"
		"c17,c18,c19,c20,c21,c22,c23,c24,c25,c26,c27,c28,c29,c30,c31)";
	struct feed_table *t;

	(void)argc;
	(void)argv;
	(void)why;
	if (sqlite3_declare_vtab(db, decl) != SQLITE_OK)
		return SQLITE_ERROR;
	t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	*t = (struct feed_table){ .bulk = arg };
	*ret = &t->base;
	return SQLITE_OK;
}

static int feed_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
	(void)t;
	info->estimatedCost = ROWS;
	return SQLITE_OK;
}

static int feed_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	struct feed_cursor *c = sqlite3_malloc(sizeof(*c));

	(void)t;
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct feed_cursor){ 0 };
	*ret = &c->base;
	return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static int feed_start(sqlite3_vtab_cursor *c, int plan, const char *text, int argc,
		      sqlite3_value **argv)
{
	(void)plan;
	(void)text;
	(void)argc;
	(void)argv;
	((struct feed_cursor *)c)->row = 0;
	return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *c)
{
	((struct feed_cursor *)c)->row++;
	return SQLITE_OK;
}

static int feed_end(sqlite3_vtab_cursor *c)
{
	return ((struct feed_cursor *)c)->row >= ((struct feed_table *)c->pVtab)->bulk->shown_rows;
}

static int feed_column(sqlite3_vtab_cursor *c, sqlite3_context *ctx, int column)
{
	const struct bulk *b = ((struct feed_table *)c->pVtab)->bulk;
	size_t row = ((struct feed_cursor *)c)->row;
	const char *at = b->shown + 8 * (row * b->shown_columns + column);
	double d;
	s64 v;

	memcpy(&v, at, sizeof(v));
	if (b->shown_reals & 1u << column) {
		memcpy(&d, at, sizeof(d)); /* SQLite makes NULL of NAN */
		sqlite3_result_double(ctx, d);
	} else if (v != BULK_NULL) {
		sqlite3_result_int64(ctx, v);
	}
	return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *ret)
{
	*ret = ((struct feed_cursor *)c)->row;
	return SQLITE_OK;
}

static const sqlite3_module feed_module = {
	.xCreate = feed_connect,
	.xConnect = feed_connect,
	.xBestIndex = feed_plan,
	.xDisconnect = feed_disconnect,
	.xDestroy = feed_disconnect,
	.xOpen = feed_open,
	.xClose = feed_close,
	.xFilter = feed_start,
	.xNext = feed_next,
	.xEof = feed_end,
	.xColumn = feed_column,
	.xRowid = feed_rowid,
};

/* ---- rows ---- */

int bulk_open(struct bulk **ret, sqlite3 *db, struct err *e)
{
	struct bulk *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return err_set(e, ERR_FAIL, "out of memory for the database");
	b->db = db;
	if (sqlite3_create_module(db, "feed", &feed_module, b) != SQLITE_OK) {
		r = err_set(e, ERR_FAIL, "SQLite refuses the bulk loader: %s", sqlite3_errmsg(db));
		goto out;
	}
	r = db_exec(db, e, "CREATE VIRTUAL TABLE temp.feed USING feed");
	if (r == 0)
		r = db_exec(db, e, "BEGIN");
	if (r == 0) {
		*ret = b;
		b = NULL;
	}
out:
	bulk_free(b);
	return r;
}

static int make_writer(struct bulk *b, enum table_id t, struct err *e)
{
	struct buf sql = { 0 };
	int i, ret;

	ret = buf_printf(&sql, e, "INSERT INTO \"%s\" SELECT c0", tables[t].name);
	for (i = 1; i < tables[t].n_columns && ret == 0; i++)
		ret = buf_printf(&sql, e, ",c%d", i);
	if (ret == 0)
		ret = buf_printf(&sql, e, " FROM temp.feed");
	if (ret == 0)
		ret = db_query(&b->tables[t].write, b->db, e, sql.data, "");
	buf_free(&sql);
	return ret;
}

static int write_chunk(struct bulk *b, enum table_id t, struct err *e)
{
	struct rows *r = &b->tables[t];
	u32 n = (u32)r->n;
	int ret = b->write_chunk ? 0 : columns_writer(&b->write_chunk, b->db, e);

	r->n = 0;
	return ret < 0 ? ret
		       : columns_write(b->write_chunk, &b->packed, t, r->chunks++,
				       (const s64 *)(const void *)r->values, n, e);
}

static int write_rows(struct bulk *b, enum table_id t, struct err *e)
{
	struct rows *r = &b->tables[t];
	int c, ret;

	if (!r->n)
		return 0;
	if (r->columns)
		return write_chunk(b, t, e);
	b->shown_reals = 0;
	for (c = 0; c < tables[t].n_columns; c++)
		b->shown_reals |= (u32)(tables[t].columns[c].type[0] == 'R') << c;
	b->shown = r->values;
	b->shown_rows = r->n;
	b->shown_columns = tables[t].n_columns;
	r->n = 0;
	sqlite3_reset(r->write);
	ret = db_step(r->write, e);
	return ret < 0 ? ret : 0;
}

/* For as many rows as come: most tables of most recordings have few. */
static int more_room(struct bulk *b, struct rows *r, int columns)
{
	int room = r->room ? 4 * r->room : ROWS_FIRST;
	void *values = realloc(r->values, (size_t)8 * (size_t)(room * columns));

	if (!values)
		return err_set(&b->failed, ERR_FAIL, "out of memory for the database");
	r->values = values;
	r->room = room;
	return 0;
}

void *bulk_row(struct bulk *b, enum table_id t)
{
	struct rows *r = &b->tables[t];
	int columns = tables[t].n_columns;

	if (b->failed.code)
		return b->nowhere;
	if (r->n == r->room && r->room < ROWS && more_room(b, r, columns) < 0)
		return b->nowhere;
	if (!r->opened) {
		r->opened = true;
		r->columns = columns_has(b->db, t);
		if (!r->columns && make_writer(b, t, &b->failed) < 0)
			return b->nowhere;
	}
	if (r->n == ROWS && write_rows(b, t, &b->failed) < 0)
		return b->nowhere;
	return r->values + (size_t)8 * columns * r->n++;
}

int bulk_failed(const struct bulk *b, struct err *e)
{
	if (b->failed.code && e)
		*e = b->failed;
	return b->failed.code;
}

int bulk_close(struct bulk *b, struct err *e)
{
	int t;

	for (t = 0; t < N_TABLES && !b->failed.code; t++)
		write_rows(b, t, &b->failed);
	return b->failed.code ? bulk_failed(b, e) : db_exec(b->db, e, "COMMIT");
}

int bulk_again(struct bulk *b, struct err *e)
{
	return db_exec(b->db, e, "BEGIN");
}

void bulk_free(struct bulk *b)
{
	int t;

	if (!b)
		return;
	sqlite3_finalize(b->write_chunk);
	buf_free(&b->packed);
	for (t = 0; t < N_TABLES; t++) {
		sqlite3_finalize(b->tables[t].write);
		free(b->tables[t].values);
	}
	db_exec(b->db, NULL, "DROP TABLE IF EXISTS temp.feed");
	free(b);
}
