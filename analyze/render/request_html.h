/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A followed request as a page: the text, and a space-time diagram with threads as lanes, their
 * states as colours, messages as arrows and the critical path as a line.
 */
#pragma once

#include "analyze/causes/request/request_path.h"
#include "format/buf.h"

/* name: of the file; text: of request_text. */
int request_html(struct buf *out, sqlite3 *db, const char *name, const struct request_tree *t,
		 const struct request_path *path, const struct spans *s, const struct buf *text,
		 struct err *e);
