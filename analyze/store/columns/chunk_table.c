// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual tables over chunks. Conditions on the rowid and on columns (=, <, <=, >, >=, of integers)
 * skip chunks by min and max, then rows; SQLite checks them once more. Rows come by rowid.
 */
#include "chunk_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWID	   -1
#define CONDITIONS 8
#define ROWS_GUESS 1048576 /* as SQLite guesses of tables */

struct condition {
	int column, op;
	s64 value;
};

struct chunk_vtab {
	sqlite3_vtab base;
	sqlite3 *db;
	enum table_id table;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct chunk_file file;
	struct condition when[CONDITIONS];
	int n_when;
	s64 chunk, from, to; /* rowids, both ends included */
	u32 row;
	bool end;
};

/* ---- chunks ---- */

int chunk_file_open(struct chunk_file *f, struct err *e)
{
	s64 max = 0;
	int ret = db_int(f->db, &max, e, "SELECT max(rowid) FROM column_chunk WHERE rowid < ?", "i",
			 chunk_key(f->table + 1, 0));

	f->at = -1;
	f->chunks = max >= chunk_key(f->table, 0) ? max - chunk_key(f->table, 0) + 1 : 0;
	return ret;
}

void chunk_file_close(struct chunk_file *f)
{
	sqlite3_blob_close(f->blob);
	free(f->bytes);
	f->blob = NULL;
	f->bytes = NULL;
}

static int refuse(const struct chunk_file *f, struct err *e)
{
	return err_set(e, ERR_FAIL, "the chunks of table %s are damaged", tables[f->table].name);
}

/* Its head alone; then chunk_file_load reads the rest. */
static int chunk_file_seek(struct chunk_file *f, s64 chunk, struct err *e)
{
	s64 key = chunk_key(f->table, chunk);
	int ret = f->blob ? sqlite3_blob_reopen(f->blob, key)
			  : sqlite3_blob_open(f->db, "main", "column_chunk", "data", key, 0,
					      &f->blob);

	f->at = -1;
	if (ret != SQLITE_OK || sqlite3_blob_bytes(f->blob) < (int)sizeof(f->head) ||
	    sqlite3_blob_read(f->blob, &f->head, sizeof(f->head), 0) != SQLITE_OK ||
	    !chunk_check(&f->head, (size_t)sqlite3_blob_bytes(f->blob),
			 (u32)tables[f->table].n_columns))
		return refuse(f, e);
	return 0;
}

int chunk_file_load(struct chunk_file *f, s64 chunk, struct err *e)
{
	size_t size;
	u8 *bytes;

	if (f->at == chunk)
		return 0;
	if (chunk_file_seek(f, chunk, e) < 0)
		return ERR_FAIL;
	size = (size_t)sqlite3_blob_bytes(f->blob);
	if (size > f->size) {
		bytes = realloc(f->bytes, size);
		if (!bytes)
			return err_set(e, ERR_FAIL, "out of memory for columns");
		f->bytes = bytes;
		f->size = size;
	}
	if (sqlite3_blob_read(f->blob, f->bytes, (int)size, 0) != SQLITE_OK)
		return refuse(f, e);
	f->at = chunk;
	return 0;
}

/* ---- the virtual table ---- */

static int connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret,
		   char **why)
{
	struct chunk_vtab *t;
	struct buf sql = { 0 };
	int i, c, r = SQLITE_ERROR;

	(void)arg;
	for (i = 0; i < N_TABLES && argc > 2; i++)
		if (strcmp(tables[i].name, argv[2]) == 0)
			break;
	if (argc < 3 || i == N_TABLES || tables[i].n_columns > CHUNK_COLUMNS) {
		*why = sqlite3_mprintf("no table of chunks");
		return SQLITE_ERROR;
	}
	t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	*t = (struct chunk_vtab){ .db = db, .table = i };
	for (c = 0, r = buf_printf(&sql, NULL, "CREATE TABLE t(");
	     c < tables[i].n_columns && r == 0; c++)
		r = buf_printf(&sql, NULL, "%s\"%s\" INT", c ? "," : "", tables[i].columns[c].name);
	if (r == 0)
		r = buf_printf(&sql, NULL, ")");
	if (r < 0 || sqlite3_declare_vtab(db, sql.data) != SQLITE_OK) {
		sqlite3_free(t);
		r = SQLITE_ERROR;
	} else {
		sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
		*ret = &t->base;
		r = SQLITE_OK;
	}
	buf_free(&sql);
	return r;
}

