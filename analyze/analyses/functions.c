// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where does the time of each probed function go? Wall time is split into time on a
 * CPU and the reasons for being off one, each with its distribution over the calls; the
 * slowest calls are compared with all. Calls during which events were lost, or the thread's
 * state is not known, are set apart.
 */
#include "analysis.h"

#include "analyze/base/number.h"
#include "latency.h"

#include <stdio.h>
#include <string.h>

#define TELLING	    5.0 /* percentage points by which the slowest calls must differ to be named */
#define TAIL_LEAST  5	/* slow calls, fewer tell nothing */
#define UNIT_STATES 64

static const struct metric metrics[] = {
	{ "calls", "", NEITHER_IS_BETTER, "calls that returned; of a part: that had any of it" },
	{ "share", "%", NEITHER_IS_BETTER, "of the function's wall time" },
	{ "slow", "%", NEITHER_IS_BETTER, "share in the calls from the 99th percentile on" },
	{ "own", "%", NEITHER_IS_BETTER,
	  "of this, outside of probed functions called from it: exclusive" },
	{ "mean", "ns", LOWER_IS_BETTER, "a call" },
	{ "p50", "ns", LOWER_IS_BETTER, "median of the calls" },
	{ "p90", "ns", LOWER_IS_BETTER, "90th percentile" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "most of one call" },
	{ "recursive", "", NEITHER_IS_BETTER, "calls made while the function was already open" },
	{ "apart", "", LOWER_IS_BETTER, "calls left out: events lost, or states not known" },
	{ "open", "", NEITHER_IS_BETTER, "calls that had not returned" },
	{ "unmatched", "", NEITHER_IS_BETTER, "returns without entry" },
	{ "abandoned", "", NEITHER_IS_BETTER, "entries that never returned" },
	{ "nested", "", LOWER_IS_BETTER, "entries below 64 open calls: no return probe" },
	{ 0 },
};

struct part {
	int state;
	char name[24];
	double calls, total, exclusive, longest;
	double slow; /* share in the slowest calls, % */
};

struct function {
	s64 site;
	char name[200];
	double calls, entries, apart, recursive, total, exclusive, longest;
	double open, unmatched, abandoned, nested;
	double q[3]; /* p50, p90, p99 */
	bool split;
	double slow_calls, slow_total;
	struct part parts[UNIT_STATES];
	int n_parts;
};

static const double quantiles[] = { 0.5, 0.9, 0.99 };

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static int read_parts(struct analysis_ctx *c, struct function *f, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e,
			   "SELECT c.state, s.label, c.n, c.total, c.exclusive, c.longest"
			   " FROM call_state c JOIN state s ON s.id=c.state WHERE c.site=?"
			   " ORDER BY c.total DESC",
			   "i", f->site);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && f->n_parts < UNIT_STATES) {
		struct part *p = &f->parts[f->n_parts++];

		p->state = sqlite3_column_int(q, 0);
		snprintf(p->name, sizeof(p->name), "%s", db_text(q, 1));
		p->calls = sqlite3_column_double(q, 2);
		p->total = sqlite3_column_double(q, 3);
		p->exclusive = sqlite3_column_double(q, 4);
		p->longest = sqlite3_column_double(q, 5);
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Sums over the calls from the 99th percentile on. */
static int read_slow(struct analysis_ctx *c, struct function *f, struct err *e)
{
	static const char sql[] =
		"SELECT count(*), total(dur)"
#define STATE(id, name, ...) ", total(" #name ")"
#include "analyze/store/waits.def"
#undef STATE
		" FROM call WHERE site=? AND lossy=0 AND coalesce(unknown,0)=0 AND dur>=?";
	sqlite3_stmt *q;
	int i, ret = db_query(&q, c->db, e, sql, "id", f->site, f->q[2]);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		f->slow_calls = sqlite3_column_double(q, 0);
		f->slow_total = sqlite3_column_double(q, 1);
		for (i = 0; i < f->n_parts; i++)
			f->parts[i].slow = percent(sqlite3_column_double(q, 2 + f->parts[i].state),
						   f->slow_total);
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* What the slowest calls have more of than all have. */
static int put_tail(struct analysis_ctx *c, const struct function *f, struct err *e)
{
	char text[400] = "", sql[300];
	size_t n = 0;
	int i;

	if (!f->split || f->slow_calls < TAIL_LEAST)
		return 0;
	for (i = 0; i < f->n_parts && n + 80 < sizeof(text); i++) {
		double all = percent(f->parts[i].total, f->total);

		if (f->parts[i].slow - all >= TELLING)
			n += snprintf(text + n, sizeof(text) - n, "%s%s %.0f %% (all: %.0f %%)",
				      n ? ", " : "", f->parts[i].name, f->parts[i].slow, all);
	}
	if (!n)
		return 0;
	snprintf(sql, sizeof(sql),
		 "SELECT * FROM call WHERE site=%lld AND lossy=0 AND dur>=%.0f ORDER BY dur DESC",
		 (long long)f->site, f->q[2]);
	return put_prose(c, e, NOTE, "OBSERVED", sql,
			 "%s: the slowest %s of %s calls (%.3f ms and more) spend more of their "
			 "time in: %s.",
			 f->name, counted(f->slow_calls).text, counted(f->calls).text,
			 f->q[2] / 1e6, text);
}

static int put_function(struct analysis_ctx *c, const struct function *f, struct err *e)
{
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "calls", f->calls + f->entries },
		{ "share", f->calls ? 100 : NAN },
		{ "slow", f->calls ? 100 : NAN },
		{ "own", percent(f->exclusive, f->total) },
		{ "mean", f->calls ? f->total / f->calls : NAN },
		{ "p50", f->q[0] },
		{ "p90", f->q[1] },
		{ "p99", f->q[2] },
		{ "max", f->calls ? f->longest : NAN },
		{ "recursive", f->recursive },
		{ "apart", f->apart },
		{ "open", f->open },
		{ "unmatched", f->unmatched },
		{ "abandoned", f->abandoned },
		{ "nested", f->nested },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, f->name, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)(i ? f->calls : f->calls + f->entries));
	return ret;
}

