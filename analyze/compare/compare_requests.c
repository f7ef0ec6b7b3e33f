// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is rare among requests: the longest, slow episodes, pauses. Each is an independent event: of
 * requests that overlap in time and are all slow, one event made them so. Events are counted, not
 * the requests that waited.
 */
#include "compare.h"

#include "analyze/base/idmap.h"
#include "analyze/stats/sorted.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/request_rows.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>

#define SERVICES_MOST 64
#define REQUESTS_MOST 8000000 /* of a service; with more, nothing rare is counted */
#define LEAST	      30      /* requests */
#define QUARTERS      4

struct service {
	s64 id;
	struct compared_subject subject;
	struct service *first; /* of the same subject: it has the requests of all */
	/* from the arrival of a request to the last send of its answer; equal: only that counts */
	s64 *arrival, *end;
	size_t n;
};

struct services {
	struct service of[SERVICES_MOST];
	size_t n;
	size_t last;	       /* of the row before */
	struct idmap awaiting; /* names */
};

/* Events in windows of time: what comes in clumps is fewer independent events. */
struct counting {
	s64 duration;
	double n, at[COMPARE_WINDOWS];
};

static void count(struct counting *c, s64 ts)
{
	s64 w = ts * COMPARE_WINDOWS / c->duration;

	c->at[w < 0 ? 0 : w >= COMPARE_WINDOWS ? COMPARE_WINDOWS - 1 : w]++;
	c->n++;
}

/* Variance over mean of the counts in k groups of windows: 1 of a Poisson process. */
static double dispersion(const struct counting *c, int k)
{
	double squares = 0, mean = c->n / k, sum;
	int g, w, per = COMPARE_WINDOWS / k;

	for (g = 0; g < k; g++) {
		for (sum = 0, w = g * per; w < (g + 1) * per; w++)
			sum += c->at[w];
		squares += (sum - mean) * (sum - mean);
	}
	return mean > 0 ? squares / (k - 1) / mean : 1;
}

static struct events events_of(const struct counting *c)
{
	struct events e = { c->n, 1 };

	if (c->n > 1)
		e.dispersion =
			fmax(1, fmax(dispersion(c, COMPARE_WINDOWS), dispersion(c, QUARTERS)));
	return e;
}

/* In order of arrival: ranges of time in which at least one request takes `bound` or longer. */
static struct events episodes(const struct service *s, double bound, s64 duration)
{
	struct counting c = { .duration = duration };
	s64 until = INT64_MIN;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->end[i] - s->arrival[i] < bound)
			continue;
		if (s->arrival[i] > until)
			count(&c, s->arrival[i]);
		until = s->end[i] > until ? s->end[i] : until;
	}
	return events_of(&c);
}

/*
 * In order of ends: from an answer, or the first arrival after it, to the next answer, if that
 * is at least as long as the bound. first: of each place, the least arrival from there on.
 */
static struct events pauses(const struct service *s, s64 *first, s64 duration, double *ret_total)
{
	struct counting c = { .duration = duration };
	s64 from;
	size_t i;

	for (i = s->n; i-- > 0;)
		first[i] =
			i + 1 < s->n && first[i + 1] < s->arrival[i] ? first[i + 1] : s->arrival[i];
	for (*ret_total = 0, i = 0; i < s->n; i++) {
		from = i && s->end[i - 1] > first[i] ? s->end[i - 1] : first[i];
		if (s->end[i] - from < COMPARE_PAUSE)
			continue;
		count(&c, from);
		*ret_total += s->end[i] - from;
	}
	return events_of(&c);
}

static struct sample *put_value(struct measured *m, const struct service *s,
				enum compare_metric metric, double value, double n, struct err *e)
{
	struct sample *x = compare_add(m, &s->subject, metric, e);

	if (!x)
		return NULL;
	x->value = value;
	x->n = n;
	x->exposure = m->duration / 1e9;
	return x;
}

static int put_pauses(struct measured *m, const struct service *s, struct events e_of, double total,
		      struct err *e)
{
	struct sample *x = put_value(m, s, COMPARE_pauses, e_of.n, e_of.n, e);

	if (!x)
		return ERR_FAIL;
	x->events = e_of;
	return put_value(m, s, COMPARE_pause_time, total, e_of.n, e) ? 0 : ERR_FAIL;
}

