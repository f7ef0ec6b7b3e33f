/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks on their way to obsrec: the kernel's frames, the registers of user mode and a copy of the
 * user stack. Copied memory can hold secrets: obsrec finds the callers in it and forgets it.
 *
 * A thread's user memory can be read only while it runs. After a long wait its kernel frames are
 * taken by the switch to it; its stack by the next of sys_exit and a switch away from it: it has
 * not been to user mode in between. Where no sys_exit follows (a page fault, a stop), the stack is
 * copied by the switch away from it, before anyone knows how long it waits, and kept.
 */
#pragma once

const volatile u64 stack_threshold = 0;	   /* ns that a wait must last; 0: none is recorded */
const volatile bool stack_rations = false; /* of stacks of waits */
const volatile bool has_task_regs = false; /* bpf_task_pt_regs (since 5.15) */
volatile u32 looks_at_sleepers = 0;	   /* the recording has ended, they are looked at now */

#define STACK_CHUNK  4096
#define STACK_CHUNKS (STACK_BYTES / STACK_CHUNK + 1)
#define STACK_HOLES  5	/* pages in sequence that are not in memory: a large buffer's */
#define SLEPT_SHIFT  14 /* of ns, four of them are SLEPT_STEP; wraps after 19 hours */
#define SLEPT_D	     1	/* how a thread sleeps: state D */
#define SLEPT_OUT    2	/* outside of system calls */
#define SLEPT_HOW    3
#define STATE_DEAD   0x80	/* TASK_DEAD */
#define THREAD_BYTES (16 << 10) /* of a kernel stack, on kernels before 5.15 */

/* Stacks of waits are rationed: about 20 us each, for one CPU at most 1 % of its time. */
#define RATION_THREAD  (1000000000ull / STACK_WAITS) /* ns between two of a thread, on average */
#define RATION_CPU     2000000ull		     /* of a CPU */
#define RATION_BURST   16			     /* so many of them at once */
#define RATION_THREADS 4096 /* threads whose tids have the same low bits share one */
#define RATION_CPUS    1024
#define RATION_KEPT    250000ull /* ns between two stacks that are kept, 4 us each */

#if defined(__TARGET_ARCH_x86)
#define REGS_WORDS 21
#define REGS_SP	   19
#elif defined(__TARGET_ARCH_arm64)
#define REGS_WORDS 34
#define REGS_SP	   31
#endif

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set before loading */
} raw_stacks SEC(".maps");

/* Programs of these kinds interrupt each other. */
enum { SCRATCH_SAMPLE, SCRATCH_SWITCH, SCRATCH_EXIT, N_SCRATCH };

struct scratch {
	struct raw_stack raw;
	u8 stack[STACK_BYTES + STACK_CHUNK];
	u32 owner; /* of a kept one: the tid of the thread that sleeps; 0: free */
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* N_SCRATCH for each possible CPU, set before loading */
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Stacks of threads that sleep outside of system calls, one for all tids with the same low bits. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* STACKS_KEPT, set before loading */
	__type(key, u32);
	__type(value, struct scratch);
} kept_stacks SEC(".maps");

