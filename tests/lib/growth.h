/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work of SQL in loading, analyses and reports, counted in steps of SQLite's virtual machine on
 * recordings of one size and of twice that size; the same of loops over maps of threads, fds and
 * files, counted in entries. Steps that more than double (MOST) are superlinear.
 */
#pragma once

#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/fdmap.h"
#include "analyze/base/idmap.h"
#include "analyze/causes/request/request_hops.h"
#include "analyze/render/render.h"
#include "analyze/replay/load.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"

#include <ctype.h>

#define UNITS	   200
#define STATEMENTS 1000
#define SHAPE	   3000
#define MOST	   2.7	 /* n log n gives 2.3 at this size */
#define FEW	   20000 /* steps that are not judged: constant parts weigh too much */

#define HEAD                                                                                  \
	"@recorder\n0 0 info text=\"targets=all\"\n"                                          \
	"1 0 info text=\"groups=core,syscalls,sched,block,uprobe,net,files,process,"          \
	"pagecache\"\n2 0 site id=1 flags=3 text=\"/bin/x:f\"\n3 0 disk dev=7 name=\"vda\"\n" \
	"4 100 thread pid=100 state=83 comm=\"server\" cgroup=9\n"                            \
	"5 0 cgroup id=9 path=\"/a\"\n10 0 info text=\"snapshot=10\"\n"                       \
	"11 0 info text=\"begin=11\"\n@cpu 0\n"

#define PEERS "family=2 saddr=127.0.0.1 daddr=127.0.0.1"
#define INET  "mode=0140000 socktype=1 " PEERS

struct step_count {
	char sql[SHAPE];
	double steps;
};

struct step_counts {
	struct step_count of[STATEMENTS];
	size_t n, hops; /* hops: of the slowest request */
};

/* The linker gives calls of other files to __wrap_x; __real_x is the function itself. */
static double entries;

void *__real_idmap_each(const struct idmap *m, size_t *at);
void *__wrap_idmap_each(const struct idmap *m, size_t *at);
void *__wrap_idmap_each(const struct idmap *m, size_t *at)
{
	entries++;
	return __real_idmap_each(m, at);
}

void *__real_fdmap_next(const struct fdmap *m, s64 *fd);
void *__wrap_fdmap_next(const struct fdmap *m, s64 *fd);
void *__wrap_fdmap_next(const struct fdmap *m, s64 *fd)
{
	entries++;
	return __real_fdmap_next(m, fd);
}

/* The text of a statement with each number as #: those of one shape count as one. */
static void shape_of(char *out, size_t size, const char *sql)
{
	size_t n = 0;

	while (*sql && n + 2 < size) {
		if (isdigit((unsigned char)*sql)) {
			out[n++] = '#';
			while (isdigit((unsigned char)*sql))
				sql++;
		} else {
			out[n++] = *sql++;
		}
	}
	out[n] = '\0';
}

static int statement_ended(unsigned int what, void *arg, void *statement, void *ns)
{
	struct step_counts *c = arg;
	const char *sql = sqlite3_sql(statement);
	int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
	char shape[SHAPE];
	size_t i;

	(void)what;
	(void)ns;
	shape_of(shape, sizeof(shape), sql ? sql : "");
	for (i = 0; i < c->n && strcmp(c->of[i].sql, shape) != 0; i++)
		;
	if (i == STATEMENTS)
		fail_msg("more than %d statements", STATEMENTS);
	if (i == c->n) {
		c->n++;
		memcpy(c->of[i].sql, shape, sizeof(shape));
		c->of[i].steps = 0;
	}
	c->of[i].steps += (unsigned int)steps;
	return 0;
}

typedef void (*unit_fn)(struct buf *text, int i, long t);

static void line(struct buf *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(struct buf *text, const char *fmt, ...)
{
	struct err e = { 0 };
	char one[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(one, sizeof(one), fmt, ap);
	va_end(ap);
	assert_int_equal(buf_printf(text, &e, "%s\n", one), 0);
}

/* What command request does with one request: hops on the ways of all its questions. */
static int follow_slowest(sqlite3 *db, size_t *hops, struct err *e)
{
	static struct request_tree tree;
	struct request_hops h;
	s64 id = 0;
	int i, ret = request_tree_slowest(&id, db, NULL, e);

	if (ret == 0 && id)
		ret = request_tree_make(&tree, db, id, e);
	for (i = 0; id && i < tree.n && ret == 0; i++)
		if (!tree.v[i].is_request) {
			ret = request_hops_make(&h, db, &tree, &tree.v[i], e);
			*hops += h.n_there + h.n_back;
		}
	return ret;
}

static void count_steps(struct step_counts *c, unit_fn unit, int n)
{
	struct render_options o = { .format = RENDER_TEXT, .name = "x.obs" };
	struct buf text = { 0 }, out = { 0 };
	struct reader *r = NULL;
	struct err e = { 0 };
	const char *path;
	sqlite3 *db = NULL;
	int i, ret;

	assert_int_equal(buf_printf(&text, &e, "%s", HEAD), 0);
	for (i = 0; i < n; i++)
		unit(&text, i, 1000000 + 1000000L * i);
	path = packed(text.data);
	c->n = c->hops = 0;
	ret = reader_open(&r, path, &e);
	unlink(path);
	if (ret == 0)
		ret = db_open(&db, NULL, true, &e);
	if (ret == 0) {
		sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, statement_ended, c);
		ret = load_recording(db, r, NULL, &e);
	}
	if (ret == 0)
		ret = follow_slowest(db, &c->hops, &e);
	if (ret == 0)
		ret = analyses_run(db, NULL, &e);
	if (ret == 0)
		ret = render_report(&out, db, &o, &e);
	o.format = RENDER_JSON;
	if (ret == 0)
		ret = render_report(&out, db, &o, &e);
	if (ret < 0)
		fail_msg("%s", e.text);
	reader_free(r);
	db_close(db);
	buf_free(&text);
	buf_free(&out);
}

static double steps_of(const struct step_counts *c, const char *sql)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (strcmp(c->of[i].sql, sql) == 0)
			return c->of[i].steps;
	return 0;
}

static struct step_counts one, two;

static void grows_linearly(unit_fn unit)
{
	double before, all = 0, loops;
	int bad = 0;
	size_t i;

	entries = 0;
	count_steps(&one, unit, UNITS);
	loops = entries;
	count_steps(&two, unit, 2 * UNITS);
	entries -= loops;
	if (entries > FEW && entries > MOST * loops)
		fail_msg("%.0f entries of maps, %.0f for twice as much", loops, entries);
	for (i = 0; i < two.n; i++) {
		before = steps_of(&one, two.of[i].sql);
		all += two.of[i].steps;
		if (two.of[i].steps < FEW || two.of[i].steps <= MOST * before)
			continue;
		print_error("%.0f steps, %.0f for twice as much: %s\n", before, two.of[i].steps,
			    two.of[i].sql);
		bad++;
	}
	assert_true(all > FEW);
	assert_int_equal(bad, 0);
}
