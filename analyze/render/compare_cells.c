// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of a comparison as cells, its findings as labelled lines. */
#include "compare_cells.h"

#include "analyze/base/number.h"
#include "analyze/store/finding.h"
#include "format/escape.h"
#include "render.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_OF "%.3g"

struct drawing {
	sqlite3 *db;
	cells_draw_fn draw;
	void *arg;
	struct err *e;
};

static void cell(struct cells *t, int column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void cell(struct cells *t, int column, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->cells[t->rows][column], CELL_SIZE, fmt, ap);
	va_end(ap);
}

/* Fills the table from a query, draws it if it has rows. */
static int section(const struct drawing *d, const char *id, const char *title,
		   const char *const *head, int left, const char *sql,
		   void (*fill)(struct cells *t, sqlite3_stmt *q))
{
	struct cells *t = calloc(1, sizeof(*t));
	sqlite3_stmt *q = NULL;
	int c, ret = t ? db_query(&q, d->db, d->e, sql, "")
		       : err_set(d->e, ERR_FAIL, "out of memory for a table");

	if (ret < 0)
		goto out;
	for (c = 0; head[c]; c++)
		snprintf(t->cells[0][c], CELL_SIZE, "%s", head[c]);
	t->id = id;
	t->title = title;
	t->columns = c;
	t->left = left;
	t->rows = 1;
	while (t->rows < CELL_ROWS && (ret = db_step(q, d->e)) > 0) {
		fill(t, q);
		t->rows++;
	}
	if (ret >= 0 && t->rows > 1)
		ret = d->draw(d->arg, t, d->e);
out:
	sqlite3_finalize(q);
	free(t);
	return ret < 0 ? ret : 0;
}

static const char *text_of(sqlite3_stmt *q, int c)
{
	return db_text(q, c);
}

static double number_of(sqlite3_stmt *q, int c)
{
	return sqlite3_column_type(q, c) == SQLITE_NULL ? NAN : sqlite3_column_double(q, c);
}

static void value(struct cells *t, int column, sqlite3_stmt *q, int from, const char *unit)
{
	char text[64];
	double v = number_of(q, from);

	number_text(text, sizeof(text), v, unit);
	if (strcmp(unit, "%") == 0 && !isnan(v))
		snprintf(text, sizeof(text), DIGITS_OF " %%", v);
	cell(t, column, "%s", text);
}

/* "+12.0 us (+10.1 us..+14.0 us)" */
static void moved(struct cells *t, int column, sqlite3_stmt *q, int from)
{
	char text[3][32];
	int i;

	for (i = 0; i < 3; i++)
		number_text(text[i], sizeof(text[i]), number_of(q, from + i), "ns");
	if (isnan(number_of(q, from + 1)))
		cell(t, column, "%s", text[0]);
	else
		cell(t, column, "%s%s (%s%s..%s%s)", number_of(q, from) > 0 ? "+" : "", text[0],
		     number_of(q, from + 1) > 0 ? "+" : "", text[1],
		     number_of(q, from + 2) > 0 ? "+" : "", text[2]);
}

/* "x1.49 (1.43..1.55)"; what is not finite is left out. */
static void ratio(struct cells *t, int column, sqlite3_stmt *q, int from)
{
	char text[3][32];
	bool precise[3];
	int i;

	for (i = 0; i < 3; i++)
		precise[i] = factor_text(text[i], sizeof(text[i]), number_of(q, from + i));
	if (!isnan(number_of(q, from + 2)))
		cell(t, column, "%sx%s (%s%s..%s%s)", precise[0] ? "" : "> ", text[0],
		     precise[1] ? "" : ">", text[1], precise[2] ? "" : ">", text[2]);
	else if (number_of(q, from + 1) >= 1)
		cell(t, column, "> x%s", text[1]);
	else
		cell(t, column, "-"); /* from none: any factor */
}

static void fill_change(struct cells *t, sqlite3_stmt *q)
{
	const char *unit = text_of(q, 2), *note = text_of(q, 9);

	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 1));
	value(t, 2, q, 3, unit);
	value(t, 3, q, 4, unit);
	if (isnan(number_of(q, 6)))
		cell(t, 4, "-");
	else
		ratio(t, 4, q, 5);
	if (*note && strcmp(text_of(q, 8), "too few") == 0)
		cell(t, 5, "%s", note);
	else
		cell(t, 5, "%s%s%s", text_of(q, 8), *note ? ": " : "", note);
}

static void fill_samples(struct cells *t, sqlite3_stmt *q)
{
	char n[32], eff[32];
	int side;

	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 1));
	for (side = 0; side < 2; side++) {
		number_text(n, sizeof(n), floor(number_of(q, 2 + side)), "");
		number_text(eff, sizeof(eff), floor(number_of(q, 4 + side)), "");
		cell(t, 2 + 2 * side, "%s", n);
		if (isnan(number_of(q, 4 + side)))
			cell(t, 3 + 2 * side, "%lld", sqlite3_column_int64(q, 6 + side));
		else
			cell(t, 3 + 2 * side, "%s, %lld", eff, sqlite3_column_int64(q, 6 + side));
	}
	if (isnan(number_of(q, 8)))
		cell(t, 6, "-");
	else
		cell(t, 6, number_of(q, 8) < 0.0001 ? "<0.0001" : "%.4f", number_of(q, 8));
}

