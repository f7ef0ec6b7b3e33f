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

static void escaped(struct buf *ret, const struct screen_page *p, const char *text)
{
	escape_add(ret, p->o->format == RENDER_MARKDOWN ? ESCAPE_MARKDOWN : ESCAPE_TEXT,
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
static void wrapped(struct screen_page *p, const char *text, int indent, int at)
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
	buf_printf(p->out, p->e, "\n");
}

/* "CAUSE    text", later lines below the text. */
static void labelled(struct screen_page *p, const char *label, const char *colour, const char *text)
{
	struct buf clean = { 0 };

	escaped(&clean, p, text);
	buf_printf(p->out, p->e, "%s%s%s%*s", p->o->colour ? colour : "", label,
		   p->o->colour ? PLAIN : "",
		   (int)strlen(label) < INDENT ? INDENT - (int)strlen(label) : 1, "");
	buf_fail(p->out, clean.failed);
	wrapped(p, clean.data ? clean.data : "", INDENT, INDENT);
	buf_free(&clean);
}

static void put_title(struct screen_page *p, const struct screen *s)
{
	struct buf title = { 0 };
	int gap;

	escaped(&title, p, s->title.len ? s->title.data : "recording");
	gap = p->width - (int)title.len - (int)s->range.len;
	if (buf_fail(p->out, title.failed) == 0)
		buf_printf(p->out, p->e, "%s%s%s", p->o->colour ? BOLD : "", title.data,
			   p->o->colour ? PLAIN : "");
	if (gap >= 2)
		buf_printf(p->out, p->e, "%*s%s\n\n", gap, "", s->range.data);
	else
		buf_printf(p->out, p->e, "\n%s\n\n", s->range.data ? s->range.data : "");
	buf_free(&title);
}

static void put_moments(struct screen_page *p, const struct screen *s, sqlite3 *db)
{
	struct buf line = { 0 };
	char length[32];
	int i;

	if (s->n_moments)
		buf_printf(p->out, p->e, "\nWORST MOMENTS\n");
	for (i = 0; i < s->n_moments; i++) {
		const struct screen_moment *m = &s->moments[i];

		buf_clear(&line);
		number_text(length, sizeof(length), m->dur, "ns");
		buf_fail(&line, say_number(&line, db, m->ts, "at", p->e));
		buf_printf(&line, p->e, m->who.len ? " %9s  %-20s" : " %9s  %s", length,
			   m->what.data);
		if (m->who.len)
			buf_printf(&line, p->e, "  %s", m->who.data);
		buf_fail(p->out, line.failed);
		buf_printf(p->out, p->e, " ");
		escaped(p->out, p, line.data);
		buf_printf(p->out, p->e, "\n");
	}
	buf_free(&line);
}

/* Without a problem there is no cause: a note, or where the time goes of what is not judged. */
static const char *label_of(const struct screen *s)
{
	return s->healthy ? "NOTE" : s->problems ? "CAUSE" : "WHERE";
}

static void put_causes(struct screen_page *p, const struct screen *s)
{
	struct buf text = { 0 };
	int i;

	for (i = 0; i < s->n_causes; i++) {
		buf_clear(&text);
		if (buf_fail(p->out, buf_printf(&text, p->e, "%s Evidence: %s.",
						s->causes[i].text.data, s->causes[i].sure)) == 0)
			labelled(p, i ? "" : label_of(s), BOLD, text.data);
	}
	buf_free(&text);
	if (screen_cause_missing(s))
		labelled(p, "CAUSE", BOLD, "not found: see the notes with -v.");
	if (s->also.len)
		labelled(p, "ALSO", BOLD, s->also.data);
	if (s->hint.len)
		labelled(p, "HINT", BOLD, s->hint.data);
}

/* Commands are copied: each is one line, of any length, and Markdown shows it as it is. */
static void put_next(struct screen_page *p, const struct screen *s, const char *label, int indent)
{
	struct buf line = { 0 };
	int i, more;

	for (i = 0; (more = screen_next(&line, s, i, p->o->name, p->e)) > 0; i++) {
		const char *first = i ? "" : label;

		buf_printf(p->out, p->e, "%s%s%s%*s", p->o->colour ? BOLD : "", first,
			   p->o->colour ? PLAIN : "", indent - (int)strlen(first), "");
		escape_add(p->out, ESCAPE_TEXT, line.data, line.len, p->e);
		buf_printf(p->out, p->e, "\n");
		buf_clear(&line);
	}
	buf_fail(p->out, more);
	buf_free(&line);
}

static void put_others(struct screen_page *p, const struct screen *s)
{
	struct buf line = { 0 };

	escaped(&line, p, s->others.data);
	buf_fail(p->out, line.failed);
	buf_printf(p->out, p->e, " ");
	wrapped(p, line.data ? line.data : "", 1, 1);
	buf_free(&line);
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

	p.width = p.width < NARROW ? NARROW : p.width;
	put_title(&p, s);
	if (s->problems) {
		labelled(&p, screen_status(s), RED, s->problem.data);
	} else {
		buf_printf(out, e, "%s%s%s\n%*s", o->colour ? (s->healthy ? GREEN : BOLD) : "",
			   screen_status(s), o->colour ? PLAIN : "", 1, "");
		wrapped(&p, s->problem.data, 1, 1);
	}
	put_causes(&p, s);
	if (s->problems)
		put_next(&p, s, "NEXT", INDENT);
	put_moments(&p, s, db);
	buf_printf(out, e, "\n");
	if (s->numbers.len)
		put_numbers(&p, s->numbers.data);
	buf_printf(out, e, " ");
	wrapped(&p, s->complete.data, 1, 1);
	if (s->others.len)
		put_others(&p, s);
	if (!s->problems) {
		buf_printf(out, e, "\n");
		put_next(&p, s, "NEXT", INDENT);
	}
	return out->failed;
}

/* ---- Markdown ---- */

static void add_line(struct screen_page *p, const char *before, const char *text, const char *after)
{
	buf_printf(p->out, p->e, "%s", before);
	escaped(p->out, p, text);
	buf_printf(p->out, p->e, "%s\n", after);
}

static void add_moments(struct screen_page *p, const struct screen *s, sqlite3 *db)
{
	struct buf when = { 0 };
	char length[32];
	int i;

	if (s->n_moments)
		buf_printf(p->out, p->e,
			   "\n| worst moments | length | what | request |\n"
			   "|---|---:|---|---|\n");
	for (i = 0; i < s->n_moments; i++) {
		buf_clear(&when);
		number_text(length, sizeof(length), s->moments[i].dur, "ns");
		buf_fail(p->out, say_number(&when, db, s->moments[i].ts, "at", p->e));
		buf_printf(p->out, p->e, "| %s | %s | %s | ", when.data, length,
			   s->moments[i].what.data);
		add_line(p, "", s->moments[i].who.data, " |");
	}
	buf_free(&when);
}

int screen_markdown(struct buf *out, const struct screen *s, sqlite3 *db,
		    const struct render_options *o, struct err *e)
{
	struct screen_page p = { out, o, 0, e };
	int i;

	add_line(&p, "# ", s->title.len ? s->title.data : "Recording", "\n");
	add_line(&p, "", s->range.data, "\n");
	buf_printf(out, e, "**%s** ", screen_status(s));
	add_line(&p, "", s->problem.data, "");
	for (i = 0; i < s->n_causes; i++) {
		buf_printf(out, e, "\n**%s** ", label_of(s));
		add_line(&p, "", s->causes[i].text.data, "");
		buf_printf(out, e, "Evidence: %s.\n", s->causes[i].sure);
	}
	if (screen_cause_missing(s))
		buf_printf(out, e, "\n**CAUSE** not found.\n");
	if (s->also.len)
		add_line(&p, "\n**ALSO** ", s->also.data, "");
	if (s->hint.len)
		add_line(&p, "\n**HINT** ", s->hint.data, "");
	add_moments(&p, s, db);
	if (s->numbers.len)
		add_line(&p, "\n", s->numbers.data, "");
	add_line(&p, "\n", s->complete.data, "");
	if (s->others.len)
		add_line(&p, "\n", s->others.data, "");
	buf_printf(out, e, "\nNext:\n\n");
	put_next(&p, s, "", 4);
	return out->failed;
}
