// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How threads were served by the CPUs: waits in the run queue and who had the CPU then,
 * migrations, waits with another CPU idle, actual against fair share, and criticality (GAPP's
 * weight: time on a CPU, divided by the number of active threads of the process at each instant).
 *
 * Fairness follows nice values and, where recorded, weights of cgroups (track_shares.c). It needs
 * all threads of the host.
 */
#include "analysis.h"
#include "cpu_parts.h"

#define MATTERS	 0.01 /* of the recording's duration: less waiting is no finding */
#define CRITICAL 0.5  /* of the active time of its process, and half as much again as is due */

static const struct metric metrics[] = {
	{ "runq", "%", LOWER_IS_BETTER, "of its life in the run queue" },
	{ "woken", "%", LOWER_IS_BETTER, "of its life, in the run queue after a wakeup" },
	{ "preempted", "%", LOWER_IS_BETTER, "of its life, runnable after preemption" },
	{ "waits", "", NEITHER_IS_BETTER, "waits in the run queue" },
	{ "max", "ns", LOWER_IS_BETTER, "longest wait" },
	{ "migrations", "", LOWER_IS_BETTER, "runs on another CPU than before" },
	{ "idle", "ns", LOWER_IS_BETTER,
	  "waits of 0.1 ms and more while another CPU was idle that it may run on" },
	{ "fair", "", HIGHER_IS_BETTER, "time on a CPU divided by its fair share; 1: just" },
	{ "lag", "ns", LOWER_IS_BETTER, "max lag from its fair share" },
	{ "starved", "ns", LOWER_IS_BETTER, "waits with less than its fair share" },
	{ "criticality", "%", NEITHER_IS_BETTER,
	  "of the active time of its process, by GAPP's weight; of several threads" },
	{ "exclusive CPU", "%", NEITHER_IS_BETTER,
	  "of its time on a CPU, the only active thread of its process" },
	{ "throttled", "%", LOWER_IS_BETTER, "periods in which a quota stopped the cgroup" },
	{ "stopped", "ns", LOWER_IS_BETTER, "time for which it stopped CPUs, in total" },
	{ "p50", "ns", LOWER_IS_BETTER, "median wait in the run queue; of the process" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile; of the process" },
	{ 0 },
};

static const char threads_sql[] =
	"SELECT s.tid AS id, s.waits AS n, 100.0 * (t.woken + t.preempted) / t.wall AS runq,"
	" 100.0 * t.woken / t.wall AS woken, 100.0 * t.preempted / t.wall AS preempted, s.waits AS waits,"
	" s.longest AS max, s.migrations AS migrations, s.idle_elsewhere AS idle,"
	" 1.0 * t.run / nullif(s.fair, 0) AS fair, s.lag AS lag, s.starved AS starved,"
	" iif(p.threads > 1, 100.0 * s.criticality / nullif(p.criticality, 0), NULL) AS criticality,"
	" iif(p.threads > 1, 100.0 * s.exclusive / nullif(t.run, 0), NULL) AS \"exclusive CPU\""
	" FROM sched_stat s JOIN thread t ON t.tid=s.tid AND t.start=s.start JOIN (SELECT pid,"
	" sum(criticality) AS criticality, count(*) AS threads FROM sched_stat GROUP BY pid) p ON p.pid=s.pid"
	" WHERE s.waits > 0 ORDER BY t.woken + t.preempted DESC, t.tid";

/* Distributions of the waits of each process. */
static const char processes_sql[] =
	"SELECT subject AS id, iif((SELECT count(*) FROM sched_stat WHERE pid=subject AND waits > 0)=1, '',"
	" ', all threads') AS part, sum(n) AS n, sum(n) AS waits,"
	" quantile(0.5, NULL, 'runq', subject, 0) AS p50, quantile(0.99, NULL, 'runq', subject, 0) AS p99"
	" FROM latency WHERE kind='runq' GROUP BY subject ORDER BY sum(latency.n * low) DESC, subject LIMIT 10";

/*
 * Who had the CPU while threads of a process waited for it. Without switches of other threads it is
 * only known who was there at both ends.
 */
static const struct finding_query waits = {
	FINDING_runqueue_wait,
	NOTE,
	OBSERVED,
	NULL,
	"SELECT 'process' AS kind, pid AS id, sum(woken + preempted) AS \"total:ns\","
	" iif(sum(guessed) > 0.1 * sum(woken + preempted), 2, 0) AS evidence, 'SELECT * FROM cpu_contender"
	" WHERE pid=' || pid || ' ORDER BY woken + preempted DESC' AS proof FROM cpu_contender GROUP BY pid"
	" HAVING sum(woken + preempted) >= ?1 ORDER BY 3 DESC, pid LIMIT 3",
	"WITH a AS (SELECT coalesce((SELECT max(t.pid) FROM thread t WHERE t.tid=x.tid), x.tid) AS pid,"
	" x.tid=0 AS idle, woken + preempted AS ns FROM cpu_contender x WHERE x.pid=?1)"
	" SELECT 'ran', '%', 100.0 * sum(ns) / (SELECT sum(ns) FROM a), iif(idle, 'none', 'process'), pid,"
	" CASE WHEN idle THEN 'idle or interrupts' WHEN pid=?1 THEN 'itself' END FROM a GROUP BY idle, pid"
	" HAVING sum(ns) >= 0.01 * (SELECT sum(ns) FROM a) ORDER BY sum(ns) DESC LIMIT 3",
};

#define RECORDED_ALL "NOT EXISTS(SELECT 1 FROM recording WHERE key='targets' AND value<>'all')"

/* Which weights fair shares follow. */
static const struct finding_query models[] = {
	{ FINDING_no_fair_shares, NOTE, LIMIT, NULL, "SELECT 1 AS n WHERE NOT " RECORDED_ALL,
	  NULL },
	{ FINDING_fair_by_nice, NOTE, LIMIT, NULL,
	  "SELECT count(DISTINCT cgroup) AS cgroups FROM process WHERE " RECORDED_ALL
	  " AND NOT EXISTS(SELECT 1 FROM cgroup_weight) HAVING cgroups > 1",
	  NULL },
	{ FINDING_fair_by_weight, NOTE, LIMIT,
	  "SELECT g.path, w.weight FROM cgroup_weight w LEFT JOIN cgroup g ON g.id=w.cgroup"
	  " ORDER BY w.weight DESC",
	  "SELECT count(*) AS cgroups, total(varied) AS changed FROM (SELECT min(weight) < max(weight)"
	  " AS varied FROM cgroup_weight GROUP BY cgroup) WHERE " RECORDED_ALL
	  " AND (SELECT count(DISTINCT cgroup) FROM process) > 1 HAVING cgroups > 0",
	  NULL },
	/* without a weighted cgroup the kernel may share by session; 2: its own threads have none
	 */
	{ FINDING_fair_by_session, NOTE, LIMIT, NULL,
	  "SELECT count(DISTINCT s.pid) AS n FROM sched_stat s JOIN process p ON p.pid=s.pid WHERE"
	  " s.cgroup IS NULL AND s.fair > 0 AND p.pid<>2 AND p.parent<>2 AND EXISTS(SELECT 1 FROM"
	  " recording WHERE key='autogroup' AND value='1') AND " RECORDED_ALL " HAVING n >= 2",
	  NULL },
};

/* A thread that the others of its process mostly wait for; idle threads do not count. */
static const struct finding_query criticality = {
	FINDING_little_parallel,
	NOTE,
	OVERLAP,
	"SELECT * FROM sched_stat ORDER BY criticality DESC",
	"SELECT 'thread' AS kind, s.tid AS id, 100.0 * s.criticality / p.criticality AS \"criticality:%\", p.threads,"
	" 100.0 * s.exclusive / max(t.run, 1) AS \"exclusive:%\" FROM sched_stat s JOIN thread t ON t.tid=s.tid"
	" AND t.start=s.start JOIN (SELECT pid, 1.0 * total AS criticality, sum(20 * criticality >= total) AS threads"
	" FROM (SELECT pid, criticality, sum(criticality) OVER (PARTITION BY pid) AS total FROM sched_stat)"
	" GROUP BY pid) p ON p.pid=s.pid WHERE p.threads > 1 AND p.criticality >= ?1 AND"
	" s.criticality >= max(?2, 1.5 / p.threads) * p.criticality ORDER BY s.criticality DESC LIMIT 3",
	NULL,
};

/* Quotas of cgroups that recorded processes are in, at any depth; u: a process under each cgroup
 * above its own. */
static const char members_sql[] =
	"DROP TABLE IF EXISTS temp.quota_member; CREATE TEMP TABLE quota_member AS"
	" WITH RECURSIVE g AS MATERIALIZED (SELECT id, max(path) AS path, max(container) AS"
	" container FROM cgroup GROUP BY id), u(path, pid) AS (SELECT g.path,"
	" p.pid FROM process p CROSS JOIN g"
	" ON g.id=p.cgroup WHERE EXISTS(SELECT 1 FROM thread t WHERE t.pid=p.pid AND t.wall IS"
	" NOT NULL) UNION SELECT coalesce(nullif(rtrim(rtrim(path, replace(path, '/', '')),"
	" '/'), ''), '/'), pid FROM u WHERE path NOT IN ('/', '')),"
	" q AS MATERIALIZED (SELECT id, coalesce(nullif(rtrim(path, '/'), ''), '/') AS path FROM g WHERE id"
	" IN (SELECT cgroup FROM throttle WHERE quota > 0))"
	" SELECT DISTINCT q.id, u.pid FROM u CROSS JOIN q ON q.path=u.path;"
	"CREATE INDEX temp.quota_member_of ON quota_member(id, pid)";

static const char quotas_sql[] =
	"SELECT t.cgroup AS id, ' quota' AS part, total(t.periods) AS n, 100.0 * total(t.throttled) /"
	" nullif(total(t.periods), 0) AS throttled, total(t.time) AS stopped FROM throttle t WHERE t.quota > 0"
	" AND t.cgroup IN (SELECT id FROM temp.quota_member) GROUP BY t.cgroup ORDER BY total(t.time) DESC, t.cgroup";

static const struct finding_query quota = {
	FINDING_quota_throttled,
	WARNING,
	OBSERVED,
	"SELECT * FROM throttle ORDER BY time DESC",
	"SELECT 'cgroup' AS kind, t.cgroup AS id, max(t.quota) AS \"quota:ns\", max(t.period) AS"
	" \"length:ns\", total(t.throttled) AS throttled, total(t.periods) AS periods, total(t.time) AS"
	" \"stopped:ns\" FROM throttle t WHERE t.quota > 0 AND t.cgroup IN (SELECT id FROM temp.quota_member) GROUP BY t.cgroup HAVING total(t.throttled) > 0"
	" ORDER BY total(t.time) DESC, t.cgroup",
	"SELECT 'process', '', NULL, 'process', pid, NULL FROM temp.quota_member WHERE id=?1 ORDER BY pid LIMIT 5",
};

static int run(struct analysis_ctx *c, struct err *e)
{
	size_t i;

	c->err = db_exec(c->db, e, members_sql);
	put_table(c, SUBJECT_cgroup, quotas_sql, "");
	find_rows(c, &quota, "");
	cpu_parts_put(c);
	find_rows(c, &waits, "i", (s64)(c->duration * MATTERS));
	for (i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		find_rows(c, &models[i], "");
	find_rows(c, &criticality, "dd", c->duration * MATTERS, CRITICAL);
	put_table(c, SUBJECT_thread, threads_sql, "");
	put_table(c, SUBJECT_process, processes_sql, "");
	return c->err;
}

const struct analysis analysis_cpu = {
	.name = "cpu",
	.doc = "How long did threads wait for a CPU",
	.needs = "sched",
	.metrics = metrics,
	.rows = 12,
	.run = run,
};
