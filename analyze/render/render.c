// SPDX-License-Identifier: GPL-2.0-or-later
/* The report as text and as Markdown: the same order, two ways to draw it. */
#include "render.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/number.h"
#include "pivot.h"
#include "render_html.h"
#include "render_table.h"
#include "say.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

int render_json(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e);

struct drawing {
	struct buf *out;
	sqlite3 *db;
	const struct render_options *o;
	bool markdown;
	struct err *e;
};

/* Bytes from the recording. */
static int add_trace(struct drawing *d, const char *text)
{
	if (!text)
		return 0;
	return escape_add(d->out, d->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, text, strlen(text),
			  d->e);
}

static int heading(struct drawing *d, const char *text)
{
	if (d->markdown)
		return buf_printf(d->out, d->e, "\n## %s\n\n", text);
	return buf_printf(d->out, d->e, "\n%s%s%s\n", d->o->colour ? BOLD : "", text,
			  d->o->colour ? PLAIN : "");
}

/* Adds a paragraph, broken before the terminal's width; later lines are indented. */
static int paragraph(struct drawing *d, const char *text, int indent)
{
	int at = indent;
	size_t n;

	if (d->markdown)
		return buf_printf(d->out, d->e, "%s\n", text);
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
	return buf_printf(d->out, d->e, "\n");
}

static int section(struct drawing *d, const struct analysis *a)
{
	char title[200], verdict[32] = "";
	int dropped = 0;
	struct pivot p;
	sqlite3_stmt *s;
	int ret = pivot_read(&p, d->db, a->name, a->rows,
			     d->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, d->e);

	if (ret < 0 || !p.n_rows)
		goto out;
	ret = db_query(&s, d->db, d->e, "SELECT verdict FROM metric WHERE analysis=? LIMIT 1", "s",
		       a->name);
	if (ret < 0)
		goto out;
	if (db_step(s, d->e) > 0 && strcmp(db_text(s, 0), "COMPLETE") != 0)
		snprintf(verdict, sizeof(verdict), " [%s]", db_text(s, 0));
	sqlite3_finalize(s);
	snprintf(title, sizeof(title), "%s? (%s)%s", a->doc, a->name, verdict);
	ret = heading(d, title);
	if (ret == 0 && a->aside && !d->o->only) {
		ret = buf_printf(d->out, d->e, "%d rows: obsanalyze report -a %s\n",
				 p.n_rows + p.more, a->name);
		goto out;
	}
	if (ret == 0)
		ret = d->markdown ? table_markdown(d->out, &p, d->e)
				  : table_text(d->out, &p, d->o->width, &dropped, d->e);
	if (ret == 0 && dropped)
		ret = buf_printf(d->out, d->e, "%d more column%s: obsanalyze report -a %s --json\n",
				 dropped, dropped == 1 ? "" : "s", a->name);
	if (ret == 0 && p.more)
		ret = buf_printf(d->out, d->e, "%s... and %d more\n", d->markdown ? "\n" : "",
				 p.more);
out:
	pivot_free(&p);
	return ret;
}

/* ---- findings ---- */

enum which { CAUSES, FINDINGS, LIMITS };

/* One row of severity, evidence, sentence, parent: what qualifies another is indented below it. */
static int finding(struct drawing *d, sqlite3_stmt *s, bool limit)
{
	static const char *const marks[] = { "-  ", "!  ", "!! " };
	static const char *const words[] = { "- ", "- **warning** ", "- **problem** " };
	int severity = sqlite3_column_int(s, 0) % 3, ret;
	bool child = sqlite3_column_int64(s, 3) != 0;
	const char *mark = child	 ? (d->markdown ? "  - " : "   - ")
			   : d->markdown ? words[severity]
					 : marks[limit ? 0 : severity];
	const char *sentence = db_text(s, 2);
	struct buf text = { 0 };

	ret = escape_add(&text, d->markdown ? ESCAPE_MARKDOWN : ESCAPE_TEXT, sentence,
			 strlen(sentence), d->e);
	if (ret == 0 && !limit && !child)
		ret = buf_printf(&text, d->e, " [%s]", db_text(s, 1));
	if (ret == 0)
		ret = buf_printf(d->out, d->e, "%s", mark);
	if (ret == 0 && text.data)
		ret = paragraph(d, text.data, (int)strlen(mark));
	buf_free(&text);
	return ret;
}

