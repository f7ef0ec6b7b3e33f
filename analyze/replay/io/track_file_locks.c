// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks of files: fcntl(2), by process and range of bytes, or by open file; and flock(2). Who had
 * the bytes that another process tried for, or waited for. Of locks from positions of open files
 * (lockf(3)), nothing is known but what the kernel's list has. Which descriptors are of one open
 * file is not known either: its lock is taken for released with the first of them; and who gets a
 * lock disproves what is taken for held.
 */
#include "track_file_locks.h"

#include "analyze/replay/syscall_view.h"
#include "analyze/replay/tasks/slept.h"
#include "analyze/replay/tasks/threads.h"
#include "descriptors.h"
#include "inode_uses.h"
#include "track_lock_list.h"

#include "format/errnos.h"
#include "format/grow.h"
#include "format/linux_abi.h"

#include <stdlib.h>
#include <string.h>

#define FILES_MOST 4096 /* with locks */
#define PARTS_MOST 1024 /* locked ranges of one file */
#define RELEASED   8	/* ranges that were unlocked last */

/* ns: where it is not known whether the thread slept, a call that gets a lock at once takes less */
#define WAITED 50000

struct locked_file {
	u64 ino;
	u32 dev;
	struct locked *v;
	size_t n;
	struct locked released[RELEASED]; /* a ring */
	size_t n_released;
};

struct file_locks {
	struct idmap files; /* inode_hash -> struct locked_file */
};

/* A call that locks or unlocks. */
struct asked_lock {
	struct locked at;
	bool unlock, waits; /* waits: until it gets it */
};

static struct file_locks *own(const struct replay *r)
{
	return r->own[TRACK_file_locks];
}

static struct locked_file *locks_at(struct replay *r, u32 dev, u64 ino)
{
	struct locked_file *l = idmap_get(&own(r)->files, inode_hash(0, dev, ino));

	return l && l->ino == ino && l->dev == dev ? l : NULL;
}

/* A file without locks is not followed any more. */
static int forget_free(void *arg, void *value, struct err *e)
{
	struct replay *r = arg;
	struct locked_file *l = value;

	(void)e;
	if (l->n)
		return 0;
	idmap_take(&own(r)->files, inode_hash(0, l->dev, l->ino));
	free(l->v);
	free(l);
	return 0;
}

/* *ret NULL: they are too many, or two inodes have one hash. */
static int locks_new(struct replay *r, u32 dev, u64 ino, struct locked_file **ret, struct err *e)
{
	u64 id = inode_hash(0, dev, ino);
	struct locked_file *l;

	*ret = locks_at(r, dev, ino);
	if (!*ret && own(r)->files.n >= FILES_MOST &&
	    idmap_in_order(&own(r)->files, forget_free, r, e) < 0)
		return ERR_FAIL;
	if (*ret || own(r)->files.n >= FILES_MOST || idmap_get(&own(r)->files, id))
		return 0;
	l = idmap_add(&own(r)->files, id, sizeof(*l), FILES_MOST, "locks of files", e);
	if (!l)
		return ERR_FAIL;
	l->ino = ino;
	l->dev = dev;
	*ret = l;
	return 0;
}

static bool has_failed(s64 ret)
{
	return ret == -LINUX_EAGAIN || ret == -LINUX_EACCES;
}

/* No more than PARTS_MOST: a file with so many locks is not followed exactly. */
static int add_part(struct locked_file *l, const struct locked *part, struct err *e)
{
	if (l->n >= PARTS_MOST || part->from >= part->to)
		return 0;
	if (GROW(l->v, l->n, "locks of files", e) < 0)
		return ERR_FAIL;
	l->v[l->n++] = *part;
	return 0;
}

/* The owner has no lock of these bytes any more: what is on both sides of them stays. */
static int take_away(struct locked_file *l, const struct locked *gone, u64 ts, struct err *e)
{
	size_t i = 0;
	int ret = 0;

	while (i < l->n && ret == 0) {
		struct locked was = l->v[i], before = was, after = was;

		if (was.owner != gone->owner || !locked_overlap(&was, gone)) {
			i++;
			continue;
		}
		l->v[i] = l->v[--l->n];
		before.to = gone->from;
		after.from = gone->to;
		was.till = ts;
		l->released[l->n_released++ % RELEASED] = was;
		ret = add_part(l, &before, e);
		if (ret == 0)
			ret = add_part(l, &after, e);
	}
	return ret;
}

