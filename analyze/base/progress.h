/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patience: how far a long command is, for people at a terminal, and a way out that leaves nothing.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <sqlite3.h>
#include <stdbool.h>

struct progress {
	const char *what;  /* "loading" */
	const char *unit;  /* "records" */
	bool shown;	   /* standard error is a terminal, and a line stands there */
	u64 started, last; /* ns */
};

/* Only draws: for commands that have nothing to remove. */
void progress_show(struct progress *p, const char *what, const char *unit);

/*
 * From now on SIGINT, SIGTERM and SIGHUP end the work at the next tick, so that half files are
 * removed; a second one kills as usual. Draws as well.
 */
void progress_start(struct progress *p, const char *what, const char *unit);

/*
 * done of all; a reader_tick, arg is the struct progress. Draws a line on standard error if that
 * is a terminal, first after half a second. ERR_FAIL when a signal has come.
 */
int progress_tick(void *arg, u64 done, u64 all, struct err *e);

/* Long statements of db end, too, when a signal comes. */
void progress_guard(sqlite3 *db);

/* True if a signal has come since progress_start. */
bool progress_interrupted(void);

/* Takes the line away, for words of the command's own. */
void progress_clear(struct progress *p);

/* Takes the line away; signals kill again. */
void progress_end(struct progress *p);
