// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack_rows.h"

#include "format/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX   500000  /* of each kind; those after them have neither state nor request */
#define LASTS_NEAR 1000000 /* ns: times of sleepers are rounded */
#define NEAR_ONE   4	   /* states of a thread that are looked at for one wait */

void stack_rows_wait(struct replay *r, const struct thread *t, enum state state, u64 from, u64 to,
		     s64 nr, s64 object)
{
	struct stack_rows *s = stack_rows_of(r);
	struct err e = { 0 };

	if (!s->shortest || to - from < s->shortest || state == STATE_run || s->n_waits >= KEPT_MAX)
		return;
	if (GROW(s->waits, s->n_waits, "stacks", &e) < 0)
		return; /* its state is not known */
	s->waits[s->n_waits++] = (struct long_wait){
		replay_time(r, from), (s64)((to - from) & INT64_MAX), nr, object, t->tid, state
	};
}

struct row_sample *stack_rows_sample(struct replay *r, struct err *e)
{
	struct stack_rows *s = stack_rows_of(r);

	if (s->n_samples >= KEPT_MAX) {
		s->samples_left = true;
		return bulk_add(r->bulk, sample);
	}
	if (GROW(s->samples, s->n_samples, "stacks", e) < 0)
		return NULL;
	return &s->samples[s->n_samples++];
}

struct row_offcpu *stack_rows_offcpu(struct replay *r, struct err *e)
{
	struct stack_rows *s = stack_rows_of(r);

	if (s->n_offcpu >= KEPT_MAX)
		return bulk_add(r->bulk, offcpu);
	if (GROW(s->offcpu, s->n_offcpu, "stacks", e) < 0)
		return NULL;
	return &s->offcpu[s->n_offcpu++];
}

/* ---- the state of a wait ---- */

static int by_thread(const void *a, const void *b)
{
	const struct long_wait *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

static s64 overlap(const struct long_wait *w, const struct row_offcpu *row)
{
	s64 from = w->ts > row->ts ? w->ts : row->ts;
	s64 to = w->ts + w->dur < row->ts + row->dur ? w->ts + w->dur : row->ts + row->dur;

	return to - from;
}

static bool is_queue(u8 state)
{
	return state == STATE_woken || state == STATE_preempted;
}

/* The longest of the states that the thread was in then; the run queue only if it is the only one.
 */
static void find_state(const struct stack_rows *s, struct row_offcpu *row)
{
	size_t low = 0, high = s->n_waits, mid, i;
	s64 best = 0, ns;

	while (low < high) {
		mid = (low + high) / 2;
		if (s->waits[mid].tid < row->tid ||
		    (s->waits[mid].tid == row->tid &&
		     s->waits[mid].ts + s->waits[mid].dur <= row->ts))
			low = mid + 1;
		else
			high = mid;
	}
	for (i = low; i < s->n_waits && i < low + NEAR_ONE && s->waits[i].tid == row->tid; i++) {
		ns = overlap(&s->waits[i], row);
		if (ns <= 0 || (best > 0 && (is_queue(s->waits[i].state) ||
					     (ns <= best && !is_queue((u8)row->state)))))
			continue;
		best = ns;
		row->state = s->waits[i].state;
		row->waited = ns;
		row->nr = s->waits[i].nr;
		row->object = s->waits[i].object;
	}
}

/*
 * A thread that waits when it is looked at, some ms after the end, but not in the whole range: it
 * has slept since. Of waits after KEPT_MAX nothing is known.
 */
static bool has_slept_since(const struct stack_rows *s, const struct row_offcpu *row)
{
	return row->flags & OFFCPU_LASTS && s->n_waits && s->n_waits < KEPT_MAX &&
	       (row->waited == BULK_NULL || row->waited < row->dur - LASTS_NEAR);
}

static void drop_late(struct stack_rows *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->n_offcpu; i++)
		if (!has_slept_since(s, &s->offcpu[i]))
			s->offcpu[n++] = s->offcpu[i];
	s->n_offcpu = n;
}

/* ---- waits without a stack ---- */

/* Short waits of a thread in one state: time of all, and of those with a stack. */
struct class
{
	u32 tid;
	u8 state;
	s64 all, with;
};

static int by_class(const void *a, const void *b)
{
	const struct class *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->state - y->state;
}

static bool is_rationed(s64 ns, const struct stack_rows *s)
{
	return ns >= s->threshold && ns < s->always;
}

/* Classes of the waits, sorted; their number. */
static size_t list_classes(struct class *list, const struct stack_rows *s)
{
	size_t i, n = 0, k = 0;

	for (i = 0; i < s->n_waits; i++)
		if (is_rationed(s->waits[i].dur, s))
			list[n++] = (struct class){ s->waits[i].tid, s->waits[i].state,
						    s->waits[i].dur, 0 };
	if (n)
		qsort(list, n, sizeof(*list), by_class);
	for (i = 0; i < n; i++)
		if (i && by_class(&list[k - 1], &list[i]) == 0)
			list[k - 1].all += list[i].all; /* both below KEPT_MAX x always */
		else
			list[k++] = list[i];
	return k;
}