static int findings(struct drawing *d, enum which w)
{
	static const char *const titles[] = { "Causes", "Findings",
					      "What this recording cannot show" };
	sqlite3_stmt *s;
	bool any = false;
	int ret = db_query(
		&s, d->db, d->e,
		"SELECT severity, evidence, sentence(id), parent FROM finding f"
		" WHERE CASE WHEN evidence='LIMIT' THEN 2 ELSE analysis<>'causes' END=?1"
		" AND (?2 IS NULL OR analysis=?2) AND (?2 IS NOT NULL OR analysis<>'verdict' OR kind='verdict_limits')"
		/* caveats and details follow what they qualify; ids are row ids */
		" ORDER BY coalesce((SELECT severity FROM finding p WHERE p.rowid=f.parent), severity) DESC,"
		" iif(parent, parent, id), id",
		"is", (s64)w, d->o->only);

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, d->e)) > 0) {
		if (!any && heading(d, titles[w]) < 0)
			break;
		any = true;
		ret = finding(d, s, w == LIMITS);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(s);
	return ret;
}

/* ---- head ---- */

static int fact(struct drawing *d, const char *before, const char *key, const char *after)
{
	sqlite3_stmt *s;
	int ret = db_query(&s, d->db, d->e, "SELECT value FROM recording WHERE key=?", "s", key);

	if (ret < 0)
		return ret;
	if (db_step(s, d->e) > 0 && *db_text(s, 0)) {
		buf_printf(d->out, d->e, "%s", before);
		add_trace(d, db_text(s, 0));
		ret = buf_printf(d->out, d->e, "%s", after);
	}
	sqlite3_finalize(s);
	return ret;
}

/* "COMPLETE: 1,234 records in 10.0 s, none lost.", by the worst group. */
static int verdict_line(struct drawing *d)
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
	int ret = db_query(&s, d->db, d->e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(s, d->e);
	if (ret > 0) {
		number_text(events, sizeof(events), sqlite3_column_double(s, 1), "");
		number_text(lost, sizeof(lost), sqlite3_column_double(s, 2), "");
		number_text(time, sizeof(time), sqlite3_column_double(s, 3), "ns");
		ret = buf_printf(&text, d->e, "%s%s%s: %s records in %s, %s lost",
				 d->markdown	? "**"
				 : d->o->colour ? BOLD
						: "",
				 db_text(s, 0),
				 d->markdown	? "**"
				 : d->o->colour ? PLAIN
						: "",
				 events, time, sqlite3_column_double(s, 2) > 0 ? lost : "none");
		if (ret == 0 && sqlite3_column_int64(s, 5))
			ret = buf_printf(&text, d->e, "; %lld damaged blocks were left out",
					 sqlite3_column_int64(s, 5));
		if (ret == 0 && !sqlite3_column_int64(s, 6) && sqlite3_column_int64(s, 7))
			ret = buf_printf(&text, d->e, "; parts are missing: it was repaired");
		else if (ret == 0 && !sqlite3_column_int64(s, 6))
			ret = buf_printf(
				&text, d->e,
				"; the recording was cut off (obsrec was killed, or the disk "
				"was full), %lld bytes of it are ignored",
				sqlite3_column_int64(s, 4));
		if (ret == 0)
			ret = buf_printf(&text, d->e, ".");
		if (ret == 0)
			ret = paragraph(d, text.data, 0);
	}
	sqlite3_finalize(s);
	buf_free(&text);
	return ret;
}

