/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptions of events: the program's own, made from events.def, and those
 * of a recording, parsed from its schema block. A recording is read by its own
 * schema; records of events that this program knows are converted as the
 * program's struct ev_* (schema_project), so that code which knows an event
 * never sees another layout.
 *
 * The schema block is text, one item a line, words separated by one tab:
 *   obsrec-schema 1
 *   group  <id> <name> <doc>
 *   event  <id> <name> <group> <doc>
 *   field  <type> <name> <kind> <doc>        (of the last event)
 *   tail   <name> <doc>                      (of the last event)
 */
#pragma once

#include "buf.h"
#include "event.h"

#include <stdbool.h>

#define SCHEMA_EVENT_MAX 1024	      /* ids are below this; from 1000 on they are experimental */
#define SCHEMA_FIELD_MAX 32	      /* fields of one event */
#define SCHEMA_NAME_MAX	 32	      /* bytes of a name with its NUL */
#define SCHEMA_DOC_MAX	 160	      /* bytes of a doc with its NUL */
#define SCHEMA_TEXT_MAX	 (256u << 10) /* bytes of a schema block */

enum field_type {
	TYPE_u8,
	TYPE_u16,
	TYPE_u32,
	TYPE_u64,
	TYPE_s32,
	TYPE_s64,
	TYPE_comm16,
	TYPE_addr16
};

enum field_kind {
#define KIND(name, unit, doc) KIND_##name,
#include "kinds.def"
#undef KIND
	KIND_UNKNOWN, /* of a recording that knows more kinds than we do */
};

struct field_desc {
	char name[SCHEMA_NAME_MAX];
	char doc[SCHEMA_DOC_MAX];
	enum field_type type;
	enum field_kind kind;
	u16 offset; /* from the start of the record, header included */
	u16 size;   /* bytes */
};

struct event_desc {
	char name[SCHEMA_NAME_MAX];
	char doc[SCHEMA_DOC_MAX];
	char tail[SCHEMA_NAME_MAX]; /* name of the tail; "" if the event has none */
	char tail_doc[SCHEMA_DOC_MAX];
	u16 id;
	u16 group;
	u16 size; /* header and fields, without the tail */
	u16 n_fields;
	struct field_desc fields[SCHEMA_FIELD_MAX];
};

struct group_desc {
	char name[SCHEMA_NAME_MAX]; /* "" if the schema has no such group */
	char doc[SCHEMA_DOC_MAX];
};

struct schema {
	struct event_desc *by_id[SCHEMA_EVENT_MAX]; /* NULL where there is none */
	struct group_desc groups[GROUP_MAX];
	struct projection *projections[SCHEMA_EVENT_MAX];
};

/*
 * The program's own schema; made at the first call (which must come before there are
 * threads), never freed. NULL only when out of memory.
 */
const struct schema *schema_own(void);

/* Writes s as the text of a schema block. */
int schema_write(const struct schema *s, struct buf *out, struct err *e);

/*
 * Parses a schema block (need not be NUL-terminated). Hostile text is refused
 * with ERR_DAMAGED: bad names, repeated ids, gaps, sizes above EV_SIZE_MAX.
 */
int schema_parse(struct schema **ret, const char *text, size_t len, struct err *e);

void schema_free(struct schema *s);

/* By name; NULL if there is none. */
const struct event_desc *schema_event(const struct schema *s, const char *name);
const struct field_desc *event_field(const struct event_desc *ev, const char *name);

/* The value of an integer field of a whole record (sign-extended for s32, s64). */
u64 field_value(const struct field_desc *f, const u8 *record);

/* A record's tail: text up to its first NUL or the record's end. Empty if ev has no tail. */
const char *event_tail(const struct event_desc *ev, const u8 *record, u16 size, size_t *ret_len);

/*
 * Lays a record of this recording out as the program's own struct ev_*: fields
 * are found by name, missing ones are 0, and the tail is left out. The result
 * is record itself where the layouts are equal, else it is in scratch (8-byte
 * aligned, EV_SIZE_MAX bytes). NULL if this program does not know the event.
 */
const void *schema_project(const struct schema *s, u16 id, const u8 *record, void *scratch);

const char *kind_name(enum field_kind k);
const char *kind_unit(enum field_kind k);
const char *type_name(enum field_type t);
