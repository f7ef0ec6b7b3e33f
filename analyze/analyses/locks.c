// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which futexes did threads wait on, and who released them? Futexes with the same threads in the
 * same roles are one row. Without contention neither side makes a system call, so
 * what is counted are waits, not lock operations; and a futex has no owner that the kernel
 * knows of, so who released is told, never who held.
 */
#include "analysis.h"

#include <stdio.h>
#include <string.h>

#define TOLD	 3    /* futexes that get a sentence */
#define MATTERS	 1e-3 /* of the recording's duration: less waiting needs no sentence */
#define MISMATCH 0.01 /* of the threads that wake calls say they woke */

static const struct metric metrics[] = {
	{ "futexes", "", NEITHER_IS_BETTER, "with the same threads in the same roles" },
	{ "waits", "", LOWER_IS_BETTER, "calls that slept and were woken" },
	{ "rate", "1/s", LOWER_IS_BETTER, "waits a second" },
	{ "total", "ns", LOWER_IS_BETTER, "time inside these calls, waits for a CPU included" },
	{ "mean", "ns", LOWER_IS_BETTER, "a wait" },
	{ "max", "ns", LOWER_IS_BETTER, "longest wait" },
	{ "waiters", "", NEITHER_IS_BETTER, "threads that waited" },
	{ "wakers", "", NEITHER_IS_BETTER, "threads that woke" },
	{ "contention", "%", LOWER_IS_BETTER,
	  "of the waits, on futexes used like locks; the rest are handoffs of work" },
	{ "attempts", "", LOWER_IS_BETTER, "calls that did not sleep: the value had changed" },
	{ "timeouts", "", NEITHER_IS_BETTER, "calls that timed out" },
	{ "apart", "", LOWER_IS_BETTER, "waits left out: events were lost meanwhile" },
	{ 0 },
};

static int put_group(struct analysis_ctx *c, sqlite3_stmt *q, struct err *e)
{
	static const struct {
		const char *name;
		int column;
	} plain[] = {
		{ "futexes", 3 },   { "waits", 4 },	{ "total", 5 },
		{ "max", 6 },	    { "waiters", 7 },	{ "wakers", 8 },
		{ "attempts", 10 }, { "timeouts", 11 }, { "apart", 12 },
	};
	const char *comm = db_text(q, 1);
	double waits = sqlite3_column_double(q, 4);
	char subject[120];
	size_t i;
	int ret = 0;

	snprintf(subject, sizeof(subject), "%s[%lld] %#llx", *comm ? comm : "?",
		 sqlite3_column_int64(q, 0), (unsigned long long)sqlite3_column_int64(q, 2));
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, plain[i].name,
				 sqlite3_column_double(q, plain[i].column), NO_INTERVAL,
				 (s64)waits);
	if (ret == 0)
		ret = put_metric(c, e, subject, "rate", waits / (c->duration / 1e9), NO_INTERVAL,
				 (s64)waits);
	if (ret == 0)
		ret = put_metric(c, e, subject, "mean",
				 waits > 0 ? sqlite3_column_double(q, 5) / waits : NAN, NO_INTERVAL,
				 (s64)waits);
	if (ret == 0)
		ret = put_metric(c, e, subject, "contention",
				 waits > 0 ? 100 * sqlite3_column_double(q, 9) / waits : NAN,
				 NO_INTERVAL, (s64)waits);
	return ret;
}

static int put_groups(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT f.pid, (SELECT max(comm) FROM process WHERE pid=f.pid), min(f.address),"
		" count(*), sum(f.waits), sum(f.total), max(f.longest),"
		" (SELECT count(DISTINCT tid) FROM futex_user WHERE futex=min(f.id) AND waits>0),"
		" (SELECT count(DISTINCT tid) FROM futex_user WHERE futex=min(f.id) AND wakes>0),"
		" sum(CASE WHEN f.class='contention' THEN f.waits ELSE 0 END), sum(f.attempts),"
		" sum(f.timeouts), sum(f.lossy) FROM futex f GROUP BY f.pid, f.signature"
		" ORDER BY sum(f.total) DESC, min(f.id)";
	sqlite3_stmt *q;
	int ret =
		db_exec(c->db, e, "CREATE INDEX IF NOT EXISTS futex_user_of ON futex_user(futex)");

	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "");
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (put_group(c, q, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Who released whom: the pair with most waiting of each of the worst futexes. */
static int put_releases(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT f.id, f.class, f.address, r.waiter, (SELECT max(comm) FROM thread WHERE"
		" tid=r.waiter), r.waker, (SELECT coalesce(nullif(max(comm),''),'?') FROM thread WHERE tid=r.waker), r.n,"
		" max(r.total), r.observed, f.total FROM futex f JOIN futex_release r ON r.futex=f.id"
		" WHERE f.total >= ? GROUP BY f.id ORDER BY f.class<>'contention', f.total DESC, f.id"
		" LIMIT ?";
	char proof[120];
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", (s64)(c->duration * MATTERS), (s64)TOLD);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		const char *class = db_text(q, 1);
		double n = sqlite3_column_double(q, 7), observed = sqlite3_column_double(q, 9);

		snprintf(proof, sizeof(proof),
			 "SELECT * FROM futex_release WHERE futex=%lld ORDER BY total DESC",
			 sqlite3_column_int64(q, 0));
		ret = put_prose(
			c, e, NOTE, observed >= n / 2 ? "OBSERVED" : "CAUSAL", proof,
			"Futex %#llx (%s): threads waited %.3f s in all; the largest part is %.0f %%: %s[%lld]"
			" until %s[%lld] released it, %.0f time%s, %.3f s.",
			(unsigned long long)sqlite3_column_int64(q, 2),
			strcmp(class, "handoff") == 0
				? "handoff: waits for work of others, idle or not"
				: class,
			sqlite3_column_double(q, 10) / 1e9,
			100 * sqlite3_column_double(q, 8) / sqlite3_column_double(q, 10),
			db_text(q, 4), sqlite3_column_int64(q, 3), db_text(q, 6),
			sqlite3_column_int64(q, 5), n, n == 1 ? "" : "s",
			sqlite3_column_double(q, 8) / 1e9);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* A wake call returns how many it woke; as many wake-ups must be in the recording. */
static int check_wakes(struct analysis_ctx *c, struct err *e)
{
	s64 woken = 0, unseen = 0;
	int ret = db_int(c->db, &woken, e, "SELECT total(woken) FROM futex", "");

	if (ret == 0)
		ret = db_int(c->db, &unseen, e, "SELECT total(unseen) FROM futex", "");
	if (ret < 0 || unseen < 1 || unseen < woken * MISMATCH)
		return ret;
	return put_prose(
		c, e, WARNING, "OBSERVED",
		"SELECT * FROM futex WHERE unseen > 0 ORDER BY unseen DESC",
		"Of %lld threads that wake calls say they woke, the wake-up of %lld is not in "
		"the recording: who released whom is incomplete.",
		(long long)woken, (long long)unseen);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	int ret = put_groups(c, e);

	if (ret == 0)
		ret = put_releases(c, e);
	return ret < 0 ? ret : check_wakes(c, e);
}

const struct analysis analysis_locks = {
	.name = "locks",
	.doc = "Which futexes did threads wait on",
	.needs = "syscalls sched",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
