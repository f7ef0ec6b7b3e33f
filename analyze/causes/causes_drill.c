// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the slow units waited for: run-queue antagonists, futexes and who released them, sleeps
 * and who ended them. Only units that were kept as examples are looked into (up to 4 of each of
 * 128 blocks of time), with the intervals of all threads around them.
 */
#include "analyze/base/idmap.h"

#include "analyze/base/limits.h"
#include "causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOSTLY	     0.5 /* of a time */
#define FUTEXES_TOLD 16
#define NOTABLE	     0.25 /* of the time: who ended less of it is not whom they waited for */

void tally_add(struct tally *t, s64 key, double ns)
{
	int i;

	t->total += ns;
	for (i = 0; i < t->n && t->of[i].key != key; i++)
		;
	if (i == TALLY_MAX)
		return;
	if (i == t->n) {
		t->of[t->n].key = key;
		t->of[t->n].n = t->of[t->n].ns = 0;
		t->n++;
	}
	t->of[i].ns += ns;
	t->of[i].n++;
}

static int by_ns(const void *a, const void *b)
{
	const double x = *(const double *)((const char *)a + sizeof(s64));
	const double y = *(const double *)((const char *)b + sizeof(s64));

	return x > y ? -1 : x < y;
}

void tally_sort(struct tally *t)
{
	qsort(t->of, t->n, sizeof(t->of[0]), by_ns);
}

const char *process_text(const struct names *names, u32 tid, char *text, size_t size)
{
	struct who w = names_of(names, tid);

	snprintf(text, size, "%s[%u]", w.process[0] ? w.process : "?", w.pid);
	return text;
}

const char *thread_text(const struct names *names, u32 tid, char *text, size_t size)
{
	struct who w = names_of(names, tid);

	snprintf(text, size, "%s[%u]", w.comm[0] ? w.comm : "?", tid);
	return text;
}

/* ---- the slow units ---- */

static size_t take_examples(struct unit *to, size_t n, const struct unit *from)
{
	int i;

	for (i = 0; i < UNIT_SAMPLES; i++)
		if (from[i].tid && from[i].dur > 0)
			to[n++] = from[i];
	return n;
}

static void choose_examples(struct drill *d)
{
	const struct comparison *c = d->cmp;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const struct unit_block *k = &d->u->blocks[b];

		if (c->basis == BASIS_TAIL) {
			d->n = take_examples(d->slow, d->n, k->slow);
			d->n_usual = take_examples(d->usual, d->n_usual, k->calm);
		} else if (c->basis == BASIS_ALL || c->is_slow[b]) {
			d->n = take_examples(d->slow, d->n, k->usual);
		} else if (c->is_usual[b]) {
			d->n_usual = take_examples(d->usual, d->n_usual, k->usual);
		}
	}
}

/* Every step-th of the examples stays, and becomes a moment to look at. */
static size_t thin(struct unit *u, size_t *n, size_t step, struct moment *to)
{
	size_t i, k;

	for (k = 0, i = 0; i < *n; i += step, k++) {
		u[k] = u[i];
		to[k] = (struct moment){ u[k].ts, u[k].ts + u[k].dur };
	}
	*n = k;
	return k;
}

u32 drill_own(const struct drill *d)
{
	return d->n ? names_of(&d->names, d->slow[0].tid).pid : 0;
}

bool drill_is_own(const struct drill *d, s64 pid)
{
	return pid > 0 && (pid == drill_own(d) || idmap_get(&d->own, pid));
}

const char *drill_own_text(const struct drill *d, char *text, size_t size)
{
	const char *name = strchr(d->u->name, ' '); /* "turns of ..." */

	if (d->u->processes > 1 && name && strncmp(name, " of ", 4) == 0)
		snprintf(text, size, "%s", name + 4);
	else
		process_text(&d->names, drill_own(d), text, size);
	return text;
}

