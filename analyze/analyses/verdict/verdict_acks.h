/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers that clients acknowledge late, or never: what is known of them. */
#pragma once

#include "format/event.h"

#include <stdbool.h>

/* Answers of which segments were sent again; n 0: none that matters. */
struct verdict_resent {
	double n, of;	  /* answers; of all in the time range */
	double segments;  /* sent again */
	double late, max; /* ns from the answer to the last of them, mean and longest */
	double start, end;
	double n_otherwise, of_otherwise;
	double acked, acked_otherwise; /* ns until all answers were acknowledged, p99 */
	s64 client;		       /* of most of them; 0: not known */
	double clients, others;	       /* addresses; those of the time range without one */
};

/* Answers whose last part waited for a delayed ACK of the client; n 0: none. */
struct verdict_nagle {
	double n, of, start, end; /* of the answers with an ACK in that time */
	double late, before; /* ns from the last send to the ACK, medians: of these, and outside */
	bool always;	     /* there is no time without them: before is not known */
	bool recorded;	     /* by request.held, which late is then */
};

/* Answers that are still sent again at the end; n 0: none. */
struct verdict_unacked {
	double n, start, max, waited; /* ns until the end: longest, and summed */
	double segments, connections, of;
	s64 name, client; /* of all; of most: 0: none */
	double clients;
	double least;		/* bytes, the shortest of them */
	double passed, largest; /* answers to these addresses that they acknowledged since; bytes */
	bool dropped, net;	/* none of them was sent again; such segments are recorded */
	double fit;		/* of at most 64 KiB */
	double arrived, since;	/* as large, acknowledged: before them; after the first of them */
};
