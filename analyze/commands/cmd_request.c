// SPDX-License-Identifier: GPL-2.0-or-later
/* request: one request, and those that it waited for in other processes. */
#include "analyze/causes/request/request_tree.h"
#include "analyze/render/request_html.h"
#include "analyze/render/request_text.h"

#include "analyze/base/sink.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"
#include "several.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 65 /* merge takes 64 recordings */

struct config {
	struct asked asked; /* first: options of filter.h look for it there */
	const char *name, *html;
};

CMD_SET_TEXT(set_name, name)
CMD_SET_TEXT(set_html, html)

static const struct opt opts[] = {
	{ "name", 0, "NAME", "with slowest: of the requests of this name", set_name },
	{ "html", 0, "FILE", "a page with a space-time diagram, in one new file", set_html },
	FILTER_OPTS,
	CACHE_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_request;

static int find(s64 *ret, sqlite3 *db, const char *which, const struct config *c, struct err *e)
{
	char *end;

	*ret = strtoll(which, &end, 10);
	if (*which && !*end)
		return 0;
	if (strcmp(which, "slowest") != 0)
		return err_set(e, ERR_FAIL, "which request? slowest, or a number, not %.40s",
			       which);
	if (request_tree_slowest(ret, db, c->name, e) < 0)
		return ERR_FAIL;
	return *ret ? 0
		    : err_set(e, ERR_FAIL, "there is no request%s%.100s", c->name ? " " : "",
			      c->name ? c->name : "");
}

/* A tree with its path, and what both need. */
struct followed {
	struct request_tree tree;
	struct request_path path;
	struct spans spans;
};

static int follow(struct followed *f, sqlite3 *db, s64 id, struct err *e)
{
	struct moment moments[HOST_LIMIT];
	int ret = request_tree_make(&f->tree, db, id, e);

	if (ret == 0)
		ret = spans_load(&f->spans, db, moments, request_path_moments(moments, &f->tree),
				 e);
	if (ret == 0)
		request_path_make(&f->path, &f->tree, &f->spans);
	return ret;
}

static int print(sqlite3 *db, s64 id, const char *name, const struct config *c, struct err *e)
{
	struct followed *f = calloc(1, sizeof(*f));
	struct buf text = { 0 }, page = { 0 };
	int ret = f ? follow(f, db, id, e) : err_set(e, ERR_FAIL, "out of memory for a request");

	if (ret == 0)
		ret = request_text(&text, db, &f->tree, &f->path, e);
	if (ret == 0 && c->html)
		ret = request_html(&page, db, name, &f->tree, &f->path, &f->spans, &text, e);
	if (ret == 0)
		ret = sink_write(c->html ? &page : &text, c->html, e);
	buf_free(&page);
	buf_free(&text);
	if (f)
		spans_free(&f->spans);
	free(f);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	int first = cmd_words(&command_request, &c, argc, argv, 2, WORDS_MAX, e), n;
	const char *damaged = NULL;
	sqlite3 *db = NULL;
	bool answered;
	s64 id = 0;
	int ret;

	if (first < 0)
		return first;
	n = argc - first - 1;
	ret = n > 1 ? several_open(&db, argv + first + 1, n, &c.asked, &damaged, e)
		    : cache_open(&db, &answered, argv[first + 1], &c.asked, e);
	if (ret == 0)
		ret = find(&id, db, argv[first], &c, e);
	if (ret == 0)
		ret = print(db, id, argv[first + 1], &c, e);
	if (ret == 0)
		ret = damaged ? cmd_damaged(damaged) : n > 1 ? 0 : cmd_end(db, argv[first + 1], e);
	db_close(db);
	return ret;
}

const struct command command_request = {
	.name = "request",
	.words = "slowest|NUMBER RECORDING... | DATABASE",
	.doc = "follow one request to what it waited for, also on other hosts",
	.opts = opts,
	.run = run,
};
