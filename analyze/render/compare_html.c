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

static void put(struct page *p, const char *markup)
{
	buf_add(p->out, markup, strlen(markup), p->e);
}

/* Bytes that came from a recording or its name. */
static void put_trace(struct page *p, const char *text)
{
	if (text)
		escape_add(p->out, ESCAPE_HTML, text, strlen(text), p->e);
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
	if (ret < 0)
		return ret;
	if (before + after > 2)
		return buf_printf(name, p->e, "%lld before and %lld after", (long long)before,
				  (long long)after);
	db_query(&q, p->db, p->e, "SELECT file FROM compared ORDER BY side DESC, number", "");
	while ((ret = db_step(q, p->e)) > 0)
		buf_printf(name, p->e, "%s%s", n++ ? " and " : "", db_text(q, 0));
	return db_end(q, ret < 0 ? ret : name->failed);
}

static void put_recordings(struct page *p)
{
	struct buf line = { 0 };
	sqlite3_stmt *q;
	int ret;

	put(p, "<ul>\n");
	db_query(&q, p->db, p->e, COMPARE_RECORDINGS, "");
	while ((ret = db_step(q, p->e)) > 0) {
		bool lost = sqlite3_column_double(q, 4) > 0, whole = sqlite3_column_int(q, 5);

		buf_clear(&line);
		buf_fail(p->out, compare_recording(&line, q, p->e));
		buf_printf(p->out, p->e, "<li><span class=\"tag %s\">%s</span> ",
			   lost	   ? "bad"
			   : whole ? "good"
				   : "warn",
			   lost	   ? "LOSSY"
			   : whole ? "COMPLETE"
				   : "TRUNCATED");
		put_trace(p, line.data);
		put(p, "</li>\n");
	}
	buf_fail(p->out, db_end(q, ret));
	buf_free(&line);
	put(p, "</ul>\n");
}

static int put_line(void *arg, const struct compare_line *line, struct err *e)
{
	struct page *p = arg;
	bool note = line->rank == LINE_NOTE;

	if (note)
		put(p, "<li>");
	else
		buf_printf(p->out, e, "<p><span class=\"tag %s\">%s</span> ", line->class,
			   line->label);
	p->notes += note;
	put_trace(p, line->text);
	return buf_printf(p->out, e, "</%s>\n", note ? "li" : "p");
}

static void put_lines(struct page *p, enum line_rank rank)
{
	buf_fail(p->out, compare_lines(p->db, rank, put_line, p, p->e));
}

static void put_verdict(struct page *p)
{
	put(p, "<section class=\"verdict\" id=\"verdict\" aria-labelledby=\"verdict-h\">"
	       "<h2 id=\"verdict-h\">Verdict</h2>\n");
	put_lines(p, LINE_VERDICT);
	put_lines(p, LINE_WHY);
	put_recordings(p);
	put(p, "</section>\n");
}

static void put_limits(struct page *p)
{
	put(p, "<section id=\"limits\" aria-labelledby=\"limits-h\">"
	       "<h2 id=\"limits-h\">Limits</h2>\n<ul>\n");
	put_lines(p, LINE_NOTE);
	if (!p->notes)
		put(p, "<li>None.</li>\n");
	put(p, "</ul>\n</section>\n");
}

/* ---- tables ---- */

