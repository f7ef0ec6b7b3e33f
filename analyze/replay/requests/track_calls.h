/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of probed functions. */
#ifndef OBS_TRACK_CALLS_H
#define OBS_TRACK_CALLS_H

#include "analyze/replay/track.h"

/* Of this site no returns are recorded: its calls have no ends. */
int calls_entries_only(struct replay *r, u32 site, struct err *e);

#endif
