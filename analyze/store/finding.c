// SPDX-License-Identifier: GPL-2.0-or-later
/* Findings as rows. */
#include "finding.h"

#include <stdio.h>
#include <string.h>

const char *const finding_names[N_FINDINGS] = {
#define FINDING(name, text) #name,
#include "findings.def"
#undef FINDING
};

const char *const finding_templates[N_FINDINGS] = {
#define FINDING(name, text) text,
#include "findings.def"
#undef FINDING
};

const char *const evidence_names[] = { "OBSERVED", "CAUSAL", "OVERLAP", "CORRELATED", "LIMIT" };

const char *const subject_names[N_SUBJECTS] = {
#define SUBJECT(name, key, sql) #name,
#include "subjects.def"
#undef SUBJECT
};

#define BYTES(n)                                                                                   \
	"iif(" n " < 1000, " n " || ' B', iif(" n " < 1e6, printf('%.3g kB', " n " / 1e3), iif(" n \
	" < 1e9, printf('%.3g MB', " n " / 1e6), printf('%.3g GB', " n " / 1e9))))"

static const char *const subject_sql[N_SUBJECTS] = {
#define SUBJECT(name, key, sql) sql,
#include "subjects.def"
#undef SUBJECT
};

enum subject_kind subject_kind_of(const char *name)
{
	int i;

	for (i = 0; i < N_SUBJECTS; i++)
		if (strcmp(subject_names[i], name) == 0)
			return i;
	return SUBJECT_none;
}

static int put_value(sqlite3 *db, s64 id, s64 seq, const struct value *v, struct err *e)
{
	return db_insert(db, TABLE_finding_value, e, "iissdddsis", id, seq, v->name,
			 v->unit ? v->unit : "", v->number, v->low, v->high,
			 subject_names[v->of.kind], v->of.id, v->text);
}

int finding_put(sqlite3 *db, const char *analysis, const struct finding *f, s64 *ret_id,
		struct err *e)
{
	s64 id = 0, seq = 0;
	const struct value *v;
	int ret = db_int(db, &id, e, "SELECT coalesce(max(rowid), 0) + 1 FROM finding", "");

	if (ret == 0)
		ret = db_insert(db, TABLE_finding, e, "issisisis", id, analysis,
				finding_names[f->kind], (s64)f->severity,
				evidence_names[f->evidence], f->parent,
				subject_names[f->about.kind], f->about.id, f->sql);
	for (v = f->values; v && v->name && ret == 0; v++)
		ret = put_value(db, id, seq++, v, e);
	if (ret_id)
		*ret_id = id;
	return ret;
}

/* Where values of a query go. */
struct list {
	sqlite3 *db;
	s64 finding, seq;
};

static int add_row(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct list *l = arg;
	const char *kind = (const char *)sqlite3_column_text(s, 3);
	struct value v = VALUE_TEXT((const char *)sqlite3_column_text(s, 0),
				    (const char *)sqlite3_column_text(s, 5));

	v.unit = (const char *)sqlite3_column_text(s, 1);
	v.number = db_number(s, 2);
	v.of = (struct subject){ subject_kind_of(kind ? kind : ""), sqlite3_column_int64(s, 4) };
	return put_value(l->db, l->finding, l->seq++, &v, e);
}

int finding_add(sqlite3 *db, s64 finding, struct err *e, const char *sql, const char *fmt, ...)
{
	struct list l = { db, finding, 0 };
	va_list ap;
	int ret = db_int(db, &l.seq, e,
			 "SELECT coalesce(max(seq), -1) + 1 FROM finding_value WHERE finding=?",
			 "i", finding);

	if (ret < 0)
		return ret;
	va_start(ap, fmt);
	ret = db_each_of(db, e, add_row, &l, sql, fmt, ap);
	va_end(ap);
	return ret;
}

int finding_drop(sqlite3 *db, const char *analysis, struct err *e)
{
	int ret = db_run(db, e,
			 "DELETE FROM finding_value WHERE finding IN"
			 " (SELECT id FROM finding WHERE analysis=?)",
			 "s", analysis);

	return ret < 0 ? ret : db_run(db, e, "DELETE FROM finding WHERE analysis=?", "s", analysis);
}

int subject_text(struct buf *out, sqlite3 *db, struct subject s, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	if (s.kind == SUBJECT_none)
		return 0;
	ret = db_query(&q, db, e, subject_sql[s.kind], "i", s.id);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_text(q, 0))
		ret = buf_printf(out, e, "%s", (const char *)sqlite3_column_text(q, 0));
	else if (ret >= 0)
		ret = buf_printf(out, e, "%s %lld", subject_names[s.kind], (long long)s.id);
	db_done(q);
	return ret;
}
