// SPDX-License-Identifier: GPL-2.0-or-later
/* What the comparison means, as sentences in table finding, from the rows of the other tables. */
#include "compare.h"

#include "analyze/base/number.h"
#include "analyze/store/finding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAMED_MOST 4
#define TIMES_FROM 3	/* larger ratios are told as such */
#define PART_LEAST 0.05 /* of the difference: smaller parts are not named */

static int put(sqlite3 *db, int severity, const char *label, const char *text, const char *sql,
	       struct err *e)
{
	struct value values[] = { VALUE_TEXT("text", text), { 0 } };
	struct finding f = { FINDING_text, severity, OBSERVED, .sql = sql, .values = values };

	while (f.evidence < LIMIT && strcmp(evidence_names[f.evidence], label) != 0)
		f.evidence++;
	return finding_put(db, "compare", &f, NULL, e);
}

static int count(sqlite3 *db, s64 *ret, const char *verdicts, struct err *e)
{
	return db_int(db, ret, e,
		      "SELECT count(*) FROM change WHERE instr(?, '|' || verdict || '|')", "s",
		      verdicts);
}

/* "turn p50 +10.2 % (+8.1 to +12.4)", or "errors 158 times (10 to 2548)" */
static int name_ratio(struct buf *out, sqlite3_stmt *q, struct err *e)
{
	double v[3];
	int i;

	for (i = 0; i < 3; i++)
		v[i] = sqlite3_column_double(q, 2 + i);
	if (v[0] >= TIMES_FROM)
		return buf_printf(out, e, "%s %s %.0f times (%.0f to %.0f)", db_text(q, 0),
				  db_text(q, 1), v[0], v[1], v[2]);
	return buf_printf(out, e, "%s %s %+.1f %% (%+.1f to %+.1f)", db_text(q, 0), db_text(q, 1),
			  100 * (v[0] - 1), 100 * (v[1] - 1), 100 * (v[2] - 1));
}

/* The first few rows with these verdicts. */
static int name_rows(struct buf *out, sqlite3 *db, const char *verdicts, struct err *e)
{
	sqlite3_stmt *q;
	s64 all = 0;
	int n = 0, ret = count(db, &all, verdicts, e);

	if (ret == 0)
		ret = db_query(&q, db, e,
			       "SELECT subject, name, ratio, low, high FROM change"
			       " WHERE instr(?, '|' || verdict || '|') ORDER BY rowid LIMIT ?",
			       "si", verdicts, (s64)NAMED_MOST);
	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(q, e)) > 0) {
		ret = n++ ? buf_printf(out, e, "; ") : 0;
		if (ret == 0)
			ret = name_ratio(out, q, e);
	}
	sqlite3_finalize(q);
	if (ret == 0 && all > n)
		ret = buf_printf(out, e, "; and %lld more", (long long)all - n);
	return ret;
}

static int say_verdict(sqlite3 *db, double threshold, struct err *e)
{
	s64 slower = 0, faster = 0, other = 0, same = 0, unsure = 0, all = 0;
	struct buf text = { 0 };
	int ret = count(db, &slower, "|slower|", e);

	if (ret == 0)
		ret = count(db, &faster, "|faster|", e);
	if (ret == 0)
		ret = count(db, &other, "|more|less|", e);
	if (ret == 0)
		ret = count(db, &same, "|equivalent|", e);
	if (ret == 0)
		ret = count(db, &unsure, "|inconclusive|no data|", e);
	all = slower + faster + other + same + unsure;
	if (ret == 0)
		ret = buf_printf(&text, e, "%s",
				 slower && faster ? "Slower in some, faster in others: "
				 : slower	  ? "Slower: "
				 : faster	  ? "Faster: "
				 : !all		  ? "Nothing could be compared"
				 : same == all	  ? "Equivalent"
				 : unsure == all
					 ? "Inconclusive: these recordings can tell neither that "
					   "anything changed nor that nothing did"
					 : "No change was found");
	if (ret == 0 && (slower || faster))
		ret = name_rows(&text, db, "|slower|faster|", e);
	if (ret == 0 && other)
		ret = buf_printf(&text, e, ". Changed: ");
	if (ret == 0 && other)
		ret = name_rows(&text, db, "|more|less|", e);
	if (ret == 0)
		ret = buf_printf(
			&text, e,
			". Of %lld metrics %lld are equivalent within %.3g %%, %lld inconclusive.",
			(long long)all, (long long)same, 100 * threshold, (long long)unsure);
	if (ret == 0)
		ret = put(db,
			  slower	    ? 2
			  : faster || other ? 1
					    : 0,
			  "OBSERVED", text.data, "SELECT * FROM change", e);
	buf_free(&text);
	return ret;
}

/* "+1.50 ms (+1.30 ms to +1.70 ms)" */
static int add_time(struct buf *out, sqlite3_stmt *q, int column, struct err *e)
{
	char text[3][32];
	int i;

	for (i = 0; i < 3; i++)
		number_text(text[i], sizeof(text[i]), sqlite3_column_double(q, column + i), "ns");
	return buf_printf(out, e, "%s%s (%s%s to %s%s)",
			  sqlite3_column_double(q, column) > 0 ? "+" : "", text[0],
			  sqlite3_column_double(q, column + 1) > 0 ? "+" : "", text[1],
			  sqlite3_column_double(q, column + 2) > 0 ? "+" : "", text[2]);
}

