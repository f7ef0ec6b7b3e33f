/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of files that threads try again and again: which file, and who held it (file_locks.c). */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#include <sqlite3.h>
#include <stdbool.h>

struct file_lock {
	struct buf path; /* empty: not known */
	double tries;	 /* that failed, in the times that were asked for */
	s64 holder;	 /* thread; 0: not known */
	double held;	 /* share of the time of tries */
};

/* Whether a call of a thread at a time counts. */
typedef bool (*file_lock_fn)(const void *arg, s64 tid, s64 ts);

/* Zero-initialise *ret. The file with most of the failed tries that count. */
int file_lock_find(sqlite3 *db, file_lock_fn counts, const void *arg, struct file_lock *ret,
		   struct err *e);
