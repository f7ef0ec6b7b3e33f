// SPDX-License-Identifier: GPL-2.0-or-later
/* The two sentences at the head of a report. */
#include "verdict.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/number.h"
#include "render.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

#define SEVERAL 1.05 /* requests a turn, from which on turns are not called requests */

static const struct {
	const char *label, *says;
} labels[] = {
	{ "OBSERVED", "events name both ends" },
	{ "CAUSAL", "the wake-ups were seen" },
	{ "OVERLAP", "only the times agree" },
	{ "CORRELATED", "only the series move together" },
};

static const char *says_label(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (strcmp(labels[i].label, name) == 0)
			return labels[i].says;
	return "";
}

static const char *text_of(sqlite3_stmt *s, int i)
{
	const char *text = (const char *)sqlite3_column_text(s, i);

	return text ? text : "";
}

/* Turns are requests, unless several share one: then their size tells how many, or nothing does. */
static const char *says_rate(bool calls, double a_turn, double shared)
{
	if (calls)
		return " times a second";
	if (a_turn > SEVERAL)
		return " requests a second, counted by their size";
	return shared > 100 * (SEVERAL - 1) ? " turns a second, some of several requests"
					    : " requests a second";
}

/* "redis[9]:6379 answered 16,693 requests a second (95 % interval 15,456 to 17,930), 99 %
 * within 5.32 ms" */
static int say_rate(struct buf *b, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH c AS (SELECT * FROM cause ORDER BY rank, rowid LIMIT 1),"
		" w AS (SELECT s.name FROM c JOIN service s ON c.subject=iif(c.subject_kind='service', s.id,"
		" s.pid) AND c.subject_kind IN ('service', 'process', 'program') UNION ALL"
		" SELECT v.name FROM c JOIN server v ON c.subject_kind='server' AND v.id=c.subject)"
		" SELECT m.subject, m.name, coalesce(r.value, m.value), iif(r.value, r.low, m.low),"
		" iif(r.value, r.high, m.high), p.value, r.value / m.value, n.value FROM metric m"
		" LEFT JOIN metric p ON p.analysis='rps' AND p.subject=m.subject AND p.name='p99'"
		" LEFT JOIN metric r ON r.analysis='rps' AND r.subject=m.subject AND r.name='requests'"
		" LEFT JOIN metric n ON n.analysis='rps' AND n.subject=m.subject AND n.name='N:N'"
		" WHERE m.analysis='rps' AND m.name IN ('turns', 'calls') AND m.value > 0"
		/* the server that the cause is of, where one is known: the rest tells of it */
		" ORDER BY m.subject IN (SELECT name FROM w) DESC,"
		" m.name='calls', m.n DESC, m.rowid LIMIT 1";
	char rate[32], low[32], high[32], p99[32];
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0) {
		bool calls = strcmp(text_of(s, 1), "calls") == 0,
		     sized = sqlite3_column_double(s, 6) > SEVERAL;
		const char *says =
			says_rate(calls, sqlite3_column_double(s, 6), sqlite3_column_double(s, 7));

		number_text(rate, sizeof(rate), sqlite3_column_double(s, 2), "");
		number_text(low, sizeof(low), sqlite3_column_double(s, 3), "");
		number_text(high, sizeof(high), sqlite3_column_double(s, 4), "");
		number_text(p99, sizeof(p99), sqlite3_column_double(s, 5), "ns");
		ret = buf_printf(b, e, "%s %s %s%s", text_of(s, 0), calls ? "returned" : "answered",
				 rate, says);
		if (ret == 0 && sqlite3_column_type(s, 3) != SQLITE_NULL)
			ret = buf_printf(b, e, " (95 %% interval %s to %s)", low, high);
		if (ret == 0 && sqlite3_column_double(s, 5) > 0)
			ret = buf_printf(b, e, ", 99 %% of %s within %s%s",
					 sized ? "their turns" : "them", p99,
					 calls ? "" : " of being received");
	} else if (ret == 0) {
		ret = buf_printf(b, e, "No requests were seen that a rate could be told of");
	}
	sqlite3_finalize(s);
	return ret;
}

