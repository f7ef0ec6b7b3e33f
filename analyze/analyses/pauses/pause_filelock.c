// SPDX-License-Identifier: GPL-2.0-or-later
/* The lock of a file that is tried again and again in pauses. */
#include "pause_root.h"

#include "analyze/analyses/waits/file_locks.h"

static bool in_pauses(const void *arg, s64 tid, s64 ts)
{
	const struct judged *j = arg;
	int i;

	(void)tid;
	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts && ts >= j->pauses[i].start && ts < j->pauses[i].end)
			return true;
	return false;
}

int pause_filelock_put(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct file_lock l = { .tries = 0 };
	const struct file_lock_ask ask = { .counts = in_pauses, .arg = j };
	int ret = file_lock_find(c->db, &ask, &l, e);
	const struct value values[] = {
		VALUE_TEXT("path", l.path.len ? l.path.data : NULL),
		VALUE_MAYBE("holder", thread, l.holder),
		VALUE_NUMBER("held", l.holder ? 100 * l.held : NAN, "%"),
		VALUE_TEXT("unknown",
			   l.holder ? NULL : "not recorded, or took it before the recording"),
		VALUE_NUMBER("tries", l.tries > 0 ? l.tries : NAN, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_pause_filelock,	  PROBLEM, OBSERVED,  j->about,
				   "SELECT * FROM syscall_error", values,  j->finding };

	if (ret == 0 && l.path.len)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&l.path);
	return ret;
}
