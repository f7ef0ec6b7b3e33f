// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits in poll for locks of other connections: see analyses/waits/releases.h. */
#include "analyze/causes/causes.h"

#include "analyze/analyses/waits/releases.h"
#include "format/grow.h"

#include <stdlib.h>

#define MOSTLY	0.5
#define NOTABLE 0.25 /* of the waits: a request that ended less of them is not named */

struct polls {
	struct release *v;
	double *ns;
	size_t n;
	struct err *e;
	int ret;
};

static void on_poll(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct polls *w = arg;
	size_t n = w->n;

	(void)u;
	if (w->ret < 0)
		return;
	w->ret = GROW(w->v, w->n, "waits", w->e);
	if (w->ret == 0)
		w->ret = GROW(w->ns, w->n, "waits", w->e);
	if (w->ret < 0)
		return;
	w->v[n] = (struct release){ .waiter = p->tid, .from = p->ts, .at = p->ts + p->dur };
	if (p->context == CONTEXT_TASK)
		w->v[n].waker = p->waker;
	w->ns[n] = (double)ns;
	w->n++;
}

/* The name of requests in which most of the locks were released. */
static void name_requests(const struct polls *w, double all, struct cause *c)
{
	struct tally names = { 0 };
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->v[i].released && w->v[i].name)
			tally_add(&names, w->v[i].name, w->ns[i]);
	tally_sort(&names);
	if (names.n && names.of[0].sum >= NOTABLE * all)
		CAUSE_VALUE(c, VALUE_SUBJECT, "released", request_name, names.of[0].key);
	tally_free(&names);
}

int cause_release(struct samples *d, struct cause *c, struct err *e)
{
	struct polls w = { .e = e };
	double all = 0, locks = 0;
	size_t i;

	samples_each(d, false, c->category, on_poll, &w);
	if (w.ret == 0)
		w.ret = releases_find(d->db, w.v, w.n, e);
	for (i = 0; i < w.n && w.ret == 0; i++) {
		all += w.ns[i];
		locks += w.v[i].released || w.v[i].failed ? w.ns[i] : 0;
	}
	if (w.ret == 0 && locks > MOSTLY * all) {
		c->kind = "lock";
		c->finding = FINDING_cause_release;
		name_requests(&w, all, c);
	}
	free(w.v);
	free(w.ns);
	return w.ret;
}
