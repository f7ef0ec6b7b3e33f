/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of files, as /proc/locks has them: who holds one, and who waits for it. */
#pragma once

#include "format/event.h"
#include "record/pump/pump.h"

#include <stdbool.h>

#define LOCK_TEXT_MOST (1 << 20) /* bytes, of about 16,000 locks: further ones are not read */

/* Records those of now; ending: the recording ends. */
int lock_list_take(struct pump *p, bool ending, struct err *e);

/*
 * Pure, for tests: a line; *holder is the process of the line without an arrow before it. false:
 * it is no lock of fcntl or flock, or its process is not known, as of locks of open files (OFD).
 */
bool lock_list_parse(struct ev_file_lock *ret, const char *line, u32 *holder);
