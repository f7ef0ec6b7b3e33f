// SPDX-License-Identifier: GPL-2.0-or-later
/* Raw records as rows. */
#include "event_table.h"

#include "format/escape.h"
#include "format/linux_abi.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *type, *doc;
} common[] = {
	[EVENT_TS] = { "ts", "INT", "when: since the first event; negative before it" },
	[EVENT_CPU] = { "cpu", "INT", "CPU that recorded it; NULL: written by obsrec itself" },
	[EVENT_TID] = { "tid", "INT", "thread" },
	[EVENT_NAME] = { "event", "TEXT", "name of the event" },
	[EVENT_ARGS] = { "args", "TEXT", "its fields as a JSON object: args ->> 'fd'" },
};

static void add_column(struct event_table *t, const char *name, const char *type, const char *unit,
		       const char *doc, int field)
{
	struct event_column *c = &t->columns[t->n_columns++];
	int i;

	*c = (struct event_column){ .type = type, .unit = unit, .doc = doc, .field = field };
	snprintf(c->name, sizeof(c->name), "%s", name);
	for (i = 0; field >= 0 && i < EVENT_COMMON; i++)
		if (strcmp(name, common[i].name) == 0)
			snprintf(c->name, sizeof(c->name), "%s_%s", t->ev->name, name);
}

static bool is_padding(const struct field_desc *f)
{
	return strncmp(f->name, "unused", 6) == 0;
}

void event_table_make(struct event_table *t, const struct event_desc *ev)
{
	int i, n = ev ? EVENT_COMMON : EVENT_ARGS + 1;

	*t = (struct event_table){ .ev = ev };
	for (i = 0; i < n; i++)
		add_column(t, common[i].name, common[i].type, i == EVENT_TS ? "ns" : "",
			   common[i].doc, -1);
	for (i = 0; ev && i < ev->n_fields; i++) {
		const struct field_desc *f = &ev->fields[i];
		bool text = f->type == TYPE_comm16 || f->type == TYPE_addr16;

		if (!is_padding(f))
			add_column(t, f->name, text ? "TEXT" : "INT", kind_unit(f->kind), f->doc,
				   i);
	}
	if (ev && ev->tail[0])
		add_column(t, ev->tail, "TEXT", "", ev->tail_doc, ev->n_fields);
}

int event_table_sql(const struct event_table *t, const char *name, struct buf *out, struct err *e)
{
	int i;

	buf_printf(out, e, "CREATE TABLE %s(", name);
	for (i = 0; i < t->n_columns; i++)
		buf_printf(out, e, "%s\"%s\" %s", i ? ", " : "", t->columns[i].name,
			   t->columns[i].type);
	return buf_printf(out, e, ")");
}

/* "127.0.0.1" or "0:0:0:0:0:0:0:1"; hexadecimal where the record does not say what it is. */
static int add_address(struct buf *out, const struct record *rec, const u8 *a, struct err *e)
{
	const struct field_desc *f = event_field(rec->desc, "family");
	u64 family = f ? field_value(f, rec->raw) : 0;
	int i, ret = 0;

	if (family == LINUX_AF_INET)
		return buf_printf(out, e, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
	for (i = 0; i < 16 && ret == 0; i += 2)
		ret = buf_printf(out, e, family == LINUX_AF_INET6 ? "%s%x" : "%.0s%04x",
				 i ? ":" : "", a[i] << 8 | a[i + 1]);
	return ret;
}

static int take_field(const struct record *rec, const struct field_desc *f, struct buf *scratch,
		      struct event_cell *ret, struct err *e)
{
	const char *at = (const char *)rec->raw + f->offset;

	ret->type = CELL_TEXT;
	if (f->type == TYPE_comm16) {
		ret->text = at;
		ret->len = strnlen(at, f->size);
	} else if (f->type == TYPE_addr16) {
		if (add_address(scratch, rec, (const u8 *)at, e) < 0)
			return ERR_FAIL;
		ret->text = scratch->data;
		ret->len = scratch->len;
	} else {
		ret->type = CELL_INT;
		ret->value = (s64)field_value(f, rec->raw);
	}
	return 0;
}

/* The fields as JSON: what the columns of the event's own table hold, by the fields' names. */
static int add_args(struct buf *out, const struct record *rec, struct err *e)
{
	struct event_cell cell;
	struct buf address = { 0 };
	const char *comma = "";
	int i, n = rec->desc->n_fields, ret = buf_add(out, "{", 1, e);

	for (i = 0; i < n + !!rec->desc->tail[0] && ret == 0; i++) {
		if (i < n && is_padding(&rec->desc->fields[i]))
			continue;
		buf_clear(&address);
		cell = (struct event_cell){ CELL_TEXT, 0, rec->tail, rec->tail_len };
		ret = buf_printf(out, e, "%s\"%s\":", comma,
				 i < n ? rec->desc->fields[i].name : rec->desc->tail);
		if (ret == 0 && i < n)
			ret = take_field(rec, &rec->desc->fields[i], &address, &cell, e);
		if (ret == 0 && cell.type == CELL_INT)
			ret = buf_printf(out, e, "%lld", (long long)cell.value);
		else if (ret == 0 && (ret = buf_add(out, "\"", 1, e)) == 0 &&
			 (ret = escape_add(out, ESCAPE_JSON, cell.text, cell.len, e)) == 0)
			ret = buf_add(out, "\"", 1, e);
		comma = ",";
	}
	buf_free(&address);
	return ret < 0 ? ret : buf_add(out, "}", 1, e);
}

int event_table_cell(const struct event_table *t, int column, const struct record *rec, u64 begin,
		     struct buf *scratch, struct event_cell *ret, struct err *e)
{
	const struct event_column *c = &t->columns[column];
	int r = 0;

	*ret = (struct event_cell){ .type = CELL_INT };
	buf_clear(scratch);
	if (c->field >= 0 && c->field < rec->desc->n_fields)
		return take_field(rec, &rec->desc->fields[c->field], scratch, ret, e);
	if (c->field >= 0) {
		*ret = (struct event_cell){ CELL_TEXT, 0, rec->tail, rec->tail_len };
	} else if (column == EVENT_TS) {
		ret->value = (s64)(rec->ts - begin);
	} else if (column == EVENT_CPU) {
		ret->type = rec->stream == STREAM_RECORDER ? CELL_NULL : CELL_INT;
		ret->value = rec->stream;
	} else if (column == EVENT_TID) {
		ret->value = rec->tid;
	} else if (column == EVENT_NAME) {
		*ret = (struct event_cell){ CELL_TEXT, 0, rec->desc->name,
					    strlen(rec->desc->name) };
	} else {
		r = add_args(scratch, rec, e);
		*ret = (struct event_cell){ CELL_TEXT, 0, scratch->data, scratch->len };
	}
	return r;
}
