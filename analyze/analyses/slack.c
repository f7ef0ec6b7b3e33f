// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much room is left? By process and by what its threads wait in (epoll, poll and
 * select; futex; receiving and accepting on sockets; pipes): the mean duration of such waits,
 * which Rezvani et al. (ISPASS 2024) call slack, and the idle share: time asleep in them over the
 * life of the threads that wait there. The mean falls with the rate of calls even when nothing
 * is wrong; the share is linear in utilisation. Both near zero: saturated.
 *
 * Idle is time asleep, not time in the call: a thread that was woken and waits for a CPU is
 * not idle. Without switches the duration of calls must do, and a sentence says so. A wait for a
 * lock is in the futex row too: only locks can tell the two apart. Nor is a thread idle that
 * waits in a receive for the answer of another server, or in poll for it alone.
 *
 * Where several processes are one server, all of them are one more row: its room is what they have
 * left together. A sentence about one of them is worth it only if the server as a whole has room.
 */
#include "analysis.h"
#include "analyze/stats/stats_boot.h"
#include "analyze/stats/stats_series.h"
#include "grid.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOWS_LEAST 8
#define REPS	      1000
#define BRIEF	      1e9  /* ns of life of all threads together */
#define SATURATED     0.05 /* idle share below which a server's pollers have no room left */
/* Rows of series: receives from other servers and polls of one alone: who waits is not idle. */
#define ASKED(s)                                                    \
	"(" s ".kind IN (12,19) AND " s                             \
	".resource IN (SELECT id FROM resource WHERE kind='socket'" \
	" AND substr(alike, 1, 10)='connected '))"

static const struct metric metrics[] = {
	{ "waits", "", NEITHER_IS_BETTER, "waits that ended" },
	{ "slack", "ns", HIGHER_IS_BETTER, "mean duration of a wait" },
	{ "idle", "%", HIGHER_IS_BETTER,
	  "time asleep in such waits over the life of these threads" },
	{ "least", "%", HIGHER_IS_BETTER, "the lowest idle share of a window" },
	{ "threads", "", NEITHER_IS_BETTER, "threads that wait there" },
	{ "timeouts", "", NEITHER_IS_BETTER, "of the waits, ended by a timeout" },
	{ "refused", "", NEITHER_IS_BETTER, "calls that could not wait: timeout 0, EAGAIN" },
	{ 0 },
};

/* What threads wait in, as series (series.def). */
static const struct family {
	const char *name;
	const char *calls; /* kinds of calls */
	const char *sleep; /* kind of time asleep */
} families[] = {
	{ "poll", "18,19", "6" },
	{ "futex", "16", "5" },
	{ "socket", "12,14", "7" },
	{ "pipe", "10", "8" },
};

#define GROUPS_MOST 40
/* Processes of a group: the one ?1, or all that answer as the server ?2. */
#define MEMBERS "(SELECT ?1 UNION SELECT pid FROM service WHERE server=?2 AND turns > 0)"

struct group {
	s64 pid;     /* -1: all processes of a server */
	s64 server;  /* that row's; else -1 */
	s64 part_of; /* the server of another row that this process is in; 0: none */
	const struct family *family;
	char name[96];
	double waits, time, timeouts, refused, threads;
	bool answers, brief; /* brief: they hardly lived, which says nothing of room */
	double *idle, *wall; /* by window, ns */
	size_t windows;
	struct boot share;
	double least;
};

static double share(void *arg, const size_t *order, size_t n)
{
	const struct group *p = arg;
	double idle = 0, wall = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		idle += p->idle[order[i]];
		wall += p->wall[order[i]];
	}
	return wall > 0 ? 100 * idle / wall : NAN;
}

/* The threads of the group, and their lives by window. */
static int read_walls(struct analysis_ctx *c, const struct grid *g, struct group *p, struct err *e)
{
	char sql[900];
	sqlite3_stmt *q;
	double from, to, low, high;
	size_t i;
	int ret;

	snprintf(
		sql, sizeof(sql),
		"SELECT t.start, coalesce(t.end, (SELECT CAST(value AS INTEGER) FROM recording WHERE"
		" key='duration_ns')) FROM thread t WHERE t.pid IN " MEMBERS
		" AND EXISTS(SELECT 1 FROM series s"
		" WHERE s.kind IN (%s) AND s.tid=t.tid AND (s.n > 0 OR s.time > 0) AND NOT " ASKED(
			"s") ")",
		p->family->calls);
	ret = db_query(&q, c->db, e, sql, "ii", p->pid, p->server);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		from = sqlite3_column_double(q, 0);
		to = sqlite3_column_double(q, 1);
		for (i = (size_t)fmax(from / g->step, 0); i < g->n && i * g->step < to; i++) {
			low = fmax(from, (double)i * g->step);
			high = fmin(to, (double)(i + 1) * g->step);
			p->wall[i] += fmax(high - low, 0);
		}
	}
	sqlite3_finalize(q);
	return ret;
}