static struct class *class_of(struct class *list, size_t n, const struct row_offcpu *row,
			      const struct stack_rows *s)
{
	struct class key = { (u32)row->tid, (u8)row->state, 0, 0 };

	if (!n || row->state == BULK_NULL || !is_rationed(row->waited, s))
		return NULL;
	return bsearch(&key, list, n, sizeof(*list), by_class);
}

static int weigh(struct stack_rows *s, struct err *e)
{
	struct class *list = calloc(s->n_waits + 1, sizeof(*list)), *c;
	struct row_offcpu *row;
	size_t n, i;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	n = s->always ? list_classes(list, s) : 0;
	for (i = 0; i < s->n_offcpu; i++) {
		c = class_of(list, n, &s->offcpu[i], s);
		if (c)
			c->with += s->offcpu[i].waited;
	}
	for (i = 0; i < s->n_offcpu; i++) {
		row = &s->offcpu[i];
		c = class_of(list, n, row, s);
		row->weight = row->waited == BULK_NULL ? row->dur : row->waited;
		if (c && c->with && c->all > c->with) /* a threshold of 0: waits of 0 */
			row->weight = (s64)((double)row->waited * (double)c->all / (double)c->with);
	}
	free(list);
	return 0;
}

/* ---- the request of a moment ---- */

struct point {
	u32 tid;
	u32 next; /* the first one from here on without a request */
	s64 ts;
	s64 *request;
};

static int by_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

static u32 next_free(struct point *p, u32 i)
{
	while (p[i].next != i) {
		p[i].next = p[p[i].next].next;
		i = p[i].next;
	}
	return i;
}

/* Requests come in the order of their ends: what a thread does is for the one it answers next. */
static void take_request(struct point *p, u32 n, sqlite3_stmt *q)
{
	s64 id = sqlite3_column_int64(q, 0), from = sqlite3_column_int64(q, 1);
	s64 to = sqlite3_column_int64(q, 2);
	u32 tid = (u32)sqlite3_column_int64(q, 3), low = 0, high = n, mid, i;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (p[mid].tid < tid || (p[mid].tid == tid && p[mid].ts < from))
			low = mid + 1;
		else
			high = mid;
	}
	for (i = next_free(p, low); i < n && p[i].tid == tid && p[i].ts < to;
	     i = next_free(p, i + 1)) {
		*p[i].request = id;
		p[i].next = i + 1;
	}
}

static int find_requests(struct stack_rows *s, sqlite3 *db, struct err *e)
{
	u32 n = (u32)(s->n_samples + s->n_offcpu), i;
	struct point *p = calloc((size_t)n + 1, sizeof(*p));
	sqlite3_stmt *q = NULL;
	int ret = 0;

	if (!p)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	for (i = 0; i < s->n_samples; i++)
		p[i] = (struct point){ (u32)s->samples[i].tid, 0, s->samples[i].ts,
				       &s->samples[i].request };
	for (; i < n; i++) {
		struct row_offcpu *row = &s->offcpu[i - s->n_samples];

		p[i] = (struct point){ (u32)row->tid, 0, row->ts, &row->request };
	}
	qsort(p, n, sizeof(*p), by_time);
	for (i = 0; i <= n; i++)
		p[i].next = i;
	ret = db_query(&q, db, e, "SELECT rowid, ts, ts + dur, tid FROM request ORDER BY rowid",
		       "");
	while (ret >= 0 && (ret = db_step(q, e)) > 0)
		take_request(p, n, q);
	sqlite3_finalize(q);
	free(p);
	return ret < 0 ? ret : 0;
}

/* Later samples have no request since none was looked for, not since there was none. */
static int put_limit(struct replay *r, const struct stack_rows *s, struct err *e)
{
	char text[32];

	if (!s->samples_left)
		return 0;
	snprintf(text, sizeof(text), "%lld", (long long)s->samples[s->n_samples - 1].ts);
	return row_put(r->db, recording, e, .key = "sample_requests_until_ns", .value = text);
}

int stack_rows_put(struct replay *r, struct err *e)
{
	struct stack_rows *s = stack_rows_of(r);
	size_t i;
	int ret;

	if (!s->n_samples && !s->n_offcpu)
		return 0;
	if (s->n_waits)
		qsort(s->waits, s->n_waits, sizeof(*s->waits), by_thread);
	for (i = 0; i < s->n_offcpu; i++)
		find_state(s, &s->offcpu[i]);
	drop_late(s);
	ret = weigh(s, e);
	if (ret == 0)
		ret = find_requests(s, r->db, e);
	if (ret == 0)
		ret = bulk_again(r->bulk, e);
	if (ret == 0)
		ret = put_limit(r, s, e);
	if (ret < 0)
		return ret;
	for (i = 0; i < s->n_samples; i++)
		*bulk_add(r->bulk, sample) = s->samples[i];
	for (i = 0; i < s->n_offcpu; i++)
		*bulk_add(r->bulk, offcpu) = s->offcpu[i];
	return bulk_close(r->bulk, e);
}

void stack_rows_free(struct stack_rows *s)
{
	free(s->samples);
	free(s->offcpu);
	free(s->waits);
}
