// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of tables futex, futex_user and futex_release, at the end of a replay. */
#include "futexes.h"

#include <stdlib.h>

/* A lock: at least 1 of so many waits is followed by the waiter's own wake. */
#define CYCLE_SHARE 4

/*
 * Most calls expect the value of a contended lock, and its holder is known or waiters release it: a
 * lock, however often others take it first. Condition variables and queues expect other values.
 */
static bool is_lock(const struct futex *f)
{
	return f->locks && 2 * f->locks >= f->waits + f->timeouts + f->interrupted &&
	       (2 * f->held >= f->locks || f->cycles);
}

static const char *class_of(const struct futex *f)
{
	if (is_lock(f))
		return "contention";
	if (f->cycles && f->cycles * CYCLE_SHARE >= f->waits)
		return "contention";
	return f->waits || f->wakes ? "handoff" : "timeout";
}

static int by_user(const void *a, const void *b)
{
	const struct user *x = *(struct user *const *)a, *y = *(struct user *const *)b;

	if (x->futex != y->futex)
		return x->futex < y->futex ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void user_rows(struct replay *r, const struct user *u)
{
	struct row_futex_user *row = bulk_add(r->bulk, futex_user);
	struct row_futex_release *release;
	u32 i;

	row->futex = u->futex;
	row->tid = u->tid;
	row->waits = u->waits;
	row->total = u->total & INT64_MAX;
	row->wakes = u->wakes;
	for (i = 0; i < u->n_releases; i++) {
		release = bulk_add(r->bulk, futex_release);
		release->futex = u->futex;
		release->waiter = u->tid;
		release->waker = u->releases[i].waker;
		release->n = u->releases[i].n;
		release->total = u->releases[i].total & INT64_MAX;
		release->observed = u->releases[i].observed;
	}
}

/* The futex that stands for this one. */
static struct futex *standing_for(struct futexes *all, struct futex *f)
{
	return f->same && !f->waits && !f->attempts && !f->timeouts ? all->list[f->same] : f;
}

/* Wakes under another process's name of a futex become those of the futex. */
static void join_names(struct futexes *all)
{
	struct futex *f, *to;
	u32 i;

	for (i = 0; i < all->n; i++) {
		f = all->list[i];
		to = standing_for(all, f);
		if (to == f)
			continue;
		to->wakes += f->wakes;
		to->woken += f->woken;
		to->unseen += f->unseen;
		to->lossy += f->lossy;
		f->wakes = f->lossy = 0;
	}
}

/* The users' rows; each adds its thread and role to its futex's signature. */
static int write_users(struct replay *r, struct err *e)
{
	struct futexes *all = futexes_of(r);
	struct user **list = calloc(all->users.n + 1, sizeof(*list)), *u;
	size_t at = 0, n = 0, i;
	u64 role;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for futexes");
	while ((u = idmap_each(&all->users, &at)))
		list[n++] = u;
	qsort(list, n, sizeof(*list), by_user);
	for (i = 0; i < n; i++) {
		u = list[i];
		if (!u->waits && !u->wakes)
			continue;
		u->futex = standing_for(all, all->list[u->futex])->id;
		role = ((u64)u->tid << 2 | (u64)(u->waits > 0) << 1 | (u->wakes > 0)) *
		       0x9e3779b97f4a7c15u;
		all->list[u->futex]->signature += (role ^ role >> 29) * 0xbf58476d1ce4e5b9u;
		user_rows(r, u);
	}
	free(list);
	return 0;
}

int futex_finish(struct replay *r, struct err *e)
{
	struct idmap groups = { 0 };
	struct futex *f, *first;
	int ret = write_users(r, e);
	u32 i;

	join_names(futexes_of(r));

	for (i = 0; i < futexes_of(r)->n && ret == 0; i++) {
		f = futexes_of(r)->list[i];
		if (!f->waits && !f->wakes && !f->attempts && !f->timeouts && !f->lossy)
			continue;
		f->signature ^= (u64)f->pid << 40;
		first = idmap_get(&groups, f->signature);
		if (!first)
			ret = idmap_put(&groups, f->signature, f, FUTEX_LIMIT + 1, e);
		if (ret == 0)
			ret = row_put(r->db, futex, e, .id = f->id, .pid = f->pid,
				      .address = f->address & INT64_MAX, .class = class_of(f),
				      .signature = first ? first->id : f->id, .waits = f->waits,
				      .total = f->total & INT64_MAX,
				      .longest = f->longest & INT64_MAX, .attempts = f->attempts,
				      .timeouts = f->timeouts, .interrupted = f->interrupted,
				      .wakes = f->wakes, .woken = f->woken, .unseen = f->unseen,
				      .cycles = f->cycles, .requeued = f->requeued,
				      .lossy = f->lossy);
	}
	idmap_free(&groups);
	return ret;
}
