// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls that wait, as series by thread and resource: pipes, sockets (receive, send,
 * accept and connect separately), futexes, epoll instances, poll. Calls that could not wait,
 * because they must not or because the futex had changed, are counted separately. Not so those
 * that end with the same error when a timeout of the socket is over (SO_RCVTIMEO, SO_SNDTIMEO):
 * a thread that slept has waited. One that a signal ended has waited as well; the kernel's restart
 * of it is a call, and a wait, of its own. A call in flight when the recording began waits from its
 * begin on, one in flight when it ended up to its end.
 */
#include "analyze/replay/requests/track_series.h"
#include "analyze/replay/syscall_view.h"
#include "analyze/replay/tasks/slept.h"
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "format/errnos.h"
#include "format/linux_abi.h"
#include "track_epoll.h"

/*
 * Where it is not known whether the thread slept, a call that long is taken for one that did, ns: a
 * tick at 100 per second, the least that a socket's timeout can be there.
 */
#define SLEPT_LEAST 10000000

/* What futex does, by operation; others neither wait nor wake by themselves. */
static const u8 futex_ops[LINUX_FUTEX_MASK + 1] = {
	[LINUX_FUTEX_WAIT] = CALL_FUTEX_WAIT,
	[LINUX_FUTEX_WAIT_BITSET] = CALL_FUTEX_WAIT,
	[LINUX_FUTEX_LOCK_PI] = CALL_FUTEX_WAIT,
	[LINUX_FUTEX_WAIT_REQUEUE_PI] = CALL_FUTEX_WAIT,
	[LINUX_FUTEX_LOCK_PI2] = CALL_FUTEX_WAIT,
	[LINUX_FUTEX_WAKE] = CALL_FUTEX_WAKE,
	[LINUX_FUTEX_WAKE_BITSET] = CALL_FUTEX_WAKE,
	[LINUX_FUTEX_REQUEUE] = CALL_FUTEX_WAKE,
	[LINUX_FUTEX_CMP_REQUEUE] = CALL_FUTEX_WAKE,
	[LINUX_FUTEX_WAKE_OP] = CALL_FUTEX_WAKE,
};

/* One call: whose, from when to when, and whether it counts as a wait. */
struct waiting {
	struct thread *thread;
	const struct call_view *v;
	u64 from, to;
	bool over;	/* it returned */
	bool refused;	/* it did not wait */
	bool timed_out; /* it waited until its time was over */
};

static bool slept(const struct replay *r, const struct waiting *w)
{
	int known = slept_in_call(r, w->thread, w->from, w->to);

	return known < 0 ? w->to - w->from >= SLEPT_LEAST : known;
}

static void add(struct replay *r, const struct waiting *w, enum series_kind kind, u32 resource)
{
	series_add(r, kind, w->thread->tid, resource, w->refused ? w->to : w->from, w->to,
		   w->over && !w->refused, w->refused);
	if (w->over && w->timed_out && !w->refused)
		series_timeout(r, kind, w->thread->tid, resource, w->to);
}

static void on_descriptor(struct replay *r, struct waiting *w, enum call_class class)
{
	static const u8 kinds[CALL_CONNECT + 1][2] = {
		[CALL_READ] = { SERIES_pipe_read, SERIES_socket_recv },
		[CALL_WRITE] = { SERIES_pipe_write, SERIES_socket_send },
		[CALL_ACCEPT] = { 0, SERIES_socket_accept },
		[CALL_CONNECT] = { 0, SERIES_socket_connect },
	};
	s32 fd = (s32)w->v->arg[0];
	struct file *f = file_of(w->thread->process, fd);
	bool socket = f && f->kind == FD_SOCKET;
	u8 kind = kinds[class][socket];

	if (!f || !kind || (!socket && f->kind != FD_PIPE && f->kind != FD_CHAR))
		return;
	w->timed_out = w->v->ret == -LINUX_EAGAIN || w->v->ret == -LINUX_EINPROGRESS ||
		       w->v->ret == -LINUX_EALREADY;
	w->refused = w->timed_out && !slept(r, w);
	add(r, w, kind, series_file(r, w->thread->process, fd, f));
}

