/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Epoll instances and the files in them. */
#pragma once

#include "analyze/replay/track.h"

/* A thread waited for the instance, which is a resource; calls come in order of `to`. */
int epolls_wait(struct replay *r, u32 id, u64 from, u64 to, struct err *e);
/* epoll_ctl succeeded; resource: of the file. */
int epolls_ctl(struct replay *r, const struct process *p, u32 id, u32 op, s32 fd, u32 resource,
	       u64 ts, struct err *e);
