/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: a recording written as text, loaded into a database, asked. */
#ifndef OBS_LOADED_H
#define OBS_LOADED_H

#include "analyze/store/db.h"

/* Packs the text (textpack.h) and loads it. Fails the test if that fails. */
sqlite3 *loaded(const char *text);

/* The first column of the first row, as a number. Fails the test if there is no row. */
s64 asked(sqlite3 *db, const char *sql);

/* Packs the text into a temporary file; returns its path, which stays valid until the next call. */
const char *packed(const char *text);

#endif