/* "slower: too few" with its first word as a tag; other words as they are. */
static void put_word(struct page *p, const char *text)
{
	size_t n = strcspn(text, ":"), i;

	for (i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (strlen(verdicts[i].word) == n && memcmp(verdicts[i].word, text, n) == 0) {
			buf_printf(p->out, p->e, "<span class=\"tag %s\">%s</span>",
				   verdicts[i].class, verdicts[i].word);
			text += n + (text[n] == ':');
			break;
		}
	put_trace(p, text);
}

static void put_row(struct page *p, const struct cells *t, int r)
{
	int c;

	put(p, "<tr>");
	for (c = 0; c < t->columns; c++) {
		bool words = c < t->left || strcmp(t->cells[0][c], "verdict") == 0;

		if (r == 0)
			put(p, words ? "<th scope=\"col\" class=\"word\">" : "<th scope=\"col\">");
		else if (c == 0)
			put(p, "<th scope=\"row\">");
		else
			put(p, words ? "<td class=\"word\">" : "<td>");
		if (r && c && words)
			put_word(p, t->cells[r][c]);
		else
			put_trace(p, t->cells[r][c]);
		put(p, r == 0 || c == 0 ? "</th>" : "</td>");
	}
	put(p, "</tr>\n");
}

static void put_picture(struct page *p, const char *name)
{
	const struct picture *pic;

	for (pic = pictures; name && pic->name; pic++)
		if (strcmp(pic->name, name) == 0)
			buf_fail(p->out, html_picture(p->out, p->db, pic, &p->missing, p->e));
}

static int draw(void *arg, const struct cells *t, struct err *e)
{
	struct page *p = arg;
	const struct flame *f;
	size_t at = 0;
	int r;

	while (at + 1 < N_PLACES && strcmp(places[at].id, t->id) != 0)
		at++;
	buf_fail(p->out, buf_printf(&p->contents, e, "<li><a href=\"#%s\">%s</a></li>\n", t->id,
				    places[at].word));
	buf_printf(p->out, e,
		   "<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">%s</h2>\n", t->id,
		   t->id, t->id, t->title);
	put_picture(p, places[at].picture);
	for (f = flames; f->name && strcmp(t->id, "functions") == 0; f++)
		if (strcmp(f->analysis, "compare") == 0)
			buf_fail(p->out, flame_draw(p->out, p->db, f, false, e));
	if (at)
		buf_printf(p->out, e, "<details><summary>%d rows</summary>\n", t->rows - 1);
	buf_printf(p->out, e,
		   "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Table: %s\">"
		   "<table><caption>%s; %d rows</caption><thead>\n",
		   places[at].word, places[at].word, t->rows - 1);
	for (r = 0; r < t->rows; r++) {
		put_row(p, t, r);
		if (r == 0)
			put(p, "</thead>\n<tbody>\n");
	}
	put(p, "</tbody></table></div>\n");
	if (at)
		put(p, "</details>\n");
	put(p, "</section>\n");
	return p->out->failed;
}

static void put_contents(struct page *p)
{
	put(p, "<nav aria-label=\"Contents\"><ul>\n<li><a href=\"#limits\">Limits</a></li>\n");
	if (p->contents.len)
		buf_add(p->out, p->contents.data, p->contents.len, p->e);
	put(p, "</ul></nav>\n");
}

int compare_html(struct buf *out, sqlite3 *db, double threshold, struct err *e)
{
	struct buf name = { 0 }, body = { 0 };
	struct page p = { .out = out, .db = db, .e = e };

	if (buf_fail(out, take_name(&name, &p)) == 0)
		buf_fail(out, html_head(out, name.data ? name.data : "", "comparison",
					"Comparison of ", e));
	put_verdict(&p);
	p.out = &body;
	put_limits(&p);
	buf_fail(&body, compare_cells(db, threshold, true, draw, &p, e));
	buf_fail(&body, html_say_missing(&body, &p.missing, e));
	p.out = out;
	put_contents(&p);
	if (buf_fail(out, body.failed) == 0)
		buf_add(out, body.data, body.len, e);
	put(&p, "</main>\n<footer><p>Made by obsanalyze from the recordings alone. Ratios are "
		"after / before, with 95 % intervals; p after Holm; n: sample size; eff.: "
		"effective sample size n / tau.</p></footer>\n</body>\n</html>\n");
	buf_free(&name);
	buf_free(&body);
	buf_free(&p.contents);
	return out->failed;
}
