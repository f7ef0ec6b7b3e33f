// SPDX-License-Identifier: GPL-2.0-or-later
/* compare: what changed between recordings, by how much, how sure, and why. */
#include "analyze/analyses/analysis.h"
#include "analyze/base/sink.h"

#include "analyze/compare/compare_functions.h"
#include "analyze/render/flame.h"
#include "analyze/render/pictures.h"
#include "analyze/render/render.h"
#include "analyze/render/say.h"
#include "cache.h"
#include "cmd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLD 5 /* % */

struct config {
	struct asked asked; /* first: options of filter.h */
	struct render_options render;
	struct picture_files files; /* dir: NULL if none are wanted */
	const char *output;
	double threshold; /* share */
	bool force;
	bool verbose;
	bool fail_on_slower;
	double fail_at; /* share */
	const char *paths[2][COMPARE_SIDE_MOST];
	size_t n[2];
	int side; /* that was named last: what words belong to; -1: none */
};

CMD_SET_TEXT(set_output, output)
CMD_SET_FLAG(set_force, force)
CMD_SET_FLAG(set_verbose, verbose)
CMD_SET_TEXT(set_plot, files.dir)
CMD_SET_TEXT(set_note, files.note)
CMD_SET_FLAG(set_keep, files.keep)

static int set_format(void *config, const char *arg, struct err *e)
{
	return picture_format(&((struct config *)config)->files, arg, e);
}

CMD_SET_FORMAT(MARKDOWN, markdown)
CMD_SET_FORMAT(JSON, json)
CMD_SET_FORMAT(HTML, html)

/* "5", "2.5", "10%": as a share. */
static int read_percent(double *ret, const char *option, const char *text, struct err *e)
{
	char *end;
	double v = strtod(text, &end);

	end += end != text && *end == '%';
	if (end == text || *end || !(v > 0) || v > 1000)
		return err_set(e, ERR_FAIL, "--%s needs a percentage such as 5, not %.40s", option,
			       text);
	*ret = v / 100;
	return 0;
}

static int set_threshold(void *config, const char *arg, struct err *e)
{
	return read_percent(&((struct config *)config)->threshold, "threshold", arg, e);
}

static int set_fail_on(void *config, const char *arg, struct err *e)
{
	struct config *c = config;

	if (strncmp(arg, "slower", 6) != 0 || (arg[6] && arg[6] != ':'))
		return err_set(e, ERR_FAIL, "--fail-on knows slower and slower:PERCENT, not %.40s",
			       arg);
	c->fail_on_slower = true;
	return arg[6] ? read_percent(&c->fail_at, "fail-on", arg + 7, e) : 0;
}

static int add_path(struct config *c, int side, const char *path, struct err *e)
{
	if (c->n[side] == COMPARE_SIDE_MOST)
		return err_set(e, ERR_FAIL, "at most %d recordings a side can be compared",
			       COMPARE_SIDE_MOST);
	c->paths[side][c->n[side]++] = path;
	return 0;
}

static int set_before(void *config, const char *arg, struct err *e)
{
	((struct config *)config)->side = 0;
	return add_path(config, 0, arg, e);
}

static int set_after(void *config, const char *arg, struct err *e)
{
	((struct config *)config)->side = 1;
	return add_path(config, 1, arg, e);
}

