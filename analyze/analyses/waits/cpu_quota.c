// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpu_quota.h"

#include "analyze/store/cgroup_tree.h"

#define MOSTLY 0.5

/* The cgroup at or above the process's that was stopped longest, in these readings. */
static int worst_cgroup(sqlite3 *db, s64 pid, s64 from, s64 to, struct quota *ret, struct err *e)
{
	static const char sql[] =
		"SELECT g.id, total(t.periods), total(t.throttled), total(t.time)"
		" FROM throttle t JOIN cgroup g ON g.id=t.cgroup WHERE t.ts < ?2 AND"
		" t.ts + t.dur > ?1 AND t.quota > 0 AND EXISTS(SELECT 1 FROM process p JOIN cgroup m ON"
		" m.id=p.cgroup WHERE p.pid=?3 AND " CGROUP_WITHIN(
			"m.path",
			"g.path") ") GROUP BY"
				  " g.id HAVING total(t.time) > 0 ORDER BY total(t.time) DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret_q = db_query(&q, db, e, sql, "iii", from, to, pid);

	if (ret_q < 0)
		return ret_q;
	ret_q = db_step(q, e);
	if (ret_q > 0) {
		ret->cgroup = sqlite3_column_int64(q, 0);
		ret->periods = sqlite3_column_double(q, 1);
		ret->throttled = sqlite3_column_double(q, 2);
		ret->time = sqlite3_column_double(q, 3);
	}
	return db_end(q, ret_q);
}

/* Time in which a thread of the process waited for a CPU, summed over CPUs, in these readings. */
static int read_waited(sqlite3 *db, s64 leader, s64 low, s64 high, s64 cgroup, double *ret_ns,
		       struct err *e)
{
	static const char sql[] =
		"WITH r AS (SELECT min(ts) AS low, max(ts + dur) AS high FROM throttle WHERE cgroup=?4"
		" AND ts < ?2 AND ts + dur > ?1)"
		" SELECT s.cpu, max(s.ts, r.low), min(s.ts + s.dur, r.high) FROM thread_state s, r"
		" WHERE s.state IN (SELECT id FROM state WHERE name IN ('woken', 'preempted'))"
		" AND s.ts < r.high AND s.ts + s.dur > r.low AND s.tid IN (SELECT tid FROM thread WHERE"
		" pid IN (SELECT pid FROM " LED_PROCESSES
		" WHERE leader=?3 OR pid=?3)) ORDER BY 1, 2";
	s64 cpu = -1, end = 0, from, to;
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iiii", low, high, leader, cgroup);

	*ret_ns = 0;
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		from = sqlite3_column_int64(q, 1);
		to = sqlite3_column_int64(q, 2);
		if (sqlite3_column_int64(q, 0) != cpu) {
			cpu = sqlite3_column_int64(q, 0);
			end = from;
		}
		from = from > end ? from : end;
		*ret_ns += to > from ? to - from : 0;
		end = to > end ? to : end;
	}
	return db_end(q, ret);
}

int quota_read(struct quota *ret, sqlite3 *db, s64 pid, s64 leader, s64 from, s64 to, struct err *e)
{
	double waited = 0;
	int r;

	*ret = (struct quota){ 0 };
	r = worst_cgroup(db, pid, from, to, ret, e);
	if (r < 0 || !ret->cgroup)
		return r;
	r = read_waited(db, leader, from, to, ret->cgroup, &waited, e);
	ret->explains = waited > 0 && ret->time >= MOSTLY * waited;
	return r;
}

int quota_spender(struct quota_spender *ret, sqlite3 *db, s64 cgroup, s64 from, s64 to,
		  struct err *e)
{
	static const char sql[] =
		"WITH r AS MATERIALIZED (SELECT min(ts) AS low, max(ts + dur) AS high, total(quota * throttled) AS spent"
		" FROM throttle WHERE cgroup=?3 AND ts < ?2 AND ts + dur > ?1 AND time > 0), t AS MATERIALIZED (SELECT"
		" DISTINCT t.tid FROM thread t JOIN process p ON p.pid=t.pid JOIN cgroup m ON m.id=p.cgroup JOIN cgroup g"
		" ON g.id=?3 WHERE " CGROUP_WITHIN(
			"m.path",
			"g.path") "), u AS (SELECT s.tid, sum(min(s.ts + s.dur,"
				  " r.high) - max(s.ts, r.low)) AS ns FROM r CROSS JOIN thread_state s WHERE s.state=state_id('run') AND"
				  " s.ts < r.high AND s.ts + s.dur > r.low AND s.tid IN (SELECT tid FROM t) GROUP BY s.tid) SELECT tid, ns /"
				  " max((SELECT total(ns) FROM u), r.spent) FROM u JOIN r ORDER BY ns DESC, tid LIMIT 1";
	sqlite3_stmt *q;
	int r = db_query(&q, db, e, sql, "iii", from, to, cgroup);

	*ret = (struct quota_spender){ 0 };
	if (r < 0)
		return r;
	r = db_step(q, e);
	if (r > 0 && sqlite3_column_double(q, 1) > MOSTLY) {
		ret->thread = sqlite3_column_int64(q, 0);
		ret->share = sqlite3_column_double(q, 1);
	}
	return db_end(q, r);
}
