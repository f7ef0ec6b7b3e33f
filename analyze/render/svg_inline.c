// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gnuplot's SVG made fit to stand in an HTML document. Nothing passes that is not on a list: the
 * text in it was escaped on its way to gnuplot, but a document for others rests on no program in
 * between.
 */
#define _GNU_SOURCE /* memmem */
#include "pictures.h"

#include "format/escape.h"

#include <ctype.h>
#include <string.h>

static const char *const elements[] = { "svg",	    "g",       "path", "polygon", "polyline",
					"rect",	    "circle",  "line", "text",	  "tspan",
					"use",	    "defs",    "path", "symbol",  "pattern",
					"clipPath", "ellipse", NULL };

static const char *const attributes[] = { "d",
					  "points",
					  "x",
					  "y",
					  "x1",
					  "y1",
					  "x2",
					  "y2",
					  "dx",
					  "dy",
					  "r",
					  "cx",
					  "cy",
					  "rx",
					  "ry",
					  "width",
					  "height",
					  "transform",
					  "fill",
					  "stroke",
					  "fill-rule",
					  "stroke-width",
					  "opacity",
					  "fill-opacity",
					  "font-size",
					  "font-weight",
					  "font-style",
					  "text-anchor",
					  "viewBox",
					  "stroke-opacity",
					  "clip-path",
					  "stroke-dasharray",
					  "stroke-linecap",
					  "stroke-linejoin",
					  "patternUnits",
					  "font-family",
					  "color",
					  "patternContentUnits",
					  NULL };

static bool on_list(const char *const *list, const char *word, size_t n)
{
	for (; *list; list++)
		if (strlen(*list) == n && memcmp(*list, word, n) == 0)
			return true;
	return false;
}

struct cleaning {
	struct buf *out;
	const char *at, *end;
	const char *id;
	struct err *e;
};

/* One value: gnuplot's black becomes the text's colour, url(#x) names our x, others leave. */
static int add_value(struct cleaning *c, const char *name, size_t name_n, const char *v, size_t n)
{
	static const char *const blacks[] = { "black", "#000000", "rgb(  0,   0,   0)",
					      "rgb(0,0,0)", NULL };
	/* gnuplot's ground for text; what is inside names its own colour or means black */
	bool ground = name_n == 5 && memcmp(name, "color", 5) == 0 && n == 5 &&
		      memcmp(v, "white", 5) == 0;
	int ret = buf_printf(c->out, c->e, " %.*s=\"", (int)name_n, name);

	if (ret < 0)
		return ret;
	while (n && isspace((unsigned char)*v)) {
		v++;
		n--;
	}
	if (ground || on_list(blacks, v, n))
		ret = buf_printf(c->out, c->e, "currentColor");
	else if (n > 6 && memcmp(v, "url(#", 5) == 0)
		ret = buf_printf(c->out, c->e, "url(#%s-%.*s", c->id, (int)(n - 5), v + 5);
	else if (!memchr(v, '<', n) && !memmem(v, n, "url", 3) && !memchr(v, '"', n))
		ret = buf_add(c->out, v, n, c->e);
	return ret < 0 ? ret : buf_printf(c->out, c->e, "\"");
}

static int add_attribute(struct cleaning *c, const char *name, size_t name_n, const char *v,
			 size_t n)
{
	if (name_n == 2 && memcmp(name, "id", 2) == 0 && n < 64 && !memchr(v, '"', n))
		return buf_printf(c->out, c->e, " id=\"%s-%.*s\"", c->id, (int)n, v);
	if (name_n == 10 && memcmp(name, "xlink:href", 10) == 0 && n > 1 && n < 64 && *v == '#' &&
	    !memchr(v, '"', n))
		return buf_printf(c->out, c->e, " href=\"#%s-%.*s\"", c->id, (int)(n - 1), v + 1);
	if (!on_list(attributes, name, name_n))
		return 0;
	return add_value(c, name, name_n, v, n);
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p;
}

/* From after the element's name to after its '>'. keep: it is on the list. */
static int add_rest(struct cleaning *c, bool keep, bool *ret_empty)
{
	int ret = 0;

	*ret_empty = false;
	while (ret == 0) {
		const char *name = c->at = skip_blanks(c->at, c->end), *value;
		size_t name_n;
		char quote;

		if (c->at < c->end && *c->at == '/') {
			*ret_empty = true;
			c->at++;
			continue;
		}
		if (c->at >= c->end || *c->at == '>')
			break;
		while (c->at < c->end && !strchr(" \t\r\n=/>", *c->at))
			c->at++;
		name_n = c->at - name;
		c->at = skip_blanks(c->at, c->end);
		if (c->at >= c->end || *c->at != '=')
			continue;
		c->at = skip_blanks(c->at + 1, c->end);
		if (c->at >= c->end || (*c->at != '"' && *c->at != '\''))
			return err_set(c->e, ERR_FAIL, "the picture is no SVG");
		quote = *c->at++;
		value = c->at;
		c->at = memchr(c->at, quote, c->end - c->at);
		if (!c->at)
			return err_set(c->e, ERR_FAIL, "the picture is no SVG");
		if (keep)
			ret = add_attribute(c, name, name_n, value, c->at - value);
		c->at++;
	}
	c->at += c->at < c->end;
	return ret;
}

