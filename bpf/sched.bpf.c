// SPDX-License-Identifier: GPL-2.0-or-later
/* Group sched: context switches and wake-ups. The smallest group: copy it to make another. */

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

/*
 * A target that waits for a CPU waits for those who run there, so their switches are kept
 * too: from its wake-up or preemption until it runs, or until the CPU has nothing to
 * run. Written by several CPUs without order: at worst some switches more, or fewer.
 */
struct queued {
	u32 tid;  /* target that waits for this CPU; 0: none */
	u32 more; /* others wait, too */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* possible CPUs, set before loading */
	__type(key, u32);
	__type(value, struct queued);
} queues SEC(".maps");

static __always_inline void queue_target(u32 cpu, u32 tid)
{
	struct queued *q = bpf_map_lookup_elem(&queues, &cpu);

	if (!q || q->tid == tid)
		return;
	q->more = q->tid != 0;
	q->tid = tid;
}

static __always_inline void unqueue_target(u32 cpu, u32 tid)
{
	struct queued *q = bpf_map_lookup_elem(&queues, &cpu);

	if (q && q->tid == tid && !q->more)
		q->tid = 0;
}

/* True if a switch between two other threads has to be kept for a target that waits. */
static __always_inline bool switch_wanted(u32 from, u32 to, bool runnable)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct queued *q;
	bool keep;

	if (filter_all)
		return true;
	q = bpf_map_lookup_elem(&queues, &cpu);
	if (!q)
		return true;
	keep = q->tid || wanted(from) || wanted(to);
	if (q->tid == to && !q->more)
		q->tid = 0;
	if (!to)
		q->tid = q->more = 0;
	else if (runnable && wanted(from))
		queue_target(cpu, from);
	return keep;
}

#define AWAY_STEP 16 /* ns */
#define AWAY_MAX  0x7fffff00

/* What a CPU does since its last switch; only that CPU writes it. */
struct spell {
	u64 ts;	   /* of that switch; 0: none yet */
	u64 exec;  /* sum_exec_runtime of the thread that came */
	u64 steal; /* prev_steal_time_rq of the CPU */
	u32 tid;   /* of that thread */
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* possible CPUs, set before loading */
	__type(key, u32);
	__type(value, struct spell);
} spells SEC(".maps");

/* What became of the time on the CPU of the thread that leaves it. */
struct share {
	s32 away;
	u32 stolen, softirq, irq;
};

static __always_inline u32 cut_ns(u64 ns)
{
	return ns > 0xffffffff ? 0xffffffff : ns;
}

/* Rounded: the jitter below is noise, and half of the bytes of a switch in the file. */
static __always_inline s32 cut_signed(s64 ns)
{
	if (ns > AWAY_MAX || ns < -AWAY_MAX)
		return ns > 0 ? AWAY_MAX : -AWAY_MAX;
	return (s32)(ns + AWAY_STEP / 2) & ~(AWAY_STEP - 1);
}

/* Steal that the kernel has taken out of CPU times so far, on the CPU of the thread that runs. */
static __always_inline u64 steal_of(struct task_struct *running, const bool btf)
{
	if (!bpf_core_field_exists(running->se.cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->rq) ||
	    !bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq))
		return 0;
	return btf ? running->se.cfs_rq->rq->prev_steal_time_rq
		   : BPF_CORE_READ(running, se.cfs_rq, rq, prev_steal_time_rq);
}

/*
 * Ends the spell of prev and begins that of next. After a missed switch another thread had come:
 * then nothing is known. Interrupts are off here: no softirq and no interrupt is open, so
 * depths that say otherwise (an exit was missed) are put right.
 */
static __always_inline void next_spell(struct task_struct *prev, struct task_struct *next, u64 ts,
				       struct share *ret, const bool btf)
{
	u64 steal = steal_of(prev, btf), exec = GET(btf, prev, se.sum_exec_runtime);
	u32 cpu = bpf_get_smp_processor_id();
	struct spell *s = bpf_map_lookup_elem(&spells, &cpu);
	struct depth *d = depth_here();
	u32 from = GET(btf, prev, pid);

