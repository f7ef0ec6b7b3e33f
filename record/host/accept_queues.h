/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accept queues of the listening TCP sockets in the network namespaces of recorded processes, and
 * what these namespaces count of full ones. Read once per second.
 */
#pragma once

#include "record/probes/probes.h"
#include "record/pump/pump.h"
#include "targets.h"

#define NAMESPACES_MAX 16 /* further ones are not read */

struct accept_queues {
	struct netns_queues {
		u64 netns;
		unsigned int pid; /* a process in it; 0: none is recorded */
		int diag;	  /* a netlink socket in it; -1: none */
	} of[NAMESPACES_MAX];
	int n;
	u64 search; /* when to look for namespaces again, as records_now */
};

/*
 * Finds the namespaces of recorded processes while the rights to enter them are there. Of a
 * namespace that is found later, or that cannot be entered, only its own counts are read.
 */
void accept_queues_open(struct accept_queues *q, const struct probes *probes,
			const struct targets *t);

/* Puts each namespace into the recording, then its sockets: those that have dropped or have a
 * queue. */
int accept_queues_read(struct accept_queues *q, struct pump *p, const struct probes *probes,
		       const struct targets *t, struct err *e);

/* A netlink socket in that namespace; -1: none. */
int accept_queues_diag(const struct accept_queues *q, u64 netns);

void accept_queues_end(struct accept_queues *q);

/*
 * Pure, for tests: the value of this name of the lines that begin with TcpExt in /proc/net/netstat,
 * the first of names, the second of values. 0 if there is none.
 */
u64 accept_queues_count(const char *text, const char *name);
