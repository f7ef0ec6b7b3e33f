// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where does the time of each probed function go? Wall time is split into time on a
 * CPU and the reasons for being off one; the slowest calls are compared with all. Calls
 * during which events were lost are left out of the shares.
 */
#include "analyze/analysis.h"
#include "analyze/latency.h"

#include <stdio.h>
#include <string.h>

#define TELLING 5.0 /* percentage points by which the slowest calls must differ to be named */

enum {
#define STATE(id, name, off, doc) PART_##name = (id),
#include "analyze/waits.def"
#undef STATE
	N_PARTS
};

static const struct metric metrics[] = {
	{ "calls", "", NEITHER_IS_BETTER, "calls that returned, without loss" },
	{ "mean", "ns", LOWER_IS_BETTER, "mean wall time" },
	{ "p50", "ns", LOWER_IS_BETTER, "median wall time" },
	{ "p90", "ns", LOWER_IS_BETTER, "90th percentile" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "own", "%", NEITHER_IS_BETTER, "share outside of probed functions called from it" },
#define STATE(id, name, off, doc) { #name, "%", NEITHER_IS_BETTER, doc },
#include "analyze/waits.def"
#undef STATE
	{ "lossy", "", LOWER_IS_BETTER, "calls left out: events were lost while they ran" },
	{ "open", "", NEITHER_IS_BETTER, "calls that had not returned" },
	{ "unmatched", "", NEITHER_IS_BETTER, "returns without entry" },
	{ "abandoned", "", NEITHER_IS_BETTER, "entries that never returned" },
	{ 0 },
};

static const char *const parts[N_PARTS] = {
#define STATE(id, name, off, doc) [id] = #name,
#include "analyze/waits.def"
#undef STATE
};

struct split {
	double calls, wall, exclusive, max;
	double part[N_PARTS];
	bool known; /* switches were recorded */
};

static const char split_sql[] =
	"SELECT count(*), total(dur), total(exclusive), max(dur), count(run)"
#define STATE(id, name, off, doc) ", total(" #name ")"
#include "analyze/waits.def"
#undef STATE
	" FROM call WHERE site=? AND lossy=0 AND dur>=?";

/* Sums over the calls of a site that took at least `floor` ns. */
static int read_split(struct analysis_ctx *c, s64 site, double floor, struct split *ret,
		      struct err *e)
{
	sqlite3_stmt *q;
	int i, r = db_query(&q, c->db, e, split_sql, "id", site, floor);

	if (r < 0)
		return r;
	r = db_step(q, e);
	if (r > 0) {
		ret->calls = sqlite3_column_double(q, 0);
		ret->wall = sqlite3_column_double(q, 1);
		ret->exclusive = sqlite3_column_double(q, 2);
		ret->max = ret->calls ? sqlite3_column_double(q, 3) : NAN;
		ret->known = sqlite3_column_int64(q, 4) > 0;
		for (i = 0; i < N_PARTS; i++)
			ret->part[i] = ret->known ? sqlite3_column_double(q, 5 + i) : NAN;
	}
	sqlite3_finalize(q);
	return r < 0 ? r : 0;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

/* What the slowest calls have more of than all have. */
static int put_tail(struct analysis_ctx *c, const char *name, const struct split *all,
		    const struct split *tail, double floor, struct err *e)
{
	char text[400] = "";
	size_t n = 0;
	int i;

	if (!tail->known || tail->calls < 5)
		return 0;
	for (i = 0; i < N_PARTS && n + 80 < sizeof(text); i++) {
		double slow = percent(tail->part[i], tail->wall);

		if (slow - percent(all->part[i], all->wall) >= TELLING)
			n += snprintf(text + n, sizeof(text) - n, "%s%s %.0f %% (all: %.0f %%)",
				      n ? ", " : "", parts[i], slow,
				      percent(all->part[i], all->wall));
	}
	if (!n)
		return 0;
	return put_finding(
		c, e, NOTE, "OBSERVED", "SELECT * FROM call ORDER BY dur DESC",
		"%s: the slowest %.0f of %.0f calls (%.3f ms and more) spend more of their "
		"time in: %s.",
		name, tail->calls, all->calls, floor / 1e6, text);
}

static int put_defects(struct analysis_ctx *c, s64 site, const char *name, struct err *e)
{
	static const char *const names[] = { "open", "unmatched", "abandoned" };
	sqlite3_stmt *q;
	int i, ret = db_query(&q, c->db, e,
			      "SELECT d.open, d.unmatched, d.abandoned FROM site s"
			      " LEFT JOIN call_defect d ON d.site=s.id WHERE s.id=?",
			      "i", site);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	for (i = 0; i < 3 && ret > 0; i++)
		if (put_metric(c, e, name, names[i], sqlite3_column_double(q, i), NO_INTERVAL,
			       sqlite3_column_int64(q, i)) < 0)
			ret = ERR_FAIL;
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* entries: calls of a site whose returns are not recorded; else 0. */
static int put_site(struct analysis_ctx *c, s64 site, const char *name, s64 lossy, double longest,
		    s64 entries, struct err *e)
{
	static const double at[] = { 0.5, 0.9, 0.99 };
	struct split all = { 0 }, tail = { 0 };
	double q[3];
	size_t i;
	int ret = latency_quantiles(c->db, "call", 0, site, at, q, 3, longest, e);

	if (ret == 0)
		ret = read_split(c, site, 0, &all, e);
	if (ret == 0 && all.calls > 0)
		ret = read_split(c, site, q[2], &tail, e);
	if (ret < 0)
		return ret;
	const struct {
		const char *name;
		double value;
		s64 n;
	} values[] = {
		{ "calls", entries ? entries : all.calls, entries ? entries : (s64)all.calls },
		{ "mean", all.calls ? all.wall / all.calls : NAN, all.calls },
		{ "p50", q[0], all.calls },
		{ "p90", q[1], all.calls },
		{ "p99", q[2], all.calls },
		{ "max", all.max, all.calls },
		{ "own", percent(all.exclusive, all.wall), all.calls },
		{ "lossy", lossy, all.calls },
	};

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, name, values[i].name, values[i].value, NO_INTERVAL,
				 values[i].n);
	for (i = 0; i < N_PARTS && ret == 0; i++)
		ret = put_metric(c, e, name, parts[i], percent(all.part[i], all.wall), NO_INTERVAL,
				 (s64)all.calls);
	if (ret == 0)
		ret = put_defects(c, site, name, e);
	return ret < 0 ? ret : put_tail(c, name, &all, &tail, q[2], e);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT s.id, s.function || '#' || s.id, count(c.ts), total(c.lossy),"
		" (SELECT count(*) FROM site o WHERE o.function=s.function) > 1, s.function, max(c.dur),"
		" s.returns"
		" FROM site s LEFT JOIN call c ON c.site=s.id GROUP BY s.id"
		" ORDER BY total(c.dur) DESC, s.id";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		/* functions that share a name are told apart by their site's number */
		const char *name =
			(const char *)sqlite3_column_text(q, sqlite3_column_int(q, 4) ? 1 : 5);

		if (put_site(c, sqlite3_column_int64(q, 0), name, sqlite3_column_int64(q, 3),
			     sqlite3_column_double(q, 6),
			     sqlite3_column_int(q, 7) ? 0 : sqlite3_column_int64(q, 2), e) < 0) {
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
	.rows = 20,
	.run = run,
};
