/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The strip of the first screen as SVG: requests per second, latency and pauses of one server over
 * time. Times and sizes follow the width of the page, texts do not.
 */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

/* Appends the SVG: 1; 0 if the server answered nothing. */
int strip_svg(struct buf *out, sqlite3 *db, s64 server, struct err *e);

/*
 * Appends two bars as HTML: what the time of a baseline request and of a slow one consists of. Slow
 * are those that a counted pause touches, or that ended while the server was slower: 1; 0: none.
 */
int bars_html(struct buf *out, sqlite3 *db, s64 server, struct err *e);
