// SPDX-License-Identifier: GPL-2.0-or-later
/* The metrics of one analysis as an HTML table. */
#include "html_table.h"

#include "analyze/base/number.h"
#include "pivot.h"
#include "render.h"
#include "render_table.h"

#include <stdio.h>
#include <string.h>

static int put(struct buf *out, const char *text, struct err *e)
{
	return escape_add(out, ESCAPE_HTML, text, strlen(text), e);
}

/* "12 +-3%": with the sign that people know. */
static int put_cell(struct buf *out, const char *text, struct err *e)
{
	const char *sign = strstr(text, "+-");
	int ret =
		escape_add(out, ESCAPE_HTML, text, sign ? (size_t)(sign - text) : strlen(text), e);

	if (ret == 0 && sign)
		ret = buf_printf(out, e, "&#177;");
	return ret < 0 || !sign ? ret : put(out, sign + 2, e);
}

static int put_columns(struct buf *out, const struct pivot *p, struct err *e)
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
	return buf_printf(out, e, "%s</tr></thead>\n<tbody>\n",
			  p->counted ? "" : "<th scope=\"col\">n</th>");
}

/* The name that this row and its neighbours share, above the first of them, as a group of rows. */
static int put_name(struct buf *out, const struct pivot *p, int r, struct err *e)
{
	int c, name = table_shared_name(p, r), columns = !p->counted;
	bool after = r > 0 && table_shared_name(p, r - 1);

	if (after && name && table_same_name(p, r - 1, r))
		return 0;
	if (r > 0 && (name || after) && buf_printf(out, e, "</tbody><tbody>\n") < 0)
		return ERR_FAIL;
	if (!name)
		return 0;
	for (c = 0; c < p->n_columns; c++)
		columns += p->used[c];
	return buf_printf(out, e, "<tr><th scope=\"rowgroup\" colspan=\"%d\">%.*s</th></tr>\n",
			  columns + 1, name, p->rows[r].subject);
}

static int put_row(struct buf *out, const struct pivot *p, int r, struct err *e)
{
	char n[32];
	int c, name = table_shared_name(p, r), ret = put_name(out, p, r, e);

	if (ret == 0)
		ret = buf_printf(out, e, "<tr><th scope=\"row\"%s>%s</th>",
				 name ? " class=\"part\"" : "",
				 p->rows[r].subject + (name ? name + 2 : 0));

	for (c = 0; c < p->n_columns && ret == 0; c++) {
		if (!p->used[c])
			continue;
		buf_printf(out, e, "<td>");
		put_cell(out, p->rows[r].cell[c] ? p->rows[r].cell[c] : "-", e);
		ret = buf_printf(out, e, "</td>");
	}
	number_text(n, sizeof(n), (double)p->rows[r].n, "");
	if (ret == 0 && !p->counted)
		ret = buf_printf(out, e, "<td>%s</td>", n);
	return ret < 0 ? ret : buf_printf(out, e, "</tr>\n");
}

/* What the columns that are shown mean. */
static int put_meanings(struct buf *out, const struct analysis *a, const struct pivot *p,
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
	return buf_printf(out, e, "</dl></details>\n");
}

static int put_verdict(struct buf *out, sqlite3 *db, const struct analysis *a, struct err *e)
{
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, "SELECT verdict FROM metric WHERE analysis=? LIMIT 1", "s",
			   a->name);

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0)
		ret = put(out, db_text(s, 0), e);
	sqlite3_finalize(s);
	return ret;
}

int html_table(struct buf *out, sqlite3 *db, const struct analysis *a, struct err *e)
{
	struct pivot p;
	int r, ret = pivot_read(&p, db, a->name, a->rows, ESCAPE_HTML, e);

	if (ret < 0 || !p.n_rows)
		goto out;
	if (a->aside)
		ret = buf_printf(out, e, "<details><summary>%d rows</summary>\n",
				 p.n_rows + p.more);
	if (ret < 0)
		goto out;
	ret = buf_printf(out, e,
			 "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Table of "
			 "%s\"><table><caption>%s; events: ",
			 a->name, a->name);
	if (ret == 0)
		ret = put_verdict(out, db, a, e);
	if (ret == 0 && p.more)
		ret = buf_printf(out, e, "; the first %d of %d rows", p.n_rows, p.n_rows + p.more);
	if (ret == 0)
		ret = buf_printf(out, e, "</caption>");
	if (ret == 0)
		ret = put_columns(out, &p, e);
	for (r = 0; r < p.n_rows && ret == 0; r++)
		ret = put_row(out, &p, r, e);
	if (ret == 0)
		ret = buf_printf(out, e, "</tbody></table></div>\n%s",
				 a->aside ? "</details>\n" : "");
	if (ret == 0)
		ret = put_meanings(out, a, &p, e);
out:
	pivot_free(&p);
	return ret;
}
