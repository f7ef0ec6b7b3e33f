/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison as one HTML file that fetches nothing and needs no scripts. */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

/* Appends the page. threshold: a share. */
int compare_html(struct buf *out, sqlite3 *db, double threshold, struct err *e);
