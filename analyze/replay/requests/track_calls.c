// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of probed functions: entry and return are paired by the stack pointer, so
 * nested and recursive calls come out right and calls that never return (longjmp,
 * exceptions) are found. A call's wall time is split by the thread's clocks at both
 * ends; both are in user mode, where all sleeps before are settled.
 */
#include "track_calls.h"

#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/tasks/track_states.h"
#include "analyze/replay/track_loss.h"
#include "call_rows.h"
#include "track_services.h"

#include <stdlib.h>
#include <string.h>

#define RETURNS_OPEN 64	 /* of one thread: MAX_URETPROBE_DEPTH of the kernel */
#define LOCATED	     100 /* rows of span_defect of a site and defect */

/* Of one thread. */
struct call_stack {
	struct frame *frames;
	u32 n, cap, spans;
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

struct call_stat *calls_stat(struct replay *r, u32 site, struct err *e)
{
	return call_stat_of(&own(r)->stats, site, e);
}

int calls_defect(struct replay *r, u32 site, enum span_defect defect, u64 ts, u32 tid, s64 key,
		 struct err *e)
{
	static const char *const names[] = {
		[SPAN_REUSED] = "reused", [SPAN_NO_START] = "no start",
		[SPAN_NO_END] = "no end", [SPAN_FORGOTTEN] = "forgotten",
		[SPAN_NO_KEY] = "no key", [SPAN_NO_TEXT] = "no text",
	};
	struct call_stat *s = calls_stat(r, site, e);

	if (!s)
		return ERR_FAIL;
	s->reused += defect == SPAN_REUSED;
	s->unmatched += defect == SPAN_NO_START;
	s->open += defect == SPAN_NO_END;
	s->forgotten += defect == SPAN_FORGOTTEN;
	s->keyless += defect == SPAN_NO_KEY;
	s->unreadable += defect == SPAN_NO_TEXT;
	if (s->located[defect] == LOCATED)
		return 0;
	s->located[defect]++;
	return row_put(r->db, span_defect, e, .ts = replay_time(r, ts), .tid = tid, .site = site,
		       .key = key, .defect = names[defect]);
}

static void take_out(struct replay *r, struct call_stack *all, u32 from, u32 n)
{
	u32 i;

	if (!n)
		return;
	for (i = from; i < from + n; i++)
		all->spans -= all->frames[i].span;
	memmove(all->frames + from, all->frames + from + n,
		(all->n - from - n) * sizeof(*all->frames));
	all->n -= n;
	own(r)->n_frames -= n;
}

/* The end of an open call will not come. */
static int count_lost_end(struct replay *r, const struct frame *f, struct err *e)
{
	struct call_stat *s = calls_stat(r, f->site, e);

	if (!s)
		return ERR_FAIL;
	if (f->nested)
		s->nested++;
	else
		s->abandoned++;
	return 0;
}

/* Forgets n frames: their returns will not come. */
static int abandon(struct replay *r, struct thread *t, u32 from, u32 n, struct err *e)
{
	u32 i;

	for (i = from; i < from + n; i++)
		if (count_lost_end(r, &stack_of(t)->frames[i], e) < 0)
			return ERR_FAIL;
	take_out(r, stack_of(t), from, n);
	return 0;
}

/* A function returned: what it called will not, but spans may go on. */
static int abandon_called(struct replay *r, struct thread *t, u32 from, struct err *e)
{
	struct call_stack *all = stack_of(t);
	u32 i, kept = from;

	for (i = from; i < all->n; i++)
		if (all->frames[i].span)
			all->frames[kept++] = all->frames[i];
		else if (count_lost_end(r, &all->frames[i], e) < 0)
			return ERR_FAIL;
	own(r)->n_frames -= all->n - kept;
	all->n = kept;
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
	struct call_stat *s = calls_stat(r, site, e);

	if (!s)
		return ERR_FAIL;
	s->entries_only = true;
	return 0;
}

/* A function whose calls are counted at times is no service: part of its calls is no rate. */
static int on_service(struct replay *r, const struct thread *t, const struct frame *f, u64 dur,
		      u64 ts, struct err *e)
{
	const struct call_stat *s = idmap_get(&own(r)->stats, f->site);

	if (s && s->no_service)
		return 0;
	return services_on_call(r, t->process, f->site, ts, dur, e);
}

/* A call whose return is not recorded is a row at once, without times. */
static int entry_row(struct replay *r, const struct thread *t, const struct frame *f, struct err *e)
{
	call_entry_row(r, t, f, stack_of(t)->n);
	return on_service(r, t, f, UINT64_MAX, f->ts, e);
}

static int enter(struct replay *r, const struct record *rec, struct frame *f, struct err *e)
{
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct call_stack *all;
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
	all = stack_of(t);
	f->nested = !f->span && all->n - all->spans >= RETURNS_OPEN;
	all->spans += f->span;
	all->frames[all->n++] = *f;
	own(r)->n_frames++;
	return 0;
}

static int calls_on_call(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call *ev = rec->event;
	struct frame f = { .sp = ev->sp, .site = ev->site, .text = BULK_NULL };

	return enter(r, rec, &f, e);
}

static int calls_on_call_args(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call_args *ev = rec->event;
	struct frame f = {
		.sp = ev->sp,
		.site = ev->site,
		.text = BULK_NULL,
		.n_args = ev->args,
		.args = { ev->arg0, ev->arg1, ev->arg2, ev->arg3 },
	};

	return enter(r, rec, &f, e);
}

int calls_begin_span(struct replay *r, const struct record *rec, const struct span_start *s,
		     struct err *e)
{
	struct frame f = {
		.site = s->site, .sp = s->sp, .span = !s->sp, .n_args = s->n_args, .text = s->text
	};

