// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict.h"

#include "analyze/store/stacks/stack_brief.h"

int verdict_wait_caller(struct buf *out, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"SELECT user_stack FROM offcpu WHERE tid=?1 AND state NOT IN (state_id('woken'),"
		" state_id('preempted')) AND ts < ?3 AND ts + dur > ?2 GROUP BY 1 HAVING 2 * sum(min(ts + dur, ?3) - max(ts, ?2)) > ?3 - ?2";
	s64 stack = 0;
	int ret = db_int(db, &stack, e, sql, "iii", tid, from, to);

	return ret < 0 || stack <= 0 ? ret : stack_wait_say(out, db, tid, stack, false, e);
}
