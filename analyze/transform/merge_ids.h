/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ids of probes and of names of requests, which each recorder counts on its own. Of one host equal
 * ones get one id, different ones different ids. Part of merge.
 */
#pragma once

#include "analyze/base/idmap.h"
#include "format/recording.h"

#include <stdbool.h>

enum merge_kind { MERGE_SITE, MERGE_NAME, MERGE_KINDS };

/* Zero-initialised it has none. */
struct merge_ids {
	struct merge_table {
		struct idmap contents; /* hash of what has the id -> struct content */
		struct idmap taken;    /* id -> this table */
		struct idmap moved;    /* recording and its id -> struct moved_id */
		u32 free;	       /* ids below are taken */
	} tables[MERGE_KINDS];
};

/* Reads what the ids of recording nth, of that host, stand for. */
int merge_ids_read(struct merge_ids *m, u32 nth, u32 host, struct reader *reader, struct err *e);

/* Replaces the id of recording nth; by 0 if there are too many. */
int merge_ids_move(struct merge_ids *m, enum merge_kind kind, u32 nth, u64 *id, struct err *e);

/* Whether what has the id, as it was moved, is new: the same of several recordings is written once.
 */
bool merge_ids_first(struct merge_ids *m, enum merge_kind kind, u32 nth, u64 id);

void merge_ids_free(struct merge_ids *m);
