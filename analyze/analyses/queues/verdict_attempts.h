/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attempts to connect to other servers, exchanges with them in which segments were lost, and
 * questions that they did not answer. */
#pragma once

#include "analyze/analyses/verdict/verdict.h"

#define ADDRESSES_MOST 64

enum connect_end {
	CONNECT_NEVER,
	CONNECT_SLOW,
	CONNECT_REFUSED,
	CONNECT_NO_PORT, /* no SYN was sent: no local port was free */
	CONNECT_LOST,
	CONNECT_AGAIN,	    /* slow, its SYN was sent again */
	CONNECT_UNANSWERED, /* a question for whose answer its thread waited in vain */
	CONNECT_GIVEN_UP,   /* a question on a stream that was closed before its answer */
	N_CONNECT_ENDS
};

struct attempt {
	s64 ts, till, pid;
	double n, ns;	 /* segments that were lost, else 1; time that it took */
	double segments; /* that were sent again */
	int address, error;
	s64 row; /* fd.rowid of its socket; 0: not known */
	enum connect_end end;
	bool used;
};

/* How one ended that was not established. */
enum connect_end attempt_failed(int error);

struct attempts {
	struct attempt *v; /* by time */
	size_t n;
	char *address[ADDRESSES_MOST];
	int n_addresses;
};

/* Of the server. Those that took as long as the limit of latency, or were not established. */
int attempts_read(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		  struct attempts *ret, struct err *e);
void attempts_free(struct attempts *k);
