/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of accept of a server: which thread accepted a connection, and when they failed. */
#pragma once

#include "analyze/base/idmap.h"
#include "format/event.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Of the process, the descriptor that it returned, -1: it failed for want of something. */
struct accept_call {
	s64 pid, fd, end, tid;
};

struct accept_calls {
	struct accept_call *v; /* by process, descriptor, end */
	size_t n;
	struct idmap processes; /* of the server: tid -> pid */
};

/* Fills *a, zeroed. */
int accept_calls_read(struct accept_calls *a, sqlite3 *db, s64 server, struct err *e);

/* The thread whose accept returned this descriptor then; 0: not seen. */
s64 accept_calls_thread(const struct accept_calls *a, s64 pid, s64 fd, s64 to);

/* Whether accept failed in its process, for want of something, from..to. */
bool accept_calls_failed(const struct accept_calls *a, s64 pid, s64 from, s64 to);

void accept_calls_free(struct accept_calls *a);
