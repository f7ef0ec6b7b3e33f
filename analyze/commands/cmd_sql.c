// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sql: a read-only query over a recording or a database. The tables of a recording are made only
 * if the query reads one: its raw events are there without that.
 */
#include "analyze/analyses/analysis.h"

#include "analyze/render/say.h"
#include "analyze/store/fact.h"
#include "analyze/store/raw_tables.h"
#include "analyze/store/rows.h"
#include "analyze/store/vtab_event.h"
#include "analyze/transform/excerpt.h"
#include "ask.h"
#include "cache.h"
#include "cmd.h"
#include "format/escape.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAP_MAX   (512 << 20) /* bytes that a query may take; sorting goes to temporary files */
#define LENGTH_MAX (64 << 20)  /* bytes of one value */
#define QUERY_MAX  (1 << 20)

struct config {
	struct asked asked; /* first: options of filter.h look for it there */
	enum rows_form form;
	bool stats;
};

#define CHOOSE(function, member, choice)                                  \
	static int function(void *config, const char *arg, struct err *e) \
	{                                                                 \
		(void)arg;                                                \
		(void)e;                                                  \
		((struct config *)config)->member = choice;               \
		return 0;                                                 \
	}

CHOOSE(set_csv, form, ROWS_CSV)
CHOOSE(set_json, form, ROWS_JSON)
CHOOSE(set_line, form, ROWS_LINE)
CHOOSE(set_stats, stats, true)

static const struct opt opts[] = {
	{ "csv", 'c', NULL, "comma-separated values, RFC 4180", set_csv },
	{ "json", 'j', NULL, "one JSON object per line", set_json },
	{ "line", 'l', NULL, "one value per line, as column = value", set_line },
	{ "stats", 0, NULL, "print to standard error how much of the recording was read",
	  set_stats },
	FILTER_OPTS,
	CACHE_OPTS,
	{ 0 },
};

extern const struct command command_sql;

/* What a query is asked of. */
struct question {
	sqlite3 *db;
	const char *path;
	const struct asked *asked;
	struct reader *reader; /* NULL: of a database */
	bool damaged;	       /* the recording is */
	struct event_source events;
	bool loaded; /* the tables are filled */
};

/* Only reading is let through, whatever the words are. */
static int only_reading(void *arg, int action, const char *a, const char *b, const char *c,
			const char *d)
{
	static const char *const pragmas[] = { "table_info",	"table_xinfo",	"table_list",
					       "index_list",	"index_info",	"index_xinfo",
					       "database_list", "function_list" };
	size_t i;

	(void)arg;
	(void)c;
	(void)d;
	if (action == SQLITE_READ || action == SQLITE_SELECT || action == SQLITE_RECURSIVE)
		return SQLITE_OK;
	if (action == SQLITE_FUNCTION)
		return sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	/* these tell of tables and set nothing */
	for (i = 0; action == SQLITE_PRAGMA && i < sizeof(pragmas) / sizeof(pragmas[0]); i++)
		if (sqlite3_stricmp(a, pragmas[i]) == 0)
			return SQLITE_OK;
	return SQLITE_DENY;
}

static int prepare(struct question *s, sqlite3_stmt **ret, const char *sql, struct err *e)
{
	const char *rest = "";
	struct buf safe = { 0 };
	int r = 0;

	sqlite3_set_authorizer(s->db, only_reading, s);
	if (sqlite3_prepare_v2(s->db, sql, -1, ret, &rest) != SQLITE_OK) {
		bool no_event = strstr(sqlite3_errmsg(s->db), "no such table: event");

		r = err_set(e, ERR_FAIL, "%s%s", sqlite3_errmsg(s->db),
			    sqlite3_errcode(s->db) == SQLITE_AUTH ? ": only SELECT is allowed"
			    : no_event && !s->reader
				    ? ": a database has raw events if load --raw created it"
				    : "");
	} else if (!*ret) {
		r = err_set(e, ERR_FAIL, "the query is empty");
	} else if (!sqlite3_stmt_readonly(*ret)) {
		r = err_set(e, ERR_FAIL, "only SELECT is allowed");
	} else if (rest[strspn(rest, " \t\r\n;")]) {
		escape_add(&safe, ESCAPE_TEXT, rest, strnlen(rest, 60), NULL);
		buf_add(&safe, "", 1, NULL);
		r = err_set(e, ERR_FAIL, "one query at a time: %s is left over", safe.data);
	}
	buf_free(&safe);
	sqlite3_set_authorizer(s->db, NULL, NULL);
	if (r < 0) {
		sqlite3_finalize(*ret);
		*ret = NULL;
	}
	return r;
}

