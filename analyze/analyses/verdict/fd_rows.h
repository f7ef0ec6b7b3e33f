/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets of the processes of a server, as table fd has them, found by fd and time. */
#pragma once

#include "analyze/store/db.h"

struct fd_row {
	s64 pid, fd, ts, end;
	s64 row;    /* fd.rowid */
	s64 remote; /* the same number for the same remote address */
};

struct fd_rows {
	struct fd_row *v;
	size_t n;
};

/* Those of a role: "accepted", "connected". */
int fd_rows_read(struct fd_rows *r, sqlite3 *db, s64 server, const char *role, struct err *e);
/* What the fd was then; NULL: not known. */
const struct fd_row *fd_rows_at(const struct fd_rows *r, s64 pid, s64 fd, s64 ts);
void fd_rows_free(struct fd_rows *r);
