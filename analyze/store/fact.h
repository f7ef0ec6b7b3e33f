/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the recording in a database: table recording and the verdict on its losses. */
#pragma once

#include "db.h"

#include <stddef.h>

/* The value of a key of table recording as text; "" if there is none. Truncated to size. */
int fact_text(char *text, size_t size, sqlite3 *db, const char *key, struct err *e);

/* The value of a key as a number; unchanged if there is none. */
int fact_number(s64 *ret, sqlite3 *db, const char *key, struct err *e);

/* 1 if the recording in a database is neither cut nor damaged, else 0. */
int fact_whole(sqlite3 *db, struct err *e);

/* Completeness over all event classes: COMPLETE, LOSSY or TRUNCATED. */
int coverage_verdict(char *text, size_t size, sqlite3 *db, struct err *e);
