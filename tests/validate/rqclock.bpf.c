// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For rqclock.c: run time and run-queue time of threads, summed twice over the same switches and
 * wake-ups, by monotonic time and by the clock of the run queue (struct rq: clock for the queue,
 * clock_task for run time, as sched_info_arrive and update_curr have it).
 */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rqclock.h"

#define TASK_UNINTERRUPTIBLE 2

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq___clocks {
	u64 clock, clock_task;
};

struct cfs_rq___clocks {
	struct rq___clocks *rq;
};

struct sched_entity___clocks {
	u64 exec_start;
	struct cfs_rq___clocks *cfs_rq;
};

struct sched_info___clocks {
	u64 last_queued; /* by the queue's clock; set to 0 after the switch to it */
};

struct task_struct___sched {
	struct sched_entity___clocks se;
	struct sched_info___clocks sched_info;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RQCLOCK_PROCESSES);
	__type(key, u32);
	__type(value, u32);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RQCLOCK_THREADS);
	__type(key, u32);
	__type(value, struct thread_clocks);
} threads SEC(".maps");

static __always_inline struct thread_clocks *clocks_of(struct task_struct *t)
{
	static const struct thread_clocks none;
	u32 tgid = BPF_CORE_READ(t, tgid), tid = BPF_CORE_READ(t, pid);
	struct thread_clocks *c;

	if (!bpf_map_lookup_elem(&processes, &tgid))
		return NULL;
	c = bpf_map_lookup_elem(&threads, &tid);
	if (c)
		return c;
	bpf_map_update_elem(&threads, &tid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &tid);
}

/* The queue that a thread stands in, or runs from: all classes have it. */
static __always_inline struct rq___clocks *queue_of(struct task_struct *t)
{
	return BPF_CORE_READ((struct task_struct___sched *)t, se.cfs_rq, rq);
}

/*
 * Where the recording lets a wait for a CPU begin. Who waits already is woken again only if it had
 * a CPU and slept in between, by switches that were not seen: the recording goes on waiting, and so
 * do we.
 */
SEC("raw_tp/sched_waking")
int BPF_PROG(clock_waking, struct task_struct *t)
{
	struct thread_clocks *c = clocks_of(t);
	u64 now = bpf_ktime_get_ns();

	if (c && c->queued.kernel)
		c->unseen += now - c->queued.real;
	if (c && !c->in.real && !c->queued.real)
		c->queued.real = now;
	if (c && c->blocks)
		c->blocked += now - c->blocks;
	if (c)
		c->blocks = 0;
	return 0;
}

/* Where the kernel does: the thread stands in the queue of its CPU, whose clock is fresh. */
static __always_inline int queued(struct task_struct *t)
{
	struct thread_clocks *c = clocks_of(t);

	if (!c || c->in.real || c->queued.kernel)
		return 0;
	c->queued.kernel = BPF_CORE_READ(queue_of(t), clock);
	if (!c->queued.real) /* a thread's first */
		c->queued.real = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/sched_wakeup")
int BPF_PROG(clock_wakeup, struct task_struct *t)
{
	return queued(t);
}

SEC("raw_tp/sched_wakeup_new")
int BPF_PROG(clock_wakeup_new, struct task_struct *t)
{
	return queued(t);
}

/* The queue's clock has moved on since run time was billed if other queues were looked at. */
static __always_inline u64 billed_until(struct task_struct *t)
{
	return BPF_CORE_READ((struct task_struct___sched *)t, se.exec_start);
}

static __always_inline void leaves(struct thread_clocks *c, struct task_struct *t, u64 now,
				   bool preempt, u32 state)
{
	bool runnable = preempt || !state;

	if (c->in.real) {
		c->run.real += now - c->in.real;
		c->run.kernel += billed_until(t) - c->in.kernel;
		c->switches++;
	} else if (c->queued.real || c->left) {
		c->unseen += now - (c->queued.real ? c->queued.real : c->left);
	}
	c->left = now;
	c->blocks = !preempt && state & TASK_UNINTERRUPTIBLE ? now : 0;
	c->in.real = c->in.kernel = 0;
	c->queued.real = runnable ? now : 0;
	c->queued.kernel = runnable ? BPF_CORE_READ(queue_of(t), clock) : 0;
}

/* Start of a wait by the kernel: the only source for a thread whose wakeup was not seen. */
static __always_inline u64 billed_from(struct task_struct *t)
{
	return BPF_CORE_READ((struct task_struct___sched *)t, sched_info.last_queued);
}

static __always_inline void arrives(struct thread_clocks *c, struct task_struct *t, u64 now)
{
	struct rq___clocks *rq = queue_of(t);
	u64 from = billed_from(t);

	if (!c->queued.kernel && from)
		c->unseen += BPF_CORE_READ(rq, clock) - from;
	if (c->queued.real && c->queued.kernel) {
		c->queue.real += now - c->queued.real;
		c->queue.kernel += BPF_CORE_READ(rq, clock) - c->queued.kernel;
	}
	c->queued.real = c->queued.kernel = 0;
	c->in.real = now;
	c->in.kernel = BPF_CORE_READ(rq, clock_task);
}

SEC("raw_tp/sched_switch")
int BPF_PROG(clock_switch, bool preempt, struct task_struct *from, struct task_struct *to,
	     u32 state)
{
	u64 now = bpf_ktime_get_ns();
	struct thread_clocks *c = clocks_of(from);

	if (c)
		leaves(c, from, now, preempt, state);
	c = clocks_of(to);
	if (c)
		arrives(c, to, now);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