static int coverage_line(struct drawing *d)
{
	struct buf text = { 0 };
	char records[32], lost[32];
	sqlite3_stmt *s;
	int n = 0, ret = db_query(&s, d->db, d->e,
				  "SELECT grp, records, lost, verdict FROM coverage "
				  "WHERE verdict<>'ABSENT'",
				  "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, d->e)) > 0) {
		number_text(records, sizeof(records), sqlite3_column_double(s, 1), "");
		number_text(lost, sizeof(lost), sqlite3_column_double(s, 2), "");
		ret = buf_printf(&text, d->e, "%s%s %s", n++ ? ", " : "Groups: ", db_text(s, 0),
				 records);
		if (ret == 0 && sqlite3_column_int64(s, 2))
			ret = buf_printf(&text, d->e, " (LOSSY: %s lost)", lost);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(s);
	if (ret == 0 && n)
		ret = buf_printf(&text, d->e, ".");
	if (ret == 0 && n)
		ret = paragraph(d, text.data, 0);
	buf_free(&text);
	return ret;
}

/* The first screen. */
static int first_screen(struct drawing *d)
{
	struct screen screen = { 0 };
	int ret = screen_read(&screen, d->db, d->e);

	if (ret == 0)
		ret = d->markdown ? screen_markdown(d->out, &screen, d->db, d->o, d->e)
				  : screen_text(d->out, &screen, d->db, d->o, d->e);
	screen_free(&screen);
	return ret;
}

/* When, where and by what it was recorded. */
static int origin(struct drawing *d)
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
	int ret = 0;

	line.out = &text;
	for (i = 0; i < sizeof(facts) / sizeof(facts[0]) && ret == 0; i++)
		ret = fact(&line, facts[i].before, facts[i].key, facts[i].after);
	if (ret == 0 && text.len && d->markdown)
		ret = buf_printf(&text, d->e, "  ");
	if (ret == 0 && text.len)
		ret = paragraph(d, text.data, 0);
	buf_free(&text);
	return ret;
}

static int head(struct drawing *d)
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
	int ret = 0;

	if (d->markdown)
		ret = buf_printf(d->out, d->e, "%s Recording ", d->o->only ? "#" : "##");
	else
		ret = buf_printf(d->out, d->e, "Recording ");
	start = d->out->len;
	if (ret == 0)
		ret = fact(d, "", "file",
			   ""); /* a database names the recording that it was made of */
	if (ret == 0 && d->out->len == start)
		ret = add_trace(d, d->o->name);
	if (ret == 0)
		ret = buf_printf(d->out, d->e, "%s", d->markdown ? "\n\n" : "\n");
	if (ret == 0)
		ret = verdict_line(d);
	if (ret == 0 && d->markdown)
		ret = buf_printf(d->out, d->e, "\n");
	if (ret == 0)
		ret = origin(d);
	if (ret == 0)
		ret = fact(d, "Command: ", "command", end);
	for (i = 0; i < sizeof(made) / sizeof(made[0]) && ret == 0; i++)
		ret = fact(d, made[i].before, made[i].key, end);
	return ret < 0 ? ret : coverage_line(d);
}

/* A report of one analysis that has no rows. */
static int nothing(struct drawing *d)
{
	const struct analysis *a = analysis_named(d->o->only, d->e);

	return !a	    ? ERR_FAIL
	       : a->nothing ? buf_printf(d->out, d->e, "\n%s: %s.\n", a->name, a->nothing)
			    : buf_printf(d->out, d->e, "\n%s: nothing to report.\n", a->name);
}

int render_report(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e)
{
	struct drawing d = { out, db, o, o->format == RENDER_MARKDOWN, e };
	const struct analysis *const *a;
	size_t start;
	int ret;

	ret = say_register(db, e);
	if (ret < 0)
		return ret;
	if (o->format == RENDER_JSON)
		return render_json(out, db, o, e);
	if (o->format == RENDER_HTML)
		return render_html(out, db, o, e);
	ret = o->only ? 0 : first_screen(&d);
	if (ret < 0 || (!o->only && !o->all))
		return ret;
	if (!o->only)
		ret = buf_printf(out, e, "\n");
	if (ret == 0)
		ret = head(&d);
	start = out->len;
	if (ret == 0)
		ret = findings(&d, CAUSES);
	if (ret == 0)
		ret = findings(&d, FINDINGS);
	for (a = analyses; *a && ret == 0; a++)
		if (!o->only || strcmp(o->only, (*a)->name) == 0)
			ret = section(&d, *a);
	if (ret == 0)
		ret = findings(&d, LIMITS);
	return ret == 0 && o->only && out->len == start ? nothing(&d) : ret;
}
