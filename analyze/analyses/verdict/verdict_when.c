// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/analyses/queues/verdict_queues.h"

#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

static void add(struct verdict_when *w, double from, double to)
{
	w->v[w->n][0] = from;
	w->v[w->n++][1] = to;
}

static void add_pauses(struct verdict_when *w, const struct judged *j)
{
	int i;

	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts)
			add(w, (double)j->pauses[i].start, (double)j->pauses[i].end);
}

/* In order, without overlap. */
static void join(struct verdict_when *w)
{
	int i, n = 0;

	qsort(w->v, (size_t)w->n, sizeof(*w->v), by_start);
	for (i = 0; i < w->n; i++) {
		if (n && w->v[i][0] <= w->v[n - 1][1])
			w->v[n - 1][1] = fmax(w->v[n - 1][1], w->v[i][1]);
		else
			memmove(w->v[n++], w->v[i], sizeof(*w->v));
	}
	w->n = n;
}

int verdict_when(const struct analysis_ctx *c, const struct judged *j, struct verdict_when *ret,
		 struct err *e)
{
	int i;

	*ret = (struct verdict_when){ .all = isnan(j->start) };
	ret->v = calloc((size_t)(j->n_pauses > WINDOWS ? j->n_pauses : WINDOWS) + 1,
			sizeof(*ret->v));
	if (!ret->v)
		return err_set(e, ERR_FAIL, "out of memory for time ranges");
	if (ret->all)
		add(ret, 0, (double)c->duration);
	else if (j->kind == VERDICT_pauses)
		add_pauses(ret, j);
	else if (j->kind == VERDICT_slower)
		for (i = 0; i < j->ranges && i < WINDOWS; i++)
			add(ret, j->range[i][0], j->range[i][1]);
	if (!ret->n)
		add(ret, j->start, j->end);
	join(ret);
	return 0;
}

void verdict_when_free(struct verdict_when *w)
{
	free(w->v);
	w->v = NULL;
}

int verdict_when_first(const struct verdict_when *w, double from)
{
	int low = 0, high = w->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (w->v[mid][1] <= from)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool verdict_when_has(const struct verdict_when *w, double from, double to)
{
	int i = verdict_when_first(w, from);

	return i < w->n && w->v[i][0] < to;
}

double verdict_when_length(const struct verdict_when *w)
{
	double sum = 0;
	int i;

	for (i = 0; i < w->n; i++)
		sum += w->v[i][1] - w->v[i][0];
	return sum;
}

double verdict_when_within(const struct verdict_when *w, double from, double to)
{
	double sum = 0;
	int i;

	for (i = verdict_when_first(w, from); i < w->n && w->v[i][0] < to; i++)
		sum += fmin(w->v[i][1], to) - fmax(w->v[i][0], from);
	return sum;
}

bool side_is_most(const struct verdict_side side[2], double limit)
{
	const struct verdict_side *out = &side[0], *in = &side[1];
	double mean = in->n > 0 ? in->latency / in->n : 0, part = in->n > 0 ? in->part / in->n : 0;

	if (out->n > 0) {
		mean -= out->latency / out->n;
		part -= out->part / out->n;
	}
	return part >= limit && part >= SIDE_MOST * mean;
}

int verdict_queues_put(struct analysis_ctx *c, const struct judged *j, enum finding_kind kind,
		       enum evidence evidence, const char *sql, const struct value *values,
		       struct err *e)
{
	const struct finding f = { kind,      j->status == STATUS_UNCHANGED ? WARNING : PROBLEM,
				   evidence,  j->about,
				   sql,	      values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}
