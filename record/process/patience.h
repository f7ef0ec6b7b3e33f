/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is printed, and what a signal does, while the main thread waits for a file system: a system
 * call on one that does not respond cannot be given up by the thread that is in it.
 */
#pragma once

#include "record/options/options.h"

#include <stdbool.h>

struct patience;

/*
 * Starts a thread that looks after the signals that stop: they are blocked, and the main thread
 * reads them from a signalfd. One that is unread for a second is taken by the thread, which says
 * that the file is not written yet, and calls stop(arg); from then on another one ends the process.
 */
int patience_start(struct patience **ret, const struct options *o, void (*stop)(void *), void *arg,
		   struct err *e);

/* Has the thread taken a signal that the main thread was to read? */
bool patience_took(const struct patience *p);

/*
 * The main thread has read a signal that stops: if all is not written a second after it was sent,
 * the thread says so, and another signal ends the process.
 */
void patience_asked(struct patience *p);

/* The recording has ended: if the file is not written in two seconds, the thread says so too. */
void patience_ending(struct patience *p);

/* All is written. */
void patience_end(struct patience *p);