/* Since when each thread sleeps, in units of 1 << SLEPT_SHIFT ns, and two bits of how. */
struct slept {
	u32 at[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* half of pid_max with stack_threshold, set before loading */
	__type(key, u32);
	__type(value, struct slept);
} slept SEC(".maps");

/* Until when the stacks that were taken last us. */
struct ration {
	u64 due;
	u64 owner; /* tid; of a CPU: 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RATION_THREADS + 2 * RATION_CPUS);
	__type(key, u32);
	__type(value, struct ration);
} rations SEC(".maps");

/* True if a stack may be taken now. A long wait has earned more; at random, or waits that
 * alternate would never be seen. */
static __always_inline bool ration(u32 at, u32 owner, u64 ts, u64 dur, u64 gap)
{
	struct ration *r = bpf_map_lookup_elem(&rations, &at);
	u64 due;

	if (!r)
		return true;
	due = r->owner == owner ? r->due : 0;
	if (due > ts + RATION_BURST * gap + dur)
		return false;
	r->owner = owner;
	r->due = (due > ts ? due : ts) + gap / 2 + (gap * (bpf_get_prandom_u32() >> 16) >> 16);
	return true;
}

static __always_inline u32 *slept_at(u32 tid)
{
	u32 half = tid >> 1;
	struct slept *s = bpf_map_lookup_elem(&slept, &half);

	return s ? &s->at[tid & 1] : NULL;
}

static __always_inline void scratch_clear(struct scratch *s, u32 tid, u64 ts, u8 kind)
{
	s->raw.ts = ts;
	s->raw.dur = 0;
	s->raw.mm = 0;
	s->raw.tid = tid;
	s->raw.pid = 0;
	s->raw.cpu = bpf_get_smp_processor_id();
	s->raw.kind = kind;
	s->raw.context = CONTEXT_TASK;
	s->raw.state = 0;
	s->raw.user = 0;
	s->raw.n_kernel = 0;
	s->raw.n_stack = 0;
	s->raw.outside = 0;
}

static __always_inline struct scratch *stack_scratch(u32 which, u32 tid, u64 ts, u8 kind)
{
	u32 at = bpf_get_smp_processor_id() * N_SCRATCH + which;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &at);

	if (s)
		scratch_clear(s, tid, ts, kind);
	return s;
}

/* Counts as emitted or lost; a user part is no event of its own. */
static __always_inline bool stack_emit(struct counts *c, struct scratch *s, bool event)
{
	u32 n = s->raw.n_stack;

	if (n > STACK_BYTES)
		n = STACK_BYTES;
	if (bpf_ringbuf_output(&raw_stacks, s, sizeof(s->raw) + n, BPF_RB_NO_WAKEUP) == 0) {
		if (event)
			count(c, emitted);
		return true;
	}
	if (event)
		count(c, lost.full);
	else
		count(c, nostate);
	return false;
}

/* Before Linux 5.15. */
static __always_inline void *regs_in_stack(struct task_struct *t)
{
	void *stack = BPF_CORE_READ(t, stack);

	return stack + THREAD_BYTES - bpf_core_type_size(struct pt_regs);
}

static __always_inline void *task_regs(struct task_struct *t)
{
	return has_task_regs ? (void *)bpf_task_pt_regs(bpf_get_current_task_btf())
			     : regs_in_stack(t);
}

/* Registers and stack of the running thread, which is in the kernel or has just been interrupted.
 */
static __noinline void stack_of_current(struct scratch *s)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(t, mm);
	u32 n, at = 0, good = 0, holes = 0, end = STACK_BYTES;
	u64 sp;
	u32 i;

	s->raw.pid = bpf_get_current_pid_tgid() >> 32;
	if (!mm)
		return;
	s->raw.mm = BPF_CORE_READ(mm, arg_start);
	if (bpf_probe_read_kernel(s->raw.regs, REGS_WORDS * 8, task_regs(t)))
		return;
	s->raw.user = 1;
	sp = s->raw.regs[REGS_SP];
	if (s->raw.mm > sp && s->raw.mm - sp < STACK_BYTES)
		end = s->raw.mm - sp; /* arguments and environment are above the stack */
#pragma clang loop unroll(disable)
	for (i = 0; i < STACK_CHUNKS; i++) {
		if (at >= STACK_BYTES || at >= end || holes > STACK_HOLES)
			break;
		n = STACK_CHUNK - ((sp + at) & (STACK_CHUNK - 1));
		holes++;
		if (bpf_probe_read_user(s->stack + at, n, (void *)(sp + at)) == 0) {
			good = at + n;
			holes = 0;
		} /* else the copy has zeros */
		at += n;
	}
	s->raw.n_stack = good < end ? good : end; /* the last chunk may pass the end */
}

