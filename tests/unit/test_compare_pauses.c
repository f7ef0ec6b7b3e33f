// SPDX-License-Identifier: GPL-2.0-or-later
/* Comparisons: the cause of pauses goes from a recording to them; factors in their tables. */
#include "tests/lib/unit.h"

#include "analyze/compare/compare_pauses.h"
#include "analyze/render/compare_cells.h"
#include "tests/lib/loaded.h"

static sqlite3 *empty(const char *rows)
{
	struct err e = { 0 };
	sqlite3 *db = NULL;

	if (db_open(&db, NULL, true, &e) < 0 || (rows && db_exec(db, &e, rows) < 0))
		fail_msg("%s", e.text);
	return db;
}

static void the_cause_on_the_side_after_is_put(void **state)
{
	static const char rows[] =
		"INSERT INTO process(pid, start, comm) VALUES(7, 0, 'server');"
		"INSERT INTO thread(tid, pid, start, comm) VALUES(8, 7, 0, 'worker');"
		"INSERT INTO service(id, pid, kind, port, server) VALUES(1, 7, 'tcp', 80, 3);"
		"INSERT INTO finding(id, analysis, kind, subject_kind, subject, evidence, parent)"
		" VALUES(5, 'verdict', 'pause_cause', 'server', 3, 'OBSERVED', 4);"
		"INSERT INTO finding_value(finding, seq, name, unit, number, kind, id, text) VALUES"
		"(5, 1, 'thread', '', NULL, 'thread', 8, NULL), (5, 2, 'share', '%', 92, 'none', 0, NULL),"
		"(5, 3, 'state', '', NULL, 'none', 0, 'on CPU')";
	struct measured sides_of[2] = { { .path = "a" }, { .path = "b" } };
	struct sides s = { { &sides_of[0], &sides_of[1] }, { 1, 1 } };
	sqlite3 *db = empty(rows), *to = empty(NULL);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(compare_pauses(&sides_of[1], db, &e), 0);
	db_close(db); /* names are text from here on */
	assert_int_equal(compare_pauses_say(to, &s, "other :80", &e), 0);
	is_number(to, "SELECT count(*) FROM finding", 0);
	assert_int_equal(compare_pauses_say(to, &s, "server :80", &e), 0);
	is_text(to, "SELECT kind || ' ' || evidence FROM finding", "compare_pause_cause OBSERVED");
	is_text(to, "SELECT text FROM finding_value WHERE name='thread'", "worker[7/8]");
	is_number(to, "SELECT number FROM finding_value WHERE name='share'", 92);
	assert_int_equal(compare_pauses_say(to, &s, "server (tcp)", &e), 0); /* without ports */
	is_number(to, "SELECT count(*) FROM finding", 2);
	compare_pauses_free(sides_of[1].pauses);
	db_close(to);
}

/* The cell of the factor in the first table. */
static int take_factor(void *arg, const struct cells *t, struct err *e)
{
	char **text = arg;

	(void)e;
	if (!*text)
		*text = strdup(t->cells[1][3]);
	return 0;
}

static void a_table_writes_factors_as_sentences_do(void **state)
{
	static const struct {
		const char *numbers, *want;
	} cases[] = {
		{ "1.49, 1.43, 1.553", "x1.49 (1.43..1.55)" },
		{ "5.97, 1e-30, 5.5e30", "x5.97 (0.00..>10000)" },
		{ "2e4, 1.5e4, 3e4", "> x10000 (>10000..>10000)" },
	};
	char sql[200], *text;
	struct err e = { 0 };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(
			sql, sizeof(sql),
			"INSERT INTO change(kind, comm, what, name, unit, before, after, ratio, low,"
			" high) VALUES('service', 's', 'request', 'request p50', 'ns', 1, 2, %s)",
			cases[i].numbers);
		db = empty(sql);
		text = NULL;
		assert_int_equal(compare_cells(db, 0.05, true, take_factor, &text, &e), 0);
		assert_string_equal(text, cases[i].want);
		free(text);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_cause_on_the_side_after_is_put),
		T(a_table_writes_factors_as_sentences_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
