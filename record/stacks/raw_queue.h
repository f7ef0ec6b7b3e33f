/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of raw stacks: user frames by unwinding, the two parts of a wait put together. */
#pragma once

#include "format/buf.h"
#include "kernel_code.h"
#include "new_maps.h"
#include "stack_tables.h"

#define PROCESSES 256
#define WAITS	  1024

struct raw_queue {
	struct code_modules modules;
	struct kernel_code kernel;
	struct new_maps mapped;
	struct unwinder unwinder;
	struct stack_tables tables, older; /* older: what was there before, in flight mode */
	u64 since;			   /* when tables were started; 0: with the queue */
	struct code_process processes[PROCESSES];
	u32 recent;		       /* place of the process that was asked for last */
	struct ev_offcpu waits[WAITS]; /* by thread: the second part has not come; ts 0: none */
	u32 n_waits;		       /* how many there are */
	u64 period;		       /* ns between two samples */
	bool callers;		       /* of user stacks are found */
	u32 stuck;		       /* processes that were given up while they read names */
	struct code_frame frames[UNWIND_FRAMES];
};

/* flags of sample and offcpu */
#define STACK_USER_CUT	 1
#define STACK_KERNEL_CUT 2
#define STACK_NO_USER	 4
#define STACK_OUTSIDE	 8
#define STACK_HANDLER	 16

/* False: out of memory. Reads where the kernel is. Needs its rights. */
bool raw_queue_start(struct raw_queue *q, u32 rate);

/* Appends the events that follow from a raw stack; callers false: without finding its callers in
 * user mode, which can take long. */
void raw_queue_take(struct raw_queue *q, const struct raw_stack *raw, size_t size, bool callers,
		    struct buf *out);

/* The same of a sleeper, whose wait lasts at the end of the recording. */
void raw_queue_sleeper(struct raw_queue *q, const struct raw_stack *raw, u64 ended, bool callers,
		       struct buf *out);

/* Appends waits that no second part has come for in time. */
void raw_queue_expire(struct raw_queue *q, u64 now, struct buf *out);

/*
 * Flight mode: events before ts are not kept any more. Frames, stacks, modules and processes that
 * only these need are forgotten, about once per minute. Ids of kept events stay.
 */
void raw_queue_forget(struct raw_queue *q, u64 ts, u64 now);

/* Looks at which code processes have mapped since. */
void raw_queue_look(struct raw_queue *q);

/* The process; NULL if it is not known. */
struct code_process *raw_queue_process(struct raw_queue *q, u32 pid);

void raw_queue_free(struct raw_queue *q);
