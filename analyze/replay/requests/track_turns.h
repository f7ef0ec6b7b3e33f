/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of turns goes, and others' answers. */
#ifndef OBS_TRACK_TURNS_H
#define OBS_TRACK_TURNS_H

#include "analyze/replay/io/descriptors.h"

/*
 * A turn's first receive (last: what happened on the connection before; 0: nothing); each of its
 * sends; its end, after the row of turn was made.
 */
int turns_begin(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		u64 last, struct err *e);
int turns_send(struct replay *r, struct thread *t, struct file *f, u64 ts, struct err *e);
void turns_end(struct replay *r, struct process *p, const struct file *f);
bool turns_is_split(const struct file *f);
/* How long its request waited before the first receive, as far as that is known; ns. */
u64 turns_queued(const struct file *f);
/* A call on a connected socket that moved bytes. */
void turns_exchange(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		    bool send, u64 bytes);

#endif
