// SPDX-License-Identifier: GPL-2.0-or-later
/* The first screen as text of 80 columns, and as Markdown for a ticket. */
#include "screen.h"

#include "analyze/base/number.h"
#include "format/escape.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

#define BOLD   "\033[1m"
#define RED    "\033[1;31m"
#define GREEN  "\033[1;32m"
#define PLAIN  "\033[0m"
#define INDENT 9
#define WIDE   80
#define NARROW 40

struct screen_page {
	struct buf *out;
	const struct render_options *o;
	int width;
	struct err *e;
};

static int escaped(struct buf *ret, const struct screen_page *p, const char *text)
{
	return escape_add(ret, p->o->format == RENDER_MARKDOWN ? ESCAPE_MARKDOWN : ESCAPE_TEXT,
			  text ? text : "", text ? strlen(text) : 0, p->e);
}

/* Bytes up to a space at which a line may break: not between a number and its unit. */
static size_t unbroken(const char *text)
{
	static const char *const units[] = { "%", "ns", "us", "ms", "s", "B", "kB", "MB", "GB" };
	size_t n = strcspn(text, " "), unit, i;

	if (!n || text[n] != ' ' || text[n - 1] < '0' || text[n - 1] > '9')
		return n;
	unit = strcspn(text + n + 1, " ,.;:)");
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == unit && strncmp(text + n + 1, units[i], unit) == 0)
			return n + 1 + strcspn(text + n + 1, " ");
	return n;
}

/* Text from column `indent` on, broken before the width. */
static int wrapped(struct screen_page *p, const char *text, int indent, int at)
{
	size_t n;
	bool first = true;

	while (*text) {
		n = unbroken(text);
		if (!first && at + 1 + (int)n > p->width) {
			buf_printf(p->out, p->e, "\n%*s", indent, "");
			at = indent;
		} else if (!first) {
			buf_printf(p->out, p->e, " ");
			at++;
		}
		first = false;
		buf_add(p->out, text, n, p->e);
		at += (int)n;
		text += n;
		text += strspn(text, " ");
	}
	return buf_printf(p->out, p->e, "\n");
}

/* "CAUSE    text", later lines below the text. */
static int labelled(struct screen_page *p, const char *label, const char *colour, const char *text)
{
	struct buf clean = { 0 };
	int ret = escaped(&clean, p, text);

	if (ret == 0)
		ret = buf_printf(p->out, p->e, "%s%s%s%*s", p->o->colour ? colour : "", label,
				 p->o->colour ? PLAIN : "",
				 (int)strlen(label) < INDENT ? INDENT - (int)strlen(label) : 1, "");
	if (ret == 0)
		ret = wrapped(p, clean.data ? clean.data : "", INDENT, INDENT);
	buf_free(&clean);
	return ret;
}

static int put_title(struct screen_page *p, const struct screen *s)
{
	struct buf title = { 0 };
	int gap, ret = escaped(&title, p, s->title.len ? s->title.data : "recording");

	gap = p->width - (int)title.len - (int)s->range.len;
	if (ret == 0)
		ret = buf_printf(p->out, p->e, "%s%s%s", p->o->colour ? BOLD : "", title.data,
				 p->o->colour ? PLAIN : "");
	if (ret == 0 && gap >= 2)
		ret = buf_printf(p->out, p->e, "%*s%s\n\n", gap, "", s->range.data);
	else if (ret == 0)
		ret = buf_printf(p->out, p->e, "\n%s\n\n", s->range.data ? s->range.data : "");
	buf_free(&title);
	return ret;
}

