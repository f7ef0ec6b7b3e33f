/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events stack, frame and module. */
#pragma once

#include "raw_queue.h"
#include "record/pump/pump.h"

/* What a recording has already. All zero: nothing. */
struct stack_written {
	u32 frames, stacks; /* of the tables: numbers up to here, exclusive */
	u8 *modules;	    /* 1: this one; free(3) */
};

/* The event of frame i. */
void stack_records_frame(struct ev_frame *ret, const struct raw_queue *q,
			 const struct stack_tables *t, u32 i, bool hide);

/* Those of the tables that are not written yet. hide: no paths, no addresses of generated code. */
int stack_records_new(struct raw_queue *q, const struct stack_tables *t, struct stack_written *w,
		      struct pump *p, bool hide, struct err *e);
