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

static int put(struct page *p, const char *markup)
{
	return buf_add(p->out, markup, strlen(markup), p->e);
}

/* Bytes from the recording. */
static int put_trace(struct page *p, const char *text)
{
	return text ? escape_add(p->out, ESCAPE_HTML, text, strlen(text), p->e) : 0;
}

static int take_name(struct buf *name, struct page *p)
{
	sqlite3_stmt *s;
	const char *text;
	int ret = db_query(&s, p->db, p->e, "SELECT value FROM recording WHERE key='file'", "");

	if (ret < 0)
		return ret;
	ret = db_step(s, p->e);
	if (ret >= 0) {
		text = ret > 0 ? db_text(s, 0) : p->o->name;
		ret = buf_printf(name, p->e, "%s", text ? text : "");
	}
	sqlite3_finalize(s);
	return ret;
}

static int put_head(struct page *p)
{
	struct buf name = { 0 };
	int ret = take_name(&name, p);

	if (ret == 0)
		ret = html_open(p->out, name.data ? name.data : "", "report", p->e);
	buf_free(&name);
	return ret;
}

static int put_screen(struct page *p)
{
	struct screen s = { 0 };
	int ret = screen_read(&s, p->db, p->e);

	if (ret == 0)
		ret = html_screen(p->out, &s, p->db, p->o, p->e);
	screen_free(&s);
	return ret;
}

/* Of a cause that is CPU time: what slow requests run more. */
static int put_flame(struct page *p)
{
	s64 cpu = 0;
	int ret = db_int(p->db, &cpu, p->e,
			 "SELECT category IN ('cpu', 'queue') AND path<>'' FROM cause WHERE rank=1"
			 " LIMIT 1",
			 "");

	if (ret < 0 || !cpu)
		return ret;
	p->shown = flame_named("flame-slow");
	ret = flame_draw(p->out, p->db, p->shown, false, p->e);
	return ret < 0 ? ret : 0;
}

/* A question that is folded; its answer follows. */
static int open_fold(struct page *p, const char *id, const char *title, const char *mark)
{
	return buf_printf(p->out, p->e,
			  "<details class=\"fold\" id=\"%s\"><summary><h2>%s%s</h2></summary>\n",
			  id, title, mark);
}

/* ---- what was recorded ---- */

static int put_facts(struct page *p)
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
	ret = put(p, "<dl>\n");
	first = p->out->len;

	for (i = 0; i < sizeof(facts) / sizeof(facts[0]) && ret == 0; i++) {
		ret = db_query(&s, p->db, p->e,
			       "SELECT value FROM recording WHERE key=? AND value<>''", "s",
			       facts[i].key);
		if (ret < 0)
			break;
		if (db_step(s, p->e) > 0) {
			buf_printf(p->out, p->e, "<dt>%s</dt><dd>", facts[i].name);
			put_trace(p, db_text(s, 0));
			ret = put(p, "</dd>\n");
		}
		sqlite3_finalize(s);
	}
	if (ret == 0 && p->out->len == first) {
		p->out->len = start; /* none is known */
		return 0;
	}
	return ret < 0 ? ret : put(p, "</dl>\n");
}

static int put_coverage(struct page *p)
{
	char records[32], lost[32];
	sqlite3_stmt *s;
	int ret = put(
		p,
		"<div class=\"wide\" role=\"region\" tabindex=\"0\" "
		"aria-label=\"What was recorded\">"
		"<table><caption>What was recorded, by group of events</caption><thead><tr>"
		"<th scope=\"col\">group</th><th scope=\"col\">records</th>"
		"<th scope=\"col\">lost</th><th scope=\"col\">verdict</th></tr></thead><tbody>\n");

	if (ret == 0)
		ret = db_query(&s, p->db, p->e,
			       "SELECT grp, records, lost, verdict FROM coverage WHERE "
			       "verdict<>'ABSENT'",
			       "");
	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(s, p->e)) > 0) {
		number_text(records, sizeof(records), sqlite3_column_double(s, 1), "");
		number_text(lost, sizeof(lost), sqlite3_column_double(s, 2), "");
		put(p, "<tr><th scope=\"row\">");
		put_trace(p, db_text(s, 0));
		buf_printf(p->out, p->e, "</th><td>%s</td><td>%s</td><td>", records, lost);
		put_trace(p, db_text(s, 3));
		ret = put(p, "</td></tr>\n");
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : put(p, "</tbody></table></div>\n");
}

