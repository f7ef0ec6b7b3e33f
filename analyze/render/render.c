// SPDX-License-Identifier: GPL-2.0-or-later
/* The report as text and as Markdown: the same order, two ways to draw it. */
#include "render.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/number.h"
#include "pivot.h"
#include "render_table.h"
#include "say.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

struct drawing {
	struct buf *out;
	sqlite3 *db;
	const struct render_options *o;
	bool markdown;
	struct err *e;
};

/* Bytes from the recording. */
static void add_trace(struct drawing *d, const char *text)
{
	if (text)
		escape_add(d->out, d->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, text, strlen(text),
			   d->e);
}

static void heading(struct drawing *d, const char *text)
{
	if (d->markdown)
		buf_printf(d->out, d->e, "\n## %s\n\n", text);
	else
		buf_printf(d->out, d->e, "\n%s%s%s\n", d->o->colour ? BOLD : "", text,
			   d->o->colour ? PLAIN : "");
}

/* Adds a paragraph, broken before the terminal's width; later lines are indented. */
static void paragraph(struct drawing *d, const char *text, int indent)
{
	int at = indent;
	size_t n;

	if (d->markdown) {
		buf_printf(d->out, d->e, "%s\n", text);
		return;
	}
	while (*text) {
		n = strcspn(text, " ");
		if (at > indent && at + 1 + (int)n > d->o->width) {
			buf_printf(d->out, d->e, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			buf_printf(d->out, d->e, " ");
			at++;
		}
		buf_add(d->out, text, n, d->e);
		at += n;
		text += n;
		text += *text == ' ';
	}
	buf_printf(d->out, d->e, "\n");
}

static void section(struct drawing *d, const struct analysis *a)
{
	char title[200], verdict[32] = "";
	int dropped = 0;
	struct pivot p;
	sqlite3_stmt *s;

	if (buf_fail(d->out, pivot_read(&p, d->db, a->name, a->rows,
					d->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, d->e)) < 0 ||
	    !p.n_rows ||
	    buf_fail(d->out, db_query(&s, d->db, d->e,
				      "SELECT verdict FROM metric WHERE analysis=? LIMIT 1", "s",
				      a->name)) < 0)
		goto out;
	if (db_step(s, d->e) > 0 && strcmp(db_text(s, 0), "COMPLETE") != 0)
		snprintf(verdict, sizeof(verdict), " [%s]", db_text(s, 0));
	sqlite3_finalize(s);
	snprintf(title, sizeof(title), "%s? (%s)%s", a->doc, a->name, verdict);
	heading(d, title);
	if (a->aside && !d->o->only) {
		buf_printf(d->out, d->e, "%d rows: obsanalyze report -a %s\n", p.n_rows + p.more,
			   a->name);
		goto out;
	}
	buf_fail(d->out, d->markdown ? table_markdown(d->out, &p, d->e)
				     : table_text(d->out, &p, d->o->width, &dropped, d->e));
	if (dropped)
		buf_printf(d->out, d->e, "%d more column%s: obsanalyze report -a %s --json\n",
			   dropped, dropped == 1 ? "" : "s", a->name);
	if (p.more)
		buf_printf(d->out, d->e, "%s... and %d more\n", d->markdown ? "\n" : "", p.more);
out:
	pivot_free(&p);
}

/* ---- findings ---- */

enum which { CAUSES, FINDINGS, LIMITS };

/* One row of severity, evidence, sentence, parent: what qualifies another is indented below it. */
static void finding(struct drawing *d, sqlite3_stmt *s, bool limit)
{
	static const char *const marks[] = { "-  ", "!  ", "!! " };
	static const char *const words[] = { "- ", "- **warning** ", "- **problem** " };
	int severity = sqlite3_column_int(s, 0) % 3;
	bool child = sqlite3_column_int64(s, 3) != 0;
	const char *mark = child	 ? (d->markdown ? "  - " : "   - ")
			   : d->markdown ? words[severity]
					 : marks[limit ? 0 : severity];
	const char *sentence = db_text(s, 2);
	struct buf text = { 0 };

	escape_add(&text, d->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, sentence, strlen(sentence),
		   d->e);
	if (!limit && !child)
		buf_printf(&text, d->e, " [%s]", db_text(s, 1));
	buf_printf(d->out, d->e, "%s", mark);
	if (buf_fail(d->out, text.failed) == 0 && text.data)
		paragraph(d, text.data, (int)strlen(mark));
	buf_free(&text);
}

static void findings(struct drawing *d, enum which w)
{
	static const char *const titles[] = { "Causes", "Findings",
					      "What this recording cannot show" };
	sqlite3_stmt *s;
	bool any = false;
	int ret;

	db_query(
		&s, d->db, d->e,
		"SELECT severity, evidence, sentence(id), parent FROM finding f"
		" WHERE CASE WHEN evidence='LIMIT' THEN 2 ELSE analysis<>'causes' END=?1"
		" AND (?2 IS NULL OR analysis=?2) AND (?2 IS NOT NULL OR analysis<>'verdict' OR kind='verdict_limits')"
		/* caveats and details follow what they qualify; ids are row ids */
		" ORDER BY coalesce((SELECT severity FROM finding p WHERE p.rowid=f.parent), severity) DESC,"
		" iif(parent, parent, id), id",
		"is", (s64)w, d->o->only);

	while ((ret = db_step(s, d->e)) > 0 && !d->out->failed) {
		if (!any)
			heading(d, titles[w]);
		any = true;
		finding(d, s, w == LIMITS);
	}
	buf_fail(d->out, db_end(s, ret));
}

/* ---- head ---- */

static void fact(struct drawing *d, const char *before, const char *key, const char *after)
{
	sqlite3_stmt *s;

	if (buf_fail(d->out, db_query(&s, d->db, d->e, "SELECT value FROM recording WHERE key=?",
				      "s", key)) < 0)
		return;
	if (db_step(s, d->e) > 0 && *db_text(s, 0)) {
		buf_printf(d->out, d->e, "%s", before);
		add_trace(d, db_text(s, 0));
		buf_printf(d->out, d->e, "%s", after);
	}
	sqlite3_finalize(s);
}

/* "COMPLETE: 1,234 records in 10.0 s, none lost.", by the worst group. */
static void verdict_line(struct drawing *d)
{
	static const char sql[] =
		"SELECT CASE WHEN total(verdict='LOSSY') THEN 'LOSSY'"
		" WHEN total(verdict='TRUNCATED') THEN 'TRUNCATED' ELSE 'COMPLETE' END,"
		" total(records), total(lost),"
		" (SELECT value FROM recording WHERE key='duration_ns'),"
		" (SELECT value FROM recording WHERE key='ignored_bytes'),"
		" (SELECT value FROM recording WHERE key='damaged_blocks'),"
		" (SELECT value FROM recording WHERE key='complete'),"
		" (SELECT value FROM recording WHERE key='sound') FROM coverage";
	char events[32], lost[32], time[32];
	struct buf text = { 0 };
	sqlite3_stmt *s;
	int ret;

	db_query(&s, d->db, d->e, sql, "");
	ret = db_step(s, d->e);
	if (ret > 0) {
		number_text(events, sizeof(events), sqlite3_column_double(s, 1), "");
		number_text(lost, sizeof(lost), sqlite3_column_double(s, 2), "");
		number_text(time, sizeof(time), sqlite3_column_double(s, 3), "ns");
		buf_printf(&text, d->e, "%s%s%s: %s records in %s, %s lost",
			   d->markdown	  ? "**"
			   : d->o->colour ? BOLD
					  : "",
			   db_text(s, 0),
			   d->markdown	  ? "**"
			   : d->o->colour ? PLAIN
					  : "",
			   events, time, sqlite3_column_double(s, 2) > 0 ? lost : "none");
		if (sqlite3_column_int64(s, 5))
			buf_printf(&text, d->e, "; %lld damaged blocks were left out",
				   sqlite3_column_int64(s, 5));
		if (!sqlite3_column_int64(s, 6) && sqlite3_column_int64(s, 7))
			buf_printf(&text, d->e, "; parts are missing: it was repaired");
		else if (!sqlite3_column_int64(s, 6))
			buf_printf(&text, d->e,
				   "; the recording was cut off (obsrec was killed, or the disk "
				   "was full), %lld bytes of it are ignored",
				   sqlite3_column_int64(s, 4));
		ret = buf_printf(&text, d->e, ".");
	}
	if (buf_fail(d->out, db_end(s, ret)) == 0 && text.len)
		paragraph(d, text.data, 0);
	buf_free(&text);
}

static void coverage_line(struct drawing *d)
{
	struct buf text = { 0 };
	char records[32], lost[32];
	sqlite3_stmt *s;
	int n = 0, ret;

	db_query(&s, d->db, d->e,
		 "SELECT grp, records, lost, verdict FROM coverage WHERE verdict<>'ABSENT'", "");
	while ((ret = db_step(s, d->e)) > 0) {
		number_text(records, sizeof(records), sqlite3_column_double(s, 1), "");
		number_text(lost, sizeof(lost), sqlite3_column_double(s, 2), "");
		buf_printf(&text, d->e, "%s%s %s", n++ ? ", " : "Groups: ", db_text(s, 0), records);
		if (sqlite3_column_int64(s, 2))
			buf_printf(&text, d->e, " (LOSSY: %s lost)", lost);
	}
	buf_fail(d->out, db_end(s, ret));
	if (n)
		buf_printf(&text, d->e, ".");
	if (buf_fail(d->out, text.failed) == 0 && n)
		paragraph(d, text.data, 0);
	buf_free(&text);
}

/* The first screen. */
static void first_screen(struct drawing *d)
{
	struct screen screen = { 0 };

	if (buf_fail(d->out, screen_read(&screen, d->db, d->e)) == 0)
		buf_fail(d->out, d->markdown ? screen_markdown(d->out, &screen, d->db, d->o, d->e)
					     : screen_text(d->out, &screen, d->db, d->o, d->e));
	screen_free(&screen);
}

/* When, where and by what it was recorded. */
static void origin(struct drawing *d)
{
	static const struct {
		const char *before, *key, *after;
	} facts[] = {
		{ "Begin ", "start", "" },	{ ", host ", "host", "" },
		{ " (", "distribution", ", " }, { "kernel ", "kernel", ", " },
		{ "", "cpus", " CPUs)" },	{ ", obsrec ", "obsrec", "" },
	};
	struct buf text = { 0 };
	struct drawing line = *d;
	size_t i;

	line.out = &text;
	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		fact(&line, facts[i].before, facts[i].key, facts[i].after);
	if (text.len && d->markdown)
		buf_printf(&text, d->e, "  ");
	if (buf_fail(d->out, text.failed) == 0 && text.len)
		paragraph(d, text.data, 0);
	buf_free(&text);
}

static void head(struct drawing *d)
{
	/* what was done to the recording afterwards */
	static const struct {
		const char *before, *key;
	} made[] = {
		{ "Only a part of the recording: ", "excerpt" },
		{ "Repaired: ", "repaired" },
		{ "Merged: ", "merged" },
		{ "Redacted: ", "redacted" },
	};
	const char *end = d->markdown ? "  \n" : "\n";
	size_t i, start;

	if (d->markdown)
		buf_printf(d->out, d->e, "%s ", d->o->only ? "#" : "##");
	buf_printf(d->out, d->e, "Recording ");
	start = d->out->len;
	fact(d, "", "file", ""); /* a database names the recording that it was made of */
	if (d->out->len == start)
		add_trace(d, d->o->name);
	buf_printf(d->out, d->e, "%s", d->markdown ? "\n\n" : "\n");
	verdict_line(d);
	if (d->markdown)
		buf_printf(d->out, d->e, "\n");
	origin(d);
	fact(d, "Command: ", "command", end);
	for (i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		fact(d, made[i].before, made[i].key, end);
	coverage_line(d);
}

/* A report of one analysis that has no rows. */
static void nothing(struct drawing *d)
{
	const struct analysis *a = analysis_named(d->o->only, d->e);

	if (!a)
		buf_fail(d->out, ERR_FAIL);
	else
		buf_printf(d->out, d->e, "\n%s: %s.\n", a->name,
			   a->nothing ? a->nothing : "nothing to report");
}

/* As text for a terminal, or as Markdown. */
static int draw(struct drawing *d)
{
	const struct analysis *const *a;
	const char *only = d->o->only;
	size_t start;

	if (!only)
		first_screen(d);
	if (!only && !d->o->all)
		return d->out->failed;
	if (!only)
		buf_printf(d->out, d->e, "\n");
	head(d);
	start = d->out->len;
	findings(d, CAUSES);
	findings(d, FINDINGS);
	for (a = analyses; *a && !d->out->failed; a++)
		if (!only || strcmp(only, (*a)->name) == 0)
			section(d, *a);
	findings(d, LIMITS);
	if (only && d->out->len == start)
		nothing(d);
	return d->out->failed;
}

static int render_text(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e)
{
	return draw(&(struct drawing){ out, db, o, false, e });
}

int render_markdown(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e)
{
	return draw(&(struct drawing){ out, db, o, true, e });
}

int render_report(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e)
{
	static int (*const render[])(struct buf *, sqlite3 *, const struct render_options *,
				     struct err *) = {
		[RENDER_TEXT] = render_text,
#define FORMAT(id, name, letter, argument, doc) [RENDER_##id] = render_##name,
#include "formats.def"
#undef FORMAT
	};

	return say_register(db, e) < 0 ? ERR_FAIL : render[o->format](out, db, o, e);
}
