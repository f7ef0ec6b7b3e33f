// SPDX-License-Identifier: GPL-2.0-or-later
/* plot: the pictures as files. */
#include "analyze/analyses/analysis.h"
#include "analyze/render/flame.h"
#include "analyze/render/pictures.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct config {
	struct asked asked; /* first: options of ask.h and filter.h */
	struct picture_files files;
	const char *only;
};

CMD_SET_TEXT(set_output, files.dir)
CMD_SET_TEXT(set_only, only)
CMD_SET_TEXT(set_note, files.note)
CMD_SET_FLAG(set_keep, files.keep)

static int set_format(void *config, const char *arg, struct err *e)
{
	return picture_format(&((struct config *)config)->files, arg, e);
}

static const struct opt opts[] = {
	{ "output", 'o', "DIR", "directory of the pictures; default: here", set_output },
	{ "format", 'f', "svg|png", "default: svg", set_format },
	{ "analysis", 'a', "NAME", "only pictures of this analysis, or of this name", set_only },
	{ "keep-data", 0, NULL, "keep the numbers that were drawn, as TSV", set_keep },
	{ "note", 0, "TEXT", "a line to stand under the title", set_note },
	ASK_STEP,
	FILTER_OPTS,
	CACHE_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_plot;

static int draw_flames(sqlite3 *db, const struct config *c, struct err *e)
{
	const struct flame *f;
	int ret = 0, drawn = 0;

	for (f = flames; f->name && ret >= 0; f++) {
		if (c->only && strcmp(c->only, f->analysis) != 0 && strcmp(c->only, f->name) != 0)
			continue;
		ret = flame_file(db, f, c->files.dir, c->files.list, e);
		drawn += ret > 0;
	}
	return ret < 0 ? ret : drawn;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .files = { .dir = ".", .format = "svg", .list = stdout } };
	int first = cmd_words(&command_plot, &c, argc, argv, 1, 1, e);
	const struct picture *p;
	sqlite3 *db = NULL;
	bool answered;
	int ret, drawn = 0;

	if (first < 0)
		return first;
	ret = picture_dir(&c.files, e);
	if (ret == 0)
		ret = cache_open(&db, &answered, argv[first], &c.asked, e);
	/* some show what analyses found; a database has that already */
	if (ret == 0 && !answered)
		ret = analyses_run(db, NULL, e);
	for (p = pictures; p->name && ret >= 0; p++) {
		if (c.only && strcmp(c.only, p->analysis) != 0 && strcmp(c.only, p->name) != 0)
			continue;
		ret = picture_file(db, p, &c.files, e);
		drawn += ret > 0;
	}
	if (ret >= 0)
		ret = draw_flames(db, &c, e);
	drawn += ret > 0 ? ret : 0;
	if (ret >= 0 && !drawn)
		ret = err_set(e, ERR_FAIL, "the recording has nothing to draw%s%.40s",
			      c.only ? " for " : "", c.only ? c.only : "");
	if (ret >= 0)
		ret = cmd_end(db, argv[first], e);
	db_close(db);
	return ret;
}

const struct command command_plot = {
	.name = "plot",
	.words = "RECORDING|DATABASE",
	.doc = "draw pictures with gnuplot",
	.opts = opts,
	.run = run,
};
