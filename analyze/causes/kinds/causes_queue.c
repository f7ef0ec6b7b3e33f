// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The requests that slow ones waited for on their thread: a thread serves a request from its
 * receive until its answer or the next receive (units_queue.c). Of such slices, the time on a CPU
 * within the wait of a slow request counts. One request dominates if most of this time is each slow
 * request's longest slice.
 *
 * An event loop that reads several requests and answers them afterwards has work of its own between
 * the last read and the first answer: timers, expired keys. It looks like a long slice of the last
 * one. A request that takes long may be any of those that were read together: its time is often
 * before another read or after another answer. Time for all of them grows with their number.
 */
#include "analyze/causes/causes.h"

#define MOSTLY 0.5
#define LARGE  0.1  /* of the largest slice */
#define CHANCE 0.01 /* that requests which take long are the last ones each time */

struct front {
	struct samples *d;
	struct tally clients;
	struct tally slices; /* by place in d->served */
	double longest;	     /* ns of the longest slice of each slow request, summed */
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
		tally_add(&f->slices, (s64)i, ns);
		tally_add(&f->clients, s->client, ns);
		most = ns > most ? ns : most;
	}
	f->longest += most;
}

static void read_front(struct front *f, struct samples *d)
{
	size_t i;

	*f = (struct front){ .d = d };
	for (i = 0; i < d->n; i++)
		if (d->slow[i].queued > 0)
			add_unit(f, &d->slow[i]);
	tally_sort(&f->slices);
	tally_sort(&f->clients);
}

static void free_front(struct front *f)
{
	tally_free(&f->slices);
	tally_free(&f->clients);
}

/* What was read together with the request at a place, and not yet answered when that was read. */
struct batch {
	double n;
	s64 answer; /* the first */
};

static struct batch read_together(const struct samples *d, size_t at)
{
	const struct served *s = &d->served[at];
	struct batch b = { 1, s->end };

	while (at-- > 0 && d->served[at].tid == s->tid && d->served[at].end > s->ts) {
		b.n++;
		b.answer = d->served[at].end < b.answer ? d->served[at].end : b.answer;
	}
	return b;
}

/* Sums over long slices: time before the first answer, and that per request. */
struct slices {
	double sum, squares, sum_each, squares_each, chance;
};

/* false: it is time of a request: another one was read after it, or answered before it. */
static bool add_slice(struct slices *a, const struct samples *d, size_t at)
{
	const struct served *s = &d->served[at];
	struct batch b = read_together(d, at);
	double all = (double)ran(&d->spans, s->tid, s->ts, s->end);
	double before = (double)ran(&d->spans, s->tid, s->ts, b.answer);

	if ((at + 1 < d->n_served && s[1].tid == s->tid && s[1].ts < s->end) ||
	    before < MOSTLY * all)
		return false;
	a->sum += before;
	a->squares += before * before;
	a->sum_each += before / b.n;
	a->squares_each += before / b.n * before / b.n;
	a->chance /= b.n;
	return true;
}

/* Whether the long slices are work of the event loop, not of requests. */
static bool are_between(const struct front *f)
{
	struct slices a = { .chance = 1 };
	size_t i;

	for (i = 0; i < f->slices.n && f->slices.of[i].sum >= LARGE * f->slices.of[0].sum; i++)
		if (!add_slice(&a, f->d, (size_t)f->slices.of[i].key))
			return false;
	/* the time varies less than that per request */
	return a.chance < CHANCE &&
	       a.squares / (a.sum * a.sum) < a.squares_each / (a.sum_each * a.sum_each);
}

bool queue_between(struct samples *d)
{
	struct front f;
	bool between;

	read_front(&f, d);
	between = are_between(&f);
	free_front(&f);
	return between;
}

int cause_queue(struct samples *d, struct cause *c, struct err *e)
{
	struct front f;
	bool one;

	(void)e;
	read_front(&f, d);
	c->kind = "queue";
	c->finding = FINDING_cause_queue;
	c->evidence = OBSERVED;
	c->own = true;
	c->offender = d->u->of;
	if (are_between(&f)) {
		c->finding = FINDING_cause_between;
		free_front(&f);
		return 0;
	}
	one = f.slices.n && f.longest >= MOSTLY * f.slices.total;
	if (one) {
		c->object =
			(struct subject){ SUBJECT_request, d->served[f.slices.of[0].key].rowid };
		CAUSE_VALUE(c, VALUE_NUMBER, "one", 100 * f.longest / f.slices.total, "%");
	}
	if (f.clients.n && f.clients.of[0].key && f.clients.of[0].sum >= MOSTLY * f.clients.total) {
		c->offender = (struct subject){ SUBJECT_client, f.clients.of[0].key };
		c->part = f.clients.of[0].sum / f.clients.total;
	}
	free_front(&f);
	return 0;
}
