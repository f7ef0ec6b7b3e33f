// SPDX-License-Identifier: GPL-2.0-or-later
/* The two sentences at the head of a report. */
#include "verdict.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/number.h"
#include "render.h"

#include <stdio.h>
#include <string.h>

#define ALIKE 1.02 /* times the usual ones: no slower than them */
#define SHARED                                                                                    \
	5 /* % of turns of several receives and sends, from which on they are not called requests \
	   */
#define QUEUED_LEAST 0.1 /* of the slow units' time: a wait before the receive that is told */

static const struct {
	const char *label, *says;
} labels[] = {
	{ "OBSERVED", "events name both ends" },
	{ "CAUSAL", "the wake-ups were seen" },
	{ "OVERLAP", "only the times agree" },
	{ "CORRELATED", "only the series move together" },
};

static const struct {
	const char *category, *says;
} categories[] = {
#define BAND(...)
#define CATEGORY(name, band, label, text) { #name, text },
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
};

static const char *says_category(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		if (strcmp(categories[i].category, name) == 0)
			return categories[i].says;
	return name;
}

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
	return db_text(s, i);
}

/* Turns are requests, unless their shape shows that several share one. */
static const char *says_rate(bool calls, double shared)
{
	if (calls)
		return " times a second";
	return shared > SHARED ? " exchanges a second (may hold several requests)"
			       : " requests a second";
}

/* "redis[9]:6379 answered 16,693 requests a second (95 % interval 15,456 to 17,930), 99 %
 * within 5.32 ms" */
static int say_rate(struct buf *b, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		/* "turns of redis[9]" is of redis[9], "turns of postgres (9 processes)" of postgres
		 */
		"WITH u AS (SELECT substr(unit, instr(unit, ' of ') + 4) AS name FROM cause"
		" ORDER BY rank, rowid LIMIT 1),"
		" w AS (SELECT substr(name, 1, CASE WHEN instr(name, '[') THEN instr(name, ']')"
		" WHEN instr(name, ' (') THEN instr(name, ' (') - 1 ELSE length(name) END) AS who FROM u)"
		" SELECT m.subject, m.name, m.value, m.low, m.high,"
		" p.value, n.value FROM metric m"
		" LEFT JOIN metric p ON p.analysis='rps' AND p.subject=m.subject AND p.name='p99'"
		" LEFT JOIN metric n ON n.analysis='rps' AND n.subject=m.subject AND n.name='N:N'"
		" WHERE m.analysis='rps' AND m.name IN ('requests', 'exchanges', 'calls') AND m.value > 0"
		/* the server that the cause is of, where one is known: the rest tells of it */
		" ORDER BY (SELECT substr(m.subject, 1, length(who))=who AND (who LIKE '%]' OR"
		" substr(m.subject, length(who) + 1, 1) IN ('[', ':', ' ')) FROM w) DESC,"
		" m.name='calls', m.n DESC, m.rowid LIMIT 1";
	char rate[32], low[32], high[32], p99[32];
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0) {
		bool calls = strcmp(text_of(s, 1), "calls") == 0;
		const char *says = says_rate(calls, sqlite3_column_double(s, 6));

		number_text(rate, sizeof(rate), sqlite3_column_double(s, 2), "");
		number_text(low, sizeof(low), sqlite3_column_double(s, 3), "");
		number_text(high, sizeof(high), sqlite3_column_double(s, 4), "");
		number_text(p99, sizeof(p99), sqlite3_column_double(s, 5), "ns");
		ret = buf_printf(b, e, "%s %s %s%s", text_of(s, 0), calls ? "returned" : "answered",
				 rate, says);
		if (ret == 0 && sqlite3_column_type(s, 3) != SQLITE_NULL)
			ret = buf_printf(b, e, " (95 %% interval %s to %s)", low, high);
		if (ret == 0 && sqlite3_column_double(s, 5) > 0)
			ret = buf_printf(b, e, ", 99 %% of them within %s%s", p99,
					 calls ? "" : " of being received");
	} else if (ret == 0) {
		ret = buf_printf(b, e, "No requests were seen that a rate could be told of");
	}
	sqlite3_finalize(s);
	return ret;
}

/* Windows of time are all as long: what differs is what they were spent on. */
static int say_windows(struct buf *b, sqlite3 *db, const char *unit, const char *n, bool compared,
		       struct err *e)
{
	static const char sql[] =
		"SELECT min(value) FILTER (WHERE name='from'), max(value) FILTER (WHERE name='to')"
		" FROM metric WHERE analysis='causes' AND"
		" instr(subject, ?1 || ': slow stretch ')=1";
	sqlite3_stmt *s;
	int ret;

