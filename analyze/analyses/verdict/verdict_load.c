// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Less load alone: the same late requests per second among fewer requests are a larger share of
 * them, and a higher mean. Requests per second fell, and neither the late ones nor the requests
 * that are open at a time (Little) rose. Clients that wait for their answers ask less as well: all
 * of these are late then.
 */
#include "verdict_levels.h"

#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

/* -1, 1: less, more of it in the slow windows; those without requests count as well. */
static int differs(const struct levels *found, const double x[WINDOWS])
{
	struct levels v = { .n = 0 };
	double low, high;
	int i = 0, w;

	for (w = found->window[0]; w <= found->window[found->n - 1]; w++) {
		while (i + 1 < found->n && found->window[i + 1] <= w)
			i++;
		v.window[v.n] = w;
		v.slow[v.n] = found->slow[i];
		v.neither[v.n] = found->neither[i];
		v.x[v.n++] = x[w];
	}
	if (!levels_differ(&v, 1, LEVELS_ERROR, &low, &high))
		return 0;
	return low > 0 ? 1 : high < 0 ? -1 : 0;
}

bool verdict_fewer_open(const struct judged *j, const struct levels *v)
{
	double n[WINDOWS], open[WINDOWS];
	int i;

	for (i = 0; i < j->n_windows; i++) {
		n[i] = j->only ? j->windows[i].n : j->traffic[i].exchanges;
		open[i] = j->only ? j->windows[i].sum : j->traffic[i].waited;
	}
	return differs(v, n) < 0 && differs(v, open) <= 0;
}

struct late {
	const struct judged *j;
	double bound; /* ns */
	double n[WINDOWS];
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct late *m = arg;

	(void)rowid;
	(void)e;
	if ((!m->j->only || row->name == m->j->only) &&
	    (double)row->dur + (double)row->queued > m->bound)
		m->n[verdict_window_at(m->j, (double)row->ts + (double)row->dur)]++;
	return 0;
}

int verdict_is_load(struct analysis_ctx *c, const struct judged *j, const struct levels *v,
		    const struct limits *l, bool *ret_load, struct err *e)
{
	struct late m = { .j = j, .bound = verdict_late_bound(j->typical_base, l) };
	int ret;

	*ret_load = !j->given && verdict_fewer_open(j, v);
	if (!*ret_load)
		return 0;
	ret = requests_each(c->db, COLUMN_OF(request, name),
			    "SELECT id FROM service WHERE server=?1", j->about.id, add_request, &m,
			    e);
	*ret_load = differs(v, m.n) <= 0;
	return ret < 0 ? ret : 0;
}
