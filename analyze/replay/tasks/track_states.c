// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where threads' time goes. A thread is on a CPU, in the run queue or asleep from one switch or
 * wake-up to the next; why it slept is known when the system call around the sleep returns, so
 * sleeps wait in a list until then. A thread whose first event comes late was until then in the
 * state that this event ends: with all switches and wake-ups recorded nothing else is possible.
 */
#include "track_states.h"

#include "analyze/replay/io/descriptors.h"
#include "analyze/replay/io/futexes.h"
#include "analyze/replay/io/track_block.h"
#include "analyze/replay/latency_rows.h"
#include "analyze/replay/requests/track_ready.h"
#include "analyze/replay/requests/track_series.h"
#include "analyze/replay/stacks/stack_rows.h"
#include "analyze/replay/track_loss.h"
#include "format/linux_abi.h"
#include "lock_tries.h"
#include "past.h"
#include "threads.h"
#include "track_cpu.h"

#include <stdlib.h>
#include <string.h>

struct running {
	u32 tid[STREAM_MAX]; /* by CPU: thread that runs there; 0: idle or not known */
	u32 past_extra;
};

/* A span of the thread, as a row and in its sums. */
static void emit(struct replay *r, struct thread *t, enum state state, u64 from, u64 to,
		 const struct sleep *w, s64 nr, s64 object)
{
	struct running *running = r->own[TRACK_states];
	struct row_thread_state *row;

	if (to <= from)
		return;
	t->clock[state] += to - from;
	past_add(t, state, from, to, &running->past_extra);
	series_state(r, t->tid, state, state == STATE_disk && w && w->iowait, from, to);
	row = bulk_add(r->bulk, thread_state);
	row->ts = replay_time(r, from);
	row->dur = to - from;
	row->tid = t->tid;
	row->cpu = w ? w->cpu : t->cpu;
	row->state = state;
	row->nr = nr;
	row->waker = w && w->waked && w->context == CONTEXT_TASK ? (s64)w->waker : BULK_NULL;
	row->context = w && w->waked ? w->context : BULK_NULL;
	row->object = object;
	stack_rows_wait(r, t, state, from, to, nr, object);
}

static enum state state_of_fd(const struct thread *t, s32 fd)
{
	static const enum state by_kind[] = {
		[FD_UNKNOWN] = STATE_other, [FD_FILE] = STATE_other, [FD_DIRECTORY] = STATE_other,
		[FD_SOCKET] = STATE_socket, [FD_PIPE] = STATE_pipe,  [FD_CHAR] = STATE_other,
		[FD_BLOCK] = STATE_other,   [FD_ANON] = STATE_other,
	};
	const struct file *f = file_of(t->process, fd);

	if (f && f->kind == FD_SOCKET && f->role == ROLE_CONNECTED && f->peer != PEER_ITSELF)
		return STATE_client;
	return f ? by_kind[f->kind] : STATE_other;
}

/* What the thread slept for, as column object of thread_state says it. */
static s64 object_of(struct replay *r, const struct thread *t, enum state state,
		     const struct inside *in, struct err *e)
{
	switch (state) {
	case STATE_futex:
		return in && in->arg0 ? futex_id(r, t->process, in->arg0, e) : BULK_NULL;
	case STATE_socket:
	case STATE_client:
	case STATE_pipe:
		return !in ? BULK_NULL : in->polled >= 0 ? in->polled : in->fd;
	case STATE_disk:
		return own_io_of(t)->dev ? (s64)own_io_of(t)->dev : BULK_NULL;
	default:
		return BULK_NULL;
	}
}

/* Why the thread slept, given the system call that it was in (NULL: in none). */
static enum state reason(const struct thread *t, const struct sleep *w, const struct inside *in)
{
	static const enum state by_wait[] = {
		[SYSWAIT_OTHER] = STATE_other, [SYSWAIT_FD] = STATE_other,
		[SYSWAIT_FUTEX] = STATE_futex, [SYSWAIT_POLL] = STATE_poll,
		[SYSWAIT_SLEEP] = STATE_timer, [SYSWAIT_CHILD] = STATE_child,
		[SYSWAIT_LOCK] = STATE_lock,   [SYSWAIT_PIPE] = STATE_pipe,
	};
	enum syscall_wait wait = in ? in->desc->wait : SYSWAIT_OTHER;

