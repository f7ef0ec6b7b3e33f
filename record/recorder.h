/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of obsrec: what main and the parts that it calls share. */
#ifndef OBS_RECORDER_H
#define OBS_RECORDER_H

#include "child.h"
#include "output.h"
#include "probes.h"
#include "record/host/host.h"
#include "record/host/snapshot.h"

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
	struct snapshot_files files;
	int signals; /* signalfd */
	u64 begun;
	u64 ended;
	const char *why;     /* it ended; NULL while it goes on */
	u32 newcomers;	     /* those already in the snapshot */
	u64 lost_state;	     /* events of group core lost when the last snapshot was taken */
	u64 state_taken;     /* when the last snapshot of the host's state was started */
	u64 hits;	     /* thresholds passed so far */
	u64 due;	     /* when the triggered snapshot is to be written; 0: none is */
	u64 triggered;	     /* when the last one was */
	u64 suppressed;	     /* triggers that came too soon after another */
	struct hit hit;	     /* the one that is due */
	unsigned int n_made; /* snapshots written */
	unsigned int number; /* in the name of the last one */
	u64 bytes_made;
};

/* Flight mode: writes a snapshot if one was triggered and its time has come. */
int incident_poll(struct recorder *r, struct err *e);

/* Writes a snapshot now; why is stored in it. A failure to write one is printed, and recording
 * continues. */
int incident_write(struct recorder *r, const char *why, struct err *e);

#endif
