// SPDX-License-Identifier: GPL-2.0-or-later
/* sql at a terminal: queries one after the other, and a few words that begin with a dot. */
#include "prompt.h"

#include "describe.h"
#include "format/escape.h"
#include "format/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_MAX (1 << 20)

static int dot_tables(struct buf *out, const char *arg, struct err *e)
{
	(void)arg;
	return describe_names(out, e);
}

static int dot_schema(struct buf *out, const char *arg, struct err *e)
{
	int ret = describe_table(out, *arg ? arg : NULL, e);

	return ret == 0 ? err_set(e, ERR_FAIL, "there is no table %.40s; .tables lists them", arg)
			: ret;
}

static int dot_help(struct buf *out, const char *arg, struct err *e);

static const struct {
	const char *name, *doc;
	int (*run)(struct buf *out, const char *arg, struct err *e); /* NULL: the end */
} dots[] = {
	{ ".tables", "list tables, views and raw events", dot_tables },
	{ ".schema", "columns of a table: .schema thread", dot_schema },
	{ ".help", "this list; a query ends with a semicolon", dot_help },
	{ ".quit", "leave, as Ctrl-D does", NULL },
};

#define DOTS (sizeof(dots) / sizeof(dots[0]))

static int dot_help(struct buf *out, const char *arg, struct err *e)
{
	size_t i;
	int ret = 0;

	(void)arg;
	for (i = 0; i < DOTS && ret == 0; i++)
		ret = buf_printf(out, e, "%-8s %s\n", dots[i].name, dots[i].doc);
	return ret;
}

/* 1: the end. */
static int run_dot(struct buf *out, char *line, struct err *e)
{
	size_t i, n = strcspn(line, " \t;");
	char *arg = line + n + strspn(line + n, " \t");
	struct nearest guess = nearest_to(line, n);
	int ret;

	arg[strcspn(arg, " \t;")] = '\0';
	for (i = 0; i < DOTS; i++) {
		if (strlen(dots[i].name) == n && strncmp(line, dots[i].name, n) == 0) {
			ret = dots[i].run ? dots[i].run(out, arg, e) : 1;
			return dots[i].run && ret > 0 ? 0 : ret;
		}
		nearest_offer(&guess, dots[i].name, strlen(dots[i].name));
	}
	ret = err_set(e, ERR_FAIL, "unknown word %.40s; .help lists them", line);
	nearest_say(&guess, "", e);
	return ret;
}

static void show(const struct err *e)
{
	struct buf text = { 0 };

	if (escape_add(&text, ESCAPE_TEXT, e->text, strlen(e->text), NULL) == 0)
		fprintf(stderr, "%.*s\n", (int)text.len, text.data);
	buf_free(&text);
}

static int one(struct question *s, char *text, enum rows_form form, struct err *e)
{
	struct sink out;
	int closed, ret = sink_open(&out, NULL, e);

	if (ret < 0)
		return ret;
	ret = *text == '.' ? run_dot(&out.b, text, e) : question_ask(s, text, form, &out, e);
	closed = sink_close(&out, true, ret < 0 ? NULL : e);
	return ret != 0 ? ret : closed;
}

int prompt_run(struct question *s, enum rows_form form, struct err *e)
{
	struct buf query = { 0 };
	struct err said = { 0 };
	char *line = NULL, *start;
	size_t cap = 0;
	ssize_t n;
	int ret = 0;

	printf("Queries end with a semicolon; .help lists other words.\n");
	while (ret == 0) {
		printf(query.len ? "...> " : "obs> ");
		fflush(stdout);
		n = getline(&line, &cap, stdin);
		if (n < 0 || query.len + n > QUERY_MAX)
			break;
		line[strcspn(line, "\n")] = query.len || *line != '.' ? '\n' : '\0';
		ret = buf_add(&query, line, strlen(line), e);
		start = query.data ? query.data + strspn(query.data, " \t\r\n") : NULL;
		if (ret < 0 || (start && *start && *start != '.' && !sqlite3_complete(start)))
			continue;
		n = start && *start ? one(s, start, form, &said) : 0;
		if (n < 0)
			show(&said);
		buf_clear(&query);
		if (n > 0)
			break;
	}
	printf("\n");
	free(line);
	buf_free(&query);
	return ret;
}
