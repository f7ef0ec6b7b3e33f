/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pump's two threads and its caller share. */
#pragma once

#include "chunk.h"
#include "pump.h"

#include <pthread.h>
#include <time.h>

struct pump {
	struct ring *rings;
	int n_rings;
	const struct cpu_counts *counts; /* the kernel's, live */
	struct cpu_counts *written;	 /* those that the file has */
	struct writer *writer;		 /* NULL in flight mode */
	struct flight *flight;		 /* NULL: blocks are written */
	pump_filter filter;		 /* NULL: none */
	void *filter_arg;
	struct buf *diverted;  /* where records of obsrec go; NULL: to recorder */
	struct queue *filling; /* by CPU: the last is being filled */
	bool starved;	       /* no chunk for what a ring holds, in the last pass */
	struct batch *batches; /* of all that are filled */
	int n_batches;	       /* at most */
	struct buf recorder;   /* records of the recorder's stream, not yet queued */
	pthread_t drainer, compressor;
	bool drainer_runs, compressor_runs;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t wake;
	u64 flush, flushed; /* number of the last one that was asked for; that is done */
	struct queue queue, pool;
	size_t chunk_size;
	size_t pool_left; /* chunks that may still be made */
	bool stop_draining, stop_compressing;
	struct err failed; /* code 0 while all is well */
	u64 ring_bytes;
	u64 file_bytes;
	u64 drainer_cpu, compressor_cpu;
};

/* The drainer's thread; arg: the pump. */
void *drainer_run(void *arg);

static inline u64 pump_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
