/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests are answered on: server sockets and probed functions. */
#ifndef OBS_TRACK_SERVICES_H
#define OBS_TRACK_SERVICES_H

#include "analyze/replay/io/descriptors.h"

/* The service of a server's socket. */
int services_of_file(struct replay *r, struct process *p, struct file *f, struct err *e);
/* A receive or a send on a server's socket, before the turn takes note of it. */
void services_on_recv(struct replay *r, struct file *f, u64 ts);
void services_on_send(struct replay *r, struct file *f, u64 ts);
/* A turn with receives and sends ends. */
void services_on_turn(struct file *f);
/* A probed call returned, or was entered and its return is not recorded: dur UINT64_MAX. */
int services_on_call(struct replay *r, struct process *p, u32 site, u64 ts, u64 dur, struct err *e);
u32 service_id(const struct service *s);

#endif
