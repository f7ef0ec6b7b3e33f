/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --from, --to, --pid, --comm, --cgroup, --thread, --no-follow: what of a recording a command
 * looks at. Means at replay what the options of obsrec mean while recording.
 */
#pragma once

#include "analyze/base/when.h"
#include "format/opt.h"

#define FILTER_IDS   256
#define FILTER_NAMES 32
#define FILTER_JOBS  64

/* The first member of a command's configuration, so that the options below find it. */
struct filter {
	struct when from, to;
	u32 pids[FILTER_IDS], tids[FILTER_IDS];
	int n_pids, n_tids;
	const char *comms[FILTER_NAMES]; /* globs */
	int n_comms;
	const char *cgroup; /* NULL: any */
	bool no_follow;
	/* not filters, but given at the same places */
	bool no_cache;
	u32 cpus; /* 0: the default */
};

int filter_set_from(void *config, const char *arg, struct err *e);
int filter_set_to(void *config, const char *arg, struct err *e);
int filter_set_pid(void *config, const char *arg, struct err *e);
int filter_set_thread(void *config, const char *arg, struct err *e);
int filter_set_comm(void *config, const char *arg, struct err *e);
int filter_set_cgroup(void *config, const char *arg, struct err *e);
int filter_set_no_follow(void *config, const char *arg, struct err *e);
int filter_set_no_cache(void *config, const char *arg, struct err *e);
int filter_set_jobs(void *config, const char *arg, struct err *e);

/* Rows for a command's table of options. */
#define FILTER_OPTS                                                                                \
	{ "from", 0, "TIME",                                                                       \
	  "from this time on: 10s, 250ms after the start, 14:03:07 (UTC) "                         \
	  "or RFC 3339",                                                                           \
	  filter_set_from },                                                                       \
		{ "to", 0, "TIME", "up to this time", filter_set_to },                             \
		{ "pid", 'p', "PID[,PID]", "only these processes with their threads and children", \
		  filter_set_pid },                                                                \
		{ "thread", 0, "TID[,TID]", "only these threads", filter_set_thread },             \
		{ "comm", 0, "GLOB", "only processes and threads whose name matches",              \
		  filter_set_comm },                                                               \
		{ "cgroup", 0, "PATH", "only of this cgroup and those below", filter_set_cgroup }, \
	{                                                                                          \
		"no-follow", 0, NULL, "leave out children of --pid", filter_set_no_follow          \
	}

/* And where databases are kept for the next command. */
#define CACHE_OPTS                                                                   \
	{                                                                            \
		"no-cache", 0, NULL, "neither use nor keep a database in the cache", \
			filter_set_no_cache                                          \
	}

/* And by how many CPUs it is read; -j is JSON. */
#define JOBS_OPT                                                                                 \
	{                                                                                        \
		"jobs", 0, "N", "use at most N CPUs; default: 4; 1: no threads", filter_set_jobs \
	}

/* True if it names threads or processes. */
bool filter_chooses(const struct filter *f);

/* True if it leaves out anything. */
bool filter_active(const struct filter *f);

/* A record of the list of locks, which is that of the start, or of the end, of the whole recording:
 * not in this part. */
bool filter_is_elsewhere(const struct filter *f, const struct record *rec);

/*
 * From when to when on the recording's clock: not before its begin if --from was given. ERR_FAIL if
 * that is no part of it.
 */
int filter_times(u64 *from, u64 *to, const struct filter *f, const struct origin *o, struct err *e);

/* Appends what it leaves in, in words: "--pid 100 --from 10s" as times and names. */
int filter_describe(const struct filter *f, struct buf *out, struct err *e);
