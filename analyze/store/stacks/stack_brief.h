/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call paths without the functions that say nothing: those of all stacks of the thread, and loops
 * of an interpreter. */
#pragma once

#include "callstacks.h"

/* The call path, from the outermost function on, that nearly all stacks of a thread have: of those
 * on a CPU, and of those of its waits. */
struct stack_root {
	u32 n;
	u32 codes[STACK_DEEP]; /* outermost first */
};

/* Of all complete stacks of the thread, on CPU and waiting. Empty if there is only one call path.
 */
int stack_root_read(struct stack_root *ret, const struct callstacks *s, sqlite3 *db, s64 tid,
		    struct err *e);

/* Whether all of a path, innermost first, is in the root: it says nothing of what the thread does.
 */
bool stack_root_has(const struct stack_root *r, const struct callstacks *s, const u32 *codes,
		    u32 n);

/*
 * What is left of n codes, innermost first, of callstacks_useful: without callers that occur twice.
 * Of a wait without the root, from the caller of the C library on. A thread may compute one thing
 * only: its path on a CPU keeps the root. Returns how many.
 */
u32 stack_brief(const struct stack_root *r, const struct callstacks *s, u32 *codes, u32 n,
		bool wait);

/* Appends where a thread waited, by a user stack; rooted: with what all stacks of the thread have.
 */
int stack_wait_say(struct buf *out, sqlite3 *db, s64 tid, s64 stack, bool rooted, struct err *e);
