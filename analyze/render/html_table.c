// SPDX-License-Identifier: GPL-2.0-or-later
/* The metrics of one analysis as an HTML table. */
#include "html_table.h"

#include "analyze/base/number.h"
#include "pivot.h"
#include "render.h"
#include "render_table.h"

#include <stdio.h>
#include <string.h>

static void put(struct buf *out, const char *text, struct err *e)
{
	escape_add(out, ESCAPE_HTML, text, strlen(text), e);
}

/* "12 +-3%": with the sign that people know. */
static void put_cell(struct buf *out, const char *text, struct err *e)
{
	const char *sign = strstr(text, "+-");

	escape_add(out, ESCAPE_HTML, text, sign ? (size_t)(sign - text) : strlen(text), e);
	if (sign) {
		buf_printf(out, e, "&#177;");
		put(out, sign + 2, e);
	}
}

static void put_columns(struct buf *out, const struct pivot *p, struct err *e)
{
	int c;

	buf_printf(out, e, "<thead><tr><th scope=\"col\">of</th>");
	for (c = 0; c < p->n_columns; c++) {
		if (!p->used[c])
			continue;
		buf_printf(out, e, "<th scope=\"col\">");
		put(out, p->name[c], e);
		buf_printf(out, e, "</th>");
	}
	buf_printf(out, e, "%s</tr></thead>\n<tbody>\n",
		   p->counted ? "" : "<th scope=\"col\">n</th>");
}

/* The name that this row and its neighbours share, above the first of them, as a group of rows. */
static void put_name(struct buf *out, const struct pivot *p, int r, struct err *e)
{
	int c, name = table_shared_name(p, r), columns = !p->counted;
	bool after = r > 0 && table_shared_name(p, r - 1);

	if (after && name && table_same_name(p, r - 1, r))
		return;
	if (r > 0 && (name || after))
		buf_printf(out, e, "</tbody><tbody>\n");
	if (!name)
		return;
	for (c = 0; c < p->n_columns; c++)
		columns += p->used[c];
	buf_printf(out, e, "<tr><th scope=\"rowgroup\" colspan=\"%d\">%.*s</th></tr>\n",
		   columns + 1, name, p->rows[r].subject);
}

static void put_row(struct buf *out, const struct pivot *p, int r, struct err *e)
{
	char n[32];
	int c, name = table_shared_name(p, r);

	put_name(out, p, r, e);
	buf_printf(out, e, "<tr><th scope=\"row\"%s>%s</th>", name ? " class=\"part\"" : "",
		   p->rows[r].subject + (name ? name + 2 : 0));
	for (c = 0; c < p->n_columns; c++) {
		if (!p->used[c])
			continue;
		buf_printf(out, e, "<td>");
		put_cell(out, p->rows[r].cell[c] ? p->rows[r].cell[c] : "-", e);
		buf_printf(out, e, "</td>");
	}
	number_text(n, sizeof(n), (double)p->rows[r].n, "");
	if (!p->counted)
		buf_printf(out, e, "<td>%s</td>", n);
	buf_printf(out, e, "</tr>\n");
}

/* What the columns that are shown mean. */
static void put_meanings(struct buf *out, const struct analysis *a, const struct pivot *p,
			 struct err *e)
{
	const struct metric *m;
	int c;

	buf_printf(out, e, "<details><summary>What the columns mean</summary>\n<dl>\n");
	for (m = a->metrics; m->name; m++)
		for (c = 0; c < p->n_columns; c++) {
			size_t n = strlen(m->name);

			if (!p->used[c] || strncmp(p->name[c], m->name, n) != 0 ||
			    (p->name[c][n] && strcmp(p->name[c] + n, " %") != 0 &&
			     strcmp(p->name[c] + n, "/s") != 0))
				continue;
			buf_printf(out, e, "<dt>");
			put(out, p->name[c], e);
			buf_printf(out, e, "</dt><dd>");
			put(out, m->doc, e);
			buf_printf(out, e, "</dd>\n");
		}
	buf_printf(out, e, "</dl></details>\n");
}

static void put_verdict(struct buf *out, sqlite3 *db, const struct analysis *a, struct err *e)
{
	sqlite3_stmt *s;
	int ret;

	db_query(&s, db, e, "SELECT verdict FROM metric WHERE analysis=? LIMIT 1", "s", a->name);
	ret = db_step(s, e);
	if (ret > 0)
		put(out, db_text(s, 0), e);
	buf_fail(out, db_end(s, ret));
}

int html_table(struct buf *out, sqlite3 *db, const struct analysis *a, struct err *e)
{
	struct pivot p;
	int r;

	if (buf_fail(out, pivot_read(&p, db, a->name, a->rows, ESCAPE_HTML, e)) < 0 || !p.n_rows)
		goto out;
	if (a->aside)
		buf_printf(out, e, "<details><summary>%d rows</summary>\n", p.n_rows + p.more);
	buf_printf(out, e,
		   "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Table of "
		   "%s\"><table><caption>%s; events: ",
		   a->name, a->name);
	put_verdict(out, db, a, e);
	if (p.more)
		buf_printf(out, e, "; the first %d of %d rows", p.n_rows, p.n_rows + p.more);
	buf_printf(out, e, "</caption>");
	put_columns(out, &p, e);
	for (r = 0; r < p.n_rows; r++)
		put_row(out, &p, r, e);
	buf_printf(out, e, "</tbody></table></div>\n%s", a->aside ? "</details>\n" : "");
	put_meanings(out, a, &p, e);
out:
	pivot_free(&p);
	return out->failed;
}