/* Bytes of struct flock; false: they begin at a position that is not known. */
static bool range_of(const struct ev_syscall_args *a, struct locked *at)
{
	s64 start = (s64)a->arg4, len = (s64)a->arg5;

	if (a->arg3 >> 16 || start < 0 || len == INT64_MIN)
		return false;
	at->from = len < 0 ? start + len : start;
	at->to = len < 0 ? start : !len || len > INT64_MAX - start ? INT64_MAX : start + len;
	return at->from >= 0;
}

static bool of_fcntl(const struct ev_syscall_args *a, struct asked_lock *ask)
{
	u16 type = (u16)a->arg3;

	if (!(a->flags & SYSCALL_FILE_LOCK) || type > LINUX_F_UNLCK)
		return false;
	ask->unlock = type == LINUX_F_UNLCK;
	if (!range_of(a, &ask->at)) {
		if (!ask->unlock)
			return false;
		ask->at.from = 0; /* whatever it is: nothing of it is known */
		ask->at.to = INT64_MAX;
	}
	if (a->arg1 == LINUX_F_OFD_SETLK || a->arg1 == LINUX_F_OFD_SETLKW)
		ask->at.owner |= OPEN_FILE(a->arg0);
	ask->at.write = type == LINUX_F_WRLCK;
	ask->waits = a->arg1 != LINUX_F_SETLK && a->arg1 != LINUX_F_OFD_SETLK;
	return true;
}

static void of_flock(const struct call_view *v, struct asked_lock *ask)
{
	ask->at.owner |= OPEN_FILE(v->arg[0]);
	ask->waits = !(v->arg[1] & LINUX_LOCK_NB);
	ask->at.from = INT64_MIN; /* not the bytes that fcntl locks */
	ask->at.to = INT64_MIN + 1;
	ask->at.write = v->arg[1] & LINUX_LOCK_EX;
	ask->unlock = v->arg[1] & LINUX_LOCK_UN;
}

/* Who has the bytes now; of a call that waited, who unlocked them last in that time. */
static const struct locked *holder_of(const struct locked_file *l, const struct locked *at,
				      const struct call_view *v)
{
	const struct locked *last = NULL;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (locked_conflict(&l->v[i], at))
			return &l->v[i];
	for (i = 0; i < RELEASED && i < l->n_released; i++)
		if (locked_conflict(&l->released[i], at) && v->ret == 0 &&
		    l->released[i].till > call_entry(v) &&
		    (!last || l->released[i].till > last->till))
			last = &l->released[i];
	return last;
}

/* Of an open file that its process may have inherited: the same descriptor. */
static bool inherited(const struct locked *a, const struct locked *b)
{
	return a->owner >> 32 == b->owner >> 32 && locked_overlap(a, b);
}

/* All parts that are so to one range are released, of all processes. */
static int release(struct locked_file *l,
		   bool (*is_so)(const struct locked *, const struct locked *),
		   const struct locked *at, u64 ts, struct err *e)
{
	size_t i = 0;
	int ret = 0;

	while (i < l->n && ret == 0)
		if (is_so(&l->v[i], at)) {
			struct locked gone = l->v[i];

			ret = take_away(l, &gone, ts, e);
		} else {
			i++;
		}
	return ret;
}

/*
 * What the call changes. flock that fails to convert a lock has lost it, and unlocks for all that
 * inherited it; who gets a lock proves that no other has it.
 */
static int apply(struct locked_file *l, const struct asked_lock *ask, const struct call_view *v,
		 struct err *e)
{
	bool flock = v->desc->family != FAMILY_FCNTL;
	int ret = 0;

	if (v->ret && !flock)
		return 0;
	if (ask->unlock && flock)
		return release(l, inherited, &ask->at, v->ts, e);
	if (!ask->unlock && !v->ret)
		ret = release(l, locked_conflict, &ask->at, v->ts, e);
	if (ret == 0)
		ret = take_away(l, &ask->at, v->ts, e);
	return ret < 0 || ask->unlock || v->ret ? ret : add_part(l, &ask->at, e);
}

/* Whether the call that got the lock had to wait for it. */
static bool has_waited(const struct replay *r, const struct thread *t, const struct call_view *v)
{
	int known = slept_in_call(r, t, call_entry(v), v->ts);

	return known < 0 ? v->dur >= WAITED : known;
}

