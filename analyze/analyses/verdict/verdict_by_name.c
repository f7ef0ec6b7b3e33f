// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pauses in which no request waited longer than others of its name do: while requests that are
 * answered late by design are waiting, as those of a long poll, no answer is due. Each that waits
 * for most of the pause must have a name, of which enough requests were answered at other times. A
 * name of which none was ever answered within a short pause says nothing of pauses.
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

/* The requests of a name that have an answer. */
struct name_took {
	struct hist outside; /* of pauses that count */
	double n, quickest;
};

/* The pauses that count, of the whole server or of its parts, by time. */
struct naming {
	struct judged_pause **of;
	bool *delays; /* one waited longer, or it is not known */
	bool *touched;
	int n;
	struct idmap names; /* request_name.id -> struct name_took */
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

/* It was never answered sooner: that a request of it waits is no sign of a pause. */
static bool is_never_quick(const struct name_took *t)
{
	return t->outside.n < OTHERS_LEAST && t->quickest >= SHORT_PAUSE;
}

/* Than others of its name, or they are too few. */
static bool is_longer(const struct name_took *t, double ns, const struct limits *l)
{
	double usual = t->outside.n >= OTHERS_LEAST ? verdict_quantile(&t->outside, 0.5) : 0;

	if (is_never_quick(t) && t->n >= DUE_ANSWERS)
		return false;
	return ns > l->factor * usual && ns > l->latency + usual;
}

/* A part answers for its own requests alone. */
static bool is_of(const struct judged_pause *p, s64 service, s64 name)
{
	return (!p->service || p->service == service) && (!p->name || p->name == name);
}

static void add_harmed(struct judged_pause *p, s64 name)
{
	p->harmed = name > 0 && (!p->harmed || p->harmed == name) ? name : HARMED_SEVERAL;
}

/* It came in the pause and was answered as usual: that may have ended it. */
static void add_passing(struct judged_pause *p, s64 name)
{
	if (!p->passing[0] || p->passing[0] == name)
		p->passing[0] = name;
	else
		p->passing[1] = name;
}

/* What a request means for the pauses that it overlaps. */
static void judge_waiting(struct naming *x, s64 service, s64 name, double from, double to)
{
	const struct name_took *t = name > 0 ? idmap_get(&x->names, (u64)name) : NULL;
	int i = first_after(x, from);
	bool delayed;

	for (; i < x->n && (double)x->of[i]->start < to; i++) {
		double start = (double)x->of[i]->start, end = (double)x->of[i]->end;
		double part = (fmin(to, end) - fmax(from, start)) / (end - start);

		if (t && to >= end && !is_never_quick(t) && !is_longer(t, to - from, x->l))
			add_passing(x->of[i], name);
		if (part < SHORTLY || !is_of(x->of[i], service, name))
			continue; /* it came shortly before the end, or to another part */
		x->touched[i] |= part >= MOSTLY;
		delayed = t ? is_longer(t, to - from, x->l) : part >= MOSTLY;
		x->delays[i] |= delayed;
		if (delayed && !(t && is_never_quick(t)))
			add_harmed(x->of[i], name);
	}
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	double from = (double)row->ts - row->queued, to = (double)(row->ts + row->dur);
	struct naming *x = arg;
	int i = first_after(x, from);
	struct name_took *t;

	(void)rowid;
	if (x->judging)
		judge_waiting(x, row->service, row->name, from, to);
	if (x->judging || row->name <= 0)
		return 0;
	t = idmap_get(&x->names, (u64)row->name);
	if (!t)
		t = idmap_add(&x->names, (u64)row->name, sizeof(*t), TASK_LIMIT, "names", e);
	if (!t)
		return ERR_FAIL;
	t->quickest = t->n++ > 0 ? fmin(t->quickest, to - from) : to - from;
	if (i >= x->n || (double)x->of[i]->start >= to)
		hist_add(&t->outside, (u64)(to - from));
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
	struct name_took *t;
	int i, ret = 0, some = 0;

	x.of = calloc((size_t)j->n_pauses + 1, sizeof(*x.of));
	x.delays = calloc((size_t)j->n_pauses + 1, sizeof(*x.delays));
	x.touched = calloc((size_t)j->n_pauses + 1, sizeof(*x.touched));
	if (!x.of || !x.delays || !x.touched)
		ret = err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts) {
			j->pauses[i].harmed = j->pauses[i].passing[0] = 0;
			j->pauses[i].passing[1] = 0;
			x.of[x.n++] = &j->pauses[i];
		}
	if (ret == 0 && x.n)
		ret = read_both(c, &x, j->about.id, e);
	for (i = 0; i < x.n && ret >= 0; i++) {
		/* without an answer until the end, it is not known how long they wait */
		if (x.delays[i] || !x.touched[i] || x.of[i]->end >= c->duration)
			continue;
		x.of[i]->by_name = true;
		some = 1;
	}
	while ((t = idmap_each(&x.names, &at)))
		hist_free(&t->outside);
	idmap_free_all(&x.names);
	free(x.of);
	free(x.delays);
	free(x.touched);
	return ret < 0 ? ret : some;
}
