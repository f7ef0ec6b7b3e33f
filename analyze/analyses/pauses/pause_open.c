// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which request was open in the pauses? Where tasks of a runtime are no threads, or no thread that
 * is recorded explains them, it shows what the others may wait for: in each pause, of the requests
 * that arrived as it began and waited, the first, if its answer ended it. That most have one name
 * is no chance if fewer of all requests have it, and if one is open for less of the time outside
 * the pauses: of these two shares the larger one is how often one is the first by chance. Any name
 * could be the one that is found, so there are as many chances as names.
 */
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "pause_root.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#define EDGE 0.1 /* of a pause: how far from its ends the request's may be */

/* A pause, and the first of its requests; or time in one of them or several. */
struct held {
	s64 start, end;
	s64 arrived, name; /* name 0: none, or its answer did not end the pause */
	s64 paused;	   /* time in pauses up to its end */
};

struct open_in {
	struct held *v, *merged;
	int n, n_merged;
	s64 longest;
	struct idmap names;
	double requests;
	s64 name; /* found; then how many have it, and how long one was open outside */
	double of_name, open;
};

static int by_start(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int take_pauses(struct open_in *o, const struct judged *j, struct err *e)
{
	struct held *last = NULL;
	int i;

	o->v = calloc((size_t)j->n_pauses, sizeof(*o->v));
	o->merged = calloc((size_t)j->n_pauses, sizeof(*o->merged));
	if (!o->v || !o->merged)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts)
			o->v[o->n++] = (struct held){ .start = j->pauses[i].start,
						      .end = j->pauses[i].end };
	qsort(o->v, (size_t)o->n, sizeof(*o->v), by_start);
	for (i = 0; i < o->n; i++) {
		const struct held *p = &o->v[i];
		s64 before = last ? last->paused : 0;

		if (p->end - p->start > o->longest)
			o->longest = p->end - p->start;
		if (!last || p->start > last->end) {
			last = &o->merged[o->n_merged++];
			*last = (struct held){ .start = p->start,
					       .end = p->start,
					       .paused = before };
		}
		if (p->end > last->end) {
			last->paused += p->end - last->end;
			last->end = p->end;
		}
	}
	return 0;
}

/* How many start before ts. */
static int starts_before(const struct held *v, int n, s64 ts)
{
	int low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (v[mid].start < ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ns in pauses up to ts */
static s64 paused_until(const struct open_in *o, s64 ts)
{
	int n = starts_before(o->merged, o->n_merged, ts);
	const struct held *last = n ? &o->merged[n - 1] : NULL;

	return last ? last->paused - (last->end > ts ? last->end - ts : 0) : 0;
}

static int take_first(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct open_in *o = arg;
	s64 arrived = row->ts - (s64)row->queued, end = row->ts + row->dur;
	s64 widest = (s64)(EDGE * (double)o->longest), edge;
	int i = starts_before(o->v, o->n, arrived - widest);

	(void)rowid;
	o->requests++;
	for (; i < o->n && o->v[i].start <= arrived + widest; i++) {
		struct held *p = &o->v[i];

		edge = (s64)(EDGE * (double)(p->end - p->start));
		if (arrived < p->start - edge || arrived > p->start + edge || end < p->end - edge ||
		    (p->arrived && p->arrived <= arrived))
			continue;
		p->arrived = arrived;
		p->name = row->name == BULK_NULL || end > p->end + edge ? 0 : row->name;
	}
	return row->name == BULK_NULL ? 0 : idmap_put(&o->names, (u64)row->name, o, TASK_LIMIT, e);
}

static int take_open(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct open_in *o = arg;
	s64 arrived = row->ts - (s64)row->queued, end = row->ts + row->dur;

	(void)rowid;
	(void)e;
	if (row->name != o->name)
		return 0;
	o->of_name++;
	o->open += (double)(end - arrived - (paused_until(o, end) - paused_until(o, arrived)));
	return 0;
}

/* The name that most pauses have; how many. */
static int most_common(struct open_in *o)
{
	int i, k, n, most = 0;

	for (i = 0; i < o->n; i++) {
		for (k = n = 0; k < o->n; k++)
			n += o->v[k].name == o->v[i].name;
		if (o->v[i].name && n > most) {
			most = n;
			o->name = o->v[i].name;
		}
	}
	return most;
}

static bool is_chance(const struct open_in *o, int same, s64 duration)
{
	s64 outside = duration - paused_until(o, duration);
	double share = o->requests > 0 ? o->of_name / o->requests : 1;
	double open = outside > 0 ? o->open / (double)outside : 1;
	double p = fmin(fmax(share, open), 1);

	return (double)o->names.n *
		       gsl_cdf_binomial_Q((unsigned int)same - 1, p, (unsigned int)o->n) >
	       CHANCE_MOST;
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct open_in *o, int same,
	       struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("same", o->n > 1 ? same : NAN, ""),
		VALUE_NUMBER("count", o->n > 1 ? o->n : NAN, ""),
		VALUE_TEXT("which", o->n > 1 ? NULL : "The pause"),
		VALUE_SUBJECT("name", request_name, o->name),
		VALUE_NUMBER("n", o->of_name, ""),
		VALUE_NUMBER("of", o->requests, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_pause_open, PROBLEM, CORRELATED, j->about, NULL, values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int pause_open_put(struct analysis_ctx *c, const struct judged *j, const char *named, struct err *e)
{
	static const char services[] = "SELECT id, 1 FROM service WHERE server=?";
	struct open_in o = { 0 };
	s64 known = 0;
	int same = 0, ret;

	if (j->about.kind != SUBJECT_server || !j->n_pauses)
		return 0;
	ret = take_pauses(&o, j, e);
	if (ret == 0 && o.n)
		ret = requests_each(c->db, 0, services, j->about.id, take_first, &o, e);
	if (ret == 0)
		same = most_common(&o);
	if (ret == 0 && same && named)
		ret = db_int(c->db, &known, e,
			     "SELECT count(*) FROM request_name WHERE id=?1 AND name=?2", "is",
			     o.name, named);
	if (ret == 0 && same && !known)
		ret = requests_each(c->db, 0, services, j->about.id, take_open, &o, e);
	if (ret == 0 && same && !known && !is_chance(&o, same, c->duration))
		ret = put(c, j, &o, same, e);
	idmap_free(&o.names);
	free(o.v);
	free(o.merged);
	return ret < 0 ? ret : 0;
}
