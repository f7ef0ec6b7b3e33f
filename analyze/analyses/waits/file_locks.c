// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits for a lock of a file by trying again: fcntl(F_SETLK) or flock(LOCK_NB) fails, the thread
 * sleeps, and tries once more. Which file most tries were on; and who had the bytes, where that is
 * recorded. In older recordings, which do not say which bytes: the time in which
 * threads try is divided by the calls on that file of those that do not, or that close it. A lock
 * that is not released before the end is held by the thread that called last.
 */
#include "file_locks.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/row_types.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>

#define USES_MAX 500000
#define HELD	 0.5 /* of the tries, or of their time: a holder of less is not named */

enum use_kind { USE_FAILED, USE_OK, USE_CLOSE };

/* A call of a thread on one of the descriptors of the file. */
struct use {
	s64 ts;
	u32 tid;
	u8 kind;
};

/* Of a descriptor of a thread: tries that failed, and waits. Of a holder: how often, or how long,
 * it was waited for. */
struct sum {
	s64 key;
	double sum, waits; /* waits: of the sum, calls that waited for the lock and got it */
};

/* A thread whose tries fail; the last one's place in uses. */
struct waiting {
	bool open;
	size_t last;
};

struct locks {
	const struct file_lock_ask *ask;
	struct file_lock *ret;
	struct idmap tries;   /* tid << 20 | fd -> struct sum */
	struct idmap fds;     /* pid << 32 | fd of the file */
	struct idmap threads; /* tid -> pid */
	struct idmap waiting; /* tid -> struct waiting */
	struct idmap holders; /* tid -> struct sum */
	struct use *uses;
	size_t n;
	double waited; /* all together */
	double asked;  /* of this file: tries that failed, and waits */
};

static int add_sum(struct idmap *m, s64 key, double sum, struct err *e)
{
	struct sum *s = idmap_get(m, (u64)key);

	if (!s)
		s = idmap_add(m, (u64)key, sizeof(*s), TASK_LIMIT, "locks of files", e);
	if (!s)
		return ERR_FAIL;
	s->key = key;
	s->sum += sum;
	return 0;
}

/* The largest; of equal ones that of the lower key. */
static const struct sum *largest(const struct idmap *m)
{
	const struct sum *most = NULL, *s;
	size_t at = 0;

	while ((s = idmap_each(m, &at)))
		if (!most || s->sum > most->sum || (s->sum == most->sum && s->key < most->key))
			most = s;
	return most;
}

static bool is_try(const struct syscall_desc *d)
{
	return d && syscall_locks_file(d);
}

static bool has_failed(const struct row_syscall *row)
{
	return row->ret == -LINUX_EAGAIN || row->ret == -LINUX_EACCES;
}

static bool has_tried(const struct row_syscall *row)
{
	return has_failed(row) && is_try(syscall_find((u8)row->abi, (u32)row->nr)) && row->fd >= 0;
}

static int take_try(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct locks *l = arg;

	(void)rowid;
	if (!has_tried(row) || !l->ask->counts(l->ask->arg, row->tid, row->ts))
		return 0;
	l->ret->tries++;
	return add_sum(&l->tries, row->tid << 20 | (row->fd & 0xfffff), 1, e);
}

static int add_fd(void *arg, sqlite3_stmt *q, struct err *e)
{
	return idmap_put(arg,
			 (u64)sqlite3_column_int64(q, 0) << 32 | (u32)sqlite3_column_int64(q, 1),
			 arg, TASK_LIMIT, e);
}

static bool is_of_file(struct locks *l, s64 tid, s64 fd)
{
	s64 pid = (intptr_t)idmap_get(&l->threads, (u64)tid);

	return pid && idmap_get(&l->fds, (u64)pid << 32 | (u32)fd);
}

