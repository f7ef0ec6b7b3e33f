// SPDX-License-Identifier: GPL-2.0-or-later
/* Which series stands for the quality of service. */
#include "correlate.h"

#include "analysis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RATE	       "request_window", "sum(turns) * 10.0", true
#define QUANTILE(name) "turn_window", "sum(" name " * n) * 1.0 / sum(n)", false

static const struct choice {
	const char *name, *kind, *says, *table, *value;
	bool rate;
} choices[] = {
	{ "rps", "<>'function'", "turns a second", RATE },
	{ "p50", "<>'function'", "median turn latency", QUANTILE("p50") },
	{ "p90", "<>'function'", "p90 of turn latency", QUANTILE("p90") },
	{ "p95", "<>'function'", "p95 of turn latency", QUANTILE("p95") },
	{ "p99", "<>'function'", "p99 of turn latency", QUANTILE("p99") },
	{ "calls", "='function'", "calls a second", RATE },
	{ "call-p95", "='function'", "p95 of call latency", QUANTILE("p95") },
};

#define N_CHOICES (sizeof(choices) / sizeof(choices[0]))

/* Fills q->value from rows (time, value); windows without a row are not known, or 0 for a rate. */
static int read_rows(sqlite3_stmt *s, const struct grid *grid, struct quality *q, struct err *e)
{
	size_t i, at;
	int ret;

	for (i = 0; i < grid->n; i++)
		q->value[i] = q->rate ? 0 : NAN;
	while ((ret = db_step(s, e)) > 0) {
		at = (size_t)(sqlite3_column_int64(s, 0) / grid->step);
		if (at < grid->n)
			q->value[at] = (isnan(q->value[at]) ? 0 : q->value[at]) +
				       sqlite3_column_double(s, 1);
	}
	sqlite3_finalize(s);
	return ret;
}

/* The server with most turns, or the function with most calls; no q->common: there is none. */
static int busiest(sqlite3 *db, const struct choice *choice, struct quality *q, struct err *e)
{
	char sql[400];
	sqlite3_stmt *s;
	int ret;

	snprintf(sql, sizeof(sql),
		 "SELECT " SERVICE_COMMON " AS common, " SERVICE_TITLE " FROM service WHERE kind%s"
		 " AND turns > 0 GROUP BY common ORDER BY sum(turns) DESC, min(id) LIMIT 1",
		 choice->kind);
	q->common[0] = '\0';
	ret = db_query(&s, db, e, sql, "");
	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0) {
		snprintf(q->common, sizeof(q->common), "%s", db_text(s, 0));
		snprintf(q->what, sizeof(q->what), "%s of %.120s", choice->says, db_text(s, 1));
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : 0;
}

static int take(sqlite3 *db, const struct grid *grid, const struct choice *choice,
		struct quality *q, bool *found, struct err *e)
{
	char sql[400];
	sqlite3_stmt *s;
	int ret;

	q->rate = choice->rate;
	ret = busiest(db, choice, q, e);
	*found = q->common[0];
	if (ret < 0 || !*found)
		return ret;
	snprintf(sql, sizeof(sql),
		 "SELECT ts, %s FROM %s WHERE service IN (SELECT id FROM service WHERE turns > 0"
		 " AND " SERVICE_COMMON "=?) GROUP BY ts",
		 choice->value, choice->table);
	ret = db_query(&s, db, e, sql, "s", q->common);
	return ret < 0 ? ret : read_rows(s, grid, q, e);
}

int quality_read(sqlite3 *db, const struct grid *grid, struct quality *q, bool *ret_found,
		 struct err *e)
{
	static const char *const defaults[] = { "p95", "call-p95" };
	char asked[160] = "";
	bool built_in = false;
	sqlite3_stmt *s;
	size_t i, k;
	int ret = db_query(&s, db, e, "SELECT value FROM recording WHERE key='qos'", "");

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0)
		snprintf(asked, sizeof(asked), "%s", db_text(s, 0));
	sqlite3_finalize(s);
	*ret_found = false;
	for (k = 0; k < 2 && ret >= 0 && !*ret_found; k++)
		for (i = 0; i < N_CHOICES && ret >= 0; i++)
			if (strcmp(choices[i].name, asked[0] ? asked : defaults[k]) == 0) {
				built_in = true;
				ret = take(db, grid, &choices[i], q, ret_found, e);
			}
	if (ret < 0 || built_in) /* what was asked for may have nobody who did it */
		return ret < 0 ? ret : 0;
	*ret_found = true;
	q->rate = false;
	snprintf(q->what, sizeof(q->what), "%s", asked);
	ret = db_query(&s, db, e, "SELECT ts, value FROM qos", "");
	return ret < 0 ? ret : read_rows(s, grid, q, e);
}
