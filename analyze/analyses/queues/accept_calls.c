// SPDX-License-Identifier: GPL-2.0-or-later
#include "accept_calls.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/row_types.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>

#define RETURNED 1000000 /* ns: the descriptor is recorded so soon before or after the return */

static int on_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct accept_calls *a = arg;
	const struct syscall_desc *d = syscall_find((u8)row->abi, (u32)row->nr);
	bool failed;

	(void)rowid;
	if (!d || d->class != CALL_ACCEPT || row->ret == BULK_NULL ||
	    !idmap_get(&a->processes, (u64)row->tid))
		return 0;
	failed = row->ret < 0;
	if (row->ret == -LINUX_EAGAIN)
		return 0;
	if (GROW(a->v, a->n, "calls of accept", e) < 0)
		return ERR_FAIL;
	a->v[a->n++] = (struct accept_call){
		.pid = (intptr_t)idmap_get(&a->processes, (u64)row->tid),
		.fd = failed ? -1 : row->ret,
		.end = row->ts + (row->dur == BULK_NULL ? 0 : row->dur),
		.tid = row->tid,
	};
	return 0;
}

static int compare_call(const struct accept_call *x, s64 pid, s64 fd, s64 end)
{
	if (x->pid != pid)
		return x->pid < pid ? -1 : 1;
	if (x->fd != fd)
		return x->fd < fd ? -1 : 1;
	return (x->end > end) - (x->end < end);
}

static int by_call(const void *a, const void *b)
{
	const struct accept_call *y = b;

	return compare_call(a, y->pid, y->fd, y->end);
}

/* The first that is not before it. */
static size_t first_call(const struct accept_calls *a, s64 pid, s64 fd, s64 end)
{
	size_t low = 0, high = a->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (compare_call(&a->v[mid], pid, fd, end) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

s64 accept_calls_thread(const struct accept_calls *a, s64 pid, s64 fd, s64 to)
{
	size_t i = first_call(a, pid, fd, to - RETURNED);

	return i < a->n && compare_call(&a->v[i], pid, fd, to + RETURNED) <= 0 ? a->v[i].tid : 0;
}

bool accept_calls_failed(const struct accept_calls *a, s64 pid, s64 from, s64 to)
{
	size_t i = first_call(a, pid, -1, from);

	return i < a->n && a->v[i].pid == pid && a->v[i].fd == -1 && a->v[i].end <= to;
}

int accept_calls_read(struct accept_calls *a, sqlite3 *db, s64 server, struct err *e)
{
	int ret = db_each(db, e, db_idmap, &a->processes,
			  "SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM service WHERE"
			  " server=?1)",
			  "i", server);

	if (ret == 0)
		ret = rows_each(db, TABLE_syscall, COLUMNS_ALL, on_call, a, e);
	if (a->n)
		qsort(a->v, a->n, sizeof(*a->v), by_call);
	return ret < 0 ? ret : 0;
}

void accept_calls_free(struct accept_calls *a)
{
	idmap_free(&a->processes);
	free(a->v);
}
