// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much room is left? Each service has an idle share (idle.h): near zero it is saturated. By
 * process and by what its threads wait in (epoll, poll and select; futex; receiving and accepting
 * on sockets; pipes) stand the mean duration of such waits, which Rezvani et al. (ISPASS 2024) call
 * slack, and the share of time asleep in them. The mean falls with the rate of calls even when
 * nothing is wrong; the idle share is linear in utilisation.
 *
 * Time in the run queue is not idle. A thread is not waiting for requests that waits in a receive
 * for the answer of another server, or in poll for it alone.
 *
 * Several processes that are one server have one more row; a finding about one of them needs a
 * server with room as a whole.
 */
#include "analyze/analyses/analysis.h"
#include "idle.h"

#define GROUPS_MAX 40
#define BRIEF	   1e9 /* ns of life of a service: less carries no finding */

static const struct metric metrics[] = {
	{ "idle share", "%", HIGHER_IS_BETTER,
	  "of the CPUs that it may use: no thread runs or is runnable on them" },
	{ "min", "%", HIGHER_IS_BETTER, "the lowest idle share of a window" },
	{ "CPUs", "", NEITHER_IS_BETTER,
	  "that it may use: as many as it ran on, at most one for each thread that serves" },
	{ "waits", "", NEITHER_IS_BETTER, "waits that ended" },
	{ "mean wait", "ns", HIGHER_IS_BETTER, "mean duration of a wait (slack)" },
	{ "asleep", "%", NEITHER_IS_BETTER,
	  "time asleep in such waits over the life of these threads" },
	{ "threads", "", NEITHER_IS_BETTER, "threads that wait there" },
	{ "timeouts", "", NEITHER_IS_BETTER, "of the waits, ended by a timeout" },
	{ "refused", "", NEITHER_IS_BETTER, "calls that could not wait: timeout 0, EAGAIN" },
	{ 0 },
};

/* Rows of series: receives from other servers and polls of one alone. */
#define UPSTREAM                                                                                                                                  \
	"(s.kind IN (series_id('socket_recv'), series_id('poll_wait')) AND s.resource IN (SELECT r.id FROM resource r JOIN fd ON fd.ino=r.number" \
	" AND fd.dev=r.dev WHERE r.kind='socket' AND fd.kind='socket' AND fd.role='connected'))"

/* Servers of several processes; several ports that the same processes answer on are one. */
#define SERVERS                                                                                         \
	"v AS MATERIALIZED (SELECT DISTINCT server, pid FROM service WHERE server > 0 AND requests > 0" \
	" ORDER BY server, pid),"                                                                       \
	" w AS (SELECT server, max(requests) FROM (SELECT server, group_concat(v.pid) AS pids,"         \
	" s.requests FROM v JOIN server s ON s.id=server GROUP BY server HAVING count(*) > 1)"          \
	" GROUP BY pids),"                                                                              \
	" m AS MATERIALIZED (SELECT w.server, v.pid FROM w JOIN v USING(server))"

/* Services: server or process, the server that a process is part of. */
static const char services_sql[] =
	"WITH " SERVERS
	" SELECT -1 AS pid, server, 0 AS part_of, 1e18 AS requests FROM m GROUP BY server"
	" UNION ALL SELECT s.pid, -1, coalesce((SELECT max(server) FROM m WHERE m.pid=s.pid), 0), sum(s.requests)"
	" FROM service s WHERE s.requests > 0 GROUP BY s.pid ORDER BY 4 DESC, 1 LIMIT ?1";

