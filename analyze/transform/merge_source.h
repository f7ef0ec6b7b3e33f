/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One of the recordings that are merged: its host, its clock, where its numbers go. Part of merge.
 */
#pragma once

#include "analyze/base/when.h"
#include "filter.h"
#include "format/convert.h"
#include "merge_ids.h"

#define MERGE_PIDS    10000000u
#define MERGE_CPUS    1000u
#define MERGE_RUNS    128u /* each has 2^24 ids of stacks, at least */
#define MERGE_DEV_BIT 29

struct source {
	const char *path;
	struct reader *reader;
	bool damaged; /* the file is cut, or was damaged where it was read */
	struct origin origin;
	char host[80], boot[80]; /* as the recording says, cut */
	char targets[4096], groups[512];
	bool follow;
	bool several;	  /* it was merged of several hosts, whose numbers are moved already */
	bool flight;	  /* its counters have a base */
	u64 snapshot_end; /* of its first snapshot */
	u32 number;	  /* of the host: 0 is the first */
	char whole[40];	  /* id of the recording that it is a part of, or its own */
	bool part;	  /* it is one */
	u32 run;  /* of the recorder: parts of one recording have the same; 0 is the first */
	u32 runs; /* so many from there on: it was merged */
	struct merge_ids *ids;
	u8 (*names)[SCHEMA_FIELD_MAX]; /* by event of the merged schema: see name_of */
	bool follows;		       /* an earlier recording is of the same host */
	u32 nth;		       /* of the recording, from 1 on */
	s64 realtime;		       /* median of CLOCK_REALTIME - CLOCK_MONOTONIC */
	u64 error; /* ns: half the spread of these differences, and of the readings */
	u64 readings;
	s64 shift; /* added to its times */
	struct conversion conversion;
	struct record next; /* of its recorder's stream, while these are merged */
	bool more;
};

/* Opens what the filter leaves in, and reads what the recorder said. */
int source_open(struct source *s, const char *path, const struct filter *f, struct err *e);

/* Moves the numbers of the record at out (laid out as ev) to where this source's go. */
int source_move(const struct source *s, const struct event_desc *ev, u8 *record, struct err *e);

void source_close(struct source *s);
