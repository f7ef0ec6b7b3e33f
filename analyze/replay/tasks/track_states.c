// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where threads' time goes. A thread is on a CPU, in the run queue or asleep from
 * one switch or wake-up to the next; why it slept is known when the system call
 * around the sleep returns, so sleeps wait in a list until then. A thread whose first
 * event comes late was until then in the state that this event ends: with all
 * switches and wake-ups recorded nothing else is possible.
 */
#include "analyze/replay/requests/track_ready.h"
#include "analyze/replay/requests/track_series.h"
#include "track_cpu.h"

#include <stdlib.h>
#include <string.h>

/* Bits of a thread's state as the kernel has them (include/linux/sched.h, since 4.14). */
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED_TRACED  0x000c
#define TASK_GONE	     0x00b0 /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
#define TASK_NOLOAD	     0x0400 /* idle kernel threads: uninterruptible, but waiting for nothing */

/* A span of the thread, as a row and in its sums. */
static void emit(struct replay *r, struct thread *t, enum state state, u64 from, u64 to,
		 const struct wait *w, s64 nr, s64 object)
{
	struct past_span *past;
	s64 *row;

	if (to <= from)
		return;
	t->clock[state] += to - from;
	if (t->past) {
		past = &t->past->span[t->past->n++ % PAST_MAX];
		*past = (struct past_span){ to, to - from, state };
	}
	series_state(r, t->tid, state, state == STATE_disk && w && w->iowait, from, to);
	row = bulk_row(r->bulk, TABLE_thread_state);
	row[0] = replay_time(r, from);
	row[1] = to - from;
	row[2] = t->tid;
	row[3] = w ? w->cpu : t->cpu;
	row[4] = state;
	row[5] = nr;
	row[6] = w && w->waked && w->context == CONTEXT_TASK ? (s64)w->waker : BULK_NULL;
	row[7] = w && w->waked ? w->context : BULK_NULL;
	row[8] = object;
}

void states_since(const struct thread *t, u64 since, u64 now, u64 spent[N_STATES])
{
	const struct past *p = t->past;
	u64 oldest = now, off = 0, begin;
	u32 k;
	int i;

	memset(spent, 0, N_STATES * sizeof(*spent));
	/* not in order: a sleep is added when the call around it has returned */
	for (k = 0; p && k < p->n && k < PAST_MAX; k++) {
		const struct past_span *s = &p->span[k];

		begin = elapsed(s->dur, s->end);
		oldest = begin < oldest ? begin : oldest;
		spent[s->state] += elapsed(begin > since ? begin : since, s->end);
	}
	if (oldest > since && p && p->n > PAST_MAX)
		spent[STATE_unknown] += oldest - since;
	for (i = 0; i < N_STATES; i++)
		off += i == STATE_run ? 0 : spent[i];
	spent[STATE_run] = elapsed(off, elapsed(since, now)); /* the present run is no span yet */
}

static enum state state_of_fd(const struct thread *t, s32 fd)
{
	static const enum state by_kind[] = {
		[FD_UNKNOWN] = STATE_other, [FD_FILE] = STATE_other, [FD_DIRECTORY] = STATE_other,
		[FD_SOCKET] = STATE_socket, [FD_PIPE] = STATE_pipe,  [FD_CHAR] = STATE_other,
		[FD_BLOCK] = STATE_other,   [FD_ANON] = STATE_other,
	};
	const struct file *f = file_of(t->process, fd);

	if (f && f->kind == FD_SOCKET && f->role == ROLE_CONNECTED)
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
		return t->io_dev ? (s64)t->io_dev : BULK_NULL;
	default:
		return BULK_NULL;
	}
}

/* Why the thread slept, given the system call that it was in (NULL: in none). */
static enum state reason(const struct replay *r, const struct thread *t, const struct wait *w,
			 const struct inside *in)
{
	static const enum state by_wait[] = {
		[SYSWAIT_OTHER] = STATE_other, [SYSWAIT_FD] = STATE_other,
		[SYSWAIT_FUTEX] = STATE_futex, [SYSWAIT_POLL] = STATE_poll,
		[SYSWAIT_SLEEP] = STATE_timer, [SYSWAIT_CHILD] = STATE_child,
		[SYSWAIT_LOCK] = STATE_lock,   [SYSWAIT_PIPE] = STATE_pipe,
	};
	enum syscall_wait wait;
	int abi;

	if (w->iowait || (w->blocked && w->own_io))
		return STATE_disk;
	if (w->blocked)
		return STATE_blocked;
	abi = in ? abi_table(in->abi, in->nr) : -1;
	if (abi < 0)
		return STATE_other;
	wait = r->waits[abi][in->nr];
	/* whoever polls nothing but a connection of its own waits for the answer */
	if (wait == SYSWAIT_POLL && in->polled >= 0 && state_of_fd(t, in->polled) == STATE_client)
		return STATE_client;
	return wait == SYSWAIT_FD ? state_of_fd(t, in->fd) : by_wait[wait];
}

