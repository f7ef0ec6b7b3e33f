// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spans with a key. A key is open once: a start with an open key replaces it, and the start before
 * has no end. States are those of the thread, if the span starts and ends on it.
 */
#include "track_keyed.h"

#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/tasks/track_states.h"
#include "analyze/replay/track_loss.h"
#include "call_rows.h"
#include "track_services.h"

#include <stdlib.h>
#include <string.h>

/* A span that has not ended. */
struct open_span {
	struct frame f;
	u32 tid;
	u64 thread_start; /* another thread can have the number later */
	u64 key;
	struct keyed_site *of;
	struct open_span *prev, *next; /* all of the replay, in order of their starts */
};

/* Of a process. */
struct keyed_site {
	struct keyed *all;
	struct idmap open; /* by key */
};

struct keyed_process {
	struct idmap sites;
};

struct keyed {
	struct open_span *oldest, *newest;
	u32 n;
};

static struct keyed *own(const struct replay *r)
{
	return r->own[TRACK_keyed];
}

static void unlink_span(struct open_span *s)
{
	struct keyed *all = s->of->all;

	if (s->prev)
		s->prev->next = s->next;
	else
		all->oldest = s->next;
	if (s->next)
		s->next->prev = s->prev;
	else
		all->newest = s->prev;
	all->n--;
}

static void link_span(struct open_span *s)
{
	struct keyed *all = s->of->all;

	s->prev = all->newest;
	s->next = NULL;
	if (all->newest)
		all->newest->next = s;
	else
		all->oldest = s;
	all->newest = s;
	all->n++;
}

/* The end of an open span will not come, or not be known. */
static int give_up(struct replay *r, struct open_span *s, enum span_defect defect, struct err *e)
{
	int ret = calls_defect(r, s->f.site, defect, s->f.ts, s->tid, (s64)s->key, e);

	idmap_take(&s->of->open, s->key);
	unlink_span(s);
	free(s);
	return ret;
}

static struct keyed_site *site_of(struct replay *r, struct process *p, u32 site, struct err *e)
{
	struct keyed_process *all = p->own[TRACK_keyed];
	struct keyed_site *s = idmap_get(&all->sites, site);

	if (s)
		return s;
	s = idmap_add(&all->sites, site, sizeof(*s), STAT_LIMIT, "spans", e);
	if (!s)
		return NULL;
	s->all = own(r);
	return s;
}

static struct open_span *new_span(const struct record *rec, const struct thread *t,
				  const struct span_start *start, struct keyed_site *of)
{
	struct open_span *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->f.ts = rec->ts;
	s->f.site = start->site;
	s->f.span = true;
	s->f.n_args = start->n_args;
	s->f.text = start->text;
	memcpy(s->f.args, start->args, sizeof(s->f.args));
	memcpy(s->f.clock, t->clock, sizeof(s->f.clock));
	s->tid = t->tid;
	s->thread_start = t->start;
	s->key = (u64)start->args[0];
	s->of = of;
	return s;
}

/* The thread; NULL with *ret 0: there is none, or no key. */
static struct thread *thread_of(struct replay *r, const struct record *rec,
				const struct span_start *start, int *ret, struct err *e)
{
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;

	*ret = rec->tid && !t ? ERR_FAIL : 0;
	if (!t || start->args[0] != BULK_NULL)
		return t;
	*ret = calls_defect(r, start->site, SPAN_NO_KEY, rec->ts, rec->tid, BULK_NULL, e);
	return NULL;
}

static int start_span(struct replay *r, const struct record *rec, struct thread *t,
		      const struct span_start *start, struct keyed_site *of, struct err *e)
{
	struct open_span *s = idmap_get(&of->open, (u64)start->args[0]);

	if (s && give_up(r, s, SPAN_REUSED, e) < 0)
		return ERR_FAIL;
	if (own(r)->n >= SPAN_TOTAL && give_up(r, own(r)->oldest, SPAN_FORGOTTEN, e) < 0)
		return ERR_FAIL;
	s = new_span(rec, t, start, of);
	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for spans");
	if (idmap_put(&of->open, s->key, s, SPAN_TOTAL, e) < 0) {
		free(s);
		return ERR_FAIL;
	}
	link_span(s);
	return 0;
}

