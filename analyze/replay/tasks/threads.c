// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads and processes with the slots of all trackers, which are called when one ends. A thread or
 * a process and its slots are one piece of memory.
 */
#include "threads.h"
#include "track_parts.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDED(size) (((size) + 15) & ~(size_t)15)

static bool is_target(const struct replay *r, u32 pid)
{
	u32 i;

	for (i = 0; i < r->n_targets; i++)
		if (r->targets[i] == pid)
			return true;
	return r->everything;
}

static struct process *process_new(const struct replay *r, u32 pid)
{
	size_t size = ROUNDED(sizeof(struct process)), i;
	struct process *p;

	for (i = 0; i < N_TRACKERS; i++)
		size += ROUNDED(r->trackers[i]->of_process);
	p = calloc(1, size);
	if (!p)
		return NULL;
	size = ROUNDED(sizeof(struct process));
	for (i = 0; i < N_TRACKERS; i++) {
		p->own[i] = (char *)p + size;
		size += ROUNDED(r->trackers[i]->of_process);
	}
	p->pid = pid;
	return p;
}

static struct process *process_of(struct replay *r, u32 pid, struct err *e)
{
	struct process *p = idmap_get(&r->processes, pid);

	if (p)
		return p;
	p = process_new(r, pid);
	if (!p) {
		err_set(e, ERR_FAIL, "out of memory for processes");
		return NULL;
	}
	if (idmap_put(&r->processes, pid, p, TASK_LIMIT, e) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

static struct thread *thread_new(const struct replay *r)
{
	size_t size = ROUNDED(sizeof(struct thread)), i;
	struct thread *t;

	for (i = 0; i < N_TRACKERS; i++)
		size += ROUNDED(r->trackers[i]->of_thread);
	t = calloc(1, size);
	if (!t)
		return NULL;
	size = ROUNDED(sizeof(struct thread));
	for (i = 0; i < N_TRACKERS; i++) {
		t->own[i] = (char *)t + size;
		size += ROUNDED(r->trackers[i]->of_thread);
	}
	return t;
}

struct thread *task_new(struct replay *r, u32 tid, u32 pid, struct err *e)
{
	struct process *p = process_of(r, pid, e);
	struct thread *t;

	if (!p)
		return NULL;
	t = thread_new(r);
	if (!t) {
		err_set(e, ERR_FAIL, "out of memory for threads");
		return NULL;
	}
	t->tid = tid;
	t->process = p;
	t->tracked = is_target(r, pid);
	if (idmap_put(&r->threads, tid, t, TASK_LIMIT, e) < 0) {
		free(t);
		return NULL;
	}
	p->threads++;
	return t;
}

struct thread *task_thread(struct replay *r, u32 tid, struct err *e)
{
	struct thread *t = r->last;

	if (t && t->tid == tid)
		return t;
	t = idmap_get(&r->threads, tid);
	/* neither in the snapshot nor forked while we watched: taken for a process of its own */
	if (!t)
		t = task_new(r, tid, tid, e);
	r->last = t;
	return t;
}

void task_set_cmdline(struct process *p, const char *text, size_t len)
{
	char *copy = len ? strndup(text, len) : NULL;

	if (!copy)
		return;
	free(p->cmdline);
	p->cmdline = copy;
}

/* Names are not always terminated: a copy that is. */
struct name {
	char text[sizeof(comm16) + 1];
};

static struct name name_of(const comm16 comm)
{
	struct name n = { { 0 } };

	memcpy(n.text, comm, sizeof(comm16));
	return n;
}

static void process_free(const struct replay *r, struct process *p)
{
	int i;

	for (i = 0; i < N_TRACKERS; i++)
		if (r->trackers[i]->process_free)
			r->trackers[i]->process_free(p->own[i]);
	free(p->cmdline);
	free(p);
}

static void thread_free(const struct replay *r, struct thread *t)
{
	int i;

	for (i = 0; i < N_TRACKERS; i++)
		if (r->trackers[i]->thread_free)
			r->trackers[i]->thread_free(t->own[i]);
	free(t);
}

void task_forget(struct replay *r, struct thread *t)
{
	struct process *p = t->process;

	idmap_take(&r->threads, t->tid);
	r->last = NULL;
	thread_free(r, t);
	if (--p->threads)
		return;
	idmap_take(&r->processes, p->pid);
	process_free(r, p);
}

static int process_end(struct replay *r, struct process *p, u64 ts, bool ended, struct err *e)
{
	struct name comm = name_of(p->comm);
	int ret = 0, i;

	idmap_take(&r->processes, p->pid);
	for (i = 0; i < N_TRACKERS && ret == 0; i++)
		if (r->trackers[i]->process_end)
			ret = r->trackers[i]->process_end(r, p, ts, e);
	if (ret == 0)
		ret = row_put(r->db, process, e, .pid = p->pid, .start = replay_time(r, p->start),
			      .end = ended ? replay_time(r, ts) : BULK_NULL, .parent = p->parent,
			      .uid = p->uid, .comm = comm.text, .cmdline = p->cmdline,
			      .cgroup = p->cgroup ? (s64)(p->cgroup & INT64_MAX) : BULK_NULL,
			      .files_limit = p->files ? (s64)p->files : BULK_NULL);
	process_free(r, p);
	return ret;
}

static int thread_row(struct replay *r, const struct thread *t, u64 ts, bool ended, struct err *e)
{
	struct name comm = name_of(t->comm[0] ? t->comm : t->process->comm);
	/* seen only as a neighbour of others: its time is not known */
	bool known = t->tracked || t->left;
	struct row_thread row = {
		.tid = t->tid,
		.pid = t->process->pid,
		.start = replay_time(r, t->start ? t->start : r->begin),
		.end = known && ended ? replay_time(r, ts) : BULK_NULL,
		.comm = comm.text,
		.wall = known ? 0 : BULK_NULL,
#define STATE(id, name, ...) .name = known ? (s64)t->clock[id] : BULK_NULL,
#include "analyze/store/waits.def"
#undef STATE
		.switches = known ? (s64)t->switches : BULK_NULL,
		.preemptions = known ? (s64)t->preemptions : BULK_NULL,
		.wakeups = known ? (s64)t->wakeups : BULK_NULL,
		.defects = known ? (s64)t->defects : BULK_NULL,
		.used = (s64)(t->used & INT64_MAX),
		.realtime = t->realtime,
	};
	int i;

	parts_fill(r, t, &row);
	for (i = 0; known && i < N_STATES; i++)
		row.wall = (s64)(((u64)row.wall + t->clock[i]) & INT64_MAX);
	return put_row_of(r->db, TABLE_thread, e, &row);
}

static int thread_close(struct replay *r, struct thread *t, u64 ts, bool ended, struct err *e)
{
	struct process *p = t->process;
	int ret = 0, i;

	idmap_take(&r->threads, t->tid);
	r->last = NULL;
	for (i = 0; i < N_TRACKERS && ret == 0; i++)
		if (r->trackers[i]->thread_end)
			ret = r->trackers[i]->thread_end(r, t, ts, e);
	if (ret == 0)
		ret = thread_row(r, t, ts, ended, e);
	thread_free(r, t);
	if (--p->threads == 0) {
		int last = process_end(r, p, ts, ended, ret == 0 ? e : NULL);

		ret = ret < 0 ? ret : last;
	}
	return ret;
}

int task_end(struct replay *r, struct thread *t, u64 ts, struct err *e)
{
	return thread_close(r, t, ts, true, e);
}

int tasks_end_all(struct replay *r, struct err *e)
{
	struct idmap_slot *list = idmap_sorted(&r->threads, e);
	size_t i;
	int ret = 0;

	if (!list)
		return ERR_FAIL;
	for (i = 0; list[i].value; i++) {
		int one = thread_close(r, list[i].value, r->end, false, ret == 0 ? e : NULL);

		ret = ret < 0 ? ret : one;
	}
	free(list);
	/* now, since the names of services and resources are looked up in them */
	return ret < 0 ? ret
		       : db_exec(r->db, e,
				 "CREATE INDEX process_of ON process(pid);"
				 "CREATE INDEX thread_of_process ON thread(pid)");
}

void tasks_free(struct replay *r)
{
	struct process *p;
	struct thread *t;
	size_t at = 0;

	while ((t = idmap_each(&r->threads, &at)))
		thread_free(r, t);
	at = 0;
	while ((p = idmap_each(&r->processes, &at)))
		process_free(r, p);
	idmap_free(&r->threads);
	idmap_free(&r->processes);
}
