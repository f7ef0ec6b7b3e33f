// SPDX-License-Identifier: GPL-2.0-or-later
#include "fd_rows.h"

#include "format/grow.h"

#include <stdlib.h>

static int add_row(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct fd_rows *r = arg;

	if (GROW(r->v, r->n, "sockets", e) < 0)
		return ERR_FAIL;
	r->v[r->n++] = (struct fd_row){
		.pid = sqlite3_column_int64(q, 0),
		.fd = sqlite3_column_int64(q, 1),
		.ts = sqlite3_column_int64(q, 2),
		.end = sqlite3_column_int64(q, 3),
		.row = sqlite3_column_int64(q, 4),
		.remote = sqlite3_column_int64(q, 5),
	};
	return 0;
}

int fd_rows_read(struct fd_rows *r, sqlite3 *db, s64 server, const char *role, struct err *e)
{
	static const char sql[] =
		/* without a known address, as Unix sockets: those of a process are taken for one */
		"SELECT pid, fd, ts, coalesce(end, ?3), rowid, dense_rank() OVER (ORDER BY"
		" coalesce(nullif(remote, ''), iif(path GLOB 'socket:*', NULL, path), ''))"
		" FROM fd WHERE role=?2 AND kind='socket' AND pid IN (SELECT pid FROM service WHERE server=?1)"
		" ORDER BY pid, fd, ts, rowid";

	*r = (struct fd_rows){ 0 };
	return db_each(db, e, add_row, r, sql, "isi", server, role, INT64_MAX);
}

static bool is_later(const struct fd_row *x, s64 pid, s64 fd, s64 ts)
{
	if (x->pid != pid)
		return x->pid > pid;
	return x->fd != fd ? x->fd > fd : x->ts > ts;
}

const struct fd_row *fd_rows_at(const struct fd_rows *r, s64 pid, s64 fd, s64 ts)
{
	size_t low = 0, high = r->n, mid;
	const struct fd_row *x;

	while (low < high) {
		mid = (low + high) / 2;
		if (is_later(&r->v[mid], pid, fd, ts))
			high = mid;
		else
			low = mid + 1;
	}
	x = low ? &r->v[low - 1] : NULL;
	return x && x->pid == pid && x->fd == fd ? x : NULL;
}

void fd_rows_free(struct fd_rows *r)
{
	free(r->v);
	*r = (struct fd_rows){ 0 };
}