static int put_moments(struct screen_page *p, const struct screen *s, sqlite3 *db)
{
	struct buf line = { 0 };
	char length[32];
	int i, ret = 0;

	if (!s->n_moments)
		return 0;
	ret = buf_printf(p->out, p->e, "\nWORST MOMENTS\n");
	for (i = 0; i < s->n_moments && ret == 0; i++) {
		const struct screen_moment *m = &s->moments[i];

		buf_clear(&line);
		number_text(length, sizeof(length), m->dur, "ns");
		ret = say_number(&line, db, m->ts, "at", p->e);
		if (ret < 0)
			break;
		buf_printf(&line, p->e, m->who.len ? " %9s  %-20s" : " %9s  %s", length,
			   m->what.data);
		if (m->who.len)
			buf_printf(&line, p->e, "  %s", m->who.data);
		buf_printf(p->out, p->e, " ");
		escaped(p->out, p, line.data);
		ret = buf_printf(p->out, p->e, "\n");
		ret = line.failed ? line.failed : ret;
	}
	buf_free(&line);
	return ret;
}

/* Without a problem there is no cause: where the time of a steady level goes, or a note. */
static const char *label_of(const struct screen *s)
{
	return s->healthy ? "NOTE" : s->unchanged ? "WHERE" : "CAUSE";
}

static int put_causes(struct screen_page *p, const struct screen *s)
{
	struct buf text = { 0 };
	int i, ret = 0;

	for (i = 0; i < s->n_causes && ret == 0; i++) {
		buf_clear(&text);
		ret = buf_printf(&text, p->e, "%s Evidence: %s.", s->causes[i].text.data,
				 s->causes[i].sure);
		if (ret == 0)
			ret = labelled(p, i ? "" : label_of(s), BOLD, text.data);
	}
	buf_free(&text);
	if (s->problems && !s->n_causes && ret == 0 && s->kind != VERDICT_errors &&
	    s->kind != VERDICT_unanswered)
		ret = labelled(p, "CAUSE", BOLD, "not found: see the notes with -v.");
	if (ret == 0 && s->also.len)
		ret = labelled(p, "ALSO", BOLD, s->also.data);
	return ret == 0 && s->hint.len ? labelled(p, "HINT", BOLD, s->hint.data) : ret;
}

static int put_next(struct screen_page *p, const struct screen *s)
{
	struct buf line = { 0 };
	int i, first = s->problems || s->unchanged ? 0 : 1, ret;

	for (i = first; (ret = screen_next(&line, s, i, p->o->name, p->e)) > 0; i++) {
		ret = labelled(p, i > first ? "" : "NEXT", BOLD, line.data);
		buf_clear(&line);
		if (ret < 0)
			break;
	}
	buf_free(&line);
	return ret;
}

static int put_others(struct screen_page *p, const struct screen *s)
{
	struct buf line = { 0 };
	int ret = screen_others(&line, s, p->o->name, p->e);

	if (ret == 0) {
		buf_printf(p->out, p->e, " ");
		escaped(p->out, p, line.data);
		ret = buf_printf(p->out, p->e, "\n");
	}
	buf_free(&line);
	return ret;
}

/* Numbers stand two blanks from each other: a line breaks there. */
static void put_numbers(struct screen_page *p, const char *text)
{
	const char *next;
	int at = 1;

	buf_printf(p->out, p->e, " ");
	for (; *text; text = next) {
		size_t n = strcspn(text, " ");

		while (text[n] && text[n + 1] != ' ')
			n += 1 + strcspn(text + n + 1, " ");
		if (at > 1 && at + 2 + (int)n > p->width) {
			buf_printf(p->out, p->e, "\n ");
			at = 1;
		} else if (at > 1) {
			buf_printf(p->out, p->e, "  ");
			at += 2;
		}
		buf_add(p->out, text, n, p->e);
		at += (int)n;
		next = text + n + strspn(text + n, " ");
	}
	buf_printf(p->out, p->e, "\n");
}

