// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where in the network did segments spend their time? Before a device sends: in queues of its
 * traffic control, and in what forwards to it; before one receives: on the way from the one before.
 */
#include "analysis.h"

static const struct metric metrics[] = {
	{ "segments", "", NEITHER_IS_BETTER, "that came from a device before" },
	{ "p50", "ns", LOWER_IS_BETTER, "median time since that device" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "total", "ns", LOWER_IS_BETTER, "sum" },
	{ "first", "", NEITHER_IS_BETTER, "segments that this device saw first, or again" },
	{ 0 },
};

static const char rows_sql[] =
	"SELECT 'none' AS kind, 0 AS id, coalesce(d.name || ' [' || d.netns || ']', 'a device') ||"
	" iif(h.sends, ' sends', ' receives') AS part, count(h.dur) AS n, count(h.dur) AS segments,"
	" percentile(h.dur, 50) AS p50, percentile(h.dur, 99) AS p99, max(h.dur) AS max,"
	" total(h.dur) AS total, count(*) - count(h.dur) AS first FROM hop h LEFT JOIN net_device d"
	" ON d.id=h.device GROUP BY h.device, h.sends ORDER BY total(h.dur) DESC, h.device, h.sends"
	" LIMIT 40";

static int run(struct analysis_ctx *c, struct err *e)
{
	(void)e;
	put_table(c, SUBJECT_none, rows_sql, "");
	return c->err;
}

const struct analysis analysis_hops = {
	.name = "hops",
	.doc = "Where in the network segments spent their time",
	.needs = "hops",
	.metrics = metrics,
	.rows = 40,
	.run = run,
};
