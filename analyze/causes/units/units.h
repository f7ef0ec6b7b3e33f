/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Units of work (calls of a probed function, requests on server sockets with the wait of their
 * request before them, or windows of time) with
 * the time of each split by the states of its thread. What is kept of millions of units
 * is their sums in UNIT_BLOCKS equal blocks of time, and a few examples of each block.
 */
#pragma once

#include "analyze/analyses/analysis.h"
#include "analyze/store/finding.h"
#include "category.h"
#include "tally.h"

#define UNIT_BLOCKS   128
#define UNIT_SUBJECTS 4 /* processes, or functions, at one time */
#define UNIT_SAMPLES  4 /* of a block, of each kind */

enum unit_kind { UNIT_CALL, UNIT_REQUEST, UNIT_WINDOW };

struct unit {
	s64 ts, dur;
	u32 tid;
	s64 queued;   /* of dur: before its request was received */
	s64 in_queue; /* of queued: on a CPU for requests that the thread received earlier */
	s64 held;     /* of dur, at its end: in the socket; its thread did other things */
};

/* Its last send, or its end: until then its thread may have worked for it. */
static inline s64 unit_sent(const struct unit *u)
{
	return u->ts + u->dur - u->held;
}

/* Sums over some of the units of one block. */
struct unit_sums {
	double n;
	double wall, queued;
	double spent[N_SPENT];
};

struct unit_block {
	struct unit_sums all, tail, middle;
	double logs;			 /* sum of ln(duration) */
	struct unit slow[UNIT_SAMPLES];	 /* of the tail, drawn evenly */
	struct unit usual[UNIT_SAMPLES]; /* of all, drawn by their duration */
	struct unit calm[UNIT_SAMPLES];	 /* of the middle */
	struct long_unit {
		struct unit unit; /* dur 0: none */
		double spent[N_SPENT];
	} longest[UNIT_SAMPLES];
};

struct units {
	enum unit_kind kind;
	s64 key;	 /* pid, of requests that of the leader, or site.id */
	int processes;	 /* that answer its requests */
	char name[120];	 /* "requests of server[100]", "requests of server (8 processes of 100)" */
	double n;	 /* units whose time is known */
	double excluded; /* others: touched by loss, or by states that are not known */
	double q;	 /* the tail begins at this quantile */
	double p25, p75, slow; /* durations, ns */
	struct subject of;   /* the same by its id: function, service, server, program or process */
	int n_excluded;	     /* taken out by units_exclude */
	struct unit longest; /* of these */
	s64 shortest;	     /* of these, ns */
	double too_long;     /* ns: none of this length counts, known or not; 0: all do */
	s64 block;	     /* ns of one block */
	struct unit_block blocks[UNIT_BLOCKS];
};

/*
 * The units of the recording: what functions were probed, else the servers that answer
 * requests, else windows of the busiest process; at most UNIT_SUBJECTS of them. A server is a
 * process, or the workers of the same name that one leader made. *ret is freed with free(). 0 units
 * if there is nothing to be found.
 */
int units_read(sqlite3 *db, s64 duration, struct units **ret, size_t *ret_n, struct err *e);

/*
 * Takes a block's units of this length (ns) and longer, up to UNIT_SAMPLES of them, out of all sums
 * and examples: those that last for as long as what is looked at are not among those that were slow
 * in it.
 */
void units_exclude(struct units *u, int block, double least);

/* Time of one thread in each state and block: spent[block][state]. */
int units_thread(sqlite3 *db, u32 tid, s64 block, double (*spent)[N_SPAN_STATES], struct err *e);

/* The same of all these threads together. */
int units_time(sqlite3 *db, const struct idmap *tids, s64 block, double (*spent)[N_SPAN_STATES],
	       struct err *e);

/* The threads of the leader's processes: those that ended requests, and the others; empty at first.
 */
int units_threads(sqlite3 *db, u32 leader, struct idmap *answering, struct idmap *others,
		  struct err *e);

/* Adds the CPU time of each of these threads: summed over blocks by their weights. */
int units_run(sqlite3 *db, const struct idmap *tids, s64 block, const double weight[UNIT_BLOCKS],
	      struct tally *ret, struct err *e);

/* units_queue.c: how long threads ran for earlier requests while later ones waited. */
struct request_queue;
int request_queue_open(struct request_queue **ret, sqlite3 *db, struct err *e);
/* Of the request.rowid, ns of its wait before the receive; ask in rising order. */
int request_queue_of(struct request_queue *b, s64 rowid, s64 *ret_ns, struct err *e);
void request_queue_close(struct request_queue *b); /* NULL is fine */

/* The thread that ends most of the units that were kept as examples; 0: none. */
u32 units_thread_of(const struct units *u);