static void fill_excess(struct cells *t, sqlite3_stmt *q)
{
	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 1));
	value(t, 2, q, 2, "ns");
	value(t, 3, q, 3, "ns");
	moved(t, 4, q, 4);
}

static void fill_shift(struct cells *t, sqlite3_stmt *q)
{
	cell(t, 0, "%s, %s", text_of(q, 0), text_of(q, 1));
	cell(t, 1, "p%.4g", 100 * number_of(q, 2));
	value(t, 2, q, 3, "ns");
	value(t, 3, q, 4, "ns");
	moved(t, 4, q, 5);
}

static void fill_check(struct cells *t, sqlite3_stmt *q)
{
	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 3));
	cell(t, 2, "%.60s", text_of(q, 1));
	cell(t, 3, "%.60s", text_of(q, 2));
}

int compare_recording(struct buf *line, sqlite3_stmt *q, struct err *e)
{
	char time[32], seen[32], lost[32];

	number_text(time, sizeof(time), number_of(q, 2), "ns");
	number_text(seen, sizeof(seen), number_of(q, 3), "");
	number_text(lost, sizeof(lost), number_of(q, 4), "");
	buf_printf(line, e, "%s: ", strcmp(text_of(q, 0), "after") ? "Before" : "After");
	escape_add(line, ESCAPE_TEXT, text_of(q, 1), strlen(text_of(q, 1)), e);
	return buf_printf(line, e, ": %s, %s records, %s lost%s", time, seen,
			  number_of(q, 4) > 0 ? lost : "0",
			  sqlite3_column_int(q, 5) ? "" : ", truncated or damaged");
}

static const struct {
	enum finding_kind kind;
	struct compare_line line;
} lines[] = {
	{ FINDING_compare_throughput_fell, { LINE_VERDICT, "THROUGHPUT FELL", "bad", NULL } },
	{ FINDING_compare_slower, { LINE_VERDICT, "SLOWER", "bad", NULL } },
	{ FINDING_compare_faster, { LINE_VERDICT, "FASTER", "good", NULL } },
	{ FINDING_compare_mix, { LINE_VERDICT, "ANOTHER MIX", "warn", NULL } },
	{ FINDING_compare_throughput_rose, { LINE_VERDICT, "THROUGHPUT ROSE", "warn", NULL } },
	{ FINDING_compare_more_errors, { LINE_VERDICT, "MORE ERRORS", "bad", NULL } },
	{ FINDING_compare_fewer_errors, { LINE_VERDICT, "FEWER ERRORS", "good", NULL } },
	{ FINDING_compare_no_change, { LINE_VERDICT, "NO CHANGE", "good", NULL } },
	{ FINDING_compare_inconclusive, { LINE_VERDICT, "INCONCLUSIVE", "", NULL } },
	{ FINDING_compare_nothing, { LINE_VERDICT, "INCONCLUSIVE", "", NULL } },
	{ FINDING_compare_pauses, { LINE_VERDICT, "PAUSES", "warn", NULL } },
	{ FINDING_compare_episodes, { LINE_VERDICT, "SLOW EPISODES", "warn", NULL } },
	{ FINDING_compare_pause_cause, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_added, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_function_more, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_waits_more, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_waits_less, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_function_less, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_saved, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_not_explained, { LINE_WHY, "WHY", "", NULL } },
	{ FINDING_compare_load_ratios, { LINE_WHY, "LOAD", "", NULL } },
	{ FINDING_compare_saturated, { LINE_WHY, "LOAD", "warn", NULL } },
};

static struct compare_line line_of(const char *kind)
{
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strcmp(finding_names[lines[i].kind], kind) == 0)
			return lines[i].line;
	return (struct compare_line){ LINE_NOTE, "NOTE", "", NULL };
}

int compare_lines(sqlite3 *db, enum line_rank rank, compare_line_fn fn, void *arg, struct err *e)
{
	struct compare_line line;
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e,
			   "SELECT kind, sentence(id) FROM finding ORDER BY severity DESC, id", "");

	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		line = line_of(text_of(q, 0));
		line.text = text_of(q, 1);
		if (line.rank == rank)
			ret = fn(arg, &line, e);
	}
	return db_end(q, ret);
}

/* Of the service whose change matters most; without services the first rows. */
#define KEY_OF "(SELECT comm FROM change WHERE kind='service' ORDER BY rowid LIMIT 1)"
#define KEY_ROWS                                                                              \
	"SELECT '', name, unit, before, after, ratio, low, high, verdict, ''"                 \
	" FROM change WHERE kind<>'request' AND comm=" KEY_OF                                 \
	" AND name IN ('request p50', 'request p90', 'request p99', 'request p99.9',"         \
	" 'request max', 'service time p50', 'CPU per request', 'requests per second',"       \
	" 'idle share', 'pauses', 'slow episodes')"                                           \
	" ORDER BY CASE name WHEN 'CPU per request' THEN 3 WHEN 'requests per second' THEN 4" \
	" WHEN 'idle share' THEN 5 WHEN 'pauses' THEN 6 WHEN 'slow episodes' THEN 7 WHEN"     \
	" 'service time p50' THEN 2 WHEN 'request max' THEN 1 ELSE 0 END, name LIMIT 12"
