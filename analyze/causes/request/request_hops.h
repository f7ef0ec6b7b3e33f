/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of a question and of its answer through network devices (group hops): of the last byte
 * that had arrived at the end of the way before the answer was received. Under different addresses
 * (NAT) both ends of the connection are looked at.
 */
#pragma once

#include "request_tree.h"

#define HOPS_MAX 32 /* of a direction; further ones are left out */

struct hop {
	s64 id; /* of net_device */
	char device[32];
	bool sends;
	bool far; /* recorded by the host of the receiver, another one */
	s64 ts;	  /* on the clock of the tree */
	s64 dur;  /* since the hop before; of the first: since the send; below 0: not known */
};

struct request_hops {
	struct hop there[HOPS_MAX], back[HOPS_MAX];
	int n_there, n_back;
	s64 arrival, receive; /* from the last hop to the peer's socket, and to the receive's end;
				 below 0: not known */
	int against_there, against_back; /* times that contradict the order of the hops */
};

/* Of a question of the tree; without hops n_there and n_back are 0. */
int request_hops_make(struct request_hops *ret, sqlite3 *db, const struct request_tree *t,
		      const struct step *question, struct err *e);
