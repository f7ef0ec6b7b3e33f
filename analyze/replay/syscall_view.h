/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both kinds of records of system calls, with one view. */
#pragma once

#include "track.h"

void syscall_view_start(struct replay *r);

/* When the call was entered; 0: not seen. */
u64 call_entry(const struct call_view *v);
struct call_view view_syscall(const struct replay *r, const struct record *rec);