/*
 * Which tables of the database the query opens, by its byte code: the authorizer is not called for
 * those that only a USING names.
 */
static int find_tables(struct question *s, const char *sql, bool *tables, bool *answers,
		       struct err *e)
{
	enum { OPCODE = 1, ROOT = 3, DATABASE = 4 };
	struct buf explain = { 0 };
	sqlite3_stmt *st = NULL;
	const char *op;
	s64 n = 0;
	int ret = buf_printf(&explain, e, "EXPLAIN %s", sql);

	if (ret == 0)
		ret = db_query(&st, s->db, e, explain.data, "");
	while (ret == 0 && (ret = db_step(st, e)) > 0) {
		ret = 0;
		op = db_text(st, OPCODE);
		if ((strcmp(op, "OpenRead") != 0 && strcmp(op, "ReopenIdx") != 0) ||
		    sqlite3_column_int(st, DATABASE) != 0)
			continue;
		*tables = true;
		ret = db_int(
			s->db, &n, e,
			"SELECT count(*) FROM sqlite_schema WHERE rootpage = ? AND tbl_name IN"
			" ('metric', 'finding', 'finding_value', 'cause', 'timeline', 'timeline_unit')",
			"i", (s64)sqlite3_column_int64(st, ROOT));
		*answers |= n > 0;
	}
	sqlite3_finalize(st);
	buf_free(&explain);
	return ret;
}

/*
 * SQLite connects its own virtual tables when they are first used, by words that the authorizer
 * would not let through: they are used once before.
 */
static void connect_own(sqlite3 *db)
{
	static const char *const names[] = { "json_each('[]')",	       "json_tree('[]')",
					     "pragma_table_info('x')", "pragma_table_xinfo('x')",
					     "pragma_table_list",      "pragma_index_list('x')",
					     "pragma_index_info('x')", "pragma_index_xinfo('x')",
					     "pragma_database_list",   "pragma_function_list" };
	char sql[64];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT 1 FROM %s LIMIT 0", names[i]);
		db_exec(db, NULL, sql); /* an older SQLite may lack one */
	}
}

/* The tables of a recording, made now or found in the cache, take the place of empty ones. */
static int load(struct question *s, bool *answered, struct err *e)
{
	struct progress p;
	int ret;

	s->loaded = true;
	*answered = false;
	if (strcmp(s->path, "-") == 0) { /* it has been read already */
		progress_start(&p, "loading", "records");
		ret = cache_load(s->db, s->reader, s->asked, &p, e);
		progress_end(&p);
		sqlite3_progress_handler(s->db, 0, NULL, NULL); /* signals kill again */
		return ret;
	}
	sqlite3_close(s->db);
	s->db = NULL;
	ret = cache_open(&s->db, answered, s->path, s->asked, e);
	if (ret == 0)
		ret = db_exec(s->db, e, "PRAGMA query_only=0"); /* for the virtual tables alone */
	if (ret < 0)
		return ret;
	connect_own(s->db);
	ret = say_register(s->db, e);
	return ret < 0 ? ret : vtab_event_register(s->db, &s->events, e);
}

/* Fills the tables of a recording if the query reads one, and the answers if it reads those. */
static int load_needed(struct question *s, const char *sql, struct err *e)
{
	bool tables = false, answers = false, answered = false;
	int ret = find_tables(s, sql, &tables, &answers, e);

	if (ret == 0 && tables)
		ret = load(s, &answered, e);
	return ret == 0 && answers && !answered ? analyses_run(s->db, NULL, e) : ret;
}

