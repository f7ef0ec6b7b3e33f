/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of some requests of a server went, from arrival to answer, by category. */
#pragma once

#include "verdict.h"

#include "analyze/store/row_types.h"

enum {
#define BAND(...)
#define CATEGORY(name, ...) IN_##name,
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
	N_IN
};

/* What the categories are, as in sentences. */
extern const char *const spent_says[N_IN];

/* Zero-initialise. */
struct spent {
	u8 *of, *many; /* by rowid - 1: a bit for each request; of several receives */
	s64 rows;
	double n, total, queued;
	double wakes, woken; /* waits of IN_runq after a sleep, and their time, ns */
	double held;	     /* waits of IN_disk, or of IN_stopped */
	double preempted;    /* ns, of IN_runq: the thread had the CPU and wanted more of it */
	/* ns; queue: for other requests, which includes the CPU of the server's own threads */
	double in[N_IN], before[N_IN];
};

int spent_begin(struct spent *s, sqlite3 *db, struct err *e);
/* A request whose time is known. Waits in poll between several receives are input. */
void spent_take(struct spent *s, s64 rowid, const struct row_request *row);
/* All that were taken; from, to: where run-queue latency of the server is divided, ns. */
int spent_read(struct spent *s, sqlite3 *db, s64 server, double from, double to, struct err *e);
void spent_free(struct spent *s);
/* Is the CPU time of a request in it more than in usual, by the limits of latency? */
bool spent_is_dearer(const struct spent *usual, const struct spent *now, const struct limits *l);
