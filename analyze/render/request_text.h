/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request and those that it waited for, as lines of text. */
#pragma once

#include "analyze/causes/request/request_path.h"
#include "format/buf.h"

/* Bytes of the recording are escaped. */
int request_text(struct buf *out, sqlite3 *db, const struct request_tree *t,
		 const struct request_path *path, struct err *e);
