/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics of one analysis as an HTML table. */
#pragma once

#include "analyze/analyses/analysis.h"
#include "format/buf.h"

/* Appends the table, with what its columns mean; nothing if the analysis put no metrics. */
int html_table(struct buf *out, sqlite3 *db, const struct analysis *a, struct err *e);
