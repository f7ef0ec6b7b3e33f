// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads and processes: who exists, whose child it is, what it is called. */
#include "analyze/replay/requests/track_series.h"
#include "track_cpu.h"
#include "track_pressure.h"
#include "track_shares.h"

#include <stdlib.h>
#include <string.h>

static bool is_target(const struct replay *r, u32 pid)
{
	u32 i;

	for (i = 0; i < r->n_targets; i++)
		if (r->targets[i] == pid)
			return true;
	return r->everything;
}

static struct process *process_of(struct replay *r, u32 pid, struct err *e)
{
	struct process *p = idmap_get(&r->processes, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p) {
		err_set(e, ERR_FAIL, "out of memory for processes");
		return NULL;
	}
	p->pid = pid;
	if (idmap_put(&r->processes, pid, p, TASK_LIMIT, e) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

static struct thread *thread_new(struct replay *r, u32 tid, u32 pid, struct err *e)
{
	struct process *p = process_of(r, pid, e);
	struct thread *t;

	if (!p)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t) {
		err_set(e, ERR_FAIL, "out of memory for threads");
		return NULL;
	}
	t->tid = tid;
	t->process = p;
	t->tracked = is_target(r, pid);
	t->open.nr = -1;
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
		t = thread_new(r, tid, tid, e);
	r->last = t;
	return t;
}

static void set_cmdline(struct process *p, const char *text, size_t len)
{
	char *copy = len ? strndup(text, len) : NULL;

	if (!copy)
		return;
	free(p->cmdline);
	p->cmdline = copy;
}

/* The thread is a target from now on: what it did before is not known. */
static void now_tracked(struct thread *t, u64 ts)
{
	if (t->tracked)
		return;
	t->tracked = true;
	t->seen = false;
	t->start = ts;
}

/* What a snapshot tells of a thread replaces what was believed: it is told again after losses. */
static void take_names(struct thread *t, const struct ev_thread *ev, const struct record *rec)
{
	struct process *p = t->process;

	memcpy(t->comm, ev->comm, sizeof(t->comm));
	t->served.bound = ev->bound;
	shares_member(t, ev->cgroup, rec->ts);
	p->cgroup = ev->cgroup;
	p->parent = ev->parent;
	p->uid = ev->uid;
	if (rec->tid != ev->pid)
		return;
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	set_cmdline(p, rec->tail, rec->tail_len);
}

/* A later snapshot: the thread may have become a target; what it did before is not known. */
static void thread_again(struct replay *r, struct thread *t, const struct record *rec)
{
	const struct ev_thread *ev = rec->event;

	if (ev->target)
		now_tracked(t, r->resnapshot);
	take_names(t, ev, rec);
}

static void process_free(struct process *p)
{
	u32 fd;

	for (fd = 0; fd < p->n_files; fd++)
		file_free(p->files[fd]);
	free(p->files);
	hist_free(&p->runq);
	hist_free(&p->turn_latency);
	hist_free(&p->served_latency);
	hist_free(&p->exchange_latency);
	idmap_free(&p->futexes);
	free(p->cmdline);
	free(p->directory);
	free(p);
}

static void thread_free(struct thread *t)
{
	free(t->waits);
	free(t->frames);
	free(t->roused);
	free(t->past);
	free(t->ready);
	free(t->pages);
	free(t);
}

/*
 * Its number is used again within the first snapshot: it ended before the events are read, so its
 * life has no part in the recording.
 */
static void thread_forget(struct replay *r, struct thread *t)
{
	struct process *p = t->process;

	idmap_take(&r->threads, t->tid);
	r->last = NULL;
	thread_free(t);
	if (--p->threads)
		return;
	idmap_take(&r->processes, p->pid);
	process_free(p);
}

/* Snapshot: these threads existed when the recording began, or later, when it was taken. */
int tasks_on_thread(struct replay *r, const struct record *rec, struct err *e)
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
		thread_forget(r, t);
		t = NULL;
	}
	/* its fork was lost, and it was taken for a process of its own; or a begin and an end were
	 */
	other = t;
	if (other && task_end(r, t, rec->ts, e) < 0)
		return ERR_FAIL;
	t = thread_new(r, rec->tid, ev->pid, e);
	if (!t)
		return ERR_FAIL;
	t->tracked |= ev->target;
	if (other)
		t->start = rec->ts;
	else
		t->snapshot = ev->state;
	take_names(t, ev, rec);
	return 0;
}

