// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who held a lock when a thread began to wait for it: the thread id in the lock, if it is one of
 * the waiter's process. In a container it is that of the container's pid namespace; waits
 * for locks tell which thread has which id there.
 */
#include "analyze/replay/tasks/track_pressure.h"

#define OWN_MAX 1000000 /* threads of namespaces that are kept */

static u64 key_of(const struct process *p, u32 own)
{
	return (u64)p->pid << 32 | own;
}

/* The thread of the waiter's process with this id in its namespace; NULL: none, or not known. */
static struct thread *thread_in(struct replay *r, const struct thread *waiter, u32 own, u32 id)
{
	bool same = own == waiter->tid; /* it is in no namespace of its own */
	uintptr_t tid = same ? id : (uintptr_t)idmap_get(&r->own_tids, key_of(waiter->process, id));
	struct thread *t = tid ? idmap_get(&r->threads, tid) : NULL;

	return t && t != waiter && t->process == waiter->process && (same || t->own_tid == id)
		       ? t
		       : NULL;
}

/* The thread tells its own id. */
static int learn(struct replay *r, struct thread *t, u32 own, struct err *e)
{
	void *tid = (void *)(uintptr_t)t->tid;

	if (t->own_tid == own)
		return 0;
	t->own_tid = own;
	if (own == t->tid || r->own_tids.n >= OWN_MAX)
		return 0;
	idmap_take(&r->own_tids, key_of(t->process, own)); /* of an earlier thread */
	return idmap_put(&r->own_tids, key_of(t->process, own), tid, OWN_MAX, e);
}

int holder_on_wait(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_futex_wait *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL, *holder = NULL;
	s64 futex, *row;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (learn(r, t, ev->own, e) < 0)
		return ERR_FAIL;
	futex = futex_id(r, t->process, ev->address, e);
	if (ev->holder)
		holder = thread_in(r, t, ev->own, ev->holder);
	row = bulk_row(r->bulk, TABLE_futex_holder);
	row[0] = replay_time(r, rec->ts);
	row[1] = rec->tid;
	row[2] = futex;
	row[3] = ev->value;
	row[4] = holder ? (s64)holder->tid : BULK_NULL;
	return 0;
}

void holder_free(struct replay *r)
{
	idmap_free(&r->own_tids);
}
