// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that exist, with their names, states and fds. */
#include "process_state.h"

#include "analyze/base/counted.h"
#include "format/linux_abi.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_MAX 65536 /* threads that ended: for stacks that come up to a second later */

static int mark(struct idmap *m, u64 id, struct err *e)
{
	return idmap_put(m, id, m, TASK_LIMIT, e);
}

int process_state_open(struct process_state **ret, const struct filter *f, const struct reader *r,
		       struct err *e)
{
	struct process_state *p = calloc(1, sizeof(*p));
	const struct schema *s = reader_schema(r);
	int i, k, n;

	if (!p)
		return err_set(e, ERR_FAIL, "out of memory");
	p->filter = f;
	p->switches = reader_state(r)->groups & 1u << GROUP_sched;
	p->close_call = syscall_by_name("close");
	p->everything = true; /* until the recording names its targets */
	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		for (k = n = 0; s->by_id[i] && k < s->by_id[i]->n_fields && n < 4; k++)
			if (s->by_id[i]->fields[k].kind == KIND_PID)
				p->pid_fields[i][n++] = &s->by_id[i]->fields[k];
	*ret = p;
	return 0;
}

/* ---- threads ---- */

static struct state_process *process_of(struct process_state *p, u32 pid, struct err *e)
{
	struct state_process *proc = idmap_get(&p->processes, pid);

	if (proc)
		return proc;
	proc = idmap_add(&p->processes, pid, sizeof(*proc), TASK_LIMIT, "processes", e);
	if (!proc)
		return NULL;
	proc->pid = pid;
	return proc;
}

static void leave(struct process_state *p, struct state_thread *t)
{
	struct state_process *proc = t->process;
	struct err none = { 0 };

	if (p->left.n == LEFT_MAX)
		idmap_free(&p->left);
	if (t->chosen && idmap_put(&p->left, t->ev.h.tid, p, LEFT_MAX, &none) < 0)
		idmap_free(&p->left);
	idmap_take(&p->threads, t->ev.h.tid);
	free(t);
	if (--proc->n_threads)
		return;
	idmap_take(&p->processes, proc->pid);
	state_process_free(p, proc);
}

static struct state_thread *join(struct process_state *p, const struct ev_thread *ev, struct err *e)
{
	struct state_process *proc = process_of(p, ev->pid, e);
	struct state_thread *t = proc ? calloc(1, sizeof(*t)) : NULL;

	if (!t) {
		err_set(e, ERR_FAIL, "out of memory for threads");
		return NULL;
	}
	t->ev = *ev;
	t->process = proc;
	proc->n_threads++;
	if (idmap_put(&p->threads, ev->h.tid, t, TASK_LIMIT, e) < 0) {
		proc->n_threads--;
		free(t);
		return NULL;
	}
	t->tracked = p->everything || ev->target || idmap_get(&p->targets, ev->pid);
	return t;
}

/* Whether the filter means this thread; a child comes with its parent unless that was meant alone.
 */
static void choose(struct process_state *p, struct state_thread *t,
		   const struct state_thread *parent)
{
	const struct filter *f = p->filter;
	bool alone = false;
	int i;

	t->chosen = idmap_get(&p->named, t->ev.h.tid) || idmap_get(&p->named, t->ev.pid);
	for (i = 0; i < f->n_pids; i++)
		t->chosen |= f->pids[i] == t->ev.pid;
	if (parent && parent->chosen && !parent->alone)
		t->chosen |= !f->no_follow || t->ev.pid == parent->ev.pid;
	for (i = 0; i < f->n_tids; i++)
		alone |= f->tids[i] == t->ev.h.tid;
	t->alone = alone && !t->chosen;
	t->chosen |= alone;
	t->chosen &= t->tracked;
	p->n_chosen += t->chosen;
}

static int on_thread(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_thread *ev = rec->event;
	struct state_thread *t;

	if (!rec->tid)
		return 0;
	t = idmap_get(&p->threads, rec->tid);
	/* a later snapshot knows better: whose it is, its name, whether it has become a target */
	if (t && t->ev.pid != ev->pid) {
		leave(p, t);
		t = NULL;
	}
	if (t) {
		t->tracked |= ev->target != 0;
		memcpy(t->ev.comm, ev->comm, sizeof(t->ev.comm));
	} else {
		t = join(p, ev, e);
	}
	if (!t)
		return ERR_FAIL;
	if (!t->chosen) /* one that came with its parent stays */
		choose(p, t, NULL);
	if (rec->tid == t->ev.pid)
		state_text(&t->process->cmdline, rec->tail, rec->tail_len);
	return 0;
}

static int on_fd(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_fd *ev = rec->event;
	struct state_process *proc = idmap_get(&p->processes, ev->pid);

	return proc ? state_fd_put(p, proc, ev, rec->tail, rec->tail_len, e) : 0;
}

