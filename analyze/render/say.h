/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings as sentences: the templates of findings.def with their values put in. */
#pragma once

#include "analyze/store/finding.h"

/*
 * Appends the sentence of the finding with this id: text with bytes of the recording, which the
 * caller escapes.
 */
int say_finding(struct buf *out, sqlite3 *db, s64 id, struct err *e);

/* Wall clock at the start of the recording, ms since 1970; 0 where it has none. */
int say_start_ms(sqlite3 *db, s64 *ms, struct err *e);

/* A number as sentences write it, by its unit (finding.h): "175 us", "71 %", "14:03:12.345". */
int say_number(struct buf *out, sqlite3 *db, double number, const char *unit, struct err *e);

/* Makes the SQL function sentence(finding.id) known to a connection; sentence(finding.id, 1) leaves
 * out optional parts of the text with {about}: the page is about the same. */
int say_register(sqlite3 *db, struct err *e);
