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

static int put(struct html_page *p, const char *markup)
{
	return buf_add(p->out, markup, strlen(markup), p->e);
}

/* <tag>text</tag>, the text escaped; open and close are markup. */
static int put_text(struct html_page *p, const char *open, const struct buf *text,
		    const char *close)
{
	put(p, open);
	if (text->len)
		escape_add(p->out, ESCAPE_HTML, text->data, text->len, p->e);
	return put(p, close);
}

static int put_bar(struct html_page *p)
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
	return buf_printf(p->out, p->e,
			  "<p><span class=\"tag chip %s\">%s</span> <span class=\"tag "
			  "%s\">%s</span></p>\n</header>\n<main>\n",
			  s->problems  ? "bad"
			  : s->healthy ? "good"
				       : "warn",
			  screen_status(s), classes[i].class, classes[i].worst);
}

static int put_verdict(struct html_page *p)
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
	if (s->problems && !s->n_causes && s->kind != VERDICT_errors &&
	    s->kind != VERDICT_unanswered)
		put(p, "<p class=\"cause\">The cause was not found.</p>\n");
	if (s->also.len)
		put_text(p, "<p class=\"cause\">", &s->also, "</p>\n");
	if (s->hint.len)
		put_text(p, "<p class=\"cause\">", &s->hint, "</p>\n");
	put_text(p, "<p class=\"numbers\">", &s->numbers, "</p>\n");
	return put(p, "</section>\n");
}

static int put_strip(struct html_page *p)
{
	struct buf svg = { 0 };
	int ret = p->s->server ? strip_svg(&svg, p->db, p->s->server, p->e) : 0;

	if (ret > 0) {
		put(p, "<figure id=\"strip\" class=\"strip\">");
		buf_add(p->out, svg.data, svg.len, p->e);
		ret = put(
			p,
			"<figcaption>Area: requests per second. Lines: latency, log scale: "
			"<span class=\"k p50\">p50</span> <span class=\"k p99\">p99</span> "
			"<span class=\"k max\">max</span>. Red: pauses. Hatched: events lost. "
			"Below, green band: the serving thread runs; red line: slow time. Time is UTC.</figcaption></figure>\n");
	}
	buf_free(&svg);
	return ret < 0 ? ret : 0;
}

static int put_why(struct html_page *p)
{
	struct buf bars = { 0 };
	int ret = p->s->server ? bars_html(&bars, p->db, p->s->server, p->e) : 0;

	if (ret > 0) {
		put(p, "<section aria-labelledby=\"bars-h\"><h2 id=\"bars-h\">Where the time of "
		       "a request goes</h2>\n");
		buf_add(p->out, bars.data, bars.len, p->e);
		ret = put(p, "</section>\n");
	}
	buf_free(&bars);
	return ret < 0 ? ret : 0;
}

static int put_moments(struct html_page *p)
{
	const struct screen *s = p->s;
	struct buf when = { 0 };
	char length[32];
	int i, ret;

	if (!s->n_moments)
		return 0;
	ret = put(p,
		  "<section aria-labelledby=\"moments-h\"><h2 id=\"moments-h\">Worst moments</h2>\n"
		  "<ol class=\"cards\">\n");
	for (i = 0; i < s->n_moments && ret == 0; i++) {
		const struct screen_moment *m = &s->moments[i];

		buf_clear(&when);
		number_text(length, sizeof(length), m->dur, "ns");
		ret = say_number(&when, p->db, m->ts, "at", p->e);
		if (ret < 0)
			break;
		buf_printf(p->out, p->e, "<li><strong>%s</strong> ", length);
		put_text(p, "<span class=\"soft\">", &when, "</span><br>");
		put_text(p, "", &m->what, "");
		if (m->who.len)
			put_text(p, "<br>request: ", &m->who, "");
		ret = put(p, "</li>\n");
	}
	buf_free(&when);
	return ret < 0 ? ret : put(p, "</ol></section>\n");
}

static int put_next(struct html_page *p, const char *file)
{
	struct buf line = { 0 };
	int i, ret = put(p, "<section aria-labelledby=\"next-h\"><h2 id=\"next-h\">What to look at "
			    "next</h2>\n<pre><code>");

	for (i = 0; ret == 0 && (ret = screen_next(&line, p->s, i, file, p->e)) > 0; i++) {
		/* one of them made this page */
		ret = i == (p->s->problems ? 1 : 0) ? 0 : put_text(p, "", &line, "\n");
		buf_clear(&line);
	}
	buf_clear(&line);
	if (ret == 0)
		ret = put(p, "</code></pre>\n");
	if (ret == 0)
		ret = put_text(p, "<p class=\"soft\">", &p->s->complete, "");
	if (ret == 0 && screen_others(&line, p->s, file, p->e) < 0)
		ret = ERR_FAIL;
	if (ret == 0 && line.len)
		ret = put_text(p, " ", &line, "");
	buf_free(&line);
	return ret < 0 ? ret
		       : put(p, " <a href=\"#limits\">What this recording cannot show</a></p>\n"
				"</section>\n");
}

int html_screen(struct buf *out, const struct screen *s, sqlite3 *db,
		const struct render_options *o, struct err *e)
{
	struct html_page p = { out, db, s, e };
	int ret = put_bar(&p);

	if (ret == 0)
		ret = put_verdict(&p);
	if (ret == 0)
		ret = put_strip(&p);
	if (ret == 0)
		ret = put(&p, "<div class=\"two\">\n");
	if (ret == 0)
		ret = put_why(&p);
	if (ret == 0)
		ret = put_moments(&p);
	if (ret == 0)
		ret = put_next(&p, o->name ? o->name : "FILE");
	return ret < 0 ? ret : put(&p, "</div>\n");
}
