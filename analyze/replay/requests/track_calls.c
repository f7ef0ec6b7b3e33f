// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of probed functions: entry and return are paired by the stack pointer, so
 * nested and recursive calls come out right and calls that never return (longjmp,
 * exceptions) are found. A call's wall time is split by the thread's clocks at both
 * ends; both are in user mode, where all sleeps before are settled.
 */
#include "track_calls.h"

#include "analyze/replay/latency_rows.h"
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/tasks/track_states.h"
#include "analyze/replay/track_loss.h"
#include "track_services.h"

#include <stdlib.h>
#include <string.h>

#define RETURNS_OPEN 64 /* of one thread: MAX_URETPROBE_DEPTH of the kernel */

struct call_stat {
	u32 site;
	bool entries_only; /* its returns are not recorded */
	u64 open, unmatched, abandoned, nested, oldest;
	u64 n, apart, recursive, total, exclusive, entries;
	bool split;
	struct hist latency;
	u64 inner[N_STATES]; /* time of probed functions called from it */
	struct hist states[N_STATES];
};

/* A probed call that has not returned. */
struct frame {
	u64 ts;
	u64 sp;
	u32 site;
	u32 n_args;
	bool nested; /* below so many open calls that the kernel gives no return probe */
	u64 args[SITE_ARGS_MAX];
	u64 children;	     /* wall time of probed calls made from it */
	u64 clock[N_STATES]; /* the thread's clocks at entry */
	u64 inner[N_STATES]; /* time in each state of probed calls made from it */
};

/* Of one thread. */
struct call_stack {
	struct frame *frames;
	u32 n, cap;
};

struct calls {
	struct idmap stats;
	u32 n_frames; /* open probed calls of all threads */
};

static struct calls *own(const struct replay *r)
{
	return r->own[TRACK_calls];
}

static struct call_stack *stack_of(const struct thread *t)
{
	return t->own[TRACK_calls];
}

