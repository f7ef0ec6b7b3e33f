// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue inside of a server that grows until the recording ends: requests of a name are read at
 * once, and wait there for each other, as for a semaphore. From some instant on one or more of them
 * are late at all instants, next to those that are usual for the name, until the recording ends.
 */
#include "verdict_levels.h"
#include "verdict_names.h"

#include "analyze/store/db.h"
#include "analyze/store/request_rows.h"

#include <stdlib.h>

#define INSTANTS (1 << 16) /* that the recording is divided into */
#define USUAL	 4	   /* of so many windows, the mean of one is longer than the quickest */

struct growing {
	const struct judged *j;
	double bound, instant;
	int *change; /* of the number of late requests that are open, by instant */
	double last_wait;
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* What is usual, by the quickest quarter of the windows; false: the last ones are not late. */
static bool find_bound(struct growing *g, const struct limits *l)
{
	double means[WINDOWS], last = 0;
	int i, n = 0;

	for (i = 0; i < g->j->n_windows; i++)
		if (g->j->windows[i].n > 0)
			means[n++] = last = g->j->windows[i].sum / g->j->windows[i].n;
	if (!n)
		return false;
	qsort(means, (size_t)n, sizeof(*means), by_value);
	g->bound = verdict_late_bound(means[n / USUAL], l);
	return last > g->bound;
}

static void take(struct growing *g, double arrival, double end)
{
	double from = (arrival + g->bound) / g->instant, to = end / g->instant;

	if (from < 0 || from >= to || to > INSTANTS)
		return;
	g->change[(int)from]++;
	g->change[(int)ceil(to)]--;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct growing *g = arg;

	(void)rowid;
	(void)e;
	if (row->name == g->j->only)
		take(g, (double)row->ts - (double)row->queued, (double)(row->ts + row->dur));
	return 0;
}

static int on_unanswered(void *arg, sqlite3_stmt *q, struct err *e)
{
	double arrival = sqlite3_column_double(q, 0), end = sqlite3_column_double(q, 1);
	struct growing *g = arg;

	(void)e;
	take(g, arrival, end);
	g->last_wait = fmax(g->last_wait, end - arrival);
	return 0;
}

/* Since when one or more are late until the recording ends; its end: none is. */
static double late_since(const struct growing *g)
{
	int i, open = 0, since = 0;

	for (i = 0; i < INSTANTS; i++) {
		open += g->change[i];
		since = open > 0 ? since : i + 1;
	}
	return since * g->instant;
}

int verdict_name_grows(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	static const char unanswered[] =
		"SELECT ts, ?3 FROM unanswered u WHERE " ANSWER_DUE " AND name=?2 AND service IN"
		" (SELECT id FROM service WHERE server=?1)";
	double duration = (double)(c->duration > 0 ? c->duration : 1);
	struct growing g = { .j = j, .instant = duration / INSTANTS };
	int ret;

	if (j->given || !find_bound(&g, l))
		return 0;
	g.change = calloc(INSTANTS + 1, sizeof(*g.change));
	ret = g.change ? 0 : err_set(e, ERR_FAIL, "out of memory for requests that wait");
	if (ret == 0)
		ret = db_each(c->db, e, on_unanswered, &g, unanswered, "iid", j->about.id, j->only,
			      duration);
	if (ret == 0 && g.last_wait > g.bound)
		ret = requests_each(c->db, 0, "SELECT id FROM service WHERE server=?1", j->about.id,
				    on_request, &g, e);
	if (ret == 0 && g.last_wait > g.bound) {
		j->chance.full = late_since(&g);
		j->chance.last_wait = g.last_wait;
		ret = verdict_change(c, j, l, e);
	}
	free(g.change);
	return ret;
}

int verdict_name_grows_say(struct analysis_ctx *c, const struct judged *j, s64 name, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id FROM service WHERE server=?1), u AS MATERIALIZED (SELECT count(*)"
		" AS n, max(?4 - ts) AS age, total(ts >= ?3) AS came FROM unanswered u WHERE " ANSWER_DUE
		" AND name=?2 AND service IN s) SELECT total(ts - queued >= ?3) + (SELECT came FROM u), total(ts +"
		" dur >= ?3), (SELECT n FROM u), (SELECT age FROM u) FROM request WHERE name=?2 AND service IN s";
	double duration = (double)c->duration, seconds = (duration - j->start) / 1e9;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iidd", j->about.id, name, j->start, duration);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		const struct value values[] = {
			VALUE_SUBJECT("name", request_name, name),
			VALUE_NUMBER("asked", sqlite3_column_double(q, 0) / seconds, "1/s"),
			VALUE_NUMBER("answered", sqlite3_column_double(q, 1) / seconds, "1/s"),
			VALUE_NUMBER("n", sqlite3_column_double(q, 2), ""),
			VALUE_NUMBER("age", sqlite3_column_double(q, 3), "ns"),
			{ 0 },
		};
		const struct finding f = { FINDING_verdict_name_grows, PROBLEM, OBSERVED,  j->about,
					   "SELECT * FROM unanswered", values,	j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	return db_end(q, ret);
}
