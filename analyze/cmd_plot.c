// SPDX-License-Identifier: GPL-2.0-or-later
/* plot: the pictures as files. */
#include "analysis.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"
#include "pictures.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct config {
	struct asked asked; /* first: options of ask.h and filter.h */
	const char *output; /* directory */
	const char *format;
	const char *only;
	const char *note;
	bool keep;
};

#define TAKE(function, member)                                            \
	static int function(void *config, const char *arg, struct err *e) \
	{                                                                 \
		(void)e;                                                  \
		((struct config *)config)->member = arg;                  \
		return 0;                                                 \
	}

TAKE(set_output, output)
TAKE(set_only, only)
TAKE(set_note, note)

static int set_format(void *config, const char *arg, struct err *e)
{
	if (strcmp(arg, "svg") != 0 && strcmp(arg, "png") != 0)
		return err_set(e, ERR_FAIL, "--format knows svg and png, not %.40s", arg);
	((struct config *)config)->format = arg;
	return 0;
}

static int set_keep(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct config *)config)->keep = true;
	return 0;
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
	{ 0 },
};

extern const struct command command_plot;

static int draw_rows(const struct buf *tsv, const struct picture *p, const struct config *c,
		     struct err *e)
{
	struct buf data = { 0 }, path = { 0 }, file = { 0 };
	/* rows that are not kept take no name that a file of the user's may have */
	int ret = c->keep ? buf_printf(&data, e, "%s.tsv", p->name)
			  : buf_printf(&data, e, ".%s-%ld.tsv", p->name, (long)getpid());

	if (ret == 0)
		ret = buf_printf(&path, e, "%s/%s", c->output, data.data);
	if (ret == 0)
		ret = buf_printf(&file, e, "%s.%s", p->name, c->format);
	if (ret == 0)
		unlink(path.data);
	if (ret == 0)
		ret = cmd_write(tsv, path.data, e);
	if (ret == 0)
		ret = picture_draw(p, c->output, data.data, file.data, c->format, c->note, false,
				   e);
	if (path.data && (!c->keep || ret < 0))
		unlink(path.data);
	if (ret == 0)
		printf("%s/%s\n", c->output, file.data);
	buf_free(&data);
	buf_free(&path);
	buf_free(&file);
	return ret;
}

/* 1; 0 if there is nothing to draw. */
static int draw(sqlite3 *db, const struct picture *p, const struct config *c, struct err *e)
{
	struct buf tsv = { 0 };
	int ret = picture_data(&tsv, db, p, e), drawn = ret > 0;

	if (drawn)
		ret = draw_rows(&tsv, p, c, e);
	buf_free(&tsv);
	return ret < 0 ? ret : drawn;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .output = ".", .format = "svg" };
	int first = cmd_words(&command_plot, &c, argc, argv, 1, 1, e);
	const struct picture *p;
	sqlite3 *db = NULL;
	bool answered;
	int ret, drawn = 0;

	if (first < 0)
		return first;
	if (mkdir(c.output, 0777) < 0 && errno != EEXIST)
		return err_errno(e, ERR_FAIL, "cannot make the directory %.400s", c.output);
	ret = cache_open(&db, &answered, argv[first], &c.asked, e);
	/* some show what analyses found; a database has that already */
	if (ret == 0 && !answered)
		ret = analyses_run(db, NULL, e);
	for (p = pictures; p->name && ret >= 0; p++) {
		if (c.only && strcmp(c.only, p->analysis) != 0 && strcmp(c.only, p->name) != 0)
			continue;
		ret = draw(db, p, &c, e);
		drawn += ret > 0;
	}
	if (ret >= 0 && !drawn)
		ret = err_set(e, ERR_FAIL, "the recording has nothing to draw%s%.40s",
			      c.only ? " for " : "", c.only ? c.only : "");
	if (ret >= 0)
		ret = cmd_end(db, argv[first], e);
	sqlite3_close(db);
	return ret;
}

const struct command command_plot = {
	.name = "plot",
	.words = "RECORDING|DATABASE",
	.doc = "draw pictures with gnuplot",
	.opts = opts,
	.run = run,
};
