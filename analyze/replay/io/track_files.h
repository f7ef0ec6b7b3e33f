/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files opened, changed, read and written. */
#ifndef OBS_TRACK_FILES_H
#define OBS_TRACK_FILES_H

#include "analyze/replay/track.h"

/* A request that is no system call of its own read or wrote a file. */
int files_on_request(struct replay *r, u32 pid, u32 dev, u64 ino, bool write, s64 ret, u64 dur,
		     struct err *e);

#endif
