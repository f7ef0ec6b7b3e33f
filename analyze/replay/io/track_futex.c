// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who waited for whom on which futex. A wait is paired with the wake call that ended
 * it: the wake-up of the waiter lies inside that call, and both name the same address (or
 * the waiter had been requeued to the other). The two calls return in either order,
 * so the one that returns first leaves a note: last_futex at the waiter, unpaired.
 *
 * In memory that processes share, one futex has a name in each. A wake call that woke the waiter
 * of another process proves that both are one: a name without waits then counts as
 * that of the waiter.
 *
 * A futex has no owner that the kernel knows of, and without contention neither side
 * makes a system call: what is known is who released whom, never who held.
 */
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/tasks/track_states.h"
#include "analyze/replay/track_loss.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/linux_abi.h"
#include "futexes.h"

#include <stdlib.h>
#include <string.h>

#define ROUSED_MAX 32 /* wake-ups remembered of one call */
#define WAKERS_MAX 64 /* distinguished for one waiter on one futex */

static struct futex_notes *notes_of(const struct thread *t)
{
	return t->own[TRACK_futex];
}

static struct futex *new_futex(struct futexes *all, u32 pid, u64 address, struct err *e)
{
	struct futex *f;

	if (GROW(all->list, all->n, "futexes", e) < 0)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f) {
		err_set(e, ERR_FAIL, "out of memory for futexes");
		return NULL;
	}
	*f = (struct futex){ .id = all->n, .pid = pid, .address = address };
	all->list[all->n++] = f;
	return f;
}

static struct futex *futex_of(struct replay *r, struct process *p, u64 address, struct err *e)
{
	struct futexes *all = futexes_of(r);
	struct idmap *known = p->own[TRACK_futex];
	struct futex *f = idmap_get(known, address);

	if (f)
		return f;
	if (!all->n && !new_futex(all, 0, 0, e))
		return NULL;
	if (all->n > FUTEX_LIMIT)
		return all->list[0];
	f = new_futex(all, p->pid, address, e);
	if (f && idmap_put(known, address, f, FUTEX_LIMIT + 1, e) < 0)
		return NULL;
	return f;
}

s64 futex_id(struct replay *r, struct process *p, u64 address, struct err *e)
{
	const struct futex *f = futex_of(r, p, address, e);

	return f ? (s64)f->id : BULK_NULL;
}

/* NULL when there are too many to distinguish. */
static int user_of(struct replay *r, const struct futex *f, u32 tid, struct user **ret,
		   struct err *e)
{
	u64 id = (u64)f->id << 32 | tid;
	struct user *u = idmap_get(&futexes_of(r)->users, id);

	*ret = u;
	if (u || futexes_of(r)->users.n >= PAIR_LIMIT)
		return 0;
	u = idmap_add(&futexes_of(r)->users, id, sizeof(*u), PAIR_LIMIT, "futexes", e);
	if (!u)
		return ERR_FAIL;
	u->futex = f->id;
	u->tid = tid;
	*ret = u;
	return 0;
}

/* The entry of the waker at its waiter; the last one takes what is too much. */
static struct release *release_of(struct user *u, u32 waker, struct err *e)
{
	u32 i;

	for (i = 0; i < u->n_releases; i++)
		if (u->releases[i].waker == waker || i == WAKERS_MAX - 1)
			return &u->releases[i];
	if (GROW(u->releases, i, "futexes", e) < 0)
		return NULL;
	u->releases[u->n_releases++] = (struct release){ .waker = waker };
	return &u->releases[i];
}

/* Do a wait on f and a wake on the futex called other belong together? */
static bool same_or_moved(struct replay *r, struct futex *f, u32 other)
{
	struct futex *o = other < futexes_of(r)->n ? futexes_of(r)->list[other] : NULL;

	if (f->id == other)
		return true;
	if (o && o->id && f->id && o->pid != f->pid) {
		o->same = f->id;
		return true;
	}
	if (!o || !f->moved_to || o->address != f->moved_to || o->pid != f->pid)
		return false;
	f->requeued++;
	return true;
}