/* By process or server, and what threads wait in. */
static const char waits_sql[] =
	"WITH f(kind, family, name, asleep) AS (VALUES(18,0,'poll',0),(19,0,'poll',0),(6,0,'poll',1),"
	"(16,1,'futex',0),(5,1,'futex',1),(12,2,'socket',0),(14,2,'socket',0),(7,2,'socket',1),"
	"(10,3,'pipe',0),(8,3,'pipe',1)),"
	" p AS (SELECT tid, max(pid) AS pid, sum(coalesce(end, ?1) - start) AS life FROM thread GROUP BY tid),"
	" " SERVERS ","
	" g(member, pid, server) AS (SELECT DISTINCT p.pid, p.pid, -1 FROM p UNION ALL SELECT pid, -1, server"
	" FROM m),"
	" x AS MATERIALIZED (SELECT s.tid, f.family, f.name, total(s.n) FILTER (WHERE NOT f.asleep) AS n,"
	" total(s.time) FILTER (WHERE NOT f.asleep) AS time, total(s.time) FILTER (WHERE f.asleep) AS asleep,"
	" total(s.refused) FILTER (WHERE NOT f.asleep) AS refused, total(s.timeouts) FILTER (WHERE NOT"
	" f.asleep) AS timeouts FROM series s CROSS JOIN f USING(kind) WHERE NOT " UPSTREAM
	" GROUP BY s.tid, f.family HAVING n > 0 OR time > 0)"
	" SELECT iif(g.pid < 0, 'server', 'process') AS kind, iif(g.pid < 0, g.server, g.pid) AS id,"
	" ' ' || x.name AS part, sum(x.n) AS n, sum(x.n) AS waits, sum(x.time) / nullif(sum(x.n), 0) AS"
	" \"mean wait\", count(*) AS n, iif(?2, 100.0 * sum(x.asleep) / nullif(sum(p.life), 0), NULL) AS"
	" asleep, count(*) AS threads, sum(x.n) AS n, sum(x.timeouts) AS timeouts, sum(x.refused) AS refused"
	" FROM x JOIN p USING(tid) JOIN g ON g.member=p.pid GROUP BY g.pid, g.server, x.family"
	/* calls that never sleep say nothing of room */
	" HAVING NOT ?2 OR sum(x.asleep) > 0 OR x.family=0"
	" ORDER BY p.pid IN (SELECT pid FROM service WHERE requests > 0) DESC, x.family > 0, g.pid >= 0,"
	" sum(x.time) DESC, g.pid, x.family LIMIT ?3";

struct work {
	struct analysis_ctx *c;
	struct grid grid;
	s64 saturated[GROUPS_MAX]; /* servers */
	size_t n;
};

static bool is_saturated(const struct work *w, s64 server)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->saturated[i] == server)
			return true;
	return false;
}

static void find_saturated(struct work *w, struct subject about, s64 part_of, const struct idle *i)
{
	static const char sql[] =
		"SELECT t.pid, t.tid, t.comm, (t.run + t.woken + t.preempted) / 1e9 AS active_s,"
		" t.wall / 1e9 AS life_s FROM thread t ORDER BY active_s DESC";
	const struct value values[] = {
		VALUE_INTERVAL("idle", i->total.value, i->total.low, i->total.high, "%"),
		VALUE_NUMBER("cpus", i->cpus, ""),
		VALUE_NUMBER("min", i->min, "%"),
		{ 0 },
	};
	const struct finding f = { .kind = FINDING_saturated,
				   .severity = WARNING,
				   .about = about,
				   .sql = sql,
				   .values = values };
	double high = isnan(i->total.high) ? i->total.value : i->total.high;

	if (!(high < SATURATED) || w->c->duration < BRIEF || is_saturated(w, part_of))
		return;
	if (about.kind == SUBJECT_server && w->n < GROUPS_MAX)
		w->saturated[w->n++] = about.id;
	add_finding(w->c, &f);
}

static int put_service(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct work *w = arg;
	struct analysis_ctx *c = w->c;
	s64 pid = sqlite3_column_int64(q, 0), server = sqlite3_column_int64(q, 1);
	struct subject about = pid < 0 ? ABOUT(server, server) : ABOUT(process, pid);
	struct idle i;

	c->err = idle_read(c->db, &w->grid, pid, server, &i, e);
	const struct number numbers[] = {
		{ "idle share", i.total.value, i.total.low, i.total.high, (double)w->grid.n },
		{ "min", i.min, NO_INTERVAL, (double)w->grid.n },
		{ "CPUs", i.cpus, NO_INTERVAL, 1 },
	};

	put_all(c, about, NULL, numbers, sizeof(numbers) / sizeof(numbers[0]));
	find_saturated(w, about, sqlite3_column_int64(q, 2), &i);
	idle_free(&i);
	return c->err;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct work w = { .c = c };
	s64 switches;

	c->err = grid_open(&w.grid, c->db, "syscalls sched", e);
	switches =
		query_number(c, "SELECT count(*) FROM coverage WHERE grp='sched' AND records > 0",
			     "") > 0;
	if (w.grid.n < 3 && w.grid.n_lossy == 0 && c->duration > 0) { /* too short for windows */
		w.grid.n = 1;
		w.grid.step = c->duration;
	}
	if (switches)
		each_row(c, put_service, &w, services_sql, "i", (s64)GROUPS_MAX);
	else
		add_limit(c, FINDING_no_idle_share);
	put_table(c, SUBJECT_process, waits_sql, "iii", c->duration, switches, (s64)GROUPS_MAX);
	grid_free(&w.grid);
	return c->err;
}

const struct analysis analysis_slack = {
	.name = "slack",
	.doc = "How much room is left",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 8,
	.run = run,
};
