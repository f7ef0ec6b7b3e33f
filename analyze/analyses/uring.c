// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests through io_uring by process and operation, from submission to completion: how many,
 * how long, how many failed. They are no system calls, and on sockets make no requests of services.
 */
#include "analysis.h"

static const struct metric metrics[] = {
	{ "requests", "", NEITHER_IS_BETTER, "completions" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "completions per second, over the whole recording" },
	{ "errors", "", LOWER_IS_BETTER, "of these, failed" },
	{ "bytes", "bytes", NEITHER_IS_BETTER, "moved" },
	{ "total", "ns", NEITHER_IS_BETTER, "sum of durations" },
	{ "p50", "ns", LOWER_IS_BETTER, "median duration" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "open", "", NEITHER_IS_BETTER, "requests without a recorded completion" },
	{ 0 },
};

static const char stats_sql[] =
	"SELECT s.pid AS id, ' ' || coalesce(o.name, 'operation ' || s.opcode) AS part, s.n AS n,"
	" s.n AS requests, s.n * 1e9 / ?1 AS rate, s.errors AS errors, s.bytes AS bytes, s.timed AS n,"
	" s.total AS total, quantile(0.5, s.max, 'uring', s.pid, s.opcode) AS p50,"
	" quantile(0.99, s.max, 'uring', s.pid, s.opcode) AS p99, iif(s.timed, s.max, NULL) AS max,"
	" s.n AS n, s.unfinished AS open FROM uring_stat s LEFT JOIN uring_op o ON o.id=s.opcode"
	" ORDER BY s.total DESC, s.n DESC, s.pid, s.opcode";

static const struct finding_query limits[] = {
	{ FINDING_uring_without_file, NOTE, LIMIT, NULL,
	  "SELECT count(*) AS n FROM uring_io u JOIN uring_op o ON o.id=u.opcode WHERE u.ino=0 AND"
	  " (o.name LIKE 'read%' OR o.name LIKE 'write%' OR o.name LIKE 'send%' OR o.name LIKE 'recv%')"
	  " HAVING n > 0",
	  NULL },
	{ FINDING_uring_on_sockets, NOTE, LIMIT, NULL,
	  "SELECT sum(sockets) AS n FROM uring_stat HAVING n > 0", NULL },
	{ FINDING_uring_without_duration, NOTE, LIMIT,
	  "SELECT * FROM uring_io WHERE dur IS NULL AND ret IS NOT NULL",
	  "SELECT total(tid IS NULL) AS unseen, total(dur IS NULL AND ret IS NOT NULL AND tid IS NOT NULL)"
	  " AS again FROM uring_io HAVING unseen + again > 0",
	  NULL },
};

static int run(struct analysis_ctx *c, struct err *e)
{
	size_t i;

	(void)e;
	put_table(c, SUBJECT_process, stats_sql, "i", c->duration ? c->duration : (s64)1);
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		find_rows(c, &limits[i], "");
	return c->err;
}

const struct analysis analysis_uring = {
	.name = "uring",
	.doc = "Which requests went through io_uring, and how long did they take",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 15,
	.run = run,
};
