// SPDX-License-Identifier: GPL-2.0-or-later
/* What analyses put: numbers and findings, one by one or as the rows of a query. */
#include "analysis.h"

#include "format/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const better_names[] = { "", "lower", "higher" };

/* ---- numbers ---- */

static int put(struct analysis_ctx *c, struct err *e, struct subject about, const char *text,
	       const char *name, double value, double low, double high, s64 n)
{
	const struct metric *m;

	for (m = c->analysis->metrics; m->name; m++)
		if (strcmp(m->name, name) == 0)
			break;
	if (!m->name)
		return err_set(e, ERR_FAIL, "analysis %s has no metric %s", c->analysis->name,
			       name);
	/* SQLite stores NAN as NULL: not known */
	return db_again(c->insert, e, "sssisssdddis", c->analysis->name, text,
			subject_names[about.kind], about.id, name, m->unit, better_names[m->better],
			value, low, high, n, c->verdict);
}

int put_metric(struct analysis_ctx *c, struct err *e, const char *subject, const char *name,
	       double value, double low, double high, s64 n)
{
	return put(c, e, NO_SUBJECT, subject, name, value, low, high, n);
}

void put_number(struct analysis_ctx *c, struct subject about, const char *text, const char *name,
		double value, double low, double high, s64 n)
{
	const struct number one = { name, value, low, high, (double)n };

	put_all(c, about, text, &one, 1);
}

void put_all(struct analysis_ctx *c, struct subject about, const char *text,
	     const struct number *numbers, size_t n)
{
	struct buf name = { 0 };
	size_t i;

	if (c->err == 0 && !text) {
		c->err = subject_text(&name, c->db, about, c->e);
		text = name.data ? name.data : "";
	}
	for (i = 0; i < n && c->err == 0; i++)
		if (!isnan(numbers[i].value))
			c->err = put(c, c->e, about, text, numbers[i].name, numbers[i].value,
				     numbers[i].low, numbers[i].high, (s64)numbers[i].n);
	buf_free(&name);
}

struct table_rows {
	struct analysis_ctx *c;
	enum subject_kind kind;
};

static int name_row(struct buf *text, sqlite3 *db, struct subject about, const char *part,
		    struct err *e)
{
	int ret = subject_text(text, db, about, e);

	return ret < 0 ? ret : buf_printf(text, e, "%s", part);
}

static int put_table_row(void *arg, sqlite3_stmt *s, struct err *e)
{
	const struct table_rows *t = arg;
	struct subject about = { t->kind, 0 };
	const char *part = "", *value;
	struct buf text = { 0 };
	s64 n = 0;
	int i, ret = 0;

	for (i = 0; i < sqlite3_column_count(s) && ret == 0; i++) {
		const char *name = sqlite3_column_name(s, i);

		value = sqlite3_column_type(s, i) == SQLITE_NULL ? NULL : "";
		if (sqlite3_column_type(s, i) == SQLITE_TEXT)
			value = db_text(s, i);
		if (strcmp(name, "kind") == 0)
			about.kind = subject_kind_of(value ? value : "");
		else if (strcmp(name, "id") == 0)
			about.id = sqlite3_column_int64(s, i);
		else if (strcmp(name, "part") == 0)
			part = value ? value : "";
		else if (strcmp(name, "text") == 0)
			ret = buf_printf(&text, e, "%s", value ? value : "?");
		else if (strcmp(name, "n") == 0)
			n = sqlite3_column_int64(s, i);
		else if (value) {
			if (!text.len)
				ret = name_row(&text, t->c->db, about, part, e);
			if (ret == 0)
				ret = put(t->c, e, about, text.data, name,
					  sqlite3_column_double(s, i), NO_INTERVAL, n);
		}
	}
	buf_free(&text);
	return ret;
}

void put_table(struct analysis_ctx *c, enum subject_kind kind, const char *sql, const char *fmt,
	       ...)
{
	struct table_rows t = { c, kind };
	va_list ap;

	if (c->err < 0)
		return;
	va_start(ap, fmt);
	c->err = db_each_of(c->db, c->e, put_table_row, &t, sql, fmt, ap);
	va_end(ap);
}

/* ---- findings ---- */

int put_finding(struct analysis_ctx *c, struct err *e, const struct finding *f)
{
	return finding_put(c->db, c->analysis->name, f, NULL, e);
}

