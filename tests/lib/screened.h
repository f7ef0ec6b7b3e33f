/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first screen names as causes. */
#pragma once

#include "analyze/render/screen.h"
#include "unit.h"

#include <string.h>

/* One of them has this text. Closes the database. */
static inline bool screen_names(sqlite3 *db, const char *what)
{
	struct screen s = { 0 };
	struct err e = { 0 };
	bool found = false;
	int i;

	assert_int_equal(screen_read(&s, db, &e), 0);
	for (i = 0; i < s.n_causes; i++)
		found |= strstr(s.causes[i].text.data, what) != NULL;
	screen_free(&s);
	db_close(db);
	return found;
}
