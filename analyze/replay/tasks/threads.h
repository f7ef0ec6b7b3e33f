/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads and processes: made when they are first heard of, written and forgotten when they end. */
#pragma once

#include "analyze/replay/track.h"

/* The thread, made if need be; NULL: see e. tid must not be 0. */
struct thread *task_thread(struct replay *r, u32 tid, struct err *e);
/* A thread that is not known yet, of this process. */
struct thread *task_new(struct replay *r, u32 tid, u32 pid, struct err *e);
void task_set_cmdline(struct process *p, const char *text, size_t len);
/* Calls all trackers, writes the thread's row, and its process's with the last one, and forgets it.
 */
int task_end(struct replay *r, struct thread *t, u64 ts, struct err *e);
/*
 * A thread whose number is used again within the first snapshot: it ended before the events are
 * read, so its life has no part in the recording.
 */
void task_forget(struct replay *r, struct thread *t);
/* The same of all threads, at the end of the recording. */
int tasks_end_all(struct replay *r, struct err *e);
/* After an error: what is left, without writing rows. */
void tasks_free(struct replay *r);
