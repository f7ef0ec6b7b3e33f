/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request and the requests that it waited for: its thread asks a peer, whose process is in
 * the same recording if it has the other end of the connection; that one's request may wait for
 * others in turn.
 *
 * What a thread asks belongs to what it received last: a request, or the answer to an earlier
 * question of one. A thread that answers what another one received does so one after the other:
 * what it asks after its answer before belongs to the next. What further threads of the process ask
 * then is counted, not followed: a recording does not show for whom they work.
 *
 * In a merged recording all times of a tree are on the clock of the first host, as far as messages
 * give the offset (host_clocks.h).
 */
#pragma once

#include "analyze/store/row_types.h"
#include "analyze/store/state.h"
#include "host_clocks.h"

#include <stdbool.h>

#define TREE_DEPTH_MAX 16
#define TREE_STEPS_MAX 500

enum end_of_path {
	PATH_FOLLOWED,	 /* the next step is the peer's request */
	PATH_NO_PROCESS, /* no process of the recording has the other end */
	PATH_NO_REQUEST, /* it has, but no request was received from it at that time */
	PATH_SEEN,	 /* that request is in the tree already */
	PATH_TOO_DEEP,
};

/* A request, or a question of the request before it at one depth less, in order of time. */
struct step {
	int depth;
	bool is_request;
	s64 id; /* request.rowid; of a question: upstream.rowid */
	struct row_request request;
	s64 queue[N_STATES]; /* of request.queued, ns by state; the rest was other work of the
				thread */
	s64 waits[N_STATES]; /* of request.dur, ns; the rest is time on a CPU */
	s64 of_others;	     /* questions of threads of its process that had no request then */
	struct row_upstream question;
	enum end_of_path end; /* of a question */
	int others;	      /* requests that its thread had received and not answered as well */
	s64 network;	      /* send's return to arrival, and answer's send to its receive, ns */
	char translated[80];  /* the peer's name of the end of the connection that differs; or "" */
};

struct request_tree {
	struct step v[TREE_STEPS_MAX];
	int n;
	bool cut; /* there were more steps */
	struct host_clocks clocks;
};

/* Where most of one interval went. */
enum part_kind { PART_NONE, PART_QUEUE, PART_CPU, PART_WAIT, PART_PEER, PART_NETWORK };
struct part {
	enum part_kind kind;
	int step; /* its request; PEER, NETWORK: its question */
	enum state state;
	s64 ns;
};

/* The peer's request of a question that was followed; NULL: there is none. */
const struct step *request_tree_peer(const struct request_tree *t, const struct step *question);

/* Fills the tree from this request.rowid. ERR_FAIL if there is no such request. */
int request_tree_make(struct request_tree *ret, sqlite3 *db, s64 id, struct err *e);

/* The request.rowid of longest latency of all, or of those of a name (NULL: all); 0: there is none.
 */
int request_tree_slowest(s64 *ret, sqlite3 *db, const char *name, struct err *e);

/*
 * The longest of all parts that are not waits for a request further down: queueing delays, time on
 * a CPU, waits, answers of peers that are not in the tree, and network time.
 */
struct part request_tree_longest(const struct request_tree *t);
