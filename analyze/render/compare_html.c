// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A comparison as HTML: verdict, limits, key metrics, then folded the tables, each with its plot.
 * It knows the rows that compare puts, nothing else.
 */
#include "compare_html.h"

#include "compare_cells.h"
#include "flame.h"
#include "format/escape.h"
#include "html_parts.h"

#include <stdio.h>
#include <string.h>

struct page {
	struct buf *out;
	sqlite3 *db;
	struct html_missing missing;
	int notes;
	struct buf contents; /* list of the sections that were drawn */
	struct err *e;
};

/* Which pictures stand above which table, and in which words the list of contents names it. */
static const struct {
	const char *id, *word, *picture;
} places[] = {
	{ "key", "Key metrics", NULL },
	{ "changes", "All metrics", "ratios" },
	{ "where", "Mean time per request", "excess" },
	{ "functions", "CPU time by function", NULL },
	{ "moved", "Durations by quantile", "compare" },
	{ "samples", "Sample sizes", NULL },
	{ "comparable", "Comparability", NULL },
};

#define N_PLACES (sizeof(places) / sizeof(places[0]))

static const struct {
	const char *word, *class;
} verdicts[] = {
	{ "slower", "bad" },	  { "refused", "bad" },	    { "faster", "good" },
	{ "comparable", "good" }, { "equivalent", "good" }, { "more", "warn" },
	{ "less", "warn" },	  { "differs", "warn" },    { "inconclusive", "" },
	{ "too few", "" },
};

static int put(struct page *p, const char *markup)
{
	return buf_add(p->out, markup, strlen(markup), p->e);
}

/* Bytes that came from a recording or its name. */
static int put_trace(struct page *p, const char *text)
{
	return text ? escape_add(p->out, ESCAPE_HTML, text, strlen(text), p->e) : 0;
}

/* ---- the head ---- */

/* "a.obs and b.obs", or how many of each. */
static int take_name(struct buf *name, struct page *p)
{
	s64 before = 0, after = 0;
	sqlite3_stmt *q;
	int n = 0, ret = db_int(p->db, &before, p->e,
				"SELECT count(*) FROM compared WHERE side='before'", "");

	if (ret == 0)
		ret = db_int(p->db, &after, p->e,
			     "SELECT count(*) FROM compared WHERE side='after'", "");
	if (ret == 0 && before + after > 2)
		return buf_printf(name, p->e, "%lld before and %lld after", (long long)before,
				  (long long)after);
	if (ret == 0)
		ret = db_query(&q, p->db, p->e,
			       "SELECT file FROM compared ORDER BY side DESC, number", "");
	while (ret >= 0 && (ret = db_step(q, p->e)) > 0)
		ret = buf_printf(name, p->e, "%s%s", n++ ? " and " : "", db_text(q, 0));
	return db_end(q, ret);
}

static int put_recordings(struct page *p)
{
	struct buf line = { 0 };
	sqlite3_stmt *q;
	int ret = put(p, "<ul>\n");

	if (ret == 0)
		ret = db_query(&q, p->db, p->e, COMPARE_RECORDINGS, "");
	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, p->e)) > 0) {
		bool lost = sqlite3_column_double(q, 4) > 0, whole = sqlite3_column_int(q, 5);

		buf_clear(&line);
		ret = compare_recording(&line, q, p->e);
		if (ret == 0)
			ret = buf_printf(p->out, p->e, "<li><span class=\"tag %s\">%s</span> ",
					 lost	 ? "bad"
					 : whole ? "good"
						 : "warn",
					 lost	 ? "LOSSY"
					 : whole ? "COMPLETE"
						 : "TRUNCATED");
		if (ret == 0)
			ret = put_trace(p, line.data);
		if (ret == 0)
			ret = put(p, "</li>\n");
	}
	sqlite3_finalize(q);
	buf_free(&line);
	return ret < 0 ? ret : put(p, "</ul>\n");
}

static int put_line(void *arg, const struct compare_line *line, struct err *e)
{
	struct page *p = arg;
	const char *element = line->rank == LINE_NOTE ? "li" : "p";
	int ret = line->rank == LINE_NOTE
			  ? put(p, "<li>")
			  : buf_printf(p->out, e, "<p><span class=\"tag %s\">%s</span> ",
				       line->class, line->label);

	p->notes += line->rank == LINE_NOTE;
	if (ret == 0)
		ret = put_trace(p, line->text);
	return ret < 0 ? ret : buf_printf(p->out, e, "</%s>\n", element);
}

static int put_verdict(struct page *p)
{
	int ret = put(p, "<section class=\"verdict\" id=\"verdict\" aria-labelledby=\"verdict-h\">"
			 "<h2 id=\"verdict-h\">Verdict</h2>\n");

	if (ret == 0)
		ret = compare_lines(p->db, LINE_VERDICT, put_line, p, p->e);
	if (ret == 0)
		ret = compare_lines(p->db, LINE_WHY, put_line, p, p->e);
	if (ret == 0)
		ret = put_recordings(p);
	return ret < 0 ? ret : put(p, "</section>\n");
}

