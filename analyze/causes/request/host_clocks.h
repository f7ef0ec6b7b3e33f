/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clocks of the hosts of a merged recording, from messages between them. A message is sent
 * before it is received: messages one way limit the offset of two clocks from above, answers limit
 * it from below (Cristian, NTP). The offset is the middle, its error half of the distance.
 *
 * Both ends of a connection have the exchanges in one order, and of equal sizes. Where several
 * alignments of them contradict nothing, the one nearest to the wall clocks is taken.
 */
#pragma once

#include "analyze/base/limits.h"
#include "analyze/store/db.h"

struct host_clock {
	s64 pids; /* its process ids are above this, up to that of the next host */
	char name[64];
	bool known;   /* messages connect it with the first host */
	s64 add;      /* ns: its times and this are times of the first host; by wall clocks: 0 */
	s64 error;    /* ns, of add: at most so far away, either way */
	s64 messages; /* one way each, of the hosts that add was found between */
	s64 against;  /* of these, sent after they were received, whatever the offset */
	int others;   /* alignments of exchanges that fit as well */
	/* Of those against, the first and the last: when one host sent or received them. */
	s64 against_from, against_to;
};

struct host_clocks {
	struct host_clock v[HOST_LIMIT]; /* by pids; one if nothing was merged */
	int n;
};

/* Estimates the clocks from the messages nearest to this time. */
int host_clocks_make(struct host_clocks *ret, sqlite3 *db, s64 around, struct err *e);

const struct host_clock *host_of(const struct host_clocks *c, s64 pid);

/* The process ids of a host: low < pid < high. */
void host_pids(const struct host_clocks *c, s64 pid, s64 *low, s64 *high);
