/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of one datagram socket that have no answer. */
#pragma once

#include "descriptors.h"

struct datagram {
	struct file request; /* with its client; the first member */
	u64 peer;
	struct datagram *older, *newer; /* of its peer */
	struct datagram *next, *prev;	/* in order of time */
};

struct datagrams {
	struct idmap of; /* peer -> its newest */
	struct datagram *first, *last;
	size_t n;
	u64 last_send; /* 0: none yet */
	u32 answered;  /* thread of that send */
};

struct datagram *datagrams_add(struct datagrams *d, u64 peer, struct err *e);
/* The newest of the peer; NULL: none. */
struct datagram *datagrams_newest(const struct datagrams *d, u64 peer);
void datagrams_take(struct datagrams *d, struct datagram *one);
void datagrams_free(struct datagrams *d); /* NULL is fine */
