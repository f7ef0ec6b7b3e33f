// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who held a lock when a thread began to wait for it: the thread id in the lock, if it is one of
 * the waiter's process. In a container it is that of the container's pid namespace; waits
 * for locks contain both ids of the waiter.
 */
#include "analyze/replay/tasks/threads.h"
#include "futexes.h"

#define OWN_MAX 1000000 /* threads of namespaces that are kept */

struct holders {
	struct idmap own_tids; /* process and id in its namespace -> tid */
};

/* Of a thread. */
struct own_tid {
	u32 id; /* in its pid namespace, as its waits for locks say; 0: not known */
};

static struct idmap *own_tids(const struct replay *r)
{
	return &((struct holders *)r->own[TRACK_holder])->own_tids;
}

static struct own_tid *own_of(const struct thread *t)
{
	return t->own[TRACK_holder];
}

static u64 key_of(const struct process *p, u32 own)
{
	return (u64)p->pid << 32 | own;
}

/* The thread of the waiter's process with this id in its namespace; NULL: none, or not known. */
static struct thread *thread_in(struct replay *r, const struct thread *waiter, u32 own, u32 id)
{
	bool same = own == waiter->tid; /* it is in no namespace of its own */
	uintptr_t tid = same ? id : (uintptr_t)idmap_get(own_tids(r), key_of(waiter->process, id));
	struct thread *t = tid ? idmap_get(&r->threads, tid) : NULL;

	return t && t != waiter && t->process == waiter->process && (same || own_of(t)->id == id)
		       ? t
		       : NULL;
}

/* The id that the thread has in its namespace. */
static int learn(struct replay *r, struct thread *t, u32 own, struct err *e)
{
	void *tid = (void *)(uintptr_t)t->tid;

	if (own_of(t)->id == own)
		return 0;
	own_of(t)->id = own;
	if (own == t->tid || own_tids(r)->n >= OWN_MAX)
		return 0;
	idmap_take(own_tids(r), key_of(t->process, own)); /* of an earlier thread */
	return idmap_put(own_tids(r), key_of(t->process, own), tid, OWN_MAX, e);
}

static int holder_on_wait(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_futex_wait *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL, *holder = NULL;
	struct row_futex_holder *row;
	s64 futex;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (learn(r, t, ev->own, e) < 0)
		return ERR_FAIL;
	futex = futex_id(r, t->process, ev->address, e);
	if (ev->holder)
		holder = thread_in(r, t, ev->own, ev->holder);
	if (futex > 0 && (u64)futex < futexes_of(r)->n) {
		futexes_of(r)->list[futex]->locks++;
		futexes_of(r)->list[futex]->held += holder != NULL;
	}
	row = bulk_add(r->bulk, futex_holder);
	row->ts = replay_time(r, rec->ts);
	row->tid = rec->tid;
	row->futex = futex;
	row->value = ev->value;
	row->holder = holder ? (s64)holder->tid : BULK_NULL;
	return 0;
}

static void holder_free(void *slot)
{
	struct holders *own = slot;

	idmap_free(&own->own_tids);
}

static const struct handler handlers[] = {
	{ EV_futex_wait, false, holder_on_wait },
	{ 0 },
};

const struct tracker track_holder = {
	.name = "holder",
	.handlers = handlers,
	.of_replay = sizeof(struct holders),
	.of_thread = sizeof(struct own_tid),
	.free = holder_free,
};
