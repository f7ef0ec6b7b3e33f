// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison as text, Markdown or JSON (HTML: compare_html.c). It knows the tables that compare
 * fills, nothing else. */
#include "compare_cells.h"
#include "compare_html.h"
#include "render.h"

#include "format/escape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

struct page {
	struct buf *out;
	sqlite3 *db;
	const struct render_options *o;
	bool markdown;
	struct err *e;
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

static int draw_markdown(struct page *p, const struct cells *t)
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
static int draw_text(struct page *p, const struct cells *t)
{
	int width[CELL_COLUMNS] = { 0 }, r, c, w, pad, ret = 0;
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

static int head(struct page *p)
{
	sqlite3_stmt *q;
	struct buf line = { 0 };
	int ret = db_query(&q, p->db, p->e, COMPARE_RECORDINGS, "");

	if (ret == 0 && p->markdown)
		ret = buf_printf(p->out, p->e, "# Comparison\n\n");
	while (ret == 0 && (ret = db_step(q, p->e)) > 0) {
		buf_clear(&line);
		ret = compare_recording(&line, q, p->e);
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
		ret = paragraph(p, (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return ret;
}

static int draw(void *arg, const struct cells *t, struct err *e)
{
	struct page *p = arg;
	int ret = heading(p, t->title);

	(void)e;
	if (ret == 0)
		ret = p->markdown ? draw_markdown(p, t) : draw_text(p, t);
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
	int ret;

	if (o->format == RENDER_JSON)
		return as_json(out, db, threshold, e);
	if (o->format == RENDER_HTML)
		return compare_html(out, db, threshold, e);
	ret = head(&p);
	if (ret == 0)
		ret = sentences(&p);
	return ret < 0 ? ret : compare_cells(db, threshold, draw, &p, e);
}
