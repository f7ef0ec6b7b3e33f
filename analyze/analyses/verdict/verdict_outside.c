// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests outside the pauses that count. */
#include "verdict_pauses.h"
#include "verdict_spent.h"

#include "analyze/store/request_rows.h"

#include <stdlib.h>

#define MOST	     0.5 /* of the added latency */
#define DEARER_LEAST 20	 /* requests on each side, for their mean CPU time */

struct outside {
	s64 (*at)[2]; /* pauses that count, joined, by time */
	int n;
	s64 shortest;
	double least; /* share of a request's latency that is in pauses */
	struct hist latency;
	double others, inside;
};

static int by_start(const void *a, const void *b)
{
	const s64 *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

static int join_pauses(struct outside *o, const struct judged *j, struct err *e)
{
	int i, n = 0;

	o->at = calloc((size_t)j->n_pauses + 1, sizeof(*o->at));
	if (!o->at)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	o->shortest = INT64_MAX;
	for (i = 0; i < j->n_pauses; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (!p->counts)
			continue;
		o->at[n][0] = p->start;
		o->at[n++][1] = p->end;
		o->shortest = p->end - p->start < o->shortest ? p->end - p->start : o->shortest;
	}
	qsort(o->at, (size_t)n, sizeof(*o->at), by_start);
	for (i = 0; i < n; i++) {
		s64 *last = o->n ? o->at[o->n - 1] : NULL;

		if (last && o->at[i][0] <= last[1]) {
			last[1] = o->at[i][1] > last[1] ? o->at[i][1] : last[1];
			continue;
		}
		o->at[o->n][0] = o->at[i][0];
		o->at[o->n++][1] = o->at[i][1];
	}
	return 0;
}

static bool is_in_pause(const struct outside *o, s64 from, s64 to)
{
	int low = 0, high = o->n, mid;
	s64 in = 0;

	while (low < high) {
		mid = (low + high) / 2;
		if (o->at[mid][1] <= from)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < o->n && o->at[low][0] < to; low++)
		in += (o->at[low][1] < to ? o->at[low][1] : to) -
		      (o->at[low][0] > from ? o->at[low][0] : from);
	return in > 0 && (double)in >= o->least * (double)(to - from);
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	s64 from = row->ts - row->queued, to = row->ts + row->dur;
	struct outside *o = arg;

	(void)rowid;
	(void)e;
	if (is_in_pause(o, from, to)) {
		o->inside++;
		return 0;
	}
	hist_add(&o->latency, to > from ? (u64)(to - from) : 0);
	o->others += to - from >= o->shortest;
	return 0;
}

int verdict_outside(struct analysis_ctx *c, struct judged *j, double least, struct err *e)
{
	static const char unanswered[] =
		"SELECT count(*) FROM unanswered WHERE service IN (SELECT id FROM service WHERE server=?1)";
	struct outside o = { .least = least };
	s64 open = 0;
	int ret;

	if (!j->counted) {
		j->p99_outside = j->p99;
		return 0;
	}
	ret = join_pauses(&o, j, e);
	if (ret == 0)
		ret = requests_each(c->db, 0, "SELECT id FROM service WHERE server=?1", j->about.id,
				    add_request, &o, e);
	if (ret >= 0)
		ret = db_int(c->db, &open, e, unanswered, "i", j->about.id);
	j->p99_outside = verdict_quantile(&o.latency, 0.99);
	j->others = o.others;
	j->waited = fmin(j->waited, o.inside + (double)open); /* one may wait in several */
	hist_free(&o.latency);
	free(o.at);
	return ret;
}

struct dearer {
	struct outside of;
	const struct judged *j;
	struct spent side[2]; /* out of the slow time ranges, in them */
};

static int add_side(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct dearer *d = arg;
	s64 end = row->ts + row->dur;
	bool in = verdict_in_ranges(JUDGED_RANGES(d->j), d->j->ranges, (double)end);

	(void)e;
	if (is_in_pause(&d->of, row->ts - row->queued, end))
		return 0;
	spent_take(&d->side[in], rowid, row);
	return 0;
}

/*
 * Time on a CPU, and waits for one, which grow with it: are they most of what was added? On an
 * event loop the time on a CPU of a request includes that of others while it waits for an answer:
 * then the wait is most.
 */
static bool is_most_added(const struct spent *usual, const struct spent *now)
{
	static const int of_cpu[] = { IN_cpu, IN_runq, IN_queue };
	double added = now->total / now->n - usual->total / usual->n, cpu = 0;
	size_t i;

	for (i = 0; i < sizeof(of_cpu) / sizeof(of_cpu[0]); i++)
		cpu += now->in[of_cpu[i]] / now->n - usual->in[of_cpu[i]] / usual->n;
	return cpu > MOST * added;
}

int verdict_dearer_outside(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
			   bool *ret_dearer, struct err *e)
{
	struct dearer d = { .j = j };
	int i, ret = join_pauses(&d.of, j, e);

	for (i = 0; i < 2 && ret == 0; i++)
		ret = spent_begin(&d.side[i], c->db, e);
	if (ret == 0)
		ret = requests_each(c->db, COLUMN_OF(request, split) | COLUMN_OF(request, recvs),
				    "SELECT id FROM service WHERE server=?1", j->about.id, add_side,
				    &d, e);
	for (i = 0; i < 2 && ret == 0; i++)
		ret = spent_read(&d.side[i], c->db, j->about.id, 0, (double)c->duration, e);
	*ret_dearer = ret == 0 && d.side[0].n >= DEARER_LEAST && d.side[1].n >= DEARER_LEAST &&
		      spent_is_dearer(&d.side[0], &d.side[1], l) &&
		      is_most_added(&d.side[0], &d.side[1]);
	spent_free(&d.side[0]);
	spent_free(&d.side[1]);
	free(d.of.at);
	return ret;
}
