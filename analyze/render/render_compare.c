// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison as text, Markdown or JSON (HTML: compare_html.c). It knows the tables that compare
 * fills, nothing else. */
#include "compare_cells.h"
#include "compare_html.h"
#include "render.h"
#include "say.h"

#include "format/escape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

#define WORDS_LEAST 12 /* columns that a column with words keeps */
#define INDENT	    9  /* of the text after labels */

struct page {
	struct buf *out;
	sqlite3 *db;
	const struct render_options *o;
	bool markdown, verbose;
	struct err *e;
};

static void add_text(struct page *p, const char *text)
{
	escape_add(p->out, p->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, text, strlen(text), p->e);
}

static void heading(struct page *p, const char *text)
{
	if (p->markdown)
		buf_printf(p->out, p->e, "\n## %s\n\n", text);
	else
		buf_printf(p->out, p->e, "\n%s%s%s\n", p->o->colour ? BOLD : "", text,
			   p->o->colour ? PLAIN : "");
}

/* "SLOWER   words", in lines of the terminal's width; in Markdown a line of a list. */
static int labelled(void *arg, const struct compare_line *line, struct err *e)
{
	struct page *p = arg;
	const char *text = line->text;
	size_t n;
	int at;

	if (p->markdown) {
		buf_printf(p->out, e, "- **%s** ", line->label);
		add_text(p, text);
		return buf_printf(p->out, e, "\n");
	}
	buf_printf(p->out, e, "%s%-8s%s", p->o->colour ? BOLD : "", line->label,
		   p->o->colour ? PLAIN : "");
	at = (int)strlen(line->label);
	at = at < INDENT ? INDENT - 1 : at;
	for (; *text; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		if (at > INDENT && at + 1 + (int)n > p->o->width) {
			buf_printf(p->out, e, "\n%*s", INDENT, "");
			at = INDENT;
		} else {
			buf_printf(p->out, e, " ");
			at++;
		}
		buf_add(p->out, text, n, e);
		at += n;
	}
	return buf_printf(p->out, e, "\n");
}

static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void draw_markdown(struct page *p, const struct cells *t)
{
	int r, c;

	for (r = 0; r < t->rows; r++) {
		for (c = 0; c < t->columns; c++) {
			buf_printf(p->out, p->e, c ? " | " : "| ");
			add_text(p, t->cells[r][c]);
		}
		buf_printf(p->out, p->e, " |\n");
		if (r)
			continue;
		for (c = 0; c < t->columns; c++)
			buf_printf(p->out, p->e, c < t->left ? "|---" : "|---:");
		buf_printf(p->out, p->e, "|\n");
	}
}

/* May this column's text be broken? Figures may not. */
static bool wordy(const struct cells *t, int c)
{
	return c < t->left || (c == t->columns - 1 && strcmp(t->cells[0][c], "verdict") == 0);
}

/* Widths of the columns from first on: on a narrow terminal the widest ones with words give way. */
static void measure(const struct cells *t, int first, int screen, int *width)
{
	int r, c, w, all = 0, widest;

	for (c = first; c < t->columns; c++) {
		for (r = 0; r < t->rows; r++) {
			w = width_of(t->cells[r][c]);
			width[c] = w > width[c] ? w : width[c];
		}
		all += 2 + width[c];
	}
	for (; all > screen; all--) {
		widest = -1;
		for (c = first; c < t->columns; c++)
			if (wordy(t, c) && (widest < 0 || width[c] > width[widest]))
				widest = c;
		if (widest < 0 || width[widest] <= WORDS_LEAST)
			break;
		width[widest]--;
	}
}

/* Bytes of text that a line of so many columns takes: up to a blank or comma, if it has one. */
static size_t fitting(const char *text, int columns)
{
	size_t n, end = 0;
	int at = 0;

	for (n = 0; text[n]; n++) {
		at += (text[n] & 0xc0) != 0x80;
		if (at > columns)
			break;
		if (text[n] == ' ' || text[n] == ',')
			end = n + 1;
	}
	return text[n] && end ? end : n;
}