static int put_recording(struct page *p)
{
	int ret = open_fold(p, "recording", "What was recorded", "");

	if (ret == 0)
		ret = put_facts(p);
	if (ret == 0)
		ret = put_coverage(p);
	return ret < 0 ? ret : put(p, "</details>\n");
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
static int put_evidence(struct page *p, const char *sql)
{
	int ret;

	put(p, "<details><summary>Evidence</summary>\n<pre><code>");
	put_trace(p, sql);
	ret = put(p, "</code></pre>\n");
	if (ret == 0)
		ret = evidence_html(p->out, p->db, sql, p->e);
	return ret < 0 ? ret : put(p, "</details>\n");
}

static int put_one(struct page *p, sqlite3_stmt *s, enum which w)
{
	static const char *const words[] = { "note", "warning", "problem" };
	static const char *const classes[] = { "", " warn", " bad" };
	unsigned int severity = (unsigned int)sqlite3_column_int(s, 0) % 3;
	const char *sql = db_text_or(s, 3, NULL);
	int ret;

	ret = put(p, "<li>");
	if (ret == 0 && w != LIMITS)
		ret = buf_printf(p->out, p->e, "<span class=\"tag%s\">%s</span> ",
				 classes[severity], words[severity]);
	if (ret == 0)
		ret = put_trace(p, db_text(s, 2));
	if (ret == 0 && w != LIMITS) {
		put(p, " <span class=\"tag\">");
		put_trace(p, db_text(s, 1));
		ret = put(p, "</span>");
	}
	if (ret == 0 && sql && *sql)
		ret = put_evidence(p, sql);
	return ret < 0 ? ret : put(p, "</li>\n");
}

static int put_list(struct page *p, enum which w)
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
	ret = put(p, w == LIMITS ? "<ul>\n" : "<ul class=\"said\">\n");
	if (ret == 0)
		ret = db_query(&s, p->db, p->e, sql, "s", p->o->only);
	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(s, p->e)) > 0) {
		n++;
		ret = put_one(p, s, w);
	}
	sqlite3_finalize(s);
	if (ret == 0 && !n)
		ret = buf_printf(p->out, p->e, "<li>%s</li>\n", lists[w].none);
	return ret < 0 ? ret : put(p, "</ul>\n</details>\n");
}

/* ---- questions ---- */

static int put_question(struct page *p, const struct analysis *a)
{
	const struct picture *pic;
	const struct flame *f;
	size_t start = p->out->len, before;
	/* the first screen has the id "verdict" */
	int ret = open_fold(p, strcmp(a->name, "verdict") == 0 ? "servers" : a->name, a->doc, "?");

	before = p->out->len;
	if (ret == 0)
		ret = html_table(p->out, p->db, a, p->e);
	for (pic = pictures; pic->name && ret == 0; pic++)
		if (strcmp(pic->analysis, a->name) == 0)
			ret = html_picture(p->out, p->db, pic, &p->missing, p->e);
	for (f = flames; f->name && ret >= 0; f++)
		if (strcmp(f->analysis, a->name) == 0 && f != p->shown)
			ret = flame_draw(p->out, p->db, f, false, p->e);
	ret = ret > 0 ? 0 : ret;
	if (ret == 0 && p->out->len == before) {
		p->out->len = start; /* nothing to say */
		return 0;
	}
	return ret < 0 ? ret : put(p, "</details>\n");
}

static int put_questions(struct page *p)
{
	const struct analysis *const *a;
	int ret = 0;

	for (a = analyses; *a && ret == 0; a++)
		if (!p->o->only || strcmp(p->o->only, (*a)->name) == 0)
			ret = put_question(p, *a);
	return ret < 0 ? ret : html_say_missing(p->out, &p->missing, p->e);
}

int render_html(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e)
{
	struct page p = { .out = out, .db = db, .o = o, .e = e };
	int ret = put_head(&p);

	if (ret == 0)
		ret = put_screen(&p);
	if (ret == 0)
		ret = put_flame(&p);
	if (ret == 0)
		ret = put_list(&p, CAUSES);
	if (ret == 0)
		ret = put_questions(&p);
	if (ret == 0)
		ret = put_list(&p, FINDINGS);
	if (ret == 0)
		ret = put_list(&p, LIMITS);
	if (ret == 0)
		ret = put_recording(&p);
	return ret < 0 ? ret
		       : put(&p,
			     "</main>\n<footer><p>Made by obsanalyze from the recording alone. n: sample "
			     "size; ±: half of a 95 % interval; OBSERVED: events name both ends; CAUSAL: the "
			     "wakeup was seen; OVERLAP: only the times agree; CORRELATED: no cause.</p>"
			     "</footer>\n</body>\n</html>\n");
}
