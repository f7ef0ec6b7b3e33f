/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of threads against a pattern (--comm), without a branch a character: bit k of a
 * word means that k parts of the pattern have matched so far. record/host/comm_glob.c
 * makes the tables.
 */
#pragma once

const volatile bool by_comm = false;	   /* targets are names */
const volatile bool by_task = false;	   /* pids or names are chosen, with cgroups or without */
const volatile u32 comm_matches[256] = {}; /* by character: parts that it matches */
const volatile u32 comm_loops = 0;	   /* parts that a * follows */
const volatile u32 comm_accepts = 0;	   /* the last part */

static __always_inline bool comm_wanted(const char *comm)
{
	u32 state = 1;
	int i;

#pragma unroll
	for (i = 0; i < 15; i++) {
		if (!comm[i])
			break;
		state = (state << 1 & comm_matches[(u8)comm[i]]) | (state & comm_loops);
	}
	return state & comm_accepts;
}