static int read_idle(struct analysis_ctx *c, const struct grid *g, struct group *p, bool switches,
		     struct err *e)
{
	char sql[900];
	sqlite3_stmt *q;
	int ret;

	snprintf(sql, sizeof(sql),
		 "SELECT r.ts, r.time FROM series r WHERE r.kind IN (%s) AND r.tid IN (SELECT tid"
		 " FROM thread t WHERE t.pid IN " MEMBERS
		 " AND EXISTS(SELECT 1 FROM series s WHERE s.kind IN (%s)"
		 " AND s.tid=t.tid AND (s.n > 0 OR s.time > 0) AND NOT " ASKED(
			 "s") ")) AND NOT " ASKED("r"),
		 switches ? p->family->sleep : p->family->calls, p->family->calls);
	ret = db_query(&q, c->db, e, sql, "ii", p->pid, p->server);
	if (ret < 0)
		return ret;
	ret = grid_read(g, q, &p->idle, 1, e);
	sqlite3_finalize(q);
	return ret;
}

static int measure(struct analysis_ctx *c, const struct grid *g, struct group *p, bool switches,
		   struct err *e)
{
	size_t i, n;
	int ret;

	p->idle = calloc(g->n + 1, sizeof(double));
	p->wall = calloc(g->n + 1, sizeof(double));
	if (!p->idle || !p->wall)
		return err_set(e, ERR_FAIL, "out of memory for windows");
	ret = read_walls(c, g, p, e);
	if (ret == 0)
		ret = read_idle(c, g, p, switches, e);
	if (ret < 0)
		return ret;
	n = grid_pack(g, p->idle, 0, g->n);
	grid_pack(g, p->wall, 0, g->n);
	p->least = NAN;
	for (i = 0; i < n; i++) {
		if (p->wall[i] <= 0)
			continue;
		p->idle[p->windows] = p->idle[i];
		p->wall[p->windows++] = p->wall[i];
		p->least = fmin(p->least, 100 * p->idle[i] / p->wall[i]);
	}
	p->share = stats_boot(p->windows, stats_boot_block(p->windows), REPS, share, p);
	if (p->windows < WINDOWS_LEAST)
		p->share.low = p->share.high = NAN;
	return 0;
}

/* A recording shorter than three windows: over its whole length, if nothing was lost. */
static int measure_whole(struct analysis_ctx *c, const struct grid *g, struct group *p,
			 bool switches, struct err *e)
{
	const struct grid whole = { c->duration ? c->duration : 1, 1, g->lossy, 0 };

	if (p->windows >= 3 || g->n_lossy)
		return 0;
	p->idle[0] = p->wall[0] = 0;
	if (read_walls(c, &whole, p, e) < 0 || read_idle(c, &whole, p, switches, e) < 0)
		return ERR_FAIL;
	p->windows = 1;
	p->share.value = p->wall[0] > 0 ? 100 * p->idle[0] / p->wall[0] : NAN;
	p->least = NAN;
	return 0;
}

/* Servers that a sentence was put about. */
struct told {
	s64 servers[GROUPS_MOST];
	size_t n;
};

static bool was_told(const struct told *told, s64 server)
{
	size_t i;

	for (i = 0; i < told->n; i++)
		if (told->servers[i] == server)
			return true;
	return false;
}

static int put_group(struct analysis_ctx *c, const struct group *p, struct told *told,
		     struct err *e)
{
	static const char sql[] =
		"SELECT s.ts / 1e9 AS second, k.name, t.pid, sum(s.time) / 1e9 AS seconds, sum(s.n) AS n"
		" FROM series s JOIN series_kind k ON k.id=s.kind JOIN thread t USING(tid)"
		" WHERE s.kind IN (5,6,7,8,12,14,16,18,19) GROUP BY t.pid, s.kind, s.ts";
	const struct {
		const char *name;
		double value, low, high;
		s64 n;
	} values[] = {
		{ "waits", p->waits, NO_INTERVAL, (s64)p->waits },
		{ "slack", p->waits ? p->time / p->waits : NAN, NO_INTERVAL, (s64)p->waits },
		{ "idle", p->share.value, p->share.low, p->share.high, (s64)p->windows },
		{ "least", p->least, NO_INTERVAL, (s64)p->windows },
		{ "threads", p->threads, NO_INTERVAL, (s64)p->threads },
		{ "timeouts", p->timeouts, NO_INTERVAL, (s64)p->waits },
		{ "refused", p->refused, NO_INTERVAL, (s64)p->waits },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, p->name, values[i].name, values[i].value, values[i].low,
				 values[i].high, values[i].n);
	if (ret < 0 || !p->answers || p->brief || p->family != &families[0] ||
	    isnan(p->share.value) || p->share.value >= 100 * SATURATED ||
	    was_told(told, p->part_of))
		return ret;
	if (p->server > 0 && told->n < GROUPS_MOST)
		told->servers[told->n++] = p->server;
	return put_prose(c, e, WARNING, "OBSERVED", sql,
			 "%s: threads that wait for requests (%.0f) were idle for only %.1f %% of "
			 "their time (a wait lasted %.1f us on average): hardly any room is left.",
			 p->name, p->threads, p->share.value, p->time / p->waits / 1e3);
}

