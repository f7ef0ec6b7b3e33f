/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who had the CPU while the thread of pauses waited for it. */
#pragma once

#include "analyze/analyses/verdict/verdict.h"

struct pause_contender {
	struct subject of;   /* a thread; a program, if several of its processes had it; none */
	double share;	     /* %, of the waits; NAN: none */
	double processes;    /* of a program; NAN */
	s64 forked_by;	     /* the process that waited, if its process is a child of that; 0 */
	struct buf function; /* of a thread: what it ran then; empty: not known */
};

/*
 * Of all waits of process pid for a CPU in these pauses (ids: JSON): the program that had it in
 * most of that time. Processes of one name and parent are one, as those that a shell starts one
 * after the other. *ret stays as it is if nothing was recorded.
 */
int pause_contender(sqlite3 *db, const struct judged *j, const char *ids, s64 pid,
		    struct pause_contender *ret, struct err *e);
