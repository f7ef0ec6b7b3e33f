// SPDX-License-Identifier: GPL-2.0-or-later
/* One stream of a recording while it is read: its decoded block, and buffers. */
#include "stream.h"

#include "frame.h"
#include "planes.h"
#include "timesort.h"

#include <stdlib.h>

/*
 * Bytes of records that wait for a later block, summed over all blocks: of a real recorder, each
 * record waits for LOOK_AHEAD blocks at most. In blocks of falling time all wait for the last.
 */
#define WAIT_FREE (1u << 20)

int stream_list(struct stream *s, const struct schema *schema, u32 n, struct err *e)
{
	const u8 *data = (const u8 *)s->records.data;
	bool sorted = true;
	u64 ts, last = 0;
	u32 *at;
	u32 i, pos = 0;

	if (n > s->at_cap) {
		at = realloc(s->at, n * sizeof(*at));
		if (!at)
			return err_set(e, ERR_FAIL, "out of memory for a block");
		s->at = at;
		s->at_cap = n;
	}
	for (i = 0; i < n; i++) {
		u16 type = le_get(data + pos + 12, 2), size = le_get(data + pos + 14, 2);

		if (type >= SCHEMA_EVENT_MAX || !schema->by_id[type] ||
		    size < schema->by_id[type]->size)
			return err_set(e, ERR_DAMAGED, "a record does not fit the schema");
		ts = planes_load(data + pos);
		sorted &= ts >= last;
		last = ts;
		s->at[i] = pos;
		pos += size;
	}
	s->n = n;
	s->next = 0;
	return sorted ? 0 : timesort(s->at, n, data, e);
}

int stream_list_all(struct stream *s, const struct schema *schema, u32 n, struct err *e)
{
	s->decoded += s->records.len;
	if (s->n_held && buf_add(&s->records, s->held.data, s->held.len, e) < 0)
		return ERR_FAIL;
	return stream_list(s, schema, n + s->n_held, e);
}

int stream_hold(struct stream *s, u64 limit, struct err *e)
{
	u32 keep = s->n, i;
	size_t waiting = 0;

	for (; keep > 0; keep--) {
		const u8 *data = (const u8 *)s->records.data + s->at[keep - 1];

		if (planes_load(data) <= limit)
			break;
		waiting += le_get(data + 14, 2);
	}
	buf_clear(&s->held);
	s->waited += waiting;
	if (s->waited > WAIT_FREE + LOOK_AHEAD * s->decoded) {
		s->n = s->n_held = 0;
		return err_set(e, ERR_DAMAGED, "the times of a block are out of order");
	}
	if (keep < s->n)
		s->held_ts = planes_load((u8 *)s->records.data + s->at[keep]);
	for (s->n_held = s->n - keep, i = keep; i < s->n; i++) {
		const u8 *data = (const u8 *)s->records.data + s->at[i];

		if (buf_add(&s->held, data, le_get(data + 14, 2), e) < 0)
			return ERR_FAIL;
	}
	s->n = keep;
	s->n_waiting = s->n_held ? s->n_waiting + 1 : 0;
	return 0;
}

u64 stream_memory(const struct stream *s)
{
	return s->records.cap + s->held.cap + s->at_cap * sizeof(*s->at);
}

void stream_take(struct stream *s, struct spares *spares)
{
	struct spare *spare;

	if (s->records.cap || s->at || !spares->n)
		return;
	spare = &spares->of[--spares->n];
	s->records = spare->records;
	s->at = spare->at;
	s->at_cap = spare->at_cap;
}

void stream_give(struct stream *s, struct spares *spares)
{
	if (!s->n_held)
		buf_free(&s->held);
	if (spares->n < SPARE_MAX && (s->records.cap || s->at)) {
		spares->of[spares->n++] = (struct spare){ s->records, s->at, s->at_cap };
	} else {
		buf_free(&s->records);
		free(s->at);
	}
	s->records = (struct buf){ 0 };
	s->at = NULL;
	s->at_cap = 0;
}

void stream_free(struct stream *s)
{
	free(s->blocks);
	free(s->at);
	buf_free(&s->records);
	buf_free(&s->held);
}

void spares_free(struct spares *spares)
{
	while (spares->n) {
		buf_free(&spares->of[--spares->n].records);
		free(spares->of[spares->n].at);
	}
}
