/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients: the other ends of a server's sockets, by address. See track_clients.c. */
#ifndef OBS_TRACK_CLIENTS_H
#define OBS_TRACK_CLIENTS_H

#include "analyze/replay/io/descriptors.h"

/* The client behind a server's socket, whose service is known: f->client, or NULL if there are too
 * many. */
int clients_of_file(struct replay *r, struct file *f, struct err *e);

/*
 * A receive or a send on the socket of a client returned: from here on the thread works for it. A
 * send does not change whom the thread works for.
 */
void clients_served(const struct replay *r, struct thread *t, struct client *c,
		    const struct call_view *v, bool send);

/* A call that waits for descriptors returned: the thread works for nobody. */
void clients_polled(const struct replay *r, struct thread *t, const struct call_view *v);

/* A turn with an answer ends: dur ns, before it queued ns. */
void clients_on_turn(const struct file *f, u64 dur, u64 queued, bool lossy);

/* Its number in table client; 0: none. */
u32 client_id(const struct client *c);

#endif
