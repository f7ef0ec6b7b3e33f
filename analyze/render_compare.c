// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison as text, Markdown or JSON. It knows the tables that compare fills, nothing else. */
#include "render.h"

#include "format/escape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOLD	  "\033[1m"
#define PLAIN	  "\033[0m"
#define COLUMNS	  7
#define ROWS_MOST 600
#define CELL	  200
#define DIGITS_OF "%.3g"

struct page {
	struct buf *out;
	sqlite3 *db;
	const struct render_options *o;
	bool markdown;
	struct err *e;
};

struct table {
	char cells[ROWS_MOST][COLUMNS][CELL]; /* row 0: the head; as they are shown */
	int rows, columns;
	int left; /* columns that are words, at the left */
};

static int add_text(struct page *p, struct buf *to, const char *text)
{
	return escape_add(to, p->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, text, strlen(text),
			  p->e);
}

static int heading(struct page *p, const char *text)
{
	if (p->markdown)
		return buf_printf(p->out, p->e, "\n## %s\n\n", text);
	return buf_printf(p->out, p->e, "\n%s%s%s\n", p->o->colour ? BOLD : "", text,
			  p->o->colour ? PLAIN : "");
}

/* Words in lines of the terminal's width; in Markdown a line of a list. */
static int paragraph(struct page *p, const char *text)
{
	int at = 0, ret = 0;
	size_t n;

	if (p->markdown) {
		ret = buf_printf(p->out, p->e, "- ");
		if (ret == 0)
			ret = add_text(p, p->out, text);
		return ret < 0 ? ret : buf_printf(p->out, p->e, "\n");
	}
	for (; *text && ret == 0; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		if (at > 2 && at + 1 + (int)n > p->o->width) {
			ret = buf_printf(p->out, p->e, "\n  ");
			at = 2;
		} else if (at > 2) {
			ret = buf_printf(p->out, p->e, " ");
			at++;
		}
		if (ret == 0)
			ret = buf_add(p->out, text, n, p->e);
		at += n + (at == 0 ? 2 : 0);
	}
	return ret < 0 ? ret : buf_printf(p->out, p->e, "\n");
}

static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void cell(struct table *t, int column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void cell(struct table *t, int column, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->cells[t->rows][column], CELL, fmt, ap);
	va_end(ap);
}

static int draw_markdown(struct page *p, const struct table *t)
{
	int r, c, ret = 0;

	for (r = 0; r < t->rows && ret == 0; r++) {
		for (c = 0; c < t->columns && ret == 0; c++) {
			ret = buf_printf(p->out, p->e, c ? " | " : "| ");
			if (ret == 0)
				ret = add_text(p, p->out, t->cells[r][c]);
		}
		if (ret == 0)
			ret = buf_printf(p->out, p->e, " |\n");
		for (c = 0; c < t->columns && ret == 0 && r == 0; c++)
			ret = buf_printf(p->out, p->e, c < t->left ? "|---" : "|---:");
		if (ret == 0 && r == 0)
			ret = buf_printf(p->out, p->e, "|\n");
	}
	return ret;
}

/* What the first column of figures is about stands on a line of its own where it changes. */
static int draw_text(struct page *p, const struct table *t)
{
	int width[COLUMNS] = { 0 }, r, c, w, pad, ret = 0;
	bool grouped = t->left < t->columns;
	bool words_last = strcmp(t->cells[0][t->columns - 1], "verdict") == 0;
	const char *group = "";

	for (r = 0; r < t->rows; r++)
		for (c = 0; c < t->columns; c++) {
			w = width_of(t->cells[r][c]);
			width[c] = w > width[c] ? w : width[c];
		}
	for (r = 0; r < t->rows && ret == 0; r++) {
		if (r && grouped && strcmp(group, t->cells[r][0]) != 0)
			ret = buf_printf(p->out, p->e, "%s\n", t->cells[r][0]);
		group = r ? t->cells[r][0] : "";
		for (c = grouped; c < t->columns && ret == 0; c++) {
			pad = width[c] - width_of(t->cells[r][c]);
			if (c == t->columns - 1 && (c < t->left || words_last))
				pad = 0;
			ret = buf_printf(p->out, p->e,
					 c < t->left ? "  %2$s%1$*3$s" : "  %1$*3$s%2$s", "",
					 t->cells[r][c], pad);
		}
		while (p->out->len && p->out->data[p->out->len - 1] == ' ')
			p->out->data[--p->out->len] = '\0';
		if (ret == 0)
			ret = buf_printf(p->out, p->e, "\n");
	}
	return ret;
}

