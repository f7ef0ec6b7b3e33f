// SPDX-License-Identifier: GPL-2.0-or-later
/* Raw events copied into a database. */
#include "raw_tables.h"

#include "event_table.h"
#include "vtab_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "event_"

struct copy {
	sqlite3 *db;
	struct event_table *tables[SCHEMA_EVENT_MAX];
	sqlite3_stmt *insert[SCHEMA_EVENT_MAX];
	struct buf scratch;
	u64 begin;
	struct err *e;
};

static int make_table(struct copy *c, const struct event_desc *ev)
{
	struct event_table *t = malloc(sizeof(*t));
	char name[SCHEMA_NAME_MAX + 16];
	struct buf sql = { 0 };
	int i, ret;

	if (!t)
		return err_set(c->e, ERR_FAIL, "out of memory for tables of events");
	event_table_make(t, ev);
	snprintf(name, sizeof(name), PREFIX "%s", ev->name);
	ret = event_table_sql(t, name, &sql, c->e);
	if (ret == 0)
		ret = db_try(c->db, c->e, sql.data);
	if (ret > 0) { /* columns that a hostile schema makes impossible: no table */
		ret = 0;
		goto out;
	}
	buf_clear(&sql);
	if (ret == 0)
		ret = buf_printf(&sql, c->e, "INSERT INTO %s VALUES(?", name);
	for (i = 1; i < t->n_columns && ret == 0; i++)
		ret = buf_printf(&sql, c->e, ",?");
	if (ret == 0)
		ret = buf_printf(&sql, c->e, ")");
	if (ret == 0)
		ret = db_query(&c->insert[ev->id], c->db, c->e, sql.data, "");
	if (ret == 0) {
		c->tables[ev->id] = t;
		t = NULL;
	}
out:
	free(t);
	buf_free(&sql);
	return ret;
}

static int copy_record(struct copy *c, const struct record *rec)
{
	const struct event_table *t = c->tables[rec->type];
	sqlite3_stmt *s = c->insert[rec->type];
	struct event_cell cell;
	int i, ret = 0;

	for (i = 0; t && i < t->n_columns && ret == 0; i++) {
		ret = event_table_cell(t, i, rec, c->begin, &c->scratch, &cell, c->e);
		if (ret < 0 || cell.type == CELL_NULL)
			sqlite3_bind_null(s, i + 1);
		else if (cell.type == CELL_INT)
			sqlite3_bind_int64(s, i + 1, cell.value);
		else
			sqlite3_bind_text(s, i + 1, cell.text, (int)cell.len, SQLITE_TRANSIENT);
	}
	if (!t || ret < 0)
		return ret;
	ret = db_step(s, c->e);
	sqlite3_reset(s);
	return ret < 0 ? ret : 0;
}

/* Of one table: its common columns, and the others as JSON by the names of the fields. */
static int add_select(struct buf *sql, sqlite3 *db, const char *table, bool first, struct err *e)
{
	const char *event = table + strlen(PREFIX), *column, *name;
	sqlite3_stmt *s;
	int n = 0, ret;

	ret = db_query(&s, db, e, "SELECT name FROM pragma_table_info(?, 'main')", "s", table);
	if (ret == 0)
		ret = buf_printf(sql, e, "%sSELECT ts, cpu, tid, '%s' AS event, json_object(",
				 first ? "" : " UNION ALL ", event);
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		ret = 0;
		column = db_text(s, 0);
		if (n++ < EVENT_COMMON)
			continue;
		/* switch_cpu is the field cpu */
		name = column;
		if (strncmp(name, event, strlen(event)) == 0 && name[strlen(event)] == '_')
			name += strlen(event) + 1;
		ret = buf_printf(sql, e, "%s'%s', \"%s\"", n > EVENT_COMMON + 1 ? ", " : "",
				 strcmp(name, "ts") == 0 || strcmp(name, "cpu") == 0 ||
						 strcmp(name, "tid") == 0
					 ? name
					 : column,
				 column);
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : buf_printf(sql, e, ") AS args FROM main.%s", table);
}

int raw_tables_view(sqlite3 *db, const char *schema, struct err *e)
{
	/* names that obsanalyze writes have no other characters: others are not its tables */
	static const char list[] =
		"SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name GLOB"
		" '" PREFIX "*' AND NOT name GLOB '*[^a-z0-9_]*' ORDER BY rowid LIMIT 400";
	struct buf sql = { 0 };
	sqlite3_stmt *s = NULL;
	int n = 0, ret = buf_printf(&sql, e, "CREATE VIEW %s.event AS ", schema);

	if (ret == 0)
		ret = db_query(&s, db, e, list, "");
	while (ret == 0 && (ret = db_step(s, e)) > 0)
		ret = add_select(&sql, db, db_text(s, 0), n++ == 0, e);
	sqlite3_finalize(s);
	/* tables of a user are no reason to refuse all other queries */
	if (ret == 0 && n)
		ret = db_try(db, e, sql.data);
	buf_free(&sql);
	return ret < 0 ? ret : 0;
}

int raw_tables_copy(sqlite3 *db, const struct reader *r, struct err *e)
{
	struct copy c = { .db = db, .e = e };
	struct reader *twin = NULL;
	struct record rec;
	int i, ret = event_begin(&c.begin, r, e);

	if (ret == 0)
		ret = reader_twin(&twin, r, e);
	if (ret == 0)
		ret = db_exec(db, e, "BEGIN");
	for (i = 0; i < SCHEMA_EVENT_MAX && ret == 0; i++)
		if (reader_schema(r)->by_id[i])
			ret = make_table(&c, reader_schema(r)->by_id[i]);
	while (ret == 0 && (ret = reader_next(twin, &rec, e)) > 0)
		ret = copy_record(&c, &rec);
	if (ret == 0)
		ret = raw_tables_view(db, "main", e);
	for (i = 0; i < SCHEMA_EVENT_MAX; i++) {
		sqlite3_finalize(c.insert[i]);
		free(c.tables[i]);
	}
	if (ret == 0)
		ret = db_exec(db, e, "COMMIT");
	reader_free(twin);
	buf_free(&c.scratch);
	return ret;
}
