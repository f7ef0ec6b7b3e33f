// SPDX-License-Identifier: GPL-2.0-or-later
/* export: the tables in the formats of other programs. */
#include "analyze/analyses/analysis.h"

#include "analyze/export/export.h"
#include "analyze/store/fact.h"
#include "analyze/store/rows.h"
#include "around.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"
#include "format/nearest.h"
#include "parquet_dir.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct config {
	struct asked asked; /* first: options of filter.h look for it there */
	const char *format;
	const char *output;
	const char *table;
	const char *around;
	const char *parquet;
};

CMD_SET_TEXT(set_format, format)
CMD_SET_TEXT(set_output, output)
CMD_SET_TEXT(set_table, table)
CMD_SET_TEXT(set_around, around)
CMD_SET_TEXT(set_parquet, parquet)

static const struct exporter exporters[] = {
#define EXPORT(name, function, answers, around, doc) \
	{ name, doc, answers, around, export_##function },
#include "analyze/export/exports.def"
#undef EXPORT
};

#define EXPORTERS (sizeof(exporters) / sizeof(exporters[0]))

/* As errors and --help list them. */
#define EXPORT(name, function, answers, around, doc) name "|"
static const char formats[] =
#include "analyze/export/exports.def"
	"csv";
#undef EXPORT

#define EXPORT(name, function, answers, around, doc) name ", "
static const char formats_help[] = "default perfetto; one of "
#include "analyze/export/exports.def"
				   "csv";
#undef EXPORT

static const struct opt opts[] = {
	{ "format", 'f', "FORMAT", formats_help, set_format },
	{ "output", 'o', "FILE", "write to this new file (csv: files in this directory)",
	  set_output },
	{ "table", 't', "NAME", "csv: only this table or view, to the file", set_table },
	{ "around", 0, "WHAT", "perfetto, json: only around cause1, pause1 or a time", set_around },
	{ "parquet", 0, "DIR", "add all tables of each FILE to a directory of Parquet files",
	  set_parquet },
	FILTER_OPTS,
	CACHE_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_export;

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
	struct export_part part = { 0, INT64_MAX, c->asked.filter.cpus };
	int closed, ret = c->around ? around_find(&part.from, &part.to, db, c->around, e) : 0;

	if (ret == 0)
		ret = sink_open(&out, c->output, e);
	if (ret < 0)
		return ret;
	ret = x->write(&out, db, &part, e);
	closed = sink_close(&out, ret == 0, e);
	return ret < 0 ? ret : closed;
}

/* Writes the result, and on stderr the report's first line, which a viewer does not show. */
static int write_all(sqlite3 *db, const struct exporter *x, const struct config *c,
		     const char *recording, struct err *e)
{
	char verdict[16];
	/* all that can fail comes before the file has its name */
	int whole = fact_whole(db, e), ret = whole < 0 ? whole : 0;

	if (ret == 0)
		ret = coverage_verdict(verdict, sizeof(verdict), db, e);
	if (ret == 0)
		ret = x ? write_one(db, x, c, e) : c->table ? csv_one(db, c, e) : csv_all(db, c, e);
	if (ret == 0 && strcmp(verdict, "COMPLETE") != 0)
		fprintf(stderr,
			"obsanalyze: the recording is %s: the export has gaps (obsanalyze report lists them)\n",
			verdict);
	return ret == 0 && !whole ? cmd_damaged(recording) : ret;
}

static int run_parquet(const struct config *c, char **paths, int n, struct err *e)
{
	if (c->output || c->table || c->around || c->format)
		return err_set(e, ERR_FAIL, "--parquet goes with files only");
	if (filter_active(&c->asked.filter))
		return err_set(
			e, ERR_FAIL,
			"--parquet exports complete recordings; obsanalyze cut creates one of a part");
	return parquet_dir_add_all(c->parquet, paths, n, &c->asked, e);
}

static int refuse_format(const char *format, struct err *e)
{
	struct nearest guess = nearest_to(format, strlen(format));

	err_set(e, ERR_FAIL, "--format is one of %s, not %.40s", formats, format);
	nearest_offer_list(&guess, formats);
	nearest_say(&guess, "", e);
	return ERR_FAIL;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	int first = cmd_words(&command_export, &c, argc, argv, 1, INT_MAX, e), ret;
	const char *format = c.format ? c.format : "perfetto";
	const struct exporter *x = exporter_of(format);
	bool csv = strcmp(format, "csv") == 0, answered = true;
	sqlite3 *db = NULL;

	if (first < 0)
		return first;
	if (c.parquet)
		return run_parquet(&c, argv + first, argc - first, e);
	if (argc - first > 1)
		return err_set(e, ERR_FAIL, "only --parquet exports several files");
	if (!x && !csv)
		return refuse_format(format, e);
	if (c.table && !csv)
		return err_set(e, ERR_FAIL, "--table goes with --format csv only");
	if (c.around && (csv || !x->around))
		return err_set(e, ERR_FAIL, "--around goes with --format perfetto and json only");
	ret = cache_open(&db, &answered, argv[first], &c.asked, e);
	if (ret == 0 && !answered && (csv || x->answers || c.around))
		ret = analyses_run(db, NULL, e);
	if (ret == 0)
		ret = write_all(db, x, &c, argv[first], e);
	db_close(db);
	return ret;
}

const struct command command_export = {
	.name = "export",
	.words = "RECORDING|DATABASE...",
	.doc = "write for Perfetto, CSV, flame graphs, OpenMetrics, OTLP, Parquet",
	.opts = opts,
	.run = run,
};
