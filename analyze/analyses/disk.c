// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which processes used which disk, and how long did requests take: in the queue before they were
 * issued, and in the device. The submitter is the thread that made the request, which for
 * buffered writes is a thread of the kernel, not the one that wrote.
 */
#include "analysis.h"

#include "analyze/store/block_ops.h"

static const struct metric metrics[] = {
	{ "requests", "", NEITHER_IS_BETTER,
	  "that completed, without flushes of the device's cache" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "requests per second" },
	{ "bytes", "bytes", NEITHER_IS_BETTER, "moved" },
	{ "share", "%", NEITHER_IS_BETTER, "of the device's bytes" },
	{ "size", "bytes", NEITHER_IS_BETTER, "mean size of a request" },
	{ "writes", "%", NEITHER_IS_BETTER, "of the bytes" },
	{ "discarded", "bytes", NEITHER_IS_BETTER, "freed by discards and zeroing: not moved" },
	{ "sequential", "%", NEITHER_IS_BETTER, "requests that start where the one before ended" },
	{ "depth", "", NEITHER_IS_BETTER, "mean number of others in flight at submission" },
	{ "latency", "ns", LOWER_IS_BETTER, "mean, submission to completion" },
	{ "queued", "ns", LOWER_IS_BETTER, "of this, before it was issued to the device" },
	{ "service", "ns", LOWER_IS_BETTER, "of this, in the device" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile of the latency; of the device only" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "errors", "", LOWER_IS_BETTER, "requests that failed" },
	{ "open", "", NEITHER_IS_BETTER, "requests that were not seen to complete" },
	{ "flushes", "", NEITHER_IS_BETTER, "of the device's cache, as often as requested" },
	{ "flush", "ns", LOWER_IS_BETTER, "mean time until one was done" },
	{ 0 },
};

/*
 * A flush of the device's cache moves nothing. The kernel makes one request of its own (of no
 * thread) of what several have asked for, and that is not counted again.
 */
#define FLUSHES "(b.bytes=0 AND b.op & 255 IN (1,2))" /* an empty write, REQ_OP_FLUSH */
#define OWN	"(b.op & 255=2 AND b.tid IS NULL)"
#define MOVES	" FILTER (WHERE NOT " FLUSHES ")"
#define ASKED	" FILTER (WHERE " FLUSHES " AND NOT " OWN ")"
#define BYTES	"total(b.bytes) FILTER (WHERE b.op & 255 IN " BLOCK_MOVES ")"

/* Of rows b of block_io. whole: bytes of the device; NULL: this row is the device */
#define COLUMNS(whole, p99)                                                                       \
	" count(b.dur)" MOVES " AS n, count(b.dur)" MOVES " AS requests, count(b.dur)" MOVES      \
	" * 1e9 / ?1 AS rate, " BYTES " AS bytes, 100.0 * " BYTES " / " whole " AS share, " BYTES \
	" / nullif(count(b.dur)" MOVES                                                            \
	", 0) AS size, 100.0 * total(b.bytes) FILTER (WHERE b.op & 255 IN " BLOCK_WRITES          \
	") / nullif(" BYTES                                                                       \
	", 0) AS writes, total(b.bytes) FILTER (WHERE b.op & 255 IN " BLOCK_DISCARDS              \
	") AS discarded, 100.0 * total(b.sequential) / nullif(count(b.dur)" MOVES                 \
	", 0) AS sequential,"                                                                     \
	" avg(b.depth)" MOVES " AS depth, avg(b.dur)" MOVES " AS latency, avg(b.queued)" MOVES    \
	" AS queued, avg(b.dur - b.queued)" MOVES " AS service, " p99 " AS p99, max(b.dur)" MOVES \
	" AS max, total(b.error < 0) AS errors, count(*)" MOVES " - count(b.dur)" MOVES           \
	" AS open,"                                                                               \
	" count(*)" ASKED " AS flushes, avg(b.dur)" ASKED " AS flush"

/* The 99th percentile over all operations of the device. */
#define P99                                                                                         \
	"(SELECT dur FROM block_io b WHERE b.dev=?2 AND dur IS NOT NULL AND NOT " FLUSHES           \
	" ORDER BY dur LIMIT 1 OFFSET (SELECT (99 * count(*) + 99) / 100 - 1 FROM block_io b WHERE" \
	" b.dev=?2 AND dur IS NOT NULL AND NOT " FLUSHES "))"

/* A device, then its users. */
static const char devices_sql[] =
	"SELECT ?2 AS id," COLUMNS("NULL", P99) " FROM block_io b WHERE b.dev=?2";

/* Not of any process: the kernel's own, from an interrupt. */
static const char users_sql[] =
	"SELECT iif(b.pid, 'process', 'none') AS kind, b.pid AS id, iif(b.pid, '', 'unknown submitter')"
	" || ' on ' || coalesce((SELECT nullif(max(name),'') FROM disk WHERE dev=?2),"
	" (?2 >> 20) || ':' || (?2 & 1048575)) AS part," COLUMNS(
		"nullif(?3, 0)",
		"NULL") " FROM (SELECT *, (SELECT max(pid) FROM thread t WHERE t.tid=block_io.tid) AS pid"
			" FROM block_io WHERE dev=?2) b WHERE NOT " OWN
			" GROUP BY b.pid ORDER BY " BYTES " DESC, b.pid";

static int put_device(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct analysis_ctx *c = arg;
	s64 dev = sqlite3_column_int64(q, 0), ns = c->duration ? c->duration : 1;

	(void)e;
	put_table(c, SUBJECT_disk, devices_sql, "ii", ns, dev);
	put_table(c, SUBJECT_process, users_sql, "iid", ns, dev, sqlite3_column_double(q, 1));
	return c->err;
}

static const struct finding_query errors = {
	FINDING_block_errors,
	PROBLEM,
	OBSERVED,
	"SELECT * FROM block_io WHERE error<0 ORDER BY ts",
	"SELECT 'disk' AS kind, dev AS id, count(*) AS n, min(ts) AS \"from:at\" FROM block_io"
	" WHERE error<0 GROUP BY dev ORDER BY n DESC, dev",
	NULL,
};

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT b.dev, " BYTES " FROM block_io b GROUP BY b.dev ORDER BY 2 DESC, 1";

	c->err = db_exec(c->db, e, "CREATE INDEX IF NOT EXISTS block_io_of ON block_io(dev, dur)");
	each_row(c, put_device, c, sql, "");
	find_rows(c, &errors, "");
	return c->err;
}

const struct analysis analysis_disk = {
	.name = "disk",
	.doc = "Which processes used which disk, and how long did requests take",
	.needs = "block",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