static int on_fork(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_fork *ev = rec->event;
	struct state_thread *parent = idmap_get(&p->threads, rec->tid), *t;
	struct ev_thread child = { 0 };

	if (!ev->child)
		return 0;
	t = idmap_get(&p->threads, ev->child);
	if (t && (t->fresh || t->gone)) { /* its end was not seen; the number is used again */
		leave(p, t);
		parent = idmap_get(&p->threads, rec->tid);
		t = NULL;
	}
	if (parent)
		child = parent->ev;
	child.h.tid = ev->child;
	child.pid = ev->child_pid;
	child.uid = ev->uid;
	child.state = 'R';
	child.start = child.runtime = 0;
	child.cgroup = ev->cgroup;
	child.target = ev->target;
	if (ev->child == ev->child_pid)
		child.parent = ev->pid;
	memcpy(child.comm, ev->comm, sizeof(child.comm));
	t = t ? t : join(p, &child, e);
	if (!t)
		return ERR_FAIL;
	t->fresh = true;
	t->tracked = p->everything || ev->target ||
		     (!p->marked && parent && parent->tracked &&
		      (p->follow || ev->child_pid == ev->pid));
	choose(p, t, parent);
	if (parent && t->process != parent->process && ev->child == ev->child_pid)
		return state_process_inherit(p, t->process, parent->process, e);
	return 0;
}

static int on_exec(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_exec *ev = rec->event;
	struct state_thread *t = idmap_get(&p->threads, rec->tid), *other;
	int ret = 0;

	if (ev->old_tid && ev->old_tid != rec->tid) {
		/* a thread that is not the leader takes the leader's number */
		other = idmap_take(&p->threads, ev->old_tid);
		if (t && other)
			leave(p, t);
		t = other ? other : t;
		if (other) {
			other->ev.h.tid = rec->tid;
			ret = idmap_put(&p->threads, rec->tid, other, TASK_LIMIT, e);
		}
		if (ret < 0) {
			other->process->n_threads--;
			free(other);
			return ret;
		}
	}
	if (!t)
		return 0;
	memcpy(t->ev.comm, ev->comm, sizeof(t->ev.comm));
	state_text(&t->process->cmdline, rec->tail, rec->tail_len);
	return 0;
}

/* It is a target from now on. */
static void now_tracked(struct process_state *p, struct state_thread *t)
{
	if (t->tracked)
		return;
	t->tracked = true;
	choose(p, t, NULL);
}

static int on_move(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_move *ev = rec->event;
	struct state_thread *t = idmap_get(&p->threads, ev->target);

	(void)e;
	if (!t)
		return 0;
	t->ev.cgroup = ev->cgroup;
	if (ev->wanted)
		now_tracked(p, t);
	return 0;
}

static int on_rename(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_rename *ev = rec->event;
	struct state_thread *t = idmap_get(&p->threads, rec->tid);

	(void)e;
	if (!t)
		return 0;
	memcpy(t->ev.comm, ev->comm, sizeof(t->ev.comm));
	if (ev->target)
		now_tracked(p, t);
	return 0;
}

/* It still runs until its last switch, if that is recorded. */
static int on_end(struct process_state *p, const struct record *rec, struct err *e)
{
	struct state_thread *t = idmap_get(&p->threads, rec->tid);

	(void)e;
	if (t && p->switches)
		t->gone = true;
	else if (t)
		leave(p, t);
	return 0;
}

static int on_switch(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	struct state_thread *t = rec->tid ? idmap_get(&p->threads, rec->tid) : NULL;

	(void)e;
	if (t && ev->state & LINUX_TASK_GONE && !(ev->flags & SWITCH_PREEMPT)) {
		leave(p, t);
	} else if (t) {
		t->ev.state = !ev->state || ev->flags & SWITCH_PREEMPT ? 'R'
			      : ev->state & LINUX_TASK_STOPPED_TRACED  ? 'T'
			      : ev->state & LINUX_TASK_UNINTERRUPTIBLE ? 'D'
								       : 'S';
	}
	t = ev->next ? idmap_get(&p->threads, ev->next) : NULL;
	if (t)
		t->ev.state = 'R';
	return 0;
}

static int on_waking(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_waking *ev = rec->event;
	struct state_thread *t = ev->target ? idmap_get(&p->threads, ev->target) : NULL;

	(void)e;
	if (t)
		t->ev.state = 'R';
	return 0;
}

static int on_syscall(struct process_state *p, const struct record *rec, struct err *e)
{
	const struct ev_syscall *ev = rec->event;
	bool x86 = ev->abi == ABI_X86_64 && ev->nr == p->close_call->x86_64;
	bool arm = ev->abi == ABI_AARCH64 && ev->nr == p->close_call->aarch64;
	struct state_thread *t;

	(void)e;
	if (ev->ret != 0 || ev->flags & SYSCALL_UNFINISHED || !(x86 || arm))
		return 0;
	t = idmap_get(&p->threads, rec->tid);
	if (t)
		state_fd_drop(p, t->process, ev->fd);
	return 0;
}