static const struct opt opts[] = {
	{ "before", 0, "FILE...", "several recordings; the next words are further ones",
	  set_before },
	{ "after", 0, "FILE...", "and those to compare with them", set_after },
	{ "threshold", 0, "PERCENT", "ignore smaller changes; default: 5", set_threshold },
	{ "fail-on", 0, "slower[:PERCENT]", "exit with status 7 if a metric is slower by this much",
	  set_fail_on },
	{ "force", 0, NULL, "compare recordings that are not comparable; list the reasons",
	  set_force },
	{ "verbose", 'v', NULL, "also print all tables", set_verbose },
	{ "markdown", 'm', NULL, "for a ticket", set_markdown },
	{ "json", 'j', NULL, "all numbers, for programs", set_json },
	{ "html", 0, "FILE", "a page with plots, in one new file", set_html },
	{ "output", 'o', "FILE", "write to this new file; default: standard output", set_output },
	{ "plot", 0, "DIR", "also draw its plots with gnuplot, in this directory", set_plot },
	{ "format", 'f', "svg|png", "of these plots; default: svg", set_format },
	{ "keep-data", 0, NULL, "keep the numbers of plots, as TSV", set_keep },
	{ "note", 0, "TEXT", "a line under the title of plots", set_note },
	FILTER_OPTS,
	CACHE_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_compare;

/* The options between words are read in turns, because getopt stops at words. */
static int read_words(struct config *c, int argc, char **argv, struct err *e)
{
	int at = 0, ret;

	while (at < argc - 1) {
		ret = opt_parse(opts, c, argc - at, argv + at, e);
		if (ret < 0)
			return ret;
		at += ret;
		if (at >= argc)
			break;
		if (c->side < 0 && c->n[0] && c->n[1])
			return err_set(e, ERR_FAIL,
				       "more than two recordings need --before and --after");
		ret = add_path(c, c->side >= 0 ? c->side : c->n[0] > 0, argv[at], e);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int read_config(struct config *c, int argc, char **argv, struct err *e)
{
	int ret = read_words(c, argc, argv, e);

	if (ret < 0)
		return ret;
	if (!c->files.dir && (c->files.keep || c->files.note))
		return err_set(e, ERR_FAIL, "--keep-data and --note go with --plot only");
	if (!c->n[0] || !c->n[1])
		return err_set(e, ERR_FAIL, "usage: obsanalyze compare [OPTION]... %s",
			       command_compare.words);
	if ((c->n[0] == 1) != (c->n[1] == 1))
		return err_set(e, ERR_FAIL,
			       "several recordings on one side need at least 2 on the other");
	return 0;
}

static int read_recording(struct measured *m, const char *path, const struct asked *a,
			  struct err *e)
{
	sqlite3 *db = NULL;
	bool answered;
	int ret = cache_open(&db, &answered, path, a, e);

	if (ret == 0 && !answered)
		ret = analyses_run(db, "verdict", e);
	if (ret == 0)
		ret = compare_read(m, path, db, e);
	db_close(db);
	return ret;
}

/* All recordings of both sides. */
static int read_sides(struct sides *s, const struct config *c, struct err *e)
{
	int side, ret = 0;
	size_t i;

	for (side = 0; side < 2; side++) {
		s->of[side] = calloc(c->n[side], sizeof(*s->of[side]));
		if (!s->of[side])
			return err_set(e, ERR_FAIL, "out of memory for recordings");
	}
	for (side = 0; side < 2; side++)
		for (i = 0; i < c->n[side] && ret == 0; i++) {
			ret = read_recording(&s->of[side][i], c->paths[side][i], &c->asked, e);
			s->n[side] += ret == 0;
		}
	return ret;
}

static int put_recordings(sqlite3 *db, const struct sides *s, struct err *e)
{
	int side, ret = 0;
	size_t i;

	for (side = 0; side < 2; side++)
		for (i = 0; i < s->n[side] && ret == 0; i++) {
			const struct measured *m = &s->of[side][i];

			ret = db_insert(db, TABLE_compared, e, "sisiiii", side ? "after" : "before",
					(s64)i + 1, m->path, m->duration, (s64)m->seen,
					(s64)m->lost, (s64)m->complete);
		}
	return ret;
}

/* The reasons why the sides are not comparable. */
static int refuse(sqlite3 *db, struct err *e)
{
	struct buf text = { 0 };
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, "SELECT finding FROM comparability WHERE verdict='refused'",
			   "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		ret = buf_printf(&text, e, " ");
		if (ret == 0)
			ret = say_finding(&text, db, sqlite3_column_int64(q, 0), e);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	if (ret == 0)
		ret = err_set(e, ERR_REFUSED, "not compared:%.480s (--force compares them)",
			      text.data ? text.data : "");
	buf_free(&text);
	return ret;
}

static int fill(sqlite3 *db, struct sides *s, const struct config *c, struct err *e)
{
	int refused = 0, ret = put_recordings(db, s, e);

	if (ret == 0) /* for pictures */
		ret = db_run(db, e, "INSERT INTO recording VALUES ('threshold', ?)", "d",
			     c->threshold);
	if (ret == 0)
		ret = compare_pair(db, s, e);
	if (ret == 0)
		ret = compare_check(db, s, &refused, e);
	if (ret == 0 && refused && !c->force)
		ret = refuse(db, e);
	if (ret == 0)
		ret = compare_judge(db, s, c->threshold, e);
	if (ret == 0)
		ret = compare_explain(db, s, e);
	if (ret == 0)
		ret = compare_blame(db, s, e);
	if (ret == 0)
		ret = compare_say(db, s, c->threshold, e);
	return ret;
}

static int draw(sqlite3 *db, const struct picture_files *f, struct err *e)
{
	const struct picture *p;
	const struct flame *g;
	int ret = f->dir ? picture_dir(f, e) : 0;

	for (p = pictures; f->dir && p->name && ret >= 0; p++)
		if (strcmp(p->analysis, "compare") == 0)
			ret = picture_file(db, p, f, e);
	for (g = flames; f->dir && g->name && ret >= 0; g++)
		if (strcmp(g->analysis, "compare") == 0)
			ret = flame_file(db, g, f->dir, f->list, e);
	return ret < 0 ? ret : 0;
}

static int judge_exit(sqlite3 *db, const struct config *c, struct err *e)
{
	s64 slower = 0;
	int ret = 0;

	if (c->fail_on_slower)
		ret = db_int(db, &slower, e,
			     "SELECT count(*) FROM change WHERE verdict='slower' AND gates"
			     " AND ratio>=1 + ?",
			     "d", c->fail_at);
	if (ret == 0 && slower)
		ret = err_set(e, ERR_SLOWER, "%lld metrics are slower", (long long)slower);
	return ret;
}

/* Returns the path of one that is truncated or damaged, or NULL. */
static const char *damaged(const struct sides *s)
{
	size_t i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < s->n[side]; i++)
			if (!s->of[side][i].complete)
				return s->of[side][i].path;
	return NULL;
}

static void free_sides(struct sides *s)
{
	size_t i;
	int side;

	for (side = 0; side < 2; side++) {
		for (i = 0; i < s->n[side]; i++)
			compare_free(&s->of[side][i]);
		free(s->of[side]);
	}
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .threshold = THRESHOLD / 100.0,
			    .render.format = RENDER_TEXT,
			    .files.format = "svg",
			    .side = -1 };
	struct sides s = { 0 };
	struct buf out = { 0 };
	sqlite3 *db = NULL;
	int ret = read_config(&c, argc, argv, e);

	if (ret < 0)
		return ret;
	c.render.width = cmd_width();
	c.render.colour = cmd_colour(c.output);
	ret = read_sides(&s, &c, e);
	if (ret == 0)
		ret = db_open(&db, NULL, true, e);
	if (ret == 0)
		ret = fill(db, &s, &c, e);
	if (ret == 0)
		ret = render_compare(&out, db, &c.render, c.threshold, c.verbose, e);
	if (ret == 0)
		ret = sink_write(&out, c.output, e);
	if (ret == 0)
		ret = draw(db, &c.files, e);
	if (ret == 0)
		ret = judge_exit(db, &c, e);
	if (ret == 0 && damaged(&s))
		ret = cmd_damaged(damaged(&s));
	db_close(db);
	buf_free(&out);
	free_sides(&s);
	return ret;
}

const struct command command_compare = {
	.name = "compare",
	.words = "BEFORE AFTER | --before FILE... --after FILE...",
	.doc = "compare recordings: what got slower, with intervals and causes",
	.opts = opts,
	.run = run,
};
