// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual tables over a recording. A cursor has a reader of its own. What the planner offers of
 * ts, cpu, tid and event is taken down to the reader; SQLite checks every row again, so that
 * taking less of it than was offered is slow, never wrong.
 */
#include "vtab_event.h"

#include "event_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "obs_event"

struct table {
	sqlite3_vtab base;
	struct event_source *source;
	struct event_table columns;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct reader *reader;
	struct record rec;
	struct buf scratch;
	sqlite3_int64 row;
	u64 counted; /* of the reader's blocks */
	bool more;
	s64 tid; /* -1: any */
	u8 wanted[SCHEMA_EVENT_MAX];
};

/* ---- tables ---- */

static int refuse(char **where, const struct err *e)
{
	sqlite3_free(*where);
	*where = sqlite3_mprintf("%s", e->text);
	return SQLITE_ERROR;
}

static int connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret,
		   char **why)
{
	struct event_source *source = arg;
	const struct event_desc *ev = NULL;
	struct buf sql = { 0 };
	struct err e = { 0 };
	struct table *t;
	int r = SQLITE_NOMEM;

	if (argc > 3) { /* the name of one event */
		ev = schema_event(reader_schema(source->reader), argv[3]);
		if (!ev)
			return SQLITE_ERROR;
	}
	t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return r;
	memset(t, 0, sizeof(*t));
	t->source = source;
	event_table_make(&t->columns, ev);
	if (event_table_sql(&t->columns, "x", &sql, &e) < 0)
		r = refuse(why, &e);
	else
		r = sqlite3_declare_vtab(db, sql.data);
	buf_free(&sql);
	if (r == SQLITE_OK)
		*ret = &t->base;
	else
		sqlite3_free(t);
	return r;
}

static int disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

/* ---- planning ---- */

/* What one constraint becomes: a letter of the plan, and how much of the rows it leaves. */
static const struct {
	int column, op;
	char letter;
	double share;
} takes[] = {
	{ EVENT_TS, SQLITE_INDEX_CONSTRAINT_GT, 'g', 0.25 },
	{ EVENT_TS, SQLITE_INDEX_CONSTRAINT_GE, 'g', 0.25 },
	{ EVENT_TS, SQLITE_INDEX_CONSTRAINT_LT, 'l', 0.25 },
	{ EVENT_TS, SQLITE_INDEX_CONSTRAINT_LE, 'l', 0.25 },
	{ EVENT_TS, SQLITE_INDEX_CONSTRAINT_EQ, '=', 0.001 },
	{ EVENT_CPU, SQLITE_INDEX_CONSTRAINT_EQ, 'c', 0.5 },
	{ EVENT_TID, SQLITE_INDEX_CONSTRAINT_EQ, 't', 0.2 },
	{ EVENT_NAME, SQLITE_INDEX_CONSTRAINT_EQ, 'e', 0.2 },
};

#define PLAN_MAX 32

/* A list of names in one go; without this SQLite would read the recording once for each name. */
static bool takes_list(sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
	return sqlite3_vtab_in(info, i, 1);
#else
	(void)info;
	(void)i;
	return false;
#endif
}

static int plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *t = (struct table *)base;
	const struct recording_state *st = reader_state(t->source->reader);
	double share = t->columns.ev ? 0.2 : 1;
	char letters[PLAN_MAX + 1] = "";
	int i, k, n = 0;

	for (i = 0; i < info->nConstraint && n < PLAN_MAX; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		for (k = 0; k < (int)(sizeof(takes) / sizeof(takes[0])); k++) {
			if (!c->usable || c->iColumn != takes[k].column || c->op != takes[k].op ||
			    (c->iColumn == EVENT_NAME && t->columns.ev))
				continue;
			letters[n] = takes[k].letter;
			if (letters[n] == 'e' && takes_list(info, i))
				letters[n] = 'E';
			info->aConstraintUsage[i].argvIndex = ++n;
			share *= takes[k].share;
			break;
		}
	}
	info->idxStr = sqlite3_mprintf("%s", letters);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	/* a scan decodes blocks: even a narrow one costs more than the rows of a table */
	info->estimatedCost = 50000 + share * (double)st->records * 10;
	info->estimatedRows = (sqlite3_int64)(share * (double)st->records) + 1;
	return SQLITE_OK;
}

