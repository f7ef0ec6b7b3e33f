/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files opened, changed, read and written. */
#pragma once

#include "analyze/replay/track.h"

/* A request that is no system call of its own read or wrote a file. */
int files_on_request(struct replay *r, u32 pid, u32 dev, u64 ino, bool write, s64 ret, u64 dur,
		     struct err *e);

/* The number of a path in table file_path, which is written if need be; 0: too many. */
int files_path(struct replay *r, const char *path, u32 *ret_id, struct err *e);
