/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several recordings on their way to one. Part of cmd_merge.c. */
#pragma once

#include "analyze/base/idmap.h"
#include "merge_source.h"
#include "rewrite.h"

#define MERGE_MAX 64 /* recordings */

struct merge {
	struct source sources[MERGE_MAX];
	struct source *order[MERGE_MAX]; /* by begin on the common clock */
	u32 n, n_hosts, n_runs;
	struct merge_ids ids;
	u8 names[SCHEMA_EVENT_MAX][SCHEMA_FIELD_MAX];
	struct schema *schema;
	struct writer *writer;
	struct progress *progress;
	struct buf own;	       /* records of the recorder's stream */
	struct idmap carries;  /* stream -> struct carry */
	struct source *source; /* whose blocks come now */
	u64 done, all;
	u64 end;
};

/* What the replay goes by, for all of them together. */
int merge_scope(struct merge *m, struct err *e);

/* How the recordings were put together, for people and for programs. */
int merge_offsets(struct merge *m, struct err *e);

/* The recorders' streams become one, in order of time. */
int merge_own(struct merge *m, struct err *e);
