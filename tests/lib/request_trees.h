/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of requests of the two servers of two_tiers.h. */
#pragma once

#include "analyze/causes/request/request_path.h"
#include "analyze/render/request_text.h"
#include "loaded.h"
#include "two_tiers.h"
#include "unit.h"

#define HEAD                                         \
	"@recorder\n0 0 info text=\"targets=all\"\n" \
	"1 0 info text=\"groups=core,syscalls,sched\"\n" THREAD(100, "front") THREAD(200, "back")

/* The first request on a descriptor that was received at this time or later. */
static inline s64 request_on(sqlite3 *db, s64 pid, s64 fd, s64 from)
{
	s64 id = 0;

	assert_int_equal(db_int(db, &id, NULL,
				"SELECT rowid FROM request WHERE pid=?1 AND fd=?2 AND ts>=?3"
				" ORDER BY ts LIMIT 1",
				"iii", pid, fd, from),
			 0);
	return id;
}

static inline struct request_tree *tree_of(sqlite3 *db, s64 id)
{
	static struct request_tree t;

	assert_int_equal(request_tree_make(&t, db, id, NULL), 0);
	return &t;
}

/* Its text has this in it. */
static inline void has_text(sqlite3 *db, const struct request_tree *t, const char *text)
{
	static struct request_path path;
	struct spans spans = { 0 };
	struct moment moments[HOST_LIMIT];
	struct buf out = { 0 };

	assert_int_equal(spans_load(&spans, db, moments, request_path_moments(moments, t), NULL),
			 0);
	request_path_make(&path, t, &spans);
	assert_int_equal(request_text(&out, db, t, &path, NULL), 0);
	if (!strstr(out.data, text))
		fail_msg("%s\nis not in\n%s", text, out.data);
	buf_free(&out);
	spans_free(&spans);
}
