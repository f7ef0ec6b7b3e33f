// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads and processes: who exists, whose child it is, what it is called. */
#include "analyze/replay/track_loss.h"
#include "threads.h"
#include "track_cpu.h"
#include "track_shares.h"
#include "track_states.h"

#include <string.h>

/* The thread is a target from now on: what it did before is not known. */
static void now_tracked(struct thread *t, u64 ts)
{
	if (t->tracked)
		return;
	t->tracked = true;
	t->seen = false;
	t->start = ts;
}

/* What a snapshot has of a thread replaces what was believed: it is recorded again after losses. */
static void take_names(struct thread *t, const struct ev_thread *ev, const struct record *rec)
{
	struct process *p = t->process;

	memcpy(t->comm, ev->comm, sizeof(t->comm));
	served_of(t)->bound = ev->bound;
	shares_member(t, ev->cgroup, rec->ts);
	p->cgroup = ev->cgroup;
	p->parent = ev->parent;
	p->uid = ev->uid;
	if (rec->tid != ev->pid)
		return;
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	task_set_cmdline(p, rec->tail, rec->tail_len);
}

/* Recordings that were merged have targets of their own: of the others nothing is known then. */
static void now_left(struct replay *r, struct thread *t)
{
	if (!t->seen)
		states_first(r, t, STATE_unknown);
	states_contradict(r, t, r->resnapshot);
	if (t->state == STATE_run)
		cpu_leave(r, t, r->resnapshot);
	cpu_inactive(r, t, r->resnapshot);
	t->state = STATE_unknown;
	t->tracked = false;
	t->left = t->process->left = true;
}

/* A later snapshot: the thread may have become a target; what it did before is not known. */
static void thread_again(struct replay *r, struct thread *t, const struct record *rec)
{
	const struct ev_thread *ev = rec->event;

	if (ev->target) {
		t->tracked |= t->left;
		t->left = t->process->left = false;
		now_tracked(t, r->resnapshot);
	} else if (t->tracked && !r->everything && loss_has_gaps(r)) {
		now_left(r, t);
	}
	take_names(t, ev, rec);
}

/* Snapshot: these threads existed when the recording began, or later, when it was taken. */
static int tasks_on_thread(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_thread *ev = rec->event;
	struct thread *t;
	bool other;

	if (!rec->tid)
		return 0;
	t = idmap_get(&r->threads, rec->tid);
	if (t && t->process->pid == ev->pid) {
		thread_again(r, t, rec);
		return 0;
	}
	if (t && !r->events) {
		task_forget(r, t);
		t = NULL;
	}
	/* its fork was lost, and it was taken for a process of its own; or a begin and an end were
	 */
	other = t;
	if (other && task_end(r, t, rec->ts, e) < 0)
		return ERR_FAIL;
	t = task_new(r, rec->tid, ev->pid, e);
	if (!t)
		return ERR_FAIL;
	t->tracked |= ev->target;
	if (other)
		t->start = rec->ts;
	else
		t->snapshot = ev->state;
	t->used = ev->runtime;
	take_names(t, ev, rec);
	return 0;
}

static void new_process(struct process *p, const struct thread *maker, const struct ev_fork *ev,
			u64 ts)
{
	const char *cmdline = maker->process->cmdline;

	p->start = ts;
	p->parent = ev->pid;
	p->uid = ev->uid;
	p->cgroup = ev->cgroup;
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	if (cmdline)
		task_set_cmdline(p, cmdline, strlen(cmdline));
}