static void on_futex(struct replay *r, struct waiting *w, enum call_class class)
{
	u32 resource;

	if (class == CALL_FUTEX)
		class = futex_ops[w->v->arg[1] & LINUX_FUTEX_MASK];
	if (class == CALL_NONE || class == CALL_FUTEX_WAITV ||
	    (class == CALL_FUTEX_WAKE && w->v->ret <= 0))
		return;
	resource = series_resource(r, RESOURCE_FUTEX, w->thread->process->pid, 0, w->v->arg[0]);
	if (class == CALL_FUTEX_WAKE) {
		series_add(r, SERIES_futex_wake, w->thread->tid, resource, w->to, w->to, 1, 0);
		return;
	}
	w->refused = w->v->ret == -LINUX_EAGAIN && !slept(r, w);
	w->timed_out = w->v->ret == -LINUX_ETIMEDOUT;
	add(r, w, SERIES_futex_wait, resource);
}

/* A poll that must not wait; where the timeout lies in memory, one that did not sleep. */
static bool timeout_is_zero(const struct replay *r, const struct waiting *w, enum call_class class)
{
	if (class == CALL_EPOLL)
		return (u32)w->v->arg[3] == 0;
	if (class == CALL_POLL)
		return (u32)w->v->arg[2] == 0;
	return w->over && w->v->ret == 0 && w->thread->tracked && has_group(r, GROUP_sched) &&
	       !slept(r, w);
}

/* The epoll instance of a descriptor, as a resource. */
static u32 instance(struct replay *r, const struct process *p, s32 epfd)
{
	struct file *f = file_of(p, epfd);

	return f && f->kind == FD_ANON ? series_file(r, p, epfd, f)
				       : series_resource(r, RESOURCE_EPOLL, p->pid, 0, (u32)epfd);
}

static int on_poll(struct replay *r, struct waiting *w, enum call_class class, struct err *e)
{
	struct process *p = w->thread->process;
	struct file *f;
	u32 resource;

	w->refused = timeout_is_zero(r, w, class);
	w->timed_out = w->v->ret == 0;
	if (class >= CALL_POLL) {
		f = file_of(p, w->v->polled);
		resource = f && f->kind == FD_SOCKET ? series_file(r, p, w->v->polled, f) : 0;
		add(r, w, SERIES_poll_wait, resource);
		return 0;
	}
	resource = instance(r, w->thread->process, (s32)w->v->arg[0]);
	add(r, w, SERIES_epoll_wait, resource);
	return w->refused ? 0 : epolls_wait(r, resource, w->from, w->to, e);
}

static int on_epoll_ctl(struct replay *r, struct waiting *w, struct err *e)
{
	const struct process *p = w->thread->process;
	s32 fd = (s32)w->v->arg[2];
	struct file *f = file_of(p, fd);

	if (!w->over || w->v->ret != 0)
		return 0;
	return epolls_ctl(r, p, instance(r, p, (s32)w->v->arg[0]), (u32)w->v->arg[1], fd,
			  f ? series_file(r, p, fd, f) : 0, w->to, e);
}

static int dispatch(struct replay *r, struct waiting *w, enum call_class class, struct err *e)
{
	if (class <= CALL_CONNECT)
		on_descriptor(r, w, class);
	else if (class <= CALL_FUTEX_WAITV)
		on_futex(r, w, class);
	else
		return class == CALL_EPOLL_CTL ? on_epoll_ctl(r, w, e) : on_poll(r, w, class, e);
	return 0;
}

static int waits_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	enum call_class class = v->desc->class;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct waiting w = { t, v, elapsed(v->dur, v->ts), v->ts, .over = true };

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (v->flags & SYSCALL_UNFINISHED) {
		w.to = r->end > v->ts ? r->end : v->ts;
		w.over = false;
	}
	/* its first call, and no entry: the thread was in it when the recording began */
	if (v->flags & SYSCALL_NO_ENTRY)
		w.from = t->returned || t->start || loss_overlaps(r, r->begin, v->ts) ? w.to
										      : r->begin;
	return class == CALL_NONE ? 0 : dispatch(r, &w, class, e);
}

static const struct handler handlers[] = {
	{ EV_syscall, false, waits_on_syscall },
	{ EV_syscall_args, false, waits_on_syscall },
	{ 0 },
};

const struct tracker track_waits = {
	.name = "waits",
	.handlers = handlers,
};