static int disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

/* A list of values would be a scan for each. */
static bool is_list(sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
	return sqlite3_vtab_in(info, i, -1);
#else
	(void)i;
	return info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
	       info->aConstraint[i].iColumn != ROWID;
#endif
}

static bool is_ours(int op)
{
	return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
	       op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
	       op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* idxStr: column and operator of each argument. */
static int plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
	double rows = ROWS_GUESS, cost = 3.0 * ROWS_GUESS;
	char text[CONDITIONS * 12 + 1] = "";
	int i, n = 0, len = 0;

	(void)t;
	for (i = 0; i < info->nConstraint && n < CONDITIONS; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		bool list;

		if (!is_ours(c->op) || !c->usable)
			continue;
		list = c->op == SQLITE_INDEX_CONSTRAINT_EQ && is_list(info, i);
		if (list && c->iColumn != ROWID)
			continue;
		info->aConstraintUsage[i].argvIndex = ++n;
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%d %d ", c->iColumn,
				c->op);
		if (c->iColumn == ROWID && c->op == SQLITE_INDEX_CONSTRAINT_EQ) {
			rows = 1;
			cost = 20;
			if (!list)
				info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
		} else if (rows > 64) {
			rows /= c->op == SQLITE_INDEX_CONSTRAINT_EQ ? 8 : 4;
			cost /= c->iColumn == ROWID ? 4 : 1.5;
		}
	}
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = cost;
	info->orderByConsumed = info->nOrderBy == 1 && info->aOrderBy[0].iColumn == ROWID &&
				!info->aOrderBy[0].desc;
	info->idxStr = sqlite3_mprintf("%s", text);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	struct cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct cursor){ .file = { .db = ((struct chunk_vtab *)t)->db,
					.table = ((struct chunk_vtab *)t)->table,
					.at = -1,
					.chunks = -1 } };
	*ret = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cur)
{
	chunk_file_close(&((struct cursor *)cur)->file);
	sqlite3_free(cur);
	return SQLITE_OK;
}

static bool holds(int op, s64 v, s64 against)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return v == against;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return v > against;
	case SQLITE_INDEX_CONSTRAINT_GE:
		return v >= against;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return v < against;
	default:
		return v <= against;
	}
}

/* Whether a chunk can have rows for which all conditions hold. */
static bool chunk_may(const struct cursor *c)
{
	int i;

	for (i = 0; i < c->n_when; i++) {
		const struct condition *w = &c->when[i];
		const struct chunk_column *col = &c->file.head.column[w->column];
		bool low =
			w->op == SQLITE_INDEX_CONSTRAINT_LT || w->op == SQLITE_INDEX_CONSTRAINT_LE;

		if (col->max < col->min)
			return false;
		if (w->op == SQLITE_INDEX_CONSTRAINT_EQ
			    ? w->value < col->min || w->value > col->max
			    : !holds(w->op, low ? col->min : col->max, w->value))
			return false;
	}
	return true;
}

static bool row_may(const struct cursor *c)
{
	s64 v;
	int i;

	for (i = 0; i < c->n_when; i++) {
		v = chunk_value(c->file.bytes, &c->file.head.column[c->when[i].column], c->row);
		if (v == BULK_NULL || !holds(c->when[i].op, v, c->when[i].value))
			return false;
	}
	return true;
}