static int new_process(struct replay *r, struct process *p, const struct thread *maker,
		       const struct ev_fork *ev, u64 ts, struct err *e)
{
	p->start = ts;
	p->parent = ev->pid;
	p->uid = ev->uid;
	p->cgroup = ev->cgroup;
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	if (maker->process->directory && !p->directory)
		p->directory = strdup(maker->process->directory);
	if (maker->process->cmdline)
		set_cmdline(p, maker->process->cmdline, strlen(maker->process->cmdline));
	return fds_inherit(r, p, maker->process, ts, e);
}

int tasks_on_fork(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_fork *ev = rec->event;
	struct thread *maker, *t;
	bool fresh = false;

	if (!ev->child || !rec->tid)
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
		t = thread_new(r, ev->child, ev->child_pid, e);
		fresh = true;
	}
	if (!t)
		return ERR_FAIL;
	t->start = rec->ts;
	t->tracked = r->everything || ev->target ||
		     (!r->chosen && maker->tracked && (r->follow || ev->child_pid == ev->pid));
	if (fresh)
		memcpy(t->comm, ev->comm, sizeof(t->comm));
	t->served.bound = maker->served.bound;
	shares_member(t, ev->cgroup, rec->ts);
	states_begin(t, rec->ts);
	if (ev->child == ev->child_pid && maker->process != t->process)
		return new_process(r, t->process, maker, ev, rec->ts, e);
	return 0;
}

int tasks_on_exec(struct replay *r, const struct record *rec, struct err *e)
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
	/* group process tells the arguments, at the same tracepoint: the file's name is less */
	if (!t->process->has_args)
		set_cmdline(t->process, rec->tail, rec->tail_len);
	t->process->has_args = false;
	if (fds_exec(r, t->process, rec->ts, e) < 0)
		return ERR_FAIL;
	return calls_end(r, t, rec->ts, e);
}

/* The thread still runs until its last switch; without switches this is its end. */
int tasks_on_exit(struct replay *r, const struct record *rec, struct err *e)
{
	struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;

	if (!t || (r->groups & 1u << GROUP_sched && t->tracked))
		return 0;
	return task_end(r, t, rec->ts, e);
}

/* To another control group, which may be what makes it a target. */
int tasks_on_move(struct replay *r, const struct record *rec, struct err *e)
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

int tasks_on_rename(struct replay *r, const struct record *rec, struct err *e)
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

static int process_end(struct replay *r, struct process *p, u64 ts, bool ended, struct err *e)
{
	struct name comm = name_of(p->comm);
	int ret;

	idmap_take(&r->processes, p->pid);
	ret = fds_end(r, p, ts, e);
	if (ret == 0)
		ret = services_end(r, p, e);
	if (ret == 0)
		ret = latency_rows(r, "runq", p->pid, 0, &p->runq, e);
	if (ret == 0)
		ret = latency_rows(r, "turn", p->pid, 0, &p->turn_latency, e);
	if (ret == 0)
		ret = latency_rows(r, "served", p->pid, 0, &p->served_latency, e);
	if (ret == 0)
		ret = latency_rows(r, "exchange", p->pid, 0, &p->exchange_latency, e);
	if (ret == 0)
		ret = db_run(r->db, e,
			     "INSERT INTO process VALUES(?,?,nullif(?,-1),?,?,?,?,nullif(?,0))",
			     "iiiiissi", (s64)p->pid, replay_time(r, p->start),
			     ended ? replay_time(r, ts) : (s64)-1, (s64)p->parent, (s64)p->uid,
			     comm.text, p->cmdline, (s64)(p->cgroup & INT64_MAX));
	process_free(p);
	return ret;
}

