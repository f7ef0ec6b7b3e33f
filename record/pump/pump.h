/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the rings to the file, in two threads that never wait for each other: the
 * drainer copies spans out of the rings, the compressor makes blocks of them. The
 * pump knows the sizes of records, never their fields. When the compressor is
 * late, spans stay in the rings; what the rings cannot hold is lost and counted
 * there.
 */
#pragma once

#include "counts.h"
#include "flight.h"
#include "format/recording.h"
#include "record/requests/batch.h"
#include "ring.h"

#include <stdbool.h>

struct pump;

/* What the pump has done and used so far. */
struct pump_stats {
	u64 drainer;	/* CPU time, ns */
	u64 compressor; /* CPU time, ns */
	u64 ring_bytes; /* taken out of the rings */
	u64 file_bytes; /* written */
	u64 high_water; /* most bytes found in one ring */
};

/*
 * Starts both threads. rings and counts have one element a CPU and stay the
 * caller's, as do writer and flight, one of which is NULL: blocks go to the other.
 * filter may be NULL; it runs in the drainer's thread.
 */
int pump_start(struct pump **ret, struct ring *rings, int n_rings, const struct cpu_counts *counts,
	       struct writer *writer, struct flight *flight, pump_filter filter, void *filter_arg,
	       struct err *e);

/* Appends a record made by obsrec itself to the recorder's stream. From one thread only. */
int pump_record(struct pump *p, const void *record, struct err *e);

/* Until NULL is given, records made by obsrec go to this buffer instead. */
void pump_divert(struct pump *p, struct buf *to);

/*
 * Asks that all that happened before is handed on in blocks; number: for pump_flushed. Without a
 * wait: a compressor that gets no CPU must not keep the caller from its signals.
 */
int pump_flush(struct pump *p, u64 *number, struct err *e);

/* Is it done? */
bool pump_flushed(struct pump *p, u64 number);

/* Fails with the reason once writing has failed: the recording then ends before it. */
int pump_check(struct pump *p, struct err *e);

void pump_stats(struct pump *p, struct pump_stats *ret);

/*
 * After the programs have been detached: empties the rings to the last record, then writes
 * everything out. Afterwards only pump_record and pump_finish may be called.
 */
int pump_stop(struct pump *p, struct err *e);

/* Last: the final counters of every CPU, and what pump_record has gathered. */
int pump_finish(struct pump *p, struct err *e);

void pump_free(struct pump *p);
