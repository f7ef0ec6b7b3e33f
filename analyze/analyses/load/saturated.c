// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server is saturated in windows with less than 8 % idle share (idle.h). The rate from which it
 * is so divides windows with least error; its interval is a block bootstrap. The queueing delay is
 * the time from when a request was ready to its receive, per request.
 */
#include "saturated.h"

#include "analyze/base/idmap.h"
#include "analyze/store/columns/columns.h"
#include "idle.h"

#include <stdlib.h>

#define REPS	    1000
#define POINTS	    400 /* windows that are looked at, of more every so many */
#define REQUESTS    10	/* of a window, at least */
#define WINDOWS_MIN 8
#define CELLS_MOST  4000000 /* services by windows */

struct point {
	double rate, idle, queued, requests;
};

struct points {
	struct point *all;
	size_t n;
};

/* Queueing by service and window: few, so a list of the cells and the last one's place do. */
struct queueing {
	struct idmap cells; /* service << 32 | window */
	struct cell {
		s64 service, w, n, queued;
	} * last;
	s64 step;
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct queueing *q = arg;
	s64 w = row->ts / q->step;
	u64 key = (u64)row->service << 32 | (u32)w;

	(void)rowid;
	if (row->lossy)
		return 0;
	if (!q->last || q->last->service != row->service || q->last->w != w)
		q->last = idmap_get(&q->cells, key);
	if (!q->last) {
		q->last = calloc(1, sizeof(*q->last));
		if (!q->last)
			return err_set(e, ERR_FAIL, "out of memory for windows");
		*q->last = (struct cell){ row->service, w, 0, 0 };
		if (idmap_put(&q->cells, key, q->last, CELLS_MOST, e) < 0) {
			free(q->last);
			return ERR_FAIL;
		}
	}
	q->last->n++;
	q->last->queued += row->queued;
	return 0;
}

static int put_cells(struct analysis_ctx *c, const struct queueing *q)
{
	sqlite3_stmt *s;
	struct cell *cell;
	size_t at = 0;
	int ret = db_query(&s, c->db, c->e, "INSERT INTO temp.cell VALUES(?, ?, ?, ?)", "");

	if (ret < 0)
		return ret;
	while (ret == 0 && (cell = idmap_each(&q->cells, &at)))
		ret = db_again(s, c->e, "iiii", cell->service, cell->w, cell->n, cell->queued);
	sqlite3_finalize(s);
	return ret;
}

void saturated_prepare(struct analysis_ctx *c)
{
	struct queueing q = { 0 };

	if (c->err == 0)
		c->err = db_int(c->db, &q.step, c->e,
				"SELECT CAST(value AS INTEGER) FROM recording WHERE key='step_ns'",
				"");
	if (c->err == 0)
		c->err = db_exec(
			c->db, c->e,
			"DROP TABLE IF EXISTS temp.cell; DROP TABLE IF EXISTS temp.queueing;"
			"CREATE TEMP TABLE cell(service INT, w INT, n INT, queued INT)");
	if (c->err == 0 && q.step > 0)
		c->err = rows_each(c->db, TABLE_request,
				   COLUMN_OF(request, ts) | COLUMN_OF(request, queued) |
					   COLUMN_OF(request, service) | COLUMN_OF(request, lossy),
				   add_request, &q, c->e);
	if (c->err == 0)
		c->err = put_cells(c, &q);
	if (c->err == 0)
		c->err = db_exec(
			c->db, c->e,
			"CREATE TEMP TABLE queueing AS SELECT s.server, c.w, sum(c.n) AS n,"
			" sum(c.queued) AS queued FROM cell c JOIN service s ON s.id=c.service"
			" GROUP BY 1, 2");
	idmap_free_all(&q.cells);
}

static int add_window(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct point *all = arg;
	s64 at = sqlite3_column_int64(q, 0);

	(void)e;
	all[at].requests = sqlite3_column_double(q, 1);
	all[at].queued = sqlite3_column_double(q, 2);
	return 0;
}

/* Windows with requests and without loss, at most POINTS of them. */
static void read_points(struct analysis_ctx *c, const struct grid *g, const struct idle *i,
			s64 server, struct points *p)
{
	size_t at, stride = g->n / POINTS + 1;

	p->all = calloc(g->n + 1, sizeof(*p->all));
	if (!p->all)
		c->err = err_set(c->e, ERR_FAIL, "out of memory for windows");
	each_row(c, add_window, p->all,
		 "SELECT w, n, queued FROM temp.queueing WHERE server=?1 AND w >= 0 AND w < ?2",
		 "ii", server, (s64)g->n);
	for (at = 0; c->err == 0 && at < g->n; at += stride) {
		struct point x = p->all[at];

		if (x.requests < REQUESTS || isnan(i->share[at]))
			continue;
		x.rate = x.requests * 1e9 / (double)g->step;
		x.idle = i->share[at];
		p->all[p->n++] = x;
	}
}

/* The rate that divides saturated windows from others; NAN: only one kind, or no better than one.
 */