static struct call_stat *stat_of(struct replay *r, u32 site, struct err *e)
{
	struct call_stat *s = idmap_get(&own(r)->stats, site);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(e, ERR_FAIL, "out of memory for calls");
		return NULL;
	}
	s->site = site;
	if (idmap_put(&own(r)->stats, site, s, STAT_LIMIT, e) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

/* Forgets the oldest or newest n frames: their returns will not come. */
static int abandon(struct replay *r, struct thread *t, u32 from, u32 n, struct err *e)
{
	struct call_stack *all = stack_of(t);
	struct call_stat *s;
	u32 i;

	for (i = from; i < from + n; i++) {
		s = stat_of(r, all->frames[i].site, e);
		if (!s)
			return ERR_FAIL;
		if (all->frames[i].nested)
			s->nested++;
		else
			s->abandoned++;
	}
	memmove(all->frames + from, all->frames + from + n,
		(all->n - from - n) * sizeof(*all->frames));
	all->n -= n;
	own(r)->n_frames -= n;
	return 0;
}

static int room_for_frame(struct replay *r, struct thread *t, struct err *e)
{
	struct call_stack *all = stack_of(t);
	u32 cap = all->cap ? 2 * all->cap : 8;
	struct frame *grown;

	/* those that the kernel gave no return go first */
	if (all->n == FRAME_LIMIT && all->frames[RETURNS_OPEN].nested)
		return abandon(r, t, RETURNS_OPEN, FRAME_LIMIT / 2, e);
	if (all->n == FRAME_LIMIT || (own(r)->n_frames >= FRAME_TOTAL && all->n > 1))
		return abandon(r, t, 0, all->n / 2, e);
	if (own(r)->n_frames >= FRAME_TOTAL)
		return err_set(e, ERR_DAMAGED, "the recording claims more than %d open calls",
			       FRAME_TOTAL);
	if (all->n < all->cap)
		return 0;
	grown = realloc(all->frames, cap * sizeof(*grown));
	if (!grown)
		return err_set(e, ERR_FAIL, "out of memory for calls");
	all->frames = grown;
	all->cap = cap;
	return 0;
}

int calls_entries_only(struct replay *r, u32 site, struct err *e)
{
	struct call_stat *s = stat_of(r, site, e);

	if (!s)
		return ERR_FAIL;
	s->entries_only = true;
	return 0;
}

static s64 argument(const struct frame *f, u32 i)
{
	return i < f->n_args ? (s64)f->args[i] : BULK_NULL;
}

/* spent NULL: where the time went is not known. */
static void end_row(struct row_call *row, const struct frame *f, const u64 *spent)
{
#define STATE(id, name, ...) row->name = spent ? (s64)(spent[id] & INT64_MAX) : BULK_NULL;
#include "analyze/store/waits.def"
#undef STATE
	_Static_assert(SITE_ARGS_MAX == 4, "a column each");
	row->arg0 = argument(f, 0);
	row->arg1 = argument(f, 1);
	row->arg2 = argument(f, 2);
	row->arg3 = argument(f, 3);
}

/* A call whose return is not recorded is a row at once, without times. */
static int entry_row(struct replay *r, const struct thread *t, const struct frame *f, struct err *e)
{
	struct row_call *row = bulk_add(r->bulk, call);

	row->ts = replay_time(r, f->ts);
	row->dur = row->exclusive = row->value = BULK_NULL;
	row->tid = t->tid;
	row->site = f->site;
	row->depth = stack_of(t)->n;
	row->lossy = 0;
	end_row(row, f, NULL);
	return services_on_call(r, t->process, f->site, f->ts, UINT64_MAX, e);
}

static int enter(struct replay *r, const struct record *rec, struct frame *f, struct err *e)
{
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct call_stat *s;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	f->ts = rec->ts;
	s = idmap_get(&own(r)->stats, f->site);
	if (s && s->entries_only) {
		s->entries++;
		return entry_row(r, t, f, e);
	}
	if (states_settle(r, t, NULL, e) < 0 || room_for_frame(r, t, e) < 0)
		return ERR_FAIL;
	memcpy(f->clock, t->clock, sizeof(f->clock));
	f->nested = stack_of(t)->n >= RETURNS_OPEN;
	stack_of(t)->frames[stack_of(t)->n++] = *f;
	own(r)->n_frames++;
	return 0;
}

static int calls_on_call(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call *ev = rec->event;
	struct frame f = { .sp = ev->sp, .site = ev->site };

	return enter(r, rec, &f, e);
}

static int calls_on_call_args(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call_args *ev = rec->event;
	struct frame f = {
		.sp = ev->sp,
		.site = ev->site,
		.n_args = ev->args,
		.args = { ev->arg0, ev->arg1, ev->arg2, ev->arg3 },
	};

	return enter(r, rec, &f, e);
}

/* What the thread's clocks gained while the call ran; false: they do not tell. */
static bool split_call(const struct replay *r, const struct thread *t, const struct frame *f,
		       u64 wall, u64 spent[N_STATES])
{
	u64 off = 0;
	int i;

	for (i = STATE_run + 1; i < N_STATES; i++) {
		spent[i] = elapsed(f->clock[i], t->clock[i]);
		off += spent[i];
	}
	spent[STATE_run] = elapsed(off, wall);
	return t->tracked && has_group(r, GROUP_sched);
}

static void call_row(struct replay *r, const struct thread *t, const struct frame *f,
		     const struct record *rec, bool lossy, const u64 *spent)
{
	const struct ev_return *ev = rec->event;
	u64 wall = elapsed(f->ts, rec->ts);
	struct row_call *row = bulk_add(r->bulk, call);

	row->ts = replay_time(r, f->ts);
	row->dur = wall;
	row->tid = t->tid;
	row->site = f->site;
	row->depth = stack_of(t)->n;
	row->exclusive = elapsed(f->children, wall);
	row->value = (s64)ev->value;
	row->lossy = lossy;
	end_row(row, f, spent);
}

/* The sums of its function; spent NULL: where the time went is not known. */
static void count_call(struct call_stat *s, const struct call_stack *all, const struct frame *f,
		       u64 wall, const u64 *spent)
{
	u32 k;
	int i;

	s->n++;
	s->total += wall;
	s->exclusive += elapsed(f->children, wall);
	for (k = all->n; k > 0; k--)
		if (all->frames[k - 1].site == f->site) {
			s->recursive++;
			break;
		}
	hist_add(&s->latency, wall);
	s->split |= spent != NULL;
	for (i = 0; spent && i < N_STATES; i++) {
		if (spent[i])
			hist_add(&s->states[i], spent[i]);
		s->inner[i] += f->inner[i] < spent[i] ? f->inner[i] : spent[i];
	}
}

/* The call is done: its row, its function's sums, and its caller's. */
static void end_call(struct replay *r, struct thread *t, const struct frame *f,
		     const struct record *rec, struct call_stat *s)
{
	u64 wall = elapsed(f->ts, rec->ts), spent[N_STATES];
	bool split = split_call(r, t, f, wall, spent), lossy = loss_overlaps(r, f->ts, rec->ts);
	struct call_stack *all = stack_of(t);
	struct frame *caller = all->n ? &all->frames[all->n - 1] : NULL;
	int i;

	call_row(r, t, f, rec, lossy, split ? spent : NULL);
	if (lossy || (split && spent[STATE_unknown]))
		s->apart++;
	else
		count_call(s, stack_of(t), f, wall, split ? spent : NULL);
	if (!caller)
		return;
	caller->children += wall;
	for (i = 0; i < N_STATES; i++)
		caller->inner[i] += spent[i];
}

static int calls_on_return(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_return *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct call_stat *s = t ? stat_of(r, ev->site, e) : NULL;
	struct call_stack *all;
	struct frame f;
	u32 i;

	if (!s)
		return rec->tid ? ERR_FAIL : 0;
	all = stack_of(t);
	for (i = all->n; i > 0; i--)
		if (all->frames[i - 1].sp == ev->sp && all->frames[i - 1].site == ev->site)
			break;
	if (i == 0) {
		s->unmatched++;
		return 0;
	}
	if (states_settle(r, t, NULL, e) < 0 || abandon(r, t, i, all->n - i, e) < 0)
		return ERR_FAIL;
	f = all->frames[--all->n];
	own(r)->n_frames--;
	end_call(r, t, &f, rec, s);
	return services_on_call(r, t->process, ev->site, rec->ts, elapsed(f.ts, rec->ts), e);
}

/* The thread ends: what is open is counted. */
static int calls_thread_end(struct replay *r, struct thread *t, u64 ts, struct err *e)
{
	struct call_stack *all = stack_of(t);
	struct call_stat *s;
	u64 age;
	u32 i;

	for (i = 0; i < all->n; i++) {
		s = stat_of(r, all->frames[i].site, e);
		if (!s)
			return ERR_FAIL;
		if (all->frames[i].nested) {
			s->nested++;
			continue;
		}
		age = elapsed(all->frames[i].ts, ts);
		s->open++;
		s->oldest = age > s->oldest ? age : s->oldest;
	}
	own(r)->n_frames -= all->n;
	all->n = 0;
	return 0;
}

static int calls_on_exec(struct replay *r, const struct record *rec, struct err *e)
{
	struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;

	return t ? calls_thread_end(r, t, rec->ts, e) : 0;
}

static int by_site(const void *a, const void *b)
{
	const struct call_stat *x = *(struct call_stat *const *)a;
	const struct call_stat *y = *(struct call_stat *const *)b;

	return x->site < y->site ? -1 : x->site > y->site;
}

/* Where the time went, state by state; calls that were never in a state have 0 of it. */
static int state_rows(struct replay *r, const struct call_stat *s, struct err *e)
{
	const struct hist *h;
	int i, ret = 0;

	for (i = 0; i < N_STATES && ret == 0; i++) {
		h = &s->states[i];
		if (!h->n)
			continue;
		ret = row_put(r->db, call_state, e, .site = s->site, .state = i, .n = h->n,
			      .total = h->sum & INT64_MAX,
			      .exclusive = elapsed(s->inner[i], h->sum) & INT64_MAX,
			      .longest = h->max & INT64_MAX);
		if (ret == 0 && s->n > h->n)
			ret = row_put(r->db, latency, e, .kind = "call_state", .subject = s->site,
				      .item = i, .low = 0, .high = 1, .n = s->n - h->n);
		if (ret == 0)
			ret = latency_rows(r, "call_state", s->site, i, h, e);
	}
	return ret;
}

static int stat_rows(struct replay *r, const struct call_stat *s, struct err *e)
{
	int ret = 0;

	if (s->open || s->unmatched || s->abandoned || s->nested)
		ret = row_put(r->db, call_defect, e, .site = s->site, .open = s->open,
			      .unmatched = s->unmatched, .abandoned = s->abandoned,
			      .oldest = s->oldest & INT64_MAX, .nested = s->nested);
	if (ret == 0)
		ret = row_put(r->db, call_stat, e, .site = s->site, .n = s->n, .apart = s->apart,
			      .recursive = s->recursive, .total = s->total & INT64_MAX,
			      .exclusive = s->exclusive & INT64_MAX,
			      .longest = s->latency.max & INT64_MAX, .split = s->split,
			      .entries = s->entries);
	if (ret == 0)
		ret = latency_rows(r, "call", 0, s->site, &s->latency, e);
	return ret < 0 ? ret : state_rows(r, s, e);
}

static int calls_finish(struct replay *r, struct err *e)
{
	struct call_stat **list = calloc(own(r)->stats.n + 1, sizeof(*list)), *s;
	size_t at = 0, n = 0, i;
	int ret = 0;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for calls");
	while ((s = idmap_each(&own(r)->stats, &at)))
		list[n++] = s;
	qsort(list, n, sizeof(*list), by_site);
	for (i = 0; i < n && ret == 0; i++)
		ret = stat_rows(r, list[i], e);
	free(list);
	return ret;
}

static void calls_free(void *slot)
{
	struct calls *all = slot;
	struct call_stat *s;
	size_t at = 0;
	int i;

	while ((s = idmap_each(&all->stats, &at))) {
		hist_free(&s->latency);
		for (i = 0; i < N_STATES; i++)
			hist_free(&s->states[i]);
		free(s);
	}
	idmap_free(&all->stats);
}

static void calls_thread_free(void *own)
{
	free(((struct call_stack *)own)->frames);
}

static const struct handler handlers[] = {
	{ EV_exec, false, calls_on_exec },
	{ EV_call, false, calls_on_call },
	{ EV_call_args, false, calls_on_call_args },
	{ EV_return, false, calls_on_return },
	{ 0 },
};

const struct tracker track_calls = {
	.name = "calls",
	.handlers = handlers,
	.of_replay = sizeof(struct calls),
	.of_thread = sizeof(struct call_stack),
	.thread_end = calls_thread_end,
	.finish = calls_finish,
	.thread_free = calls_thread_free,
	.free = calls_free,
};