/* Fills the table from a query, draws it if it has rows. */
static int section(struct page *p, const char *title, const char *const *head, int left,
		   const char *sql, void (*fill)(struct table *t, sqlite3_stmt *q))
{
	struct table *t = calloc(1, sizeof(*t));
	sqlite3_stmt *q = NULL;
	int c, ret = t ? db_query(&q, p->db, p->e, sql, "")
		       : err_set(p->e, ERR_FAIL, "out of memory for a table");

	if (ret < 0)
		goto out;
	for (c = 0; head[c]; c++)
		snprintf(t->cells[0][c], CELL, "%s", head[c]);
	t->columns = c;
	t->left = left;
	t->rows = 1;
	while (t->rows < ROWS_MOST && (ret = db_step(q, p->e)) > 0) {
		fill(t, q);
		t->rows++;
	}
	if (ret >= 0 && t->rows > 1) {
		ret = heading(p, title);
		if (ret == 0)
			ret = p->markdown ? draw_markdown(p, t) : draw_text(p, t);
	}
out:
	sqlite3_finalize(q);
	free(t);
	return ret < 0 ? ret : 0;
}

static const char *text_of(sqlite3_stmt *q, int c)
{
	const char *text = (const char *)sqlite3_column_text(q, c);

	return text ? text : "";
}

static double number_of(sqlite3_stmt *q, int c)
{
	return sqlite3_column_type(q, c) == SQLITE_NULL ? NAN : sqlite3_column_double(q, c);
}

static void value(struct table *t, int column, sqlite3_stmt *q, int from, const char *unit)
{
	char text[64];
	double v = number_of(q, from);

	render_number(text, sizeof(text), v, unit);
	if (strcmp(unit, "%") == 0 && !isnan(v))
		snprintf(text, sizeof(text), DIGITS_OF " %%", v);
	cell(t, column, "%s", text);
}

/* "+12.0 us (+10.1 us .. +14.0 us)" */
static void moved(struct table *t, int column, sqlite3_stmt *q, int from)
{
	char text[3][32];
	int i;

	for (i = 0; i < 3; i++)
		render_number(text[i], sizeof(text[i]), number_of(q, from + i), "ns");
	if (isnan(number_of(q, from + 1)))
		cell(t, column, "%s", text[0]);
	else
		cell(t, column, "%s%s (%s%s .. %s%s)", number_of(q, from) > 0 ? "+" : "", text[0],
		     number_of(q, from + 1) > 0 ? "+" : "", text[1],
		     number_of(q, from + 2) > 0 ? "+" : "", text[2]);
}

static void fill_change(struct table *t, sqlite3_stmt *q)
{
	const char *unit = text_of(q, 2), *note = text_of(q, 9);

	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 1));
	value(t, 2, q, 3, unit);
	value(t, 3, q, 4, unit);
	if (isnan(number_of(q, 6)))
		cell(t, 4, "-");
	else
		cell(t, 4, "%.3f (%.3f .. %.3f)", number_of(q, 5), number_of(q, 6),
		     number_of(q, 7));
	cell(t, 5, "%s%s%s", text_of(q, 8), *note ? ": " : "", note);
}

static void fill_samples(struct table *t, sqlite3_stmt *q)
{
	char n[32], eff[32];
	int side;

	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 1));
	for (side = 0; side < 2; side++) {
		render_number(n, sizeof(n), floor(number_of(q, 2 + side)), "");
		render_number(eff, sizeof(eff), floor(number_of(q, 4 + side)), "");
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

static void fill_excess(struct table *t, sqlite3_stmt *q)
{
	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 1));
	value(t, 2, q, 2, "ns");
	value(t, 3, q, 3, "ns");
	moved(t, 4, q, 4);
}

static void fill_shift(struct table *t, sqlite3_stmt *q)
{
	cell(t, 0, "%s of %s", text_of(q, 1), text_of(q, 0));
	cell(t, 1, "p%.4g", 100 * number_of(q, 2));
	value(t, 2, q, 3, "ns");
	value(t, 3, q, 4, "ns");
	moved(t, 4, q, 5);
}

static void fill_check(struct table *t, sqlite3_stmt *q)
{
	cell(t, 0, "%s", text_of(q, 0));
	cell(t, 1, "%s", text_of(q, 3));
	cell(t, 2, "%.60s", text_of(q, 1));
	cell(t, 3, "%.60s", text_of(q, 2));
}

