/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a pause waited for, and the end of its wakeup chain. */
#pragma once

#include "analyze/analyses/verdict/verdict.h"
#include "analyze/analyses/waits/releases.h"

struct pause_root {
	const struct judged *judged;
	s64 abi; /* of system calls */
	bool sends;
	const char *wait; /* what its thread did, more exactly than its state; NULL: as the state */
	bool all_read;	  /* it slept in poll, not woken, with all requests read */
	struct buf of;	  /* the client whose input, or reading, was waited for */
	struct buf caller;		    /* functions in which its thread waited */
	const char *reason;		    /* of its waits in the kernel; NULL: not known */
	struct release release;		    /* that ended its wait */
	struct buf calls, file, filesystem; /* of FUSE; empty: not waited for */
	struct buf before;		    /* the request after whose answer it began */

	s64 last; /* of the chain after its thread, as far as recorded; 0: an interrupt woke that
		   * one
		   */
	int last_state;
	double last_share;
	s64 stranger; /* that ended the last wait of the chain, and is not recorded; 0: none */
	s64 tid;      /* end of the wakeup chain; 0: none besides what else is named */
	s64 by;	      /* the thread outside the recording that ended its wait; 0: none */
	int state;
	bool passed; /* a waker passed on a lock: who released it first is not that one */
	bool outside;
	bool polls_to_send;
	s64 until;	/* the end woke the thread before it, or the pause ended */
	bool timer;	/* it slept in poll until timeouts */
	bool end_sends; /* it waits until its client reads */
	const char *did;
	double computed; /* ns, on a CPU or queued for one that its process had; 0: not mostly */
	double queued;	 /* for a CPU that any thread had: %, of the longest pause */
	double on_cpu;	 /* ns */
	const char *collects; /* what it computed: garbage collection of Java; NULL: not known */
	double runnable;      /* other threads of its process, for most of the time */
	double share;	      /* %, of the longest pause */
	double part, samples;
	struct buf client, function;
	const char *idle;   /* it waits for its client: without a request; NULL: not known */
	double idle_since;  /* NAN: before the recording */
	s64 idle_after;	    /* its last request; 0: not to be said */
	s64 idle_until;	    /* its first, which ends a transaction; 0: not so */
	struct buf call;    /* the system call that it ran in */
	struct buf serving; /* the request that its thread worked on, and whose */
	struct pause_upstream upstream; /* that the end waits for */
};

/* Zero-initialise but for judged. tid: the thread of the longest pause that counts. */
int pause_root(struct analysis_ctx *c, struct pause_root *r, s64 tid, struct err *e);

/*
 * pause_where.c: appends the functions that a thread waited in for most of a time, in one state; at
 * the end of a chain, which may wait in one place only, with the root. The kernel's reason for such
 * waits, NULL: not known. The system call that it was in for most of the time.
 */
int pause_caller(struct buf *out, sqlite3 *db, bool end, s64 tid, int state, s64 from, s64 to,
		 struct err *e);
int pause_reason(const char **ret, sqlite3 *db, s64 tid, int state, s64 from, s64 to,
		 struct err *e);
int pause_call(struct buf *out, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e);

/*
 * pause_stack.c: as pause_stack, and what a function of that path does: "garbage collection of
 * Java"; NULL: nothing that its name says.
 */
int pause_stack_label(struct buf *out, const char **ret_label, double *ret_share, double *ret_n,
		      sqlite3 *db, const struct judged *j, s64 tid, struct err *e);

/*
 * pause_file.c: of a thread that sleeps in calls on files: which file of a file system whose daemon
 * it waits for, and which calls.
 */
int pause_file(struct pause_root *r, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e);

/* pause_idle.c: of a thread that waits for its client from ts on: since when it has no request. */
int pause_idle(struct pause_root *r, sqlite3 *db, s64 tid, s64 ts, struct err *e);

/* pause_where.c: a call that sends on its descriptor. nr < 0: none */
bool pause_sends(s64 nr, s64 abi);

