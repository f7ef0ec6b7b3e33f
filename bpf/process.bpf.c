// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group process: programs started, with their arguments, and ended, with what they used; signals
 * that end them.
 */
#define ARGS_TAIL 512

/* NULs between arguments become blanks, without a branch for the verifier to follow. */
static __always_inline void join(char *args, u32 n)
{
	u32 i, blank;

	for (i = 0; i < ARGS_TAIL - 1; i++) {
		blank = ((u32)(u8)args[i] - 1) >> 31; /* it is NUL */
		blank &= (i + 1 - n) >> 31;	      /* and not the last */
		args[i] |= blank << 5;
	}
}

static __always_inline int on_spawn(struct task_struct *t)
{
	struct counts *c = count_seen(GROUP_process);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	unsigned long start = BPF_CORE_READ(t, mm, arg_start);
	unsigned long end = BPF_CORE_READ(t, mm, arg_end);
	u32 length = end > start ? end - start : 0;
	u32 n = length < ARGS_TAIL ? length : ARGS_TAIL - 1;
	struct ev_spawn *e;

	if (!c || !current_wanted(c, id))
		return 0;
	e = reserve(c, ts, (u32)id, EV_spawn, sizeof(*e) + ARGS_TAIL);
	if (!e)
		return 0;
	__builtin_memset(e->args, 0, ARGS_TAIL);
	e->cgroup = cgroup_of(t);
	e->pid = id >> 32;
	e->parent = BPF_CORE_READ(t, real_parent, tgid);
	e->uid = BPF_CORE_READ(t, cred, euid.val);
	e->length = length;
	if (!hide)
		bpf_probe_read_user(e->args, n & (ARGS_TAIL - 1), (void *)start);
	join(e->args, n);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(process__spawn, struct task_struct *t)
{
	return on_spawn(t);
}

SEC("?raw_tp/sched_process_exec")
int BPF_PROG(process__spawn__raw, struct task_struct *t)
{
	return on_spawn(t);
}

/* The kernel has already added what earlier threads used to the process. */
static __always_inline int on_ended(struct task_struct *t)
{
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct signal_struct *s = BPF_CORE_READ(t, signal);
	struct ev_ended *e;
	struct counts *c;

	if (BPF_CORE_READ(s, live.counter) != 0)
		return 0;
	c = count_seen(GROUP_process);
	if (!c || !current_wanted(c, id))
		return 0;
	e = ev_reserve(c, ts, (u32)id, ended);
	if (!e)
		return 0;
	e->start = BPF_CORE_READ(t, start_boottime);
	e->user = BPF_CORE_READ(s, utime) + BPF_CORE_READ(t, utime);
	e->system = BPF_CORE_READ(s, stime) + BPF_CORE_READ(t, stime);
	e->read = 0;
	e->written = 0;
	if (bpf_core_field_exists(s->ioac.read_bytes)) {
		e->read = BPF_CORE_READ(s, ioac.read_bytes) + BPF_CORE_READ(t, ioac.read_bytes);
		e->written =
			BPF_CORE_READ(s, ioac.write_bytes) + BPF_CORE_READ(t, ioac.write_bytes);
	}
	e->rss = (u64)BPF_CORE_READ(s, maxrss) * page_size;
	e->pid = id >> 32;
	e->parent = BPF_CORE_READ(t, real_parent, tgid);
	e->code = BPF_CORE_READ(t, exit_code);
	e->major_faults = BPF_CORE_READ(s, maj_flt) + BPF_CORE_READ(t, maj_flt);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(process__ended, struct task_struct *t)
{
	return on_ended(t);
}

SEC("?raw_tp/sched_process_exit")
int BPF_PROG(process__ended__raw, struct task_struct *t)
{
	return on_ended(t);
}

#define SIGNAL(n)      (1u << ((n)-1))
#define SI_CODE_OFFSET 8 /* in siginfo of x86, arm64 and s390: user space reads it there too */
#define SI_KERNEL      128
#define SENT	       0 /* TRACE_SIGNAL_DELIVERED */

/* HUP INT QUIT ILL TRAP ABRT BUS FPE KILL SEGV PIPE TERM STOP XCPU XFSZ SYS: rare ones. */
#define ENDING                                                                                    \
	(SIGNAL(1) | SIGNAL(2) | SIGNAL(3) | SIGNAL(4) | SIGNAL(5) | SIGNAL(6) | SIGNAL(7) |      \
	 SIGNAL(8) | SIGNAL(9) | SIGNAL(11) | SIGNAL(13) | SIGNAL(15) | SIGNAL(19) | SIGNAL(24) | \
	 SIGNAL(25) | SIGNAL(31))

/* info: 0 and 1 stand for kill(2) and for the kernel. */
static __always_inline int on_signal(u32 number, u64 info, struct task_struct *t, u32 result)
{
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct ev_signal_sent *e;
	struct counts *c;
	u32 target;

	if (number - 1 > 31 || !(ENDING & SIGNAL(number)) || result != SENT)
		return 0;
	c = count_seen(GROUP_process);
	target = BPF_CORE_READ(t, pid);
	if (!c || (!wanted(target) && !current_wanted(c, id)))
		return 0;
	e = ev_reserve(c, ts, (u32)id, signal_sent);
	if (!e)
		return 0;
	e->target = target;
	e->pid = BPF_CORE_READ(t, tgid);
	e->number = number;
	e->code = info ? SI_KERNEL : 0;
	e->sender = id >> 32;
	e->unused = 0;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	if (info > 1)
		bpf_probe_read_kernel(&e->code, sizeof(e->code), (void *)(info + SI_CODE_OFFSET));
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/signal_generate")
int BPF_PROG(process__signal, u32 number, u64 info, struct task_struct *t, u32 group, u32 result)
{
	return on_signal(number, info, t, result);
}

SEC("?raw_tp/signal_generate")
int BPF_PROG(process__signal__raw, u32 number, u64 info, struct task_struct *t, u32 group,
	     u32 result)
{
	return on_signal(number, info, t, result);
}
