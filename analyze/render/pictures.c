// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of pictures, and their numbers. */
#include "pictures.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/number.h"
#include "format/escape.h"

#include <math.h>
#include <string.h>

#define DURATION "(SELECT CAST(value AS INTEGER) FROM recording WHERE key='duration_ns')"
/* 120 windows, the last one no longer than the others */
#define PICTURE_STEP "max((" DURATION " + 119) / 120, 1)"
/* The server that answers most, all its workers together as in the verdict; else the function
 * called most */
#define SERVICE                                                                               \
	"SELECT " SERVICE_GROUP                                                               \
	" AS served, coalesce((SELECT name FROM server WHERE id=server), name) AS"            \
	" title, max(latency_max) AS longest FROM service WHERE requests > 0 GROUP BY served" \
	" ORDER BY min(kind='function'), sum(requests) DESC, min(id) LIMIT 1"
/* its rows of service; s: SERVICE */
#define WORKERS "SELECT id, pid FROM service, s WHERE requests > 0 AND " SERVICE_GROUP "=s.served"
/* the name of processes p */
#define WHO                                                                                             \
	"who(title) AS MATERIALIZED (SELECT max(comm) || iif(count(DISTINCT pid)=1, '[' || pid || ']'," \
	" ' (' || count(DISTINCT pid) || ' processes)') FROM process JOIN p USING(pid))"
/* s, and p: its processes, else the busiest one */
#define WATCHED                                                                                   \
	"s AS (" SERVICE "), p AS MATERIALIZED (SELECT DISTINCT pid FROM (" WORKERS ") UNION"     \
	" SELECT pid FROM (SELECT pid FROM thread WHERE pid > 0 AND NOT EXISTS (SELECT 1 FROM s)" \
	" GROUP BY pid ORDER BY sum(run) DESC, pid LIMIT 1)), " WHO
/* 1 if a window overlaps loss in this group */
#define LOST(grp, ts, dur)                                                                      \
	"EXISTS(SELECT 1 FROM loss l WHERE l.reason<>'unlocated' AND l.grp=" grp " AND l.ts < " \
	"(" ts ") + " dur " AND l.ts + l.dur >= " ts ")"
/* for pictures without time on an axis: a line for their head, empty if nothing was lost */
#define LOSSY                                                                              \
	"(SELECT iif(sum(lost) > 0, 'LOSSY: ' || sum(lost) || ' events were lost in this " \
	"recording', '') FROM coverage)"

const struct picture pictures[] = {
#define PICTURE(name, analysis, shows, sql) { #name, #analysis, shows, sql },
#include "pictures.def"
#undef PICTURE
	{ 0 },
};

/* Classes of durations, two to an octave: SQLite has logarithms only where it was built so. */
static void half_octave(sqlite3_context *c, int n, sqlite3_value **v)
{
	double ns = sqlite3_value_double(v[0]);

	(void)n;
	sqlite3_result_int(c, ns >= 1 ? (int)floor(2 * log2(ns)) : 0);
}

static void octave_ns(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_double(c, exp2(sqlite3_value_double(v[0]) / 2));
}

static int add_cell(struct buf *out, sqlite3_stmt *s, int i, struct err *e)
{
	const char *text = db_text(s, i);
	int type = sqlite3_column_type(s, i);

	if (type == SQLITE_NULL)
		return buf_printf(out, e, "nan");
	if (type == SQLITE_FLOAT)
		return buf_printf(out, e, "%s", all_digits(sqlite3_column_double(s, i)).text);
	if (type == SQLITE_TEXT)
		return escape_add(out, ESCAPE_TSV, text, strlen(text), e);
	return buf_printf(out, e, "%s", text);
}

int picture_data(struct buf *out, sqlite3 *db, const struct picture *p, struct err *e)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	sqlite3_stmt *s;
	int i, n = 0, ret;

	sqlite3_create_function(db, "half_octave", 1, flags, NULL, half_octave, NULL, NULL);
	sqlite3_create_function(db, "octave_ns", 1, flags, NULL, octave_ns, NULL, NULL);
	ret = db_query(&s, db, e, p->sql, "");
	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0) {
		for (i = 0; i < sqlite3_column_count(s) && ret >= 0; i++) {
			ret = i ? buf_add(out, "\t", 1, e) : 0;
			if (ret == 0)
				ret = add_cell(out, s, i, e);
		}
		if (ret == 0)
			ret = buf_add(out, "\n", 1, e);
		if (ret < 0)
			break;
		n++;
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : n;
}