static int put_span(struct replay *r, const struct record *rec, struct thread *t,
		    const struct open_span *s, struct err *e)
{
	struct call_stat *stat = calls_stat(r, s->f.site, e);
	struct call_end end = { .ts = rec->ts,
				.lossy = loss_overlaps(r, s->f.ts, rec->ts),
				.moved = s->tid != t->tid || s->thread_start != t->start,
				.end_tid = t->tid };
	u64 wall = elapsed(s->f.ts, rec->ts), spent[N_STATES];

	if (!stat)
		return ERR_FAIL;
	if (!end.moved && call_split(r, t, &s->f, wall, spent))
		end.spent = spent;
	call_row(r, s->tid, &s->f, &end);
	call_stat_add(stat, &s->f, &end);
	return services_on_call(r, t->process, s->f.site, rec->ts, wall, e);
}

static int end_span(struct replay *r, const struct record *rec, struct thread *t,
		    const struct span_start *start, struct keyed_site *of, struct err *e)
{
	struct open_span *s = idmap_take(&of->open, (u64)start->args[0]);
	int ret;

	if (!s)
		return calls_defect(r, start->site, SPAN_NO_START, rec->ts, rec->tid,
				    start->args[0], e);
	unlink_span(s);
	s->f.value = start->args[1];
	ret = put_span(r, rec, t, s, e);
	free(s);
	return ret;
}

int keyed_on(struct replay *r, const struct record *rec, const struct span_start *start, bool ends,
	     struct err *e)
{
	int ret;
	struct thread *t = thread_of(r, rec, start, &ret, e);
	struct keyed_site *of;

	if (!t)
		return ret;
	of = site_of(r, t->process, start->site, e);
	if (!of || states_settle(r, t, NULL, e) < 0)
		return ERR_FAIL;
	return (ends ? end_span : start_span)(r, rec, t, start, of, e);
}

/* The order in which their rows are written, whatever the maps' is. */
static int by_start(const void *a, const void *b)
{
	const struct open_span *x = *(struct open_span *const *)a;
	const struct open_span *y = *(struct open_span *const *)b;

	if (x->f.ts != y->f.ts)
		return x->f.ts < y->f.ts ? -1 : 1;
	if (x->f.site != y->f.site)
		return x->f.site < y->f.site ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* All open spans of a process, sorted; NULL: out of memory. */
static struct open_span **spans_of(const struct keyed_process *all, size_t *ret_n)
{
	struct open_span **list, *s;
	struct keyed_site *of;
	size_t at, k, n = 0;

	for (at = 0; (of = idmap_each(&all->sites, &at));)
		n += of->open.n;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return NULL;
	for (at = n = 0; (of = idmap_each(&all->sites, &at));)
		for (k = 0; (s = idmap_each(&of->open, &k));)
			list[n++] = s;
	qsort(list, n, sizeof(*list), by_start);
	*ret_n = n;
	return list;
}

/* The process ends, or its memory is replaced: what is open is counted. */
static int keyed_process_end(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	struct keyed_process *all = p->own[TRACK_keyed];
	struct open_span **list;
	struct call_stat *stat;
	size_t n = 0, i;
	int ret = 0;
	u64 age;

	if (!all->sites.n)
		return 0;
	list = spans_of(all, &n);
	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for spans");
	for (i = 0; i < n && ret == 0; i++) {
		stat = calls_stat(r, list[i]->f.site, e);
		age = elapsed(list[i]->f.ts, ts);
		if (stat && age > stat->oldest)
			stat->oldest = age;
		ret = stat ? give_up(r, list[i], SPAN_NO_END, e) : ERR_FAIL;
	}
	free(list);
	return ret;
}

static int keyed_on_exec(struct replay *r, const struct record *rec, struct err *e)
{
	struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;

	return t ? keyed_process_end(r, t->process, rec->ts, e) : 0;
}

static void keyed_process_free(void *slot)
{
	struct keyed_process *all = slot;
	struct keyed_site *of;
	struct open_span *s;
	size_t at = 0, k;

	while ((of = idmap_each(&all->sites, &at))) {
		for (k = 0; (s = idmap_each(&of->open, &k));) {
			unlink_span(s);
			free(s);
		}
		idmap_free(&of->open);
		free(of);
	}
	idmap_free(&all->sites);
}

static const struct handler handlers[] = {
	{ EV_exec, false, keyed_on_exec },
	{ 0 },
};

const struct tracker track_keyed = {
	.name = "keyed",
	.handlers = handlers,
	.of_replay = sizeof(struct keyed),
	.of_process = sizeof(struct keyed_process),
	.process_end = keyed_process_end,
	.process_free = keyed_process_free,
};
