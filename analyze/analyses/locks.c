// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Futexes that threads waited on, and their wakers. Futexes with the same threads in the
 * same roles are one row. Without contention neither side makes a system call: counts are waits,
 * not lock operations. Holders are those that stood in the lock when a wait began.
 */
#include "analysis.h"

#define MATTERS	 1e-3 /* of the recording's duration: less waiting is no finding */
#define MISMATCH 0.01 /* of the wakeups that wake calls report */

static const struct metric metrics[] = {
	{ "futexes", "", NEITHER_IS_BETTER, "with the same threads in the same roles" },
	{ "waits", "", LOWER_IS_BETTER, "calls that slept and were woken" },
	{ "rate", "1/s", LOWER_IS_BETTER, "waits per second" },
	{ "total", "ns", LOWER_IS_BETTER, "time inside these calls, waits for a CPU included" },
	{ "mean", "ns", LOWER_IS_BETTER, "a wait" },
	{ "max", "ns", LOWER_IS_BETTER, "longest wait" },
	{ "waiters", "", NEITHER_IS_BETTER, "threads that waited" },
	{ "wakers", "", NEITHER_IS_BETTER, "threads that woke" },
	{ "contention", "%", LOWER_IS_BETTER,
	  "of the waits, on futexes used like locks; the rest are queue hand-offs" },
	{ "attempts", "", LOWER_IS_BETTER, "calls that did not sleep: the value had changed" },
	{ "timeouts", "", NEITHER_IS_BETTER, "calls that timed out" },
	{ "excluded", "", LOWER_IS_BETTER, "waits that overlap lost events" },
	{ 0 },
};

static const char groups_sql[] =
	"SELECT min(f.id) AS id, sum(f.waits) AS n, count(*) AS futexes, sum(f.waits) AS waits,"
	" sum(f.waits) * 1e9 / ?1 AS rate, sum(f.total) AS total,"
	" 1.0 * sum(f.total) / nullif(sum(f.waits), 0) AS mean, max(f.longest) AS max,"
	" (SELECT count(DISTINCT tid) FROM futex_user WHERE futex=min(f.id) AND waits>0) AS waiters,"
	" (SELECT count(DISTINCT tid) FROM futex_user WHERE futex=min(f.id) AND wakes>0) AS wakers,"
	" 100.0 * sum(iif(f.class='contention', f.waits, 0)) / nullif(sum(f.waits), 0) AS contention,"
	" sum(f.attempts) AS attempts, sum(f.timeouts) AS timeouts, sum(f.lossy) AS excluded"
	" FROM futex f GROUP BY f.pid, f.signature ORDER BY sum(f.total) DESC, min(f.id)";

/* The pair with most waiting of each of the worst futexes. */
#define RELEASES(class)                                                                                \
	"SELECT 'futex' AS kind, f.id AS id, f.total AS \"total:ns\", 100.0 * max(r.total) / f.total"  \
	" AS \"share:%\", r.waiter AS \"waiter:thread\", r.waker AS \"waker:thread\", r.n AS n,"       \
	" h.holder AS \"holder:thread\", 100.0 * h.n / h.all_n AS \"held:%\","                         \
	" iif(2 * r.observed >= r.n, 0, 1) AS evidence, 'SELECT * FROM futex_release WHERE futex=' ||" \
	" f.id || ' ORDER BY total DESC' AS proof FROM futex f JOIN futex_release r ON r.futex=f.id"   \
	" LEFT JOIN (SELECT futex, holder, max(n) AS n, sum(n) AS all_n FROM (SELECT futex, holder,"   \
	" count(*) AS n FROM futex_holder GROUP BY futex, holder) WHERE 1 GROUP BY futex) h"           \
	" ON h.futex=f.id AND h.holder > 0"                                                            \
	" WHERE f.total >= ?1 AND f.class" class                                                       \
		" GROUP BY f.id ORDER BY f.total DESC, f.id LIMIT 3"

static const struct finding_query locks = {
	FINDING_lock_waits, NOTE, OBSERVED, NULL, RELEASES("<>'handoff'"), NULL,
};
static const struct finding_query handoffs = {
	FINDING_handoff_waits, NOTE, OBSERVED, NULL, RELEASES("='handoff'"), NULL,
};
/* A wake call returns how many threads it woke; as many wakeups must be in the recording. */
static const struct finding_query missing = {
	FINDING_wakeups_missing,
	WARNING,
	OBSERVED,
	"SELECT * FROM futex WHERE unseen > 0 ORDER BY unseen DESC",
	"SELECT total(unseen) AS missing, total(woken) AS woken FROM futex HAVING missing >= 1 AND"
	" missing >= ?1 * woken",
	NULL,
};

static int run(struct analysis_ctx *c, struct err *e)
{
	s64 matters = (s64)(c->duration * MATTERS);

	c->err = db_exec(c->db, e, "CREATE INDEX IF NOT EXISTS futex_user_of ON futex_user(futex)");
	put_table(c, SUBJECT_futex, groups_sql, "i", c->duration ? c->duration : (s64)1);
	find_rows(c, &locks, "i", matters);
	find_rows(c, &handoffs, "i", matters);
	find_rows(c, &missing, "d", MISMATCH);
	return c->err;
}

const struct analysis analysis_locks = {
	.name = "locks",
	.doc = "Which locks did threads wait for",
	.needs = "syscalls sched",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
