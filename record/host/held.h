/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks that threads were waiting for when the recording started. */
#pragma once

#include "record/files/safe_open.h"
#include "record/pump/pump.h"

/* Puts a futex_wait event if the thread waits for a lock in futex(2). */
int held_take(struct pump *p, struct safe_files *files, unsigned int pid, unsigned int tid,
	      struct err *e);

/*
 * Pure, for tests: what the text of /proc/PID/task/TID/syscall says; false: it is no wait for a
 * lock. The holder is not filled for locks that have it in memory, at *ret_at, else 0.
 */
bool held_parse(struct ev_futex_wait *ret, u64 *ret_at, const char *text, int nr_futex);

/* Pure, for tests: the last number of the line NSpid of /proc/PID/status; 0: none. */
u32 held_own(const char *status);
