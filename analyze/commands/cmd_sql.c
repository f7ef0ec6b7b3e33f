// SPDX-License-Identifier: GPL-2.0-or-later
/* sql: a read-only query over a recording or a database, or several at a prompt. */
#include "cmd.h"
#include "prompt.h"
#include "question.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QUERY_MAX (1 << 20)

struct config {
	struct asked asked; /* first: options of filter.h look for it there */
	enum rows_form form;
	bool stats;
};

#define CHOOSE(function, member, choice)                                  \
	static int function(void *config, const char *arg, struct err *e) \
	{                                                                 \
		(void)arg;                                                \
		(void)e;                                                  \
		((struct config *)config)->member = choice;               \
		return 0;                                                 \
	}

CHOOSE(set_csv, form, ROWS_CSV)
CHOOSE(set_json, form, ROWS_JSON)
CHOOSE(set_line, form, ROWS_LINE)
CHOOSE(set_stats, stats, true)

static const struct opt opts[] = {
	{ "csv", 'c', NULL, "comma-separated values, RFC 4180", set_csv },
	{ "json", 'j', NULL, "one JSON object per line", set_json },
	{ "line", 'l', NULL, "one value per line, as column = value", set_line },
	{ "stats", 0, NULL, "print to standard error how much of the recording was read",
	  set_stats },
	FILTER_OPTS,
	CACHE_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_sql;

/* The query's words, from standard input if they are not on the command line. */
static int read_query(struct buf *b, struct err *e)
{
	char chunk[4096];
	ssize_t n = 0;
	int ret = 0;

	while (ret == 0 && b->len < QUERY_MAX && (n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		ret = buf_add(b, chunk, n, e);
	if (ret == 0 && n < 0)
		ret = err_errno(e, ERR_FAIL, "cannot read the query");
	return ret < 0 ? ret : buf_add(b, "", 1, e);
}

static void tell_stats(const struct question *s)
{
	const struct recording_state *st = s->reader ? reader_state(s->reader) : NULL;

	if (!st) {
		fprintf(stderr, "obsanalyze: a database: no recording was read\n");
		return;
	}
	fprintf(stderr,
		"obsanalyze: tables %s; raw events: %llu scans read %llu of %llu blocks, %llu "
		"records\n",
		s->loaded ? "made of the recording" : "not needed",
		(unsigned long long)s->events.scans, (unsigned long long)s->events.blocks,
		(unsigned long long)st->blocks, (unsigned long long)s->events.records);
}

/* One query to standard output: rows that came before a failure are shown. */
static int print(struct question *s, const char *sql, enum rows_form form, struct err *e)
{
	struct sink out;
	int closed, ret = sink_open(&out, NULL, e);

	if (ret < 0)
		return ret;
	ret = question_ask(s, sql, form, &out, e);
	closed = sink_close(&out, true, ret < 0 ? NULL : e);
	return ret < 0 ? ret : closed;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .form = ROWS_TABLE };
	int first = cmd_words(&command_sql, &c, argc, argv, 1, 2, e);
	struct question s = { 0 };
	struct buf words = { 0 };
	bool prompt = first >= 0 && argc - first == 1 && isatty(STDIN_FILENO);
	int ret = first, damaged = 0;

	if (first < 0)
		return first;
	c.asked.own_queries = true;
	ret = prompt || argc - first > 1 ? 0 : read_query(&words, e);
	if (ret == 0)
		ret = question_open(&s, argv[first], &c.asked, e);
	if (ret == 0 && prompt)
		ret = prompt_run(&s, c.form, e);
	else if (ret == 0)
		ret = print(&s, words.data ? words.data : argv[first + 1], c.form, e);
	if (ret == 0)
		ret = damaged = question_damaged(&s, e);
	question_close(&s);
	if (ret >= 0 && c.stats)
		tell_stats(&s);
	reader_free(s.reader);
	buf_free(&words);
	return ret >= 0 && damaged ? cmd_damaged(argv[first]) : ret;
}

const struct command command_sql = {
	.name = "sql",
	.words = "RECORDING|DATABASE ['SELECT ...']",
	.doc = "query the tables and the raw events: see obs-schema(5)",
	.opts = opts,
	.run = run,
};