/* A wait has returned, and the thread had been woken. */
static int pair_wait(struct replay *r, struct thread *t, struct futex *f, struct user *u, u64 dur,
		     struct err *e)
{
	const struct sleeping *s = sleeping_of(t);
	struct release *rel = release_of(u, s->last_waker, e);
	struct futex_notes *k = notes_of(t);

	if (!rel)
		return ERR_FAIL;
	rel->n++;
	rel->total += dur;
	if (k->noted && k->noted == s->last_wake) {
		rel->observed += same_or_moved(r, f, k->last_futex) ||
				 (k->last_second && same_or_moved(r, f, k->last_second));
		k->noted = 0;
	} else { /* the waker's call has not returned yet */
		k->wake = s->last_wake;
		k->futex = f->id;
	}
	return 0;
}

static int on_wait(struct replay *r, struct thread *t, u64 address, const struct call_view *v,
		   struct err *e)
{
	struct futex *f = futex_of(r, t->process, address, e);
	u64 enter = elapsed(v->dur, v->ts);
	struct user *u;

	if (!f || user_of(r, f, t->tid, &u, e) < 0)
		return ERR_FAIL;
	if (v->flags & SYSCALL_NO_ENTRY || loss_overlaps(r, enter, v->ts)) {
		f->lossy++;
		return 0;
	}
	if (u && (v->ret >= 0 || v->ret == -LINUX_EAGAIN))
		u->waited = true;
	if (v->ret < 0) {
		f->attempts += v->ret == -LINUX_EAGAIN;
		f->timeouts += v->ret == -LINUX_ETIMEDOUT;
		f->interrupted += v->ret != -LINUX_EAGAIN && v->ret != -LINUX_ETIMEDOUT;
		return 0;
	}
	f->waits++;
	f->total += v->dur;
	f->longest = v->dur > f->longest ? v->dur : f->longest;
	if (!u)
		return 0;
	u->waits++;
	u->total += v->dur;
	if (sleeping_of(t)->last_wake < enter || sleeping_of(t)->last_context != CONTEXT_TASK)
		return 0;
	return pair_wait(r, t, f, u, v->dur, e);
}

/* The threads that the call woke: those that returned before are paired now, others find a note. */
static void pair_roused(struct replay *r, struct thread *waker, const struct futex *f)
{
	const struct futex_notes *all = notes_of(waker);
	u32 i, n = all->n_roused < ROUSED_MAX ? all->n_roused : ROUSED_MAX;
	struct futex_notes *k;
	struct release *rel;
	struct thread *t;
	struct user *u;

	for (i = 0; i < n; i++) {
		const struct roused *w = &all->roused[i];

		t = idmap_get(&r->threads, w->tid);
		if (!t || sleeping_of(t)->last_wake != w->ts)
			continue;
		k = notes_of(t);
		if (k->wake != w->ts) {
			k->last_second = k->noted == w->ts ? k->last_futex : 0;
			k->last_futex = f->id;
			k->noted = w->ts;
			continue;
		}
		u = idmap_get(&futexes_of(r)->users, (u64)k->futex << 32 | t->tid);
		rel = u ? release_of(u, waker->tid, NULL) : NULL;
		if (rel && same_or_moved(r, futexes_of(r)->list[k->futex], f->id))
			rel->observed++;
		k->wake = 0;
	}
}

static int on_wake(struct replay *r, struct thread *t, u64 address, s64 woken, bool exact,
		   struct err *e)
{
	struct futex *f = futex_of(r, t->process, address, e);
	struct user *u;

	if (!f || user_of(r, f, t->tid, &u, e) < 0)
		return ERR_FAIL;
	if (u && u->waited) {
		f->cycles++;
		u->waited = false;
	}
	pair_roused(r, t, f);
	if (woken <= 0)
		return 0;
	f->wakes++;
	f->woken += woken;
	if (u)
		u->wakes++;
	if (exact && has_group(r, GROUP_sched))
		f->unseen += elapsed(notes_of(t)->n_roused, woken);
	return 0;
}