	if (w->iowait || (w->blocked && w->own_io))
		return STATE_disk;
	if (w->blocked)
		return STATE_blocked;
	if (!in)
		return STATE_other;
	if (wait == SYSWAIT_SLEEP && sleeping_of(t)->lock_failed)
		return STATE_lock; /* it tries again afterwards */
	/* a thread that polls nothing but a connection of its own waits for the answer */
	if (wait == SYSWAIT_POLL && in->polled >= 0 && state_of_fd(t, in->polled) == STATE_client)
		return STATE_client;
	return wait == SYSWAIT_FD ? state_of_fd(t, in->fd) : by_wait[wait];
}

int states_settle(struct replay *r, struct thread *t, const struct inside *in, struct err *e)
{
	struct sleeping *s = sleeping_of(t);
	const struct inside *around;
	enum state state;
	u32 i;

	for (i = 0; i < s->n_waits; i++) {
		const struct sleep *w = &s->waits[i];

		around = in && w->start >= in->enter ? in : NULL;
		state = reason(t, w, around);
		emit(r, t, state, w->start, w->end, w, around ? around->nr : BULK_NULL,
		     object_of(r, t, state, around, e));
	}
	s->n_waits = 0;
	return 0;
}

/* The sleep is over: keeps it until its reason is known. */
static int keep_wait(struct replay *r, struct thread *t, struct err *e)
{
	struct sleeping *s = sleeping_of(t);
	u32 cap = s->cap_waits ? 2 * s->cap_waits : 4;
	struct sleep *grown;

	if (s->n_waits == WAIT_LIMIT)
		states_settle(r, t, NULL, e);
	if (s->n_waits == s->cap_waits) {
		grown = realloc(s->waits, cap * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for sleeps");
		s->waits = grown;
		s->cap_waits = cap;
	}
	s->waits[s->n_waits++] = s->sleep;
	return 0;
}

/* A new thread: runnable from here on. */
static void begin(struct thread *t, u64 ts)
{
	t->seen = true;
	t->state = STATE_woken;
	t->since = ts;
}

static int states_on_fork(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_fork *ev = rec->event;
	struct thread *t = ev->child && rec->tid ? task_thread(r, ev->child, e) : NULL;

	if (!t)
		return ev->child && rec->tid ? ERR_FAIL : 0;
	begin(t, rec->ts);
	return 0;
}

/* The thread's first event is at hand: what it must have been doing since the beginning. */
void states_first(struct replay *r, struct thread *t, enum state state)
{
	t->seen = true;
	t->state = state;
	t->since = r->begin;
	sleeping_of(t)->sleep = (struct sleep){ .start = r->begin, .blocked = t->snapshot == 'D' };
}

/* The thread's last known state cannot be followed by what happens now. */
void states_contradict(struct replay *r, struct thread *t, u64 ts)
{
	t->defects++;
	emit(r, t, STATE_unknown, t->since, ts, NULL, BULK_NULL, BULK_NULL);
	t->since = ts;
}

static int leave_cpu(struct replay *r, struct thread *t, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	struct sleeping *s = sleeping_of(t);
	bool runnable = ev->flags & SWITCH_PREEMPT || !ev->state;

	if (!t->seen)
		states_first(r, t, STATE_run);
	if (t->state != STATE_run)
		states_contradict(r, t, rec->ts);
	t->cpu = rec->stream;
	cpu_leave(r, t, rec->ts);
	emit(r, t, STATE_run, t->since, rec->ts, NULL, BULK_NULL, BULK_NULL);
	t->switches++;
	t->preemptions += runnable;
	t->since = rec->ts;
	if (!runnable && !s->early_wake)
		cpu_inactive(r, t, rec->ts);
	if (!runnable && ev->state & LINUX_TASK_GONE)
		return task_end(r, t, rec->ts, e);
	if (runnable)
		t->state = STATE_preempted;
	else if (ev->state & (LINUX_TASK_STOPPED_TRACED | LINUX_TASK_FROZEN))
		t->state = STATE_stopped;
	else
		t->state = STATE_other;
	s->sleep = (struct sleep){
		.start = rec->ts,
		.iowait = ev->flags & SWITCH_IOWAIT,
		.blocked =
			ev->state & LINUX_TASK_UNINTERRUPTIBLE && !(ev->state & LINUX_TASK_NOLOAD),
	};
	return 0;
}

/* It gets a CPU although no wake-up was seen: it had been runnable all the time. */
static void unwoken(struct replay *r, struct thread *t, u64 ts)
{
	struct sleep w = sleeping_of(t)->sleep;

	if (sleeping_of(t)->early_wake) /* woken on the way to sleep */
		emit(r, t, STATE_woken, t->since, ts, &w, BULK_NULL, BULK_NULL);
	else if (loss_overlaps(r, t->since, ts))
		states_contradict(r, t, ts);
	else /* a pending signal kept it awake */
		emit(r, t, STATE_preempted, t->since, ts, NULL, BULK_NULL, BULK_NULL);
}

/* The wait in the run queue ends; who had the CPU during it. */
static int leave_queue(struct replay *r, struct thread *t, const struct record *rec, struct err *e)
{
	bool preempted = t->state == STATE_preempted;
	s64 who;

	if (cpu_waited(r, t, rec->stream, t->since, rec->ts, &who, e) < 0)
		return ERR_FAIL;
	emit(r, t, t->state, t->since, rec->ts, preempted ? NULL : &sleeping_of(t)->sleep,
	     BULK_NULL, who);
	hist_add(t->process->own[TRACK_states], elapsed(t->since, rec->ts));
	return 0;
}

static int enter_cpu(struct replay *r, struct thread *t, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	struct served *served = served_of(t);
	struct sleeping *s = sleeping_of(t);
	int ret = 0;

	if (!t->seen && t->snapshot && t->snapshot != 'R') {
		states_first(r, t, STATE_unknown);
		states_contradict(r, t, rec->ts);
	} else if (!t->seen) {
		states_first(r, t, STATE_woken);
	}
	served->migrations += t->switches && t->cpu != rec->stream;
	served->weight = served->queued ? served->weight : cpu_weight(ev->prio);
	t->cpu = rec->stream;
	s->sleep.cpu = rec->stream;
	cpu_enter(r, t, rec->stream, rec->ts);
	switch (t->state) {
	case STATE_woken:
	case STATE_preempted:
		ret = leave_queue(r, t, rec, e);
		break;
	case STATE_other:
	case STATE_stopped:
		unwoken(r, t, rec->ts);
		break;
	default:
		states_contradict(r, t, rec->ts);
	}
	t->state = STATE_run;
	t->since = rec->ts;
	s->early_wake = 0;
	return ret;
}

/*
 * The CPU must still run the thread that it went to last. If not, that thread's
 * departure was not recorded: nothing is known of it until its next event.
 */
static void check_cpu(struct replay *r, const struct record *rec, u32 next)
{
	u32 *running = &((struct running *)r->own[TRACK_states])->tid[rec->stream % STREAM_MAX];
	struct thread *t =
		*running && *running != rec->tid ? idmap_get(&r->threads, *running) : NULL;

	if (t && t->tracked && t->state == STATE_run && t->cpu == rec->stream) {
		states_contradict(r, t, rec->ts); /* not to be counted as time on a CPU */
		cpu_leave(r, t, rec->ts);
		cpu_inactive(r, t, rec->ts);
		t->state = STATE_unknown;
	}
	*running = next;
}

static int states_on_switch(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	struct thread *t;

	check_cpu(r, rec, ev->next);
	if (cpu_on_switch(r, rec, e) < 0)
		return ERR_FAIL;
	if (rec->tid) {
		t = task_thread(r, rec->tid, e);
		if (!t)
			return ERR_FAIL;
		if (t->tracked && leave_cpu(r, t, rec, e) < 0)
			return ERR_FAIL;
	}
	if (ev->next) {
		t = task_thread(r, ev->next, e);
		if (!t)
			return ERR_FAIL;
		t->realtime |= !cpu_weight(ev->prio);
		if (t->tracked && enter_cpu(r, t, rec, e) < 0)
			return ERR_FAIL;
	}
	return 0;
}

/* A block request of its own was in flight during the sleep. */
static bool had_own_io(const struct thread *t)
{
	const struct own_io *io = own_io_of(t);

	return io->in_flight || io->end >= sleeping_of(t)->sleep.start;
}

static int states_on_waking(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_waking *ev = rec->event;
	struct thread *t = ev->target ? task_thread(r, ev->target, e) : NULL;
	struct sleeping *s;

	if (!t)
		return ev->target ? ERR_FAIL : 0;
	if (!t->tracked)
		return 0;
	if (!t->seen)
		states_first(r, t, STATE_other);
	s = sleeping_of(t);
	s->sleep.waker = rec->tid;
	s->sleep.context = ev->context;
	s->sleep.waked = true;
	s->last_wake = rec->ts;
	s->last_waker = rec->tid;
	s->last_context = ev->context;
	if (t->state == STATE_run) {
		s->early_wake = rec->ts;
		return 0;
	}
	if (t->state != STATE_other && t->state != STATE_stopped && t->state != STATE_unknown)
		return 0; /* only the first wake-up counts */
	t->wakeups++;
	s->sleep.end = rec->ts;
	s->sleep.cpu = ev->cpu;
	s->sleep.own_io = had_own_io(t);
	if (t->state != STATE_other)
		emit(r, t, t->state, t->since, rec->ts, &s->sleep, BULK_NULL, BULK_NULL);
	else if (keep_wait(r, t, e) < 0)
		return ERR_FAIL;
	served_of(t)->weight = cpu_weight(ev->prio);
	cpu_active(r, t, ev->cpu, rec->ts);
	ready_woken(t, rec->ts);
	t->state = STATE_woken;
	t->since = rec->ts;
	return 0;
}

static int states_on_wakeup_new(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_wakeup_new *ev = rec->event;
	struct thread *t = ev->target ? task_thread(r, ev->target, e) : NULL;

	if (!t)
		return ev->target ? ERR_FAIL : 0;
	sleeping_of(t)->sleep.waker = rec->tid;
	sleeping_of(t)->sleep.waked = true;
	if (!t->seen && t->tracked)
		begin(t, rec->ts);
	return 0;
}

static int states_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct inside in = {
		v->desc, elapsed(v->dur, v->ts), v->nr, v->arg[0], v->arg[0], v->arg[1], v->polled
	};
	struct sleeping *s;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	s = sleeping_of(t);
	if (v->flags & SYSCALL_NO_ENTRY)
		in.enter = 0;
	if (v->flags & SYSCALL_UNFINISHED && v->flags & SYSCALL_NO_ENTRY &&
	    ((t->returned && t->returned < v->ts) || t->start))
		return 0; /* its entry was lost: since when it is in the call is not known */
	if (v->flags & SYSCALL_UNFINISHED) {
		s->open = in;
		return 0;
	}
	if (t->state == STATE_run)
		s->early_wake = 0; /* it was for a sleep in this call that never came */
	states_settle(r, t, &in, e);
	lock_tries_note(s, v);
	return 0;
}