#define FIRST_ROWS                                                                               \
	"SELECT '', subject || ', ' || name, unit, before, after, ratio, low, high, verdict, ''" \
	" FROM change WHERE " KEY_OF " IS NULL ORDER BY rowid LIMIT 10"

static void fill_key(struct cells *t, sqlite3_stmt *q)
{
	int c;

	fill_change(t, q);
	for (c = 0; c < t->columns; c++)
		memmove(t->cells[t->rows][c], t->cells[t->rows][c + 1], CELL_SIZE);
}

/* Those that changed, and the largest of the others. */
#define FUNCTION_ROWS                                                                     \
	"SELECT comm, function, before, after, diff, low, high, verdict, wait"            \
	" FROM function_change ORDER BY verdict='inconclusive', max(before, after) DESC," \
	" rowid LIMIT 40"

static void fill_functions(struct cells *t, sqlite3_stmt *q)
{
	const char *function = text_of(q, 1);
	struct buf name = { 0 };
	struct err e = { 0 };

	if (escape_add(&name, ESCAPE_TEXT, function, strlen(function), &e) == 0)
		cell(t, 0, "%s %s%s", text_of(q, 0), sqlite3_column_int(q, 8) ? "waits: " : "",
		     name.len ? name.data : "");
	buf_free(&name);
	value(t, 1, q, 2, "ns");
	value(t, 2, q, 3, "ns");
	moved(t, 3, q, 4);
	cell(t, 4, "%s", text_of(q, 7));
}

static int other_cells(const struct drawing *d, double threshold)
{
	static const char *const change[] = { "subject",	 "metric",  "before", "after",
					      "ratio (95 % CI)", "verdict", NULL };
	static const char *const excess[] = { "subject",	 "time", "before", "after",
					      "added (95 % CI)", NULL };
	static const char *const functions[] = { "function",	    "before",  "after",
						 "added (95 % CI)", "verdict", NULL };
	static const char *const shift[] = { "durations", "quantile",	     "before",
					     "after",	  "added (95 % CI)", NULL };
	static const char *const samples[] = { "subject",	"metric",  "n before",
					       "eff., windows", "n after", "eff., windows",
					       "p (Holm)",	NULL };
	static const char *const check[] = { "", "verdict", "before", "after", NULL };
	char title[100];
	s64 judged = 0;
	int ret = db_int(d->db, &judged, d->e, "SELECT count(p) FROM change", "");

	snprintf(title, sizeof(title), "All metrics (threshold %.3g %%, Holm over %lld metrics)",
		 100 * threshold, (long long)judged);
	if (ret == 0)
		ret = section(
			d, "changes", title, change, 2,
			"SELECT subject, name, unit, before, after, ratio, low, high, verdict,"
			" note FROM change ORDER BY rowid",
			fill_change);
	if (ret == 0)
		ret = section(d, "where", "Mean time per request, call or window", excess, 2,
			      "SELECT subject, says, before, after, diff, low, high FROM excess"
			      " ORDER BY rowid",
			      fill_excess);
	if (ret == 0)
		ret = section(d, "functions",
			      "CPU time and waits per request by function (p: Holm)", functions, 1,
			      FUNCTION_ROWS, fill_functions);
	if (ret == 0)
		ret = section(d, "moved", "Durations by quantile (shift function)", shift, 2,
			      "SELECT subject, what, q, before, after, diff, low, high FROM shift"
			      " ORDER BY rowid",
			      fill_shift);
	if (ret == 0)
		ret = section(d, "samples", "Sample sizes", samples, 2,
			      "SELECT subject, name, n_before, n_after, eff_before, eff_after,"
			      " units_before, units_after, p FROM change ORDER BY rowid",
			      fill_samples);
	if (ret == 0)
		ret = section(d, "comparable", "Comparability", check, 4,
			      "SELECT what, before, after, verdict FROM comparability"
			      " ORDER BY rowid",
			      fill_check);
	return ret;
}

int compare_cells(sqlite3 *db, double threshold, bool all, cells_draw_fn draw, void *arg,
		  struct err *e)
{
	static const char *const key[] = { "metric",	      "before",	 "after",
					   "ratio (95 % CI)", "verdict", NULL };
	const struct drawing d = { db, draw, arg, e };
	int ret = section(&d, "key", "Key metrics", key, 1, KEY_ROWS, fill_key);

	if (ret == 0)
		ret = section(&d, "key", "Key metrics", key, 1, FIRST_ROWS, fill_key);
	return ret < 0 || !all ? ret : other_cells(&d, threshold);
}
