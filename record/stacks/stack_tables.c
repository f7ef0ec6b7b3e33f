// SPDX-License-Identifier: GPL-2.0-or-later
/* Of fixed size: a program that generates code without end cannot fill the memory. */
#include "stack_tables.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES (1u << 17)
#define STACKS (1u << 19)

bool stack_tables_start(struct stack_tables *t, bool odd)
{
	/* untouched pages take no memory */
	t->frames = calloc(FRAMES, sizeof(*t->frames));
	t->stacks = calloc(STACKS, sizeof(*t->stacks));
	t->frame_slots = calloc(2 * FRAMES, sizeof(*t->frame_slots));
	t->stack_slots = calloc(2 * STACKS, sizeof(*t->stack_slots));
	t->n_frames = t->n_stacks = 1;
	t->first = odd ? STACKS : 0;
	if (t->frames && t->stacks && t->frame_slots && t->stack_slots)
		return true;
	stack_tables_free(t);
	return false;
}

static u32 hash(u64 a, u64 b, u32 size)
{
	u64 h = (a ^ (b * 0xff51afd7ed558ccdull)) * 0x9e3779b97f4a7c15ull;

	return (h >> 32) & (size - 1);
}

static u32 add_frame(struct stack_tables *t, const struct code_frame *f)
{
	u32 i = hash(f->address, f->module, 2 * FRAMES), id;

	for (; (id = t->frame_slots[i]); i = (i + 1) & (2 * FRAMES - 1))
		if (t->frames[id].address == f->address && t->frames[id].module == f->module)
			return id;
	if (t->n_frames == FRAMES)
		return 0;
	t->frames[t->n_frames] = *f;
	return t->frame_slots[i] = t->n_frames++;
}

static u32 add_stack(struct stack_tables *t, u32 caller, u32 frame)
{
	u32 i = hash(caller, frame, 2 * STACKS), id;

	for (; (id = t->stack_slots[i]); i = (i + 1) & (2 * STACKS - 1))
		if (t->stacks[id].caller == caller && t->stacks[id].frame == frame)
			return id;
	if (t->n_stacks == STACKS)
		return 0;
	t->stacks[t->n_stacks] = (struct stack_node){ caller, frame };
	return t->stack_slots[i] = t->n_stacks++;
}

u32 stack_tables_add(struct stack_tables *t, const struct code_frame *frames, u32 n)
{
	u32 id = 0, next, frame;

	while (n--) {
		frame = add_frame(t, &frames[n]);
		next = frame ? add_stack(t, id, frame) : 0;
		if (!next)
			return 0;
		id = next;
	}
	return id ? t->first + id : 0;
}

void stack_tables_free(struct stack_tables *t)
{
	free(t->frames);
	free(t->stacks);
	free(t->frame_slots);
	free(t->stack_slots);
	*t = (struct stack_tables){ 0 };
}
