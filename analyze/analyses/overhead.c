// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What did recording cost? Programs run in the kernel; obsrec carries their records to the
 * file. The first is measured by the kernel, only with --stats, and includes that measuring, but
 * not what it takes to reach a program. Shares are of one CPU.
 */
#include "analysis.h"

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

/* The last readings of obsrec's own clocks. */
struct cost {
	double drainer, compressor, process, ring, file, high_water, rss;
	double starting;       /* before the recording started; 0: not known */
	double wall;	       /* between the first and the last reading */
	double programs, runs; /* 0 without --stats */
	double events, cpus;
};

static const char programs_sql[] =
	"SELECT 'none' AS kind, name AS text, runs AS n, runs AS runs, missed AS missed, time AS time,"
	" 1.0 * time / nullif(runs, 0) AS \"time/run\", 100.0 * time / ?1 AS share FROM program"
	" WHERE runs > 0 OR missed > 0 ORDER BY program.time DESC, runs DESC, name";

/* the first reading is that of the start: loading the programs comes before it */
static const char cost_sql[] =
	"WITH o AS (SELECT *, count(*) OVER () > 1 AS many FROM overhead) SELECT"
	" max(drainer) - min(drainer * many), max(compressor) - min(compressor * many),"
	" max(process) - min(process * many), max(ring_bytes) - min(ring_bytes * many),"
	" max(file_bytes) - min(file_bytes * many), max(high_water), max(rss),"
	" min(process * many), max(ts) - min(ts),"
	" (SELECT total(time) FROM program), (SELECT total(runs) FROM program),"
	" (SELECT total(records) FROM coverage),"
	" (SELECT CAST(value AS INTEGER) FROM recording WHERE key='cpus') FROM o";

static int read_cost(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct cost *k = arg;
	double *const to[] = { &k->drainer,    &k->compressor, &k->process,  &k->ring, &k->file,
			       &k->high_water, &k->rss,	       &k->starting, &k->wall, &k->programs,
			       &k->runs,       &k->events,     &k->cpus };
	size_t i;

	(void)e;
	for (i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		*to[i] = sqlite3_column_double(q, (int)i);
	return 0;
}

/* One step of an event's way to the file; NAN: not known, or none. */
static void put_step(struct analysis_ctx *c, const struct cost *k, const char *text, double ns,
		     double bytes)
{
	const struct number numbers[] = {
		{ "time", ns, NO_INTERVAL, k->events },
		{ "time/event", k->events > 0 ? ns / k->events : NAN, NO_INTERVAL, k->events },
		{ "share", 100 * ns / k->wall, NO_INTERVAL, k->events },
		{ "bytes", bytes, NO_INTERVAL, k->events },
	};

	put_all(c, NO_SUBJECT, text, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static void find_cost(struct analysis_ctx *c, const struct cost *k)
{
	double wall = k->wall, events = k->events > 0 ? k->events : NAN;
	double kernel = k->runs > 0 ? k->programs : NAN;
	const struct value values[] = {
		VALUE_NUMBER("kernel", 100 * kernel / c->duration, "%"),
		VALUE_NUMBER("obsrec", 100 * k->process / wall, "%"),
		VALUE_NUMBER("kernel_per_event", kernel / events, "ns"),
		VALUE_NUMBER("obsrec_per_event", k->process / events, "ns"),
		VALUE_NUMBER("drain", 100 * k->drainer / wall, "%"),
		VALUE_NUMBER("compress", 100 * k->compressor / wall, "%"),
		VALUE_NUMBER("ring_bytes", k->ring / events, "bytes"),
		VALUE_NUMBER("file_bytes", k->file / events, "bytes"),
		VALUE_NUMBER("ring_max", k->high_water, "bytes"),
		VALUE_NUMBER("memory", k->rss, "bytes"),
		VALUE_NUMBER("cpus", k->cpus, ""),
		{ 0 },
	};
	const struct finding f = { .kind = FINDING_recording_cost,
				   .sql = "SELECT * FROM overhead ORDER BY ts",
				   .values = values };

	add_finding(c, &f);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct cost k = { 0 };
	double rows = query_number(c, "SELECT count(*) FROM overhead", "");

	(void)e;
	each_row(c, read_cost, &k, cost_sql, "");
	if (k.wall <= 0)
		k.wall = c->duration ? (double)c->duration : NAN;
	if (k.runs > 0)
		put_step(c, &k, "kernel: all programs", k.programs, NAN);
	if (rows > 0) {
		put_step(c, &k, "obsrec: draining rings", k.drainer, k.ring);
		put_step(c, &k, "obsrec: compressing, writing", k.compressor, k.file);
		put_step(c, &k, "obsrec: total", k.process, NAN);
		find_cost(c, &k);
	} else {
		add_limit(c, FINDING_no_overhead);
	}
	if (k.starting > 0)
		put_number(c, NO_SUBJECT, "obsrec: before the start", "time", k.starting,
			   NO_INTERVAL, 1);
	put_table(c, SUBJECT_none, programs_sql, "i", c->duration ? c->duration : (s64)1);
	if (k.runs <= 0)
		add_limit(c, FINDING_no_program_cost);
	return c->err;
}

const struct analysis analysis_overhead = {
	.name = "overhead",
	.doc = "What did recording cost",
	.needs = "",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
