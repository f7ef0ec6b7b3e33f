// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CPU quota that is set, or used up, makes requests slow from then on. Windows before the first
 * throttled reading that are slower for another reason, each by less than the limit of latency,
 * are not of the same problem: its start is where the quota throttles.
 */
#include "verdict_levels.h"

#include "analyze/analyses/waits/cpu_quota.h"
#include "analyze/store/cgroup_tree.h"

/*
 * The first reading in which a cgroup of the server was throttled. Where it had no quota in the one
 * before, its periods are counted since it has one: that was not before these, and one more.
 */
struct first_throttle {
	s64 ts, end, pid;
};

static int take_first(void *arg, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	*(struct first_throttle *)arg =
		(struct first_throttle){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
					 sqlite3_column_int64(q, 2) };
	return 0;
}

/* Mean latency of the slow windows that begin before; NAN: there are none. */
static double slow_before(const struct judged *j, const struct levels *v, double ts)
{
	double n = 0, sum = 0;
	int i;

	for (i = 0; i < v->n; i++) {
		const struct verdict_window *w = &j->windows[v->window[i]];

		if (!v->slow[i] || v->window[i] * j->width >= ts)
			continue;
		n += w->n;
		sum += w->sum;
	}
	return n > 0 ? sum / n : NAN;
}

/* Those windows, and further ones of the first reading that are no slower than the limit. */
static void leave_before(const struct judged *j, struct levels *v, const struct first_throttle *t,
			 double most)
{
	int i;

	for (i = 0; i < v->n; i++) {
		const struct verdict_window *w = &j->windows[v->window[i]];
		double start = v->window[i] * j->width;

		if (!v->slow[i])
			continue;
		if (start >= (double)t->ts && (start > (double)t->end || w->sum / w->n >= most))
			break;
		v->slow[i] = false;
		v->neither[i] = true;
	}
}

int verdict_quota_since(struct analysis_ctx *c, const struct judged *j, struct levels *v,
			const struct limits *l, bool *ret_later, struct err *e)
{
	static const char sql[] =
		"SELECT CASE WHEN (SELECT b.quota FROM throttle b WHERE b.cgroup=t.cgroup AND b.ts < t.ts ORDER BY"
		" b.ts DESC LIMIT 1)=0 THEN max(t.ts, t.ts + t.dur - (t.periods + 1) * t.period) ELSE t.ts END,"
		" t.ts + t.dur, p.pid FROM throttle t JOIN cgroup g ON g.id=t.cgroup JOIN process p ON"
		" p.pid IN (SELECT pid FROM service WHERE server=?1) JOIN cgroup m ON m.id=p.cgroup WHERE t.time >"
		" 0 AND " CGROUP_WITHIN("m.path", "g.path") " ORDER BY t.ts, p.pid LIMIT 1";
	struct first_throttle t = { 0 };
	struct quota quota = { 0 };
	double before;
	int ret = db_each(c->db, e, take_first, &t, sql, "i", j->about.id);

	*ret_later = false;
	if (ret < 0 || !t.pid || (double)t.ts <= j->start || (double)t.ts >= j->end)
		return ret;
	before = slow_before(j, v, (double)t.ts);
	if (!(before - j->baseline < l->latency))
		return 0;
	ret = quota_read(&quota, c->db, t.pid, t.pid, t.ts, (s64)j->end, e);
	if (ret < 0 || !quota.explains)
		return ret;
	leave_before(j, v, &t, j->baseline + l->latency);
	*ret_later = true;
	return 0;
}
