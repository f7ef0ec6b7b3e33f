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

struct state_thread {
	struct ev_thread ev; /* as a snapshot would say now */
	struct state_process *process;
	bool tracked; /* a target of the recording: all its events are there */
	bool chosen;  /* by the filter */
	bool alone;   /* chosen by its number: its children are not */
	bool gone;    /* it has ended; its last switch is still to come */
	bool fresh;   /* its fork is recorded */
};

struct state_process {
	u32 pid;
	u32 n_threads;
	bool written;	    /* an excerpt has its descriptors already */
	char *cmdline;	    /* NULL: not known */
	struct fdmap files; /* struct state_fd */
};

struct state_fd {
	struct ev_fd ev;
	char *path;
};

struct process_state {
	const struct filter *filter;
	bool everything, follow, switches; /* what was recorded */
	bool marked;			   /* threads themselves say whether they are targets */
	u64 snapshot_end;     /* of the first snapshot; later ones belong to their time */
	struct idmap targets; /* pid -> the map itself */
	struct idmap
		named; /* tid or pid that the filter's names and groups mean -> the map itself */
	struct idmap cgroups; /* ids of the filter's cgroups -> the map itself */
	struct idmap threads, processes;
	struct idmap left;     /* tids of chosen threads that have ended -> the map itself */
	struct idmap requests; /* block requests of chosen threads */
	const struct syscall_desc *close_call;
	u64 n_files, fd_memory;
	u64 n_chosen; /* how often a thread was chosen */
	const struct field_desc *pid_fields[SCHEMA_EVENT_MAX][4];
};

/* process_fds.c: fds and texts of a process. An empty text replaces nothing. */
void state_text(char **text, const char *bytes, size_t n);
int state_fd_put(struct process_state *p, struct state_process *proc, const struct ev_fd *ev,
		 const char *path, size_t n, struct err *e);
void state_fd_drop(struct process_state *p, struct state_process *proc, s64 fd);
int state_process_inherit(struct process_state *p, struct state_process *child,
			  const struct state_process *parent, struct err *e);
void state_process_free(struct process_state *p, struct state_process *proc);

/* f, which stays the caller's, chooses threads. */
int process_state_open(struct process_state **ret, const struct filter *f, const struct reader *r,
		       struct err *e);

/*
 * Finds the threads whose names or cgroups match: walks the blocks that hold such. Only
 * needed if the filter has any; the reader is rewound.
 */
int process_state_names(struct process_state *p, struct reader *r, struct err *e);

/* A record of the recorder's stream, before all others: targets, threads, descriptors. */
int process_state_first(struct process_state *p, const struct record *rec, struct err *e);

/* True if the record is of a later snapshot: it goes to process_state_take. */
bool process_state_later(const struct process_state *p, const struct record *rec);

/* A record in order of time. */
int process_state_take(struct process_state *p, const struct record *rec, struct err *e);

/* True if the filter lets this record through: as it was before process_state_take. */
bool process_state_wants(struct process_state *p, const struct record *rec);

/* True if the filter means this thread. */
bool process_state_chosen(const struct process_state *p, u32 tid);

/* At the end: ERR_FAIL if no thread was chosen. */
int process_state_any(const struct process_state *p, struct err *e);

void process_state_free(struct process_state *p);
