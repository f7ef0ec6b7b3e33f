/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests in datagrams, each with its client: see track_datagrams.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

#define PORTS_OF_CLIENTS 32768 /* the first of net.ipv4.ip_local_port_range by default */

/* How many datagrams the call moved, all with their peers; 0: not known. */
u32 datagrams_known(const struct thread *t, const struct call_view *v);

/* Of how many datagrams a call on the server's socket f is about one by one; 0: of all it moved. */
u32 datagrams_served(const struct thread *t, const struct file *f, const struct call_view *v);

/*
 * What datagram i of the call on the server's socket f is about: a request, as a file of its own,
 * new where it is received, that of its id in DNS or else the newest of its client where it is
 * answered; f itself where peers are not recorded; NULL: of a peer that is no client, or nothing
 * was taken.
 */
int datagrams_request(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		      u32 i, bool send, struct file **ret, struct err *e);

/* What datagram i of this call, of this request, shows: a question or an answer of DNS. */
int datagrams_name(struct replay *r, struct thread *t, struct file *f, u32 i, struct file *request,
		   bool send, struct err *e);

/* A call moved several datagrams, and not all their peers were recorded. */
bool datagrams_unknown(const struct file *f);

/* The request has ended. */
void datagrams_forget(struct replay *r, struct file *f, struct file *request);

/*
 * The next one, or the first (last NULL), that was received after the last answer; NULL: none. Not
 * of a peer that had no answer while others had: it sends what needs none, as lines of a log. Of a
 * socket that never answered, one stands for all.
 */
struct file *datagrams_open(const struct file *f, const struct file *last);

/*
 * The call on a socket that asks others, which is connected to none of them: keeps how long each
 * answers nothing.
 */
int datagrams_asked(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		    bool send, struct err *e);

/* Whether a socket that is not connected has one peer: its address. */
bool datagrams_only_peer(const struct file *f, char text[ADDRESS_MAX]);

/* The descriptor ends; closed: before the recording did. */
int datagrams_end(struct replay *r, const struct process *p, s32 fd, struct file *f, bool closed,
		  struct err *e);