	if (!compared)
		return buf_printf(b, e, "; %s: the time of its busiest thread (n = %s)", unit, n);
	ret = db_query(&s, db, e, sql, "s", unit);
	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0 && sqlite3_column_type(s, 0) != SQLITE_NULL)
		ret = buf_printf(
			b, e,
			"; %s changed: those in %.3f to %.3f s (found, n = %s) against the "
			"others",
			unit, sqlite3_column_double(s, 0) / 1e9, sqlite3_column_double(s, 1) / 1e9,
			n);
	else if (ret >= 0)
		ret = buf_printf(b, e, "; %s against those of the baseline (n = %s)", unit, n);
	sqlite3_finalize(s);
	return ret < 0 ? ret : 0;
}

/* Mean time of slow and of usual units, and how many there are. */
static int say_basis(struct buf *b, sqlite3 *db, const char *unit, bool *ret_alike, struct err *e)
{
	static const char sql[] =
		"SELECT total(value) FILTER (WHERE name='slow'), total(value) FILTER (WHERE name='usual'),"
		" max(n) FILTER (WHERE name='slow'), (SELECT value FROM metric WHERE analysis='causes' AND"
		" name='slow' AND subject=?1 || ': of it, before the receive') FROM metric"
		" WHERE analysis='causes' AND subject=?1 || ': whole'";
	bool windows = strncmp(unit, "windows of ", 11) == 0, compared;
	const char *with = "";
	char slow[32], usual[32], n[32];
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, sql, "s", unit);

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0) {
		number_text(slow, sizeof(slow), sqlite3_column_double(s, 0), "ns");
		number_text(usual, sizeof(usual), sqlite3_column_double(s, 1), "ns");
		number_text(n, sizeof(n), sqlite3_column_double(s, 2), "");
		compared = sqlite3_column_double(s, 1) > 0;
		if (sqlite3_column_double(s, 3) >= QUEUED_LEAST * sqlite3_column_double(s, 0))
			with = ", with the wait to be received";
		*ret_alike = !compared || (!windows && sqlite3_column_double(s, 0) <
							       ALIKE * sqlite3_column_double(s, 1));
		ret = windows	   ? say_windows(b, db, unit, n, compared, e)
		      : *ret_alike ? buf_printf(b, e, "; %s take %s on average%s (n = %s)", unit,
						slow, with, n)
				   : buf_printf(b, e, "; slow %s take %s instead of %s%s (n = %s)",
						unit, slow, usual, with, n);
	}
	sqlite3_finalize(s);
	return ret;
}

/* Who: the one behind all hops, else the culprit with its part of the time. */
static int say_culprit(struct buf *b, sqlite3_stmt *s, struct err *e)
{
	const char *culprit = text_of(s, 6), *behind = text_of(s, 9), *second = text_of(s, 10);
	double part = sqlite3_column_double(s, 7);
	bool itself = sqlite3_column_int(s, 8);

	if (*behind)
		return buf_printf(b, e, ", behind it mostly %s", behind);
	if (!*culprit)
		return 0;
	if (part <= 0)
		return buf_printf(b, e, ", because of %s", culprit);
	/* what it moved is known, not what waited for that */
	if (strcmp(text_of(s, 1), "disk") == 0)
		return buf_printf(b, e, ", while %.0f %% of the bytes were moved by %s%s",
				  100 * part, culprit, itself ? " itself" : "");
	return buf_printf(b, e, ", %s of it because of %s%s (%.0f %%%s%s)",
			  part >= 0.5 ? "most" : "the largest part", culprit,
			  itself ? " itself" : "", 100 * part, itself && *second ? "; " : "",
			  itself ? second : "");
}

static int say_cause(struct buf *b, sqlite3 *db, bool *ret_any, struct err *e)
{
	static const char sql[] =
		"SELECT unit, category, label, share, share_low, share_high, culprit,"
		" part, itself, behind, second FROM cause"
		" ORDER BY rank, rowid LIMIT 1";
	bool alike = false;
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	*ret_any = ret > 0;
	if (ret > 0) {
		const char *label = text_of(s, 2);

		ret = say_basis(b, db, text_of(s, 0), &alike, e);
		if (ret == 0)
			ret = buf_printf(b, e, "; %.0f %%", 100 * sqlite3_column_double(s, 3));
		if (ret == 0 && sqlite3_column_type(s, 4) != SQLITE_NULL)
			ret = buf_printf(b, e, " (95 %% interval %.0f to %.0f)",
					 100 * sqlite3_column_double(s, 4),
					 100 * sqlite3_column_double(s, 5));
		if (ret == 0)
			ret = buf_printf(b, e, " of %s is %s", alike ? "that" : "the difference",
					 says_category(text_of(s, 1)));
		if (ret == 0)
			ret = say_culprit(b, s, e);
		if (ret == 0)
			ret = buf_printf(b, e, " [%s: %s].", label, says_label(label));
	}
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
	int ret = say_rate(service, db, e);

	if (ret == 0)
		ret = say_cause(service, db, &any, e);
	if (ret == 0 && !any)
		ret = say_none(service, db, e);
	if (ret == 0)
		ret = say_complete(complete, db, e);
	return ret < 0 ? ret : say_gaps(complete, db, e);
}
