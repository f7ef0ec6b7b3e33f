// SPDX-License-Identifier: GPL-2.0-or-later
/* Which series stands for the quality of service. */
#include "correlate.h"

#include "analyze/stats/hist.h"
#include "analyze/stats/stats.h"
#include "analyze/store/request_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct choice {
	const char *name, *says;
	bool function;
	double at; /* a quantile; 0: the rate */
} choices[] = {
	{ "rps", "requests per second", false, 0 },
	{ "p50", "median request latency", false, 0.5 },
	{ "p90", "p90 of request latency", false, 0.9 },
	{ "p95", "p95 of request latency", false, 0.95 },
	{ "p99", "p99 of request latency", false, 0.99 },
	{ "calls", "calls per second", true, 0 },
	{ "call-p95", "p95 of call latency", true, 0.95 },
};

#define N_CHOICES (sizeof(choices) / sizeof(choices[0]))
#define OF_GROUP  "(SELECT id FROM service WHERE requests > 0 AND " SERVICE_GROUP "=?1)"

static const char rate_sql[] =
	"SELECT ts, sum(requests) * 10.0 FROM request_window WHERE service IN " OF_GROUP
	" GROUP BY ts";
static const char calls_sql[] =
	"SELECT c.ts + c.dur, c.dur FROM call c WHERE c.lossy=0 AND c.dur >= 0 AND c.site=-1 - ?1";
static const char services_sql[] =
	"SELECT id FROM service WHERE requests > 0 AND " SERVICE_GROUP "=?1";

struct series {
	const struct grid *grid;
	double *value;	   /* by window */
	struct hist *hist; /* by window; NULL: values add up */
};

static int add_row(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct series *x = arg;
	s64 ts = sqlite3_column_int64(s, 0);
	size_t at = (size_t)(ts / x->grid->step);

	(void)e;
	if (ts < 0 || at >= x->grid->n)
		return 0;
	if (x->hist)
		hist_add(&x->hist[at], (u64)sqlite3_column_int64(s, 1));
	else
		x->value[at] =
			(isnan(x->value[at]) ? 0 : x->value[at]) + sqlite3_column_double(s, 1);
	return 0;
}

static int add_latency(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct series *x = arg;
	s64 ts = row->ts + row->dur;

	(void)rowid;
	(void)e;
	if (ts >= 0 && (size_t)(ts / x->grid->step) < x->grid->n)
		hist_add(&x->hist[ts / x->grid->step], (u64)(row->dur + row->queued));
	return 0;
}

struct buckets {
	struct bucket all[HIST_OCTAVES * HIST_SUB];
	size_t n;
};

static void add_bucket(void *arg, u64 low, u64 high, u64 n)
{
	struct buckets *b = arg;

	if (b->n < HIST_OCTAVES * HIST_SUB)
		b->all[b->n++] = (struct bucket){ (double)low, (double)high, n };
}

/* A quantile of each window. */
static void read_quantiles(struct analysis_ctx *c, struct series *x, const struct choice *choice,
			   s64 group)
{
	struct buckets *b = malloc(sizeof(*b));
	size_t i;

	x->hist = calloc(x->grid->n + 1, sizeof(*x->hist));
	if (!b || !x->hist)
		c->err = err_set(c->e, ERR_FAIL, "out of memory for latencies");
	if (choice->function)
		each_row(c, add_row, x, calls_sql, "i", group);
	else if (c->err == 0)
		c->err = requests_each(c->db, 0, services_sql, group, add_latency, x, c->e);
	for (i = 0; x->hist && i < x->grid->n; i++) {
		if (b) {
			b->n = 0;
			hist_each(&x->hist[i], add_bucket, b);
			x->value[i] = stats_quantile(b->all, b->n, choice->at);
		}
		hist_free(&x->hist[i]);
	}
	free(x->hist);
	free(b);
}

static void clear(const struct grid *grid, double *value, double to)
{
	size_t i;

	for (i = 0; i < grid->n; i++)
		value[i] = to;
}

/* The server that the verdict is about, else that with most requests; or the function with most
 * calls; q->group 0: there is none. */
static int busiest(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct quality *q = arg;

	(void)e;
	q->group = sqlite3_column_int64(s, 0);
	q->about = q->group < 0 ? ABOUT(function, -1 - q->group) : ABOUT(server, q->group);
	return 1;
}

static void take(struct analysis_ctx *c, const struct grid *grid, const struct choice *choice,
		 struct quality *q)
{
	struct series x = { grid, q->value, NULL };
	struct buf name = { 0 };

	q->rate = choice->at == 0;
	q->group = 0;
	each_row(c, busiest, q,
		 "SELECT " SERVICE_GROUP
		 " AS g FROM service WHERE (kind='function')=?1 AND requests > 0"
		 " AND g<>0 GROUP BY g ORDER BY g=(SELECT subject FROM verdict WHERE rank=1 AND"
		 " subject_kind='server' AND status IN ('problem', 'unchanged')) DESC,"
		 " sum(requests) DESC, min(id) LIMIT 1",
		 "i", (s64)choice->function);
	if (c->err < 0 || !q->group)
		return;
	c->err = subject_text(&name, c->db, q->about, c->e);
	snprintf(q->what, sizeof(q->what), "%s of %.120s", choice->says,
		 name.data ? name.data : "");
	buf_free(&name);
	clear(grid, q->value, q->rate ? 0 : NAN);
	if (q->rate)
		each_row(c, add_row, &x, rate_sql, "i", q->group);
	else
		read_quantiles(c, &x, choice, q->group);
}

static int copy(void *arg, sqlite3_stmt *s, struct err *e)
{
	(void)e;
	snprintf(arg, 160, "%s", db_text(s, 0));
	return 1;
}

int quality_read(struct analysis_ctx *c, const struct grid *grid, struct quality *q,
		 bool *ret_found)
{
	static const char *const defaults[] = { "p95", "call-p95" };
	struct series x = { grid, q->value, NULL };
	char asked[160] = "";
	bool built_in = false;
	size_t i, k;

	each_row(c, copy, asked, "SELECT value FROM recording WHERE key='qos'", "");
	*ret_found = false;
	for (k = 0; k < 2 && !*ret_found; k++)
		for (i = 0; i < N_CHOICES; i++)
			if (strcmp(choices[i].name, asked[0] ? asked : defaults[k]) == 0) {
				built_in = true;
				take(c, grid, &choices[i], q);
				*ret_found = q->group != 0;
			}
	if (c->err < 0 || built_in) /* what was asked for may not exist */
		return c->err;
	*ret_found = true;
	q->rate = false;
	snprintf(q->what, sizeof(q->what), "%s", asked);
	clear(grid, q->value, NAN);
	each_row(c, add_row, &x, "SELECT ts, value FROM qos", "");
	return c->err;
}
