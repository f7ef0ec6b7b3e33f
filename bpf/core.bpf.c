// SPDX-License-Identifier: GPL-2.0-or-later
/* Group core: threads being made, replaced, renamed and ended. */

#define FILENAME_MAX 256

/* Counts the event; true if the thread's events are to be recorded. */
static __always_inline bool task_wanted(struct counts *c, u32 tid)
{
	if (bpf_get_current_pid_tgid() >> 32 == self_tgid) {
		count(c, self);
		return false;
	}
	if (!wanted(tid)) {
		count(c, filtered);
		return false;
	}
	return true;
}

static __always_inline int on_fork(struct task_struct *parent, struct task_struct *child,
				   const bool btf)
{
	struct counts *c = count_seen(GROUP_core);
	u64 ts = bpf_ktime_get_ns();
	u32 maker = GET(btf, parent, pid), pid = GET(btf, parent, tgid);
	u32 tid = GET(btf, child, pid), child_pid = GET(btf, child, tgid);
	u32 uid = BPF_CORE_READ(child, cred, euid.val);
	u64 *word = thread_word(tid);
	struct ev_fork *e;
	bool mark = !filter_all && wanted(maker) && (follow || child_pid == pid);

	/* the number may have had an owner before: its word starts anew */
	if (word)
		*word = mark ? WANTED : 0;
	if (!c || !task_wanted(c, maker))
		return 0;
	e = ev_reserve(c, ts, maker, fork);
	if (!e)
		return 0;
	e->child = tid;
	e->child_pid = child_pid;
	e->pid = pid;
	e->uid = uid;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), child->comm);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(core__fork, struct task_struct *parent, struct task_struct *child)
{
	return on_fork(parent, child, true);
}

SEC("?raw_tp/sched_process_fork")
int BPF_PROG(core__fork__raw, struct task_struct *parent, struct task_struct *child)
{
	return on_fork(parent, child, false);
}

#define EXEC_SIZE (sizeof(struct ev_exec) + FILENAME_MAX)

static __always_inline int on_exec(struct task_struct *t, u32 old_tid, struct linux_binprm *bprm,
				   const bool btf)
{
	struct counts *c = count_seen(GROUP_core);
	u64 ts = bpf_ktime_get_ns();
	u32 tid = GET(btf, t, pid);
	const char *filename = BPF_CORE_READ(bprm, filename);
	u64 *word = thread_word(tid);
	struct ev_exec *e;

	/* a thread that is not the leader takes the leader's number */
	if (word && old_tid != tid && !filter_all && wanted(old_tid))
		*word |= WANTED;
	if (!c || !task_wanted(c, tid))
		return 0;
	e = reserve(c, ts, tid, EV_exec, EXEC_SIZE);
	if (!e)
		return 0;
	__builtin_memset(e->filename, 0, FILENAME_MAX);
	e->pid = GET(btf, t, tgid);
	e->old_tid = old_tid;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), t->comm);
	bpf_probe_read_kernel_str(e->filename, FILENAME_MAX, filename);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(core__exec, struct task_struct *t, s32 old_tid, struct linux_binprm *bprm)
{
	return on_exec(t, old_tid, bprm, true);
}

SEC("?raw_tp/sched_process_exec")
int BPF_PROG(core__exec__raw, struct task_struct *t, s32 old_tid, struct linux_binprm *bprm)
{
	return on_exec(t, old_tid, bprm, false);
}

/* The thread's mark stays: its last switch is still to come. */
static __always_inline int on_task_exit(struct task_struct *t, const bool btf)
{
	struct counts *c = count_seen(GROUP_core);
	u64 ts = bpf_ktime_get_ns();
	u32 tid = GET(btf, t, pid), pid = GET(btf, t, tgid), code = GET(btf, t, exit_code);
	struct ev_exit *e;

	if (!c || !task_wanted(c, tid))
		return 0;
	e = ev_reserve(c, ts, tid, exit);
	if (!e)
		return 0;
	e->pid = pid;
	e->code = code;
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(core__exit, struct task_struct *t)
{
	return on_task_exit(t, true);
}

SEC("?raw_tp/sched_process_exit")
int BPF_PROG(core__exit__raw, struct task_struct *t)
{
	return on_task_exit(t, false);
}

static __always_inline int on_rename(struct task_struct *t, const char *comm, const bool btf)
{
	struct counts *c = count_seen(GROUP_core);
	u64 ts = bpf_ktime_get_ns();
	u32 tid = GET(btf, t, pid);
	struct ev_rename *e;

	if (!c || !task_wanted(c, tid))
		return 0;
	e = ev_reserve(c, ts, tid, rename);
	if (!e)
		return 0;
	__builtin_memset(e->comm, 0, sizeof(e->comm));
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), comm);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/task_rename")
int BPF_PROG(core__rename, struct task_struct *t, const char *comm)
{
	return on_rename(t, comm, true);
}

SEC("?raw_tp/task_rename")
int BPF_PROG(core__rename__raw, struct task_struct *t, const char *comm)
{
	return on_rename(t, comm, false);
}
