// SPDX-License-Identifier: GPL-2.0-or-later
/* A pivot as text for terminals and as Markdown. */
#include "render_table.h"

#include "analyze/base/number.h"
#include "render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP	    2 /* blanks between columns */
#define SUBJECT_MIN 12
#define NAME_LONG   20 /* bytes: shorter ones may stand in each row */
#define INDENT	    2

/* Columns that text takes on a terminal: UTF-8 sequences count once. */
static int text_width(const char *text)
{
	int n = 0;

	for (; text && *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* Column c; the one after the last is n. */
static bool shown(const struct pivot *p, int c)
{
	return c == p->n_columns ? !p->counted : p->used[c];
}

static const char *cell_text(const struct pivot *p, int r, int c, char *n, size_t size)
{
	if (c == p->n_columns && r < 0)
		return "n";
	if (c < p->n_columns)
		return r < 0 ? p->name[c] : p->rows[r].cell[c] ? p->rows[r].cell[c] : "-";
	number_text(n, size, p->rows[r].n, "");
	return n;
}

int table_markdown(struct buf *out, const struct pivot *p, struct err *e)
{
	int r, c;
	char n[32];

	buf_printf(out, e, "|  |");
	for (c = 0; c < p->n_columns; c++)
		if (p->used[c])
			buf_printf(out, e, " %s |", p->name[c]);
	buf_printf(out, e, "%s\n|---|", p->counted ? "" : " n |");
	for (c = 0; c <= p->n_columns; c++)
		if (shown(p, c))
			buf_printf(out, e, "---:|");
	for (r = 0; r < p->n_rows; r++) {
		buf_printf(out, e, "\n| %s |", p->rows[r].subject);
		for (c = 0; c < p->n_columns; c++)
			if (p->used[c])
				buf_printf(out, e, " %s |",
					   p->rows[r].cell[c] ? p->rows[r].cell[c] : "-");
		if (!p->counted)
			buf_printf(out, e, " %s |", cell_text(p, r, p->n_columns, n, sizeof(n)));
	}
	return buf_printf(out, e, "\n");
}

/* ---- names that several rows share ---- */

/* Bytes of "name" in "name: part"; 0 if it is none, or short. */
static int name_len(const char *subject)
{
	const char *end = strstr(subject, ": ");

	return end && end - subject > NAME_LONG ? (int)(end - subject) : 0;
}

bool table_same_name(const struct pivot *p, int a, int b)
{
	int n = name_len(p->rows[a].subject);

	return n && name_len(p->rows[b].subject) == n &&
	       strncmp(p->rows[a].subject, p->rows[b].subject, n) == 0;
}

int table_shared_name(const struct pivot *p, int r)
{
	bool any = (r > 0 && table_same_name(p, r - 1, r)) ||
		   (r + 1 < p->n_rows && table_same_name(p, r, r + 1));

	return any ? name_len(p->rows[r].subject) : 0;
}

/* What stands at the start of row r. */
static const char *label_of(const struct pivot *p, int r, int *ret_indent)
{
	int n = r < 0 ? 0 : table_shared_name(p, r);

	*ret_indent = n ? INDENT : 0;
	return r < 0 ? "" : p->rows[r].subject + (n ? n + 2 : 0);
}

/* ---- drawing ---- */

/* Widths of the columns, the last is that of n; returns that of the labels. */
static int measure(const struct pivot *p, int *width)
{
	int r, c, w, indent, subject = SUBJECT_MIN;
	char n[32];

	for (c = 0; c < p->n_columns; c++)
		width[c] = text_width(p->name[c]);
	width[p->n_columns] = 1;
	for (r = 0; r < p->n_rows; r++) {
		w = text_width(label_of(p, r, &indent)) + indent;
		subject = w > subject ? w : subject;
		for (c = 0; c < p->n_columns; c++) {
			w = text_width(p->rows[r].cell[c]);
			width[c] = w > width[c] ? w : width[c];
		}
		number_text(n, sizeof(n), p->rows[r].n, "");
		w = text_width(n);
		width[p->n_columns] = w > width[p->n_columns] ? w : width[p->n_columns];
	}
	return subject;
}

static int row_text(struct buf *out, const struct pivot *p, const int *width, int subject, int r,
		    int last, struct err *e)
{
	int c, indent;
	const char *label = label_of(p, r, &indent);
	char n[32];

	buf_printf(out, e, "%*s%s%*s", indent, "", label, subject - indent - text_width(label), "");
	for (c = 0; c < last; c++) {
		const char *text = cell_text(p, r, c, n, sizeof(n));

		if (shown(p, c))
			buf_printf(out, e, "%*s%s", GAP + width[c] - text_width(text), "", text);
	}
	return buf_printf(out, e, "\n");
}

int table_text(struct buf *out, const struct pivot *p, int width, int *ret_dropped, struct err *e)
{
	int columns[PIVOT_COLUMNS + 1], subject = measure(p, columns), last, c, r, named = -1;
	int at = subject, ret = 0;

	for (last = 0; last <= p->n_columns; last++) {
		if (!shown(p, last))
			continue;
		if (at + GAP + columns[last] > width && at > subject)
			break;
		at += GAP + columns[last];
	}
	for (c = last, *ret_dropped = 0; c <= p->n_columns; c++)
		*ret_dropped += shown(p, c);
	for (r = -1; r < p->n_rows && ret == 0; r++) {
		if (r >= 0 && table_shared_name(p, r) &&
		    (named < 0 || !table_same_name(p, named, r))) {
			ret = buf_printf(out, e, "%.*s:\n", name_len(p->rows[r].subject),
					 p->rows[r].subject);
			named = r;
		}
		if (ret == 0)
			ret = row_text(out, p, columns, subject, r, last, e);
	}
	return ret;
}
