// SPDX-License-Identifier: GPL-2.0-or-later
/* The report as HTML: verdict, causes, findings, tables with their pictures, limits. */
#include "render_html.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/number.h"
#include "evidence.h"
#include "flame.h"
#include "format/escape.h"
#include "html_parts.h"
#include "html_screen.h"
#include "html_table.h"
#include "pictures.h"

#include <stdio.h>
#include <string.h>

struct page {
	struct buf *out;
	sqlite3 *db;
	const struct render_options *o;
	struct err *e;
	struct html_missing missing;
	const struct flame *shown; /* in the first view; NULL: none */
};

static void put(struct page *p, const char *markup)
{
	buf_add(p->out, markup, strlen(markup), p->e);
}

/* Bytes from the recording. */
static void put_trace(struct page *p, const char *text)
{
	if (text)
		escape_add(p->out, ESCAPE_HTML, text, strlen(text), p->e);
}

static int take_name(struct buf *name, struct page *p)
{
	sqlite3_stmt *s;
	const char *text;
	int ret = db_query(&s, p->db, p->e, "SELECT value FROM recording WHERE key='file'", "");

	ret = db_step(s, p->e);
	if (ret >= 0) {
		text = ret > 0 ? db_text(s, 0) : p->o->name;
		ret = buf_printf(name, p->e, "%s", text ? text : "");
	}
	sqlite3_finalize(s);
	return ret;
}

static void put_head(struct page *p)
{
	struct buf name = { 0 };

	if (buf_fail(p->out, take_name(&name, p)) == 0)
		buf_fail(p->out, html_open(p->out, name.data ? name.data : "", "report", p->e));
	buf_free(&name);
}

static void put_screen(struct page *p)
{
	struct screen s = { 0 };

	if (buf_fail(p->out, screen_read(&s, p->db, p->e)) == 0)
		buf_fail(p->out, html_screen(p->out, &s, p->db, p->o, p->e));
	screen_free(&s);
}

/* Of a cause that is CPU time: what slow requests run more. */
static void put_flame(struct page *p)
{
	s64 cpu = 0;

	buf_fail(p->out,
		 db_int(p->db, &cpu, p->e,
			"SELECT category IN ('cpu', 'queue') AND path<>'' FROM cause WHERE rank=1"
			" LIMIT 1",
			""));
	if (!cpu)
		return;
	p->shown = flame_named("flame-slow");
	buf_fail(p->out, flame_draw(p->out, p->db, p->shown, false, p->e));
}

/* A question that is folded; its answer follows. */
static void open_fold(struct page *p, const char *id, const char *title, const char *mark)
{
	buf_printf(p->out, p->e,
		   "<details class=\"fold\" id=\"%s\"><summary><h2>%s%s</h2></summary>\n", id,
		   title, mark);
}

/* ---- what was recorded ---- */

static void put_facts(struct page *p)
{
	static const struct {
		const char *key, *name;
	} facts[] = {
		{ "start", "Start" },	      { "host", "Host" },
		{ "distribution", "System" }, { "kernel", "Kernel" },
		{ "cpus", "CPUs" },	      { "command", "Command" },
		{ "obsrec", "obsrec" },	      { "baseline_from", "Baseline from [ns]" },
		{ "baseline_to", "to [ns]" },
	};
	sqlite3_stmt *s;
	size_t i, start, first;
	int ret;

	start = p->out->len;
	put(p, "<dl>\n");
	first = p->out->len;
	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		db_query(&s, p->db, p->e, "SELECT value FROM recording WHERE key=? AND value<>''",
			 "s", facts[i].key);
		ret = db_step(s, p->e);
		if (ret > 0) {
			buf_printf(p->out, p->e, "<dt>%s</dt><dd>", facts[i].name);
			put_trace(p, db_text(s, 0));
			put(p, "</dd>\n");
		}
		buf_fail(p->out, db_end(s, ret));
	}
	if (p->out->len == first)
		p->out->len = start; /* none is known */
	else
		put(p, "</dl>\n");
}

static void put_coverage(struct page *p)
{
	char records[32], lost[32];
	sqlite3_stmt *s;
	int ret;

	put(p, "<div class=\"wide\" role=\"region\" tabindex=\"0\" "
	       "aria-label=\"What was recorded\">"
	       "<table><caption>What was recorded, by group of events</caption><thead><tr>"
	       "<th scope=\"col\">group</th><th scope=\"col\">records</th>"
	       "<th scope=\"col\">lost</th><th scope=\"col\">verdict</th></tr></thead><tbody>\n");
	db_query(&s, p->db, p->e,
		 "SELECT grp, records, lost, verdict FROM coverage WHERE verdict<>'ABSENT'", "");
	while ((ret = db_step(s, p->e)) > 0) {
		number_text(records, sizeof(records), sqlite3_column_double(s, 1), "");
		number_text(lost, sizeof(lost), sqlite3_column_double(s, 2), "");
		put(p, "<tr><th scope=\"row\">");
		put_trace(p, db_text(s, 0));
		buf_printf(p->out, p->e, "</th><td>%s</td><td>%s</td><td>", records, lost);
		put_trace(p, db_text(s, 3));
		put(p, "</td></tr>\n");
	}
	buf_fail(p->out, db_end(s, ret));
	put(p, "</tbody></table></div>\n");
}

