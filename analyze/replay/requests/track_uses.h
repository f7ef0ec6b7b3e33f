/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which system calls are used on sockets. */
#pragma once

#include "analyze/replay/track.h"
#include "request.h"

int uses_count(struct replay *r, struct socket_use **ret, u32 pid, u32 service,
	       const struct call_view *v, bool send, u64 bytes, struct err *e);
void uses_note(struct request *t, struct socket_use *u);
/* A request with receives and sends ends. */
void uses_on_request(const struct request *t);
