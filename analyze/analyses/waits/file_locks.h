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
	double held;	 /* share of the tries and waits, or of their time */
};

/* Which calls count, those of a thread at a time; and, unless NULL, every try of the file that
 * failed, once it is known which file. */
struct file_lock_ask {
	bool (*counts)(const void *arg, s64 tid, s64 ts);
	void (*failed)(const void *arg, s64 tid, s64 ts);
	const void *arg;
};

/* Zero-initialise *ret. The file with most of the failed tries that count. */
int file_lock_find(sqlite3 *db, const struct file_lock_ask *ask, struct file_lock *ret,
		   struct err *e);
