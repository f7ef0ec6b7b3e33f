// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks of files in the kernel's list, which is read at the start and at the end. A lock from
 * before the recording is followed if its process is recorded; of another process it must be there
 * at the end as well. At the end the list has who holds what others still wait for.
 */
#include "track_lock_list.h"

#include "analyze/base/idmap.h"
#include "analyze/replay/syscall_view.h"
#include "analyze/replay/tasks/threads.h"
#include "analyze/store/row_types.h"

#include "inode_uses.h"

#include "format/grow.h"
#include "format/linux_abi.h"

#include <stdlib.h>

#define WANTING_MOST 65536
#define LISTED_MOST  8192
#define STEPS_MOST   20000000

/* A lock that a process has which is not recorded. */
struct listed {
	struct locked at;
	u64 ino, read; /* read: since then it is known to be held, from the list or later */
	u32 dev;
	struct listed *next; /* of the same file, or of one with the same hash */
};

/* A line of the list at the end: a thread of a process waits for what another one has. */
struct queued {
	struct locked at, holder;
	u64 ino;
	u32 dev;
};

struct lock_list {
	struct wanting *wanting; /* without a known holder */
	size_t n_wanting;
	struct idmap listed; /* inode_hash -> struct listed, the first */
	size_t n_listed;
	struct queued *queued;
	size_t n_queued;
	size_t steps; /* of searches in these */
};

static struct lock_list *own(const struct replay *r)
{
	return r->own[TRACK_lock_list];
}

void file_lock_put(struct replay *r, const struct wanting *w, const struct locked *holder)
{
	struct row_file_lock_holder *row = bulk_add(r->bulk, file_lock_holder);

	row->ts = replay_time(r, w->entry);
	row->dur = (s64)(w->dur & INT64_MAX);
	row->tid = w->at.tid;
	row->fd = w->fd;
	row->failed = w->waits ? LOCK_WAITS : w->failed;
	row->holder = holder->tid;
	row->since = holder->since ? replay_time(r, holder->since) : BULK_NULL;
}

int lock_list_want(struct replay *r, const struct wanting *w, struct err *e)
{
	struct lock_list *o = own(r);

	if (o->n_wanting >= WANTING_MOST)
		return 0;
	if (GROW(o->wanting, o->n_wanting, "locks of files", e) < 0)
		return ERR_FAIL;
	o->wanting[o->n_wanting++] = *w;
	return 0;
}

int lock_list_waits(struct replay *r, const struct record *rec, const struct process *p,
		    const struct call_view *v, struct err *e)
{
	const struct file *f = file_of(p, (s32)v->arg[0]);
	struct wanting w = { .at = { .owner = p->pid, .tid = rec->tid },
			     .fd = (s32)v->arg[0],
			     .entry = v->flags & SYSCALL_NO_ENTRY ? 0 : call_entry(v),
			     .dur = v->dur,
			     .waits = true };

	if (!f || !f->ino ||
	    (v->desc->family == FAMILY_FCNTL && v->arg[1] != LINUX_F_SETLKW &&
	     v->arg[1] != LINUX_F_OFD_SETLKW))
		return 0;
	if (v->desc->family != FAMILY_FCNTL)
		w.at.from = INT64_MIN; /* the bytes of fcntl are not recorded yet */
	w.ino = f->ino;
	w.dev = f->dev;
	return lock_list_want(r, &w, e);
}

/* As the calls of track_file_locks have it. */
static struct locked listed_lock(const struct ev_file_lock *ev)
{
	struct locked at = { .owner = ev->pid,
			     .from = (s64)(ev->from & INT64_MAX),
			     .to = ev->to >= INT64_MAX ? INT64_MAX : (s64)ev->to + 1,
			     .tid = ev->pid,
			     .write = ev->flags & FILE_LOCK_WRITE };

	if (ev->flags & FILE_LOCK_FLOCK) {
		at.from = INT64_MIN;
		at.to = INT64_MIN + 1;
	}
	return at;
}

/* flock belongs to an open file: its process must have a single descriptor of it. */
static bool find_descriptor(struct replay *r, const struct process *p,
			    const struct ev_file_lock *ev, s32 *ret_fd)
{
	const struct file *f;
	s64 fd;
	int n = 0;

	for (fd = 0; (f = fdmap_next(&fd_table(p)->files, &fd)); fd++, own(r)->steps++) {
		if (own(r)->steps >= STEPS_MOST)
			return false;
		if (f->ino == ev->ino && f->dev == ev->dev) {
			*ret_fd = (s32)fd;
			n++;
		}
	}
	return n == 1;
}

bool lock_list_locked(struct replay *r, const struct process *p, const struct ev_file_lock *ev,
		      struct locked *ret)
{
	s32 fd = 0;

	*ret = listed_lock(ev);
	if (!r->resnapshot)
		ret->since = r->begin;
	if (!(ev->flags & FILE_LOCK_FLOCK))
		return true;
	if (!find_descriptor(r, p, ev, &fd))
		return false;
	ret->owner |= OPEN_FILE(fd);
	return true;
}

