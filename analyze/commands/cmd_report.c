// SPDX-License-Identifier: GPL-2.0-or-later
/* report: what happened, as text, Markdown, JSON or HTML. */
#include "analyze/analyses/analysis.h"

#include "analyze/base/sink.h"
#include "analyze/render/render.h"
#include "analyze/store/fact.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

struct config {
	struct asked asked; /* first: options of ask.h and filter.h */
	struct render_options render;
	const char *output;
	bool schema;
};

#define FORMAT(id, name, letter, argument, doc) CMD_SET_FORMAT(id, name)
#include "analyze/render/formats.def"
#undef FORMAT
CMD_SET_FLAG(set_schema, schema)
CMD_SET_TEXT(set_analysis, render.only)
CMD_SET_FLAG(set_all, render.all)
CMD_SET_TEXT(set_output, output)

static const struct opt opts[] = {
#define FORMAT(id, name, letter, argument, doc) { #name, letter, argument, doc, set_##name },
#include "analyze/render/formats.def"
#undef FORMAT
	{ "json-schema", 0, NULL, "print the JSON Schema of --json; needs no file", set_schema },
	{ "analysis", 'a', "NAME", "only this one: overview, rps, saturation, ... (man page)",
	  set_analysis },
	{ "verbose", 'v', NULL, "everything: notes, causes, tables, limits", set_all },
	{ "all", 0, NULL, "the same", set_all },
	{ "output", 'o', "FILE", "write to this new file; default: standard output", set_output },
	ASK_OPTIONS,
	ASK_LIMITS,
	FILTER_OPTS,
	CACHE_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_report;

/* A recording is analysed now; a database was when it was made. */
static int answer(sqlite3 *db, const struct config *c, bool answered, struct err *e)
{
	struct buf out = { 0 };
	int ret = 0;

	if (!answered)
		ret = analyses_run(db, c->render.only, e);
	else if (c->render.only && !analysis_named(c->render.only, e))
		ret = ERR_FAIL;
	if (ret == 0)
		ret = render_report(&out, db, &c->render, e);
	if (ret == 0)
		ret = sink_write(&out, c->output, e);
	buf_free(&out);
	return ret;
}

static int tell_schema(const char *output, struct err *e)
{
	struct buf out = { 0 };
	int ret = render_json_schema(&out, e);

	if (ret == 0)
		ret = sink_write(&out, output, e);
	buf_free(&out);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .render.format = RENDER_TEXT };
	int first = cmd_words(&command_report, &c, argc, argv, 0, 1, e);
	sqlite3 *db = NULL;
	bool answered = false;
	int ret, whole = 1;

	if (first < 0)
		return first;
	if (c.schema)
		return tell_schema(c.output, e);
	if (first == argc)
		return err_set(e, ERR_FAIL, "usage: obsanalyze report [OPTION]... %s",
			       command_report.words);
	c.render.name = argv[first];
	c.render.width = cmd_width();
	c.render.colour = c.render.format == RENDER_TEXT && cmd_colour(c.output);
	ret = cache_open(&db, &answered, argv[first], &c.asked, e);
	if (ret == 0)
		whole = fact_whole(db, e); /* before the file has its name */
	ret = whole < 0 ? whole : ret;
	if (ret == 0)
		ret = answer(db, &c, answered, e);
	if (ret == 0 && !whole)
		ret = cmd_damaged(argv[first]);
	db_close(db);
	return ret;
}

const struct command command_report = {
	.name = "report",
	.words = "RECORDING|DATABASE",
	.doc = "print what happened, with evidence",
	.opts = opts,
	.run = run,
};
