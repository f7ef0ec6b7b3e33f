// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Of limited size: a program that generates code without end cannot fill the memory. Hash tables
 * grow with what they hold: a stack is looked up in caches that others have used since, and in few
 * pages.
 */
#include "stack_tables.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES (1u << 17)
#define STACKS (1u << 19)
#define SLOTS  1024 /* at first */

static bool slots_start(struct stack_slots *s)
{
	s->n = SLOTS;
	return (s->list = calloc(s->n, sizeof(*s->list)));
}

bool stack_tables_start(struct stack_tables *t, bool odd)
{
	/* untouched pages take no memory */
	t->frames = calloc(FRAMES, sizeof(*t->frames));
	t->stacks = calloc(STACKS, sizeof(*t->stacks));
	t->n_frames = t->n_stacks = 1;
	t->first = odd ? STACKS : 0;
	if (slots_start(&t->frame_slots) && slots_start(&t->stack_slots) && t->frames && t->stacks)
		return true;
	stack_tables_free(t);
	return false;
}

static u32 hash(u64 a, u64 b, u32 size)
{
	u64 h = (a ^ (b * 0xff51afd7ed558ccdull)) * 0x9e3779b97f4a7c15ull;

	return (h >> 32) & (size - 1);
}

/* The slot of a number, or the free one that it would take. */
static u32 *frame_slot(const struct stack_tables *t, const struct code_frame *f)
{
	const struct stack_slots *s = &t->frame_slots;
	u32 i = hash(f->address, f->module, s->n), id;

	for (; (id = s->list[i]); i = (i + 1) & (s->n - 1))
		if (t->frames[id].address == f->address && t->frames[id].module == f->module)
			break;
	return &s->list[i];
}

static u32 *stack_slot(const struct stack_tables *t, const struct stack_node *node)
{
	const struct stack_slots *s = &t->stack_slots;
	u32 i = hash(node->caller, node->frame, s->n), id;

	for (; (id = s->list[i]); i = (i + 1) & (s->n - 1))
		if (t->stacks[id].caller == node->caller && t->stacks[id].frame == node->frame)
			break;
	return &s->list[i];
}

/* An empty table of twice the size, if the numbers below n fill half of the present one. */
static bool outgrown(struct stack_slots *s, u32 n)
{
	u32 *list = n < s->n / 2 ? NULL : calloc(2 * s->n, sizeof(*list));

	if (!list)
		return false;
	free(s->list);
	*s = (struct stack_slots){ list, 2 * s->n };
	return true;
}

static u32 add_frame(struct stack_tables *t, const struct code_frame *f)
{
	u32 *slot = frame_slot(t, f), id = *slot, i;

	if (id)
		return id;
	if (t->n_frames == FRAMES || t->n_frames == t->frame_slots.n) /* it could not grow */
		return 0;
	id = *slot = t->n_frames++;
	t->frames[id] = *f;
	if (outgrown(&t->frame_slots, t->n_frames))
		for (i = 1; i < t->n_frames; i++)
			*frame_slot(t, &t->frames[i]) = i;
	return id;
}

static u32 add_stack(struct stack_tables *t, u32 caller, u32 frame)
{
	struct stack_node node = { caller, frame };
	u32 *slot = stack_slot(t, &node), id = *slot, i;

	if (id)
		return id;
	if (t->n_stacks == STACKS || t->n_stacks == t->stack_slots.n)
		return 0;
	id = *slot = t->n_stacks++;
	t->stacks[id] = node;
	if (outgrown(&t->stack_slots, t->n_stacks))
		for (i = 1; i < t->n_stacks; i++)
			*stack_slot(t, &t->stacks[i]) = i;
	return id;
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
	free(t->frame_slots.list);
	free(t->stack_slots.list);
	*t = (struct stack_tables){ 0 };
}
