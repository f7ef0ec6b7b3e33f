// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of analyses, and running them. */
#include "analysis.h"

#include "format/buf.h"
#include "format/nearest.h"
#include "latency.h"

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

/*
 * How complete the groups are. missing: the first that was not recorded. 1: all were recorded, but
 * one had no event.
 */
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
			bool recorded = ret > 0 && strcmp(db_text(s, 0), "ABSENT") != 0;

			sqlite3_finalize(s);
			if (recorded)
				missing[0] = '\0';
			*ret_verdict = order[worst];
			return ret < 0 ? ret : recorded;
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

/* Questions without an answer: their events were not recorded, or none occurred. */
struct unanswered {
	s64 finding; /* one for all of them; 0: none yet */
	struct analysis_ctx c;
};

static int leave_out(struct unanswered *u, const struct analysis_ctx *c, const char *group)
{
	static const char one[] =
		"SELECT 'question', '', NULL, 'none', 0, ?1 || iif(?2='', '', ' (group ' || ?2 || ')')";
	const struct finding f = { .kind = *group ? FINDING_questions_unanswered
						  : FINDING_questions_empty,
				   .evidence = LIMIT };

	if (!u->finding) {
		u->c = *c;
		u->finding = add_finding(&u->c, &f);
	}
	if (u->c.err < 0)
		return u->c.err;
	return finding_add(c->db, u->finding, c->e, one, "ss", c->analysis->name, group);
}

/* Without a problem of a server, warnings are notes; not those of the recording and of killed
 * processes. */
static const char calm[] =
	"UPDATE finding SET severity=0 WHERE analysis=?1 AND severity=1 AND kind NOT IN"
	" ('recording_gap', 'wakeups_missing', 'killed')"
	" AND EXISTS (SELECT 1 FROM verdict WHERE status='none')"
	" AND NOT EXISTS (SELECT 1 FROM verdict WHERE status='problem')";

/* unanswered: two of them, or NULL: this analysis was not asked for. */
static int run_one(sqlite3 *db, const struct analysis *a, struct unanswered *unanswered,
		   struct err *e)
{
	struct analysis_ctx c = { .db = db, .analysis = a, .e = e };
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
		return unanswered ? leave_out(&unanswered[0], &c, missing) : 0;
	if (ret > 0 && !a->silence)
		return unanswered ? leave_out(&unanswered[1], &c, "") : 0;
	ret = db_query(&c.insert, db, e, "INSERT INTO metric VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", "");
	if (ret == 0)
		ret = a->run(&c, e);
	if (ret == 0)
		ret = c.err;
	sqlite3_finalize(c.insert);
	if (ret == 0)
		ret = db_run(db, e, calm, "s", a->name);
	return ret < 0 ? ret : join_limits(db, a, e);
}

/* The severity of all others follows these. */
static const struct analysis *const first[] = { &analysis_pauses, &analysis_verdict };

/* Subjects are found by id. */
static const char names[] = "CREATE INDEX IF NOT EXISTS process_of ON process(pid);"
			    "CREATE INDEX IF NOT EXISTS cgroup_of ON cgroup(id);"
			    "CREATE INDEX IF NOT EXISTS futex_of ON futex(id);"
			    "CREATE INDEX IF NOT EXISTS service_of ON service(id);"
			    "CREATE INDEX IF NOT EXISTS server_of ON server(id);"
			    "CREATE INDEX IF NOT EXISTS client_of ON client(id);"
			    "CREATE INDEX IF NOT EXISTS request_name_of ON request_name(id);"
			    "CREATE INDEX IF NOT EXISTS request_code_of ON request_code(id)";

const struct analysis *analysis_named(const char *name, struct err *e)
{
	struct nearest guess = nearest_to(name, strlen(name));
	const struct analysis *const *a;
	struct buf list = { 0 };

	for (a = analyses; *a; a++) {
		if (strcmp(name, (*a)->name) == 0)
			break;
		buf_printf(&list, NULL, "%s%s", list.len ? ", " : "", (*a)->name);
		nearest_offer(&guess, (*a)->name, strlen((*a)->name));
	}
	if (!*a) {
		err_set(e, ERR_FAIL, "there is no analysis %.40s; there are %s", name,
			list.data ? list.data : "");
		nearest_say(&guess, "", e);
	}
	buf_free(&list);
	return *a;
}

int analyses_run(sqlite3 *db, const char *name, struct err *e)
{
	const struct analysis *const *a;
	struct unanswered unanswered[2] = { 0 };
	size_t i;
	int ret = name && !analysis_named(name, e) ? ERR_FAIL : latency_register(db, e);

	if (ret == 0)
		ret = db_exec(db, e, "SAVEPOINT analyses");
	if (ret == 0)
		ret = db_exec(db, e, names);

	for (i = 0; i < sizeof(first) / sizeof(first[0]) && ret == 0; i++)
		ret = run_one(db, first[i],
			      name && strcmp(name, first[i]->name) != 0 ? NULL : unanswered, e);
	for (a = analyses; *a && ret == 0; a++) {
		if (name && strcmp(name, (*a)->name) != 0)
			continue;
		if (*a != first[0] && *a != first[1])
			ret = run_one(db, *a, unanswered, e);
	}
	if (ret == 0) /* outside a transaction it commits */
		return db_exec(db, e, "RELEASE analyses");
	db_exec(db, NULL, "ROLLBACK TO analyses; RELEASE analyses");
	return ret;
}