int lock_list_first(struct replay *r, const struct ev_file_lock *ev, u64 ts, struct err *e)
{
	u64 id = inode_hash(0, ev->dev, ev->ino);
	struct lock_list *o = own(r);
	struct listed *one;

	if (o->n_listed >= LISTED_MOST)
		return 0;
	one = calloc(1, sizeof(*one));
	if (!one)
		return err_set(e, ERR_FAIL, "out of memory for locks of files");
	*one = (struct listed){ .at = listed_lock(ev),
				.ino = ev->ino,
				.read = ts,
				.dev = ev->dev,
				.next = idmap_get(&o->listed, id) };
	if (idmap_put(&o->listed, id, one, LISTED_MOST, e) < 0) {
		free(one);
		return ERR_FAIL;
	}
	o->n_listed++;
	return 0;
}

void lock_list_got(struct replay *r, u32 dev, u64 ino, const struct locked *at, u64 ts)
{
	struct lock_list *o = own(r);
	struct listed *l = o->n_listed ? idmap_get(&o->listed, inode_hash(0, dev, ino)) : NULL;

	for (; l && o->steps < STEPS_MOST; l = l->next, o->steps++)
		if (l->ino == ino && l->dev == dev && locked_conflict(&l->at, at))
			l->read = ts;
}

static bool is_same(const struct listed *a, const struct ev_file_lock *ev, const struct locked *at)
{
	return a->ino == ev->ino && a->dev == ev->dev && a->at.owner == at->owner &&
	       a->at.from == at->from && a->at.to == at->to;
}

/* Held at both times: the tries between these failed because of it. */
static void listed_again(struct replay *r, const struct ev_file_lock *ev)
{
	const struct locked at = listed_lock(ev);
	struct lock_list *o = own(r);
	const struct listed *l = idmap_get(&o->listed, inode_hash(0, ev->dev, ev->ino));
	size_t i;

	for (; l && !is_same(l, ev, &at); l = l->next)
		o->steps++;
	if (!l)
		return;
	for (i = 0; i < o->n_wanting && o->steps < STEPS_MOST; i++, o->steps++) {
		const struct wanting *w = &o->wanting[i];

		if (!w->waits && w->entry >= l->read && w->ino == ev->ino && w->dev == ev->dev &&
		    locked_conflict(&at, &w->at))
			file_lock_put(r, w, &at);
	}
}

static int listed_wait(struct replay *r, const struct ev_file_lock *ev, u64 since, struct err *e)
{
	struct lock_list *o = own(r);

	if (o->n_queued >= LISTED_MOST)
		return 0;
	if (GROW(o->queued, o->n_queued, "locks of files", e) < 0)
		return ERR_FAIL;
	o->queued[o->n_queued++] = (struct queued){
		.at = listed_lock(ev),
		.holder = { .owner = ev->holder, .tid = ev->holder, .since = since },
		.ino = ev->ino,
		.dev = ev->dev,
	};
	return 0;
}

int lock_list_last(struct replay *r, const struct ev_file_lock *ev, u64 since, struct err *e)
{
	if (own(r)->steps >= STEPS_MOST)
		return 0;
	if (ev->holder)
		return listed_wait(r, ev, since, e);
	listed_again(r, ev);
	return 0;
}

/* Not where holders differ: which thread of a process a line is of, the list does not say. */
static const struct locked *queued_for(struct lock_list *o, const struct wanting *w)
{
	const struct locked *holder = NULL;
	size_t i;

	for (i = 0; i < o->n_queued; i++, o->steps++) {
		const struct queued *q = &o->queued[i];

		if (q->ino != w->ino || q->dev != w->dev || q->at.owner != w->at.owner ||
		    (q->at.from == INT64_MIN) != (w->at.from == INT64_MIN))
			continue;
		if (holder && holder->tid != q->holder.tid)
			return NULL;
		if (!holder || !q->holder.since)
			holder = &q->holder;
	}
	return holder;
}

static int lock_list_finish(struct replay *r, struct err *e)
{
	struct lock_list *o = own(r);
	const struct locked *holder;
	size_t i;

	(void)e;
	for (i = 0; i < o->n_wanting && o->steps < STEPS_MOST; i++) {
		holder = o->wanting[i].waits ? queued_for(o, &o->wanting[i]) : NULL;
		if (holder)
			file_lock_put(r, &o->wanting[i], holder);
	}
	return 0;
}

static void lock_list_free(void *slot)
{
	struct lock_list *o = slot;
	struct listed *one, *next;
	size_t at = 0;

	free(o->wanting);
	while ((one = idmap_each(&o->listed, &at)))
		for (; one; one = next) {
			next = one->next;
			free(one);
		}
	idmap_free(&o->listed);
	free(o->queued);
}

const struct tracker track_lock_list = {
	.name = "list of locks",
	.of_replay = sizeof(struct lock_list),
	.finish = lock_list_finish,
	.free = lock_list_free,
};
