/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two measured recordings through all of compare. */
#pragma once

#include "tests/lib/unit.h"

#include "analyze/compare/compare.h"
#include "analyze/compare/compare_functions.h"
#include "tests/lib/loaded.h"

/* Measures the recording that the text is, and frees it. */
static inline void measured(struct measured *m, struct buf *text)
{
	const char *path = packed(text->data);
	struct err e = { 0 };
	sqlite3 *db = NULL;

	if (load_any(&db, path, &e) < 0 || compare_read(m, path, db, &e) < 0)
		fail_msg("%s", e.text);
	db_close(db);
	unlink(path);
	buf_free(text);
}

/* Checked, judged, explained; frees both. */
static inline sqlite3 *compared_sides(struct measured *a, struct measured *b)
{
	struct sides s = { { a, b }, { 1, 1 } };
	struct err e = { 0 };
	sqlite3 *db = NULL;
	int refused = 0;

	if (db_open(&db, NULL, true, &e) < 0 || compare_check(db, &s, &refused, &e) < 0 ||
	    compare_judge(db, &s, 0.05, &e) < 0 || compare_explain(db, &s, &e) < 0 ||
	    compare_say(db, &s, 0.05, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(refused, 0);
	compare_free(a);
	compare_free(b);
	return db;
}

/* Two recordings with their functions, comparable or not; frees both. */
static inline sqlite3 *compared_functions(struct buf *before, struct buf *after)
{
	struct measured a, b;
	struct sides s = { { &a, &b }, { 1, 1 } };
	struct err e = { 0 };
	sqlite3 *db = NULL;

	measured(&a, before);
	measured(&b, after);
	if (db_open(&db, NULL, true, &e) < 0 || compare_judge(db, &s, 0.05, &e) < 0 ||
	    compare_explain(db, &s, &e) < 0 || compare_blame(db, &s, &e) < 0 ||
	    compare_say(db, &s, 0.05, &e) < 0)
		fail_msg("%s", e.text);
	compare_free(&a);
	compare_free(&b);
	return db;
}
