/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients: the other ends of a server's sockets, by address. See track_clients.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/* The client of a server's socket, whose service is known: f->client, or NULL if there are too
 * many. */
int clients_of_file(struct replay *r, struct file *f, struct err *e);

/*
 * A receive or a send on the socket of a client returned: from here on the thread works for it. A
 * send does not change whom the thread works for. also: its CPU time is added there too; NULL: not.
 */
void clients_served(const struct replay *r, struct thread *t, struct client *c,
		    const struct call_view *v, bool send, u64 *also);

/* What the thread received is a request whose CPU time is added there too. */
void clients_named(struct thread *t, u64 *also);

/* The request has another name than first thought: what follows is added there. */
void clients_renamed(struct thread *t, u64 *also);

/* A call that waits for descriptors returned: the thread works for no client. */
void clients_polled(const struct replay *r, struct thread *t, const struct call_view *v);

/* A request with an answer ends: dur ns, before it queued ns. */
void clients_on_request(const struct file *f, u64 dur, u64 queued, bool lossy);

/* Its number in table client; 0: none. */
u32 client_id(const struct client *c);
