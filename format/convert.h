/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records from one schema into another: for files that are made of older ones, or of several.
 * Fields are found by name; what the new layout has beyond the old is 0.
 */
#pragma once

#include "schema.h"

/*
 * A schema that has all events and fields of the program and of these recordings: of each event
 * the layout with most fields. ERR_VERSION if one number names two events.
 */
int schema_union(struct schema **ret, const struct schema *const *list, size_t n, struct err *e);

/* From every event of one schema to the same of another. */
struct conversion {
	const struct schema *from, *to;
	bool same[SCHEMA_EVENT_MAX]; /* the layouts are equal */
};

/* to must have all events of from: a schema_union. */
void conversion_make(struct conversion *c, const struct schema *from, const struct schema *to);

/* Appends a record; returns its offset in out, or negative. */
int conversion_put(const struct conversion *c, const u8 *record, struct buf *out, struct err *e);

/* Appends a record of zeros with ts, tid and a tail; returns its offset in out, or negative. */
int record_new(const struct event_desc *ev, u64 ts, u32 tid, const char *tail, size_t tail_len,
	       struct buf *out, struct err *e);

/* Appends an event of this program (struct ev_*, header included) as a record of another layout. */
int convert_struct(const struct event_desc *to, const void *event, const char *tail,
		   size_t tail_len, struct buf *out, struct err *e);

/* Sets a field; nothing happens if the event has none of that name, or it is no number. */
void record_set(const struct event_desc *ev, u8 *record, const char *field, u64 value);
