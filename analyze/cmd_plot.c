// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plot: an analysis's picture, drawn by gnuplot from a file plots/<name>.gp and one TSV.
 * The rows come from the analysis's query; text in them is escaped.
 */
#include "analysis.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"
#include "format/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PLOTS_DIR
#define PLOTS_DIR "plots"
#endif

extern char **environ;

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
	{ "analysis", 'a', "NAME", "only the picture of this analysis", set_only },
	{ "keep-data", 0, NULL, "keep the numbers that were drawn, as TSV", set_keep },
	{ "note", 0, "TEXT", "a line to stand under the title", set_note },
	ASK_STEP,
	FILTER_OPTS,
	CACHE_OPTS,
	{ 0 },
};

extern const struct command command_plot;

static int add_cell(struct buf *out, sqlite3_stmt *s, int i, struct err *e)
{
	const char *text = (const char *)sqlite3_column_text(s, i);
	int type = sqlite3_column_type(s, i);

	if (type == SQLITE_NULL)
		return buf_printf(out, e, "nan");
	if (type == SQLITE_TEXT)
		return escape_add(out, ESCAPE_TSV, text, strlen(text), e);
	return buf_printf(out, e, "%s", text);
}

/* The query's rows as TSV; returns how many. */
static int make_tsv(struct buf *out, sqlite3 *db, const char *sql, struct err *e)
{
	sqlite3_stmt *s;
	int i, n = 0, ret = db_query(&s, db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0) {
		for (i = 0; i < sqlite3_column_count(s) && ret >= 0; i++) {
			ret = i ? buf_add(out, "\t", 1, e) : 0;
			if (ret == 0)
				ret = add_cell(out, s, i, e);
		}
		if (ret == 0)
			ret = buf_add(out, "\n", 1, e);
		if (ret < 0)
			break;
		n++;
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : n;
}

static int run_gnuplot(const char *const *argv, struct err *e)
{
	int why, status;
	pid_t pid;

	why = posix_spawnp(&pid, "gnuplot", NULL, NULL, (char *const *)argv, environ);
	while (why == 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait for gnuplot");
	/* 127: the same, where the new process cannot tell why it did not begin (POSIX) */
	if (why == ENOENT || (why == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127))
		return err_set(e, ERR_ENV,
			       "pictures need gnuplot, which is not installed here "
			       "(Debian: gnuplot-nox)");
	if (why != 0) {
		errno = why;
		return err_errno(e, ERR_ENV, "cannot run gnuplot");
	}
	if (!WIFEXITED(status))
		return err_set(e, ERR_ENV, "pictures need gnuplot, which cannot be run here");
	return WEXITSTATUS(status) == 0 ? 0 : err_set(e, ERR_FAIL, "gnuplot failed");
}

/* The installed file, or the one in the source tree; OBS_PLOTS names another directory. */
static int find_gp(struct buf *path, const char *gp, struct err *e)
{
	const char *dir = getenv("OBS_PLOTS");

	if (buf_printf(path, e, "%s/%s", dir ? dir : PLOTS_DIR, gp) < 0)
		return ERR_FAIL;
	if (access(path->data, R_OK) < 0)
		return err_errno(e, ERR_FAIL, "cannot read the drawing instructions %.400s",
				 path->data);
	return 0;
}

static int draw(sqlite3 *db, const struct analysis *a, const struct config *c, struct err *e)
{
	struct buf tsv = { 0 }, data = { 0 }, gp = { 0 }, picture = { 0 }, note = { 0 };
	const char *note_text = c->note ? c->note : "";
	int rows, ret;

	ret = make_tsv(&tsv, db, a->plot.sql, e);
	rows = ret;
	if (ret > 0) {
		ret = buf_printf(&data, e, "%s/%s.tsv", c->output, a->name);
		if (ret == 0)
			ret = buf_printf(&picture, e, "%s/%s.%s", c->output, a->name, c->format);
		if (ret == 0)
			ret = find_gp(&gp, a->plot.gp, e);
		if (ret == 0)
			ret = escape_add(&note, ESCAPE_TEXT, note_text, strlen(note_text), e);
		if (ret == 0)
			ret = buf_add(&note, "", 1, e);
		unlink(ret == 0 ? data.data : "");
		if (ret == 0)
			ret = cmd_write(&tsv, data.data, e);
	}
	if (ret == 0 && rows) {
		const char *argv[] = { "gnuplot",    "-c",	gp.data,   data.data,
				       picture.data, c->format, note.data, NULL };

		ret = run_gnuplot(argv, e);
		if (!c->keep || ret < 0)
			unlink(data.data);
		if (ret == 0)
			printf("%s\n", picture.data);
	}
	buf_free(&tsv);
	buf_free(&data);
	buf_free(&gp);
	buf_free(&picture);
	buf_free(&note);
	return ret < 0 ? ret : rows;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .output = ".", .format = "svg" };
	int first = cmd_words(&command_plot, &c, argc, argv, 1, 1, e);
	const struct analysis *const *a;
	sqlite3 *db = NULL;
	bool answered;
	int ret, drawn = 0;

	if (first < 0)
		return first;
	if (mkdir(c.output, 0777) < 0 && errno != EEXIST)
		return err_errno(e, ERR_FAIL, "cannot make the directory %.400s", c.output);
	ret = cache_open(&db, &answered, argv[first], &c.asked, e);
	for (a = analyses; *a && ret >= 0; a++) {
		if (!(*a)->plot.gp || (c.only && strcmp(c.only, (*a)->name) != 0))
			continue;
		ret = draw(db, *a, &c, e);
		drawn += ret > 0;
	}
	sqlite3_close(db);
	if (ret >= 0 && !drawn)
		ret = err_set(e, ERR_FAIL, "the recording has nothing to draw%s%.40s",
			      c.only ? " for " : "", c.only ? c.only : "");
	return ret < 0 ? ret : 0;
}

const struct command command_plot = {
	.name = "plot",
	.words = "RECORDING|DATABASE",
	.doc = "draw pictures with gnuplot",
	.opts = opts,
	.run = run,
};