/* Skips an element that is not on the list, with what is in it. */
static void skip_content(struct cleaning *c, const char *name, size_t n)
{
	for (; c->at < c->end; c->at++)
		if (c->end - c->at > (ptrdiff_t)n + 2 && c->at[0] == '<' && c->at[1] == '/' &&
		    memcmp(c->at + 2, name, n) == 0 && c->at[2 + n] == '>') {
			c->at += n + 3;
			return;
		}
}

/* c->at is at a '<'. */
static int add_tag(struct cleaning *c, int *depth)
{
	const char *name = c->at + 1, *end;
	bool close = name < c->end && *name == '/', keep, empty = false;
	size_t n = 0;
	int ret = 0;

	if (name < c->end && (*name == '!' || *name == '?')) {
		bool comment = c->end - name > 3 && memcmp(name, "!--", 3) == 0;

		end = memmem(name, c->end - name, comment ? "-->" : ">", comment ? 3 : 1);
		c->at = end ? end + (comment ? 3 : 1) : c->end;
		return 0;
	}
	name += close;
	while (name + n < c->end && isalpha((unsigned char)name[n]))
		n++;
	keep = n && on_list(elements, name, n);
	c->at = name + n;
	if (keep)
		ret = buf_printf(c->out, c->e, "<%s%.*s", close ? "/" : "", (int)n, name);
	/* the outermost has a title, and its size from the document */
	if (ret == 0)
		ret = add_rest(c, keep && !close, &empty);
	if (ret == 0 && keep)
		ret = buf_printf(c->out, c->e, "%s>", empty ? "/" : "");
	if (keep)
		*depth += close ? -1 : !empty;
	else if (!close && !empty)
		skip_content(c, name, n);
	return ret;
}

static int add_name(struct buf *out, const char *id, const char *title, const char *desc,
		    struct err *e)
{
	int ret;

	buf_printf(out, e, "<title id=\"%s-title\">", id);
	escape_add(out, ESCAPE_HTML, title, strlen(title), e);
	ret = buf_printf(out, e, "</title>");
	if (ret == 0 && desc)
		ret = buf_printf(out, e, "<desc id=\"%s-desc\">", id);
	if (ret == 0 && desc)
		ret = escape_add(out, ESCAPE_HTML, desc, strlen(desc), e);
	return ret < 0 || !desc ? ret : buf_printf(out, e, "</desc>");
}

/* The element <svg ...> itself: its viewBox, and who we are. */
static int add_head(struct cleaning *c, struct err *e)
{
	const char *box = memmem(c->at, c->end - c->at, "viewBox=\"", 9), *close;
	const char *tag = memchr(c->at, '>', c->end - c->at);
	size_t n;

	close = box ? memchr(box + 9, '"', c->end - box - 9) : NULL;
	if (!close || !tag || close > tag)
		return err_set(e, ERR_FAIL, "the picture is no SVG");
	n = close - box - 9;
	if (strspn(box + 9, "0123456789 .") < n)
		return err_set(e, ERR_FAIL, "the picture is no SVG");
	c->at = tag + 1;
	return buf_printf(c->out, e,
			  "<svg viewBox=\"%.*s\" role=\"img\" aria-labelledby=\"%s-title\">",
			  (int)n, box + 9, c->id);
}

int svg_inline(struct buf *out, const char *svg, size_t n, const char *id, const char *title,
	       const char *desc, struct err *e)
{
	struct cleaning c = { out, svg, svg + n, id, e };
	int ret, depth = 1;

	c.at = n ? memmem(svg, n, "<svg", 4) : NULL;
	ret = c.at ? add_head(&c, e) : err_set(e, ERR_FAIL, "the picture is no SVG");
	if (ret == 0)
		ret = add_name(out, id, title, desc, e);
	while (ret == 0 && c.at < c.end && depth > 0) {
		const char *tag = memchr(c.at, '<', c.end - c.at);
		size_t text = tag ? (size_t)(tag - c.at) : (size_t)(c.end - c.at);

		ret = buf_add(out, c.at, text, e);
		c.at += text;
		if (ret == 0 && tag)
			ret = add_tag(&c, &depth);
	}
	if (ret == 0 && depth > 0)
		ret = err_set(e, ERR_FAIL, "the picture is no SVG");
	return ret;
}