static int put_rare(struct measured *m, struct service *s, struct err *e)
{
	s64 *first = malloc((s->n + 1) * sizeof(*first));
	struct events silent = { 0 };
	double longest = 0, total = 0;
	struct sample *slow;
	bool sorted;
	size_t i;

	sorted = first && sort_keys(s->end, s->arrival, s->n);
	if (sorted)
		silent = pauses(s, first, m->duration, &total);
	free(first);
	if (!sorted || !sort_keys(s->arrival, s->end, s->n))
		return err_set(e, ERR_FAIL, "out of memory for requests");
	for (i = 0; i < s->n; i++)
		longest = fmax(longest, s->end[i] - s->arrival[i]);
	if (!put_value(m, s, COMPARE_request_max, longest, s->n, e) ||
	    put_pauses(m, s, silent, total, e) < 0)
		return ERR_FAIL;
	slow = put_value(m, s, COMPARE_slow_episodes, 0, 0, e);
	if (!slow)
		return ERR_FAIL;
	slow->exposure = s->n;
	for (i = 0; i < SLOW_BOUNDS; i++)
		slow->slow[i] = episodes(s, compare_slow_bounds[i], m->duration);
	return 0;
}

static int read_services(struct services *r, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT s.id, 0, (SELECT comm FROM process p WHERE p.pid=s.pid ORDER BY start DESC"
		" LIMIT 1), s.kind, nullif(s.port, 0), NULL FROM service s WHERE s.kind<>'function'"
		" AND s.requests>=? ORDER BY s.requests DESC, s.id LIMIT ?";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", (s64)LEAST, (s64)SERVICES_MOST);

	while ((ret = db_step(q, e)) > 0 && r->n < SERVICES_MOST) {
		struct service *s = &r->of[r->n++];

		s->id = sqlite3_column_int64(q, 0);
		compare_subject_row(&s->subject, q, 1);
		for (s->first = r->of; !compare_same(&s->first->subject, &s->subject); s->first++)
			;
	}
	return db_end(q, ret);
}

static int append(struct service *s, s64 arrival, s64 end, struct err *e)
{
	if (GROW(s->arrival, s->n, "requests", e) < 0 || GROW(s->end, s->n, "requests", e) < 0)
		return ERR_FAIL;
	s->arrival[s->n] = arrival;
	s->end[s->n++] = end;
	return 0;
}

/* What was touched by loss, awaits something or its client proves an answer, not a wait. */
static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	s64 end = row->ts + row->dur;
	s64 whole = row->ts - row->queued + (row->rest < row->dur ? row->rest : row->dur);
	struct services *r = arg;
	bool awaits = row->name != BULK_NULL && idmap_get(&r->awaiting, (u64)row->name);
	size_t i;

	(void)rowid;
	if (r->of[r->last].id != row->service) {
		for (i = 0; i < r->n && r->of[i].id != row->service; i++)
			;
		if (i == r->n)
			return 0;
		r->last = i;
	}
	if (r->of[r->last].first->n > REQUESTS_MOST)
		return 0;
	return append(r->of[r->last].first, row->lossy || row->paced || awaits ? end : whole, end,
		      e);
}

static int read_requests(struct services *r, sqlite3 *db, struct err *e)
{
	return rows_each(db, TABLE_request,
			 COLUMN_OF(request, service) | COLUMN_OF(request, ts) |
				 COLUMN_OF(request, dur) | COLUMN_OF(request, queued) |
				 COLUMN_OF(request, rest) | COLUMN_OF(request, name) |
				 COLUMN_OF(request, lossy) | COLUMN_OF(request, paced),
			 on_request, r, e);
}

int compare_requests(struct measured *m, sqlite3 *db, struct err *e)
{
	struct services *r = calloc(1, sizeof(*r));
	size_t i;
	int ret = r ? read_services(r, db, e) : err_set(e, ERR_FAIL, "out of memory for requests");

	if (ret == 0 && r->n)
		ret = awaiting_names(&r->awaiting, db, e);
	if (ret == 0 && r->n)
		ret = read_requests(r, db, e);
	for (i = 0; r && i < r->n; i++) {
		struct service *s = &r->of[i];

		if (ret == 0 && s->first == s && s->n >= LEAST && s->n <= REQUESTS_MOST)
			ret = put_rare(m, s, e);
		free(s->arrival);
		free(s->end);
	}
	if (r)
		idmap_free(&r->awaiting);
	free(r);
	return ret;
}
