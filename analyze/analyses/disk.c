// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who used which disk, and how long did requests take: in the queue before they were
 * issued, and in the device. The submitter is the thread that made the request, which for
 * buffered writes is a thread of the kernel, not the one that wrote.
 */
#include "analysis.h"

#include <stdio.h>

#define WRITE_OPS "(1,3,5,9)" /* REQ_OP_WRITE, discard, secure erase, write zeroes */

static const struct metric metrics[] = {
	{ "requests", "", NEITHER_IS_BETTER,
	  "that completed, without flushes of the device's cache" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "requests a second" },
	{ "bytes", "bytes", NEITHER_IS_BETTER, "moved" },
	{ "share", "%", NEITHER_IS_BETTER, "of the device's bytes" },
	{ "size", "bytes", NEITHER_IS_BETTER, "mean size of a request" },
	{ "writes", "%", NEITHER_IS_BETTER, "of the bytes" },
	{ "sequential", "%", NEITHER_IS_BETTER, "requests that go on where the one before ended" },
	{ "depth", "", NEITHER_IS_BETTER, "mean number of others in flight at submission" },
	{ "latency", "ns", LOWER_IS_BETTER, "mean, submission to completion" },
	{ "queued", "ns", LOWER_IS_BETTER, "of this, before it was issued to the device" },
	{ "service", "ns", LOWER_IS_BETTER, "of this, in the device" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile of the latency; of the device only" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "errors", "", LOWER_IS_BETTER, "requests that failed" },
	{ "open", "", NEITHER_IS_BETTER, "requests that were not seen to complete" },
	{ "flushes", "", NEITHER_IS_BETTER, "of the device's cache, as often as asked for" },
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

#define SUMS                                                                               \
	"count(b.dur)" MOVES ", total(b.bytes), total(CASE WHEN b.op & 255 IN " WRITE_OPS  \
	" THEN b.bytes END), total(b.sequential), avg(b.depth)" MOVES ", avg(b.dur)" MOVES \
	", avg(b.queued)" MOVES ", avg(b.dur - b.queued)" MOVES ", max(b.dur)" MOVES       \
	", total(b.error < 0), count(*)" MOVES " - count(b.dur)" MOVES ", count(*)" ASKED  \
	", avg(b.dur)" ASKED

/* Columns of SUMS begin at `at`. device_bytes 0: this row is the device. */
static int put_row(struct analysis_ctx *c, const char *subject, sqlite3_stmt *q, int at,
		   double device_bytes, double p99, struct err *e)
{
	double n = sqlite3_column_double(q, at), bytes = sqlite3_column_double(q, at + 1);
	double known[13];
	size_t i;
	int ret = 0;

	for (i = 0; i < 13; i++)
		known[i] = sqlite3_column_type(q, at + i) == SQLITE_NULL
				   ? NAN
				   : sqlite3_column_double(q, at + i);
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "requests", n },
		{ "rate", n / (c->duration / 1e9) },
		{ "bytes", bytes },
		{ "share", device_bytes > 0 ? 100 * bytes / device_bytes : NAN },
		{ "size", n > 0 ? bytes / n : NAN },
		{ "writes", bytes > 0 ? 100 * known[2] / bytes : NAN },
		{ "sequential", n > 0 ? 100 * known[3] / n : NAN },
		{ "depth", known[4] },
		{ "latency", known[5] },
		{ "queued", known[6] },
		{ "service", known[7] },
		{ "p99", p99 },
		{ "max", known[8] },
		{ "errors", known[9] },
		{ "open", known[10] },
		{ "flushes", known[11] },
		{ "flush", known[12] },
	};

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)n);
	return ret;
}

static int put_users(struct analysis_ctx *c, s64 dev, const char *name, double bytes, struct err *e)
{
	static const char sql[] =
		"SELECT b.pid, (SELECT max(comm) FROM process WHERE pid=b.pid), " SUMS
		" FROM (SELECT *, (SELECT max(pid) FROM thread t WHERE t.tid=block_io.tid) AS pid"
		" FROM block_io WHERE dev=?) b WHERE NOT " OWN
		" GROUP BY b.pid ORDER BY sum(b.bytes) DESC, b.pid";
	char subject[160];
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", dev);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		const char *comm = db_text(q, 1);

		if (sqlite3_column_int64(q, 0)) /* not so: the kernel's own, from an interrupt */
			snprintf(subject, sizeof(subject), "%s %s[%lld]", name, *comm ? comm : "?",
				 sqlite3_column_int64(q, 0));
		else
			snprintf(subject, sizeof(subject), "%s, who asked was not seen", name);
		ret = put_row(c, subject, q, 2, bytes, NAN, e);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* The 99th percentile over all operations of the device. */
static int read_p99(struct analysis_ctx *c, s64 dev, double *ret_p99, struct err *e)
{
	s64 rows = 0;
	int ret = db_int(
		c->db, &rows, e,
		"SELECT count(*) FROM block_io b WHERE dev=? AND dur IS NOT NULL AND NOT " FLUSHES,
		"i", dev);

	*ret_p99 = NAN;
	if (ret == 0 && rows > 0) {
		s64 value = 0;

		ret = db_int(
			c->db, &value, e,
			"SELECT dur FROM block_io b WHERE dev=?1 AND dur IS NOT NULL AND NOT " FLUSHES
			" ORDER BY dur"
			" LIMIT 1 OFFSET ?2",
			"ii", dev, (s64)ceil(0.99 * rows) - 1);
		*ret_p99 = value;
	}
	return ret;
}

static int put_device(struct analysis_ctx *c, sqlite3_stmt *q, struct err *e)
{
	s64 dev = sqlite3_column_int64(q, 0);
	double bytes = sqlite3_column_double(q, 3), p99;
	char name[80];
	int ret;

	snprintf(name, sizeof(name), "%lld:%lld", (long long)(dev >> 20),
		 (long long)(dev & 0xfffff));
	if (db_text_or(q, 1, NULL))
		snprintf(name, sizeof(name), "%s", db_text(q, 1));
	ret = read_p99(c, dev, &p99, e);
	if (ret == 0)
		ret = put_row(c, name, q, 2, 0, p99, e);
	return ret < 0 ? ret : put_users(c, dev, name, bytes, e);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT b.dev, (SELECT max(nullif(name,'')) FROM disk WHERE dev=b.dev), " SUMS
		" FROM block_io b GROUP BY b.dev ORDER BY sum(b.bytes) DESC, b.dev";
	sqlite3_stmt *q;
	s64 errors = 0;
	int ret = db_exec(c->db, e, "CREATE INDEX IF NOT EXISTS block_io_of ON block_io(dev, dur)");

	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "");
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (put_device(c, q, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	if (ret == 0)
		ret = db_int(c->db, &errors, e, "SELECT count(*) FROM block_io WHERE error<0", "");
	if (ret < 0 || !errors)
		return ret;
	return put_prose(c, e, PROBLEM, "OBSERVED",
			 "SELECT * FROM block_io WHERE error<0 ORDER BY ts",
			 "Block requests that failed: %lld.", (long long)errors);
}

const struct analysis analysis_disk = {
	.name = "disk",
	.doc = "Who used which disk, and how long did requests take",
	.needs = "block",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
