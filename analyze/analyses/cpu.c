// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How were threads served by the CPUs: waits in the run queue and who had the CPU meanwhile,
 * migrations, waits beside an idle CPU, actual against fair share, and whose work the
 * others of its process had to wait for (GAPP's weight: time on a CPU, divided by the number of
 * active threads at each instant).
 *
 * Fairness follows nice values and, where the recording tells them, weights of control groups
 * (track_shares.c). It needs all threads of the host.
 */
#include "analysis.h"
#include "cpu_parts.h"
#include "latency.h"

#include <stdio.h>

#define ANTAGONISTS 3
#define TOLD	    0.01 /* of the waits: who had the CPU for less is not named */
#define MATTERS	    0.01 /* of the recording's duration: less waiting needs no sentence */
#define SERIAL	    0.5	 /* of the active time of its process, and half as much again as is due */

static const struct metric metrics[] = {
	{ "wait", "%", LOWER_IS_BETTER, "of its life in the run queue" },
	{ "woken", "%", LOWER_IS_BETTER, "of its life, after a wake-up" },
	{ "preempted", "%", LOWER_IS_BETTER, "of its life, after preemption" },
	{ "waits", "", NEITHER_IS_BETTER, "times it waited" },
	{ "longest", "ns", LOWER_IS_BETTER, "longest wait" },
	{ "migrations", "", LOWER_IS_BETTER, "times it ran on another CPU than before" },
	{ "idle", "ns", LOWER_IS_BETTER,
	  "waits of 0.1 ms and more while another CPU was idle that it may run on" },
	{ "fair", "", HIGHER_IS_BETTER, "time on a CPU divided by its fair share; 1: just" },
	{ "lag", "ns", LOWER_IS_BETTER, "most that it was ever behind its fair share" },
	{ "starved", "ns", LOWER_IS_BETTER, "waits while behind its fair share" },
	{ "serial", "%", NEITHER_IS_BETTER,
	  "of the active time of its process, by GAPP's weight; of several threads" },
	{ "alone", "%", NEITHER_IS_BETTER, "of its time on a CPU, the only active of its process" },
	{ "throttled", "%", LOWER_IS_BETTER, "periods in which a quota stopped the control group" },
	{ "stopped", "ns", LOWER_IS_BETTER, "time for which it stopped CPUs, all together" },
	{ "p50", "ns", LOWER_IS_BETTER, "median wait in the run queue; of the process" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile; of the process" },
	{ 0 },
};

static double column(sqlite3_stmt *q, int i)
{
	return sqlite3_column_type(q, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q, i);
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static int put_thread(struct analysis_ctx *c, sqlite3_stmt *q, struct err *e)
{
	const char *subject = db_text(q, 0);
	double wall = column(q, 1), run = column(q, 2), woken = column(q, 3);
	double preempted = column(q, 4);
	s64 n = sqlite3_column_int64(q, 5);
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "wait", percent(woken + preempted, wall) },
		{ "woken", percent(woken, wall) },
		{ "preempted", percent(preempted, wall) },
		{ "waits", n },
		{ "longest", column(q, 6) },
		{ "migrations", column(q, 7) },
		{ "idle", column(q, 8) },
		{ "fair", column(q, 9) > 0 ? run / column(q, 9) : NAN },
		{ "lag", column(q, 10) },
		{ "starved", column(q, 11) },
		{ "serial", percent(column(q, 12), column(q, 14)) },
		{ "alone", isnan(column(q, 14)) ? NAN : percent(column(q, 13), run) },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL, n);
	return ret;
}

