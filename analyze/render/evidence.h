/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows that prove a finding: its query, run with bounds, for a document. */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

#define EVIDENCE_ROWS 8

/*
 * Appends an HTML table with the first EVIDENCE_ROWS rows of a query, or a sentence why there is
 * none. The query may come from a database that others made: it can only read, and is given up
 * when it takes too long.
 */
int evidence_html(struct buf *out, sqlite3 *db, const char *sql, struct err *e);
