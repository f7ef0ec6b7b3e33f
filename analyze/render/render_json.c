// SPDX-License-Identifier: GPL-2.0-or-later
/* The report as JSON: every row of the answers, raw numbers. */
#include "render.h"

#include "format/escape.h"
#include "screen.h"

#include <math.h>
#include <string.h>

static int add_string(struct buf *out, const char *text, struct err *e)
{
	buf_add(out, "\"", 1, e);
	if (text)
		escape_add(out, ESCAPE_JSON, text, strlen(text), e);
	return buf_add(out, "\"", 1, e);
}

static int add_value(struct buf *out, sqlite3_stmt *s, int i, struct err *e)
{
	switch (sqlite3_column_type(s, i)) {
	case SQLITE_INTEGER:
		return buf_printf(out, e, "%lld", sqlite3_column_int64(s, i));
	case SQLITE_FLOAT:
		if (isfinite(sqlite3_column_double(s, i)))
			return buf_printf(out, e, "%.17g", sqlite3_column_double(s, i));
		return buf_printf(out, e, "null");
	case SQLITE_NULL:
		return buf_printf(out, e, "null");
	default:
		return add_string(out, db_text(s, i), e);
	}
}

int render_rows(struct buf *out, sqlite3 *db, const char *sql, const char *only, struct err *e)
{
	sqlite3_stmt *s;
	int i, n = 0, ret = db_query(&s, db, e, sql, strchr(sql, '?') ? "s" : "", only);

	if (ret < 0)
		return ret;
	ret = buf_printf(out, e, "[");
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		ret = buf_printf(out, e, "%s\n    {", n++ ? "," : "");
		for (i = 0; i < sqlite3_column_count(s) && ret == 0; i++) {
			buf_printf(out, e, "%s", i ? ", " : "");
			add_string(out, sqlite3_column_name(s, i), e);
			buf_printf(out, e, ": ");
			ret = add_value(out, s, i, e);
		}
		if (ret == 0)
			ret = buf_printf(out, e, "}");
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : buf_printf(out, e, "]");
}

/* The facts as one object: key, value. */
static int add_facts(struct buf *out, sqlite3 *db, const char *name, struct err *e)
{
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e,
			   "SELECT key, value FROM recording WHERE key<>'file' ORDER BY rowid", "");

	if (ret < 0)
		return ret;
	buf_printf(out, e, "{\n    \"file\": ");
	ret = add_string(out, name, e);
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		buf_printf(out, e, ",\n    ");
		add_string(out, db_text(s, 0), e);
		buf_printf(out, e, ": ");
		ret = add_string(out, db_text(s, 1), e);
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : buf_printf(out, e, "}");
}

/* {"completeness": ..., "status": ..., "servers": [...]}: nothing is judged when one analysis was
 * asked for. */
static int add_verdict(struct buf *out, sqlite3 *db, const char *only, struct err *e)
{
	struct screen screen = { 0 };
	const char *worst = "";
	int ret = verdict_worst(db, &worst, e);

	if (ret == 0 && !only)
		ret = screen_read(&screen, db, e);
	if (ret < 0)
		goto out;
	buf_printf(out, e, "{\n    \"completeness\": \"%s\",\n    \"status\": ", worst);
	if (only)
		buf_printf(out, e, "null");
	else
		add_string(out,
			   screen.problems    ? "problem"
			   : screen.healthy   ? "none"
			   : screen.unchanged ? "unchanged"
					      : "unknown",
			   e);
	buf_printf(out, e, ",\n    \"problem\": ");
	add_string(out, screen.problem.data, e);
	buf_printf(out, e, ",\n    \"cause\": ");
	add_string(out, screen.n_causes ? screen.causes[0].text.data : NULL, e);
	buf_printf(out, e, ",\n    \"sure\": ");
	if (screen.n_causes)
		add_string(out, screen.causes[0].sure, e);
	else
		buf_printf(out, e, "null");
	ret = buf_printf(out, e, "}");
out:
	screen_free(&screen);
	return ret;
}

int render_json(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e)
{
	static const struct {
		const char *key, *sql;
	} parts[] = {
		{ "verdicts",
		  "SELECT * FROM verdict WHERE ?1 IS NULL OR ?1='verdict' ORDER BY rank" },
		{ "pauses", "SELECT * FROM pause WHERE ?1 IS NULL OR ?1='pauses' ORDER BY id" },
		{ "coverage", "SELECT * FROM coverage" },
		{ "loss", "SELECT * FROM loss ORDER BY ts, cpu" },
		{ "causes", "SELECT * FROM cause WHERE ?1 IS NULL OR ?1='causes' ORDER BY rowid" },
		{ "findings",
		  "SELECT *, sentence(id) AS sentence FROM finding WHERE ?1 IS NULL OR analysis=?1"
		  " ORDER BY severity DESC, id" },
		{ "values", "SELECT v.* FROM finding_value v JOIN finding f ON f.id=v.finding"
			    " WHERE ?1 IS NULL OR f.analysis=?1 ORDER BY v.finding, v.seq" },
		{ "metrics",
		  "SELECT * FROM metric WHERE ?1 IS NULL OR analysis=?1 ORDER BY rowid" },
	};
	size_t i;
	int ret = buf_printf(out, e, "{\n  \"schema\": \"obs-report/2\",\n  \"recording\": ");

	if (ret == 0)
		ret = add_facts(out, db, o->name, e);
	if (ret == 0)
		ret = buf_printf(out, e, ",\n  \"verdict\": ");
	if (ret == 0)
		ret = add_verdict(out, db, o->only, e);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && ret == 0; i++) {
		ret = buf_printf(out, e, ",\n  \"%s\": ", parts[i].key);
		if (ret == 0)
			ret = render_rows(out, db, parts[i].sql, o->only, e);
	}
	return ret < 0 ? ret : buf_printf(out, e, "\n}\n");
}
