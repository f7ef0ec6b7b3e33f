// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_queues.h"

#include <string.h>

int verdict_queues(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		   struct err *e)
{
	/* what accepts may wait for a thread of the pool: so all that have requests come first */
	static int (*const of[])(struct analysis_ctx *, const struct judged *,
				 const struct verdict_when *, const struct limits *,
				 struct err *) = { verdict_pool,      verdict_accepts,
						   verdict_kept_then, verdict_parts,
						   verdict_held,      verdict_connections,
						   verdict_offload };
	struct verdict_when w;
	int ret = j->about.kind == SUBJECT_server ? verdict_paced(c, j, e) : 0;
	size_t i;

	if (ret < 0 || (j->status != STATUS_PROBLEM && j->status != STATUS_UNCHANGED) ||
	    !j->finding || j->about.kind != SUBJECT_server || j->kind == VERDICT_errors ||
	    j->kind == VERDICT_pool)
		return ret;
	ret = verdict_when(c, j, &w, e);
	for (i = 0; i < sizeof(of) / sizeof(of[0]) && ret == 0; i++)
		ret = of[i](c, j, &w, l, e);
	verdict_when_free(&w);
	return ret < 0 ? ret : 0;
}
