/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The streams of an excerpt: blocks, positions, losses and counters of each CPU. Part of excerpt.c.
 */
#pragma once

#include "excerpt.h"
#include "format/convert.h"
#include "process_state.h"

struct excerpt {
	struct reader *reader;
	const struct filter *filter;
	struct err *e;
	struct origin origin;
	u64 from, to; /* on the recording's clock */
	u32 early;    /* groups that are read before from */
	struct process_state *state;
	struct schema *schema;
	struct conversion conversion;
	struct writer *writer;
	struct buf own;	  /* records of the recorder's stream, not yet a block */
	struct buf clock; /* the last reading before from */
	bool headed;	  /* the snapshot is written */
	struct idmap conns,
		conns_by_sock;	  /* excerpt_conns.c: events connection, by number and sock */
	struct idmap chosen_inos; /* of sockets of chosen processes -> the excerpt itself */
	struct idmap cpus;
	size_t bytes; /* of records that wait for their blocks */
	u64 records;
};

/* Looks up what was lost before the part, and whether any was lost within. */
int excerpt_cpus_begin(struct excerpt *x);

/* A record of a CPU within the part, to be kept or left out. instead: what is kept for it, or NULL.
 */
int excerpt_record(struct excerpt *x, const struct record *rec, const struct ev_segment *instead,
		   bool keep);

/* A record of the recorder's stream within the part that the counters of this CPU have. */
int excerpt_counted(struct excerpt *x, const struct record *rec, u32 cpu, bool keep);

/* Counters that a recording cut out of a longer run begins with. */
int excerpt_base(struct excerpt *x, const struct record *rec);

/* A counters record: written again when it is within. */
int excerpt_counters(struct excerpt *x, const struct record *rec, bool within);

/* Writes what waits, and the counters that hold at the end. */
int excerpt_cpus_end(struct excerpt *x);

/* Writes the recorder's records if there are enough for a block, or all. */
int excerpt_flush_own(struct excerpt *x, bool all);

void excerpt_cpus_free(struct excerpt *x);
