// SPDX-License-Identifier: GPL-2.0-or-later
/* export: the tables in the formats of other programs. */
#include "analyze/analyses/analysis.h"

#include "analyze/export/export.h"
#include "analyze/store/fact.h"
#include "analyze/store/rows.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct config {
	struct asked asked; /* first: options of filter.h look for it there */
	const char *format;
	const char *output;
	const char *table;
};

CMD_SET_TEXT(set_format, format)
CMD_SET_TEXT(set_output, output)
CMD_SET_TEXT(set_table, table)

static const struct opt opts[] = {
	{ "format", 'f', "perfetto|csv|folded|folded-calls|openmetrics", "default: perfetto",
	  set_format },
	{ "output", 'o', "FILE", "write to this new file (csv: files in this directory)",
	  set_output },
	{ "table", 't', "NAME", "csv: only this table or view, to the file", set_table },
	FILTER_OPTS,
	CACHE_OPTS,
	{ 0 },
};

extern const struct command command_export;

static const struct exporter exporters[] = {
	{ "perfetto", "a trace for ui.perfetto.dev, chrome://tracing, speedscope",
	  export_perfetto },
	{ "folded", "where threads' time went, for flame graphs", export_folded },
	{ "folded-calls", "where the time of probed calls went, for flame graphs",
	  export_folded_calls },
	{ "openmetrics", "series and answers for Prometheus and others", export_openmetrics },
};

#define EXPORTERS (sizeof(exporters) / sizeof(exporters[0]))

/* ---- CSV ---- */

static int write_csv(sqlite3 *db, const char *table, const char *path, struct err *e)
{
	struct buf sql = { 0 };
	struct sink out;
	sqlite3_stmt *s = NULL;
	int ret = sink_open(&out, path, e), closed;

	if (ret < 0)
		return ret;
	/* the name is one that sqlite_schema holds; it may still hold a quote */
	ret = buf_printf(&sql, e, "SELECT * FROM \"");
	for (; ret == 0 && *table; table++)
		ret = buf_printf(&sql, e, "%s%c", *table == '"' ? "\"" : "", *table);
	if (ret == 0)
		ret = buf_printf(&sql, e, "\"");
	if (ret == 0)
		ret = db_query(&s, db, e, sql.data, "");
	if (ret == 0)
		ret = rows_write(&out, s, ROWS_CSV, e);
	sqlite3_finalize(s);
	buf_free(&sql);
	closed = sink_close(&out, ret == 0, e);
	return ret < 0 ? ret : closed;
}

static int csv_one(sqlite3 *db, const struct config *c, struct err *e)
{
	s64 known = 0;
	int ret = db_int(db, &known, e,
			 "SELECT count(*) FROM sqlite_schema WHERE name=? AND type IN ('table',"
			 " 'view')",
			 "s", c->table);

	if (ret == 0 && !known)
		ret = err_set(e, ERR_FAIL,
			      "there is no table %.40s; obsanalyze schema --tables lists them",
			      c->table);
	return ret < 0 ? ret : write_csv(db, c->table, c->output, e);
}

static int csv_path(struct buf *path, const struct config *c, int table, struct err *e)
{
	buf_clear(path);
	return buf_printf(path, e, "%s/%s.csv", c->output, tables[table].name);
}

static int csv_all(sqlite3 *db, const struct config *c, struct err *e)
{
	struct buf path = { 0 };
	bool made;
	int t, ret = 0;

	if (!c->output)
		return err_set(e, ERR_FAIL,
			       "csv needs a directory for its files (-o), or one table (-t)");
	made = mkdir(c->output, 0777) == 0;
	if (!made && errno != EEXIST)
		return err_errno(e, ERR_FAIL, "cannot make the directory %.400s", c->output);
	for (t = 0; t < N_TABLES && ret == 0; t++) {
		ret = csv_path(&path, c, t, e);
		if (ret == 0)
			ret = write_csv(db, tables[t].name, path.data, e);
	}
	if (ret < 0) { /* some of the tables are no answer, and would be in the way */
		for (t -= 2; t >= 0; t--)
			if (csv_path(&path, c, t, NULL) == 0)
				unlink(path.data);
		if (made)
			rmdir(c->output);
	}
	buf_free(&path);
	return ret;
}

/* ---- all ---- */

static const struct exporter *exporter_of(const char *name)
{
	size_t i;

	for (i = 0; i < EXPORTERS; i++)
		if (strcmp(exporters[i].name, name) == 0)
			return &exporters[i];
	return NULL;
}

static int write_one(sqlite3 *db, const struct exporter *x, const struct config *c, struct err *e)
{
	struct sink out;
	int closed, ret = sink_open(&out, c->output, e);

	if (ret < 0)
		return ret;
	ret = x->write(&out, db, e);
	closed = sink_close(&out, ret == 0, e);
	return ret < 0 ? ret : closed;
}

/* Who looks at the result elsewhere does not see a report's first line: it is said here. */
static int say_verdict(sqlite3 *db, struct err *e)
{
	char verdict[16];
	int ret = coverage_verdict(verdict, sizeof(verdict), db, e);

	if (ret == 0 && strcmp(verdict, "COMPLETE") != 0)
		fprintf(stderr,
			"obsanalyze: the recording is %s: the export has gaps (obsanalyze report lists them)\n",
			verdict);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .format = "perfetto" };
	int first = cmd_words(&command_export, &c, argc, argv, 1, 1, e);
	const struct exporter *x = exporter_of(c.format);
	bool csv = strcmp(c.format, "csv") == 0;
	sqlite3 *db = NULL;
	bool answered = true;
	int ret;

	if (first < 0)
		return first;
	if (!x && !csv)
		return err_set(e, ERR_FAIL,
			       "--format knows perfetto, csv, folded, folded-calls and "
			       "openmetrics, not %.40s",
			       c.format);
	if (c.table && !csv)
		return err_set(e, ERR_FAIL, "--table goes with --format csv only");
	ret = cache_open(&db, &answered, argv[first], &c.asked, e);
	if (ret == 0 && !answered && (csv || x->write == export_openmetrics))
		ret = analyses_run(db, NULL, e);
	if (ret == 0)
		ret = !csv	? write_one(db, x, &c, e)
		      : c.table ? csv_one(db, &c, e)
				: csv_all(db, &c, e);
	if (ret == 0)
		ret = say_verdict(db, e);
	if (ret == 0)
		ret = cmd_end(db, argv[first], e);
	sqlite3_close(db);
	return ret;
}

const struct command command_export = {
	.name = "export",
	.words = "RECORDING|DATABASE",
	.doc = "write for other programs: Perfetto, CSV, flame graphs, OpenMetrics",
	.opts = opts,
	.run = run,
};