static int ask(struct question *s, const char *sql, enum rows_form form, struct err *e)
{
	struct sink out;
	sqlite3_stmt *st = NULL;
	int ret = prepare(s, &st, sql, e), closed;

	if (ret == 0 && s->reader && !sqlite3_stmt_isexplain(st)) {
		sqlite3_finalize(st);
		st = NULL;
		ret = load_needed(s, sql, e);
		if (ret == 0)
			ret = prepare(s, &st, sql, e);
	}
	if (ret < 0)
		return ret;
	/* the query may be anybody's: what it can reach was settled above, what it can use is here
	 */
	sqlite3_hard_heap_limit64(HEAP_MAX);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	ret = db_exec(s->db, e, "PRAGMA query_only=1");
	if (ret == 0)
		ret = sink_open(&out, NULL, e);
	if (ret == 0) {
		ret = rows_write(&out, st, form, e);
		/* rows that came before a failure are shown */
		closed = sink_close(&out, true, ret < 0 ? NULL : e);
		ret = ret < 0 ? ret : closed;
	}
	sqlite3_finalize(st);
	return ret;
}

/* The query's words, from standard input if they are not on the command line. */
static int read_query(struct buf *b, struct err *e)
{
	char chunk[4096];
	ssize_t n = 0;
	int ret = 0;

	while (ret == 0 && b->len < QUERY_MAX && (n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		ret = buf_add(b, chunk, n, e);
	if (ret == 0 && n < 0)
		ret = err_errno(e, ERR_FAIL, "cannot read the query");
	return ret < 0 ? ret : buf_add(b, "", 1, e);
}

static int open_subject(struct question *s, const char *path, struct err *e)
{
	bool answered;
	int ret;

	if (db_is_database(path)) {
		ret = cache_open(&s->db, &answered, path, s->asked, e); /* refuses filters */
		if (ret == 0)
			ret = db_exec(s->db, e, "PRAGMA query_only=0"); /* for the view alone */
		return ret < 0 ? ret : raw_tables_view(s->db, "temp", e);
	}
	/* also if the query will ask tables only: what it asks is not known yet */
	ret = excerpt_reader(&s->reader, &s->damaged, path, &s->asked->filter, e);
	if (ret == 0)
		ret = db_open(&s->db, NULL, true, e);
	s->events.reader = s->reader;
	return ret < 0 ? ret : vtab_event_register(s->db, &s->events, e);
}

/* 1 if the recording was cut or is damaged, as far as the query looked. */
static int is_damaged(struct question *s, struct err *e)
{
	const struct recording_state *st;
	int ret;

	if (s->reader) {
		st = reader_state(s->reader);
		return s->damaged || st->damaged || s->events.damaged;
	}
	ret = fact_whole(s->db, e);
	return ret < 0 ? ret : !ret;
}

static void tell_stats(const struct question *s)
{
	const struct recording_state *st = s->reader ? reader_state(s->reader) : NULL;

	if (!st) {
		fprintf(stderr, "obsanalyze: a database: no recording was read\n");
		return;
	}
	fprintf(stderr,
		"obsanalyze: tables %s; raw events: %llu scans read %llu of %llu blocks, %llu "
		"records\n",
		s->loaded ? "made of the recording" : "not needed",
		(unsigned long long)s->events.scans, (unsigned long long)s->events.blocks,
		(unsigned long long)st->blocks, (unsigned long long)s->events.records);
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .form = ROWS_TABLE };
	int first = cmd_words(&command_sql, &c, argc, argv, 1, 2, e);
	struct question s = { .asked = &c.asked };
	struct buf words = { 0 };
	int ret = first, damaged = 0;

	if (first < 0)
		return first;
	s.path = argv[first];
	c.asked.own_queries = true;
	ret = argc - first > 1 ? 0 : read_query(&words, e);
	if (ret == 0)
		ret = open_subject(&s, argv[first], e);
	if (ret == 0) {
		connect_own(s.db);
		ret = say_register(s.db, e);
	}
	if (ret == 0)
		ret = ask(&s, words.data ? words.data : argv[first + 1], c.form, e);
	if (ret == 0)
		ret = damaged = is_damaged(&s, e);
	sqlite3_close(s.db); /* ends the scans: their counts are whole */
	if (ret >= 0 && c.stats)
		tell_stats(&s);
	reader_free(s.reader);
	buf_free(&words);
	return ret >= 0 && damaged ? cmd_damaged(argv[first]) : ret;
}

const struct command command_sql = {
	.name = "sql",
	.words = "RECORDING|DATABASE ['SELECT ...']",
	.doc = "query the tables and the raw events: see obs-schema(5)",
	.opts = opts,
	.run = run,
};
