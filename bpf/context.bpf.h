/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a CPU is doing: a wake-up from an interrupt must not be blamed on the thread
 * that was interrupted. The kernel's preemption counter says which, where its symbol can be
 * found (programs with __count in their name); elsewhere interrupts are followed by
 * their tracepoints (programs with __irq). The time in interrupts is measured by these tracepoints
 * on all kernels: the switch program records it.
 */
#pragma once

#define NMI_BITS     0xf00000
#define HARDIRQ_BITS 0x0f0000
#define SOFTIRQ_BIT  0x000100

/*
 * How many interrupts of each kind a CPU is in, and the time spent in them since the last
 * switch; only that CPU writes it.
 */
struct depth {
	u32 hard, soft;
	u64 base;		  /* of the CPU's own variables; 0: not read yet */
	u64 mark;		  /* up to when the times below are complete */
	u64 hard_time, soft_time; /* ns; an interrupt in a softirq counts as interrupt only */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* possible CPUs, set before loading */
	__type(key, u32);
	__type(value, struct depth);
} depths SEC(".maps");

static __always_inline struct depth *depth_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&depths, &cpu);
}

/*
 * Addresses of the kernel's variables, which user space finds: as symbols of this object they
 * would have to be looked up in the BTF of modules, which takes more rights than recording.
 */
const volatile u64 preempt_count_at = 0; /* in the CPU's own variables; 0: not known */
const volatile u64 per_cpu_offsets_at = 0;

static __always_inline u8 context_by_count(void)
{
	u32 n = 0;

#if defined(__TARGET_ARCH_x86)
	u32 cpu = bpf_get_smp_processor_id();
	struct depth *d = depth_here();
	u64 base = 0;

	if (!d)
		return CONTEXT_TASK;
	if (!d->base) {
		bpf_probe_read_kernel(&base, sizeof(base), (void *)(per_cpu_offsets_at + cpu * 8));
		d->base = base;
	}
	bpf_probe_read_kernel(&n, sizeof(n), (void *)(preempt_count_at + d->base));
#elif defined(__TARGET_ARCH_arm64)
	n = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread_info.preempt.count);
#endif
	if (n & NMI_BITS)
		return CONTEXT_NMI;
	if (n & HARDIRQ_BITS)
		return CONTEXT_HARDIRQ;
	return n & SOFTIRQ_BIT ? CONTEXT_SOFTIRQ : CONTEXT_TASK;
}

static __always_inline u8 context_by_depth(void)
{
	struct depth *d = depth_here();

	if (d && d->hard)
		return CONTEXT_HARDIRQ;
	return d && d->soft ? CONTEXT_SOFTIRQ : CONTEXT_TASK;
}

/*
 * The time since the mark belongs to what the CPU was doing until now. An interrupt between
 * reading the clock and the mark has set a later mark, which stays.
 */
static __always_inline void depth_charge(struct depth *d)
{
	u64 now = bpf_ktime_get_ns();

	if (now <= d->mark)
		return;
	if (d->hard)
		d->hard_time += now - d->mark;
	else if (d->soft)
		d->soft_time += now - d->mark;
	d->mark = now;
}

/*
 * Not before all programs are attached: an entry that is counted while its exit is not
 * would stay until the next switch. An exit without entry is harmless.
 */
static __always_inline int hard_enter(void)
{
	struct depth *d = depth_here();

	if (d && enabled) {
		depth_charge(d);
		d->hard++;
	}
	return 0;
}

/* An interrupt that was entered before we were attached must not make the depth negative. */
static __always_inline int hard_leave(void)
{
	struct depth *d = depth_here();

	if (d && d->hard) {
		depth_charge(d);
		d->hard--;
	}
	return 0;
}

static __always_inline int soft_enter(void)
{
	struct depth *d = depth_here();

	if (d && enabled) {
		depth_charge(d);
		d->soft++;
	}
	return 0;
}

static __always_inline int soft_leave(void)
{
	struct depth *d = depth_here();

	if (d && d->soft) {
		depth_charge(d);
		d->soft--;
	}
	return 0;
}

#define FOLLOW(what, tracepoint, fn)                                   \
	SEC("?tp_btf/" tracepoint) int sched__##what(void *ctx)        \
	{                                                              \
		return fn();                                           \
	}                                                              \
	SEC("?raw_tp/" tracepoint) int sched__##what##__raw(void *ctx) \
	{                                                              \
		return fn();                                           \
	}

FOLLOW(softirq_entry, "softirq_entry", soft_enter)
FOLLOW(softirq_exit, "softirq_exit", soft_leave)
FOLLOW(irq_entry, "irq_handler_entry", hard_enter)
FOLLOW(irq_exit, "irq_handler_exit", hard_leave)
#if defined(__TARGET_ARCH_x86)
/* the timer's interrupt and calls from other CPUs have vectors of their own */
FOLLOW(timer_entry, "local_timer_entry", hard_enter)
FOLLOW(timer_exit, "local_timer_exit", hard_leave)
FOLLOW(ipi_entry__irq, "call_function_single_entry", hard_enter)
FOLLOW(ipi_exit__irq, "call_function_single_exit", hard_leave)
#endif
