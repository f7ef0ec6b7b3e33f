// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_reclaim.c: the thread of a pause reclaims memory, and for whom. */
#include "tests/lib/pausing.h"

#define RECLAIM_VALUE(what, name_) FINDING_VALUE("pause_reclaim", name_, what)

/* In a pause of 300 ms thread 100 computes; tid reclaims for so long until its end. */
struct memory {
	long dur;
	int tid, kind, hits; /* hits: of the limit of /web */
};

static sqlite3 *reclaims(const struct memory *m)
{
	struct text x = { 0 };

	head_in_cgroup(&x, "neighbour");
	text_line(&x, "36 0 cgroup_memory cgroup=8 current=4000 max=4096 hit_max=3 path=\"/web\"");
	text_line(&x, "@cpu 0");
	many(&x, 100, 600, MS);
	request(&x, 100, 5, 300 * MS);
	text_line(&x, "@cpu 1\n%ld %d reclaim dur=%ld pages=32 kind=%d\n@cpu 0", x.t - 2 * MS,
		  m->tid, m->dur, m->kind);
	many(&x, 100, 600, MS);
	text_line(&x,
		  "@recorder\n%ld 0 cgroup_memory cgroup=8 current=4000 max=4096 hit_max=%d"
		  " major_faults=70 path=\"/web\"",
		  x.t - MS, 3 + m->hits);
	return analysed(answered(&x), "verdict");
}

static void memory_that_a_pause_reclaims_is_named(void **state)
{
	sqlite3 *db = reclaims(&(struct memory){ 280 * MS, 100, 1, 9 });

	(void)state;
	is_number(db, RECLAIM_VALUE("v.id", "thread"), 100);
	is_within(db, RECLAIM_VALUE("v.number", "share"), 90, 95);
	is_text(db, RECLAIM_VALUE("v.text", "group"), "/web");
	is_number(db, RECLAIM_VALUE("v.number", "limit"), 4096);
	is_number(db, RECLAIM_VALUE("v.number", "faults"), 70);
	/* what to mend comes first */
	is_number(db,
		  "SELECT (SELECT id FROM finding WHERE kind='pause_reclaim') <"
		  " (SELECT id FROM finding WHERE kind='pause_cause')",
		  1);
	db_close(db);
	/* less than half: after what it did for longer */
	db = reclaims(&(struct memory){ 100 * MS, 100, 1, 9 });
	is_within(db, RECLAIM_VALUE("v.number", "share"), 30, 36);
	is_number(db,
		  "SELECT (SELECT id FROM finding WHERE kind='pause_reclaim') >"
		  " (SELECT id FROM finding WHERE kind='pause_cause')",
		  1);
	db_close(db);
	/* the host has little, or no limit was reached: no group is named */
	db = reclaims(&(struct memory){ 280 * MS, 100, 0, 9 });
	is_number(db, RECLAIM_VALUE("count(v.text)", "group"), 0);
	is_within(db, RECLAIM_VALUE("v.number", "share"), 90, 95);
	db_close(db);
	db = reclaims(&(struct memory){ 280 * MS, 100, 1, 0 });
	is_number(db, RECLAIM_VALUE("count(v.text)", "group"), 0);
	db_close(db);
}

static void little_and_that_of_others_is_not(void **state)
{
	static const struct memory cases[] = { { 40 * MS, 100, 1, 9 }, { 280 * MS, 101, 1, 9 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = reclaims(&cases[i]);

		is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_reclaim'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(memory_that_a_pause_reclaims_is_named),
		T(little_and_that_of_others_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
