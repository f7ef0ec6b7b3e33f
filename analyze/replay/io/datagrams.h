/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peers of one datagram socket, and their requests that have no answer. */
#pragma once

#include "descriptors.h"

struct datagram_peer {
	u64 key;
	struct datagram *oldest, *newest;
	u64 since;	/* its first datagram; 0: none yet */
	u64 open, most; /* requests under way; the most at a time */
	u64 answers;	/* sends that answered one */
	u64 forgotten;	/* requests that may still be answered */
	/* of one that is asked: return of the first question since its last answer; 0: none */
	u64 asked;
	/* of the next row: questions, return of the first and last; their thread, 0: several */
	u64 questions, from, last;
	u32 asker;
	u64 unknown; /* of its socket, at the first question */
	bool answered;
	u16 family, port;
	addr16 address;
	u64 before;  /* sends before its first datagram */
	u64 unasked; /* sends that answered none */
	u64 waits;   /* return of its last receive, nothing was sent to it since; 0: none */
	u32 reader;  /* thread of that receive */
	bool mutual; /* it is asked as well, or its answers are of many datagrams */
};

struct datagram {
	struct file request; /* with its client; the first member */
	struct datagram_peer *peer;
	u32 head;			/* id and flags if it may be of DNS; 0: it is not */
	u64 answers;			/* of its peer before */
	struct datagram *older, *newer; /* of its peer */
	struct datagram *next, *prev;	/* in order of time */
};

struct datagrams {
	struct idmap peers; /* key -> struct datagram_peer */
	struct datagram *first, *last;
	size_t n;
	u64 last_send;	  /* of an answer; 0: none yet */
	u32 answered;	  /* thread of that send */
	u64 unknown;	  /* receives of datagrams from peers that are not recorded */
	u64 unknown_send; /* the last one to a peer that is not recorded; 0: none */
	u64 lost;	  /* received, maybe of clients that wait: their events were lost */
	bool dns;	  /* an answer had the id of its question */
	bool off; /* calls move several datagrams, of peers that are not recorded: no requests */
};

/* Of all sockets: the state of this tracker. */
struct all_datagrams {
	size_t n, peers;
};

/* NULL: none yet. */
struct datagram_peer *datagrams_peer(const struct datagrams *d, u64 key);
struct datagram_peer *datagrams_add_peer(struct datagrams *d, u64 key, struct err *e);
/* Forgets peers without an open request, and says how many. */
int datagrams_forget_peers(struct datagrams *d, size_t *ret_n, struct err *e);
struct datagram *datagrams_add(struct datagrams *d, struct datagram_peer *p, struct err *e);
void datagrams_take(struct datagrams *d, struct datagram *one);
void datagrams_free(struct datagrams *d); /* NULL is fine */