	if (!s || !d)
		return;
	if (s->ts && s->tid == from) {
		ret->stolen = cut_ns(steal - s->steal);
		ret->softirq = cut_ns(d->soft_time);
		ret->irq = cut_ns(d->hard_time);
		if (from)
			ret->away = cut_signed((s64)(ts - s->ts) - (s64)(exec - s->exec));
	}
	d->soft_time = d->hard_time = 0;
	d->soft = d->hard = 0;
	s->ts = ts;
	s->exec = GET(btf, next, se.sum_exec_runtime);
	s->steal = steal;
	s->tid = GET(btf, next, pid);
}

static __always_inline bool throttled(struct task_struct *t, const bool btf)
{
	return bpf_core_field_exists(t->throttled) && GET(btf, t, throttled);
}

static __always_inline int on_switch(bool preempt, struct task_struct *prev,
				     struct task_struct *next, u16 state, const bool btf)
{
	struct counts *c = count_seen(GROUP_sched);
	u64 ts = bpf_ktime_get_ns();
	struct share share = {};
	struct ev_switch *e;
	u32 from, to;
	u8 flags;

	if (!c) {
		if (looks_at_sleepers) {
			stack_moves(GET(btf, prev, pid), ts);
			stack_moves(GET(btf, next, pid), ts);
		}
		return 0;
	}
	next_spell(prev, next, ts, &share, btf);
	from = GET(btf, prev, pid);
	to = GET(btf, next, pid);
	if (slow_runq) {
		now_runs(to, ts);
		if (from && (preempt || !state) && wanted(from))
			now_runnable(from, ts);
	}
	if (asked & 1 << GROUP_cpu) {
		stack_sleeps(from, preempt ? 0 : state, ts);
		stack_wakes(next, to, ts, btf);
	}
	if (!switch_wanted(from, to, preempt || !state)) {
		count(c, filtered);
		return 0;
	}
	flags = (preempt ? SWITCH_PREEMPT : 0) | (in_iowait(prev, btf) ? SWITCH_IOWAIT : 0) |
		(throttled(prev, btf) ? SWITCH_THROTTLED : 0);
	e = ev_reserve(c, ts, from, switch);
	if (!e)
		return 0;
	e->next = to;
	e->state = state;
	e->flags = flags;
	e->prio = GET(btf, next, prio);
	e->away = share.away;
	e->stolen = share.stolen;
	e->softirq = share.softirq;
	e->irq = share.irq;
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
	if (!filter_all && wanted(tid))
		queue_target(cpu, tid);
	if (slow_runq && wanted(tid))
		now_runnable(tid, ts);
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

static __always_inline int on_migrate(struct task_struct *t, u32 to, const bool btf)
{
	struct counts *c = count_seen(GROUP_sched);
	u64 ts = bpf_ktime_get_ns();
	u32 tid = GET(btf, t, pid);
	struct ev_migrate *e;
	u32 from;

	if (!c)
		return 0;
	if (!wanted(tid)) {
		count(c, filtered);
		return 0;
	}
	from = cpu_of(t);
	if (!filter_all) {
		unqueue_target(from, tid);
		queue_target(to, tid);
	}
	e = ev_reserve(c, ts, (u32)bpf_get_current_pid_tgid(), migrate);
	if (!e)
		return 0;
	e->target = tid;
	e->from = from;
	e->to = to;
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sched_migrate_task")
int BPF_PROG(sched__migrate, struct task_struct *t, s32 to)
{
	return on_migrate(t, to, true);
}

SEC("?raw_tp/sched_migrate_task")
int BPF_PROG(sched__migrate__raw, struct task_struct *t, s32 to)
{
	return on_migrate(t, to, false);
}
