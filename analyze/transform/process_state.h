/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads of each moment of a recording, with name, state and open fds:
 * so that a recording can start in its middle, and to choose records by process, thread
 * or name. Memory: what exists at one time, within the limits of limits.h.
 */
#pragma once

#include "analyze/base/fdmap.h"
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "filter.h"
#include "format/recording.h"
#include "format/syscall.h"

struct member {
	struct ev_thread ev; /* as a snapshot would say now */
	struct household *home;
	bool tracked; /* a target of the recording: all its events are there */
	bool chosen;  /* by the filter */
	bool alone;   /* chosen by its number: its children are not */
	bool gone;    /* it has ended; its last switch is still to come */
	bool fresh;   /* made while we watched */
};

struct household {
	u32 pid;
	u32 members;
	bool written;	    /* an excerpt has its descriptors already */
	char *cmdline;	    /* NULL: not known */
	struct fdmap files; /* struct belonging */
};

struct belonging {
	struct ev_fd ev;
	char *path;
};

struct census {
	const struct filter *filter;
	bool everything, follow, switches; /* what was recorded */
	bool marked;			   /* threads themselves say whether they are targets */
	u64 snapshot_end;     /* of the first snapshot; later ones belong to their time */
	struct idmap targets; /* pid -> the map itself */
	struct idmap
		named; /* tid or pid of whom the filter's names and groups mean -> the map itself */
	struct idmap cgroups; /* ids of the filter's cgroups -> the map itself */
	struct idmap members, homes;
	struct idmap left;     /* tids of chosen threads that have ended -> the map itself */
	struct idmap requests; /* block requests of chosen threads */
	const struct syscall_desc *close_call;
	u64 n_files, fd_memory;
	u64 n_chosen; /* how often a thread was chosen */
	const struct field_desc *pid_fields[SCHEMA_EVENT_MAX][4];
};

/* process_fds.c: what a process owns. An empty text replaces nothing. */
void household_text(char **text, const char *bytes, size_t n);
int household_put(struct census *c, struct household *h, const struct ev_fd *ev, const char *path,
		  size_t n, struct err *e);
void household_drop(struct census *c, struct household *h, s64 fd);
int household_inherit(struct census *c, struct household *child, const struct household *parent,
		      struct err *e);
void household_free(struct census *c, struct household *h);

/* f, which stays the caller's, says whom to choose. */
int census_open(struct census **ret, const struct filter *f, const struct reader *r, struct err *e);

/*
 * Finds the threads whose names or cgroups match: walks the blocks that hold such. Only
 * needed if the filter has any; the reader is rewound.
 */
int census_names(struct census *c, struct reader *r, struct err *e);

/* A record of the recorder's stream, before all others: targets, threads, descriptors. */
int census_first(struct census *c, const struct record *rec, struct err *e);

/* True if the record is of a later snapshot: it goes to census_take. */
bool census_later(const struct census *c, const struct record *rec);

/* A record in order of time. */
int census_take(struct census *c, const struct record *rec, struct err *e);

/* True if the filter lets this record through: as it was before census_take. */
bool census_wants(struct census *c, const struct record *rec);

/* True if the filter means this thread. */
bool census_chosen(const struct census *c, u32 tid);

/* At the end: ERR_FAIL if no thread was chosen. */
int census_somebody(const struct census *c, struct err *e);

void census_free(struct census *c);