/* One row of the function: time on a CPU, or one reason for being off it. */
static int put_part(struct analysis_ctx *c, const struct function *f, const struct part *p,
		    struct err *e)
{
	char subject[240];
	double q[3];
	size_t i;
	int ret = latency_quantiles(c->db, "call_state", f->site, p->state, quantiles, q, 3,
				    p->longest, e);
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "calls", p->calls },
		{ "share", percent(p->total, f->total) },
		{ "slow", p->slow },
		{ "own", percent(p->exclusive, p->total) },
		{ "mean", p->total / f->calls },
		{ "p50", q[0] },
		{ "p90", q[1] },
		{ "p99", q[2] },
		{ "max", p->longest },
	};

	snprintf(subject, sizeof(subject), "%s: %s", f->name, p->name);
	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)f->calls);
	return ret;
}

/* A limit of the kernel: what is nested deeper is in no duration. */
static int put_nested(struct analysis_ctx *c, const struct function *f, struct err *e)
{
	if (!f->nested)
		return 0;
	return put_prose(c, e, NOTE, "LIMIT", NULL,
			 "%s: %s calls are not timed: they were nested in 64 probed calls, and "
			 "the kernel gives a thread no more return probes.",
			 f->name, counted(f->nested).text);
}

static int analyse_function(struct analysis_ctx *c, struct function *f, struct err *e)
{
	int i, ret = latency_quantiles(c->db, "call", 0, f->site, quantiles, f->q, 3, f->longest,
				       e);

	if (ret == 0)
		ret = read_parts(c, f, e);
	if (ret == 0 && f->split && f->calls > 0)
		ret = read_slow(c, f, e);
	if (ret == 0)
		ret = put_function(c, f, e);
	for (i = 0; i < f->n_parts && ret == 0; i++)
		ret = put_part(c, f, &f->parts[i], e);
	if (ret == 0)
		ret = put_nested(c, f, e);
	return ret < 0 ? ret : put_tail(c, f, e);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	/* functions that share a name are told apart by their site's number */
	static const char sql[] =
		"SELECT s.id, CASE WHEN (SELECT count(*) FROM site o WHERE o.function=s.function) > 1"
		" THEN s.function || '#' || s.id ELSE s.function END, c.n, c.apart, c.recursive,"
		" c.total, c.exclusive, c.longest, c.split, d.open, d.unmatched, d.abandoned, c.entries, d.nested"
		" FROM site s LEFT JOIN call_stat c ON c.site=s.id"
		" LEFT JOIN call_defect d ON d.site=s.id ORDER BY coalesce(c.total,0) DESC, s.id";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct function f = {
			.site = sqlite3_column_int64(q, 0),
			.calls = sqlite3_column_double(q, 2),
			.apart = sqlite3_column_double(q, 3),
			.recursive = sqlite3_column_double(q, 4),
			.total = sqlite3_column_double(q, 5),
			.exclusive = sqlite3_column_double(q, 6),
			.longest = sqlite3_column_double(q, 7),
			.split = sqlite3_column_int(q, 8),
			.open = sqlite3_column_double(q, 9),
			.unmatched = sqlite3_column_double(q, 10),
			.abandoned = sqlite3_column_double(q, 11),
			.entries = sqlite3_column_double(q, 12),
			.nested = sqlite3_column_double(q, 13),
		};

		snprintf(f.name, sizeof(f.name), "%s", db_text(q, 1));
		if (analyse_function(c, &f, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

const struct analysis analysis_functions = {
	.name = "functions",
	.doc = "Where does the time of each probed function go",
	.needs = "uprobe",
	.metrics = metrics,
	.rows = 60,
	.run = run,
};
