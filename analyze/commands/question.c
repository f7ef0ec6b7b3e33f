// SPDX-License-Identifier: GPL-2.0-or-later
/* Read-only queries over a recording or a database. */
#include "question.h"

#include "analyze/analyses/analysis.h"

#include "analyze/render/say.h"
#include "analyze/store/events/raw_tables.h"
#include "analyze/store/fact.h"
#include "analyze/transform/excerpt.h"
#include "cache.h"
#include "format/escape.h"
#include "format/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define HEAP_MAX   (512 << 20) /* bytes that a query may take; sorting goes to temporary files */
#define LENGTH_MAX (64 << 20)  /* bytes of one value */

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

/* What a query may have meant, by SQLite's error: names to choose from. */
static const struct {
	const char *says, *names;
} guesses[] = {
	{ "no such table: ",
	  "SELECT name FROM sqlite_schema UNION SELECT name FROM sqlite_temp_schema" },
	{ "no such column: ", "SELECT c.name FROM pragma_table_list t, pragma_table_xinfo(t.name) c"
			      " WHERE instr(lower(?1), lower(t.name))" },
	{ "no such function: ", "SELECT name FROM pragma_function_list" },
};

/* A word of a query that SQLite does not know. */
struct unknown {
	sqlite3 *db;
	const char *sql, *says; /* SQLite's error begins with that */
	struct nearest n;
};

/* Of "r.name". */
static const char *last_name(const char *word)
{
	const char *dot = strrchr(word, '.');

	return dot ? dot + 1 : word;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Does the query know this name in place of the word? */
static bool is_known(const struct unknown *u, const char *name)
{
	struct buf sql = { 0 };
	sqlite3_stmt *st = NULL;
	const char *at, *error;
	size_t len, says = strlen(u->says);
	bool ret;
	int r = 0;

	for (at = u->sql; *at && r == 0; at += len) {
		for (len = 0; is_name(at[len]); len++)
			;
		if (len == u->n.len && memcmp(at, u->n.word, len) == 0) {
			r = buf_printf(&sql, NULL, "%s", name);
		} else {
			len = len ? len : 1;
			r = buf_add(&sql, at, len, NULL);
		}
	}
	sqlite3_prepare_v2(u->db, r == 0 ? sql.data : "", (int)sql.len, &st, NULL);
	error = sqlite3_errmsg(u->db);
	ret = strncmp(error, u->says, says) != 0 || strcmp(last_name(error + says), name) != 0;
	sqlite3_finalize(st);
	buf_free(&sql);
	return ret;
}

static int offer(void *arg, sqlite3_stmt *row, struct err *e)
{
	struct unknown *u = arg;
	struct nearest n = u->n;
	const char *name = db_text(row, 0);

	(void)e;
	nearest_offer(&n, name, strlen(name));
	if (n.edits < u->n.edits && is_known(u, name))
		u->n = n;
	return 0;
}

static int refuse(struct question *s, const char *sql, struct err *e)
{
	char says[400];
	bool no_event;
	struct unknown u = { .db = s->db, .sql = sql };
	const char *word;
	size_t i;
	int ret;

	snprintf(says, sizeof(says), "%s", sqlite3_errmsg(s->db));
	no_event = strstr(says, "no such table: event");
	ret = err_set(e, ERR_FAIL, "%s%s", says,
		      sqlite3_errcode(s->db) == SQLITE_AUTH ? ": only SELECT is allowed"
		      : no_event && !s->reader
			      ? ": a database has raw events if load --raw created it"
			      : "");
	for (i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
		u.says = guesses[i].says;
		if (strncmp(says, u.says, strlen(u.says)) != 0)
			continue;
		word = last_name(says + strlen(u.says));
		u.n = nearest_to(word, strlen(word));
		db_each(s->db, NULL, offer, &u, guesses[i].names, i == 1 ? "s" : "", sql);
		nearest_say(&u.n, "", e);
	}
	return ret;
}

static int prepare(struct question *s, sqlite3_stmt **ret, const char *sql, struct err *e)
{
	const char *rest = "";
	struct buf safe = { 0 };
	int r = 0;

	sqlite3_set_authorizer(s->db, only_reading, s);
	if (sqlite3_prepare_v2(s->db, sql, -1, ret, &rest) != SQLITE_OK) {
		r = refuse(s, sql, e);
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
			" ('metric', 'finding', 'finding_value', 'cause', 'timeline', 'timeline_unit',"
			" 'pause', 'verdict', 'verdict_range')",
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
static int connect_own(sqlite3 *db, struct err *e)
{
	static const char *const names[] = { "json_each('[]')",	       "json_tree('[]')",
					     "pragma_table_info('x')", "pragma_table_xinfo('x')",
					     "pragma_table_list",      "pragma_index_list('x')",
					     "pragma_index_info('x')", "pragma_index_xinfo('x')",
					     "pragma_database_list",   "pragma_function_list" };
	char sql[64];
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && ret >= 0; i++) {
		snprintf(sql, sizeof(sql), "SELECT 1 FROM %s LIMIT 0", names[i]);
		ret = db_try(db, e, sql); /* an older SQLite may lack one */
	}
	return ret < 0 ? ret : 0;
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
	db_close(s->db);
	s->db = NULL;
	ret = cache_open(&s->db, answered, s->path, s->asked, e);
	if (ret == 0)
		ret = db_exec(s->db, e, "PRAGMA query_only=0"); /* for the virtual tables alone */
	if (ret == 0)
		ret = connect_own(s->db, e);
	if (ret == 0)
		ret = say_register(s->db, e);
	return ret < 0 ? ret : vtab_event_register(s->db, &s->events, e);
}

/* Fills the tables of a recording if the query reads one, and the answers if it reads those. */
static int load_needed(struct question *s, const char *sql, struct err *e)
{
	bool tables = false, answers = false;
	int ret = find_tables(s, sql, &tables, &answers, e);

	if (ret == 0 && tables && !s->loaded)
		ret = load(s, &s->answered, e);
	if (ret < 0 || !answers || s->answered)
		return ret;
	ret = analyses_run(s->db, NULL, e);
	s->answered = ret == 0;
	return ret;
}

/* Lifts what an earlier query was held to: tables may have to be filled. */
static int unbind(struct question *s, struct err *e)
{
	if (!s->db)
		return err_set(e, ERR_FAIL, "the tables of the recording could not be filled");
	sqlite3_hard_heap_limit64(0);
	return db_exec(s->db, e, "PRAGMA query_only=0");
}

int question_ask(struct question *s, const char *sql, enum rows_form form, struct sink *out,
		 struct err *e)
{
	sqlite3_stmt *st = NULL;
	int ret = unbind(s, e);

	if (ret == 0)
		ret = prepare(s, &st, sql, e);
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
		ret = rows_write(out, st, form, e);
	return db_end(st, ret);
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

int question_damaged(struct question *s, struct err *e)
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

int question_open(struct question *s, const char *path, const struct asked *asked, struct err *e)
{
	int ret;

	*s = (struct question){ .path = path, .asked = asked };
	ret = open_subject(s, path, e);
	if (ret == 0)
		ret = connect_own(s->db, e);
	return ret < 0 ? ret : say_register(s->db, e);
}

void question_close(struct question *s)
{
	sqlite3_hard_heap_limit64(0);
	db_close(s->db);
	s->db = NULL;
}
