// SPDX-License-Identifier: GPL-2.0-or-later
#include "dialects.h"

#include "analyze/store/db.h"

#include <string.h>

static const struct dialect {
	const char *name;
	char quote;
	const char *integer, *real, *text; /* types */
	const char *before, *column, *between, *after;
	bool views, globs;
} dialects[] = {
#define DIALECT(name, quote, integer, real, text, before, column, between, after, views, globs) \
	{ name, quote, integer, real, text, before, column, between, after, views, globs },
#include "dialects.def"
#undef DIALECT
};

struct statement {
	struct buf *out;
	const struct dialect *d;
	const char *dir;
	const struct table_desc *table;
	const struct column_desc *column;
};

static int add_quoted(struct buf *out, char quote, const char *name, struct err *e)
{
	return buf_printf(out, e, "%c%s%c", quote, name, quote);
}

static const char *type_of(const struct dialect *d, const struct column_desc *c)
{
	return c->type[0] == 'T' ? d->text : c->type[0] == 'R' ? d->real : d->integer;
}

/* The directory in a string of SQL. */
static int add_dir(struct buf *out, const char *dir, struct err *e)
{
	int ret = 0;

	for (; *dir && ret == 0; dir++)
		ret = *dir == '\'' ? buf_add(out, "''", 2, e) : buf_add(out, dir, 1, e);
	return ret;
}

static int add_template(const struct statement *s, const char *template, struct err *e)
{
	int ret = 0;

	for (; *template && ret == 0; template ++) {
		if (*template != '%') {
			ret = buf_add(s->out, template, 1, e);
			continue;
		}
		template ++;
		if (*template == 'D')
			ret = add_dir(s->out, s->dir, e);
		else if (*template == 'N')
			ret = buf_printf(s->out, e, "%s", s->table->name);
		else if (*template == 'T')
			ret = add_quoted(s->out, s->d->quote, s->table->name, e);
		else if (*template == 'C')
			ret = add_quoted(s->out, s->d->quote, s->column->name, e);
		else
			ret = buf_printf(s->out, e, "%s", type_of(s->d, s->column));
	}
	return ret;
}

static int add_table(struct statement *s, struct err *e)
{
	static const struct column_desc rowid = { "rowid", "INT", "", "" };
	int i, ret = add_template(s, s->d->before, e);

	for (i = -1; i < s->table->n_columns && ret == 0; i++) {
		s->column = i < 0 ? &rowid : &s->table->columns[i];
		ret = add_template(s, s->d->column, e);
		if (ret == 0 && i + 1 < s->table->n_columns)
			ret = add_template(s, s->d->between, e);
	}
	return ret < 0 ? ret : add_template(s, s->d->after, e);
}

static int check_dir(const struct dialect *d, const char *dir, struct err *e)
{
	const char *c;

	for (c = dir; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '\\')
			return err_set(e, ERR_FAIL,
				       "the directory has control characters or backslashes in it");
	if (d->globs && strpbrk(dir, "*?[]{}"))
		return err_set(e, ERR_FAIL,
			       "%s reads the directory as a pattern: it must not have *?[]{} in it",
			       d->name);
	return 0;
}

int dialect_print(struct buf *out, const char *name, const char *dir, struct err *e)
{
	struct statement s = { .out = out, .dir = dir };
	const struct view_many *v;
	size_t i;
	int t, ret;

	for (i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
		if (strcmp(dialects[i].name, name) == 0)
			s.d = &dialects[i];
	if (!s.d)
		return err_set(e, ERR_FAIL, "there are no statements for %.40s", name);
	ret = check_dir(s.d, dir, e);
	for (t = 0; t < N_TABLES && ret == 0; t++) {
		s.table = &tables[t];
		ret = add_table(&s, e);
	}
	for (v = views_of_many; v->name && s.d->views && ret == 0; v++)
		ret = buf_printf(out, e, "CREATE OR REPLACE VIEW %s AS %s;\n", v->name, v->sql);
	return ret;
}
