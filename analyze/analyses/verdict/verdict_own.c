// SPDX-License-Identifier: GPL-2.0-or-later
/* What a server itself does to the requests that its verdict is about. */
#include "verdict.h"

int verdict_own(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	int ret = j->about.kind == SUBJECT_server ? verdict_timer(c, j, e) : 1;

	if (ret != 0)
		return ret < 0 ? ret : 0;
	ret = verdict_asks(c, j, e);
	return ret < 0 ? ret : verdict_lookups(c, j, e);
}
