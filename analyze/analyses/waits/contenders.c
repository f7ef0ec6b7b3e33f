// SPDX-License-Identifier: GPL-2.0-or-later
#include "contenders.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "cpu_quota.h"

#define PARTS 16 /* of the recording: bits of a mask */

/*
 * Waits: ts, end, and a number of the program that had the CPU; 0: not known, idle, or its own. And
 * whether it had a real-time priority.
 */
#define OWN                                                                                      \
	"WITH own AS MATERIALIZED (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service" \
	" WHERE server=?1)), named AS MATERIALIZED (SELECT tid, comm, realtime, min(tid) OVER"   \
	" (PARTITION BY comm) AS program FROM (SELECT tid, max(comm) AS comm, max(realtime) AS"  \
	" realtime FROM thread GROUP BY tid) WHERE tid > 0 AND tid NOT IN own) "
#define WAITS                                                                                       \
	" FROM thread_state s LEFT JOIN named n ON n.tid=s.object WHERE s.tid IN own AND s.dur > 0" \
	" AND s.state IN (state_id('woken'), state_id('preempted'))"

struct contenders {
	struct contended *of;
	const double (*range)[2];
	int n;
	double duration;
	double pause;	       /* ns, the shortest that counts */
	struct idmap programs; /* number -> parts in which the server waited for it; never 0 */
	unsigned int parts;    /* in which it waited for any */
};

static int part_of(const struct contenders *x, double at)
{
	return at <= 0 ? 0 : at >= x->duration ? PARTS - 1 : (int)(PARTS * at / x->duration);
}

/* The first range that ends after ts. */
static int range_at(const struct contenders *x, double ts)
{
	int low = 0, high = x->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (x->range[mid][1] <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int add_outside(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct contenders *x = arg;
	double ts = sqlite3_column_double(q, 0), end = sqlite3_column_double(q, 1);
	u64 program = (u64)sqlite3_column_int64(q, 2);
	int i = range_at(x, ts);
	uintptr_t mask;

	if (i < x->n && x->range[i][0] < end)
		return 0;
	x->parts |= 1U << part_of(x, ts);
	if (!program)
		return 0;
	mask = (uintptr_t)idmap_get(&x->programs, program) | (uintptr_t)1 << part_of(x, ts);
	return idmap_put(&x->programs, program, (void *)mask, TASK_LIMIT, e);
}

/* The program had the CPU in half or more of these parts, of those in which the server waited. */
static bool holds(const struct contenders *x, unsigned int mask, unsigned int parts)
{
	int waited = __builtin_popcount(x->parts & parts);

	return waited && 2 * __builtin_popcount(mask & parts) >= waited;
}

/* Programs are new or not by what was before; only without that, by what is after. */
static bool is_usual(const struct contenders *x, u64 program, int i)
{
	unsigned int mask = (unsigned int)(uintptr_t)idmap_get(&x->programs, program);
	double part = x->duration / PARTS; /* ranges begin and end about when programs do */
	unsigned int before = (1U << part_of(x, x->range[i][0] - part)) - 1;
	unsigned int until = (2U << part_of(x, x->range[i][1] + part)) - 1;

	if (!program)
		return false;
	return holds(x, mask, x->parts & before ? before : ((1U << PARTS) - 1) & ~until);
}

static int add_inside(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct contenders *x = arg;
	double ts = sqlite3_column_double(q, 0), end = sqlite3_column_double(q, 1);
	u64 program = (u64)sqlite3_column_int64(q, 2);
	bool takes = sqlite3_column_int(q, 3) && end - ts >= x->pause;
	int i;

	(void)e;
	for (i = range_at(x, ts); i < x->n && x->range[i][0] < end; i++) {
		double in = fmin(end, x->range[i][1]) - fmax(ts, x->range[i][0]);

		x->of[i].total += in;
		x->of[i].usual += !takes && is_usual(x, program, i) ? in : 0;
	}
	return 0;
}

/* Was a process of the server stopped by a CPU quota in the readings from the first range on? */
static int read_stopped(const struct contenders *x, sqlite3 *db, s64 server, bool *ret_stopped,
			struct err *e)
{
	struct quota quota = { 0 };
	s64 pid = 0;
	int ret = db_int(db, &pid, e, "SELECT min(pid) FROM service WHERE server=?1", "i", server);

	if (ret == 0)
		ret = quota_read(&quota, db, pid, pid, (s64)x->range[0][0],
				 (s64)x->range[x->n - 1][1], e);
	*ret_stopped = quota.cgroup > 0;
	return ret;
}

int contenders_read(struct contended *ret, struct analysis_ctx *c, s64 server,
		    const double (*range)[2], int n, double pause, struct err *e)
{
	static const char sql[] =
		OWN "SELECT s.ts, s.ts + s.dur, coalesce(n.program, 0), n.realtime" WAITS;
	struct contenders x = { .of = ret,
				.range = range,
				.n = n,
				.pause = pause,
				.duration = (double)(c->duration > 0 ? c->duration : 1) };
	bool stopped = false;
	int i, r;

	for (i = 0; i < n; i++)
		ret[i] = (struct contended){ 0 };
	if (n <= 0)
		return 0;
	r = db_each(c->db, e, add_outside, &x, sql, "i", server);
	if (r == 0)
		r = db_each(c->db, e, add_inside, &x, sql, "i", server);
	if (r == 0)
		r = read_stopped(&x, c->db, server, &stopped, e);
	for (i = 0; i < n && stopped; i++)
		ret[i].usual = 0;
	idmap_free(&x.programs);
	return r;
}

int contenders_first(struct buf *out, struct analysis_ctx *c, s64 server, const double range[2],
		     struct err *e)
{
	/* conditions on n in WHERE make an inner join, with all waits for each n */
	static const char sql[] = OWN
		"SELECT n.comm" WAITS " GROUP BY n.comm"
		" HAVING max(n.comm) <> '' AND max(s.ts < ?3 AND s.ts + s.dur > ?2) AND max(s.ts >= ?3 OR s.ts + s.dur <= ?2)"
		" ORDER BY total(max(min(s.ts + s.dur, ?3) - max(s.ts, ?2), 0)) DESC, n.comm LIMIT 1";

	return db_add_text(out, c->db, e, sql, "idd", server, range[0], range[1]);
}
