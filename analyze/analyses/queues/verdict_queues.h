/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What requests of a server waited for that its threads' own states do not show: accept, the rest
 * of the request, a free thread of a pool, threads of the same process, a free connection to
 * another server.
 */
#pragma once

#include "analyze/analyses/verdict/verdict.h"

#define POOL_ALWAYS 98.0  /* %, of the time without a free worker, as of a saturated thread */
#define SIDE_MOST   0.5	  /* of the latency, or of what was added to it */
#define ACK_DELAYED 40e6  /* ns: TCP_DELACK_MIN of the kernel */
#define ACK_LATEST  200e6 /* ns: TCP_DELACK_MAX */
#define ACK_TICK    12e6  /* the timer's, at 100 ticks per second, and a round trip */

/* When that happened which the verdict is about: in order, without overlap. */
struct verdict_when {
	double (*v)[2]; /* ns */
	int n;
	bool all; /* the recording */
};

int verdict_when(const struct analysis_ctx *c, const struct judged *j, struct verdict_when *ret,
		 struct err *e);
void verdict_when_free(struct verdict_when *w);
/* The first of its ranges that ends after from; n: none. */
int verdict_when_first(const struct verdict_when *w, double from);
/* ns of from..to that are in it. */
double verdict_when_within(const struct verdict_when *w, double from, double to);
/* Whether from..to touches it. */
bool verdict_when_has(const struct verdict_when *w, double from, double to);
double verdict_when_length(const struct verdict_when *w);

/* Requests outside the time of the verdict, or in it: how many, their latency, a part of that. */
struct verdict_side {
	double n, latency, part;
};

/* Of [outside, inside]: whether this part is most of what is added inside, and limit ns or more. */
bool side_is_most(const struct verdict_side side[2], double limit);

/* Under j->finding, each of them that is most of the latency of the time of the verdict. */
int verdict_queues(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		   struct err *e);

/* The finding of one of them. */
int verdict_queues_put(struct analysis_ctx *c, const struct judged *j, enum finding_kind kind,
		       enum evidence evidence, const char *sql, const struct value *values,
		       struct err *e);

/* verdict_paced.c: a note about requests that waited for their clients to take the answer. */
int verdict_paced(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_awaited.c: fills awaited; under j->finding, the server that had not answered yet. */
int verdict_awaited(struct analysis_ctx *c, struct judged *j, struct err *e);
int verdict_awaited_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_parts.c: the rest of requests came later, from a client. */
int verdict_parts(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		  const struct limits *l, struct err *e);

/* verdict_accepts.c: connections were not accepted although the thread that accepts was idle. 1:
 * said; 0: not so. */
int verdict_accepts(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		    const struct limits *l, struct err *e);
/* The same, for as long as a pause: a problem, if j has none. */
int verdict_accepted_late(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			  struct err *e);

/*
 * verdict_unaccepted.c: connections wait until the end although the thread that accepted the last
 * is idle, or while there are too few requests for a verdict; a problem, if j has none. Fills
 * unaccepted.
 */
int verdict_unaccepted(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e);
int verdict_unaccepted_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* verdict_kept.c: the same while each process kept another connection, without a request. 1: said;
 * 0: not so. */
int verdict_kept_then(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		      const struct limits *l, struct err *e);

/* verdict_pool.c: all threads of a pool were busy. 1: said; 0: not so. */
int verdict_pool(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		 const struct limits *l, struct err *e);

/* verdict_offload.c: threads of its own process worked for an event loop. 1: said; 0: not so. */
int verdict_offload(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		    const struct limits *l, struct err *e);

/* verdict_held.c: all connections to another server were kept for silent clients. 1: said; 0: not
 * so. */
int verdict_held(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		 const struct limits *l, struct err *e);

/*
 * verdict_silent.c: another server answers nothing; a problem, also if its questions waited for
 * more time than what else was found added. Fills silent.
 */
int verdict_silent(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
int verdict_silent_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* verdict_path.c: latency up to the client's ACK, where the path delays answers; else NAN. */
int verdict_path(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);

/*
 * verdict_nagle.c: the last part of answers waited for a delayed ACK; a problem, if j has none.
 * Fills nagle.
 */
int verdict_nagle(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
int verdict_nagle_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/*
 * verdict_unacked.c: answers that TCP still sends again at the end; a problem, also if they added
 * more time than what else was found. Fills unacked.
 */
int verdict_unacked(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		    struct err *e);
int verdict_unacked_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* What answers that arrive late, or never, outweighed: members of an array of values. */
#define OUTWEIGHED(j, of, value) ((j)->outweighed == VERDICT_##of ? (double)(value) : NAN)
#define OUTWEIGHED_END(j, of)	 OUTWEIGHED(j, of, verdict_until(j, (j)->slower_to))
#define VALUES_OUTWEIGHED(j)                                                                       \
	VALUE_NUMBER("slower", OUTWEIGHED(j, slower, (j)->slower_from), "at"),                     \
		VALUE_NUMBER("slower_end", OUTWEIGHED_END(j, slower), "at"),                       \
		VALUE_NUMBER("slower_ratio", OUTWEIGHED(j, slower, (j)->slower_ratio), "x"),       \
		VALUE_NUMBER("p99", OUTWEIGHED(j, tail, (j)->late.p99), "ns"),                     \
		VALUE_NUMBER("late_since", OUTWEIGHED(j, tail, (j)->slower_from), "at"),           \
		VALUE_NUMBER("late_until", OUTWEIGHED_END(j, tail), "at"),                         \
		VALUE_NUMBER("p99_otherwise", OUTWEIGHED(j, tail, (j)->late.p99_otherwise), "ns"), \
		VALUE_NUMBER("paused", OUTWEIGHED(j, pauses, (j)->counted), ""),                   \
		VALUE_NUMBER("longest", OUTWEIGHED(j, pauses, (j)->pause_max), "ns")

/* verdict_connections.c: all connections to another server were busy. 1: said; 0: not so. */
int verdict_connections(struct analysis_ctx *c, const struct judged *j,
			const struct verdict_when *w, const struct limits *l, struct err *e);

/* verdict_leaked.c: under j->finding, all connections to another server are idle, and requests wait
 * until their timeout: no request gives one back. */
int verdict_leaked(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_last_asked.c: under j->finding, whom failed requests asked last. */
int verdict_last_asked(struct analysis_ctx *c, const struct judged *j, struct err *e);