static double lived(const struct group *p)
{
	double ns = 0;
	size_t i;

	for (i = 0; i < p->windows; i++)
		ns += p->wall[i];
	return ns;
}

static int analyse_group(struct analysis_ctx *c, const struct grid *g, sqlite3_stmt *q,
			 bool switches, struct told *told, struct err *e)
{
	struct group p = { .pid = sqlite3_column_int64(q, 0),
			   .family = &families[sqlite3_column_int(q, 1)],
			   .waits = sqlite3_column_double(q, 3),
			   .time = sqlite3_column_double(q, 4),
			   .refused = sqlite3_column_double(q, 5),
			   .threads = sqlite3_column_double(q, 6),
			   .answers = sqlite3_column_int(q, 7),
			   .server = sqlite3_column_int64(q, 8),
			   .part_of = sqlite3_column_int64(q, 9),
			   .timeouts = sqlite3_column_double(q, 10) };
	int ret;

	snprintf(p.name, sizeof(p.name), "%s %s", db_text(q, 2), p.family->name);
	ret = measure(c, g, &p, switches, e);
	if (ret == 0)
		ret = measure_whole(c, g, &p, switches, e);
	p.brief = lived(&p) < fmin(BRIEF, c->duration / 2.0);
	/* calls that never sleep say nothing about room */
	if (ret == 0 && (!switches || p.share.value > 0 || p.family == &families[0]))
		ret = put_group(c, &p, told, e);
	free(p.idle);
	free(p.wall);
	return ret;
}

/*
 * Processes and families with waits, servers first. Before the processes of a server stands the
 * server; several ports that the same processes answer on are one.
 */
static const char groups_sql[] =
	"WITH f(kind, family) AS (VALUES(18,0),(19,0),(16,1),(12,2),(14,2),(10,3)),"
	" p AS (SELECT tid, max(pid) AS pid FROM thread GROUP BY tid),"
	" v AS MATERIALIZED (SELECT DISTINCT server, pid FROM service WHERE server > 0 AND turns > 0"
	" ORDER BY server, pid),"
	" w AS (SELECT server, max(turns) FROM (SELECT server, group_concat(v.pid) AS pids,"
	" s.turns FROM v JOIN server s ON s.id=server GROUP BY server HAVING count(*) > 1)"
	" GROUP BY pids),"
	" m AS MATERIALIZED (SELECT w.server, v.pid FROM w JOIN v USING(server)),"
	" g(member, pid, server, part_of) AS (SELECT p.pid, p.pid, -1, coalesce(max(m.server),"
	" 0) FROM p LEFT JOIN m ON m.pid=p.pid GROUP BY p.pid UNION ALL SELECT pid, -1, server, 0"
	" FROM m)"
	" SELECT g.pid, f.family, coalesce((SELECT name FROM server WHERE id=g.server), (SELECT"
	" coalesce(nullif(max(comm),''),'?') FROM process WHERE process.pid=p.pid) || '[' || p.pid ||"
	" ']'), total(s.n), total(s.time), total(s.refused), count(DISTINCT s.tid),"
	" p.pid IN (SELECT pid FROM service WHERE turns > 0) AS answers, g.server,"
	" g.part_of, total(s.timeouts) FROM series s CROSS JOIN f USING(kind) CROSS JOIN p USING(tid)"
	" CROSS JOIN g ON g.member=p.pid"
	" WHERE NOT " ASKED("s") " GROUP BY g.pid, g.server, f.family"
				 " HAVING total(s.n) > 0 OR total(s.time) > 0"
				 " ORDER BY answers DESC, f.family > 0, g.pid >= 0,"
				 " total(s.time) DESC, g.pid, f.family LIMIT 40";

static int run(struct analysis_ctx *c, struct err *e)
{
	struct told told = { 0 };
	struct grid g;
	sqlite3_stmt *q;
	s64 switches = 0;
	int ret = grid_open(&g, c->db, "syscalls sched", e);

	if (ret == 0)
		ret = db_int(c->db, &switches, e,
			     "SELECT count(*) FROM coverage WHERE grp='sched' AND records > 0", "");
	if (ret == 0 && !switches)
		ret = put_prose(c, e, NOTE, "LIMIT", NULL,
				"slack: switches were not recorded, so idle shares count the whole "
				"duration of waiting calls, waits for a CPU included.");
	if (ret == 0)
		ret = db_query(&q, c->db, e, groups_sql, "");
	if (ret == 0) {
		while ((ret = db_step(q, e)) > 0)
			if (analyse_group(c, &g, q, switches > 0, &told, e) < 0) {
				ret = ERR_FAIL;
				break;
			}
		sqlite3_finalize(q);
	}
	grid_free(&g);
	return ret;
}

const struct analysis analysis_slack = {
	.name = "slack",
	.doc = "How much room is left",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 8,
	.run = run,
};