/* The first cause: which units are slow, and why. */
static int say_cause(struct buf *b, sqlite3 *db, bool *ret_any, struct err *e)
{
	static const char sql[] =
		"SELECT sentence(c.finding), c.evidence, (SELECT sentence(max(f.id)) FROM finding f WHERE"
		" f.analysis='causes' AND f.id<c.finding AND f.kind IN ('slow_change', 'slow_given',"
		" 'slow_tail', 'slow_all', 'window_change', 'window_other', 'window_given', 'window_all'))"
		" FROM cause c ORDER BY c.rank, c.rowid LIMIT 1";
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	*ret_any = ret > 0;
	if (ret > 0)
		ret = buf_printf(b, e, ". %s %s [%s: %s]", text_of(s, 2), text_of(s, 0),
				 text_of(s, 1), says_label(text_of(s, 1)));
	sqlite3_finalize(s);
	return ret;
}

/* Why there is no cause. */
static int say_none(struct buf *b, sqlite3 *db, struct err *e)
{
	s64 open = 0;
	int ret = db_int(
		db, &open, e,
		"SELECT count(*) FROM finding WHERE analysis='causes' AND evidence<>'LIMIT'", "");

	if (ret < 0)
		return ret;
	return buf_printf(
		b, e, "%s",
		open ? "; no dominant cause of slow ones was found."
		     : "; why some were slow, this recording cannot say (see the limits).");
}

int verdict_worst(sqlite3 *db, const char **ret_worst, struct err *e)
{
	static const char *const names[] = { "COMPLETE", "TRUNCATED", "LOSSY" };
	s64 worst = 0;
	int ret =
		db_int(db, &worst, e,
		       "SELECT max(CASE verdict WHEN 'LOSSY' THEN 2 WHEN 'TRUNCATED' THEN 1 ELSE 0"
		       " END) FROM coverage",
		       "");

	*ret_worst = names[worst];
	return ret;
}

static int say_complete(struct buf *b, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT total(records), total(lost), max((SELECT value FROM recording WHERE"
		" key='duration_ns')), (SELECT min(ts) FROM loss WHERE n > 0 AND reason<>'unlocated'),"
		" (SELECT max(ts + dur) FROM loss WHERE n > 0 AND reason<>'unlocated'),"
		" (SELECT group_concat(grp, ', ') FROM coverage WHERE lost > 0) FROM coverage";
	char records[32], lost[32], time[32];
	const char *worst;
	sqlite3_stmt *s;
	int ret = verdict_worst(db, &worst, e);

	if (ret == 0)
		ret = db_query(&s, db, e, sql, "");
	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0) {
		double n = sqlite3_column_double(s, 0), gone = sqlite3_column_double(s, 1);

		number_text(records, sizeof(records), n, "");
		number_text(lost, sizeof(lost), gone, "");
		number_text(time, sizeof(time), sqlite3_column_double(s, 2), "ns");
		ret = buf_printf(b, e, "The recording is %s: %s records in %s, ", worst, records,
				 time);
		if (ret == 0 && gone > 0)
			ret = buf_printf(b, e,
					 "but %s events (%.3g %%; %s) were lost between %.3f and "
					 "%.3f s, and answers that they touch are marked.",
					 lost, 100 * gone / (n + gone), text_of(s, 5),
					 sqlite3_column_double(s, 3) / 1e9,
					 sqlite3_column_double(s, 4) / 1e9);
		else if (ret == 0)
			ret = buf_printf(
				b, e, "none lost%s.",
				strcmp(worst, "TRUNCATED") == 0
					? ", but it was cut off: what came later is not known"
					: "");
	}
	sqlite3_finalize(s);
	return ret;
}

/* Recordings one after the other leave time of which nobody knows. */
static int say_gaps(struct buf *b, sqlite3 *db, struct err *e)
{
	char time[32];
	s64 ns = 0;
	int ret = db_int(db, &ns, e,
			 "SELECT coalesce(sum(dur), 0) FROM (SELECT DISTINCT ts, dur FROM loss"
			 " WHERE reason='gap')",
			 "");

	if (ret < 0 || !ns)
		return ret;
	number_text(time, sizeof(time), (double)ns, "ns");
	return buf_printf(b, e,
			  " For %s of that, between recordings that were merged, nothing was "
			  "recorded.",
			  time);
}

int verdict_make(struct buf *service, struct buf *complete, sqlite3 *db, struct err *e)
{
	bool any = false;
	int ret = say_register(db, e);

	if (ret == 0)
		ret = say_rate(service, db, e);

	if (ret == 0)
		ret = say_cause(service, db, &any, e);
	if (ret == 0 && !any)
		ret = say_none(service, db, e);
	if (ret == 0)
		ret = say_complete(complete, db, e);
	return ret < 0 ? ret : say_gaps(complete, db, e);
}
