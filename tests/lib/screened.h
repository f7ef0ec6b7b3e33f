/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first screen names. */
#pragma once

#include "analyze/render/say.h"
#include "analyze/render/screen.h"
#include "unit.h"

#include <string.h>

static inline struct screen screen_of(sqlite3 *db)
{
	struct screen s = { 0 };
	struct err e = { 0 };

	if (say_register(db, &e) < 0 || screen_read(&s, db, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

/* One of the causes has this text. Closes the database. */
static inline bool screen_names(sqlite3 *db, const char *what)
{
	struct screen s = screen_of(db);
	bool found = false;
	int i;

	for (i = 0; i < s.n_causes; i++)
		found |= strstr(s.causes[i].text.data, what) != NULL;
	screen_free(&s);
	db_close(db);
	return found;
}

/* What it says of other servers. Closes the database. */
static inline void screen_says_of_others(sqlite3 *db, const char *text)
{
	struct screen s = screen_of(db);

	assert_string_equal(s.others.data ? s.others.data : "", text);
	screen_free(&s);
	db_close(db);
}
