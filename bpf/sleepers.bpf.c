// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group cpu: threads that still sleep when a recording ends. obsrec reads them through a
 * descriptor. Pages of theirs may have to be read in, for which this program sleeps: a process of
 * its own reads (record/stacks/sleepers.c).
 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} sleeper_stack SEC(".maps");

/* As stack_of_current(), of a thread that sleeps. */
static __always_inline void copy_stack(struct scratch *s, struct task_struct *t)
{
	u32 n, at = 0, end = SLEEPER_BYTES;
	u64 sp = s->raw.regs[REGS_SP];
	u32 i;

	if (s->raw.mm > sp && s->raw.mm - sp < SLEEPER_BYTES)
		end = s->raw.mm - sp;
#pragma clang loop unroll(disable)
	for (i = 0; i < SLEEPER_BYTES / STACK_CHUNK + 1; i++) {
		if (at >= SLEEPER_BYTES || at >= end)
			break;
		n = STACK_CHUNK - ((sp + at) & (STACK_CHUNK - 1));
		if (bpf_copy_from_user_task(s->stack + at, n, (void *)(sp + at), t, 0))
			break;
		at += n;
	}
	s->raw.n_stack = (at < end ? at : end) & ~7u;
}

SEC("?iter.s/task")
int cpu__sleeper(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	u32 zero = 0, tid, n_stack, was;
	volatile u32 *since;
	u64 ts, dur, *word;
	struct pt_regs *regs;
	struct scratch *s;
	long n;

	if (!t || !t->mm || (u32)t->tgid == self_tgid || !state_of(t))
		return 0;
	tid = t->pid;
	s = bpf_map_lookup_elem(&sleeper_stack, &zero);
	word = thread_word(tid);
	since = slept_at(tid);
	if (!s || !word || !since || !wanted(tid))
		return 0;
	was = *since; /* 0: it has not run in the recording */
	ts = bpf_ktime_get_ns();
	dur = was ? slept_for(was, ts) : 0;
	if (was && dur < stack_threshold)
		return 0;
	scratch_clear(s, tid, ts, RAW_SLEEPER);
	s->raw.dur = dur;
	s->raw.pid = t->tgid;
	s->raw.mm = t->mm->arg_start;
	s->raw.state = state_of(t) & 3;
	regs = (void *)bpf_task_pt_regs(t);
	if (bpf_probe_read_kernel(s->raw.regs, REGS_WORDS * 8, regs))
		return 0;
	s->raw.user = 1;
	s->raw.outside = was ? (was & SLEPT_OUT) != 0 : SYSCALL_NR(false, regs) < 0;
	n = bpf_get_task_stack(t, s->raw.kernel, sizeof(s->raw.kernel), 0);
	s->raw.n_kernel = n > 0 ? (u64)n >> 3 : 0;
	copy_stack(s, t);
	if (*since != was) /* it has run since */
		return 0;
	n_stack = s->raw.n_stack;
	if (n_stack > SLEEPER_BYTES)
		n_stack = SLEEPER_BYTES;
	bpf_seq_write(ctx->meta->seq, s, sizeof(s->raw) + n_stack);
	return 0;
}
