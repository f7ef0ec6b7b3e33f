/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of files that are tried again and again: what a thread sleeps for between two tries. */
#pragma once

#include "track_states.h"

/* A system call returned: sets lock_failed for the sleep that follows. */
void lock_tries_note(struct sleeping *s, const struct call_view *v);
