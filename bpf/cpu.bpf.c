// SPDX-License-Identifier: GPL-2.0-or-later
/* Group cpu: samples of the threads that run. Stacks of waits are taken by group sched. */

/* The clock's own interrupt is no context: what it interrupted is. */
SEC("?perf_event")
int cpu__sample(void *ctx)
{
	struct counts *c = count_seen(GROUP_cpu);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct depth *d = depth_here();
	struct scratch *s;
	long n;

	if (!c)
		return 0;
	if (!id) {
		count(c, filtered);
		return 0;
	}
	if (!current_wanted(c, id))
		return 0;
	s = stack_scratch(SCRATCH_SAMPLE, id, ts, RAW_SAMPLE);
	if (!s) {
		count(c, lost.other);
		return 0;
	}
	if (d && d->soft)
		s->raw.context = CONTEXT_SOFTIRQ;
	n = bpf_get_stack(ctx, s->raw.kernel, sizeof(s->raw.kernel), 0);
	s->raw.n_kernel = n > 0 ? (u64)n >> 3 : 0;
	stack_of_current(s);
	stack_emit(c, s, true);
	return 0;
}
