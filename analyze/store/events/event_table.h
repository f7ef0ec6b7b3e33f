/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw records as rows: the columns of the table `event` (any record, its fields as JSON) and of
 * the tables event_<name> (a column a field), by the recording's own schema.
 */
#pragma once

#include "format/recording.h"

#define EVENT_COLUMNS_MAX (SCHEMA_FIELD_MAX + 5)

/* The columns that all tables of events begin with. */
enum { EVENT_TS, EVENT_CPU, EVENT_TID, EVENT_COMMON, EVENT_NAME = EVENT_COMMON, EVENT_ARGS };

struct event_table {
	const struct event_desc *ev; /* NULL: any event */
	int n_columns;
	struct event_column {
		/* a field that is called like a common column has its event's name before it */
		char name[2 * SCHEMA_NAME_MAX + 1];
		const char *type;	/* "INT" or "TEXT" */
		const char *unit, *doc; /* of a field; "" of others */
		int field;		/* number in ev; n_fields is the tail */
	} columns[EVENT_COLUMNS_MAX];
};

/* What a cell holds; text is not NUL-terminated and valid as long as the record and scratch. */
struct event_cell {
	enum { CELL_NULL, CELL_INT, CELL_TEXT } type;
	s64 value;
	const char *text;
	size_t len;
};

/* The table of ev, which it keeps pointing to; of all events for NULL. Padding has no column. */
void event_table_make(struct event_table *t, const struct event_desc *ev);

/* Appends CREATE TABLE <name>(...), the name as given. */
int event_table_sql(const struct event_table *t, const char *name, struct buf *out, struct err *e);

/* The value of a column; begin is the ts that becomes 0. scratch is cleared and used for JSON. */
int event_table_cell(const struct event_table *t, int column, const struct record *rec, u64 begin,
		     struct buf *scratch, struct event_cell *ret, struct err *e);