static int head(struct page *p)
{
	sqlite3_stmt *q;
	char time[32], seen[32], lost[32];
	struct buf line = { 0 };
	int ret = db_query(&q, p->db, p->e,
			   "SELECT side, file, duration, seen, lost, whole FROM compared"
			   " ORDER BY side DESC, number",
			   "");

	if (ret == 0 && p->markdown)
		ret = buf_printf(p->out, p->e, "# Comparison\n\n");
	while (ret == 0 && (ret = db_step(q, p->e)) > 0) {
		render_number(time, sizeof(time), number_of(q, 2), "ns");
		render_number(seen, sizeof(seen), number_of(q, 3), "");
		render_number(lost, sizeof(lost), number_of(q, 4), "");
		buf_clear(&line);
		ret = buf_printf(&line, p->e,
				 "%s: ", strcmp(text_of(q, 0), "after") ? "Before" : "After");
		if (ret == 0)
			ret = escape_add(&line, ESCAPE_TEXT, text_of(q, 1), strlen(text_of(q, 1)),
					 p->e);
		if (ret == 0)
			ret = buf_printf(&line, p->e, ": %s, %s events, %s lost%s", time, seen,
					 number_of(q, 4) > 0 ? lost : "none",
					 sqlite3_column_int(q, 5) ? "" : ", cut or damaged");
		if (ret == 0)
			ret = paragraph(p, line.data);
	}
	sqlite3_finalize(q);
	buf_free(&line);
	return ret;
}

static int sentences(struct page *p)
{
	sqlite3_stmt *q;
	int ret = heading(p, "Verdict");

	if (ret == 0)
		ret = db_query(&q, p->db, p->e, "SELECT sentence FROM finding ORDER BY rowid", "");
	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(q, p->e)) > 0)
		ret = paragraph(p, text_of(q, 0));
	sqlite3_finalize(q);
	return ret;
}

static int sections(struct page *p, const char *title)
{
	static const char *const change[] = {
		"subject", "metric", "before", "after", "ratio (95 % interval)", "verdict", NULL
	};
	static const char *const excess[] = {
		"unit", "time", "before", "after", "more (95 % interval)", NULL
	};
	static const char *const shift[] = {
		"durations", "quantile", "before", "after", "more (95 % interval)", NULL
	};
	static const char *const samples[] = { "subject",	"metric",  "n before",
					       "eff., windows", "n after", "eff., windows",
					       "p (Holm)",	NULL };
	static const char *const check[] = { "", "verdict", "before", "after", NULL };
	int ret =
		section(p, title, change, 2,
			"SELECT subject, name, unit, before, after, ratio, low, high, verdict, note"
			" FROM change ORDER BY rowid",
			fill_change);

	if (ret == 0)
		ret = section(p, "Where the time of a unit of work went (means)", excess, 2,
			      "SELECT subject, says, before, after, diff, low, high FROM excess"
			      " ORDER BY rowid",
			      fill_excess);
	if (ret == 0)
		ret = section(p, "Which durations moved (shift function)", shift, 2,
			      "SELECT subject, what, q, before, after, diff, low, high FROM shift"
			      " ORDER BY rowid",
			      fill_shift);
	if (ret == 0)
		ret = section(p, "What stands behind it", samples, 2,
			      "SELECT subject, name, n_before, n_after, eff_before, eff_after,"
			      " units_before, units_after, p FROM change ORDER BY rowid",
			      fill_samples);
	if (ret == 0)
		ret = section(p, "Are they alike?", check, 4,
			      "SELECT what, before, after, verdict FROM comparability"
			      " ORDER BY rowid",
			      fill_check);
	return ret;
}

static int as_json(struct buf *out, sqlite3 *db, double threshold, struct err *e)
{
	static const struct {
		const char *key, *sql;
	} parts[] = {
		{ "recordings", "SELECT * FROM compared" },
		{ "comparability", "SELECT * FROM comparability" },
		{ "findings", "SELECT severity, label, sentence FROM finding ORDER BY rowid" },
		{ "changes", "SELECT * FROM change ORDER BY rowid" },
		{ "excess", "SELECT * FROM excess ORDER BY rowid" },
		{ "shift", "SELECT * FROM shift ORDER BY rowid" },
		{ "cdf", "SELECT * FROM cdf ORDER BY rowid" },
	};
	size_t i;
	int ret = buf_printf(out, e, "{\n  \"schema\": \"obs-compare/1\",\n  \"threshold\": %.6g",
			     threshold);

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && ret == 0; i++) {
		ret = buf_printf(out, e, ",\n  \"%s\": ", parts[i].key);
		if (ret == 0)
			ret = render_rows(out, db, parts[i].sql, NULL, e);
	}
	return ret < 0 ? ret : buf_printf(out, e, "\n}\n");
}

int render_compare(struct buf *out, sqlite3 *db, const struct render_options *o, double threshold,
		   struct err *e)
{
	struct page p = { out, db, o, o->format == RENDER_MARKDOWN, e };
	char title[100];
	s64 asked = 0;
	int ret;

	if (o->format == RENDER_JSON)
		return as_json(out, db, threshold, e);
	ret = db_int(db, &asked, e, "SELECT count(p) FROM change", "");
	snprintf(title, sizeof(title), "What changed (threshold %.3g %%, Holm over %lld metrics)",
		 100 * threshold, (long long)asked);
	if (ret == 0)
		ret = head(&p);
	if (ret == 0)
		ret = sentences(&p);
	return ret < 0 ? ret : sections(&p, title);
}
