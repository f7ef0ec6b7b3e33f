// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pauses in which no request waited longer than others of its name do: while requests that are
 * answered late by design are waiting, as those of a long poll, no answer is due. Each that waits
 * for most of the pause must have a name, of which enough requests were answered at other times.
 */
#include "verdict_pauses.h"

#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

#include <math.h>
#include <stdlib.h>

#define OTHERS_LEAST 10	 /* requests of the name at other times */
#define MOSTLY	     0.5 /* of a pause */
#define SHORTLY	     0.1

/* The pauses that count, of the whole server or of its parts, by time. */
struct naming {
	struct judged_pause **of;
	bool *delays; /* one waited longer, or it is not known */
	bool *touched;
	int n;
	struct idmap names; /* request_name.id -> struct hist: at other times */
	const struct limits *l;
	bool judging; /* the second pass */
};

/* The first that ends after ts. */
static int first_after(const struct naming *x, double ts)
{
	int low = 0, high = x->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if ((double)x->of[mid]->end <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Than others of its name, or they are too few. */
static bool is_longer(const struct hist *h, double ns, const struct limits *l)
{
	double usual = h->n >= OTHERS_LEAST ? verdict_quantile(h, 0.5) : 0;

	return ns > l->factor * usual && ns > l->latency + usual;
}

/* A part answers for its own requests alone. */
static bool is_of(const struct judged_pause *p, s64 service, s64 name)
{
	return (!p->service || p->service == service) && (!p->name || p->name == name);
}

/* What a request means for the pauses that it overlaps. */
static void judge_waiting(struct naming *x, s64 service, s64 name, double from, double to)
{
	struct hist *h = name > 0 ? idmap_get(&x->names, (u64)name) : NULL;
	int i = first_after(x, from);

	for (; i < x->n && (double)x->of[i]->start < to; i++) {
		double start = (double)x->of[i]->start, end = (double)x->of[i]->end;
		double part = (fmin(to, end) - fmax(from, start)) / (end - start);

		if (part < SHORTLY || !is_of(x->of[i], service, name))
			continue; /* it came shortly before the end, or to another part */
		x->touched[i] |= part >= MOSTLY;
		x->delays[i] |= h ? is_longer(h, to - from, x->l) : part >= MOSTLY;
	}
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	double from = (double)row->ts - row->queued, to = (double)(row->ts + row->dur);
	struct naming *x = arg;
	int i = first_after(x, from);
	struct hist *h;

	(void)rowid;
	if (x->judging)
		judge_waiting(x, row->service, row->name, from, to);
	if (x->judging || row->name <= 0 || (i < x->n && (double)x->of[i]->start < to))
		return 0;
	h = idmap_get(&x->names, (u64)row->name);
	if (!h)
		h = idmap_add(&x->names, (u64)row->name, sizeof(*h), TASK_LIMIT, "names", e);
	if (!h)
		return ERR_FAIL;
	hist_add(h, (u64)(to - from));
	return 0;
}

/* Columns: service, name, arrival, until when it had no answer. */
static int on_unanswered(void *arg, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	judge_waiting(arg, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
		      sqlite3_column_double(q, 2), sqlite3_column_double(q, 3));
	return 0;
}

static int read_both(struct analysis_ctx *c, struct naming *x, s64 server, struct err *e)
{
	static const char services[] = "SELECT id FROM service WHERE server=?1";
	static const char unanswered[] =
		"SELECT service, coalesce(name, 0), ts, ?2 FROM unanswered WHERE service IN (SELECT id FROM service"
		" WHERE server=?1) UNION ALL SELECT service, coalesce(name, 0), ts, end FROM request_closed WHERE service IN"
		" (SELECT id FROM service WHERE server=?1)";
	int ret = requests_each(c->db, 0, services, server, on_request, x, e);

	x->judging = true;
	if (ret >= 0)
		ret = requests_each(c->db, 0, services, server, on_request, x, e);
	return ret < 0 ? ret
		       : db_each(c->db, e, on_unanswered, x, unanswered, "ii", server, c->duration);
}

int verdict_by_name(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct naming x = { .l = l };
	size_t at = 0;
	struct hist *h;
	int i, ret = 0, some = 0;

	x.of = calloc((size_t)j->n_pauses + 1, sizeof(*x.of));
	x.delays = calloc((size_t)j->n_pauses + 1, sizeof(*x.delays));
	x.touched = calloc((size_t)j->n_pauses + 1, sizeof(*x.touched));
	if (!x.of || !x.delays || !x.touched)
		ret = err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts)
			x.of[x.n++] = &j->pauses[i];
	if (ret == 0 && x.n)
		ret = read_both(c, &x, j->about.id, e);
	for (i = 0; i < x.n && ret >= 0; i++) {
		/* without an answer until the end, it is not known how long they wait */
		if (x.delays[i] || !x.touched[i] || x.of[i]->end >= c->duration)
			continue;
		x.of[i]->by_name = true;
		some = 1;
	}
	while ((h = idmap_each(&x.names, &at)))
		hist_free(h);
	idmap_free_all(&x.names);
	free(x.of);
	free(x.delays);
	free(x.touched);
	return ret < 0 ? ret : some;
}