/* A thread of which the recording has no switch and no wake-up: only its snapshot speaks. */
static void silent(struct replay *r, struct thread *t)
{
	enum state state = STATE_unknown;

	if (t->snapshot == 'S' || t->snapshot == 'I' || t->snapshot == 'D')
		state = STATE_other;
	else if (t->snapshot == 'T' || t->snapshot == 't')
		state = STATE_stopped;
	else if (t->snapshot == 'R' && !r->n_losses)
		state = STATE_run; /* runnable without one switch: it had a CPU for itself */
	states_first(r, t, state);
}

static int states_thread_end(struct replay *r, struct thread *t, u64 ts, struct err *e)
{
	struct sleeping *s = sleeping_of(t);

	if ((!t->tracked && !t->left) || !has_group(r, GROUP_sched))
		return 0;
	if (!t->seen)
		silent(r, t);
	if (t->state == STATE_run)
		cpu_leave(r, t, ts);
	cpu_inactive(r, t, ts);
	if (t->state == STATE_other) {
		s->sleep.end = ts;
		s->sleep.cpu = t->cpu;
		s->sleep.own_io = had_own_io(t);
		if (ts > s->sleep.start && keep_wait(r, t, e) < 0)
			return ERR_FAIL;
	} else {
		emit(r, t, t->state, t->since, ts, NULL, BULK_NULL, BULK_NULL);
	}
	t->since = ts;
	return states_settle(r, t, s->open.desc ? &s->open : NULL, e);
}

static int states_process_end(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	(void)ts;
	return latency_rows(r, "runq", p->pid, 0, p->own[TRACK_states], e);
}

static void states_thread_free(void *own)
{
	struct sleeping *s = own;

	free(s->waits);
	past_free(s->past);
}

static void states_process_free(void *own)
{
	hist_free(own);
}

static const struct handler handlers[] = {
	{ EV_fork, false, states_on_fork },
	{ EV_switch, false, states_on_switch },
	{ EV_waking, false, states_on_waking },
	{ EV_wakeup_new, false, states_on_wakeup_new },
	{ EV_syscall, false, states_on_syscall },
	{ EV_syscall_args, false, states_on_syscall },
	{ 0 },
};

const struct tracker track_states = {
	.name = "states",
	.handlers = handlers,
	.of_replay = sizeof(struct running),
	.of_process = sizeof(struct hist), /* run-queue latency of its threads */
	.of_thread = sizeof(struct sleeping),
	.thread_end = states_thread_end,
	.process_end = states_process_end,
	.thread_free = states_thread_free,
	.process_free = states_process_free,
};
