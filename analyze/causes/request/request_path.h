/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The critical path of a request: a chain of parts without gaps, from its arrival to its last send,
 * each of one thread or between two. It follows a question where its answer ended a wait of the
 * thread: through the network, the peer's request and back. Backward in time, so that of questions
 * asked at once only the one that was waited for is followed.
 */
#pragma once

#include "analyze/causes/units/spans.h"
#include "request_tree.h"

#define PATH_PARTS_MAX 4000

enum path_what { PATH_QUEUE, PATH_STATE, PATH_NETWORK, PATH_PEER };

struct path_part {
	s64 ts, dur; /* on the clock of the tree */
	enum path_what what;
	enum state state; /* of queue and state; unknown: not recorded */
	int step;	  /* its request; of network and peer: the question */
};

struct request_path {
	struct path_part v[PATH_PARTS_MAX]; /* rising in time */
	int n;
	bool cut; /* there were more, before these */
};

/* What request_path_make needs of threads: the times of a tree, on all its clocks. */
int request_path_moments(struct moment *ret, const struct request_tree *t);

void request_path_make(struct request_path *ret, const struct request_tree *t,
		       const struct spans *s);

/* Table request_path: of the slowest request of each service. */
int request_paths_put(sqlite3 *db, struct err *e);
