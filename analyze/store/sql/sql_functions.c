// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions for SQL that people write. */
#include "sql_functions.h"

#include "analyze/base/number.h"
#include "format/protocols.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FLAGS (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)

/* ---- percentile(x, p), median(x): p in percent, with linear interpolation ---- */

struct values {
	double *v;
	sqlite3_int64 n, cap;
	double p;
	bool failed;
};

/* SQLite's own memory, so that its limit holds. */
static int add_value(struct values *a, double v)
{
	sqlite3_int64 cap = a->cap ? 2 * a->cap : 64;
	double *grown;

	if (a->n == a->cap) {
		grown = sqlite3_realloc64(a->v, cap * sizeof(*grown));
		if (!grown)
			return -1;
		a->v = grown;
		a->cap = cap;
	}
	a->v[a->n++] = v;
	return 0;
}

static void step(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct values *a = sqlite3_aggregate_context(c, sizeof(*a));
	double p = argc > 1 ? sqlite3_value_double(argv[1]) : 50;

	if (!a || a->failed)
		return;
	if (!(p >= 0 && p <= 100) || (a->n && p != a->p)) {
		a->failed = true;
		sqlite3_result_error(c, "percentile(x, p) needs one p for all rows, 0 to 100", -1);
		return;
	}
	a->p = p;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (add_value(a, sqlite3_value_double(argv[0])) < 0) {
		a->failed = true;
		sqlite3_result_error_nomem(c);
	}
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void end_values(sqlite3_context *c)
{
	struct values *a = sqlite3_aggregate_context(c, 0);
	double at, low;
	sqlite3_int64 i;

	if (a && a->n && !a->failed) {
		qsort(a->v, a->n, sizeof(*a->v), ascending);
		at = a->p / 100 * (a->n - 1);
		i = (sqlite3_int64)at;
		low = a->v[i];
		sqlite3_result_double(c, i + 1 < a->n ? low + (a->v[i + 1] - low) * (at - i) : low);
	}
	if (a)
		sqlite3_free(a->v);
}

/* ---- clock(ts): the wall clock, UTC ---- */

static void start_of(s64 *ret, sqlite3 *db)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, "SELECT value FROM main.recording WHERE key='start_realtime_ns'",
			       -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
}

static void clock_text(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	s64 *known = sqlite3_user_data(c), at;
	time_t seconds;
	struct tm tm;
	char text[64], full[96];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	/* asked until it is there: tables may be filled later */
	if (*known <= 0)
		start_of(known, sqlite3_context_db_handle(c));
	if (*known <= 0)
		return;
	if (__builtin_add_overflow(*known, sqlite3_value_int64(argv[0]), &at) || at < 0)
		return;
	seconds = at / 1000000000;
	if (!gmtime_r(&seconds, &tm))
		return;
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(full, sizeof(full), "%s.%06dZ", text, (int)(at % 1000000000 / 1000));
	sqlite3_result_text(c, full, -1, SQLITE_TRANSIENT);
}

/* ---- human(ns) ---- */

static void human(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	char text[64];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	number_text(text, sizeof(text), sqlite3_value_double(argv[0]), "ns");
	sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

/* ---- state_id(name), series_id(name): numbers of tables state and series_kind ---- */

static const struct name_row {
	const char *name;
	int id;
} state_names[] = {
#define STATE(id, name, ...) { #name, id },
#include "analyze/store/waits.def"
#undef STATE
	{ 0 },
}, series_names[] = {
#define SERIES(id, name, ...) { #name, id },
#include "analyze/store/series.def"
#undef SERIES
	{ 0 },
};

static void id_of_name(sqlite3_context *c, const struct name_row *rows, sqlite3_value *value)
{
	const char *name = (const char *)sqlite3_value_text(value);

	for (; name && rows->name; rows++)
		if (strcmp(rows->name, name) == 0) {
			sqlite3_result_int(c, rows->id);
			return;
		}
	sqlite3_result_error(c, "no such name: see tables state and series_kind", -1);
}

static void state_id(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	id_of_name(c, state_names, argv[0]);
}

static void series_id(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	id_of_name(c, series_names, argv[0]);
}

/* ---- readable(protocol): do its requests have names and answers? ---- */

static void readable(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const bool protocols[] = {
#define PROTOCOL(number, name, readable) [number] = (readable),
#include "format/protocols.def"
#undef PROTOCOL
	};
	s64 number = sqlite3_value_int64(argv[0]);

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	sqlite3_result_int(c, number >= 0 && number < (s64)sizeof(protocols) && protocols[number]);
}

/*
 * ---- awaits(protocol, name): is it answered when something happens, not as soon as possible? ----
 * The server parks the connection and serves others, or sends on it whenever there is news.
 */
static void awaits(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const struct {
		int protocol;
		const char *names;
	} lists[] = {
		{ PROTOCOL_REDIS,
		  "|BLMOVE|BLMPOP|BLPOP|BRPOP|BRPOPLPUSH|BZMPOP|BZPOPMAX|BZPOPMIN|MONITOR|PSUBSCRIBE"
		  "|PSYNC|REPLCONF|SSUBSCRIBE|SUBSCRIBE|SYNC|XREAD|XREADGROUP|" },
		{ PROTOCOL_POSTGRES, "|Query LISTEN|Replication|" },
		{ PROTOCOL_MYSQL, "|Binlog Dump|" },
	};
	const char *name = (const char *)sqlite3_value_text(argv[1]);
	char *word = name ? sqlite3_mprintf("|%s|", name) : NULL;
	s64 protocol = sqlite3_value_int64(argv[0]);
	bool is = false;
	size_t i;

	(void)argc;
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]) && word; i++)
		is |= lists[i].protocol == protocol && strstr(lists[i].names, word);
	sqlite3_free(word);
	sqlite3_result_int(c, is);
}

static const struct {
	const char *name;
	int args;
	void (*fn)(sqlite3_context *, int, sqlite3_value **);
	void (*step)(sqlite3_context *, int, sqlite3_value **);
	void (*end)(sqlite3_context *);
	size_t data; /* bytes that it keeps for a connection */
	int flags;
} functions[] = {
	{ "percentile", 2, NULL, step, end_values, 0, FLAGS },
	{ "median", 1, NULL, step, end_values, 0, FLAGS },
	/* it reads the table of a database that may be anybody's: not for its views and triggers */
	{ "clock", 1, clock_text, NULL, NULL, sizeof(s64), SQLITE_UTF8 | SQLITE_DIRECTONLY },
	{ "human", 1, human, NULL, NULL, 0, FLAGS },
	{ "state_id", 1, state_id, NULL, NULL, 0, FLAGS },
	{ "series_id", 1, series_id, NULL, NULL, 0, FLAGS },
	{ "readable", 1, readable, NULL, NULL, 0, FLAGS },
	{ "awaits", 2, awaits, NULL, NULL, 0, FLAGS },
};

int sql_functions_register(sqlite3 *db, struct err *e)
{
	void *data;
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		data = functions[i].data ? sqlite3_malloc64(functions[i].data) : NULL;
		if (functions[i].data && !data)
			return err_set(e, ERR_FAIL, "out of memory for functions");
		if (data)
			memset(data, 0, functions[i].data);
		if (sqlite3_create_function_v2(db, functions[i].name, functions[i].args,
					       functions[i].flags, data, functions[i].fn,
					       functions[i].step, functions[i].end,
					       data ? sqlite3_free : NULL) != SQLITE_OK)
			return err_set(e, ERR_FAIL, "SQLite refuses a function: %s",
				       sqlite3_errmsg(db));
	}
	return 0;
}
