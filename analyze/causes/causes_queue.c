// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The requests that slow ones waited for on their thread: a thread serves a request from its
 * receive until its answer or the next receive (units_queue.c). Of such slices, the time on a CPU
 * within the wait of a slow request counts. One request dominates if most of this time is each slow
 * request's longest slice.
 */
#include "causes.h"

#define MOSTLY 0.5

struct front {
	struct samples *d;
	struct tally clients, requests;
	double longest; /* ns of the longest slice of each slow request, summed */
};

/* Time of the thread on a CPU in from..to. */
static s64 ran(const struct spans *spans, u32 tid, s64 from, s64 to)
{
	const struct span *p;
	s64 ns = 0;

	for (p = spans_at(spans, tid, from); p && p->ts < to; p = spans_next(spans, p))
		ns += p->state == SPAN_run ? span_within(p, from, to) : 0;
	return ns;
}

/* The first request of the thread that may reach into what comes after ts. */
static size_t first_of(const struct samples *d, u32 tid, s64 ts)
{
	size_t low = 0, high = d->n_served, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (d->served[mid].tid < tid ||
		    (d->served[mid].tid == tid && d->served[mid].ts <= ts))
			low = mid + 1;
		else
			high = mid;
	}
	return low && d->served[low - 1].tid == tid ? low - 1 : low;
}

static void add_unit(struct front *f, const struct unit *u)
{
	const struct samples *d = f->d;
	s64 received = u->ts + u->queued, end, from, ns, most = 0;
	size_t i;

	for (i = first_of(d, u->tid, u->ts); i < d->n_served; i++) {
		const struct served *s = &d->served[i];

		if (s->tid != u->tid || s->ts >= received)
			break;
		end = i + 1 < d->n_served && s[1].tid == s->tid && s[1].ts < s->end ? s[1].ts
										    : s->end;
		from = s->ts > u->ts ? s->ts : u->ts;
		end = end < received ? end : received;
		ns = end > from ? ran(&d->spans, u->tid, from, end) : 0;
		if (ns <= 0)
			continue;
		tally_add(&f->requests, s->rowid, ns);
		tally_add(&f->clients, s->client, ns);
		most = ns > most ? ns : most;
	}
	f->longest += most;
}

int cause_queue(struct samples *d, struct cause *c, struct err *e)
{
	struct front f = { .d = d };
	size_t i;
	bool one;

	(void)e;
	c->kind = "queue";
	c->finding = FINDING_cause_queue;
	c->evidence = OBSERVED;
	c->own = true;
	c->offender = d->u->of;
	for (i = 0; i < d->n; i++)
		if (d->slow[i].queued > 0)
			add_unit(&f, &d->slow[i]);
	tally_sort(&f.requests);
	tally_sort(&f.clients);
	one = f.requests.n && f.longest >= MOSTLY * f.requests.total;
	if (one) {
		c->object = (struct subject){ SUBJECT_request, f.requests.of[0].key };
		CAUSE_VALUE(c, VALUE_NUMBER, "one", 100 * f.longest / f.requests.total, "%");
	}
	if (f.clients.n && f.clients.of[0].key && f.clients.of[0].sum >= MOSTLY * f.clients.total) {
		c->offender = (struct subject){ SUBJECT_client, f.clients.of[0].key };
		c->part = f.clients.of[0].sum / f.clients.total;
	}
	tally_free(&f.requests);
	tally_free(&f.clients);
	return 0;
}
