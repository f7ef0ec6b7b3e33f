// SPDX-License-Identifier: GPL-2.0-or-later
/* report: what happened, as text, Markdown or JSON. */
#include "analysis.h"
#include "cmd.h"
#include "load.h"
#include "render.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MIN     80
#define WIDTH_MAX     160
#define SECONDS_MAX   1e9
#define WIDTH_DEFAULT 100 /* when it is not a terminal */

struct config {
	struct render_options render;
	const char *output;
	s64 baseline[2], degraded[2]; /* ns since the begin; [1] is 0: not named */
};

static int set_markdown(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct config *)config)->render.format = RENDER_MARKDOWN;
	return 0;
}

static int set_json(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct config *)config)->render.format = RENDER_JSON;
	return 0;
}

static int set_analysis(void *config, const char *arg, struct err *e)
{
	(void)e;
	((struct config *)config)->render.only = arg;
	return 0;
}

static int set_output(void *config, const char *arg, struct err *e)
{
	(void)e;
	((struct config *)config)->output = arg;
	return 0;
}

/* "12.5..20": seconds after the first event. */
static int read_window(s64 window[2], const char *arg, struct err *e)
{
	const char *dots = strstr(arg, "..");
	double from, to;
	char *end;

	from = strtod(arg, &end); /* takes the first dot of "5..8" as well */
	if (!dots || end == arg || (end != dots && end != dots + 1))
		goto bad;
	to = strtod(dots + 2, &end);
	if (end == dots + 2 || *end || !(from >= 0) || !(to > from) || to > SECONDS_MAX)
		goto bad;
	window[0] = from * 1e9;
	window[1] = to * 1e9;
	return 0;
bad:
	return err_set(e, ERR_FAIL, "a window is FROM..TO in seconds after the first event");
}

static int set_baseline(void *config, const char *arg, struct err *e)
{
	return read_window(((struct config *)config)->baseline, arg, e);
}

static int set_degraded(void *config, const char *arg, struct err *e)
{
	return read_window(((struct config *)config)->degraded, arg, e);
}

static const struct opt opts[] = {
	{ "markdown", 'm', NULL, "for a ticket", set_markdown },
	{ "json", 'j', NULL, "all numbers, for programs", set_json },
	{ "analysis", 'a', "NAME", "only this one, for example causes", set_analysis },
	{ "baseline", 0, "FROM..TO", "causes: seconds in which all was well", set_baseline },
	{ "degraded", 0, "FROM..TO", "causes: seconds in which it was slow", set_degraded },
	{ "output", 'o', "FILE", "write to this new file; default: standard output", set_output },
	{ 0 },
};

extern const struct command command_report;

static int terminal_width(void)
{
	struct winsize w;

	if (!isatty(STDOUT_FILENO))
		return WIDTH_DEFAULT;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col < WIDTH_MIN)
		return WIDTH_MIN;
	return w.ws_col > WIDTH_MAX ? WIDTH_MAX : w.ws_col;
}

/* The windows become facts, which the analyses read. */
static int put_windows(sqlite3 *db, const struct config *c, struct err *e)
{
	static const char sql[] = "INSERT INTO recording VALUES(?, ? || '..' || ?)";
	int ret = 0;

	if (!c->baseline[1] != !c->degraded[1])
		return err_set(e, ERR_FAIL, "--baseline and --degraded need each other");
	if (c->baseline[1])
		ret = db_run(db, e, sql, "sii", "baseline_ns", c->baseline[0], c->baseline[1]);
	if (ret == 0 && c->degraded[1])
		ret = db_run(db, e, sql, "sii", "degraded_ns", c->degraded[0], c->degraded[1]);
	return ret;
}

/* A recording is analysed now; a database was when it was made. */
static int answer(sqlite3 *db, const struct config *c, const char *path, struct err *e)
{
	struct buf out = { 0 };
	s64 known = 0;
	int ret;

	if (db_is_database(path)) {
		if (c->baseline[1] || c->degraded[1])
			return err_set(
				e, ERR_FAIL,
				"the answers of a database were made with it; give --baseline "
				"and --degraded with the recording");
		ret = db_int(db, &known, e,
			     "SELECT count(*) FROM metric WHERE ?1 IS NULL OR analysis=?1", "s",
			     c->render.only);
		if (ret == 0 && !known && c->render.only)
			ret = err_set(e, ERR_FAIL,
				      "the database has no answers of an analysis %.40s",
				      c->render.only);
	} else {
		ret = put_windows(db, c, e);
		if (ret == 0)
			ret = analyses_run(db, c->render.only, e);
	}
	if (ret == 0)
		ret = render_report(&out, db, &c->render, e);
	if (ret == 0)
		ret = cmd_write(&out, c->output, e);
	buf_free(&out);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .render.format = RENDER_TEXT };
	int first = cmd_words(&command_report, &c, argc, argv, 1, 1, e);
	sqlite3 *db = NULL;
	s64 whole = 0;
	int ret;

	if (first < 0)
		return first;
	c.render.name = argv[first];
	c.render.width = terminal_width();
	c.render.colour = isatty(STDOUT_FILENO) && !c.output && !getenv("NO_COLOR");
	ret = load_any(&db, argv[first], e);
	if (ret == 0)
		ret = answer(db, &c, argv[first], e);
	if (ret == 0)
		ret = db_int(db, &whole, e,
			     "SELECT count(*) FROM recording WHERE (key='complete' AND value='1')"
			     " OR (key='damaged_blocks' AND value='0')",
			     "");
	if (ret == 0 && whole < 2)
		ret = cmd_damaged(argv[first]);
	sqlite3_close(db);
	return ret;
}

const struct command command_report = {
	.name = "report",
	.words = "RECORDING|DATABASE",
	.doc = "say what happened, and how sure that is",
	.opts = opts,
	.run = run,
};
