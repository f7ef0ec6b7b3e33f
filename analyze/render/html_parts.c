// SPDX-License-Identifier: GPL-2.0-or-later
/* What all HTML pages share. */
#include "html_parts.h"

#include "format/escape.h"
#include "render_html.h"

#include <stdio.h>
#include <string.h>

int html_open(struct buf *out, const char *name, const char *page, struct err *e)
{
	buf_printf(out, e,
		   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "style-src 'unsafe-inline'; img-src data:\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		   "<meta name=\"color-scheme\" content=\"light dark\">\n"
		   "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	escape_add(out, ESCAPE_HTML, name, strlen(name), e);
	buf_printf(out, e, " - obsanalyze %s</title>\n<style>\n", page);
	buf_add(out, html_style, strlen(html_style), e);
	return buf_printf(out, e,
			  "</style>\n</head>\n<body>\n<a class=\"skip\" "
			  "href=\"#verdict\">Skip to the verdict</a>\n");
}

int html_head(struct buf *out, const char *name, const char *page, const char *title, struct err *e)
{
	int ret = html_open(out, name, page, e);

	if (ret < 0)
		return ret;
	buf_printf(out, e, "<header>\n<h1>%s", title);
	escape_add(out, ESCAPE_HTML, name, strlen(name), e);
	return buf_printf(out, e, "</h1>\n</header>\n<main>\n");
}

int html_picture(struct buf *out, sqlite3 *db, const struct picture *pic, struct html_missing *m,
		 struct err *e)
{
	struct buf svg = { 0 };
	struct err why = { 0 };
	int ret = picture_inline(&svg, db, pic, &why);

	if (ret < 0) {
		/* the page is worth reading without */
		if (!m->why[0])
			snprintf(m->why, sizeof(m->why), "%s", why.text);
		m->n++;
		ret = 0;
	} else if (ret > 0 && out->len + svg.len > HTML_MAX) {
		snprintf(m->why, sizeof(m->why), "the file would be too large");
		m->n++;
		ret = 0;
	} else if (ret > 0) {
		buf_printf(out, e,
			   "<figure id=\"picture-%s\"><div class=\"wide\" role=\"region\" "
			   "tabindex=\"0\" aria-label=\"Picture %s\">",
			   pic->name, pic->name);
		buf_add(out, svg.data, svg.len, e);
		ret = buf_printf(out, e, "</div><figcaption>%s.</figcaption></figure>\n",
				 pic->shows);
	}
	buf_free(&svg);
	return ret;
}

int html_say_missing(struct buf *out, const struct html_missing *m, struct err *e)
{
	if (!m->n)
		return 0;
	buf_printf(out, e, "<p class=\"missing\">%d pictures are missing: ", m->n);
	escape_add(out, ESCAPE_HTML, m->why, strlen(m->why), e);
	return buf_printf(out, e, ".</p>\n");
}
