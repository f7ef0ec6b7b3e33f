// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the rows of a trace come from. */
#include "trace_rail.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 1000000

/* A query, and where its present row belongs. */
struct merged {
	sqlite3_stmt *s;
	int got; /* 1: a row */
	s64 ts, dur;
};

static int step(struct merged *m, struct err *e)
{
	m->got = db_step(m->s, e);
	if (m->got <= 0)
		return m->got;
	m->ts = sqlite3_column_int64(m->s, 0);
	/* without an end: after all that have one, as in SQL */
	m->dur = sqlite3_column_type(m->s, 1) == SQLITE_NULL ? INT64_MIN
							     : sqlite3_column_int64(m->s, 1);
	return 0;
}

/* The one whose row is next, of equal rows the first; NULL: all are at their ends. */
static struct merged *first_of(struct merged *m, int n)
{
	struct merged *first = NULL;
	int i;

	for (i = 0; i < n; i++)
		if (m[i].got > 0 && (!first || m[i].ts < first->ts ||
				     (m[i].ts == first->ts && m[i].dur > first->dur)))
			first = &m[i];
	return first;
}

struct sources {
	struct trace *t;
	const struct track_source *of;
	struct merged m[TRACK_QUERIES];
	int n;
};

/* Shows rows of queries, up to those at ts of this rank. */
static int show_until(struct sources *s, s64 ts, s64 rank)
{
	struct merged *next;
	int ret = 0;

	while (ret == 0 && (next = first_of(s->m, s->n)) != NULL) {
		if (next->ts > ts || (next->ts == ts && next->dur < rank))
			break;
		ret = s->of->on(s->t, next->s);
		if (ret == 0)
			ret = step(next, s->t->e);
	}
	return ret;
}

static int show_row(void *arg, const void *row, const struct place *at)
{
	struct sources *s = arg;
	int ret = s->n ? show_until(s, at->span.ts, at->rank) : 0;

	return ret == 0 ? s->of->on_row(s->t, row, at) : ret;
}

int trace_source(struct trace *t, const struct track_source *of)
{
	struct sources s = { .t = t, .of = of };
	struct merged *m = s.m;
	int ret = 0;

	for (; s.n < TRACK_QUERIES && of->sql[s.n] && ret == 0; s.n++, m++) {
		ret = db_query(&m->s, t->db, t->e, of->sql[s.n],
			       strstr(of->sql[s.n], "?1") ? "ii" : "", t->part.span.ts,
			       t->part.span.end);
		if (ret == 0)
			ret = step(m, t->e);
	}
	if (ret == 0 && of->order)
		ret = rows_in_order(t->db, of->order, t->part.span, show_row, &s, t->e);
	if (ret == 0)
		ret = show_until(&s, INT64_MAX, INT64_MIN);
	while (s.n)
		sqlite3_finalize(s.m[--s.n].s);
	return ret;
}

/* ---- names ---- */

static int add_name(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct idmap *names = arg;
	char *name = strdup(db_text(s, 1));
	int ret;

	if (!name)
		return err_set(e, ERR_FAIL, "out of memory for names");
	if (idmap_get(names, sqlite3_column_int64(s, 0))) {
		free(name); /* a database may name a call twice */
		return 0;
	}
	ret = idmap_put(names, sqlite3_column_int64(s, 0), name, NAMES_MAX, e);
	if (ret < 0)
		free(name);
	return ret;
}

static const struct {
	size_t at; /* in struct trace */
	const char *sql;
} names[] = {
	{ offsetof(struct trace, calls), "SELECT abi << 32 | nr, name FROM syscall_name" },
	{ offsetof(struct trace, nrs), "SELECT nr, min(name) FROM syscall_name GROUP BY nr" },
	{ offsetof(struct trace, states), "SELECT id, name FROM state" },
	{ offsetof(struct trace, names),
	  "SELECT id, name FROM request_name WHERE name IS NOT NULL" },
};

static struct idmap *names_at(struct trace *t, size_t i)
{
	return (struct idmap *)((char *)t + names[i].at);
}

int trace_names_read(struct trace *t)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && ret == 0; i++)
		ret = db_each(t->db, t->e, add_name, names_at(t, i), names[i].sql, "");
	return ret;
}

void trace_names_free(struct trace *t)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		idmap_free_all(names_at(t, i));
}
