/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests are answered on: server sockets and probed functions. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/*
 * An exchange ends; slow: for most of its time it waited for its client. Whether it is one
 * of few: where most are such, it is how the service is used, or its path, and they are judged.
 */
bool services_paced(struct service *s, bool slow);

/* The service of a server's socket. */
int services_of_file(struct replay *r, struct process *p, struct file *f, struct err *e);
/* A receive or a send on a server's socket, before the request takes note of it. */
void services_on_recv(struct replay *r, struct file *f, u64 ts);
void services_on_send(struct replay *r, struct file *f, u64 ts);
/* So many requests begin in a receive, by its protocol. */
void services_received(struct replay *r, struct file *f, u32 n, u64 ts);
/* The latency of a request at a send: counts in the window of its last send, not in that of
 * before_ts, 0: it is the first. */
void services_latency(struct replay *r, struct file *f, u64 before_ts, u64 latency);
/* The end of the answer left later than its last send: so the latency was longer. */
void services_held(struct replay *r, struct file *f, u64 latency);
/* A request with receives and sends ends. */
void services_on_request(struct file *f, u64 latency, bool named);
/* A probed call returned, or was entered and its return is not recorded: dur UINT64_MAX. */
int services_on_call(struct replay *r, struct process *p, u32 site, u64 ts, u64 dur, struct err *e);
u32 service_id(const struct service *s);
/* Whether it had a request that its own process did not send. */
bool services_outside(const struct service *s);
