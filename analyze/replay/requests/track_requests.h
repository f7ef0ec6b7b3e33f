/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests on server sockets. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/* request.arrival_is */
enum arrival_is { ARRIVAL_estimate, ARRIVAL_kernel };

/* Its clients send requests on it. */
bool requests_serve(const struct file *f);

/* What was read before the recording is answered now, or the recording ends (end, t 0). */
int requests_put_before(struct replay *r, struct process *p, s32 fd, struct file *f, u64 end,
			const struct thread *t, struct err *e);

/* The socket is closed or the recording ends: its request ends. */
int requests_end_one(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e);

/*
 * The recording ends: what waits on the socket for an answer becomes a row, read or not. On
 * sockets without an answer before, what was read may have no answer at all: column answered.
 */
/* The socket is closed: a request that was read on it may have no answer. */
int requests_closed(struct replay *r, struct process *p, s32 fd, struct file *f, u64 ts,
		    struct err *e);
int requests_unanswered(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e);
