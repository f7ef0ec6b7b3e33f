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
	return db_insert(c->db, TABLE_metric, e, "sssssdddis", c->analysis->name, subject, name,
			 m->unit, better_names[m->better], value, low, high, n, c->verdict);
}

int put_finding(struct analysis_ctx *c, struct err *e, enum severity severity, const char *label,
		const char *sql, const char *fmt, ...)
{
	char text[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return db_insert(c->db, TABLE_finding, e, "sisss", c->analysis->name, (s64)severity, label,
			 text, sql);
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
			if (strcmp((const char *)sqlite3_column_text(s, 0), order[i]) == 0)
				worst = i > worst ? i : worst;
		sqlite3_finalize(s);
		missing[0] = '\0';
	}
	*ret_verdict = order[worst];
	return 0;
}

static int run_one(sqlite3 *db, const struct analysis *a, struct err *e)
{
	struct analysis_ctx c = { .db = db, .analysis = a };
	char missing[64];
	int ret;

	ret = db_run(db, e, "DELETE FROM metric WHERE analysis=?", "s", a->name);
	if (ret == 0)
		ret = db_run(db, e, "DELETE FROM finding WHERE analysis=?", "s", a->name);
	if (ret == 0)
		ret = db_int(db, &c.duration, e,
			     "SELECT value FROM recording WHERE key='duration_ns'", "");
	if (ret == 0)
		ret = judge(db, a->needs, &c.verdict, missing, sizeof(missing), e);
	if (ret < 0)
		return ret;
	if (missing[0])
		return put_finding(&c, e, NOTE, "LIMIT", NULL,
				   "%s: not answered, the recording has no events of group %s.",
				   a->doc, missing);
	return a->run(&c, e);
}

int analyses_run(sqlite3 *db, const char *name, struct err *e)
{
	const struct analysis *const *a;
	struct buf list = { 0 };
	bool found = false;
	int ret = db_exec(db, e, "SAVEPOINT analyses");

	for (a = analyses; *a && ret == 0; a++) {
		if (name && strcmp(name, (*a)->name) != 0)
			continue;
		found = true;
		ret = run_one(db, *a, e);
	}
	if (ret == 0 && !found) {
		for (a = analyses; *a; a++)
			buf_printf(&list, NULL, "%s%s", list.len ? ", " : "", (*a)->name);
		ret = err_set(e, ERR_FAIL, "there is no analysis %.40s; there are %s", name,
			      list.data ? list.data : "");
		buf_free(&list);
	}
	db_exec(db, NULL, ret == 0 ? "RELEASE analyses" : "ROLLBACK TO analyses; RELEASE analyses");
	return ret;
}
