/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long requests wait in a server before they are received: see track_ready.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/* The thread serves requests: from here on what follows does something. */
int ready_begin(struct thread *t, struct err *e);

/* A sleep of the thread was ended. */
void ready_woken(struct thread *t, u64 ts);

/* It returned from a call that waits for descriptors; epoll NULL: not of epoll, or not known. */
void ready_polled(struct thread *t, struct file *epoll, const struct call_view *v);

/*
 * The receive v begins a request: how long its request waited, and where that time went. last: what
 * happened on its connection before; 0: nothing.
 */
u64 ready_take(const struct replay *r, struct thread *t, const struct call_view *v, u64 last,
	       u64 spent[N_STATES]);