int screen_text(struct buf *out, const struct screen *s, sqlite3 *db,
		const struct render_options *o, struct err *e)
{
	struct screen_page p = { out, o, o->width > WIDE ? WIDE : o->width, e };
	int ret;

	p.width = p.width < NARROW ? NARROW : p.width;
	ret = put_title(&p, s);
	if (ret == 0 && s->problems)
		ret = labelled(&p, screen_status(s), RED, s->problem.data);
	else if (ret == 0)
		ret = buf_printf(out, e, "%s%s%s\n%*s",
				 o->colour ? (s->healthy ? GREEN : BOLD) : "", screen_status(s),
				 o->colour ? PLAIN : "", 1, "");
	if (ret == 0 && !s->problems)
		ret = wrapped(&p, s->problem.data, 1, 1);
	if (ret == 0)
		ret = put_causes(&p, s);
	if (ret == 0 && s->problems)
		ret = put_next(&p, s);
	if (ret == 0)
		ret = put_moments(&p, s, db);
	if (ret < 0)
		return ret;
	buf_printf(out, e, "\n");
	if (s->numbers.len)
		put_numbers(&p, s->numbers.data);
	buf_printf(out, e, " ");
	ret = wrapped(&p, s->complete.data, 1, 1);
	if (ret == 0 && s->others.len)
		ret = put_others(&p, s);
	if (ret == 0 && !s->problems)
		ret = buf_printf(out, e, "\n");
	return ret < 0 || s->problems ? ret : put_next(&p, s);
}

/* ---- Markdown ---- */

static int add_line(struct screen_page *p, const char *before, const char *text, const char *after)
{
	buf_printf(p->out, p->e, "%s", before);
	escaped(p->out, p, text);
	return buf_printf(p->out, p->e, "%s\n", after);
}

static int add_moments(struct screen_page *p, const struct screen *s, sqlite3 *db)
{
	struct buf when = { 0 };
	char length[32];
	int i, ret;

	if (!s->n_moments)
		return 0;
	ret = buf_printf(p->out, p->e,
			 "\n| worst moments | length | what | request |\n"
			 "|---|---:|---|---|\n");
	for (i = 0; i < s->n_moments && ret == 0; i++) {
		buf_clear(&when);
		number_text(length, sizeof(length), s->moments[i].dur, "ns");
		ret = say_number(&when, db, s->moments[i].ts, "at", p->e);
		if (ret < 0)
			break;
		buf_printf(p->out, p->e, "| %s | %s | %s | ", when.data, length,
			   s->moments[i].what.data);
		ret = add_line(p, "", s->moments[i].who.data, " |");
	}
	buf_free(&when);
	return ret;
}

int screen_markdown(struct buf *out, const struct screen *s, sqlite3 *db,
		    const struct render_options *o, struct err *e)
{
	struct screen_page p = { out, o, 0, e };
	struct buf line = { 0 };
	int i, ret;

	add_line(&p, "# ", s->title.len ? s->title.data : "Recording", "\n");
	add_line(&p, "", s->range.data, "\n");
	buf_printf(out, e, "**%s** ", screen_status(s));
	add_line(&p, "", s->problem.data, "");
	for (i = 0; i < s->n_causes; i++) {
		buf_printf(out, e, "\n**%s** ", label_of(s));
		add_line(&p, "", s->causes[i].text.data, "");
		buf_printf(out, e, "Evidence: %s.\n", s->causes[i].sure);
	}
	if (s->also.len)
		add_line(&p, "\n**ALSO** ", s->also.data, "");
	if (s->hint.len)
		add_line(&p, "\n**HINT** ", s->hint.data, "");
	ret = add_moments(&p, s, db);
	if (s->numbers.len)
		add_line(&p, "\n", s->numbers.data, "");
	add_line(&p, "\n", s->complete.data, "");
	if (ret == 0)
		ret = screen_others(&line, s, o->name, e);
	if (ret == 0 && line.len)
		add_line(&p, "\n", line.data, "");
	buf_clear(&line);
	if (ret == 0)
		ret = buf_printf(out, e, "\nNext:\n\n");
	for (i = 0; ret == 0 && (ret = screen_next(&line, s, i, o->name, e)) > 0; i++) {
		ret = add_line(&p, "    ", line.data, "");
		buf_clear(&line);
	}
	buf_free(&line);
	return ret < 0 ? ret : 0;
}
