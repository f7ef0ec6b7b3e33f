/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callers of a thread, from its registers and the copy of its stack. */
#pragma once

#include "cfi_rows.h"
#include "perf_map.h"

#define UNWIND_FRAMES 256 /* of one stack; outer ones are not known */

/* A process as code: kept while it is seen, for its mappings are read once. */
struct code_process {
	u32 pid; /* 0: free */
	u64 mm;	 /* as in struct raw_stack */
	struct code_maps maps;
	struct perf_map perf;
	u64 maps_tried; /* when they were last read, ns */
	u64 maps_bytes; /* of text */
	u64 perf_next,
		perf_pause; /* when its perf map is looked at again, and for how long not, ns */
	u64 maps_old;	    /* when what is mapped has changed first since, + 1 ns; 0: it has not */
	bool maps_silent;   /* they could not be read in time: they are not read again */
	u64 used;	    /* when the process was last seen */
};

struct code_frame {
	int module; /* 0: not known */
	u64 address;
};

struct unwinder {
	struct code_modules *modules;
	struct cfi_rows *rows;
	u64 perf_held; /* bytes of all perf maps */
	u64 perf_next; /* when one is looked at again, ns */
	u64 now;
};

/* False: out of memory. */
bool unwinder_start(struct unwinder *u, struct code_modules *modules);
void unwinder_free(struct unwinder *u);

/* UNWIND_COMPLETE: the last frame is the outermost one. UNWIND_HANDLER: it is that of a signal
 * handler with a stack of its own (sigaltstack), and what it interrupted is not in the copy. */
enum unwind_end { UNWIND_CUT, UNWIND_COMPLETE, UNWIND_HANDLER };

/* Writes the frames, innermost first. raw is followed by its copy of the stack. */
u32 unwind(struct unwinder *u, struct code_process *p, const struct raw_stack *raw,
	   struct code_frame frames[UNWIND_FRAMES], enum unwind_end *end);

/* The pc alone. */
u32 unwind_pc(struct unwinder *u, struct code_process *p, const struct raw_stack *raw,
	      struct code_frame frames[UNWIND_FRAMES]);

/* Reads the perf map of a process, within the memory that all of them may take. */
void unwinder_perf(struct unwinder *u, struct code_process *p);

/* The same within the time, too. True if there was a look at the file. */
bool unwinder_perf_again(struct unwinder *u, struct code_process *p);

void code_process_free(struct unwinder *u, struct code_process *p);