/* One row, in as many lines as its longest words take. */
static void draw_row(struct page *p, const struct cells *t, int r, int first, const int *width)
{
	const char *rest[CELL_COLUMNS];
	char part[CELL_SIZE];
	bool more = true;
	int c, pad;

	for (c = first; c < t->columns; c++)
		rest[c] = t->cells[r][c];
	while (more) {
		more = false;
		for (c = first; c < t->columns; c++) {
			size_t n = fitting(rest[c], width[c]);

			snprintf(part, sizeof(part), "%.*s", (int)n, rest[c]);
			rest[c] += n;
			more |= *rest[c] != '\0';
			pad = wordy(t, c) && c == t->columns - 1 ? 0 : width[c] - width_of(part);
			buf_printf(p->out, p->e, c < t->left ? "  %2$s%1$*3$s" : "  %1$*3$s%2$s",
				   "", part, pad);
		}
		while (p->out->len && p->out->data[p->out->len - 1] == ' ')
			p->out->data[--p->out->len] = '\0';
		buf_printf(p->out, p->e, "\n");
	}
}

/* What the first column of figures is about stands on a line of its own where it changes. */
static void draw_text(struct page *p, const struct cells *t)
{
	int width[CELL_COLUMNS] = { 0 }, r, first = t->left > 1 && t->left < t->columns;
	const char *group = "";

	measure(t, first, p->o->width, width);
	for (r = 0; r < t->rows; r++) {
		if (r && first && strcmp(group, t->cells[r][0]) != 0)
			buf_printf(p->out, p->e, "%s\n", t->cells[r][0]);
		group = r ? t->cells[r][0] : "";
		draw_row(p, t, r, first, width);
	}
}

static void head(struct page *p)
{
	sqlite3_stmt *q;
	struct buf line = { 0 };
	int ret;

	if (p->markdown)
		buf_printf(p->out, p->e, "# Comparison\n\n");
	db_query(&q, p->db, p->e, p->verbose ? COMPARE_RECORDINGS : COMPARE_SIDES, "");
	while ((ret = db_step(q, p->e)) > 0) {
		buf_clear(&line);
		if (buf_fail(p->out, compare_recording(&line, q, p->e)) < 0)
			break;
		buf_printf(p->out, p->e, p->markdown ? "- " : "");
		add_text(p, line.data);
		buf_printf(p->out, p->e, "\n");
	}
	buf_fail(p->out, db_end(q, ret));
	buf_free(&line);
	buf_printf(p->out, p->e, "\n");
}

static void sentences(struct page *p)
{
	int rank;

	for (rank = LINE_VERDICT; rank <= LINE_NOTE; rank++)
		buf_fail(p->out, compare_lines(p->db, rank, labelled, p, p->e));
}

static int draw(void *arg, const struct cells *t, struct err *e)
{
	struct page *p = arg;

	(void)e;
	heading(p, t->title);
	if (p->markdown)
		draw_markdown(p, t);
	else
		draw_text(p, t);
	return p->out->failed;
}

static int as_json(struct buf *out, sqlite3 *db, double threshold, struct err *e)
{
	static const struct {
		const char *key, *sql;
	} parts[] = {
		{ "recordings", "SELECT * FROM compared" },
		{ "comparability", "SELECT * FROM comparability" },
		{ "findings",
		  "SELECT id, kind, severity, evidence AS label, sentence(id) AS sentence FROM finding"
		  " ORDER BY evidence='LIMIT', severity DESC, id" },
		{ "values", "SELECT * FROM finding_value ORDER BY finding, seq" },
		{ "changes", "SELECT * FROM change ORDER BY rowid" },
		{ "excess", "SELECT * FROM excess ORDER BY rowid" },
		{ "functions", "SELECT * FROM function_change ORDER BY rowid" },
		{ "shift", "SELECT * FROM shift ORDER BY rowid" },
		{ "cdf", "SELECT * FROM cdf ORDER BY rowid" },
	};
	size_t i;

	buf_printf(out, e, "{\n  \"schema\": \"obs-compare/2\",\n  \"threshold\": %.6g", threshold);

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		buf_printf(out, e, ",\n  \"%s\": ", parts[i].key);
		buf_fail(out, render_rows(out, db, parts[i].sql, NULL, e));
	}
	return buf_printf(out, e, "\n}\n");
}

int render_compare(struct buf *out, sqlite3 *db, const struct render_options *o, double threshold,
		   bool verbose, struct err *e)
{
	struct page p = { out, db, o, o->format == RENDER_MARKDOWN, verbose, e };

	if (say_register(db, e) < 0)
		return ERR_FAIL;
	if (o->format == RENDER_JSON)
		return as_json(out, db, threshold, e);
	if (o->format == RENDER_HTML)
		return compare_html(out, db, threshold, e);
	head(&p);
	sentences(&p);
	buf_fail(out, compare_cells(db, threshold, verbose, draw, &p, e));
	if (!verbose && !p.markdown)
		buf_printf(out, e, "\nMore: -v (all tables), --html FILE (plots)\n");
	return out->failed;
}