/* ---- scanning ---- */

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	struct cursor *c = calloc(1, sizeof(*c));

	(void)t;
	if (!c)
		return SQLITE_NOMEM;
	*ret = &c->base;
	return SQLITE_OK;
}

static struct event_source *source_of(struct cursor *c)
{
	return ((struct table *)c->base.pVtab)->source;
}

/* Adds what this cursor's reader has done to the source's counts. */
static void count_blocks(struct cursor *c)
{
	const struct recording_state *st = reader_state(c->reader);
	struct event_source *s = source_of(c);

	s->blocks += st->decoded - c->counted;
	c->counted = st->decoded;
	if (st->damaged > s->damaged)
		s->damaged = st->damaged;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	if (c->reader)
		count_blocks(c);
	reader_free(c->reader);
	buf_free(&c->scratch);
	free(c);
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	struct err e = { 0 };
	int ret;

	c->row++;
	while ((ret = reader_next(c->reader, &c->rec, &e)) > 0) {
		source_of(c)->records++;
		if (c->wanted[c->rec.type] && (c->tid < 0 || c->rec.tid == c->tid))
			break;
	}
	c->more = ret > 0;
	if (ret <= 0)
		count_blocks(c);
	return ret < 0 ? refuse(&base->pVtab->zErrMsg, &e) : SQLITE_OK;
}

/* A limit of ts as the recording counts; rounded so that nothing is left out. */
static u64 limit_of(u64 begin, sqlite3_value *v, bool upper)
{
	double d = sqlite3_value_double(v);
	sqlite3_int64 i = sqlite3_value_int64(v);

	if (sqlite3_value_type(v) == SQLITE_FLOAT) {
		if (isnan(d) || fabs(d) > 9e18)
			return upper ? UINT64_MAX : 0;
		i = (sqlite3_int64)(upper ? ceil(d) : floor(d));
	}
	if (i < 0)
		return (u64) - (i + 1) >= begin ? 0 : begin - (u64) - (i + 1) - 1 + upper;
	return begin + (u64)i + upper < begin ? UINT64_MAX : begin + (u64)i + upper;
}

/* Leaves of the wanted events those that list names. */
static void want_names(struct cursor *c, const struct schema *s, sqlite3_value *v, bool list)
{
	u8 named[SCHEMA_EVENT_MAX] = { 0 };
	const struct event_desc *ev;
	sqlite3_value *one = v;
	int i;

#if SQLITE_VERSION_NUMBER >= 3038000
	if (list && sqlite3_vtab_in_first(v, &one) != SQLITE_OK)
		one = NULL;
#endif
	while (one) {
		ev = sqlite3_value_type(one) == SQLITE_TEXT
			     ? schema_event(s, (const char *)sqlite3_value_text(one))
			     : NULL;
		if (ev)
			named[ev->id] = 1;
#if SQLITE_VERSION_NUMBER >= 3038000
		if (list && sqlite3_vtab_in_next(v, &one) == SQLITE_OK)
			continue;
#endif
		one = NULL;
	}
	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		c->wanted[i] &= named[i];
}

/* Takes one constraint into the choice. Numbers only: what else there is, SQLite compares. */
static void take(struct cursor *c, struct reader_choice *choice, char letter, sqlite3_value *v)
{
	u64 begin = source_of(c)->begin, limit;
	bool list = letter == 'E', number;

	if (letter == 'e' || list) {
		want_names(c, reader_schema(c->reader), v, list);
		return;
	}
	number = sqlite3_value_type(v) == SQLITE_INTEGER || sqlite3_value_type(v) == SQLITE_FLOAT;
	if (!number)
		return;
	if (letter == 'g' || letter == '=') {
		limit = limit_of(begin, v, false);
		choice->from = limit > choice->from ? limit : choice->from;
	}
	if (letter == 'l' || letter == '=') {
		limit = limit_of(begin, v, true);
		choice->to = limit < choice->to ? limit : choice->to;
	}
	if (sqlite3_value_type(v) != SQLITE_INTEGER || sqlite3_value_int64(v) < 0)
		return;
	if (letter == 'c')
		choice->stream = sqlite3_value_int64(v);
	if (letter == 't')
		c->tid = sqlite3_value_int64(v);
}

