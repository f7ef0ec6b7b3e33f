// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests through io_uring by process and operation, from submission to completion: how many,
 * how long, how many failed. They are no system calls, and on sockets make no turns.
 */
#include "analysis.h"
#include "latency.h"

#include <stddef.h>

static const struct metric metrics[] = {
	{ "requests", "", NEITHER_IS_BETTER, "completions" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "completions a second, over the whole recording" },
	{ "errors", "", LOWER_IS_BETTER, "of these, failed" },
	{ "bytes", "bytes", NEITHER_IS_BETTER, "moved" },
	{ "total", "ns", NEITHER_IS_BETTER, "sum of durations" },
	{ "p50", "ns", LOWER_IS_BETTER, "median duration" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "open", "", NEITHER_IS_BETTER, "requests that were not seen to complete" },
	{ 0 },
};

static int put_row(struct analysis_ctx *c, sqlite3_stmt *s, struct err *e)
{
	static const double at[] = { 0.5, 0.99 };
	const char *subject = db_text(s, 0);
	s64 n = sqlite3_column_int64(s, 1), timed = sqlite3_column_int64(s, 5);
	double max = sqlite3_column_double(s, 6), q[2];
	int ret = latency_quantiles(c->db, "uring", sqlite3_column_int64(s, 8),
				    sqlite3_column_int64(s, 9), at, q, 2, max, e);
	const struct {
		const char *name;
		double value;
		s64 n;
	} values[] = {
		{ "requests", n, n },
		{ "rate", c->duration ? n * 1e9 / c->duration : NAN, n },
		{ "errors", sqlite3_column_double(s, 2), n },
		{ "bytes", sqlite3_column_double(s, 3), n },
		{ "total", sqlite3_column_double(s, 4), timed },
		{ "p50", q[0], timed },
		{ "p99", q[1], timed },
		{ "max", timed ? max : NAN, timed },
		{ "open", sqlite3_column_double(s, 7), n },
	};
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 values[i].n);
	return ret;
}

static int put_limits(struct analysis_ctx *c, struct err *e)
{
	s64 sockets = 0, unseen = 0, again = 0, nameless = 0;
	int ret = db_int(c->db, &sockets, e, "SELECT total(sockets) FROM uring_stat", "");

	if (ret == 0)
		ret = db_int(c->db, &unseen, e, "SELECT count(*) FROM uring_io WHERE tid IS NULL",
			     "");
	if (ret == 0)
		ret = db_int(c->db, &again, e,
			     "SELECT count(*) FROM uring_io WHERE dur IS NULL AND ret IS NOT NULL"
			     " AND tid IS NOT NULL",
			     "");
	if (ret == 0)
		ret = db_int(
			c->db, &nameless, e,
			"SELECT count(*) FROM uring_io u JOIN uring_op o ON o.id=u.opcode WHERE"
			" u.ino=0 AND (o.name LIKE 'read%' OR o.name LIKE 'write%' OR o.name LIKE"
			" 'send%' OR o.name LIKE 'recv%')",
			"");
	if (ret == 0 && nameless)
		ret = put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"reads and writes through io_uring whose file or socket is not known, "
			"as this kernel had not looked it up when it told of them: %lld; they "
			"are in no file's sums.",
			(long long)nameless);
	if (ret == 0 && sockets)
		ret = put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"requests through io_uring on sockets: %lld; rates and turns of services do not have them.",
			(long long)sockets);
	if (ret == 0 && (unseen || again))
		ret = put_prose(c, e, NOTE, "LIMIT",
				"SELECT * FROM uring_io WHERE dur IS NULL AND ret IS NOT NULL",
				"completions of io_uring without a duration: %lld whose submission "
				"was not seen, %lld more of requests that had completed once.",
				(long long)unseen, (long long)again);
	return ret;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(nullif(p.comm,''),'?') || '[' || s.pid || '] ' ||"
		" coalesce(o.name, 'operation ' || s.opcode), s.n, s.errors, s.bytes, s.total, s.timed,"
		" s.max, s.unfinished, s.pid, s.opcode FROM uring_stat s LEFT JOIN uring_op o ON"
		" o.id=s.opcode LEFT JOIN (SELECT pid, max(comm) AS comm FROM process GROUP BY pid) p"
		" USING(pid) ORDER BY s.total DESC, s.n DESC, 1";
	sqlite3_stmt *s;
	int ret = db_query(&s, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0)
		if (put_row(c, s, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(s);
	return ret < 0 ? ret : put_limits(c, e);
}

const struct analysis analysis_uring = {
	.name = "uring",
	.doc = "Which requests went through io_uring, and how long did they take",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 15,
	.run = run,
};
