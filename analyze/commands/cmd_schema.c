// SPDX-License-Identifier: GPL-2.0-or-later
/* schema: events, fields, tables, from the definitions that everything else derives from. */
#include "analyze/export/dialects.h"
#include "analyze/store/db.h"
#include "analyze/store/events/event_table.h"
#include "cmd.h"
#include "describe.h"
#include "format/schema.h"

#include <string.h>

struct config {
	enum { EVENTS, MAN, FROZEN, TABLES, MAN_TABLES, NAMES } what;
	const char *table;
	const char *dialect; /* NULL: none */
};

#define CHOICE(function, choice)                                          \
	static int function(void *config, const char *arg, struct err *e) \
	{                                                                 \
		(void)arg;                                                \
		(void)e;                                                  \
		((struct config *)config)->what = choice;                 \
		return 0;                                                 \
	}

CHOICE(set_man, MAN)
CHOICE(set_tables, TABLES)
CHOICE(set_man_tables, MAN_TABLES)
CHOICE(set_frozen, FROZEN)
CHOICE(set_names, NAMES)
CMD_SET_TEXT(set_table, table)

static int set_dialect(struct config *c, const char *dialect, struct err *e)
{
	if (c->dialect && strcmp(c->dialect, dialect) != 0)
		return err_set(e, ERR_FAIL, "--%s and --%s: statements are for one engine",
			       c->dialect, dialect);
	c->dialect = dialect;
	return 0;
}

#define DIALECT(function, dialect)                                        \
	static int function(void *config, const char *arg, struct err *e) \
	{                                                                 \
		(void)arg;                                                \
		return set_dialect(config, dialect, e);                   \
	}

DIALECT(set_duckdb, "duckdb")
DIALECT(set_clickhouse, "clickhouse")
DIALECT(set_cluster, "clickhouse-cluster")
DIALECT(set_trino, "trino")
DIALECT(set_spark, "spark")

static const struct opt opts[] = {
	{ "man", 0, NULL, "the events as the chapter of obsrec(5)", set_man },
	{ "tables", 0, NULL, "the tables of databases that load makes", set_tables },
	{ "names", 0, NULL, "only their names, with views and raw events", set_names },
	{ "table", 't', "NAME", "the columns of one table, view or event_<name>", set_table },
	{ "man-tables", 0, NULL, "tables, views, raw events as the chapters of obs-schema(5)",
	  set_man_tables },
	{ "duckdb", 0, NULL, "statements for DuckDB to read DIR of export --parquet", set_duckdb },
	{ "clickhouse", 0, NULL, "the same for ClickHouse", set_clickhouse },
	{ "clickhouse-cluster", 0, NULL,
	  "statements for tables on all servers of a cluster: its name, instead of DIR",
	  set_cluster },
	{ "trino", 0, NULL, "the same for Trino", set_trino },
	{ "spark", 0, NULL, "the same for Spark", set_spark },
	{ "frozen", 0, NULL, "what may never change, one item per line", set_frozen },
	{ 0 },
};

extern const struct command command_schema;

static void print_event(const struct schema *s, const struct event_desc *ev)
{
	int i;

	printf("\n%s (%d, group %s): %s\n", ev->name, ev->id, s->groups[ev->group].name, ev->doc);
	for (i = 0; i < ev->n_fields; i++) {
		const struct field_desc *f = &ev->fields[i];
		const char *unit = kind_unit(f->kind);

		printf("  %-10s %-7s %s%s%s%s\n", f->name, type_name(f->type), f->doc,
		       *unit ? " [" : "", unit, *unit ? "]" : "");
	}
	if (ev->tail[0])
		printf("  %-10s %-7s %s\n", ev->tail, "text", ev->tail_doc);
}

static void man_event(const struct schema *s, const struct event_desc *ev)
{
	int i;

	printf(".Ss %s\nNumber %d, group %s: %s.\n.Bl -column \"backlogged\" \"comm16\" \"offset\"\n",
	       ev->name, ev->id, s->groups[ev->group].name, ev->doc);
	for (i = 0; i < ev->n_fields; i++) {
		const struct field_desc *f = &ev->fields[i];
		const char *unit = kind_unit(f->kind);

		printf(".It %s Ta %s Ta %d Ta %s%s%s%s\n", f->name, type_name(f->type), f->offset,
		       f->doc, *unit ? " [" : "", unit, *unit ? "]" : "");
	}
	if (ev->tail[0])
		printf(".It %s Ta text Ta %d Ta %s\n", ev->tail, ev->size, ev->tail_doc);
	printf(".El\n");
}

static void freeze_event(const struct schema *s, const struct event_desc *ev)
{
	int i;

	printf("event %d %s %s\n", ev->id, ev->name, s->groups[ev->group].name);
	for (i = 0; i < ev->n_fields; i++)
		printf("field %d %s %d %s %s %s\n", ev->id, ev->name, ev->fields[i].offset,
		       ev->fields[i].name, type_name(ev->fields[i].type),
		       kind_name(ev->fields[i].kind));
	if (ev->tail[0])
		printf("tail %d %s %s\n", ev->id, ev->name, ev->tail);
}