/* The parts of one subject, largest first. */
static int add_parts(struct buf *out, sqlite3 *db, const char *subject, double whole, struct err *e)
{
	sqlite3_stmt *q;
	int n = 0, ret = db_query(&q, db, e,
				  "SELECT diff, low, high, says FROM excess WHERE subject=? AND"
				  " category<>'all' AND abs(diff) >= ? AND low * high > 0"
				  " ORDER BY abs(diff) DESC LIMIT ?",
				  "sdi", subject, PART_LEAST * fabs(whole), (s64)NAMED_MOST);

	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(q, e)) > 0) {
		ret = buf_printf(out, e, "%s", n++ ? ", " : ": ");
		if (ret == 0)
			ret = add_time(out, q, 0, e);
		if (ret == 0)
			ret = buf_printf(out, e, " %s", db_text(q, 3));
	}
	sqlite3_finalize(q);
	return ret;
}

/* Where the difference of a unit of work went. */
static int say_excess(sqlite3 *db, struct err *e)
{
	sqlite3_stmt *q;
	struct buf text = { 0 };
	int ret = db_query(&q, db, e,
			   "SELECT diff, low, high, subject FROM excess WHERE category='all' AND"
			   " low * high > 0 AND subject NOT LIKE 'windows of %' ORDER BY rowid",
			   "");

	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(q, e)) > 0) {
		const char *subject = db_text(q, 3);

		buf_clear(&text);
		ret = buf_printf(&text, e, "The mean of %s: ", subject);
		if (ret == 0)
			ret = add_time(&text, q, 0, e);
		if (ret == 0)
			ret = add_parts(&text, db, subject, sqlite3_column_double(q, 0), e);
		if (ret == 0)
			ret = buf_printf(&text, e, ".");
		if (ret == 0)
			ret = put(db, 1, "OBSERVED", text.data, "SELECT * FROM excess", e);
	}
	sqlite3_finalize(q);
	buf_free(&text);
	return ret;
}

static int say_only(sqlite3 *db, const struct sides *s, int side, struct err *e)
{
	const struct measured *here = &s->of[side][0], *there = &s->of[!side][0];
	struct buf text = { 0 };
	size_t i, n = 0;
	int ret = 0;

	for (i = 0; i < here->n_samples && ret == 0; i++) {
		const struct sample *x = &here->samples[i];

		if (x->metric == COMPARE_errors || compare_metrics[x->metric].quantile > 0.5 ||
		    compare_find(there, x->subject, x->metric))
			continue;
		ret = buf_printf(&text, e, "%s%s (%s)",
				 n++	? ", "
				 : side ? "Only after: "
					: "Only before: ",
				 x->subject, compare_metrics[x->metric].name);
	}
	if (ret == 0 && n)
		ret = buf_printf(&text, e, "; these are not compared.");
	if (ret == 0 && n)
		ret = put(db, 1, "LIMIT", text.data, NULL, e);
	buf_free(&text);
	return ret;
}

/* What is not alike. */
static int say_unlike(sqlite3 *db, struct err *e)
{
	sqlite3_stmt *q;
	struct buf text = { 0 };
	int ret = db_query(
		&q, db, e,
		"SELECT sentence, what, before, after, verdict='refused' FROM comparability"
		" WHERE verdict<>'alike' ORDER BY verdict='refused' DESC, rowid",
		"");

	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(q, e)) > 0) {
		buf_clear(&text);
		ret = buf_printf(&text, e, "%s: %s (%s: %s before, %s after).",
				 sqlite3_column_int(q, 4) ? "Compared only by --force"
							  : "Not alike",
				 db_text(q, 0), db_text(q, 1), db_text(q, 2), db_text(q, 3));
		if (ret == 0)
			ret = put(db, 1, "LIMIT", text.data, "SELECT * FROM comparability", e);
	}
	sqlite3_finalize(q);
	buf_free(&text);
	return ret;
}

int compare_say(sqlite3 *db, const struct sides *s, double threshold, struct err *e)
{
	int ret = say_verdict(db, threshold, e);

	if (ret == 0)
		ret = say_excess(db, e);
	if (ret == 0)
		ret = say_unlike(db, e);
	if (ret == 0)
		ret = say_only(db, s, 0, e);
	if (ret == 0)
		ret = say_only(db, s, 1, e);
	if (ret < 0)
		return ret;
	if (s->n[0] == 1)
		return put(db, 0, "LIMIT",
			   "Two recordings cannot show run-to-run variation: repeat, 5 or more "
			   "recordings a side (--before, --after), before calling it a regression.",
			   NULL, e);
	if (s->n[0] < 5 || s->n[1] < 5)
		return put(db, 0, "LIMIT",
			   "Fewer than 5 recordings a side: only large changes can be told from "
			   "run-to-run variation.",
			   NULL, e);
	return 0;
}