static int tasks_on_fork(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_fork *ev = rec->event;
	struct thread *maker, *t;
	bool fresh = false;

	if (!ev->child || !rec->tid || ev->child == rec->tid) /* none is its own child */
		return 0;
	maker = task_thread(r, rec->tid, e);
	if (!maker)
		return ERR_FAIL;
	t = idmap_get(&r->threads, ev->child);
	if (t && t->start) { /* its end was not seen; the number is used again */
		if (task_end(r, t, rec->ts, e) < 0)
			return ERR_FAIL;
		t = NULL;
	}
	if (!t) {
		t = task_new(r, ev->child, ev->child_pid, e);
		fresh = true;
	}
	if (!t)
		return ERR_FAIL;
	t->start = rec->ts;
	t->tracked = r->everything || ev->target ||
		     (!r->chosen && maker->tracked && (r->follow || ev->child_pid == ev->pid));
	if (fresh)
		memcpy(t->comm, ev->comm, sizeof(t->comm));
	served_of(t)->bound = served_of(maker)->bound;
	shares_member(t, ev->cgroup, rec->ts);
	if (ev->child == ev->child_pid && maker->process != t->process)
		new_process(t->process, maker, ev, rec->ts);
	return 0;
}

static int tasks_on_exec(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_exec *ev = rec->event;
	struct thread *t, *leader;

	if (!rec->tid)
		return 0;
	if (ev->old_tid && ev->old_tid != rec->tid) {
		/* a thread that is not the leader takes the leader's number */
		leader = idmap_get(&r->threads, rec->tid);
		if (leader && task_end(r, leader, rec->ts, e) < 0)
			return ERR_FAIL;
		t = idmap_take(&r->threads, ev->old_tid);
		if (t) {
			t->tid = rec->tid;
			if (idmap_put(&r->threads, rec->tid, t, TASK_LIMIT, e) < 0)
				return ERR_FAIL;
		}
		r->last = NULL;
	}
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	memcpy(t->comm, ev->comm, sizeof(t->comm));
	memcpy(t->process->comm, ev->comm, sizeof(t->process->comm));
	/* group process has the arguments, at the same tracepoint: the file's name is less */
	if (!t->process->has_args)
		task_set_cmdline(t->process, rec->tail, rec->tail_len);
	t->process->has_args = false;
	return 0;
}

/* The thread still runs until its last switch; without switches this is its end. */
static int tasks_on_exit(struct replay *r, const struct record *rec, struct err *e)
{
	struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;

	if (!t || (has_group(r, GROUP_sched) && t->tracked))
		return 0;
	return task_end(r, t, rec->ts, e);
}

/* To another control group, which may be what makes it a target. */
static int tasks_on_move(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_move *ev = rec->event;
	struct thread *t = ev->target ? task_thread(r, ev->target, e) : NULL;

	if (!t)
		return ev->target ? ERR_FAIL : 0;
	t->process->cgroup = ev->cgroup;
	shares_moved(r, t, ev->whole, ev->cgroup, rec->ts);
	if (ev->wanted)
		now_tracked(t, rec->ts);
	return 0;
}

static int tasks_on_rename(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_rename *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (ev->target)
		now_tracked(t, rec->ts);
	memcpy(t->comm, ev->comm, sizeof(t->comm));
	if (t->process->pid == t->tid)
		memcpy(t->process->comm, ev->comm, sizeof(t->process->comm));
	return 0;
}

static int tasks_on_limits(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_limits *ev = rec->event;
	struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;

	(void)e;
	if (t)
		t->process->files = ev->files & INT64_MAX;
	return 0;
}

static const struct handler handlers[] = {
	{ EV_thread, true, tasks_on_thread },
	{ EV_thread, false, tasks_on_thread }, /* later snapshots tell of their own time */
	{ EV_fork, false, tasks_on_fork },
	{ EV_exec, false, tasks_on_exec },
	{ EV_exit, false, tasks_on_exit },
	{ EV_rename, false, tasks_on_rename },
	{ EV_cgroup_move, false, tasks_on_move },
	{ EV_limits, true, tasks_on_limits },
	{ EV_limits, false, tasks_on_limits },
	{ 0 },
};

const struct tracker track_tasks = {
	.name = "tasks",
	.handlers = handlers,
	.finish = tasks_end_all,
};
