// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the slow units waited for: run-queue antagonists, futexes and who released them, sleeps
 * and who ended them. Only units that were kept as examples are looked into (up to 4 of each of
 * 128 blocks of time), with the intervals of all threads around them.
 */
#include "causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOSTLY 0.5 /* of a time */

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

static void choose_slow(struct drill *d)
{
	enum basis basis = d->cmp->basis;
	int b, i;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const struct unit_block *k = &d->u->blocks[b];
		const struct unit *from = basis == BASIS_TAIL ? k->slow : k->usual;

		if ((basis == BASIS_GIVEN || basis == BASIS_CHANGE) && !d->cmp->is_slow[b])
			continue;
		for (i = 0; i < UNIT_SAMPLES; i++)
			if (from[i].tid && from[i].dur > 0)
				d->slow[d->n++] = from[i];
	}
}

int drill_open(struct drill *d, sqlite3 *db, const struct units *u, const struct comparison *cmp,
	       struct err *e)
{
	struct moment *moments;
	s64 filtered = 0;
	size_t i, k, step = 1;
	int ret = 0;

	*d = (struct drill){ .db = db, .u = u, .cmp = cmp };
	choose_slow(d);
	moments = calloc(d->n + 1, sizeof(*moments));
	if (!moments)
		return err_set(e, ERR_FAIL, "out of memory for examples");
	do { /* if there are too many intervals around all of them, take fewer units */
		for (k = 0, i = 0; i < d->n; i += step, k++) {
			d->slow[k] = d->slow[i];
			moments[k] =
				(struct moment){ d->slow[k].ts, d->slow[k].ts + d->slow[k].dur };
		}
		d->n = k;
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
	return ret;
}

void drill_close(struct drill *d)
{
	spans_free(&d->spans);
	names_free(&d->names);
}

void drill_each(struct drill *d, enum category category, each_fn fn, void *arg)
{
	const struct span *p;
	size_t i;
	s64 ns;

	for (i = 0; i < d->n; i++) {
		const struct unit *u = &d->slow[i];

		for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < u->ts + u->dur;
		     p = spans_next(&d->spans, p)) {
			ns = span_within(p, u->ts, u->ts + u->dur);
			if (ns > 0 && category_of(p->state) == category)
				fn(arg, u, p, ns);
		}
	}
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

static const char *const meanwhile[N_SPAN_STATES] = {
	[SPAN_run] = "computing",
	[SPAN_woken] = "queued for a CPU",
	[SPAN_preempted] = "queued for a CPU",
	[SPAN_futex] = "waiting for a futex",
	[SPAN_poll] = "waiting in poll",
	[SPAN_socket] = "waiting on a socket",
	[SPAN_pipe] = "waiting for input",
	[SPAN_disk] = "waiting for the disk",
	[SPAN_blocked] = "uninterruptible",
	[SPAN_timer] = "asleep until a timer",
	[SPAN_child] = "waiting for a child process",
	[SPAN_lock] = "waiting for a file lock",
	[SPAN_other] = "asleep",
	[SPAN_stopped] = "stopped",
	[SPAN_unknown] = "not recorded",
	[SPAN_client] = "waiting for another server",
};

/* Name of a system call of the recording; "" if there is none. */
static int call_name(struct drill *d, s32 nr, char *text, size_t size, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	text[0] = '\0';
	if (nr < 0)
		return 0;
	ret = db_query(&q, d->db, e, "SELECT name FROM syscall_name WHERE nr=? LIMIT 1", "i",
		       (s64)nr);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		snprintf(text, size, "%s", sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* The second hop: what the thread that was waited for did meanwhile, and why that took long. */
int drill_second(struct drill *d, struct slept *s, u32 waker, struct found *f, struct err *e)
{
	struct tally states = { 0 };
	const struct link *deepest = NULL;
	char name[64], call[40];
	int i, ret;

	for (i = 0; i < s->chain.n; i++) {
		const struct link *l = &s->chain.links[i];

		if (l->first != waker)
			continue;
		tally_add(&states, (s64)l->through << 16 | (l->nr + 1), l->ns);
		if (l->depth > 1 && (!deepest || l->ns > deepest->ns))
			deepest = l;
	}
	tally_sort(&states);
	for (i = 0; i < states.n && i < 2; i++) {
		if (states.of[i].ns < 0.15 * states.total)
			break;
		ret = call_name(d, (s32)(states.of[i].key & 0xffff) - 1, call, sizeof(call), e);
		if (ret < 0)
			return ret;
		snprintf(f->second + strlen(f->second), sizeof(f->second) - strlen(f->second),
			 "%s%s%s%s %.0f %%", i ? ", " : "",
			 meanwhile[(states.of[i].key >> 16) % N_SPAN_STATES], call[0] ? " in " : "",
			 call, 100 * states.of[i].ns / states.total);
	}
	if (!f->second[0])
		return 0;
	ret = buf_printf(&f->text, e, "; meanwhile that thread was %s", f->second);
	if (ret == 0 && deepest && deepest->ns >= 0.2 * states.total)
		ret = buf_printf(&f->text, e, "; behind it %s %s",
				 thread_text(&d->names, deepest->tid, name, sizeof(name)),
				 stop_docs[deepest->stop]);
	return ret;
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

/* Class of the futex, and how many of its releases were seen in a call on the same address. */
static int read_futex(struct drill *d, s64 id, char *class, size_t size, s64 *address,
		      double *observed, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(
		&q, d->db, e,
		"SELECT f.class, f.address, (SELECT total(observed) / max(total(n), 1) FROM"
		" futex_release WHERE futex=f.id) FROM futex f WHERE f.id=?",
		"i", id);

	snprintf(class, size, "handoff");
	*address = 0;
	*observed = 0;
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		snprintf(class, size, "%s", sqlite3_column_text(q, 0));
		*address = sqlite3_column_int64(q, 1);
		*observed = sqlite3_column_double(q, 2);
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int drill_futex(struct drill *d, struct found *f, struct err *e)
{
	struct slept *s = calloc(1, sizeof(*s));
	char class[20], name[64];
	double observed;
	s64 address;
	u32 waker;
	int ret;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for waits");
	s->d = d;
	drill_each(d, CATEGORY_futex, drill_on_slept, s);
	tally_sort(&s->objects);
	waker = drill_waker(s);
	ret = read_futex(d, s->objects.n ? s->objects.of[0].key : -1, class, sizeof(class),
			 &address, &observed, e);
	f->label = observed >= MOSTLY ? "OBSERVED" : waker ? "CAUSAL" : "OVERLAP";
	f->kind = strcmp(class, "contention") == 0 ? "lock"
		  : strcmp(class, "timeout") == 0  ? "timeout"
						   : "handoff";
	f->culprit_id = address;
	if (ret == 0)
		ret = buf_printf(&f->text, e, " %#llx (%s; %.0f %% of these waits)",
				 (unsigned long long)address,
				 f->kind[0] == 'l' ? "contention, as for a lock"
						   : "handoff: it waits for work of others",
				 s->objects.total > 0 && s->objects.n
					 ? 100 * s->objects.of[0].ns / s->objects.total
					 : 0);
	if (ret == 0 && waker) {
		thread_text(&d->names, waker, name, sizeof(name));
		snprintf(f->culprit, sizeof(f->culprit), "%s", name);
		ret = buf_printf(&f->text, e, ", released by %s (%.0f %%)", name,
				 100 * s->wakers.of[0].ns / s->objects.total);
		if (ret == 0)
			ret = drill_second(d, s, waker, f, e);
	}
	if (ret == 0)
		ret = drill_limits(s, f, e);
	free(s);
	return ret;
}

/* Any other sleep: who ended it, and what that one did meanwhile. */
static int drill_sleep(struct drill *d, enum category category, struct found *f, struct err *e)
{
	struct slept *s = calloc(1, sizeof(*s));
	char name[64];
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
		thread_text(&d->names, waker, name, sizeof(name));
		snprintf(f->culprit, sizeof(f->culprit), "%s", name);
		f->culprit_id = waker;
		ret = buf_printf(&f->text, e, "; ended by %s (%.0f %%)", name,
				 100 * s->wakers.of[0].ns / s->objects.total);
		if (ret == 0)
			ret = drill_second(d, s, waker, f, e);
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
