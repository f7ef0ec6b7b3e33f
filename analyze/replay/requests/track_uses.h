/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which system calls are used on sockets. */
#ifndef OBS_TRACK_USES_H
#define OBS_TRACK_USES_H

#include "analyze/replay/track.h"
#include "turn.h"

int uses_count(struct replay *r, struct socket_use **ret, u32 pid, u32 service,
	       const struct call_view *v, bool send, u64 bytes, struct err *e);
void uses_note(struct turn *t, struct socket_use *u);
/* A turn with receives and sends ends. */
void uses_on_turn(const struct turn *t);

#endif