static __always_inline void stack_of_wait(struct scratch *s, u64 *word)
{
	u32 cpu = s->raw.cpu;
	struct cpu_counts *c = bpf_map_lookup_elem(&counters, &cpu);

	*word &= ~WORD_STACK_DUE;
	if (!c)
		return;
	stack_of_current(s);
	stack_emit(&c->group[GROUP_cpu], s, false);
}

/* The running thread is about to leave the kernel, after a long wait. */
static __always_inline void stack_leaves(u32 tid, u64 *word)
{
	struct scratch *s = stack_scratch(SCRATCH_EXIT, tid, 0, RAW_WAIT_USER);

	if (s)
		stack_of_wait(s, word);
}

/* True if the running thread, about to sleep, comes from user mode without a system call, or is at
 * the end of one. */
static __always_inline bool outside_calls(u64 word)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	struct pt_regs *regs;

	if (word_left(word) || word_entered(word))
		return word_left(word);
	if (!BPF_CORE_READ(t, mm))
		return false; /* of the kernel */
	regs = task_regs(t);
	return SYSCALL_NR(false, regs) < 0;
}

/* Without the two bits: how long ago that was. */
static __always_inline u64 slept_for(u32 since, u64 ts)
{
	u32 now = ts >> SLEPT_SHIFT;

	return (u64)((now & ~SLEPT_HOW) - (since & ~SLEPT_HOW)) << SLEPT_SHIFT;
}

static __always_inline struct scratch *kept_stack(u32 tid)
{
	u32 at = tid % STACKS_KEPT;

	return bpf_map_lookup_elem(&kept_stacks, &at);
}

/*
 * Keeps the stack of the running thread. Two CPUs can take the same place at once: the one that
 * finds the other's tid afterwards frees it, so that neither is used: the copy takes some us, and a
 * wait with a stack lasts longer.
 */
static __always_inline void keep_stack(u32 tid, u64 ts)
{
	struct scratch *s = kept_stack(tid);
	u32 cpu = bpf_get_smp_processor_id();

	if (!s || (s->owner && s->owner != tid))
		return;
	s->owner = 0; /* of a wait whose end was missed */
	if (!ration(RATION_THREADS + RATION_CPUS + cpu % RATION_CPUS, 0, ts, 0, RATION_KEPT))
		return;
	*(volatile u32 *)&s->owner = tid;
	scratch_clear(s, tid, ts, RAW_WAIT);
	stack_of_current(s);
	if (*(volatile u32 *)&s->owner != tid)
		s->owner = 0;
}

/* A thread with this number has ended, or is made: it does not sleep, and has no stack. */
static __always_inline void stack_forget(u32 tid)
{
	u32 *since = stack_threshold ? slept_at(tid) : NULL;
	struct scratch *kept = since ? kept_stack(tid) : NULL;

	if (since)
		*since = 0;
	if (kept && kept->owner == tid)
		kept->owner = 0;
}

/* Since now, as in slept. */
static __always_inline u32 sleeps_since(u64 ts)
{
	u32 at = (u32)(ts >> SLEPT_SHIFT) & ~SLEPT_HOW;

	return at ? at : SLEPT_HOW + 1; /* 0: it does not sleep */
}

/* A switch from or to this thread after the recording: if it sleeps, it does so since then. */
static __always_inline void stack_moves(u32 tid, u64 ts)
{
	u32 *since = tid && stack_threshold ? slept_at(tid) : NULL;

	if (since)
		*since = sleeps_since(ts);
}