static void man_column(const char *name, const char *type, const char *unit, const char *doc)
{
	printf(".It %s Ta %s Ta %s%s%s%s\n", name, type, doc, *unit ? " [" : "", unit,
	       *unit ? "]" : "");
}

static void man_table(const char *name, const char *doc, const struct column_desc *columns, int n)
{
	int c;

	printf(".Ss %s\n%c%s.\n.Bl -column \"response_bytes\" \"TEXT\"\n", name,
	       doc[0] >= 'a' && doc[0] <= 'z' ? doc[0] - 'a' + 'A' : doc[0], doc + 1);
	for (c = 0; c < n; c++)
		man_column(columns[c].name, columns[c].type, columns[c].unit, columns[c].doc);
	printf(".El\n");
}

/* Raw events: the common columns once, then each event's own. */
static void man_events(const struct schema *s)
{
	struct event_table t;
	int i, c;

	event_table_make(&t, NULL);
	printf(".Ss event\nEvery record.\n.Bl -column \"response_bytes\" \"TEXT\"\n");
	for (c = 0; c < t.n_columns; c++)
		man_column(t.columns[c].name, t.columns[c].type, t.columns[c].unit,
			   t.columns[c].doc);
	printf(".El\n");
	for (i = 0; i < SCHEMA_EVENT_MAX; i++) {
		if (!s->by_id[i])
			continue;
		event_table_make(&t, s->by_id[i]);
		printf(".Ss event_%s\nGroup %s: %s.\n.Bl -column \"response_bytes\" \"TEXT\"\n"
		       ".It ts, cpu, tid Ta Ta as above\n",
		       s->by_id[i]->name, s->groups[s->by_id[i]->group].name, s->by_id[i]->doc);
		for (c = EVENT_COMMON; c < t.n_columns; c++)
			man_column(t.columns[c].name, t.columns[c].type, t.columns[c].unit,
				   t.columns[c].doc);
		printf(".El\n");
	}
}

static void man_tables(const struct schema *s)
{
	const struct view_desc *v;
	int t;

	printf(".Sh TABLES\n");
	for (t = 0; t < N_TABLES; t++)
		man_table(tables[t].name, tables[t].doc, tables[t].columns, tables[t].n_columns);
	printf(".Sh VIEWS\n");
	for (v = views; v->name; v++)
		man_table(v->name, v->doc, v->columns, v->n_columns);
	printf(".Sh RAW EVENTS\n");
	man_events(s);
}

static int print_dialect(const char *name, const char *dir, struct err *e)
{
	struct buf text = { 0 };
	int ret = dialect_print(&text, name, dir, e);

	if (ret == 0)
		printf("%s", text.data);
	buf_free(&text);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	static void (*const printers[])(const struct schema *, const struct event_desc *) = {
		[EVENTS] = print_event, [MAN] = man_event, [FROZEN] = freeze_event
	};
	const struct schema *s = schema_own();
	struct config c = { .what = EVENTS };
	struct buf text = { 0 };
	int i, first = cmd_words(&command_schema, &c, argc, argv, 0, 1, e), ret = first;

	if (ret < 0)
		return ret;
	if (!s)
		return err_set(e, ERR_FAIL, "out of memory");
	if (c.dialect && strcmp(c.dialect, "clickhouse-cluster") == 0 && first >= argc)
		return err_set(e, ERR_FAIL, "--clickhouse-cluster needs the name of the cluster");
	if (c.dialect)
		return print_dialect(c.dialect, first < argc ? argv[first] : ".", e);
	if (first < argc)
		return err_set(e, ERR_FAIL, "a directory goes with --duckdb and its like only");
	if (c.what == TABLES || c.what == NAMES || c.table) {
		ret = c.what == NAMES ? describe_names(&text, e)
				      : describe_table(&text, c.table, e);
		if (ret == 0 && c.table)
			ret = err_set(
				e, ERR_FAIL,
				"there is no table %.40s; obsanalyze schema --names lists them",
				c.table);
		if (ret >= 0)
			printf("%s", text.data);
		buf_free(&text);
		return ret < 0 ? ret : 0;
	}
	if (c.what == MAN_TABLES) {
		man_tables(s);
		return 0;
	}
	if (c.what == EVENTS)
		printf("Every record begins with ts (u64, ns), tid (u32), type (u16), size (u16).\n");
	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		if (s->by_id[i])
			printers[c.what](s, s->by_id[i]);
	return 0;
}

const struct command command_schema = {
	.name = "schema",
	.words = "[DIR]",
	.doc = "list events, fields and tables",
	.opts = opts,
	.run = run,
};