s64 add_finding(struct analysis_ctx *c, const struct finding *f)
{
	s64 id = 0;

	if (c->err == 0)
		c->err = finding_put(c->db, c->analysis->name, f, &id, c->e);
	return id;
}

void add_limit(struct analysis_ctx *c, enum finding_kind kind)
{
	const struct finding f = { .kind = kind, .evidence = LIMIT };

	add_finding(c, &f);
}

#define VALUES_MOST 24 /* columns of a query of findings */
#define NAME_SIZE   32

struct finding_rows {
	struct analysis_ctx *c;
	const struct finding_query *q;
};

/* A column "name:unit"; the name goes to *name. */
static struct value value_of(sqlite3_stmt *s, int i, char name[NAME_SIZE])
{
	const char *label = sqlite3_column_name(s, i), *unit = strchr(label, ':');
	struct value v = VALUE_TEXT(name, NULL);

	snprintf(name, NAME_SIZE, "%.*s", unit ? (int)(unit - label) : NAME_SIZE - 1, label);
	v.of.kind = unit && sqlite3_column_type(s, i) != SQLITE_NULL ? subject_kind_of(unit + 1)
								     : SUBJECT_none;
	if (v.of.kind != SUBJECT_none)
		v.of.id = sqlite3_column_int64(s, i);
	else if (sqlite3_column_type(s, i) == SQLITE_TEXT)
		v.text = db_text(s, i);
	else
		v.number = db_number(s, i);
	v.unit = unit && v.of.kind == SUBJECT_none ? unit + 1 : "";
	return v;
}

static int find_row(void *arg, sqlite3_stmt *s, struct err *e)
{
	const struct finding_rows *r = arg;
	struct finding f = { .kind = r->q->kind,
			     .severity = r->q->severity,
			     .evidence = r->q->evidence,
			     .sql = r->q->proof };
	struct value values[VALUES_MOST + 1] = { 0 };
	char names[VALUES_MOST][NAME_SIZE];
	int i, ret, n = 0;
	s64 id = 0;

	for (i = 0; i < sqlite3_column_count(s) && n < VALUES_MOST; i++) {
		const char *name = sqlite3_column_name(s, i);
		const char *text = NULL;

		if (sqlite3_column_type(s, i) == SQLITE_TEXT)
			text = db_text(s, i);
		if (strcmp(name, "kind") == 0)
			f.about.kind = subject_kind_of(text ? text : "");
		else if (strcmp(name, "id") == 0)
			f.about.id = sqlite3_column_int64(s, i);
		else if (strcmp(name, "evidence") == 0)
			f.evidence = (enum evidence)sqlite3_column_int(s, i);
		else if (strcmp(name, "severity") == 0)
			f.severity = (enum severity)sqlite3_column_int(s, i);
		else if (strcmp(name, "proof") == 0)
			f.sql = text;
		else if (sqlite3_column_type(s, i) != SQLITE_NULL) {
			values[n] = value_of(s, i, names[n]);
			n++;
		}
	}
	f.values = values;
	ret = finding_put(r->c->db, r->c->analysis->name, &f, &id, e);
	if (ret == 0 && r->q->list)
		ret = finding_add(r->c->db, id, e, r->q->list, strstr(r->q->list, "?1") ? "i" : "",
				  f.about.id);
	return ret;
}

void find_rows(struct analysis_ctx *c, const struct finding_query *q, const char *fmt, ...)
{
	struct finding_rows r = { c, q };
	va_list ap;

	if (c->err < 0)
		return;
	va_start(ap, fmt);
	c->err = db_each_of(c->db, c->e, find_row, &r, q->sql, fmt, ap);
	va_end(ap);
}

/* ---- questions ---- */

static int take_first(void *arg, sqlite3_stmt *s, struct err *e)
{
	(void)e;
	*(double *)arg = sqlite3_column_double(s, 0);
	return 1;
}

double query_number(struct analysis_ctx *c, const char *sql, const char *fmt, ...)
{
	double v = 0;
	va_list ap;

	if (c->err < 0)
		return 0;
	va_start(ap, fmt);
	c->err = db_each_of(c->db, c->e, take_first, &v, sql, fmt, ap);
	va_end(ap);
	return v;
}

void each_row(struct analysis_ctx *c, db_row_fn fn, void *arg, const char *sql, const char *fmt,
	      ...)
{
	va_list ap;

	if (c->err < 0)
		return;
	va_start(ap, fmt);
	c->err = db_each_of(c->db, c->e, fn, arg, sql, fmt, ap);
	va_end(ap);
}