static int put_threads(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(nullif(t.comm,''),'?') || '[' || t.tid || ']', t.wall, t.run, t.woken,"
		" t.preempted, s.waits, s.longest, s.migrations, s.idle_elsewhere, s.fair, s.lag,"
		" s.starved, s.serial, s.alone, iif(p.threads > 1, p.serial, NULL) FROM sched_stat s JOIN thread t ON"
		" t.tid=s.tid AND t.start=s.start JOIN (SELECT pid, sum(serial) AS serial, count(*) AS threads FROM"
		" sched_stat GROUP BY pid) p ON p.pid=s.pid WHERE s.waits > 0 ORDER BY t.woken + t.preempted DESC, t.tid";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (put_thread(c, q, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Distributions of the waits of each process. */
static int put_processes(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT l.subject, (SELECT coalesce(nullif(max(comm),''),'?') FROM process WHERE"
		" pid=l.subject), sum(l.n) FROM latency l WHERE l.kind='runq' GROUP BY l.subject"
		" ORDER BY sum(l.n * l.low) DESC, l.subject LIMIT 10";
	static const double at[] = { 0.5, 0.99 };
	char subject[120];
	sqlite3_stmt *q;
	double v[2];
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		s64 n = sqlite3_column_int64(q, 2);

		snprintf(subject, sizeof(subject), "all of %s[%lld]", db_text(q, 1),
			 sqlite3_column_int64(q, 0));
		ret = latency_quantiles(c->db, "runq", sqlite3_column_int64(q, 0), 0, at, v, 2,
					INFINITY, e);
		if (ret == 0)
			ret = put_metric(c, e, subject, "waits", n, NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "p50", v[0], NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "p99", v[1], NO_INTERVAL, n);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* The processes that had the CPU while threads of pid waited for it. */
static int put_antagonists(struct analysis_ctx *c, s64 pid, const char *name, double total,
			   const char *label, struct err *e)
{
	static const char sql[] =
		"SELECT CASE WHEN a.tid=0 THEN 'nobody (idle, or interrupts)' WHEN t.pid=?1 THEN 'itself'"
		" ELSE coalesce((SELECT max(nullif(comm,'')) FROM process WHERE pid=t.pid),"
		" nullif(max(t.comm),''),'?') || '[' || coalesce(t.pid, a.tid) || ']' END AS who,"
		" sum(a.woken + a.preempted) AS ns FROM antagonist a LEFT JOIN (SELECT tid,"
		" max(pid) AS pid, max(comm) AS comm FROM thread GROUP BY tid) t ON t.tid=a.tid"
		" WHERE a.pid=?1 GROUP BY coalesce(t.pid, -a.tid) ORDER BY ns DESC LIMIT ?2";
	char text[400] = "", proof[120];
	size_t n = 0;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", pid, (s64)ANTAGONISTS);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && n + 80 < sizeof(text) &&
	       sqlite3_column_double(q, 1) >= TOLD * total)
		n += snprintf(text + n, sizeof(text) - n, "%s%.60s %.0f %%", n ? ", " : "",
			      db_text(q, 0), 100 * sqlite3_column_double(q, 1) / total);
	sqlite3_finalize(q);
	if (ret < 0 || !n)
		return ret;
	snprintf(proof, sizeof(proof),
		 "SELECT * FROM antagonist WHERE pid=%lld ORDER BY woken + preempted DESC",
		 (long long)pid);
	return put_prose(
		c, e, NOTE, label, proof,
		"Threads of %s waited %.3f s for a CPU, all together; it was used meanwhile "
		"by: %s.",
		name, total / 1e9, text);
}

/* Which weights fair shares follow. */
static int put_model(struct analysis_ctx *c, s64 groups, struct err *e)
{
	static const char proof[] =
		"SELECT g.path, w.weight FROM cgroup_weight w LEFT JOIN cgroup g"
		" ON g.id=w.cgroup ORDER BY w.weight DESC";
	s64 known = 0, changed = 0;
	int ret = db_int(c->db, &known, e, "SELECT count(DISTINCT cgroup) FROM cgroup_weight", "");

	if (ret == 0)
		ret = db_int(c->db, &changed, e,
			     "SELECT count(*) FROM (SELECT 1 FROM cgroup_weight GROUP BY cgroup"
			     " HAVING min(weight) < max(weight))",
			     "");
	if (ret < 0)
		return ret;
	if (!known)
		return put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"fair shares are those of threads by their nice values alone: weights of "
			"the %lld control groups and real-time priorities are not in them.",
			(long long)groups);
	return put_prose(
		c, e, NOTE, "LIMIT", proof,
		"fair shares follow nice values and, level by level, the weights of %lld control groups "
		"(%lld changed meanwhile); quotas and real-time priorities are not in them.",
		(long long)known, (long long)changed);
}

/* What is in no group with a weight, the kernel may share by session; these are not recorded. */
static int put_sessions(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT count(DISTINCT s.pid) FROM sched_stat s JOIN process p ON p.pid=s.pid WHERE"
		" s.cgroup IS NULL AND s.fair > 0 AND p.pid<>2 AND p.parent<>2 AND EXISTS(SELECT 1 FROM"
		" recording WHERE key='autogroup' AND value='1')"; /* 2: threads of the kernel have
								      none */
	s64 n = 0;
	int ret = db_int(c->db, &n, e, sql, "");

	if (ret < 0 || n < 2)
		return ret;
	return put_prose(
		c, e, NOTE, "LIMIT", NULL,
		"kernel.sched_autogroup_enabled is 1: %lld processes that ran in no control group with "
		"a weight share CPUs by session, and by nice value within one only; sessions are not "
		"in fair shares.",
		(long long)n);
}

static int put_waits(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT a.pid, (SELECT coalesce(nullif(max(comm),''),'?') FROM process WHERE pid=a.pid)"
		" || '[' || a.pid || ']', sum(a.woken + a.preempted) AS ns, sum(a.guessed) FROM antagonist a"
		" GROUP BY a.pid HAVING ns >= ? ORDER BY ns DESC, a.pid LIMIT 3";
	sqlite3_stmt *q;
	s64 filtered = 0, groups = 0;
	int ret = db_int(c->db, &filtered, e,
			 "SELECT count(*) FROM recording WHERE key='targets' AND value<>'all'", "");

	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "i", (s64)(c->duration * MATTERS));
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		/* without strangers' switches it is only known who was there at both ends */
		ret = put_antagonists(
			c, sqlite3_column_int64(q, 0), db_text(q, 1), sqlite3_column_double(q, 2),
			sqlite3_column_double(q, 3) > 0.1 * sqlite3_column_double(q, 2)
				? "OVERLAP"
				: "OBSERVED",
			e);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	if (ret == 0 && filtered)
		ret = put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"fair shares and idle CPUs: only some threads of the host were recorded "
			"(obsrec -a records all).");
	if (ret == 0 && !filtered)
		ret = db_int(c->db, &groups, e, "SELECT count(DISTINCT cgroup) FROM process", "");
	if (ret == 0 && groups > 1)
		ret = put_model(c, groups, e);
	if (ret == 0 && !filtered)
		ret = put_sessions(c, e);
	return ret < 0 ? ret : 0;
}

/* A thread that the others of its process mostly wait beside. */
static int put_serial(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT t.comm || '[' || s.tid || ']', s.serial / p.serial, p.threads,"
		" 1.0 * s.alone / max(t.run, 1) FROM sched_stat s JOIN thread t ON t.tid=s.tid AND t.start=s.start"
		" JOIN (SELECT pid, 1.0 * sum(serial) AS serial, sum(waits > 0) AS threads FROM"
		" sched_stat GROUP BY pid) p ON p.pid=s.pid WHERE p.threads > 1 AND p.serial >= ?1 AND"
		" s.serial >= max(?2, 1.5 / p.threads) * p.serial ORDER BY s.serial DESC LIMIT 3";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "dd", c->duration * MATTERS, SERIAL);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		ret = put_prose(
			c, e, NOTE, "OVERLAP", "SELECT * FROM sched_stat ORDER BY serial DESC",
			"%s makes up %.0f %% of the time in which its process was active, each instant "
			"divided among the threads active then (GAPP's weight; %lld threads): so much of "
			"the work is hardly done in parallel. For %.0f %% of its time on a CPU it was the "
			"only active one.",
			db_text(q, 0), 100 * sqlite3_column_double(q, 1),
			sqlite3_column_int64(q, 2), 100 * sqlite3_column_double(q, 3));
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* A quota's row, and a sentence if it stopped anybody. */
static int put_quota(struct analysis_ctx *c, sqlite3_stmt *q, struct err *e)
{
	double periods = sqlite3_column_double(q, 3), throttled = sqlite3_column_double(q, 4);
	double stopped = sqlite3_column_double(q, 5);
	char subject[200];
	int ret;

	snprintf(subject, sizeof(subject), "quota of %.160s", db_text(q, 0));
	ret = put_metric(c, e, subject, "throttled", periods > 0 ? 100 * throttled / periods : NAN,
			 NO_INTERVAL, (s64)periods);
	if (ret == 0)
		ret = put_metric(c, e, subject, "stopped", stopped, NO_INTERVAL, (s64)periods);
	if (ret < 0 || throttled <= 0)
		return ret;
	return put_prose(
		c, e, WARNING, "OBSERVED", "SELECT * FROM throttle ORDER BY time DESC",
		"Control group %.160s, which may use %.1f ms of CPU in %.0f ms, was stopped by this "
		"quota in %.0f of %.0f periods, CPUs for %.3f s together; in it: %.300s. Waits for a "
		"CPU that end with a period are the quota's doing, not a neighbour's.",
		db_text(q, 0), sqlite3_column_double(q, 1) / 1e6, sqlite3_column_double(q, 2) / 1e6,
		throttled, periods, stopped / 1e9, db_text(q, 6));
}

/* Quotas of cgroups that recorded processes are in, at any depth; u: a process under each cgroup
 * above its own. */
static int put_quotas(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"WITH RECURSIVE g AS MATERIALIZED (SELECT id, max(path) AS path, max(container) AS"
		" container FROM cgroup GROUP BY id), u(path, who) AS (SELECT g.path,"
		" coalesce(nullif(p.comm,''),'?') || '[' || p.pid || ']' FROM process p CROSS JOIN g"
		" ON g.id=p.cgroup WHERE EXISTS(SELECT 1 FROM thread t WHERE t.pid=p.pid AND t.wall IS"
		" NOT NULL) UNION SELECT coalesce(nullif(rtrim(rtrim(path, replace(path, '/', '')),"
		" '/'), ''), '/'), who FROM u WHERE path NOT IN ('/', '')),"
		" k AS (SELECT path, who, row_number() OVER (PARTITION BY path ORDER BY who) AS k FROM u),"
		" m AS MATERIALIZED (SELECT path, group_concat(who, ', ') AS members FROM k WHERE k <= 5"
		" GROUP BY path)"
		" SELECT g.path || coalesce(' (' || g.container || ')', ''), max(t.quota), max(t.period),"
		" sum(t.periods), sum(t.throttled), sum(t.time), max(m.members) FROM throttle t"
		" CROSS JOIN g ON g.id=t.cgroup CROSS JOIN m ON m.path=coalesce(nullif(rtrim(g.path,"
		" '/'), ''), '/') WHERE t.quota > 0 GROUP BY g.id ORDER BY sum(t.time) DESC, g.path";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (put_quota(c, q, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	int ret = put_quotas(c, e);

	if (ret == 0)
		ret = cpu_parts_put(c, e);
	if (ret == 0)
		ret = put_waits(c, e);
	if (ret == 0)
		ret = put_serial(c, e);
	if (ret == 0)
		ret = put_threads(c, e);
	return ret < 0 ? ret : put_processes(c, e);
}

const struct analysis analysis_cpu = {
	.name = "cpu",
	.doc = "How long did threads wait for a CPU",
	.needs = "sched",
	.metrics = metrics,
	.rows = 12,
	.run = run,
};
