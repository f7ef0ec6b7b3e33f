// SPDX-License-Identifier: GPL-2.0-or-later
/* Spans of rings on their way to blocks. */
#include "chunk.h"

#include <stdlib.h>

void chunk_push(struct queue *q, struct chunk *c)
{
	c->next = NULL;
	if (q->last)
		q->last->next = c;
	else
		q->first = c;
	q->last = c;
}

struct chunk *chunk_pop(struct queue *q)
{
	struct chunk *c = q->first;

	if (!c)
		return NULL;
	q->first = c->next;
	if (!q->first)
		q->last = NULL;
	return c;
}

struct chunk *chunk_new(size_t cap)
{
	struct chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (buf_reserve(&c->data, cap, NULL) < 0) {
		free(c);
		return NULL;
	}
	return c;
}

void chunk_free(struct chunk *c)
{
	if (c)
		buf_free(&c->data);
	free(c);
}
