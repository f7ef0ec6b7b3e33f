// SPDX-License-Identifier: GPL-2.0-or-later
/* A wait whose second part does not come within a moment has no user stack: it was lost, or the
 * thread has ended. */
#include "raw_queue.h"

#include "sampler.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MAX    200000000ull   /* ns */
#define TABLES_TIME 60000000000ull /* ns: tables take in new stacks for this long, at least */

/* One that has the same file mapped (code_module.h). */
static const struct code_map *find_other(void *arg, const struct code_map *map, u32 pid, u32 *place,
					 u32 *ret)
{
	const struct raw_queue *q = arg;
	const struct code_process *p;
	const struct code_map *m;

	for (; *place < PROCESSES; ++*place) {
		p = &q->processes[*place];
		if (!p->pid || p->pid == pid)
			continue;
		for (m = p->maps.list; m < p->maps.list + p->maps.n; m++)
			if (m->ino == map->ino && m->dev == map->dev && m->kind == map->kind) {
				++*place;
				*ret = p->pid;
				return m;
			}
	}
	return NULL;
}

bool raw_queue_start(struct raw_queue *q, u32 rate)
{
	q->period = sampler_period(rate);
	kernel_code_open(&q->kernel);
	new_maps_open(&q->mapped);
	q->modules.other = find_other;
	q->modules.arg = q;
	return code_modules_start(&q->modules) && unwinder_start(&q->unwinder, &q->modules) &&
	       stack_tables_start(&q->tables, false);
}

struct code_process *raw_queue_process(struct raw_queue *q, u32 pid)
{
	u32 i;

	if (q->processes[q->recent].pid == pid)
		return &q->processes[q->recent];
	for (i = 0; i < PROCESSES; i++)
		if (q->processes[i].pid == pid)
			return &q->processes[q->recent = i];
	return NULL;
}

static void take_map(void *arg, u64 ts, u32 pid, const struct code_map *map)
{
	struct raw_queue *q = arg;
	struct code_process *p;

	for (p = q->processes; p < q->processes + PROCESSES; p++)
		if (p->pid && (!pid || (p->pid == pid && code_maps_replaced(&p->maps, map))))
			p->maps_old = !p->maps_old || ts < p->maps_old ? ts + 1 : p->maps_old;
}

void raw_queue_look(struct raw_queue *q)
{
	new_maps_read(&q->mapped, take_map, q);
}

/* The process of a stack; a new one takes the place of the one not seen for longest. */
static struct code_process *process_of(struct raw_queue *q, const struct raw_stack *raw)
{
	struct code_process *p = raw_queue_process(q, raw->pid);
	int i;

	if (!p)
		for (p = &q->processes[0], i = 1; i < PROCESSES; i++)
			if (q->processes[i].used < p->used)
				p = &q->processes[i];
	if (p->pid != raw->pid || p->mm != raw->mm) {
		code_process_free(&q->unwinder, p);
		p->pid = raw->pid;
		p->mm = raw->mm;
	}
	p->used = raw->ts > p->used ? raw->ts : p->used;
	return p;
}

static u32 kernel_stack(struct raw_queue *q, const struct raw_stack *raw, u8 *flags)
{
	u32 n = raw->n_kernel < STACK_FRAMES ? raw->n_kernel : STACK_FRAMES, i;
	u32 id;

	for (i = 0; i < n; i++) /* all but the first are return addresses */
		kernel_code_find(&q->kernel, &q->modules, raw->kernel[i] - (i > 0),
				 &q->frames[i].module, &q->frames[i].address);
	id = stack_tables_add(&q->tables, q->frames, n);
	if ((n && !id) || n == STACK_FRAMES)
		*flags |= STACK_KERNEL_CUT;
	return id;
}

static u32 user_stack(struct raw_queue *q, const struct raw_stack *raw, u8 *flags)
{
	struct code_process *p;
	enum unwind_end end = UNWIND_CUT;
	u32 n, id;

	if (!q->callers) {
		*flags |= STACK_NO_USER;
		return 0;
	}
	p = process_of(q, raw);
	q->unwinder.now = raw->ts;
	if (raw->kind == RAW_WAIT && !raw->n_stack)
		n = unwind_pc(&q->unwinder, p, raw, q->frames);
	else
		n = unwind(&q->unwinder, p, raw, q->frames, &end);
	id = stack_tables_add(&q->tables, q->frames, n);
	if (!id)
		*flags |= STACK_NO_USER;
	else if (end != UNWIND_COMPLETE)
		*flags |= STACK_USER_CUT | (end == UNWIND_HANDLER ? STACK_HANDLER : 0);
	return id;
}

/* Without memory the event is missing, and out says so. */
static void put(struct buf *out, const void *record, size_t size)
{
	struct err e = { 0 };

	buf_add(out, record, size, &e);
}

static void take_sample(struct raw_queue *q, const struct raw_stack *raw, struct buf *out)
{
	struct ev_sample ev = {
		.h = { raw->ts, raw->tid, EV_sample, sizeof(ev) },
		.weight = q->period,
		.pid = raw->pid,
		.cpu = raw->cpu,
		.context = raw->context,
	};

	ev.kernel_stack = kernel_stack(q, raw, &ev.flags);
	if (raw->user)
		ev.user_stack = user_stack(q, raw, &ev.flags);
	put(out, &ev, sizeof(ev));
}

