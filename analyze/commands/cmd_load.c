// SPDX-License-Identifier: GPL-2.0-or-later
/* load: recording to SQLite database, answers included. Complete or not there at all. */
#include "analyze/analyses/analysis.h"
#include "analyze/base/newfile.h"
#include "analyze/store/events/raw_tables.h"
#include "analyze/transform/excerpt.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config {
	struct asked asked; /* first: options of ask.h and filter.h */
	bool force;
	const char *output;
	bool raw;
};

CMD_SET_TEXT(set_output, output)
CMD_SET_FLAG(set_force, force)
CMD_SET_FLAG(set_raw, raw)

static const struct opt opts[] = {
	{ "output", 'o', "FILE", "database to make; default: the recording's name and .db",
	  set_output },
	{ "raw", 0, NULL, "copy the raw events too, into plain tables event_NAME", set_raw },
	ASK_OPTIONS,
	{ "force", 0, NULL, "replace the database if it is there", set_force },
	FILTER_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_load;

/* Those that the filter leaves in. */
static int copy_raw(sqlite3 *db, struct reader *reader, const struct filter *f, struct err *e)
{
	struct reader *twin = NULL, *part = NULL; /* the reader itself has been read */
	int ret = filter_active(f) ? reader_twin(&twin, reader, e) : 0;

	if (ret == 0 && twin)
		ret = excerpt_open(&part, twin, f, e);
	if (ret == 0)
		ret = raw_tables_copy(db, part ? part : reader, e);
	reader_free(part);
	reader_free(twin);
	return ret;
}

static int fill(const char *path, const char *recording, struct reader *reader,
		const struct config *c, struct progress *p, struct err *e)
{
	sqlite3 *db;
	int ret = db_open(&db, path, true, e);

	if (ret < 0)
		return ret;
	ret = cache_load(db, reader, &c->asked, p, e);
	if (ret == 0)
		ret = db_insert(db, TABLE_recording, e, "ss", "file", recording);
	if (ret == 0)
		ret = analyses_run(db, NULL, e);
	if (ret == 0 && c->raw)
		ret = copy_raw(db, reader, &c->asked.filter, e);
	if (db_close(db) != SQLITE_OK && ret == 0)
		ret = err_set(e, ERR_FAIL, "cannot close the database %.400s", path);
	return ret;
}

/* Under another name until it is whole. */
static int make(const char *path, const char *recording, struct reader *reader,
		const struct config *c, struct err *e)
{
	struct buf part = { 0 };
	struct progress p;
	int ret = buf_printf(&part, e, "%s.part-%ld", path, (long)getpid());

	if (ret == 0 && !c->force && access(path, F_OK) == 0)
		ret = err_set(e, ERR_FAIL,
			      "%.400s exists already; name another file with -o, or use --force",
			      path);
	if (ret < 0)
		goto out;
	newfile_sweep(path);
	progress_start(&p, "loading", "records"); /* before a file is made that would be left */
	ret = fill(part.data, recording, reader, c, &p, e);
	if (ret == 0 && rename(part.data, path) < 0)
		ret = err_errno(e, ERR_FAIL, "cannot make the database %.400s", path);
	if (ret < 0)
		unlink(part.data);
	progress_end(&p);
out:
	buf_free(&part);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	struct reader *reader = NULL;
	struct buf name = { 0 };
	const struct recording_state *st;
	int first = cmd_words(&command_load, &c, argc, argv, 1, 1, e);
	int ret = first;

	if (first < 0)
		return ret;
	ret = buf_printf(&name, e, "%s.db", argv[first]);
	if (ret == 0)
		ret = reader_open(&reader, argv[first], e);
	if (ret == 0)
		ret = make(c.output ? c.output : name.data, argv[first], reader, &c, e);
	if (ret == 0) {
		st = reader_state(reader);
		if (!st->sound || st->damaged)
			ret = cmd_damaged(argv[first]);
	}
	reader_free(reader);
	buf_free(&name);
	return ret;
}

const struct command command_load = {
	.name = "load",
	.words = "RECORDING",
	.doc = "turn a recording into an SQLite database",
	.opts = opts,
	.run = run,
};