static const char set_states[] = "UPDATE thread SET "
#define STATE(id, name, off, doc) #name "=?,"
#include "analyze/store/waits.def"
#undef STATE
				 "wall=wall WHERE rowid=last_insert_rowid()";
static const char all_states[] =
#define STATE(id, name, off, doc) "i"
#include "analyze/store/waits.def"
#undef STATE
	;

static int thread_row(struct replay *r, const struct thread *t, u64 ts, bool ended, struct err *e)
{
	struct name comm = name_of(t->comm[0] ? t->comm : t->process->comm);
	u64 start = t->start ? t->start : r->begin, wall = 0;
	const u64 *c = t->clock;
	int i, ret;

	for (i = 0; i < N_STATES; i++)
		wall += c[i];
	if (!t->tracked) /* seen only as somebody's neighbour: its time is not known */
		return db_run(r->db, e, "INSERT INTO thread(tid,pid,start,comm) VALUES(?,?,?,?)",
			      "iiis", (s64)t->tid, (s64)t->process->pid, replay_time(r, start),
			      comm.text);
	ret = db_run(r->db, e,
		     "INSERT INTO thread(tid,pid,start,end,comm,wall,switches,preemptions,wakeups,"
		     "defects) VALUES(?,?,?,nullif(?,-1),?,?,?,?,?,?)",
		     "iiiisiiiii", (s64)t->tid, (s64)t->process->pid, replay_time(r, start),
		     ended ? replay_time(r, ts) : (s64)-1, comm.text, (s64)wall, (s64)t->switches,
		     (s64)t->preemptions, (s64)t->wakeups, (s64)t->defects);
	if (ret < 0)
		return ret;
	if (parts_row(r, t, e) < 0)
		return ERR_FAIL;
	if (r->groups & 1u << GROUP_sched)
		cpu_row(r, t);
	return db_run(r->db, e, set_states, all_states
#define STATE(id, name, off, doc) , (s64)c[id]
#include "analyze/store/waits.def"
#undef STATE
	);
}

static int thread_close(struct replay *r, struct thread *t, u64 ts, bool ended, struct err *e)
{
	struct process *p = t->process;
	int ret;

	idmap_take(&r->threads, t->tid);
	r->last = NULL;
	ret = states_end(r, t, ts, e);
	if (ret == 0)
		ret = calls_end(r, t, ts, e);
	if (ret == 0)
		ret = thread_row(r, t, ts, ended, e);
	thread_free(t);
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

/* The map changes with each thread that is closed, so the walk starts anew each time it does. */
static struct thread **all_threads(struct replay *r, size_t *ret_n, struct err *e)
{
	struct thread **list = calloc(r->threads.n + 1, sizeof(*list)), *t;
	size_t at = 0;

	*ret_n = 0;
	if (!list)
		err_set(e, ERR_FAIL, "out of memory for threads");
	while (list && (t = idmap_each(&r->threads, &at)))
		list[(*ret_n)++] = t;
	return list;
}

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int tasks_finish(struct replay *r, struct err *e)
{
	struct thread **list;
	size_t i, n;
	int ret = 0;

	list = all_threads(r, &n, e);
	if (!list)
		return ERR_FAIL;
	/* the map's order is random; the same recording gives the same rows */
	qsort(list, n, sizeof(*list), by_tid);
	for (i = 0; i < n; i++) {
		int one = thread_close(r, list[i], r->end, false, ret == 0 ? e : NULL);

		ret = ret < 0 ? ret : one;
	}
	free(list);
	/* now, since the names of services and resources are looked up in them */
	return ret < 0 ? ret
		       : db_exec(r->db, e,
				 "CREATE INDEX process_of ON process(pid);"
				 "CREATE INDEX thread_of_process ON thread(pid)");
}

/* After an error: what is left, without writing rows. */
void tasks_free(struct replay *r)
{
	struct process *p;
	struct thread *t;
	size_t at = 0;

	while ((t = idmap_each(&r->threads, &at)))
		thread_free(t);
	at = 0;
	while ((p = idmap_each(&r->processes, &at)))
		process_free(p);
	idmap_free(&r->threads);
	idmap_free(&r->processes);
}