static int start(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
		 sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	struct reader_choice choice = { .to = UINT64_MAX, .stream = -1 };
	const struct schema *s;
	struct err e = { 0 };
	int i;

	(void)number;
	if (!c->reader && reader_twin(&c->reader, t->source->reader, &e) < 0)
		return refuse(&base->pVtab->zErrMsg, &e);
	s = reader_schema(c->reader);
	c->tid = -1;
	c->row = 0;
	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		c->wanted[i] = s->by_id[i] && (!t->columns.ev || t->columns.ev->id == i);
	for (i = 0; i < argc; i++)
		take(c, &choice, letters[i], argv[i]);
	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		choice.groups |= c->wanted[i] ? 1u << s->by_id[i]->group : 0;
	reader_rewind(c->reader);
	reader_choose(c->reader, &choice);
	t->source->scans++;
	return next_row(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return !((struct cursor *)base)->more;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int number)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	struct event_cell cell;
	struct err e = { 0 };

	if (event_table_cell(&t->columns, number, &c->rec, t->source->begin, &c->scratch, &cell,
			     &e) < 0)
		return refuse(&base->pVtab->zErrMsg, &e);
	if (cell.type == CELL_INT)
		sqlite3_result_int64(ctx, cell.value);
	else if (cell.type == CELL_TEXT)
		sqlite3_result_text(ctx, cell.text, (int)cell.len, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct cursor *)base)->row;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = plan,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = start,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = rowid,
};

int event_begin(u64 *begin, const struct reader *of, struct err *e)
{
	static const char word[] = "begin=";
	struct reader_choice choice = { .to = UINT64_MAX, .groups = 1u << GROUP_recorder };
	struct reader *r = NULL;
	struct record rec;
	int ret = reader_twin(&r, of, e);

	*begin = reader_state(of)->ts_min;
	choice.stream = STREAM_RECORDER;
	if (ret == 0)
		reader_choose(r, &choice);
	while (ret == 0 && (ret = reader_next(r, &rec, e)) > 0) {
		ret = 0;
		if (rec.event && rec.type == EV_info && rec.tail_len > strlen(word) &&
		    memcmp(rec.tail, word, strlen(word)) == 0) {
			*begin = rec.ts;
			break;
		}
	}
	reader_free(r);
	return ret < 0 ? ret : 0;
}

int vtab_event_register(sqlite3 *db, struct event_source *source, struct err *e)
{
	const struct schema *s = reader_schema(source->reader);
	char sql[128 + 2 * SCHEMA_NAME_MAX];
	int i, ret;

	ret = event_begin(&source->begin, source->reader, e);
	if (ret < 0)
		return ret;
	if (sqlite3_create_module(db, MODULE, &module, source) != SQLITE_OK)
		return err_set(e, ERR_FAIL, "SQLite refuses the tables of events: %s",
			       sqlite3_errmsg(db));
	ret = db_exec(db, e, "CREATE VIRTUAL TABLE temp.event USING " MODULE);
	for (i = 0; i < SCHEMA_EVENT_MAX && ret >= 0; i++) {
		if (!s->by_id[i])
			continue;
		/* names are letters, digits and _ only: schema.c. One that a hostile schema makes
		 * impossible has no table of its own; it is in event all the same. */
		snprintf(sql, sizeof(sql),
			 "CREATE VIRTUAL TABLE temp.event_%s USING " MODULE "(%s)",
			 s->by_id[i]->name, s->by_id[i]->name);
		ret = db_try(db, e, sql);
	}
	return ret < 0 ? ret : 0;
}
