// SPDX-License-Identifier: GPL-2.0-or-later
/* Group sched: context switches and wake-ups. The smallest group: copy it to make another. */

#include "context.bpf.h"

const volatile bool switch_has_state = true; /* sched_switch has a 4th argument (since 5.18) */

static __always_inline u16 state_of(struct task_struct *t)
{
	if (bpf_core_field_exists(t->__state))
		return BPF_CORE_READ(t, __state);
	return BPF_CORE_READ((struct task_struct___old *)t, state);
}

static __always_inline bool in_iowait(struct task_struct *t, const bool btf)
{
	return btf ? BPF_CORE_READ_BITFIELD(t, in_iowait)
		   : BPF_CORE_READ_BITFIELD_PROBED(t, in_iowait);
}

static __always_inline int on_switch(bool preempt, struct task_struct *prev,
				     struct task_struct *next, u16 state, const bool btf)
{
	struct counts *c = count_seen(GROUP_sched);
	u64 ts = bpf_ktime_get_ns();
	struct ev_switch *e;
	u32 from, to;
	u8 flags;

	if (!c)
		return 0;
	from = GET(btf, prev, pid);
	to = GET(btf, next, pid);
	if (!wanted(from) && !wanted(to)) {
		count(c, filtered);
		return 0;
	}
	flags = (preempt ? SWITCH_PREEMPT : 0) | (in_iowait(prev, btf) ? SWITCH_IOWAIT : 0);
	e = ev_reserve(c, ts, from, switch);
	if (!e)
		return 0;
	e->next = to;
	e->state = state;
	e->flags = flags;
	e->prio = GET(btf, next, prio);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sched_switch")
int sched__switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];

	return on_switch(ctx[0], prev, (void *)ctx[2],
			 switch_has_state ? (u16)ctx[3] : state_of(prev), true);
}

SEC("?raw_tp/sched_switch")
int sched__switch__raw(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];

	return on_switch(ctx[0], prev, (void *)ctx[2],
			 switch_has_state ? (u16)ctx[3] : state_of(prev), false);
}

static __always_inline u16 cpu_of(struct task_struct *t)
{
	if (bpf_core_field_exists(t->thread_info.cpu))
		return BPF_CORE_READ(t, thread_info.cpu);
	return BPF_CORE_READ((struct task_struct___old *)t, cpu);
}

/* waking and wakeup_new have the same fields; type is one of the two. */
static __always_inline int on_wake(struct task_struct *target, u16 type, u8 context, const bool btf)
{
	struct counts *c = count_seen(GROUP_sched);
	u64 ts = bpf_ktime_get_ns();
	struct ev_waking *e;
	u32 waker, tid;
	u16 cpu;
	u8 prio;

	if (!c)
		return 0;
	waker = bpf_get_current_pid_tgid();
	tid = GET(btf, target, pid);
	if (!wanted(tid) && !wanted(waker)) {
		count(c, filtered);
		return 0;
	}
	cpu = cpu_of(target);
	prio = GET(btf, target, prio);
	e = reserve(c, ts, waker, type, sizeof(*e));
	if (!e)
		return 0;
	e->target = tid;
	e->cpu = cpu;
	e->context = context;
	e->prio = prio;
	ev_submit(e);
	return 0;
}

/* A wake-up's program in all four flavours. */
#define WAKE(what, tracepoint, type)                                          \
	SEC("?tp_btf/" tracepoint)                                            \
	int BPF_PROG(sched__##what##__count, struct task_struct *target)      \
	{                                                                     \
		return on_wake(target, type, context_by_count(), true);       \
	}                                                                     \
	SEC("?raw_tp/" tracepoint)                                            \
	int BPF_PROG(sched__##what##__count__raw, struct task_struct *target) \
	{                                                                     \
		return on_wake(target, type, context_by_count(), false);      \
	}                                                                     \
	SEC("?tp_btf/" tracepoint)                                            \
	int BPF_PROG(sched__##what##__irq, struct task_struct *target)        \
	{                                                                     \
		return on_wake(target, type, context_by_depth(), true);       \
	}                                                                     \
	SEC("?raw_tp/" tracepoint)                                            \
	int BPF_PROG(sched__##what##__irq__raw, struct task_struct *target)   \
	{                                                                     \
		return on_wake(target, type, context_by_depth(), false);      \
	}

WAKE(waking, "sched_waking", EV_waking)
WAKE(wakeup_new, "sched_wakeup_new", EV_wakeup_new)
