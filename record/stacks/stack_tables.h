/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames and stacks, each once: a stack is a frame and the stack of its caller. */
#pragma once

#include "unwind.h"

struct stack_tables {
	struct code_frame *frames; /* by number, from 1 */
	struct stack_node {
		u32 caller, frame;
	} * stacks; /* by number, from 1 */
	u32 n_frames, n_stacks;
	u32 first; /* the id of a frame or stack is its number from here on */
	struct stack_slots {
		u32 *list, n; /* a hash table of numbers; n: a power of two */
	} frame_slots, stack_slots;
};

/* odd: no id is one of tables that are even. False: out of memory, and t is empty. */
bool stack_tables_start(struct stack_tables *t, bool odd);

/*
 * The id of a stack, frames innermost first; 0: it has none, or the tables are full (without inner
 * frames it would be another function's).
 */
u32 stack_tables_add(struct stack_tables *t, const struct code_frame *frames, u32 n);

void stack_tables_free(struct stack_tables *t);
