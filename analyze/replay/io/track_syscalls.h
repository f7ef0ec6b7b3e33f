/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls: their rows, sums and names. */
#pragma once

#include "analyze/replay/track.h"

/* Puts the call's name into syscall_name, once. */
int syscalls_name(struct replay *r, u8 abi, u16 nr, struct err *e);
/* The recording's own name of a call, n bytes, of which the first counts. */
int syscalls_recorded_name(struct replay *r, u8 abi, u16 nr, const char *name, size_t n,
			   struct err *e);