/* Workers of one leader are one server. */
static int read_own(struct drill *d, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	if (d->u->kind != UNIT_TURN)
		return 0;
	ret = db_query(&q, d->db, e, "SELECT pid FROM " UNITS_LED " WHERE leader=?", "i",
		       d->u->key);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (idmap_put(&d->own, sqlite3_column_int64(q, 0), d, TASK_LIMIT, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

int drill_open(struct drill *d, sqlite3 *db, const struct units *u, const struct comparison *cmp,
	       struct err *e)
{
	struct moment *moments;
	s64 filtered = 0;
	size_t k, step = 1;
	int ret = 0;

	*d = (struct drill){ .db = db, .u = u, .cmp = cmp };
	choose_examples(d);
	moments = calloc(2 * SAMPLED_MAX, sizeof(*moments));
	if (!moments)
		return err_set(e, ERR_FAIL, "out of memory for examples");
	do { /* if there are too many intervals around all of them, take fewer units */
		k = thin(d->slow, &d->n, step, moments);
		k += thin(d->usual, &d->n_usual, step, moments + k);
		step = 4;
		spans_free(&d->spans);
		ret = spans_load(&d->spans, db, moments, k, e);
	} while (ret == 0 && d->spans.cut && d->n > 1);
	free(moments);
	if (ret == 0)
		ret = names_load(&d->names, db, e);
	if (ret == 0)
		ret = db_int(db, &filtered, e,
			     "SELECT count(*) FROM recording WHERE key='targets' AND value<>'all'",
			     "");
	d->everything = !filtered;
	return ret < 0 ? ret : read_own(d, e);
}

void drill_close(struct drill *d)
{
	spans_free(&d->spans);
	names_free(&d->names);
	idmap_free(&d->own);
}

static void each(struct drill *d, const struct unit *units, size_t n, enum category category,
		 each_fn fn, void *arg)
{
	const struct span *p;
	size_t i;
	s64 ns;

	for (i = 0; i < n; i++) {
		const struct unit *u = &units[i];

		for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < u->ts + u->dur;
		     p = spans_next(&d->spans, p)) {
			ns = span_within(p, u->ts, u->ts + u->dur);
			if (ns > 0 && category_of(p->state) == category)
				fn(arg, u, p, ns);
		}
	}
}

void drill_each(struct drill *d, enum category category, each_fn fn, void *arg)
{
	each(d, d->slow, d->n, category, fn, arg);
}

void drill_each_usual(struct drill *d, enum category category, each_fn fn, void *arg)
{
	each(d, d->usual, d->n_usual, category, fn, arg);
}

double drill_weight(const struct drill *d, const struct unit *u, bool usual)
{
	double n = usual ? d->n_usual : d->n;

	if (d->cmp->basis == BASIS_TAIL)
		return 1 / n;
	return (usual ? d->cmp->usual : d->cmp->slow) / n / u->dur;
}

/* ---- the example, and how general it is ---- */

/* In how many of the slow units is this category the largest part? Which has most of it? */
static void find_example(struct drill *d, enum category category, struct found *f)
{
	const struct span *p;
	size_t i, largest = 0;
	int c;

	for (i = 0; i < d->n; i++) {
		const struct unit *u = &d->slow[i];
		s64 sums[N_CATEGORIES] = { 0 };

		for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < u->ts + u->dur;
		     p = spans_next(&d->spans, p))
			sums[category_of(p->state)] += span_within(p, u->ts, u->ts + u->dur);
		/* answers that an event loop waits for are waited for in poll */
		if (category == CATEGORY_client)
			sums[category] += sums[CATEGORY_poll];
		for (c = 0; c < N_CATEGORIES; c++)
			if (c != (int)category && sums[c] > sums[category])
				break;
		largest += c == N_CATEGORIES && sums[category] > 0;
		if (sums[category] > f->example_ns) {
			f->example = *u;
			f->example_ns = sums[category];
		}
	}
	f->largest = d->n ? (double)largest / d->n : 0;
}

/* ---- sleeps that somebody ended ---- */

void drill_on_slept(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct slept *s = arg;
	s64 from = p->ts > u->ts ? p->ts : u->ts;

	tally_add(&s->objects, p->object, ns);
	if (p->context == SPAN_NO_WAKE)
		s->unknown += ns;
	else if (p->context != CONTEXT_TASK || !p->waker)
		s->interrupts += ns;
	else
		tally_add(&s->wakers, p->waker, ns);
	chain_follow(&s->chain, &s->d->spans, &s->d->names, p, from, from + ns);
}

/* The thread that ended most of the sleeps; 0: none. */
u32 drill_waker(struct slept *s)
{
	tally_sort(&s->wakers);
	return s->wakers.n ? s->wakers.of[0].key : 0;
}

int drill_limits(struct slept *s, struct found *f, struct err *e)
{
	double all = s->objects.total;

	if (all > 0 && s->unknown >= 0.1 * all)
		return buf_printf(&f->against, e,
				  "for %.0f %% of it nobody was seen to end the wait. ",
				  100 * s->unknown / all);
	return 0;
}

struct futexes_seen {
	s64 address;	   /* of the one with most waiting */
	double contention; /* share of the waiting on futexes used like locks */
	double observed; /* share of their releases that were seen in a call on the same address */
};

/* Classes of the futexes, weighted by the waiting on them. */
static int read_futexes(struct drill *d, struct tally *objects, struct futexes_seen *ret_seen,
			struct err *e)
{
	double all = 0;
	sqlite3_stmt *q;
	int i, ret = 0;

	*ret_seen = (struct futexes_seen){ 0 };
	for (i = 0; i < objects->n && i < FUTEXES_TOLD && ret >= 0; i++) {
		ret = db_query(&q, d->db, e,
			       "SELECT f.class='contention', f.address, (SELECT total(observed) /"
			       " max(total(n), 1) FROM futex_release WHERE futex=f.id) FROM futex f"
			       " WHERE f.id=?",
			       "i", objects->of[i].key);
		if (ret < 0)
			break;
		ret = db_step(q, e);
		if (ret > 0) {
			all += objects->of[i].ns;
			ret_seen->contention += objects->of[i].ns * sqlite3_column_int(q, 0);
			ret_seen->observed += objects->of[i].ns * sqlite3_column_double(q, 2);
			if (!i)
				ret_seen->address = sqlite3_column_int64(q, 1);
		}
		sqlite3_finalize(q);
	}
	if (all > 0) {
		ret_seen->contention /= all;
		ret_seen->observed /= all;
	}
	return ret < 0 ? ret : 0;
}

static int say_futexes(struct slept *s, const struct futexes_seen *seen, struct found *f,
		       struct err *e)
{
	bool lock = seen->contention >= MOSTLY;
	const char *use =
		lock ? "contention, as for a lock" : "handoff: it waits for work of others";

	f->kind = lock ? "lock" : "handoff";
	f->culprit_id = seen->address;
	if (s->objects.n > 1 && s->objects.of[0].ns < 0.9 * s->objects.total)
		return buf_printf(&f->text, e, ": %d of them, %#llx most (%s)", s->objects.n,
				  (unsigned long long)seen->address, use);
	return buf_printf(&f->text, e, " %#llx (%s)", (unsigned long long)seen->address, use);
}

/* Who ended most of the sleeps, as culprit if that is much, and what he did meanwhile. */
static int blame_waker(struct drill *d, struct slept *s, u32 waker, const char *how,
		       struct found *f, struct err *e)
{
	char name[64];
	int ret;

	thread_text(&d->names, waker, name, sizeof(name));
	f->part = s->wakers.of[0].ns / s->objects.total;
	if (f->part >= NOTABLE)
		snprintf(f->culprit, sizeof(f->culprit), "%s", name);
	ret = buf_printf(&f->text, e, "%s by %s (%.0f %%)", how, name, 100 * f->part);
	return ret < 0 ? ret : drill_second(d, s, waker, f, e);
}

static int drill_futex(struct drill *d, struct found *f, struct err *e)
{
	struct slept *s = calloc(1, sizeof(*s));
	struct futexes_seen seen;
	u32 waker;
	int ret;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for waits");
	s->d = d;
	drill_each(d, CATEGORY_futex, drill_on_slept, s);
	tally_sort(&s->objects);
	waker = drill_waker(s);
	ret = read_futexes(d, &s->objects, &seen, e);
	f->label = seen.observed >= MOSTLY ? "OBSERVED" : waker ? "CAUSAL" : "OVERLAP";
	if (ret == 0)
		ret = say_futexes(s, &seen, f, e);
	if (ret == 0 && waker)
		ret = blame_waker(d, s, waker, ", released", f, e);
	if (ret == 0)
		ret = drill_limits(s, f, e);
	free(s);
	return ret;
}

/* Any other sleep: who ended it, and what that one did meanwhile. */
static int drill_sleep(struct drill *d, enum category category, struct found *f, struct err *e)
{
	struct slept *s = calloc(1, sizeof(*s));
	u32 waker;
	int ret = 0;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for waits");
	s->d = d;
	drill_each(d, category, drill_on_slept, s);
	waker = drill_waker(s);
	f->kind = category_names[category];
	f->label = waker ? "CAUSAL" : "OBSERVED";
	if (waker && s->wakers.of[0].ns >= s->interrupts) {
		f->culprit_id = waker;
		ret = blame_waker(d, s, waker, "; ended", f, e);
	} else if (s->interrupts > 0) {
		ret = buf_printf(&f->text, e, "; ended by interrupts (%.0f %%)",
				 100 * s->interrupts / s->objects.total);
	}
	if (ret == 0)
		ret = drill_limits(s, f, e);
	free(s);
	return ret;
}

static int drill_cpu(struct drill *d, struct found *f, struct err *e)
{
	(void)d;
	f->kind = "self";
	f->label = "OBSERVED";
	return buf_printf(&f->against, e,
			  "interrupts and time stolen by a host count as time on a CPU. ");
}

int drill_category(struct drill *d, enum category category, struct found *f, struct err *e)
{
	*f = (struct found){ .label = "OVERLAP", .kind = category_names[category] };
	find_example(d, category, f);
	switch (category) {
	case CATEGORY_cpu:
		return drill_cpu(d, f, e);
	case CATEGORY_runq:
		return drill_runq(d, f, e);
	case CATEGORY_futex:
		return drill_futex(d, f, e);
	case CATEGORY_disk:
		return drill_disk(d, f, e);
	case CATEGORY_client:
		return drill_client(d, f, e);
	case CATEGORY_pipe:
		return drill_pipe(d, f, e);
	default:
		return drill_sleep(d, category, f, e);
	}
}
