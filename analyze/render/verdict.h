/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says first: two sentences, made from the answers of the analyses. */
#ifndef OBS_VERDICT_H
#define OBS_VERDICT_H

#include "analyze/store/db.h"
#include "format/buf.h"

/*
 * service becomes the sentence about what happened and why, how sure; complete the one about the
 * recording. Bytes from the recording are in them: escape them.
 */
int verdict_make(struct buf *service, struct buf *complete, sqlite3 *db, struct err *e);

/* COMPLETE, TRUNCATED or LOSSY: that of the worst group. */
int verdict_worst(sqlite3 *db, const char **ret, struct err *e);

#endif
