// SPDX-License-Identifier: GPL-2.0-or-later
/* Group core: threads being made, replaced, renamed, moved and ended. */

#define FILENAME_MAX 256

/*
 * Counts the event; true unless it is of this recorder. Threads being made, named and ended are
 * recorded of the whole host: those that take a target's CPU, or wake it, are often no
 * targets, and without names a reader cannot find the process.
 */
static __always_inline bool task_foreign(struct counts *c)
{
	if (bpf_get_current_pid_tgid() >> 32 == self_tgid) {
		count(c, self);
		return false;
	}
	return true;
}

/* The same; true if the thread is a target. */
static __always_inline bool task_wanted(struct counts *c, u32 tid)
{
	if (!task_foreign(c))
		return false;
	if (!wanted(tid)) {
		count(c, filtered);
		return false;
	}
	return true;
}

/* A thread of a target is one, too; a process if children are followed, or by its own right. */
static __always_inline bool child_wanted(struct task_struct *child, bool maker, bool thread)
{
	char comm[16] = {};

	if (by_cgroup && !cgroup_hierarchy) {
		if (cgroup_wanted(BPF_CORE_READ(child, cgroups, dfl_cgrp)))
			return true;
		if (!by_task)
			return false;
	}
	if (maker && (thread || follow))
		return true;
	if (!by_comm)
		return false;
	bpf_probe_read_kernel(comm, sizeof(comm), child->comm);
	return comm_wanted(comm);
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
	bool mark = !filter_all && child_wanted(child, wanted(maker), child_pid == pid);

	/* the number may have had an owner before: its word starts again from 0 */
	if (word)
		*word = mark ? WORD_WANTED : 0;
	stack_forget(tid);
	if (!c || !(mark || task_foreign(c)))
		return 0;
	e = ev_reserve(c, ts, maker, fork);
	if (!e)
		return 0;
	e->child = tid;
	e->child_pid = child_pid;
	e->pid = pid;
	e->uid = uid;
	e->cgroup = cgroup_of(child);
	e->target = filter_all || mark;
	e->unused = 0;
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
		*word |= WORD_WANTED;
	if (!c || !task_wanted(c, tid))
		return 0;
	e = reserve(c, ts, tid, EV_exec, EXEC_SIZE);
	if (!e)
		return 0;
	__builtin_memset(e->filename, 0, FILENAME_MAX);
	e->pid = GET(btf, t, tgid);
	e->old_tid = old_tid;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), t->comm);
	if (!hide)
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

	if (!c || !task_foreign(c))
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
	char name[16] = {};
	struct ev_rename *e;

	if (!c)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof(name), comm);
	if (by_comm && comm_wanted(name))
		want(tid);
	if (!task_foreign(c))
		return 0;
	e = ev_reserve(c, ts, tid, rename);
	if (!e)
		return 0;
	__builtin_memcpy(e->comm, name, sizeof(e->comm));
	e->target = wanted(tid);
	e->unused = 0;
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

static __always_inline int on_cgroup_made(struct cgroup *g, const char *path)
{
	struct counts *c;
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct ev_cgroup_made *e;

	/* its numbers are those of thread.cgroup in one hierarchy only */
	if (!cgroup_counts(g))
		return 0;
	c = count_seen(GROUP_core);
	if (!c)
		return 0;
	e = reserve(c, ts, (u32)id, EV_cgroup_made, sizeof(*e) + FILENAME_MAX);
	if (!e)
		return 0;
	e->id = BPF_CORE_READ(g, kn, id);
	e->parent = BPF_CORE_READ(g, self.parent, cgroup, kn, id);
	__builtin_memset(e->path, 0, FILENAME_MAX);
	if (!hide)
		bpf_probe_read_kernel_str(e->path, FILENAME_MAX, path);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/cgroup_mkdir")
int BPF_PROG(core__cgroup_made, struct cgroup *g, const char *path)
{
	return on_cgroup_made(g, path);
}

SEC("?raw_tp/cgroup_mkdir")
int BPF_PROG(core__cgroup_made__raw, struct cgroup *g, const char *path)
{
	return on_cgroup_made(g, path);
}

/* Of a process that moves as a whole only the leader is reported; obsrec finds the others. */
static __always_inline int on_cgroup_move(struct cgroup *g, struct task_struct *t, bool whole)
{
	u32 tid = BPF_CORE_READ(t, pid);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	u64 *word = thread_word(tid);
	struct ev_cgroup_move *e;
	struct counts *c;

	if (by_cgroup && word && (u32)BPF_CORE_READ(g, root, hierarchy_id) == cgroup_hierarchy) {
		if (cgroup_wanted(g))
			want(tid);
		else if (*word & WORD_WANTED && !by_task) {
			*word &= ~WORD_WANTED;
			__sync_fetch_and_add(&new_targets, 1);
		}
	}
	if (!cgroup_counts(g))
		return 0;
	c = count_seen(GROUP_core);
	if (!c)
		return 0;
	if (!wanted(tid)) {
		count(c, filtered);
		return 0;
	}
	e = ev_reserve(c, ts, (u32)id, cgroup_move);
	if (!e)
		return 0;
	e->cgroup = BPF_CORE_READ(g, kn, id);
	e->target = tid;
	e->whole = whole;
	e->wanted = true;
	e->unused = 0;
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(core__cgroup_move, struct cgroup *g, const char *path, struct task_struct *t,
	     bool whole)
{
	return on_cgroup_move(g, t, whole);
}

SEC("?raw_tp/cgroup_attach_task")
int BPF_PROG(core__cgroup_move__raw, struct cgroup *g, const char *path, struct task_struct *t,
	     bool whole)
{
	return on_cgroup_move(g, t, whole);
}
