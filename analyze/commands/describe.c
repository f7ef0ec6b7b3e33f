// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables, views and raw events as text for people who write queries. */
#include "describe.h"

#include "analyze/store/db.h"
#include "analyze/store/events/event_table.h"
#include "format/schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where a description goes. */
struct description {
	struct buf *out;
	struct err *e;
	const char *name; /* only this; NULL: all */
	int n, failed;
};

static bool put_head(struct description *d, const char *name, const char *what, const char *doc)
{
	if (d->failed || (d->name && strcmp(d->name, name) != 0))
		return false;
	d->failed = buf_printf(d->out, d->e, "%s%s%s: %s\n", d->n++ ? "\n" : "", name, what, doc);
	return true;
}

static void put_column(struct description *d, const char *name, const char *type, const char *unit,
		       const char *doc)
{
	if (!d->failed)
		d->failed = buf_printf(d->out, d->e, "  %-12s %-5s %s%s%s%s\n", name, type, doc,
				       *unit ? " [" : "", unit, *unit ? "]" : "");
}

static void put(struct description *d, const char *name, const char *what, const char *doc,
		const struct column_desc *columns, int n)
{
	int c;

	if (put_head(d, name, what, doc))
		for (c = 0; c < n; c++)
			put_column(d, columns[c].name, columns[c].type, columns[c].unit,
				   columns[c].doc);
}

static void put_event(struct description *d, const char *name, const char *doc,
		      const struct event_table *t)
{
	int c;

	if (put_head(d, name, " (raw events)", doc))
		for (c = 0; c < t->n_columns; c++)
			put_column(d, t->columns[c].name, t->columns[c].type, t->columns[c].unit,
				   t->columns[c].doc);
}

/* Raw events: event has all of them, event_<name> those of one kind. */
static void put_events(struct description *d)
{
	const struct schema *s = schema_own();
	struct event_table t;
	char name[80];
	int i;

	event_table_make(&t, NULL);
	put_event(d, "event", "every record", &t);
	for (i = 0; s && i < SCHEMA_EVENT_MAX; i++) {
		if (!s->by_id[i])
			continue;
		event_table_make(&t, s->by_id[i]);
		snprintf(name, sizeof(name), "event_%s", s->by_id[i]->name);
		put_event(d, name, s->by_id[i]->doc, &t);
	}
}

int describe_table(struct buf *out, const char *name, struct err *e)
{
	struct description d = { .out = out, .e = e, .name = name };
	const struct view_desc *v;
	int t;

	for (t = 0; t < N_TABLES; t++)
		put(&d, tables[t].name, "", tables[t].doc, tables[t].columns, tables[t].n_columns);
	for (v = views; v->name; v++)
		put(&d, v->name, " (view)", v->doc, v->columns, v->n_columns);
	if (name)
		put_events(&d);
	return d.failed ? d.failed : d.n > 0;
}

int describe_names(struct buf *out, struct err *e)
{
	const struct view_desc *v;
	int t;

	for (t = 0; t < N_TABLES; t++)
		buf_printf(out, e, "%-18s %s\n", tables[t].name, tables[t].doc);
	for (v = views; v->name; v++)
		buf_printf(out, e, "%-18s view: %s\n", v->name, v->doc);
	return buf_printf(out, e, "%-18s raw events; event_<name>: those of one kind\n", "event");
}