	memcpy(f.args, s->args, sizeof(f.args));
	return enter(r, rec, &f, e);
}

int calls_on_mark(struct replay *r, u32 site, struct err *e)
{
	struct call_stat *s = calls_stat(r, site, e);

	if (!s)
		return ERR_FAIL;
	s->entries++;
	return 0;
}

/* The same function is among the frames below. */
static bool is_recursive(const struct call_stack *all, u32 depth, u32 site)
{
	while (depth > 0)
		if (all->frames[--depth].site == site)
			return true;
	return false;
}

/* The call is done: its row, its function's sums, and its caller's. depth: frames below it. */
static void end_call(struct replay *r, struct thread *t, const struct frame *f, u32 depth,
		     const struct record *rec, struct call_stat *s)
{
	u64 wall = elapsed(f->ts, rec->ts), spent[N_STATES];
	struct call_end end = { .ts = rec->ts,
				.depth = depth,
				.lossy = loss_overlaps(r, f->ts, rec->ts),
				.end_tid = BULK_NULL };
	struct call_stack *all = stack_of(t);
	struct frame *caller = depth ? &all->frames[depth - 1] : NULL;
	int i;

	if (call_split(r, t, f, wall, spent))
		end.spent = spent;
	call_row(r, t->tid, f, &end);
	if (call_stat_add(s, f, &end))
		s->recursive += is_recursive(all, depth, f->site);
	if (!caller)
		return;
	caller->children += wall;
	for (i = 0; i < N_STATES; i++)
		caller->inner[i] += spent[i];
}

/* A call or span (sp 0) ended: the innermost of its site that is open. */
static int leave(struct replay *r, const struct record *rec, u32 site, u64 sp, s64 value,
		 struct err *e)
{
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct call_stat *s = t ? calls_stat(r, site, e) : NULL;
	struct call_stack *all;
	struct frame f;
	u32 i;

	if (!s)
		return rec->tid ? ERR_FAIL : 0;
	all = stack_of(t);
	for (i = all->n; i > 0; i--)
		if (all->frames[i - 1].sp == sp && all->frames[i - 1].site == site)
			break;
	if (i == 0) {
		s->unmatched++;
		return 0;
	}
	f = all->frames[i - 1];
	f.value = value;
	if (states_settle(r, t, NULL, e) < 0 || (!f.span && abandon_called(r, t, i, e) < 0))
		return ERR_FAIL;
	take_out(r, all, i - 1, 1);
	end_call(r, t, &f, i - 1, rec, s);
	return on_service(r, t, &f, elapsed(f.ts, rec->ts), rec->ts, e);
}

static int calls_on_return(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_return *ev = rec->event;

	return leave(r, rec, ev->site, ev->sp, (s64)ev->value, e);
}

int calls_end_span(struct replay *r, const struct record *rec, u32 site, s64 value, struct err *e)
{
	return leave(r, rec, site, 0, value, e);
}

/* The thread ends: what is open is counted. */
static int calls_thread_end(struct replay *r, struct thread *t, u64 ts, struct err *e)
{
	struct call_stack *all = stack_of(t);
	struct call_stat *s;
	u64 age;
	u32 i;

	for (i = 0; i < all->n; i++) {
		s = calls_stat(r, all->frames[i].site, e);
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
	take_out(r, all, 0, all->n);
	return 0;
}

static int calls_on_exec(struct replay *r, const struct record *rec, struct err *e)
{
	struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;

	return t ? calls_thread_end(r, t, rec->ts, e) : 0;
}

static int calls_finish(struct replay *r, struct err *e)
{
	return call_stats_put(r, &own(r)->stats, e);
}

static void calls_free(void *slot)
{
	call_stats_free(&((struct calls *)slot)->stats);
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
