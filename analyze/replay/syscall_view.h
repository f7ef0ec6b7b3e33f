/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both kinds of records of system calls, seen alike. */
#ifndef OBS_SYSCALL_VIEW_H
#define OBS_SYSCALL_VIEW_H

#include "track.h"

void syscall_view_start(struct replay *r);
struct call_view view_syscall(const struct replay *r, const struct record *rec);

#endif
