/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the threads of the pauses that count did, by the states of table pause. */
#pragma once

#include "analyze/analyses/waits/cpu_quota.h"
#include "format/buf.h"
#include "pause_contender.h"
#include "pause_root.h"

enum did {
	DID_run,
	DID_runq,
	DID_futex,
	DID_disk,
	DID_blocked,
	DID_client,
	DID_input,
	DID_pipe,
	DID_timer,
	DID_child,
	DID_lock,
	DID_stopped,
	DID_other,
	N_DID
};

struct pause_cause {
	double spent[N_DID], total;
	s64 id, tid, pid, partner, fd, request_ts, client, received, sent;
	bool request, green;
	bool unexplained; /* no thread that was seen is why; before the end of the chain is said */
	int largest, same, n;
	int second; /* with a third of the largest or more; N_DID: none */
	struct buf peer, call, function, name, failed;
	const char *collects; /* what the function does; NULL: not known */
	const char *did;      /* the waker, for most of the first pause; NULL: not known */
	double did_ns;
	double others; /* threads with a request that were in the same state */
	double in_function, samples;
	bool in_longest; /* of several pauses: these samples are of the longest one */
	bool on_file;	 /* calls on a file are most of them, and said */
	struct buf ids;	 /* of the pauses, as JSON */
	struct pause_contender contender;
	struct quota quota; /* of the longest */
	struct pause_upstream upstream;
	struct pause_root root;
};

/* Reads all of it but root; p has no contender yet. To be freed whatever it returns. */
int pause_did(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p, struct err *e);
void pause_did_free(struct pause_cause *p);
