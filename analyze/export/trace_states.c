// SPDX-License-Identifier: GPL-2.0-or-later
/* States of threads, the same time seen from CPUs, and arrows from wakers. */
#include "analyze/store/state.h"
#include "format/recording.h"
#include "trace_rail.h"

#include <stdio.h>

static bool place_state(const void *row, struct place *ret)
{
	const struct row_thread_state *s = row;

	*ret = (struct place){ .span = { s->ts, end_of(s->ts, s->dur) } };
	return s->ts != BULK_NULL && s->dur != BULK_NULL;
}

#define OF(name) COLUMN_OF(thread_state, name)
const struct row_order order_states = { TABLE_thread_state,
					OF(ts) | OF(dur) | OF(tid) | OF(cpu) | OF(state) | OF(nr) |
						OF(waker) | OF(context),
					place_state };
#undef OF

/*
 * From the waker's slice on a CPU to the slice of the thread that it woke: number of the arrow. 0:
 * none, a viewer binds an arrow to the slices that it begins and ends in, and both must be there.
 */
static u64 put_arrow(struct trace *t, const struct rail *r, s64 waker, s64 ts)
{
	struct rail *from = idmap_get(&t->rails, waker);
	struct trace_event v = {
		.kind = TRACE_ARROW, .ts = ts, .name = "wakes", .category = "wakeup"
	};

	if (!from || from == r || from->state != STATE_run || from->last.ts > ts ||
	    from->last.end <= ts || ts < t->part.span.ts)
		return 0;
	v.arrow = ++t->arrows;
	t->w.form->event(&t->w, &from->states.k, &v);
	return v.arrow;
}

/* The same time seen from the CPU. */
static int on_cpu(struct trace *t, struct rail *r, s64 tid, s64 cpu, struct span span)
{
	struct track *k = cpu >= 0 && cpu < STREAM_MAX ? &t->cpus[cpu] : NULL;
	char name[128];
	struct trace_event v = { .name = name };

	if (!k)
		return 0;
	if (!k->k.named) {
		snprintf(name, sizeof(name), "CPU %lld", (long long)cpu);
		trace_track(t, k, TRACK_LANE, PID_CPUS, cpu + 1, name, cpu);
	}
	/* no CPU runs two threads: where the recording says so, the first one stays */
	if (k->n && span.ts < k->open[0].end)
		span.ts = k->open[0].end;
	if (span.end <= span.ts)
		return 0;
	snprintf(name, sizeof(name), "%s[%lld]", r->comm, (long long)tid);
	return track_begin(&t->part, k, span, &v) < 0 ? ERR_FAIL : t->w.failed;
}

static void add_args(const struct trace *t, struct trace_event *v, const struct row_thread_state *s)
{
	static const char *const contexts[] = { "task", "softirq", "hardirq", "nmi" };
	const char *call = s->nr == BULK_NULL ? NULL : trace_name(&t->nrs, s->nr);

	if (s->state == STATE_run)
		trace_arg(v, "cpu", number_of(s->cpu));
	if (call)
		trace_arg_text(v, "syscall", call);
	if (number_of(s->waker))
		trace_arg(v, "woken_by", s->waker);
	if (s->context != BULK_NULL)
		trace_arg_text(v, "woken_from", contexts[s->context & 3]);
}

int trace_state(struct trace *t, const void *row, const struct place *at)
{
	const struct row_thread_state *s = row;
	s64 tid = number_of(s->tid), waker = number_of(s->waker);
	int state = (int)number_of(s->state), ret;
	const char *name = trace_name(&t->states, state);
	struct trace_event v = { .name = name ? name : "" };
	struct rail *r = trace_rail(t, tid);
	struct span span = at->span;

	if (!r)
		return ERR_FAIL;
	span.ts = span.ts < r->last.end ? r->last.end : span.ts;
	if (span.end <= span.ts)
		return 0;
	trace_name_thread(t, r, tid, &r->states);
	add_args(t, &v, s);
	/* the wait before names the waker too: the arrow ends where the waiting for a CPU begins */
	if (state == STATE_woken && waker && span.ts == s->ts)
		v.arrow = put_arrow(t, r, waker, s->ts);
	ret = track_begin(&t->part, &r->states, span, &v);
	r->last = span;
	r->state = state;
	if (ret >= 0 && state == STATE_run)
		return on_cpu(t, r, tid, number_of(s->cpu), span);
	return ret < 0 ? ret : 0;
}
