// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For how much of the pauses their thread reclaimed memory before it got some. The kernel does that
 * on a CPU, and waits for disks in it: neither is what to mend. The cgroup whose limit made it do
 * so was stopped at max in the pauses; of several, that of the process.
 */
#include "pause_root.h"

#include "analyze/store/cgroup_tree.h"

#define NOTABLE	 0.25
#define FOR_HOST 0 /* kind of table reclaim */

struct reclaiming {
	const struct judged *j;
	double ns[2], n[2]; /* by kind */
};

/* Of the time range, ns in pauses that count. */
static double in_pauses(const struct judged *j, double from, double to)
{
	double ns = 0;
	int i;

	for (i = 0; i < j->n_pauses; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (p->counts)
			ns += fmax(0, fmin(to, (double)p->end) - fmax(from, (double)p->start));
	}
	return ns;
}

static int on_reclaim(void *arg, sqlite3_stmt *q, struct err *e)
{
	double from = sqlite3_column_double(q, 0), to = from + sqlite3_column_double(q, 1);
	struct reclaiming *r = arg;
	bool limit = sqlite3_column_int(q, 2) != FOR_HOST;
	double ns = in_pauses(r->j, from, to);

	(void)e;
	r->ns[limit] += ns;
	r->n[limit] += ns > 0;
	return 0;
}

/* One of the cgroups that were stopped at their limit in the time range of the pauses. */
static int read_limited(struct pause_reclaim *r, sqlite3 *db, const struct judged *j, s64 tid,
			struct err *e)
{
	static const char sql[] =
		"WITH m AS MATERIALIZED (SELECT * FROM memory WHERE cgroup NOT NULL AND max NOT NULL AND hit_max > 0"
		" AND ts < ?3 AND ts + dur > ?2), " LIMITED_CGROUP(
			"(SELECT pid FROM thread WHERE tid=?1 LIMIT 1)");
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "idd", tid, j->start, j->end);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		ret = buf_printf(&r->group, e, "%s", db_text(q, 0));
		r->limit = sqlite3_column_double(q, 1);
		r->faults = sqlite3_column_double(q, 3);
	}
	return db_end(q, ret);
}

int pause_reclaim(struct pause_reclaim *r, sqlite3 *db, const struct judged *j, s64 tid,
		  struct err *e)
{
	struct reclaiming sums = { .j = j };
	int limit, ret = db_each(db, e, on_reclaim, &sums,
				 "SELECT ts, dur, kind FROM reclaim WHERE tid=?1", "i", tid);

	if (ret < 0 || !(sums.ns[0] + sums.ns[1] >= NOTABLE * j->paused))
		return ret;
	limit = sums.ns[1] > sums.ns[0];
	r->share = fmin(1, (sums.ns[0] + sums.ns[1]) / j->paused);
	r->n = sums.n[0] + sums.n[1];
	return limit ? read_limited(r, db, j, tid, e) : 0;
}

int pause_reclaim_put(struct analysis_ctx *c, const struct judged *j, const struct pause_reclaim *r,
		      s64 tid, struct err *e)
{
	bool limit = r->group.len > 0;
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, tid),
		VALUE_NUMBER("share", 100 * r->share, "%"),
		VALUE_NUMBER("n", r->n, ""),
		VALUE_TEXT("group", limit ? r->group.data : NULL),
		VALUE_NUMBER("limit", limit ? r->limit : NAN, "bytes"),
		VALUE_NUMBER("faults", r->faults > 0 ? r->faults : NAN, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_pause_reclaim,   PROBLEM, OBSERVED,	j->about,
				   "SELECT * FROM reclaim", values,  j->finding };

	return r->share > 0 ? finding_put(c->db, c->analysis->name, &f, NULL, e) : 0;
}

void pause_reclaim_free(struct pause_reclaim *r)
{
	buf_free(&r->group);
}