/* A switch from this thread, which is the running one; state 0: it does not sleep. */
static __always_inline void stack_sleeps(u32 tid, u16 state, u64 ts)
{
	u64 *word = tid ? thread_word(tid) : NULL;
	struct scratch *s;
	u32 *since, at;

	if (!stack_threshold || !word || !(filter_all || *word & WORD_WANTED))
		return;
	if (*word & WORD_STACK_DUE) {
		s = stack_scratch(SCRATCH_SWITCH, tid, 0, RAW_WAIT_USER);
		if (s)
			stack_of_wait(s, word);
	}
	if (state & STATE_DEAD) {
		stack_forget(tid);
		return;
	}
	since = state ? slept_at(tid) : NULL;
	if (!since)
		return;
	at = sleeps_since(ts);
	if ((state & 3) == 2)
		at |= SLEPT_D;
	if (outside_calls(*word)) {
		at |= SLEPT_OUT;
		keep_stack(tid, ts);
	}
	*since = at;
}

/* Kernel frames of a thread that runs again. Its registers are still those of its sleep. */
static __always_inline void stack_of_next(struct scratch *s, struct task_struct *next, bool kept)
{
	struct pt_regs *regs;
	long n;

	n = bpf_get_task_stack(next, s->raw.kernel, sizeof(s->raw.kernel), 0);
	s->raw.n_kernel = n > 0 ? (u64)n >> 3 : 0;
	if (kept || !next->mm)
		return;
	s->raw.user = 1;
	s->raw.mm = BPF_CORE_READ(next, mm, arg_start);
	if (!s->raw.outside)
		return;
	regs = has_task_regs ? (void *)bpf_task_pt_regs(next) : regs_in_stack(next);
	bpf_probe_read_kernel(s->raw.regs, REGS_WORDS * 8, regs);
}

/* A wait that was long enough; s has the user stack if that was kept. */
static __always_inline void stack_of_long(struct scratch *s, struct task_struct *next, u64 dur,
					  u32 how, bool kept, const bool btf)
{
	struct counts *c = count_seen(GROUP_cpu);
	u64 ts = s->raw.ts, *word;
	u32 tid = s->raw.tid;

	if (!c)
		return;
	word = thread_word(tid);
	if (!word) {
		count(c, lost.other);
		return;
	}
	s->raw.pid = GET(btf, next, tgid);
	if (s->raw.pid == self_tgid) {
		count(c, self);
		return;
	}
	if (stack_rations &&
	    (!ration(tid % RATION_THREADS, tid, ts, dur, RATION_THREAD) ||
	     !ration(RATION_THREADS + s->raw.cpu % RATION_CPUS, 0, ts, dur, RATION_CPU))) {
		count(c, filtered);
		return;
	}
	s->raw.dur = dur;
	s->raw.state = how & SLEPT_D ? 2 : 1;
	s->raw.outside = how & SLEPT_OUT ? 1 : 0;
	if (btf)
		stack_of_next(s, next, kept);
	else if (!kept && !s->raw.outside)
		s->raw.user = BPF_CORE_READ(next, mm) != NULL;
	if (stack_emit(c, s, true) && s->raw.user && !s->raw.outside &&
	    asked & (1 << GROUP_syscalls | 1 << GROUP_files)) /* sys_exit is seen */
		*word |= WORD_STACK_DUE;
}

/* A switch to this thread: was its wait long? Its kernel frames need a typed pointer. */
static __always_inline void stack_wakes(struct task_struct *next, u32 tid, u64 ts, const bool btf)
{
	u32 *since = stack_threshold && tid ? slept_at(tid) : NULL, was;
	struct scratch *kept = NULL, *s;
	u64 dur;

	if (!since || !*since)
		return;
	was = *since;
	*since = 0;
	dur = slept_for(was, ts);
	if (was & SLEPT_OUT)
		kept = kept_stack(tid);
	if (kept && kept->owner != tid)
		kept = NULL;
	if (dur >= stack_threshold) {
		s = kept ? kept : stack_scratch(SCRATCH_SWITCH, tid, ts, RAW_WAIT);
		if (s) {
			s->raw.ts = ts;
			s->raw.cpu = bpf_get_smp_processor_id();
			stack_of_long(s, next, dur, was, kept, btf);
		}
	}
	if (kept)
		kept->owner = 0;
}
