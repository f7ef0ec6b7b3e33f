// SPDX-License-Identifier: GPL-2.0-or-later
/* What a server itself does to the requests that its verdict is about. */
#include "verdict_names.h"

#include "analyze/analyses/queues/verdict_queues.h"

int verdict_own(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	int ret;

	if (j->awaited.n > 0)
		return verdict_awaited_say(c, j, e);
	ret = j->about.kind == SUBJECT_server ? verdict_timer(c, j, e) : 1;
	if (ret != 0)
		return ret < 0 ? ret : 0;
	ret = verdict_asks(c, j, e);
	return ret < 0 ? ret : verdict_lookups(c, j, e);
}

int verdict_facts(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		  struct err *e)
{
	int ret = 0;

	if (j->status != STATUS_PROBLEM || j->about.kind != SUBJECT_server)
		return 0;
	if (j->kind == VERDICT_slower)
		ret = verdict_which(c, j, l, e);
	if (ret == 0 && j->kind == VERDICT_pauses)
		ret = verdict_oldest(c, j, e);
	return ret == 0 && j->kind == VERDICT_pauses ? verdict_circle(c, j, e) : ret;
}
