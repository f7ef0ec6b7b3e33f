// SPDX-License-Identifier: GPL-2.0-or-later
/* The windows of a recording. */
#include "grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS_MAX 1000000

/* "unlocated" says neither when nor where: the verdict has it, no window does. */
static int mark(struct grid *g, sqlite3 *db, const char *group, struct err *e)
{
	sqlite3_stmt *s;
	s64 i, from, to;
	int ret = db_query(&s, db, e,
			   "SELECT ts, ts + dur FROM loss WHERE grp=? AND reason<>'unlocated'", "s",
			   group);

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0) {
		from = sqlite3_column_int64(s, 0) / g->step;
		to = sqlite3_column_int64(s, 1) / g->step;
		for (i = from < 0 ? 0 : from; i <= to && i < (s64)g->n; i++) {
			g->n_lossy += !g->lossy[i];
			g->lossy[i] = true;
		}
	}
	return db_end(s, ret);
}

int grid_open(struct grid *g, sqlite3 *db, const char *groups, struct err *e)
{
	s64 duration = 0;
	char name[32];
	size_t n;
	int ret;

	*g = (struct grid){ 0 };
	ret = db_int(db, &duration, e, "SELECT value FROM recording WHERE key='duration_ns'", "");
	if (ret == 0)
		ret = db_int(db, &g->step, e, "SELECT value FROM recording WHERE key='step_ns'",
			     "");
	if (ret < 0)
		return ret;
	if (g->step <= 0 || duration < 0 || duration / g->step > WINDOWS_MAX)
		return err_set(e, ERR_FAIL, "the database has no sensible step");
	g->n = (size_t)(duration / g->step);
	g->lossy = calloc(g->n + 1, sizeof(*g->lossy));
	if (!g->lossy)
		return err_set(e, ERR_FAIL, "out of memory for windows");
	for (; *groups && ret == 0; groups += n + (groups[n] == ' ')) {
		n = strcspn(groups, " ");
		snprintf(name, sizeof(name), "%.*s", (int)n, groups);
		ret = mark(g, db, name, e);
	}
	return ret;
}

void grid_free(struct grid *g)
{
	free(g->lossy);
	*g = (struct grid){ 0 };
}