static int take_use(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct locks *l = arg;
	const struct syscall_desc *d = syscall_find((u8)row->abi, (u32)row->nr);
	bool closes = d && d->family == FAMILY_CLOSE;

	(void)rowid;
	if ((!closes && !is_try(d)) || l->n >= USES_MAX || (row->ret && !has_failed(row)))
		return 0;
	if (!is_of_file(l, row->tid, row->fd))
		return 0;
	if (GROW(l->uses, l->n, "locks of files", e) < 0)
		return ERR_FAIL;
	l->uses[l->n++] = (struct use){ row->ts, (u32)row->tid,
					closes	   ? USE_CLOSE
					: row->ret ? USE_FAILED
						   : USE_OK };
	return 0;
}

static int by_ts(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/*
 * While threads wait, time up to each call of one that does not wait is the time in which that one,
 * or the one before it, had the lock: it releases it, or takes it soon after a release.
 */
struct turns {
	s64 since;	/* of the time that no thread has been found for */
	u32 last;	/* thread that called last, of those that did not wait; 0: none */
	size_t release; /* place of its call */
	size_t waiters;
};

static int credit(struct locks *l, struct turns *t, u32 who, s64 ts, struct err *e)
{
	double ns = (double)(ts - t->since);

	t->since = ts;
	if (!who || ns <= 0)
		return 0;
	l->waited += ns;
	return add_sum(&l->holders, who, ns, e);
}

static int take_in_order(struct locks *l, struct turns *t, size_t i, struct err *e)
{
	const struct use *u = &l->uses[i];
	struct waiting *w = idmap_get(&l->waiting, u->tid);
	int ret = 0;

	if (u->kind == USE_FAILED) {
		if (!w)
			w = idmap_add(&l->waiting, u->tid, sizeof(*w), TASK_LIMIT, "locks of files",
				      e);
		if (!w)
			return ERR_FAIL;
		if (!w->open && !t->waiters++)
			t->since = u->ts;
		w->open = true;
		w->last = i;
		if (t->last == u->tid)
			t->last = 0; /* who tries for it does not have it */
		return 0;
	}
	if (w && w->open) {
		/* what SQLite got of the lock it unlocks at once: nothing was released */
		if (t->release <= w->last || u->kind == USE_CLOSE)
			return 0;
		w->open = false;
		t->waiters--;
	} else if (t->waiters) {
		ret = credit(l, t, u->tid, u->ts, e);
	}
	t->last = u->tid;
	t->release = i;
	return ret;
}

static int find_holder(struct locks *l, struct err *e)
{
	struct turns t = { .last = 0 };
	const struct sum *most;
	size_t i;
	int ret = 0;

	if (l->n)
		qsort(l->uses, l->n, sizeof(*l->uses), by_ts);
	for (i = 0; i < l->n && ret == 0; i++)
		ret = take_in_order(l, &t, i, e);
	if (ret == 0 && t.waiters)
		ret = credit(l, &t, t.last, l->uses[l->n - 1].ts, e);
	most = ret == 0 ? largest(&l->holders) : NULL;
	if (most && most->sum >= HELD * l->waited) {
		l->ret->holder = most->key;
		l->ret->held = most->sum / l->waited;
	}
	return ret;
}

/* A call that waited; tries that failed are counted by take_try. */
static int take_wait(void *arg, s64 rowid, const void *held, struct err *e)
{
	const struct row_file_lock_holder *row = held;
	struct locks *l = arg;
	s64 key = row->tid << 20 | (row->fd & 0xfffff);

	(void)rowid;
	if (row->failed == LOCK_FAILED || !l->ask->counts(l->ask->arg, row->tid, row->ts))
		return 0;
	if (add_sum(&l->tries, key, 1, e) < 0)
		return ERR_FAIL;
	((struct sum *)idmap_get(&l->tries, (u64)key))->waits++;
	return 0;
}

/* Who had the bytes of that file. */
static int take_holder(void *arg, s64 rowid, const void *held, struct err *e)
{
	const struct row_file_lock_holder *row = held;
	struct locks *l = arg;

	(void)rowid;
	if (!is_of_file(l, row->tid, row->fd) || !l->ask->counts(l->ask->arg, row->tid, row->ts))
		return 0;
	return add_sum(&l->holders, row->holder, 1, e);
}

/* Tries of that file; those of others are not what is waited for. */
static void count_tries(struct locks *l)
{
	const struct sum *s;
	size_t at = 0;

	l->ret->tries = 0;
	while ((s = idmap_each(&l->tries, &at))) {
		if (!is_of_file(l, s->key >> 20, s->key & 0xfffff))
			continue;
		l->asked += s->sum;
		l->ret->tries += s->sum - s->waits;
	}
}

static int tell_try(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct locks *l = arg;

	(void)rowid;
	(void)e;
	if (has_tried(row) && is_of_file(l, row->tid, row->fd))
		l->ask->failed(l->ask->arg, row->tid, row->ts);
	return 0;
}

/* Whether most of the tries and waits have a holder that is recorded. */
static bool known_holder(struct locks *l)
{
	const struct sum *most = largest(&l->holders), *s;
	double known = 0;
	size_t at = 0;

	while ((s = idmap_each(&l->holders, &at)))
		known += s->sum;
	if (!most || known < HELD * l->asked)
		return false;
	if (most->sum >= HELD * l->asked) {
		l->ret->holder = most->key;
		l->ret->held = most->sum / l->asked;
	}
	return true;
}

/* The file, and all descriptors of it. */
static int read_file(struct locks *l, sqlite3 *db, s64 tid, s64 fd, struct err *e)
{
	static const char of_try[] =
		"SELECT path FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1) AND fd=?2 AND kind="
		"'file' ORDER BY ts DESC LIMIT 1";
	static const char same[] =
		"SELECT DISTINCT m.pid, m.fd FROM fd o JOIN fd m ON m.dev=o.dev AND m.ino=o.ino WHERE o.pid=(SELECT"
		" pid FROM thread WHERE tid=?1 LIMIT 1) AND o.fd=?2 AND o.kind='file' AND o.ino > 0";
	int ret = db_add_text(&l->ret->path, db, e, of_try, "ii", tid, fd);

	return ret < 0 ? ret : db_each(db, e, add_fd, &l->fds, same, "ii", tid, fd);
}

static const u32 call_set = COLUMN_OF(syscall, ts) | COLUMN_OF(syscall, tid) |
			    COLUMN_OF(syscall, abi) | COLUMN_OF(syscall, nr) |
			    COLUMN_OF(syscall, fd) | COLUMN_OF(syscall, ret);

static int holder_by_turns(struct locks *l, sqlite3 *db, struct err *e)
{
	int ret;

	idmap_free_all(&l->holders);
	l->holders = (struct idmap){ 0 };
	ret = rows_each(db, TABLE_syscall, call_set, take_use, l, e);
	return ret < 0 ? ret : find_holder(l, e);
}

int file_lock_find(sqlite3 *db, const struct file_lock_ask *ask, struct file_lock *ret_lock,
		   struct err *e)
{
	struct locks l = { .ask = ask, .ret = ret_lock };
	int ret = rows_each(db, TABLE_syscall, call_set, take_try, &l, e);
	const struct sum *most;

	if (ret >= 0)
		ret = rows_each(db, TABLE_file_lock_holder, COLUMNS_ALL, take_wait, &l, e);
	most = largest(&l.tries);
	if (ret >= 0 && most)
		ret = read_file(&l, db, most->key >> 20, most->key & 0xfffff, e);
	if (ret >= 0 && l.fds.n)
		ret = db_each(db, e, db_idmap, &l.threads, "SELECT tid, pid FROM thread", "");
	if (ret >= 0 && l.fds.n) {
		count_tries(&l);
		ret = rows_each(db, TABLE_file_lock_holder, COLUMNS_ALL, take_holder, &l, e);
	}
	if (ret >= 0 && l.fds.n && ask->failed)
		ret = rows_each(db, TABLE_syscall, call_set, tell_try, &l, e);
	if (ret >= 0 && l.fds.n && !known_holder(&l) && l.ret->tries > 0)
		ret = holder_by_turns(&l, db, e);
	idmap_free_all(&l.tries);
	idmap_free(&l.fds);
	idmap_free(&l.threads);
	idmap_free_all(&l.waiting);
	idmap_free_all(&l.holders);
	free(l.uses);
	return ret < 0 ? ret : 0;
}
