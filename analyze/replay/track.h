/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the trackers of one replay share. A tracker follows one kind of thing (tasks, thread
 * states, descriptors, ...) through the records and writes its spans and sums as rows. What it
 * keeps of the replay, of a process and of a thread lies in slots of its own, whose types only its
 * file and its header know. Times here are CLOCK_MONOTONIC as recorded; rows hold replay_time().
 */
#pragma once

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/base/when.h"
#include "analyze/store/columns/bulk.h"
#include "analyze/store/state.h"
#include "format/recording.h"
#include "format/syscall.h"

struct replay;
struct process;
struct thread;

typedef int (*track_fn)(struct replay *r, const struct record *rec, struct err *e);

enum tracker_id {
#define TRACKER(name) TRACK_##name,
#include "trackers.def"
#undef TRACKER
	N_TRACKERS
};

struct handler {
	u16 event;
	bool first; /* in the first pass: only of the recorder's stream */
	track_fn on;
};

/* One for each file track_NAME.c, all in trackers.def. What is not named is not there. */
struct tracker {
	const char *name;
	const struct handler *handlers; /* ended by one without function */
	/* bytes of its slots, zeroed when the replay, a process, a thread is made */
	size_t of_replay, of_process, of_thread;
	int (*start)(struct replay *r, struct err *e); /* between the passes */
	int (*thread_end)(struct replay *r, struct thread *t, u64 ts, struct err *e);
	int (*process_end)(struct replay *r, struct process *p, u64 ts, struct err *e);
	int (*finish)(struct replay *r, struct err *e);
	int (*stored)(struct replay *r, struct err *e); /* all rows are in the database */
	/* frees what a slot points to, also after an error; not the slot */
	void (*thread_free)(void *own);
	void (*process_free)(void *own);
	void (*free)(void *own);
};

#define TRACKER(name) extern const struct tracker track_##name;
#include "trackers.def"
#undef TRACKER

/* A program, as the row of table process has it. */
struct process {
	u32 pid;
	u32 parent;
	u32 uid;
	comm16 comm;
	char *cmdline; /* NULL: not known */
	bool has_args; /* and it is what the program that begins was given */
	bool serves;   /* one of its threads has read or answered a request */
	bool left;     /* its threads are */
	u64 start;     /* 0: before the recording */
	u32 threads;   /* alive */
	u64 cgroup;    /* 0: not known */
	u64 files;     /* soft limit of open files; 0: not known */
	void *own[N_TRACKERS];
};

/* Who it is, what it does now, and its clocks: the row of table thread. */
struct thread {
	u32 tid;
	struct process *process;
	comm16 comm;
	u64 start;	  /* 0: before the recording */
	char snapshot;	  /* state letter when the recording began; 0: not in the snapshot */
	u64 used;	  /* CPU time used before the recording, ns */
	bool tracked;	  /* its switches and wake-ups are all in the recording */
	bool left;	  /* they were: it is no target of a later recording that was merged */
	bool seen;	  /* state and since are known */
	enum state state; /* run, woken, preempted, stopped; other: asleep, reason not known yet */
	u64 since;	  /* begin of state */
	u16 cpu;
	u64 returned;	     /* when the last system call did; 0: none yet */
	u64 clock[N_STATES]; /* ns in each state; run is added at switch-out */
	u64 switches, preemptions, wakeups, defects;
	bool realtime; /* had a CPU with such a priority */
	void *own[N_TRACKERS];
};

/* Where events were lost, as block headers tell: sorted, not overlapping. */
struct loss_interval {
	u64 from, to;
};

/* A record of either kind of system call, with one view. */
struct call_view {
	const struct syscall_desc *desc; /* never NULL */
	u64 ts, dur;
	s64 ret;
	u64 arg[4]; /* of a short record, arg[1] and arg[3] are 0 */
	s32 polled; /* the only descriptor that it polls; -1: none, several or not known */
	u16 nr;
	u8 abi, flags;
};

struct replay {
	sqlite3 *db;
	struct bulk *bulk;
	struct reader *reader;
	const struct tracker *const *trackers; /* N_TRACKERS of them */
	struct call_view call;		       /* the record at hand, where it is a system call's */
	u64 begin, end;			       /* of the recording */
	u64 stopped;	  /* when the programs were switched off; 0: not known */
	u64 snapshot_end; /* of the first snapshot of the host; 0: not known */
	bool events;	  /* the second pass: all records in order of time */
	u64 resnapshot;	  /* begin of the later one that is being read; 0: none */
	bool flight;	  /* cut out of a longer run: counters have a base */
	u64 clock_monotonic, clock_realtime, clock_boottime; /* the first reading; 0: none */
	u32 groups;	 /* bit mask of the groups that were recorded */
	bool everything; /* -a: no filter */
	bool chosen;	 /* by name or control group: threads say whether they are */
	bool follow;	 /* children of targets are targets */
	u32 *targets;	 /* pids */
	u32 n_targets;
	struct loss_interval *losses;
	size_t n_losses;
	u64 step;   /* ns of one window of series */
	u64 window; /* ns of one window of requests: a tenth of a step */
	const struct syscall_desc *calls[2][SYSCALL_NR_MAX]; /* by number: x86_64, aarch64 */
	struct idmap threads;				     /* tid -> struct thread */
	struct thread *last;	/* most records come from the thread of the one before */
	struct idmap processes; /* pid -> struct process */
	void *own[N_TRACKERS];
};

/* ns since the start of the recording; 0 for anything before. */
static inline s64 replay_time(const struct replay *r, u64 ts)
{
	return (s64)(elapsed(r->begin, ts) & INT64_MAX);
}

/* Whether this group was recorded. */
static inline bool has_group(const struct replay *r, u32 group)
{
	return r->groups & 1u << group;
}
