// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of analyses, and running them. */
#include "analysis.h"

#include "format/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANALYSIS(name) extern const struct analysis analysis_##name;
#include "analyses.def"
#undef ANALYSIS

const struct analysis *const analyses[] = {
#define ANALYSIS(name) &analysis_##name,
#include "analyses.def"
#undef ANALYSIS
	NULL,
};

static const char *const better_names[] = { "", "lower", "higher" };

int put_metric(struct analysis_ctx *c, struct err *e, const char *subject, const char *name,
	       double value, double low, double high, s64 n)
{
	const struct metric *m;

	for (m = c->analysis->metrics; m->name; m++)
		if (strcmp(m->name, name) == 0)
			break;
	if (!m->name)
		return err_set(e, ERR_FAIL, "analysis %s has no metric %s", c->analysis->name,
			       name);
	/* SQLite stores NAN as NULL: not known */
	return db_again(c->insert, e, "sssssdddis", c->analysis->name, subject, name, m->unit,
			better_names[m->better], value, low, high, n, c->verdict);
}

int put_finding(struct analysis_ctx *c, struct err *e, const struct finding *f)
{
	return finding_put(c->db, c->analysis->name, f, NULL, e);
}

int put_prose(struct analysis_ctx *c, struct err *e, enum severity severity, const char *label,
	      const char *sql, const char *fmt, ...)
{
	struct value values[2] = { 0 };
	struct finding f = { FINDING_text, severity, OBSERVED, .sql = sql, .values = values };
	char text[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	while (f.evidence < LIMIT && strcmp(evidence_names[f.evidence], label) != 0)
		f.evidence++;
	values[0] = (struct value)VALUE_TEXT("text", text);
	return put_finding(c, e, &f);
}

/* How complete the groups are; *ret_missing names the first that has nothing to say. */
static int judge(sqlite3 *db, const char *needs, const char **ret_verdict, char *missing,
		 size_t size, struct err *e)
{
	static const char *const order[] = { "COMPLETE", "TRUNCATED", "LOSSY" };
	sqlite3_stmt *s;
	size_t n, worst = 0, i;
	int ret = 0;

	missing[0] = '\0';
	for (; *needs; needs += n + (needs[n] == ' ')) {
		n = strcspn(needs, " ");
		snprintf(missing, size, "%.*s", (int)n, needs);
		ret = db_query(&s, db, e, "SELECT verdict, records FROM coverage WHERE grp=?", "s",
			       missing);
		if (ret < 0)
			return ret;
		ret = db_step(s, e);
		if (ret <= 0 || sqlite3_column_int64(s, 1) == 0) {
			sqlite3_finalize(s);
			return ret < 0 ? ret : 0;
		}
		for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
			if (strcmp(db_text(s, 0), order[i]) == 0)
				worst = i > worst ? i : worst;
		sqlite3_finalize(s);
		missing[0] = '\0';
	}
	*ret_verdict = order[worst];
	return 0;
}

/*
 * Limits that differ only in what they are about become one: the first, with the others as its
 * values "also", of which a sentence names two and counts the rest.
 */
static int join_limits(sqlite3 *db, const struct analysis *a, struct err *e)
{
	static const char find[] =
		"CREATE TEMP TABLE same AS SELECT id, first_value(id) OVER w AS first, row_number() OVER w"
		" AS k, subject_kind, subject FROM (SELECT f.id, f.kind, f.subject_kind, f.subject,"
		" (SELECT group_concat(name || unit || ifnull(number, '') || kind || id || ifnull(text, ''))"
		" FROM finding_value WHERE finding=f.id) AS says FROM finding f WHERE analysis=?"
		" AND evidence='LIMIT' AND subject_kind<>'none')"
		" WINDOW w AS (PARTITION BY kind, says ORDER BY id)";
	static const char join[] =
		"INSERT INTO finding_value SELECT first, 1000 + k, 'also', '', NULL, NULL, NULL,"
		" subject_kind, subject, NULL FROM temp.same WHERE k > 1;"
		"DELETE FROM finding_value WHERE finding IN (SELECT id FROM temp.same WHERE k > 1);"
		"DELETE FROM finding WHERE id IN (SELECT id FROM temp.same WHERE k > 1);"
		"DROP TABLE temp.same";
	int ret = db_run(db, e, find, "s", a->name);

	return ret < 0 ? ret : db_exec(db, e, join);
}

/* Questions whose events were not recorded. */
struct unanswered {
	struct buf questions;
	const struct analysis *first;
};

static int leave_out(struct unanswered *u, const struct analysis *a, const char *group,
		     struct err *e)
{
	u->first = u->first ? u->first : a;
	return buf_printf(&u->questions, e, "%s%s (group %s)", u->questions.len ? "; " : "", a->doc,
			  group);
}

static int put_unanswered(sqlite3 *db, const struct unanswered *u, struct err *e)
{
	struct analysis_ctx c = { .db = db, .analysis = u->first };

	if (!u->first)
		return 0;
	return put_prose(&c, e, NOTE, "LIMIT", NULL,
			 "questions whose events were not recorded: %s.", u->questions.data);
}

static int run_one(sqlite3 *db, const struct analysis *a, struct unanswered *unanswered,
		   struct err *e)
{
	struct analysis_ctx c = { .db = db, .analysis = a };
	char missing[64];
	int ret;

	ret = db_run(db, e, "DELETE FROM metric WHERE analysis=?", "s", a->name);
	if (ret == 0)
		ret = finding_drop(db, a->name, e);
	if (ret == 0)
		ret = db_int(db, &c.duration, e,
			     "SELECT value FROM recording WHERE key='duration_ns'", "");
	if (ret == 0)
		ret = judge(db, a->needs, &c.verdict, missing, sizeof(missing), e);
	if (ret < 0)
		return ret;
	if (missing[0])
		return leave_out(unanswered, a, missing, e);
	ret = db_query(&c.insert, db, e, "INSERT INTO metric VALUES(?,?,?,?,?,?,?,?,?,?)", "");
	if (ret == 0)
		ret = a->run(&c, e);
	sqlite3_finalize(c.insert);
	return ret < 0 ? ret : join_limits(db, a, e);
}

int analyses_run(sqlite3 *db, const char *name, struct err *e)
{
	const struct analysis *const *a;
	struct unanswered unanswered = { 0 };
	struct buf list = { 0 };
	bool found = false;
	int ret = db_exec(db, e, "SAVEPOINT analyses");

	for (a = analyses; *a && ret == 0; a++) {
		if (name && strcmp(name, (*a)->name) != 0)
			continue;
		found = true;
		ret = run_one(db, *a, &unanswered, e);
	}
	if (ret == 0)
		ret = put_unanswered(db, &unanswered, e);
	if (ret == 0 && !found) {
		for (a = analyses; *a; a++)
			buf_printf(&list, NULL, "%s%s", list.len ? ", " : "", (*a)->name);
		ret = err_set(e, ERR_FAIL, "there is no analysis %.40s; there are %s", name,
			      list.data ? list.data : "");
		buf_free(&list);
	}
	buf_free(&unanswered.questions);
	db_exec(db, NULL, ret == 0 ? "RELEASE analyses" : "ROLLBACK TO analyses; RELEASE analyses");
	return ret;
}
