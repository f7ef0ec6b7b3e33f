/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of obsrec: what main and the parts that it calls share. */
#pragma once

#include "record/host/host.h"
#include "record/host/snapshot.h"
#include "record/probes/hot.h"
#include "record/probes/probes.h"
#include "record/process/child.h"
#include "record/pump/output.h"
#include "record/requests/heads.h"
#include "record/stacks/stacks.h"

struct patience;

struct recorder {
	struct options options;
	int argc;
	char **argv;
	struct targets targets;
	struct quotas quotas;
	struct output output; /* fd -1 in flight mode */
	struct child child;
	struct priority priority; /* before it was raised */
	struct probes *probes;
	struct writer *writer; /* NULL in flight mode */
	struct flight *flight; /* NULL unless in flight mode */
	struct pump *pump;
	struct heads *heads;		 /* NULL: no names of requests */
	struct connections *connections; /* flight mode; NULL: no requests */
	struct stacks *stacks;		 /* NULL: none are recorded */
	struct hot *hot;		 /* NULL: all calls are events */
	struct snapshot_files files;
	int signals; /* signalfd */
	struct patience *patience;
	u64 started;
	u64 ended;
	const char *why;     /* it ended; NULL while it goes on */
	u32 new_targets;     /* those already in the snapshot */
	u64 lost_state;	     /* events of group core lost when the last snapshot was taken */
	u64 state_taken;     /* when the last snapshot of the host's state was started */
	u64 hits;	     /* thresholds passed so far */
	u64 due;	     /* when the triggered snapshot is to be written; 0: none is */
	u64 triggered;	     /* when the last one was */
	u64 flush;	     /* of the pump, before the next snapshot is written; 0: none is */
	u64 suppressed;	     /* triggers that came too soon after another */
	struct hit hit;	     /* the one that is due */
	unsigned int n_made; /* snapshots written */
	unsigned int number; /* in the name of the last one */
	u64 bytes_made;
	u64 free_looked;  /* bytes of the file at the last look at the free space */
	char asked[200];  /* why the next one is to be written */
	char reason[200]; /* of the last one */
};

/* Flight mode: asks for a snapshot if one was triggered, and writes one whose records are in
 * blocks. A failure to write one is printed, and recording continues. */
int incident_poll(struct recorder *r, struct err *e);

/* Asks for a snapshot of all that happened before. One that was asked for and is not written yet
 * is the same. */
int incident_ask(struct recorder *r, const char *why, struct err *e);

/* Writes a snapshot of what is in blocks; why is stored in it. */
int incident_write(struct recorder *r, const char *why, struct err *e);

/* Of the last snapshot: what triggered one that is not written yet, else why the recording ends. */
const char *incident_reason(struct recorder *r, const char *why);