int states_settle(struct replay *r, struct thread *t, const struct inside *in, struct err *e)
{
	const struct inside *around;
	enum state state;
	u32 i;

	for (i = 0; i < t->n_waits; i++) {
		const struct wait *w = &t->waits[i];

		around = in && in->nr >= 0 && w->start >= in->enter ? in : NULL;
		state = reason(r, t, w, around);
		emit(r, t, state, w->start, w->end, w, around ? around->nr : BULK_NULL,
		     object_of(r, t, state, around, e));
	}
	t->n_waits = 0;
	return 0;
}

/* The sleep is over: keeps it until its reason is known. */
static int keep_wait(struct replay *r, struct thread *t, struct err *e)
{
	u32 cap = t->cap_waits ? 2 * t->cap_waits : 4;
	struct wait *grown;

	if (t->n_waits == WAIT_LIMIT)
		states_settle(r, t, NULL, e);
	if (t->n_waits == t->cap_waits) {
		grown = realloc(t->waits, cap * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for sleeps");
		t->waits = grown;
		t->cap_waits = cap;
	}
	t->waits[t->n_waits++] = t->sleep;
	return 0;
}

void states_begin(struct thread *t, u64 ts)
{
	t->seen = true;
	t->state = STATE_woken;
	t->since = ts;
}

/* The thread's first event is at hand: what it must have been doing since the beginning. */
static void states_first(struct replay *r, struct thread *t, enum state state)
{
	t->seen = true;
	t->state = state;
	t->since = r->begin;
	t->sleep = (struct wait){ .start = r->begin, .blocked = t->snapshot == 'D' };
}

/* The thread's last known state cannot be followed by what happens now. */
static void contradiction(struct replay *r, struct thread *t, u64 ts)
{
	t->defects++;
	emit(r, t, STATE_unknown, t->since, ts, NULL, BULK_NULL, BULK_NULL);
	t->since = ts;
}

static int leave_cpu(struct replay *r, struct thread *t, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	bool runnable = ev->flags & SWITCH_PREEMPT || !ev->state;

	if (!t->seen)
		states_first(r, t, STATE_run);
	if (t->state != STATE_run)
		contradiction(r, t, rec->ts);
	t->cpu = rec->stream;
	cpu_leave(r, t, rec->ts);
	emit(r, t, STATE_run, t->since, rec->ts, NULL, BULK_NULL, BULK_NULL);
	t->switches++;
	t->preemptions += runnable;
	t->since = rec->ts;
	if (!runnable && !t->early_wake)
		cpu_inactive(r, t, rec->ts);
	if (!runnable && ev->state & TASK_GONE)
		return task_end(r, t, rec->ts, e);
	if (runnable)
		t->state = STATE_preempted;
	else if (ev->state & TASK_STOPPED_TRACED)
		t->state = STATE_stopped;
	else
		t->state = STATE_other;
	t->sleep = (struct wait){
		.start = rec->ts,
		.iowait = ev->flags & SWITCH_IOWAIT,
		.blocked = ev->state & TASK_UNINTERRUPTIBLE && !(ev->state & TASK_NOLOAD),
	};
	return 0;
}

/* It gets a CPU although no wake-up was seen: it had been runnable all the time. */
static void unwoken(struct replay *r, struct thread *t, u64 ts)
{
	struct wait w = t->sleep;

	if (t->early_wake) /* woken on the way to sleep */
		emit(r, t, STATE_woken, t->since, ts, &w, BULK_NULL, BULK_NULL);
	else if (loss_overlaps(r, t->since, ts))
		contradiction(r, t, ts);
	else /* a pending signal kept it awake */
		emit(r, t, STATE_preempted, t->since, ts, NULL, BULK_NULL, BULK_NULL);
}

/* The wait in the run queue ends; who had the CPU meanwhile. */
static int leave_queue(struct replay *r, struct thread *t, const struct record *rec, struct err *e)
{
	bool preempted = t->state == STATE_preempted;
	s64 who;

	if (cpu_waited(r, t, rec->stream, t->since, rec->ts, preempted, &who, e) < 0)
		return ERR_FAIL;
	emit(r, t, t->state, t->since, rec->ts, preempted ? NULL : &t->sleep, BULK_NULL, who);
	hist_add(&t->process->runq, elapsed(t->since, rec->ts));
	return 0;
}

static int enter_cpu(struct replay *r, struct thread *t, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	int ret = 0;

	if (!t->seen && t->snapshot && t->snapshot != 'R') {
		states_first(r, t, STATE_unknown);
		contradiction(r, t, rec->ts);
	} else if (!t->seen) {
		states_first(r, t, STATE_woken);
	}
	t->served.migrations += t->switches && t->cpu != rec->stream;
	t->served.weight = t->served.queued ? t->served.weight : cpu_weight(ev->prio);
	t->cpu = rec->stream;
	t->sleep.cpu = rec->stream;
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
		contradiction(r, t, rec->ts);
	}
	t->state = STATE_run;
	t->since = rec->ts;
	t->early_wake = 0;
	return ret;
}