/* pause_poll.c: what a thread of a server waits for in poll, if no thread woke it. */
int pause_poll(struct pause_root *r, sqlite3 *db, s64 tid, struct err *e);

/* pause_poll.c: a wait in poll that ended at `end`, and most of the others: by a timeout. */
int pause_timer(bool *ret, sqlite3 *db, s64 tid, s64 end, s64 from, s64 to, struct err *e);

/*
 * Under j->finding: the programs that moved the bytes of the disk that pauses waited for; or what
 * delayed I/O before it.
 */
int pause_disk_put(struct analysis_ctx *c, const struct judged *j, const struct pause_root *r,
		   struct err *e);
/* pause_reclaim.c: the memory that the thread of the pauses reclaimed in them; share 0: little. */
struct pause_reclaim {
	double share, n;
	double limit, faults; /* bytes; major page faults of the cgroup then */
	struct buf group;     /* path of the cgroup that was at its limit; empty: none is known */
};

int pause_reclaim(struct pause_reclaim *r, sqlite3 *db, const struct judged *j, s64 tid,
		  struct err *e);
int pause_reclaim_put(struct analysis_ctx *c, const struct judged *j, const struct pause_reclaim *r,
		      s64 tid, struct err *e);
void pause_reclaim_free(struct pause_reclaim *r);

/* pause_filelock.c: the same: a lock that is tried again and again, and who has it. */
int pause_filelock_put(struct analysis_ctx *c, const struct judged *j, struct err *e);
/* pause_before.c: the same: which request of a new name may hold what they wait for. */
int pause_before_put(struct analysis_ctx *c, const struct judged *j, struct err *e);
/* pause_open.c: the same: the name of the requests that pauses begin and end with, if it is not the
 * one that is said of the longest pause; NULL: none is. */
int pause_open_put(struct analysis_ctx *c, const struct judged *j, const char *named,
		   struct err *e);
/* pause_worker.c: the same: of the processes of its program, the thread that alone works. */
int pause_worker_put(struct analysis_ctx *c, const struct judged *j, const struct judged *one,
		     s64 pid, struct err *e);
/* pause_awaited.c: the same: a thread that ended such waits before hears of its peer no more. */
int pause_awaited_put(struct analysis_ctx *c, const struct judged *j, struct err *e);
/* pause_rest.c: the same: the server had read requests, and waited for nothing that is recorded.
 * green: its threads serve any request, so no chain leads on from one. */
int pause_rest_put(struct analysis_ctx *c, const struct judged *j, const struct pause_root *r,
		   bool green, bool *ret_said, struct err *e);
/* pause_recycled.c: the same: its process was forked after one of the same server had ended. */
int pause_recycled_put(struct analysis_ctx *c, const struct judged *j, s64 pid, struct err *e);
/* pause_signal.c: the same: a signal after which the thread opened files and answered nothing. */
int pause_signal_put(struct analysis_ctx *c, const struct judged *j, s64 tid, struct err *e);
/* The signal that stopped the thread. */
int pause_stopped_put(struct analysis_ctx *c, const struct judged *j, s64 tid, struct err *e);
/* pause_silent.c: where nothing else was said: other servers that answered nothing in it. */
int pause_silent_put(struct analysis_ctx *c, const struct judged *j, struct err *e);
/* pause_calls.c: the same: the calls on one file that are most of the pauses. */
int pause_calls_put(struct analysis_ctx *c, const struct judged *j, bool *ret_said, struct err *e);
/* pause_others.c: how many other threads with a request did the same as that of the pause. */
int pause_others(double *ret_n, sqlite3 *db, s64 pause, struct err *e);
int pause_root_put(struct analysis_ctx *c, const struct pause_root *r, struct err *e);
/* pause_upstream.c: to j->asked the server that pauses wait for, if that is recorded: of the other
 * end, or of the thread that ended the wait. */
int pause_asks(struct analysis_ctx *c, struct judged *j, const struct pause_upstream *u, s64 waker,
	       struct err *e);
void pause_root_free(struct pause_root *r);
