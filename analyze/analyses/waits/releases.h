/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks of a server with a process for each connection, as PostgreSQL's: the waiter sleeps in poll
 * on its latch, and no futex or file names the lock. Recorded facts decide: the waiter works on a
 * request and has asked no other server; the thread that ended the wait is of another process of
 * the same parent, and works on a request of its own client. It let go of what the waiter needed.
 * Helpers, as workers of a parallel query or a writer of the log, have no client and no request.
 * Processes with several connections are left out: they may wake for any of them. A request that
 * fails for want of a lock waited for one, whatever ended that. One that fails because an operator
 * cancelled it, or ended its process (SQLSTATE class 57), was woken for that.
 */
#pragma once

#include "analyze/analyses/analysis.h"

struct release {
	s64 waiter, waker; /* threads */
	s64 from, at;	   /* the wait, and its end */
	/* found: */
	s64 pid;	/* of the request that the waiter works on; 0: it works on none */
	bool asked;	/* it waits for an answer of another server */
	bool released;	/* by the waker */
	s64 request;	/* of the waker: request.rowid; 0: it has no answer yet */
	s64 name;	/* request_name.id; 0: not known */
	s64 until;	/* the answer to the request that the waiter works on */
	bool failed;	/* which reports an error for want of a lock */
	bool cancelled; /* the statement, or its process ended */
};

/* Fills what is found. */
int releases_find(sqlite3 *db, struct release *v, size_t n, struct err *e);