/* The request of a record of group block; NULL: none. */
static const u64 *request_of(const struct record *rec)
{
	if (rec->type == EV_block_start || rec->type == EV_block_issue)
		return &((const struct ev_block_start *)rec->event)->request;
	return rec->type == EV_block_complete
		       ? &((const struct ev_block_complete *)rec->event)->request
		       : NULL;
}

bool process_state_chosen(const struct process_state *p, u32 tid)
{
	const struct state_thread *t = tid ? idmap_get(&p->threads, tid) : NULL;

	return t && t->chosen;
}

static int on_request(struct process_state *p, const struct record *rec, struct err *e)
{
	const u64 *request = request_of(rec);

	if (rec->type == EV_block_complete)
		idmap_take(&p->requests, *request);
	else if (rec->type == EV_block_start && process_state_chosen(p, rec->tid))
		return idmap_put(&p->requests, *request, p, REQUEST_LIMIT, e);
	return 0;
}

static const struct {
	u16 event;
	int (*on)(struct process_state *p, const struct record *rec, struct err *e);
} handlers[] = {
	{ EV_switch, on_switch },
	{ EV_waking, on_waking },
	{ EV_syscall, on_syscall },
	{ EV_fd, on_fd },
	{ EV_fork, on_fork },
	{ EV_exec, on_exec },
	{ EV_cgroup_move, on_move },
	{ EV_thread, on_thread },
	{ EV_exit, on_end },
	{ EV_rename, on_rename },
	{ EV_block_start, on_request },
	{ EV_block_complete, on_request },
};

int process_state_take(struct process_state *p, const struct record *rec, struct err *e)
{
	size_t i;

	for (i = 0; rec->event && i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].event == rec->type)
			return handlers[i].on(p, rec, e);
	return 0;
}

static int read_targets(struct process_state *p, const char *value, size_t n, struct err *e)
{
	u64 id = 0;
	size_t i;
	int ret = 0;

	p->everything = n == 3 && memcmp(value, "all", 3) == 0;
	p->marked = n == 6 && memcmp(value, "chosen", 6) == 0;
	for (i = 0; i < n && !p->everything && ret == 0; i++) {
		id = value[i] >= '0' && value[i] <= '9' ? id * 10 + (u64)(value[i] - '0') : 0;
		if (id && (i + 1 == n || value[i + 1] == ','))
			ret = mark(&p->targets, (u32)id, e);
	}
	return ret;
}

bool process_state_later(const struct process_state *p, const struct record *rec)
{
	return p->snapshot_end && rec->ts > p->snapshot_end;
}

int process_state_first(struct process_state *p, const struct record *rec, struct err *e)
{
	if (!rec->event)
		return 0;
	if (rec->type == EV_thread && !process_state_later(p, rec))
		return on_thread(p, rec, e);
	if (rec->type == EV_fd && !process_state_later(p, rec))
		return on_fd(p, rec, e);
	if (rec->type != EV_info)
		return 0;
	if (rec->tail_len > 9 && memcmp(rec->tail, "snapshot=", 9) == 0 && !p->snapshot_end)
		p->snapshot_end = rec->ts;
	if (rec->tail_len > 8 && memcmp(rec->tail, "targets=", 8) == 0)
		return read_targets(p, rec->tail + 8, rec->tail_len - 8, e);
	if (rec->tail_len > 7 && memcmp(rec->tail, "follow=", 7) == 0)
		p->follow = rec->tail[7] != '0';
	return 0;
}

bool process_state_wants(struct process_state *p, const struct record *rec)
{
	const struct field_desc *const *f = p->pid_fields[rec->type];
	const u64 *request;
	int i;

	if (!filter_chooses(p->filter))
		return true;
	request = rec->event ? request_of(rec) : NULL;
	if (request && rec->type != EV_block_start)
		return idmap_get(&p->requests, *request) != NULL;
	if (process_state_chosen(p, rec->tid))
		return true;
	if (counted_on(rec) != rec->stream && idmap_get(&p->left, rec->tid))
		return true;
	for (i = 0; i < 4 && f[i]; i++)
		if (process_state_chosen(p, (u32)field_value(f[i], rec->raw)))
			return true;
	return false;
}

int process_state_any(const struct process_state *p, struct err *e)
{
	return p->n_chosen ? 0
			   : err_set(e, ERR_FAIL,
				     "the filter means no process or thread of which the recording "
				     "has events");
}

void process_state_free(struct process_state *p)
{
	struct state_process *proc;
	size_t at = 0;

	if (!p)
		return;
	while ((proc = idmap_each(&p->processes, &at)))
		state_process_free(p, proc);
	idmap_free_all(&p->threads);
	idmap_free(&p->processes);
	idmap_free(&p->targets);
	idmap_free(&p->named);
	idmap_free(&p->cgroups);
	idmap_free(&p->requests);
	idmap_free(&p->left);
	free(p);
}
