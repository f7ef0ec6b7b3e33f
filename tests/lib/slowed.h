/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of a server whose requests become slow for one known reason, written as text. Thread
 * 100 answers a request every PERIOD ns.
 */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

#define REQUESTS 240
#define PERIOD	 5000000 /* ns */
#define BEGIN	 1000000

/* A recording in the making: the lines of each CPU, and more of the recorder's own. */
struct script {
	struct buf cpu[4];
	const char *facts;
};

/* What happens to a slow request between its receive at t and its send; returns when it goes on. */
typedef long (*fault_fn)(struct script *s, long t);

long held_lock(struct script *s, long t);
long held_fsync(struct script *s, long t);
long held_for_disk(struct script *s, long t);
long handed_over(struct script *s, long t);
long woken_in_vain(struct script *s, long t);
long preempted(struct script *s, long t);
long preempted_by_two(struct script *s, long t);
long throttled(struct script *s, long t);
long slow_disk(struct script *s, long t);
long slow_peer(struct script *s, long t);
long full_pipe(struct script *s, long t);
long computes(struct script *s, long t);
long of_all_kinds(struct script *s, long t);

void script_line(struct script *s, int cpu, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A timer wakes the thread, which runs at once. */
void script_timer(struct script *s, int cpu, int tid, long t);
/* The thread wakes 100 by FUTEX_WAKE of the futex at 0x1000. */
void script_wake(struct script *s, int cpu, int tid, long t);
/* 100 runs again; its FUTEX_WAIT at 0x1000, of dur ns, returns at `end`. */
void script_resume(struct script *s, long on, long end, long dur);
/* A request that comes at t; fault NULL: none. */
void script_request(struct script *s, long t, fault_fn fault);
/* Loads it; windows: statements to run before; then runs the analysis causes. */
sqlite3 *script_play(struct script *s, const char *targets, long end, const char *windows);

/* REQUESTS requests; every 0: the second half is slow; else each of so many. facts may be NULL. */
sqlite3 *slowed(fault_fn fault, int every, const char *targets, const char *facts);

/* REQUESTS requests: each of the first half has one fault, the others the other. */
sqlite3 *halves(fault_fn first, fault_fn second, const char *facts);

/*
 * Fails the test if the first cause is not this mechanism, with an offender of this name (NULL:
 * any) and a condition on its row (SQL; NULL: none). Closes the database.
 */
void first_is(sqlite3 *db, const char *kind, const char *offender, const char *cond);

/* A condition: the first cause has a caveat or detail of this kind, with a value v. */
#define CHILD(kind_, cond)                                                                  \
	"(SELECT count(*) FROM finding c LEFT JOIN finding_value v ON v.finding=c.id WHERE" \
	" c.parent=cause.finding AND c.kind='" kind_ "' AND " cond ") > 0"