static s64 rowid_of(const struct cursor *c)
{
	return c->chunk * CHUNK_ROWS + 1 + c->row;
}

static int fail(struct cursor *c, const struct err *why)
{
	sqlite3_free(c->base.pVtab->zErrMsg);
	c->base.pVtab->zErrMsg = sqlite3_mprintf("%s", why->text);
	return SQLITE_CORRUPT;
}

/* To the first row from this one on for which all may hold. */
static int settle(struct cursor *c)
{
	struct err why = { 0 };

	for (; c->chunk < c->file.chunks && rowid_of(c) <= c->to; c->chunk++, c->row = 0) {
		if (c->file.at != c->chunk) {
			if (chunk_file_seek(&c->file, c->chunk, &why) < 0)
				return fail(c, &why);
			if (!chunk_may(c))
				continue;
			if (chunk_file_load(&c->file, c->chunk, &why) < 0)
				return fail(c, &why);
		}
		for (; c->row < c->file.head.rows && rowid_of(c) <= c->to; c->row++)
			if (row_may(c))
				return SQLITE_OK;
	}
	c->end = true;
	return SQLITE_OK;
}

static void limit_rowid(struct cursor *c, int op, s64 v)
{
	if (op == SQLITE_INDEX_CONSTRAINT_GT && v < INT64_MAX)
		v++;
	if (op == SQLITE_INDEX_CONSTRAINT_LT && v > INT64_MIN)
		v--;
	if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE && v > c->from)
		c->from = v;
	if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE && v < c->to)
		c->to = v;
}

static int start(sqlite3_vtab_cursor *cur, int number, const char *text, int argc,
		 sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)cur;
	struct err why = { 0 };
	char *at = (char *)text;
	int i;

	(void)number;
	c->from = 1;
	c->to = INT64_MAX;
	c->n_when = 0;
	c->end = false;
	if (c->file.chunks < 0 && chunk_file_open(&c->file, &why) < 0)
		return fail(c, &why);
	for (i = 0; i < argc && i < CONDITIONS; i++) {
		int column = (int)strtol(at, &at, 10), op = (int)strtol(at, &at, 10);

		if (sqlite3_value_type(argv[i]) != SQLITE_INTEGER)
			continue; /* SQLite decides */
		if (column == ROWID)
			limit_rowid(c, op, sqlite3_value_int64(argv[i]));
		else
			c->when[c->n_when++] =
				(struct condition){ column, op, sqlite3_value_int64(argv[i]) };
	}
	c->chunk = (c->from - 1) / CHUNK_ROWS;
	c->row = (u32)((c->from - 1) % CHUNK_ROWS);
	return settle(c);
}

static int next(sqlite3_vtab_cursor *cur)
{
	((struct cursor *)cur)->row++;
	return settle((struct cursor *)cur);
}

static int at_end(sqlite3_vtab_cursor *cur)
{
	return ((struct cursor *)cur)->end;
}

static int column(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int i)
{
	const struct cursor *c = (struct cursor *)cur;
	s64 v = chunk_value(c->file.bytes, &c->file.head.column[i], c->row);

	if (v != BULK_NULL)
		sqlite3_result_int64(ctx, v);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *ret)
{
	*ret = rowid_of((struct cursor *)cur);
	return SQLITE_OK;
}

int chunk_table_register(sqlite3 *db, struct err *e)
{
	static const sqlite3_module module = {
		.xCreate = connect,
		.xConnect = connect,
		.xBestIndex = plan,
		.xDisconnect = disconnect,
		.xDestroy = disconnect,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = start,
		.xNext = next,
		.xEof = at_end,
		.xColumn = column,
		.xRowid = rowid,
	};

	if (sqlite3_create_module(db, "column_chunks", &module, NULL) != SQLITE_OK)
		return err_set(e, ERR_FAIL, "SQLite refuses a module: %s", sqlite3_errmsg(db));
	return 0;
}