static double divide(void *arg, const size_t *order, size_t n)
{
	const struct points *p = arg;
	double best = NAN;
	size_t i, k, wrong, least = 0, none = 0;

	for (i = 0; i < n; i++)
		none += p->all[order[i]].idle < SATURATED;
	least = none < n - none ? none : n - none;
	for (k = 0; k < n && least > 0; k++) {
		double rate = p->all[order[k]].rate;

		for (i = 0, wrong = 0; i < n; i++) {
			const struct point *x = &p->all[order[i]];

			wrong += (x->rate >= rate) != (x->idle < SATURATED);
		}
		if (wrong < least / 2 + 1) {
			best = rate;
			least = wrong;
		}
	}
	return best;
}

static double delay(void *arg, const size_t *order, size_t n)
{
	const struct points *p = arg;
	double queued = 0, requests = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		queued += p->all[order[i]].queued;
		requests += p->all[order[i]].requests;
	}
	return requests > 0 ? queued / requests : NAN;
}

/* Queueing delay per request of the windows from `rate` on, or below it. */
static double delay_at(const struct points *p, double rate, bool above)
{
	size_t order[POINTS + 1], i, n = 0;

	for (i = 0; i < p->n && n < POINTS; i++)
		if ((p->all[i].rate >= rate) == above)
			order[n++] = i;
	return delay((void *)p, order, n);
}

static void find_sign(struct analysis_ctx *c, s64 server, const struct points *p,
		      const struct idle *i, const struct boot *from, const struct boot *queued)
{
	bool found = !isnan(from->value) && !isnan(from->low) && from->failed <= 0.2;
	double max = 0, most = 0, low = isnan(i->total.low) ? i->total.value : i->total.low;
	size_t k;

	for (k = 0; k < p->n; k++)
		max = fmax(max, p->all[k].rate);
	for (k = 0; k < p->n; k++)
		most = fmax(most, p->all[k].idle);
	const struct value values[] = {
		VALUE_INTERVAL("rate", found ? from->value : max, found ? from->low : NAN,
			       found ? from->high : NAN, "1/s"),
		VALUE_INTERVAL("idle", i->total.value, i->total.low, i->total.high, "%"),
		VALUE_INTERVAL("queued", found ? delay_at(p, from->value, true) : queued->value,
			       found ? NAN : queued->low, found ? NAN : queued->high, "ns"),
		VALUE_NUMBER("before", found ? delay_at(p, from->value, false) : NAN, "ns"),
		VALUE_NUMBER("min", i->min, "%"),
		VALUE_NUMBER("windows", (double)p->n, ""),
		{ 0 },
	};
	/* no rate divides: all windows are on one side, or they are mixed */
	const struct finding f = { .kind = found	      ? FINDING_saturated_from
					   : most < SATURATED ? FINDING_saturated_always
					   : low >= SATURATED ? FINDING_not_saturated
							      : FINDING_saturated_sometimes,
				   .severity = found || most < SATURATED ? WARNING : NOTE,
				   .about = ABOUT(server, server),
				   .values = values };

	add_finding(c, &f);
}

/* Why there is no sign. */
static void put_few(struct analysis_ctx *c, s64 server, const struct points *p,
		    const struct grid *g)
{
	const struct value values[] = {
		VALUE_NUMBER("windows", (double)p->n, ""),
		VALUE_NUMBER("step", (double)g->step, "ns"),
		VALUE_NUMBER("requests", REQUESTS, ""),
		VALUE_NUMBER("needed", WINDOWS_MIN, ""),
		{ 0 },
	};
	const struct finding f = { .kind = FINDING_saturation_few,
				   .severity = NOTE,
				   .evidence = LIMIT,
				   .about = ABOUT(server, server),
				   .values = values };

	add_finding(c, &f);
}

void saturated_put(struct analysis_ctx *c, s64 server)
{
	struct boot from = { NAN, NAN, NAN, 1 }, queued = from;
	struct points p = { 0 };
	struct idle i = { 0 };
	struct grid g = { 0 };

	if (query_number(c, "SELECT count(*) FROM coverage WHERE grp='sched' AND records > 0",
			 "") == 0 ||
	    c->err < 0)
		return;
	c->err = grid_open(&g, c->db, "syscalls sched", c->e);
	if (c->err == 0)
		c->err = idle_read(c->db, &g, -1, server, &i, c->e);
	if (c->err == 0)
		read_points(c, &g, &i, server, &p);
	if (c->err == 0 && p.n >= WINDOWS_MIN) {
		from = stats_boot(p.n, stats_boot_block(p.n), REPS, divide, &p);
		queued = stats_boot(p.n, stats_boot_block(p.n), REPS, delay, &p);
		const struct number numbers[] = {
			{ "idle share", i.total.value, i.total.low, i.total.high, (double)p.n },
			{ "queueing delay", queued.value, queued.low, queued.high, (double)p.n },
			{ "saturated from", from.value, from.low, from.high, (double)p.n },
		};

		put_all(c, ABOUT(server, server), NULL, numbers,
			sizeof(numbers) / sizeof(numbers[0]));
		find_sign(c, server, &p, &i, &from, &queued);
	} else if (c->err == 0) {
		put_few(c, server, &p, &g);
	}
	free(p.all);
	idle_free(&i);
	grid_free(&g);
}