/* The call `futex` with its operations. */
static int on_multiplexed(struct replay *r, struct thread *t, const struct ev_syscall_args *a,
			  const struct call_view *v, struct err *e)
{
	struct futex *f;

	switch (a->arg1 & LINUX_FUTEX_MASK) {
	case LINUX_FUTEX_WAIT:
	case LINUX_FUTEX_WAIT_BITSET:
	case LINUX_FUTEX_LOCK_PI:
	case LINUX_FUTEX_LOCK_PI2:
	case LINUX_FUTEX_WAIT_REQUEUE_PI:
		return on_wait(r, t, a->arg0, v, e);
	case LINUX_FUTEX_WAKE:
	case LINUX_FUTEX_WAKE_BITSET:
		return on_wake(r, t, a->arg0, v->ret, true, e);
	case LINUX_FUTEX_WAKE_OP:
		if (on_wake(r, t, a->arg4, 0, false, e) < 0)
			return ERR_FAIL;
		return on_wake(r, t, a->arg0, v->ret, false, e);
	case LINUX_FUTEX_UNLOCK_PI:
		return on_wake(r, t, a->arg0, v->ret < 0 ? 0 : notes_of(t)->n_roused, false, e);
	case LINUX_FUTEX_REQUEUE:
	case LINUX_FUTEX_CMP_REQUEUE:
	case LINUX_FUTEX_CMP_REQUEUE_PI:
		f = futex_of(r, t->process, a->arg0, e);
		if (!f)
			return ERR_FAIL;
		f->moved_to = v->ret > 0 ? a->arg4 : f->moved_to;
		return on_wake(r, t, a->arg0, notes_of(t)->n_roused, false, e);
	default:
		return 0;
	}
}

static int futex_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	enum call_class class = v->desc->class;
	struct thread *t;
	int ret = 0;

	if (!rec->tid || v->flags & SYSCALL_UNFINISHED)
		return 0;
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	if (rec->type == EV_syscall_args) {
		if (class == CALL_FUTEX)
			ret = on_multiplexed(r, t, rec->event, v, e);
		else if (class == CALL_FUTEX_WAIT || (class == CALL_FUTEX_WAITV && v->arg[0]))
			ret = on_wait(r, t, v->arg[0], v, e);
		else if (class == CALL_FUTEX_WAKE)
			ret = on_wake(r, t, v->arg[0], v->ret, true, e);
	}
	notes_of(t)->n_roused = 0;
	return ret;
}

static int futex_on_waking(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_waking *ev = rec->event;
	struct futex_notes *n;
	struct thread *t;

	if (!rec->tid || ev->context != CONTEXT_TASK || !has_group(r, GROUP_syscalls))
		return 0;
	t = idmap_get(&r->threads, rec->tid);
	if (!t) /* a stranger: it has no calls in the recording either */
		return 0;
	n = notes_of(t);
	if (n->n_roused < ROUSED_MAX) { /* most threads wake one at a time */
		if (GROW(n->roused, n->n_roused, "wake-ups", e) < 0)
			return ERR_FAIL;
		n->roused[n->n_roused] = (struct roused){ rec->ts, ev->target };
	}
	n->n_roused++;
	return 0;
}

static void futex_free(void *slot)
{
	struct futexes *all = slot;
	struct user *u;
	size_t at = 0;
	u32 i;

	while ((u = idmap_each(&all->users, &at))) {
		free(u->releases);
		free(u);
	}
	idmap_free(&all->users);
	for (i = 0; i < all->n; i++)
		free(all->list[i]);
	free(all->list);
}

static void futex_thread_free(void *own)
{
	free(((struct futex_notes *)own)->roused);
}

static void futex_process_free(void *own)
{
	idmap_free(own);
}

static const struct handler handlers[] = {
	{ EV_waking, false, futex_on_waking },
	{ EV_syscall, false, futex_on_syscall },
	{ EV_syscall_args, false, futex_on_syscall },
	{ 0 },
};

const struct tracker track_futex = {
	.name = "futex",
	.handlers = handlers,
	.of_replay = sizeof(struct futexes),
	.of_process = sizeof(struct idmap), /* address -> struct futex */
	.of_thread = sizeof(struct futex_notes),
	.finish = futex_finish,
	.thread_free = futex_thread_free,
	.process_free = futex_process_free,
	.free = futex_free,
};