static int on_lock(struct replay *r, const struct record *rec, const struct thread *t,
		   const struct call_view *v, struct err *e)
{
	const struct process *p = t->process;
	struct asked_lock ask = { .at = { .owner = p->pid, .since = rec->ts, .tid = rec->tid } };
	const struct ev_header *h = rec->event;
	const struct file *f = file_of(p, (s32)v->arg[0]);
	const struct locked *holder = NULL;
	struct locked_file *l = NULL;
	struct wanting w = {
		.fd = (s32)v->arg[0], .entry = call_entry(v), .dur = v->dur, .failed = v->ret != 0
	};
	bool wanted;
	int ret = 0;

	if (v->desc->family != FAMILY_FCNTL)
		of_flock(v, &ask);
	else if (h->type != EV_syscall_args || !of_fcntl(rec->event, &ask))
		return 0;
	if (!f || !f->ino || (v->ret && ask.unlock))
		return 0;
	if (ask.unlock || v->ret)
		l = locks_at(r, f->dev, f->ino);
	else
		ret = locks_new(r, f->dev, f->ino, &l, e);
	w.at = ask.at;
	w.ino = f->ino;
	w.dev = f->dev;
	wanted = !ask.unlock && !(v->flags & SYSCALL_NO_ENTRY) &&
		 (v->ret ? has_failed(v->ret) : ask.waits && has_waited(r, t, v));
	if (ret == 0 && wanted)
		holder = l ? holder_of(l, &ask.at, v) : NULL;
	if (holder)
		file_lock_put(r, &w, holder);
	else if (ret == 0 && wanted && v->ret)
		ret = lock_list_want(r, &w, e);
	if (!ask.unlock && !v->ret)
		lock_list_got(r, f->dev, f->ino, &ask.at, v->ts);
	return ret < 0 || !l ? ret : apply(l, &ask, v, e);
}

int file_locks_closed(struct replay *r, const struct process *p, s64 fd, const struct file *f,
		      u64 ts, struct err *e)
{
	struct locked_file *l = own(r)->files.n && f->ino ? locks_at(r, f->dev, f->ino) : NULL;
	struct locked gone = { .owner = p->pid, .from = INT64_MIN, .to = INT64_MAX };
	int ret;

	if (!l || !l->n)
		return 0;
	ret = take_away(l, &gone, ts, e);
	gone.owner |= OPEN_FILE(fd);
	return ret < 0 ? ret : take_away(l, &gone, ts, e);
}

/* When a recorded process got what others wait for at the end; 0: not known, or not all at once. */
static u64 held_since(struct replay *r, const struct ev_file_lock *ev)
{
	const struct locked_file *l = locks_at(r, ev->dev, ev->ino);
	bool flock = ev->flags & FILE_LOCK_FLOCK;
	u64 since = 0;
	size_t i;

	for (i = 0; l && i < l->n; i++) {
		const struct locked *at = &l->v[i];

		if ((u32)at->owner != ev->holder || flock != (at->from == INT64_MIN) ||
		    (!flock && (at->from > (s64)(ev->to & INT64_MAX) ||
				at->to <= (s64)(ev->from & INT64_MAX))))
			continue;
		if (since && since != at->since)
			return 0;
		since = at->since;
	}
	return since;
}

/* A recorded process has it since before the recording: what it does with it is known. */
static int file_locks_on_listed(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_file_lock *ev = rec->event;
	const struct thread *t = idmap_get(&r->threads, ev->pid);
	struct locked_file *l;
	struct locked at;
	int ret;

	if (ev->flags & FILE_LOCK_ENDING && lock_list_last(r, ev, held_since(r, ev), e) < 0)
		return ERR_FAIL;
	if (ev->flags & FILE_LOCK_ENDING || ev->holder)
		return 0;
	if (!t || !t->tracked)
		return lock_list_first(r, ev, rec->ts, e);
	if (!lock_list_locked(r, t->process, ev, &at))
		return 0;
	ret = locks_new(r, ev->dev, ev->ino, &l, e);
	return ret < 0 || !l ? ret : add_part(l, &at, e);
}

static int file_locks_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	const struct syscall_desc *d = v->desc;
	const struct thread *t;

	if (!rec->tid || !syscall_locks_file(d))
		return 0;
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	return v->flags & SYSCALL_UNFINISHED ? lock_list_waits(r, rec, t->process, v, e)
					     : on_lock(r, rec, t, v, e);
}

static void file_locks_free(void *slot)
{
	struct file_locks *own = slot;
	struct locked_file *l;
	size_t at = 0;

	while ((l = idmap_each(&own->files, &at)))
		free(l->v);
	idmap_free_all(&own->files);
}

static const struct handler handlers[] = {
	{ EV_syscall, false, file_locks_on_syscall },
	{ EV_syscall_args, false, file_locks_on_syscall },
	{ EV_file_lock, false, file_locks_on_listed },
	{ 0 },
};

const struct tracker track_file_locks = {
	.name = "file locks",
	.handlers = handlers,
	.of_replay = sizeof(struct file_locks),
	.free = file_locks_free,
};
