// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What did recording cost? In the kernel, programs compute; obsrec carries what they say to the
 * file. The first is measured by the kernel, only with --stats, and includes that measuring, but
 * not what it takes to reach a program. Shares are of one CPU.
 */
#include "analysis.h"

#include <stdio.h>

static const struct metric metrics[] = {
	{ "runs", "", NEITHER_IS_BETTER, "times run" },
	{ "missed", "", LOWER_IS_BETTER, "times not run because it was already running" },
	{ "time", "ns", LOWER_IS_BETTER, "CPU time" },
	{ "time/run", "ns", LOWER_IS_BETTER, "mean time of a run" },
	{ "time/event", "ns", LOWER_IS_BETTER, "time for each event in the recording" },
	{ "share", "%", LOWER_IS_BETTER, "of one CPU" },
	{ "bytes", "bytes", LOWER_IS_BETTER, "moved" },
	{ 0 },
};

/* What obsrec's own clocks said last. */
struct cost {
	double drainer, compressor, process, ring, file, high_water, rss;
	double starting;       /* before the recording began; 0: not known */
	double wall;	       /* between the first and the last reading */
	double programs, runs; /* 0 without --stats */
	s64 events, cpus;
};

static int put_programs(struct analysis_ctx *c, struct err *e)
{
	sqlite3_stmt *q;
	int ret =
		db_query(&q, c->db, e,
			 "SELECT name, runs, time, missed FROM program WHERE runs > 0 OR missed > 0"
			 " ORDER BY time DESC, runs DESC, name",
			 "");

	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		const char *subject = db_text(q, 0);
		s64 n = sqlite3_column_int64(q, 1);
		double ns = sqlite3_column_double(q, 2);

		ret = put_metric(c, e, subject, "runs", n, NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "missed", sqlite3_column_double(q, 3),
					 NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "time", ns, NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "time/run", n ? ns / n : NAN, NO_INTERVAL,
					 n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "share",
					 c->duration ? 100 * ns / c->duration : NAN, NO_INTERVAL,
					 n);
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int read_cost(struct analysis_ctx *c, struct cost *ret_cost, struct err *e)
{
	/* the first reading is that of the begin: loading the programs comes before it */
	static const char sql[] =
		"WITH o AS (SELECT *, count(*) OVER () > 1 AS many FROM overhead) SELECT"
		" max(drainer) - min(drainer * many), max(compressor) - min(compressor * many),"
		" max(process) - min(process * many), max(ring_bytes) - min(ring_bytes * many),"
		" max(file_bytes) - min(file_bytes * many), max(high_water), max(rss),"
		" min(process * many), max(ts) - min(ts),"
		" (SELECT total(time) FROM program), (SELECT total(runs) FROM program),"
		" (SELECT total(records) FROM coverage),"
		" (SELECT CAST(value AS INTEGER) FROM recording WHERE key='cpus') FROM o";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		*ret_cost = (struct cost){ .drainer = sqlite3_column_double(q, 0),
					   .compressor = sqlite3_column_double(q, 1),
					   .process = sqlite3_column_double(q, 2),
					   .ring = sqlite3_column_double(q, 3),
					   .file = sqlite3_column_double(q, 4),
					   .high_water = sqlite3_column_double(q, 5),
					   .rss = sqlite3_column_double(q, 6),
					   .starting = sqlite3_column_double(q, 7),
					   .wall = sqlite3_column_double(q, 8),
					   .programs = sqlite3_column_double(q, 9),
					   .runs = sqlite3_column_double(q, 10),
					   .events = sqlite3_column_int64(q, 11),
					   .cpus = sqlite3_column_int64(q, 12) };
	sqlite3_finalize(q);
	if (ret_cost->wall <= 0)
		ret_cost->wall = c->duration ? (double)c->duration : NAN;
	return ret < 0 ? ret : 0;
}

/* One part of the way of an event; NAN: not known, or none. */
static int put_part(struct analysis_ctx *c, const struct cost *k, const char *subject, double ns,
		    double bytes, struct err *e)
{
	int ret = put_metric(c, e, subject, "time", ns, NO_INTERVAL, k->events);

	if (ret == 0)
		ret = put_metric(c, e, subject, "time/event", k->events ? ns / k->events : NAN,
				 NO_INTERVAL, k->events);
	if (ret == 0)
		ret = put_metric(c, e, subject, "share", 100 * ns / k->wall, NO_INTERVAL,
				 k->events);
	return ret < 0 ? ret : put_metric(c, e, subject, "bytes", bytes, NO_INTERVAL, k->events);
}

static int put_sentence(struct analysis_ctx *c, const struct cost *k, struct err *e)
{
	double wall = k->wall, events = k->events ? (double)k->events : NAN;
	char kernel[160] = "in the kernel not known";

	if (k->runs > 0)
		snprintf(kernel, sizeof(kernel),
			 "in the kernel %.2f %% of one CPU (%.0f ns an event)",
			 100 * k->programs / c->duration, k->programs / events);
	return put_prose(
		c, e, NOTE, "OBSERVED", "SELECT * FROM overhead ORDER BY ts",
		"Recording cost: %s, by obsrec %.2f %% of one CPU (%.0f ns an event), of it draining "
		"rings %.2f %%, compressing and writing %.2f %%; %.1f bytes an event in rings, %.2f "
		"in the file; at most %.0f KiB waited in one ring; obsrec took %.0f MiB. CPUs: %lld.",
		kernel, 100 * k->process / wall, k->process / events, 100 * k->drainer / wall,
		100 * k->compressor / wall, k->ring / events, k->file / events,
		k->high_water / 1024, k->rss / 1048576, (long long)k->cpus);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct cost k = { 0 };
	s64 rows = 0;
	int ret = db_int(c->db, &rows, e, "SELECT count(*) FROM overhead", "");

	if (ret == 0)
		ret = read_cost(c, &k, e);
	if (ret == 0 && k.runs > 0)
		ret = put_part(c, &k, "kernel: all programs", k.programs, NAN, e);
	if (ret == 0 && rows)
		ret = put_part(c, &k, "obsrec: emptying rings", k.drainer, k.ring, e);
	if (ret == 0 && rows)
		ret = put_part(c, &k, "obsrec: compressing, writing", k.compressor, k.file, e);
	if (ret == 0 && rows)
		ret = put_part(c, &k, "obsrec: all of it", k.process, NAN, e);
	if (ret == 0 && k.starting > 0)
		ret = put_metric(c, e, "obsrec: starting, before the begin", "time", k.starting,
				 NO_INTERVAL, 1);
	if (ret == 0)
		ret = put_programs(c, e);
	if (ret == 0 && rows)
		ret = put_sentence(c, &k, e);
	if (ret == 0 && !rows)
		ret = put_prose(c, e, NOTE, "LIMIT", NULL,
				"what recording cost is not known: the recording does not tell.");
	if (ret < 0 || k.runs > 0)
		return ret;
	return put_prose(
		c, e, NOTE, "LIMIT", NULL,
		"the cost of BPF programs: obsrec ran without --stats, or did not come to its end.");
}

const struct analysis analysis_overhead = {
	.name = "overhead",
	.doc = "What did recording cost",
	.needs = "",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