static int put_limits(struct page *p)
{
	int ret = put(p, "<section id=\"limits\" aria-labelledby=\"limits-h\">"
			 "<h2 id=\"limits-h\">Limits</h2>\n<ul>\n");

	if (ret == 0)
		ret = compare_lines(p->db, LINE_NOTE, put_line, p, p->e);
	if (ret == 0 && !p->notes)
		ret = put(p, "<li>None.</li>\n");
	return ret < 0 ? ret : put(p, "</ul>\n</section>\n");
}

/* ---- tables ---- */

/* "slower: too few" with its first word as a tag; other words as they are. */
static int put_word(struct page *p, const char *text)
{
	size_t n = strcspn(text, ":"), i;
	int ret = 0;

	for (i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (strlen(verdicts[i].word) == n && memcmp(verdicts[i].word, text, n) == 0) {
			ret = buf_printf(p->out, p->e, "<span class=\"tag %s\">%s</span>",
					 verdicts[i].class, verdicts[i].word);
			text += n + (text[n] == ':');
			break;
		}
	return ret < 0 ? ret : put_trace(p, text);
}

static int put_row(struct page *p, const struct cells *t, int r)
{
	int c, ret = put(p, "<tr>");

	for (c = 0; c < t->columns && ret == 0; c++) {
		bool words = c < t->left || strcmp(t->cells[0][c], "verdict") == 0;

		if (r == 0)
			ret = put(p, words ? "<th scope=\"col\" class=\"word\">"
					   : "<th scope=\"col\">");
		else if (c == 0)
			ret = put(p, "<th scope=\"row\">");
		else
			ret = put(p, words ? "<td class=\"word\">" : "<td>");
		if (ret == 0)
			ret = r && c && words ? put_word(p, t->cells[r][c])
					      : put_trace(p, t->cells[r][c]);
		if (ret == 0)
			ret = put(p, r == 0 || c == 0 ? "</th>" : "</td>");
	}
	return ret < 0 ? ret : put(p, "</tr>\n");
}

static int put_picture(struct page *p, const char *name)
{
	const struct picture *pic;

	for (pic = pictures; name && pic->name; pic++)
		if (strcmp(pic->name, name) == 0)
			return html_picture(p->out, p->db, pic, &p->missing, p->e);
	return 0;
}

static int draw(void *arg, const struct cells *t, struct err *e)
{
	struct page *p = arg;
	size_t at = 0;
	int r, ret;

	while (at + 1 < N_PLACES && strcmp(places[at].id, t->id) != 0)
		at++;
	ret = buf_printf(&p->contents, e, "<li><a href=\"#%s\">%s</a></li>\n", t->id,
			 places[at].word);
	if (ret == 0)
		ret = buf_printf(p->out, e,
				 "<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">%s"
				 "</h2>\n",
				 t->id, t->id, t->id, t->title);
	if (ret == 0)
		ret = put_picture(p, places[at].picture);
	if (ret == 0 && strcmp(t->id, "functions") == 0)
		ret = flame_draw(p->out, p->db, flame_named("flame-compare"), false, e);
	if (ret >= 0 && at)
		ret = buf_printf(p->out, e, "<details><summary>%d rows</summary>\n", t->rows - 1);
	if (ret == 0)
		ret = buf_printf(p->out, e,
				 "<div class=\"wide\" role=\"region\" tabindex=\"0\" "
				 "aria-label=\"Table: %s\"><table><caption>%s; %d rows</caption>"
				 "<thead>\n",
				 places[at].word, places[at].word, t->rows - 1);
	for (r = 0; r < t->rows && ret == 0; r++) {
		ret = put_row(p, t, r);
		if (ret == 0 && r == 0)
			ret = put(p, "</thead>\n<tbody>\n");
	}
	if (ret < 0)
		return ret;
	put(p, "</tbody></table></div>\n");
	if (at)
		put(p, "</details>\n");
	return put(p, "</section>\n");
}

static int put_contents(struct page *p)
{
	put(p, "<nav aria-label=\"Contents\"><ul>\n<li><a href=\"#limits\">Limits</a></li>\n");
	if (p->contents.len)
		buf_add(p->out, p->contents.data, p->contents.len, p->e);
	return put(p, "</ul></nav>\n");
}

int compare_html(struct buf *out, sqlite3 *db, double threshold, struct err *e)
{
	struct buf name = { 0 }, body = { 0 };
	struct page p = { .out = out, .db = db, .e = e };
	int ret = take_name(&name, &p);

	if (ret == 0)
		ret = html_head(out, name.data ? name.data : "", "comparison", "Comparison of ", e);
	if (ret == 0)
		ret = put_verdict(&p);
	p.out = &body;
	if (ret == 0)
		ret = put_limits(&p);
	if (ret == 0)
		ret = compare_cells(db, threshold, true, draw, &p, e);
	if (ret == 0)
		ret = html_say_missing(&body, &p.missing, e);
	p.out = out;
	if (ret == 0)
		ret = put_contents(&p);
	if (ret == 0)
		ret = buf_add(out, body.data, body.len, e);
	if (ret == 0)
		ret = put(
			&p,
			"</main>\n<footer><p>Made by obsanalyze from the recordings alone. Ratios are "
			"after / before, with 95 % intervals; p after Holm; n: sample size; eff.: "
			"effective sample size n / tau.</p></footer>\n</body>\n</html>\n");
	buf_free(&name);
	buf_free(&body);
	buf_free(&p.contents);
	return ret;
}
