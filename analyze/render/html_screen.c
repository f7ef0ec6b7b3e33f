// SPDX-License-Identifier: GPL-2.0-or-later
/* Bar, verdict, strip, why, worst moments, what next: readable without scripts. */
#include "html_screen.h"

#include "analyze/base/number.h"
#include "format/escape.h"
#include "say.h"
#include "strip.h"

#include <stdio.h>
#include <string.h>

struct html_page {
	struct buf *out;
	sqlite3 *db;
	const struct screen *s;
	struct err *e;
};

static void put(struct html_page *p, const char *markup)
{
	buf_add(p->out, markup, strlen(markup), p->e);
}

/* <tag>text</tag>, the text escaped; open and close are markup. */
static void put_text(struct html_page *p, const char *open, const struct buf *text,
		     const char *close)
{
	put(p, open);
	if (text->len)
		escape_add(p->out, ESCAPE_HTML, text->data, text->len, p->e);
	put(p, close);
}

static void put_bar(struct html_page *p)
{
	static const struct {
		const char *worst, *class;
	} classes[] = { { "COMPLETE", "good" }, { "TRUNCATED", "warn" }, { "LOSSY", "bad" } };
	const struct screen *s = p->s;
	size_t i;

	for (i = 0; i < 2 && strcmp(classes[i].worst, s->worst) != 0; i++)
		;
	put_text(p, "<header class=\"top\">\n<h1>", &s->title, "</h1>\n");
	put_text(p, "<p class=\"soft\">", &s->range, "</p>\n");
	buf_printf(p->out, p->e,
		   "<p><span class=\"tag chip %s\">%s</span> <span class=\"tag "
		   "%s\">%s</span></p>\n</header>\n<main>\n",
		   s->problems	? "bad"
		   : s->healthy ? "good"
				: "warn",
		   screen_status(s), classes[i].class, classes[i].worst);
}

static void put_verdict(struct html_page *p)
{
	const struct screen *s = p->s;
	int i;

	buf_printf(p->out, p->e,
		   "<section class=\"verdict%s\" id=\"verdict\" aria-labelledby=\"verdict-h\">\n"
		   "<h2 id=\"verdict-h\" class=\"skip\">Verdict</h2>\n",
		   s->problems	? " problem"
		   : s->healthy ? " healthy"
				: "");
	put_text(p, "<p>", &s->problem, "</p>\n");
	for (i = 0; i < s->n_causes; i++) {
		put_text(p, "<p class=\"cause\">", &s->causes[i].text, "");
		buf_printf(p->out, p->e, " <span class=\"tag\">%s</span></p>\n", s->causes[i].sure);
	}
	if (screen_cause_missing(s))
		put(p, "<p class=\"cause\">The cause was not found.</p>\n");
	if (s->also.len)
		put_text(p, "<p class=\"cause\">", &s->also, "</p>\n");
	if (s->hint.len)
		put_text(p, "<p class=\"cause\">", &s->hint, "</p>\n");
	put_text(p, "<p class=\"numbers\">", &s->numbers, "</p>\n");
	put(p, "</section>\n");
}

static void put_strip(struct html_page *p)
{
	struct buf svg = { 0 };
	int drawn = p->s->server ? strip_svg(&svg, p->db, p->s->server, p->e) : 0;

	buf_fail(p->out, drawn);
	if (drawn > 0) {
		put(p, "<figure id=\"strip\" class=\"strip\">");
		buf_add(p->out, svg.data, svg.len, p->e);
		put(p,
		    "<figcaption>Area: requests per second. Lines: latency, log scale: "
		    "<span class=\"k p50\">p50</span> <span class=\"k p99\">p99</span> "
		    "<span class=\"k max\">max</span>. Red: pauses. Hatched: events lost. "
		    "Below, green band: the serving thread runs; red line: slow time. Time is UTC.</figcaption></figure>\n");
	}
	buf_free(&svg);
}

static void put_why(struct html_page *p)
{
	struct buf bars = { 0 };
	int drawn = p->s->server ? bars_html(&bars, p->db, p->s->server, p->e) : 0;

	buf_fail(p->out, drawn);
	if (drawn > 0) {
		put(p, "<section aria-labelledby=\"bars-h\"><h2 id=\"bars-h\">Where the time of "
		       "a request goes</h2>\n");
		buf_add(p->out, bars.data, bars.len, p->e);
		put(p, "</section>\n");
	}
	buf_free(&bars);
}

static void put_moments(struct html_page *p)
{
	const struct screen *s = p->s;
	struct buf when = { 0 };
	char length[32];
	int i;

	if (!s->n_moments)
		return;
	put(p, "<section aria-labelledby=\"moments-h\"><h2 id=\"moments-h\">Worst moments</h2>\n"
	       "<ol class=\"cards\">\n");
	for (i = 0; i < s->n_moments; i++) {
		const struct screen_moment *m = &s->moments[i];

		buf_clear(&when);
		number_text(length, sizeof(length), m->dur, "ns");
		buf_fail(p->out, say_number(&when, p->db, m->ts, "at", p->e));
		buf_printf(p->out, p->e, "<li><strong>%s</strong> ", length);
		put_text(p, "<span class=\"soft\">", &when, "</span><br>");
		put_text(p, "", &m->what, "");
		if (m->who.len)
			put_text(p, "<br>request: ", &m->who, "");
		put(p, "</li>\n");
	}
	buf_free(&when);
	put(p, "</ol></section>\n");
}

static void put_next(struct html_page *p, const char *file)
{
	struct buf line = { 0 };
	int i, more;

	put(p, "<section aria-labelledby=\"next-h\"><h2 id=\"next-h\">What to look at "
	       "next</h2>\n<pre><code>");
	for (i = 0; (more = screen_next(&line, p->s, i, file, p->e)) > 0; i++) {
		if (i == 0 || !p->s->problems) /* the second one made this page */
			put_text(p, "", &line, "\n");
		buf_clear(&line);
	}
	buf_fail(p->out, more);
	buf_free(&line);
	put(p, "</code></pre>\n");
	put_text(p, "<p class=\"soft\">", &p->s->complete, "");
	if (p->s->others.len)
		put_text(p, " ", &p->s->others, "");
	put(p, " <a href=\"#limits\">What this recording cannot show</a></p>\n</section>\n");
}

int html_screen(struct buf *out, const struct screen *s, sqlite3 *db,
		const struct render_options *o, struct err *e)
{
	struct html_page p = { out, db, s, e };

	put_bar(&p);
	put_verdict(&p);
	put_strip(&p);
	put(&p, "<div class=\"two\">\n");
	put_why(&p);
	put_moments(&p);
	put_next(&p, o->name ? o->name : "FILE");
	put(&p, "</div>\n");
	return out->failed;
}