static void put_recording(struct page *p)
{
	open_fold(p, "recording", "What was recorded", "");
	put_facts(p);
	put_coverage(p);
	put(p, "</details>\n");
}

/* ---- findings ---- */

enum which { CAUSES, FINDINGS, LIMITS };

static const struct {
	const char *id, *title, *where, *none;
} lists[] = {
	[CAUSES] = { "why", "Causes with evidence", "analysis='causes' AND evidence<>'LIMIT'",
		     "This recording shows no cause; the limits have the reason." },
	[FINDINGS] = { "findings", "Notes",
		       "analysis NOT IN ('causes', 'verdict') AND evidence<>'LIMIT'", "None." },
	[LIMITS] = { "limits", "What this recording cannot show",
		     "evidence='LIMIT' AND (analysis<>'verdict' OR kind='verdict_limits')",
		     "Nothing else." },
};

/* Folded: the query, and its first rows. */
static void put_evidence(struct page *p, const char *sql)
{
	put(p, "<details><summary>Evidence</summary>\n<pre><code>");
	put_trace(p, sql);
	put(p, "</code></pre>\n");
	buf_fail(p->out, evidence_html(p->out, p->db, sql, p->e));
	put(p, "</details>\n");
}

static void put_one(struct page *p, sqlite3_stmt *s, enum which w)
{
	static const char *const words[] = { "note", "warning", "problem" };
	static const char *const classes[] = { "", " warn", " bad" };
	unsigned int severity = (unsigned int)sqlite3_column_int(s, 0) % 3;
	const char *sql = db_text_or(s, 3, NULL);

	put(p, "<li>");
	if (w != LIMITS)
		buf_printf(p->out, p->e, "<span class=\"tag%s\">%s</span> ", classes[severity],
			   words[severity]);
	put_trace(p, db_text(s, 2));
	if (w != LIMITS) {
		put(p, " <span class=\"tag\">");
		put_trace(p, db_text(s, 1));
		put(p, "</span>");
	}
	if (sql && *sql)
		put_evidence(p, sql);
	put(p, "</li>\n");
}

static void put_list(struct page *p, enum which w)
{
	char sql[300];
	sqlite3_stmt *s;
	int n = 0, ret;

	snprintf(
		sql, sizeof(sql),
		"SELECT severity, evidence, sentence(id), sql FROM finding WHERE %s AND (?1 IS NULL OR"
		" analysis=?1) ORDER BY severity DESC, rowid",
		lists[w].where);
	open_fold(p, lists[w].id, lists[w].title, "");
	put(p, w == LIMITS ? "<ul>\n" : "<ul class=\"said\">\n");
	db_query(&s, p->db, p->e, sql, "s", p->o->only);
	while ((ret = db_step(s, p->e)) > 0 && !p->out->failed) {
		n++;
		put_one(p, s, w);
	}
	buf_fail(p->out, db_end(s, ret));
	if (!n)
		buf_printf(p->out, p->e, "<li>%s</li>\n", lists[w].none);
	put(p, "</ul>\n</details>\n");
}

/* ---- questions ---- */

static void put_question(struct page *p, const struct analysis *a)
{
	const struct picture *pic;
	const struct flame *f;
	size_t start = p->out->len, before;

	/* the first screen has the id "verdict" */
	open_fold(p, strcmp(a->name, "verdict") == 0 ? "servers" : a->name, a->doc, "?");
	before = p->out->len;
	buf_fail(p->out, html_table(p->out, p->db, a, p->e));
	for (pic = pictures; pic->name && !p->out->failed; pic++)
		if (strcmp(pic->analysis, a->name) == 0)
			buf_fail(p->out, html_picture(p->out, p->db, pic, &p->missing, p->e));
	for (f = flames; f->name && !p->out->failed; f++)
		if (strcmp(f->analysis, a->name) == 0 && f != p->shown)
			buf_fail(p->out, flame_draw(p->out, p->db, f, false, p->e));
	if (p->out->len == before)
		p->out->len = start; /* nothing to say */
	else
		put(p, "</details>\n");
}

static void put_questions(struct page *p)
{
	const struct analysis *const *a;

	for (a = analyses; *a && !p->out->failed; a++)
		if (!p->o->only || strcmp(p->o->only, (*a)->name) == 0)
			put_question(p, *a);
	buf_fail(p->out, html_say_missing(p->out, &p->missing, p->e));
}

int render_html(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e)
{
	struct page p = { .out = out, .db = db, .o = o, .e = e };

	put_head(&p);
	put_screen(&p);
	put_flame(&p);
	put_list(&p, CAUSES);
	put_questions(&p);
	put_list(&p, FINDINGS);
	put_list(&p, LIMITS);
	put_recording(&p);
	put(&p, "</main>\n<footer><p>Made by obsanalyze from the recording alone. n: sample "
		"size; ±: half of a 95 % interval; OBSERVED: events name both ends; CAUSAL: the "
		"wakeup was seen; OVERLAP: only the times agree; CORRELATED: no cause.</p>"
		"</footer>\n</body>\n</html>\n");
	return out->failed;
}
