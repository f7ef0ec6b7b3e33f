// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* SCHED_IDLE */
#include "priority.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

void priority_raise(struct priority *ret_before, bool quiet)
{
	const struct sched_param usual = { 0 };
	struct priority *p = ret_before;
	bool low;

	*p = (struct priority){ getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), false };
	low = p->policy == SCHED_IDLE || p->policy == SCHED_BATCH;
	if (p->nice <= 0 && !low)
		return;
	errno = 0;
	p->raised = (!low || sched_setscheduler(0, SCHED_OTHER, &usual) == 0) &&
		    (p->nice <= 0 || setpriority(PRIO_PROCESS, 0, 0) == 0);
	if (p->raised && quiet)
		return;
	fprintf(stderr, "obsrec: low priority (nice %d%s)%s%s\n", p->nice,
		low ? ", batch or idle policy" : "",
		p->raised ? ": raised to nice 0; a command after -- keeps it"
			  : ", not raised; events may be lost: ",
		p->raised ? "" : strerror(errno));
}

void priority_restore(const struct priority *before)
{
	const struct sched_param usual = { 0 };

	if (before->raised && (setpriority(PRIO_PROCESS, 0, before->nice) < 0 ||
			       sched_setscheduler(0, before->policy, &usual) < 0))
		perror("obsrec: cannot restore the priority of the command");
}
