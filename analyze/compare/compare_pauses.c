// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Why a service paused: the cause that the verdict found in the recording, kept until it is known
 * whether the other side has as many pauses. Subjects are text here: their tables are gone then.
 */
#include "compare_pauses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MOST 40
#define NAME_SIZE   32

struct pause_value {
	char name[NAME_SIZE], unit[8];
	double number;
	struct buf text; /* empty: none */
};

struct pause_cause {
	s64 finding;
	struct compared_subject subject;
	struct pause_value values[VALUES_MOST];
	size_t n;
	enum evidence evidence;
	struct pause_cause *next;
};

static int add_value(struct pause_cause *p, sqlite3 *db, sqlite3_stmt *q, struct err *e)
{
	enum subject_kind kind = subject_kind_of(db_text(q, 3));
	struct pause_value *v = &p->values[p->n];

	if (p->n == VALUES_MOST)
		return 0;
	p->n++;
	snprintf(v->name, sizeof(v->name), "%s", db_text(q, 0));
	snprintf(v->unit, sizeof(v->unit), "%s", db_text(q, 1));
	v->number = sqlite3_column_type(q, 2) == SQLITE_NULL ? NAN : sqlite3_column_double(q, 2);
	if (kind != SUBJECT_none)
		return subject_text(&v->text, db,
				    (struct subject){ kind, sqlite3_column_int64(q, 4) }, e);
	return sqlite3_column_type(q, 5) == SQLITE_NULL
		       ? 0
		       : buf_printf(&v->text, e, "%s", db_text(q, 5));
}

int compare_pauses(struct measured *m, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT v.name, v.unit, v.number, v.kind, v.id, v.text, f.id, f.evidence, 0, (SELECT comm FROM"
		" process p WHERE p.pid=s.pid ORDER BY start DESC LIMIT 1), s.kind, nullif(s.port, 0), NULL"
		" FROM finding f JOIN (SELECT server, min(pid) AS pid, kind, port FROM service GROUP BY server)"
		" s ON s.server=f.subject JOIN finding_value v ON v.finding=f.id AND (v.number NOT NULL OR v.text NOT NULL OR v.id > 0)"
		" WHERE f.kind='pause_cause' AND"
		" f.analysis='verdict' AND f.subject_kind='server' ORDER BY f.id, v.seq";
	struct pause_cause *p = NULL;
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "");

	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		if (!p || p->finding != sqlite3_column_int64(q, 6)) {
			p = calloc(1, sizeof(*p));
			if (!p) {
				ret = err_set(e, ERR_FAIL, "out of memory for pauses");
				break;
			}
			p->finding = sqlite3_column_int64(q, 6);
			p->evidence = strcmp(db_text(q, 7), evidence_names[CAUSAL]) == 0 ? CAUSAL
											 : OBSERVED;
			compare_subject_row(&p->subject, q, 8);
			p->next = m->pauses;
			m->pauses = p;
		}
		ret = add_value(p, db, q, e);
	}
	return db_end(q, ret);
}

/* Services of different ports may have been paired: then they have no port in `subject`. */
static const struct pause_cause *cause_of(const struct measured *m, const char *subject)
{
	const struct pause_cause *p;
	struct compared_subject s;
	char text[COMPARE_TEXT];

	for (p = m->pauses; p; p = p->next) {
		s = p->subject;
		compare_subject_text(text, sizeof(text), &s);
		if (strcmp(text, subject) == 0)
			return p;
		s.port = COMPARE_NO_PORT;
		compare_subject_text(text, sizeof(text), &s);
		if (strcmp(text, subject) == 0)
			return p;
	}
	return NULL;
}

int compare_pauses_say(sqlite3 *db, const struct sides *s, const char *subject, struct err *e)
{
	const struct pause_cause *p = NULL;
	struct value values[VALUES_MOST + 1] = { 0 };
	size_t i;

	for (i = 0; i < s->n[1] && !p; i++)
		p = cause_of(&s->of[1][i], subject);
	if (!p)
		return 0;
	for (i = 0; i < p->n; i++) {
		const struct pause_value *v = &p->values[i];

		values[i] = (struct value){ .name = v->name,
					    .unit = v->unit,
					    .number = v->number,
					    .low = NAN,
					    .high = NAN,
					    .text = v->text.len ? v->text.data : NULL };
	}
	const struct finding f = { FINDING_compare_pause_cause, PROBLEM, p->evidence,
				   .sql = "SELECT * FROM pause", .values = values };

	return finding_put(db, "compare", &f, NULL, e);
}

void compare_pauses_free(struct pause_cause *p)
{
	struct pause_cause *next;
	size_t i;

	for (; p; p = next) {
		next = p->next;
		for (i = 0; i < p->n; i++)
			buf_free(&p->values[i].text);
		free(p);
	}
}
