/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests on server sockets. */
#ifndef OBS_TRACK_REQUESTS_H
#define OBS_TRACK_REQUESTS_H

#include "analyze/replay/io/descriptors.h"

/* The socket is closed or the recording ends: its turn ends. */
int requests_end_turn(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e);

#endif