static void end_wait(struct raw_queue *q, struct ev_offcpu *w, struct buf *out)
{
	if (!w->h.ts)
		return;
	put(out, w, sizeof(*w));
	w->h.ts = 0;
	q->n_waits--;
}

static void take_wait(struct raw_queue *q, const struct raw_stack *raw, struct buf *out)
{
	struct ev_offcpu *w = &q->waits[raw->tid % WAITS];

	if (w->h.ts)
		w->flags |= STACK_NO_USER;
	end_wait(q, w, out);
	*w = (struct ev_offcpu){
		.h = { raw->ts, raw->tid, EV_offcpu, sizeof(*w) },
		.dur = raw->dur,
		.pid = raw->pid,
		.cpu = raw->cpu,
		.state = raw->state == 2 ? 2 : 1,
	};
	q->n_waits++;
	w->kernel_stack = kernel_stack(q, raw, &w->flags);
	if (raw->outside)
		w->flags |= STACK_OUTSIDE;
	if (raw->outside && raw->user)
		w->user_stack = user_stack(q, raw, &w->flags);
	else if (raw->outside)
		w->flags |= STACK_NO_USER;
	if (raw->outside || !raw->user)
		end_wait(q, w, out);
}

void raw_queue_take(struct raw_queue *q, const struct raw_stack *raw, size_t size, bool callers,
		    struct buf *out)
{
	struct ev_offcpu *w;

	q->callers = callers;
	if (size < sizeof(*raw) || size - sizeof(*raw) < raw->n_stack)
		return;
	if (raw->kind == RAW_SAMPLE) {
		take_sample(q, raw, out);
	} else if (raw->kind == RAW_WAIT) {
		take_wait(q, raw, out);
	} else {
		w = &q->waits[raw->tid % WAITS];
		if (!w->h.ts || w->h.tid != raw->tid)
			return;
		if (raw->user)
			w->user_stack = user_stack(q, raw, &w->flags);
		end_wait(q, w, out);
	}
}

void raw_queue_sleeper(struct raw_queue *q, const struct raw_stack *raw, u64 ended, bool callers,
		       struct buf *out)
{
	u64 later = raw->ts > ended ? raw->ts - ended : 0;
	u64 steps = later ? raw->ts / SLEPT_STEP - ended / SLEPT_STEP : 0;
	struct ev_sleeper ev = {
		.h = { raw->ts - later, raw->tid, EV_sleeper, sizeof(ev) },
		.dur = raw->dur > later ? raw->dur - later : raw->dur > 0,
		.pid = raw->pid,
	};
	u8 flags = raw->outside ? STACK_OUTSIDE : 0;

	if (raw->dur && raw->dur <= steps * SLEPT_STEP) /* it has slept since */
		return;
	q->callers = callers;
	ev.kernel_stack = kernel_stack(q, raw, &flags);
	ev.user_stack = user_stack(q, raw, &flags);
	ev.flags = flags;
	put(out, &ev, sizeof(ev));
}

void raw_queue_expire(struct raw_queue *q, u64 now, struct buf *out)
{
	struct ev_offcpu *w;
	int i;

	for (i = 0; i < WAITS && q->n_waits; i++) {
		w = &q->waits[i];
		if (!w->h.ts || now < w->h.ts || now - w->h.ts < WAIT_MAX)
			continue;
		w->flags |= STACK_NO_USER;
		end_wait(q, w, out);
	}
}

/* Those of processes that were not seen since, and mappings of modules that are closed. */
static void forget_processes(struct raw_queue *q, u64 since)
{
	struct code_process *p;
	struct code_map *map;
	u32 i;

	for (p = q->processes; p < q->processes + PROCESSES; p++) {
		if (p->used < since)
			code_process_free(&q->unwinder, p);
		for (i = 0; i < p->maps.n; i++) {
			map = &p->maps.list[i];
			if (map->module > 0 && q->modules.list[map->module].kind == CODE_NONE)
				map->module = -1;
		}
	}
}

void raw_queue_forget(struct raw_queue *q, u64 ts, u64 now)
{
	struct stack_tables fresh;

	if (ts <= q->since || now - q->since < TABLES_TIME ||
	    !stack_tables_start(&fresh, !q->tables.first))
		return;
	stack_tables_free(&q->older); /* its events came before those that are kept */
	q->older = q->tables;
	q->tables = fresh;
	cfi_rows_clear(q->unwinder.rows);
	code_modules_forget(&q->modules, q->modules.time++);
	forget_processes(q, q->since);
	q->since = now;
}

void raw_queue_free(struct raw_queue *q)
{
	int i;

	for (i = 0; i < PROCESSES; i++)
		code_process_free(&q->unwinder, &q->processes[i]);
	unwinder_free(&q->unwinder);
	stack_tables_free(&q->tables);
	stack_tables_free(&q->older);
	kernel_code_close(&q->kernel);
	new_maps_close(&q->mapped);
	code_modules_free(&q->modules);
}