/*
 * The CPU must still run the thread that it went to last. If not, that thread's
 * departure was not recorded: nothing is known of it until its next event.
 */
static void check_cpu(struct replay *r, const struct record *rec, u32 next)
{
	u32 *running = &r->running[rec->stream % STREAM_MAX];
	struct thread *t =
		*running && *running != rec->tid ? idmap_get(&r->threads, *running) : NULL;

	if (t && t->tracked && t->state == STATE_run && t->cpu == rec->stream) {
		contradiction(r, t, rec->ts); /* not to be counted as time on a CPU */
		cpu_leave(r, t, rec->ts);
		cpu_inactive(r, t, rec->ts);
		t->state = STATE_unknown;
	}
	*running = next;
}

int states_on_switch(struct replay *r, const struct record *rec, struct err *e)
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
		if (t->tracked && enter_cpu(r, t, rec, e) < 0)
			return ERR_FAIL;
	}
	return 0;
}

int states_on_waking(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_waking *ev = rec->event;
	struct thread *t = ev->target ? task_thread(r, ev->target, e) : NULL;

	if (!t)
		return ev->target ? ERR_FAIL : 0;
	if (!t->tracked)
		return 0;
	if (!t->seen)
		states_first(r, t, STATE_other);
	t->sleep.waker = rec->tid;
	t->sleep.context = ev->context;
	t->sleep.waked = true;
	t->last_wake = rec->ts;
	t->last_waker = rec->tid;
	t->last_context = ev->context;
	t->last_futex = t->last_second = 0;
	if (t->state == STATE_run) {
		t->early_wake = rec->ts;
		return 0;
	}
	if (t->state != STATE_other && t->state != STATE_stopped && t->state != STATE_unknown)
		return 0; /* only the first wake-up counts */
	t->wakeups++;
	t->sleep.end = rec->ts;
	t->sleep.cpu = ev->cpu;
	t->sleep.own_io = t->io_in_flight || t->io_end >= t->sleep.start;
	if (t->state != STATE_other)
		emit(r, t, t->state, t->since, rec->ts, &t->sleep, BULK_NULL, BULK_NULL);
	else if (keep_wait(r, t, e) < 0)
		return ERR_FAIL;
	t->served.weight = cpu_weight(ev->prio);
	cpu_active(r, t, ev->cpu, rec->ts);
	ready_woken(t, rec->ts);
	t->state = STATE_woken;
	t->since = rec->ts;
	return 0;
}

int states_on_wakeup_new(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_wakeup_new *ev = rec->event;
	struct thread *t = ev->target ? task_thread(r, ev->target, e) : NULL;

	if (!t)
		return ev->target ? ERR_FAIL : 0;
	t->sleep.waker = rec->tid;
	t->sleep.waked = true;
	if (!t->seen && t->tracked)
		states_begin(t, rec->ts);
	return 0;
}

int states_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct inside in = {
		elapsed(v->dur, v->ts), v->nr, v->abi, v->arg[0], v->arg[0], v->arg[1], v->polled
	};

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (v->flags & SYSCALL_NO_ENTRY)
		in.enter = 0;
	if (v->flags & SYSCALL_UNFINISHED) {
		t->open = in;
		return 0;
	}
	if (t->state == STATE_run)
		t->early_wake = 0; /* it was for a sleep in this call that never came */
	return t->n_waits ? states_settle(r, t, &in, e) : 0;
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
		state = STATE_run; /* runnable all along without one switch: it had a CPU for itself
				    */
	states_first(r, t, state);
}

int states_end(struct replay *r, struct thread *t, u64 ts, struct err *e)
{
	if (!t->tracked || !(r->groups & 1u << GROUP_sched))
		return 0;
	if (!t->seen)
		silent(r, t);
	if (t->state == STATE_run)
		cpu_leave(r, t, ts);
	cpu_inactive(r, t, ts);
	if (t->state == STATE_other) {
		t->sleep.end = ts;
		t->sleep.cpu = t->cpu;
		t->sleep.own_io = t->io_in_flight || t->io_end >= t->sleep.start;
		if (ts > t->sleep.start && keep_wait(r, t, e) < 0)
			return ERR_FAIL;
	} else {
		emit(r, t, t->state, t->since, ts, NULL, BULK_NULL, BULK_NULL);
	}
	t->since = ts;
	return states_settle(r, t, t->open.nr >= 0 ? &t->open : NULL, e);
}
