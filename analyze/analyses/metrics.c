// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The 16 kernel metrics of Prism (Landau et al., arXiv 2505.13160), by thread and by thread
 * and resource, as shares of the thread's life and counts a second; their series in steps are in
 * table series and view kernel_metric. What differs from the original, on purpose: sleep is pure
 * sleep (block is apart); receive, send, accept and connect are apart; calls that never
 * waited (EAGAIN, timeout 0) are `refused` and count in no wait, those that a timeout ended are
 * `timeouts` and waits (with the same EAGAIN where the timeout is the socket's); the clock of an
 * epoll instance and those of its waiters are apart; futexes with the same threads in the same
 * roles are one row.
 */
#include "analysis.h"

#include <stdio.h>
#include <string.h>

#define THREADS	  8
#define RESOURCES 10
#define INSTANCES 4

static const struct metric metrics[] = {
	{ "runtime", "%", NEITHER_IS_BETTER, "on a CPU" },
	{ "rq_time", "%", LOWER_IS_BETTER, "in the run queue" },
	{ "block_time", "%", LOWER_IS_BETTER, "uninterruptible" },
	{ "iowait_time", "%", LOWER_IS_BETTER, "of this, in I/O wait" },
	{ "sleep_time", "%", NEITHER_IS_BETTER, "asleep, not uninterruptible" },
	{ "pipe_wait_time", "%", NEITHER_IS_BETTER, "in calls on pipes and character devices" },
	{ "pipe_wait_count", "1/s", NEITHER_IS_BETTER, "such calls" },
	{ "recv_time", "%", NEITHER_IS_BETTER, "socket_wait_time: in receives" },
	{ "recv_count", "1/s", NEITHER_IS_BETTER, "socket_wait_count: receives" },
	{ "send_time", "%", NEITHER_IS_BETTER, "socket_wait_time: in sends" },
	{ "send_count", "1/s", NEITHER_IS_BETTER, "socket_wait_count: sends" },
	{ "accept_time", "%", NEITHER_IS_BETTER, "socket_wait_time: in accepts" },
	{ "accept_count", "1/s", NEITHER_IS_BETTER, "socket_wait_count: accepts" },
	{ "connect_time", "%", NEITHER_IS_BETTER, "socket_wait_time: in connects" },
	{ "connect_count", "1/s", NEITHER_IS_BETTER, "socket_wait_count: connects" },
	{ "futex_wait_time", "%", NEITHER_IS_BETTER, "in futex waits" },
	{ "futex_wait_count", "1/s", NEITHER_IS_BETTER, "futex waits" },
	{ "futex_wake_count", "1/s", NEITHER_IS_BETTER, "futex calls that woke somebody" },
	{ "epoll_wait_time", "%", NEITHER_IS_BETTER, "in waits for epoll instances" },
	{ "epoll_wait_count", "1/s", NEITHER_IS_BETTER, "such waits" },
	{ "epoll_file_wait", "%", NEITHER_IS_BETTER,
	  "clock of an epoll instance, charged to each of its files: somebody could have served "
	  "it; n: files" },
	{ "poll_wait_time", "%", NEITHER_IS_BETTER, "in poll and select" },
	{ "poll_wait_count", "1/s", NEITHER_IS_BETTER, "such waits" },
	{ "sector_count", "1/s", NEITHER_IS_BETTER, "sectors of 512 bytes, by submitter" },
	{ "refused", "1/s", NEITHER_IS_BETTER, "calls that could not wait: EAGAIN, timeout 0" },
	{ "timeouts", "1/s", NEITHER_IS_BETTER, "waits above that a timeout ended" },
	{ 0 },
};

/* The columns as sums over kinds of series.def, in the order of metrics[]. */
#define SHARE(kinds) "100.0 * total(iif(kind IN (" kinds "), s.time, 0)) / wall,"
#define RATE(kinds)  "1e9 * total(iif(kind IN (" kinds "), s.n, 0)) / wall,"
/* clang-format off */
#define COLUMNS                                                                                   \
	SHARE("1") SHARE("2") SHARE("3") SHARE("4") SHARE("5,6,7,8,9,22") SHARE("10,11") RATE("10,11") \
	SHARE("12") RATE("12") SHARE("13") RATE("13") SHARE("14") RATE("14") SHARE("15") RATE("15") \
	SHARE("16") RATE("16") RATE("17") SHARE("18") RATE("18") "NULL," SHARE("19") RATE("19")     \
	RATE("21") "1e9 * total(s.refused) / wall, 1e9 * total(s.timeouts) / wall, total(s.n)"
/* clang-format on */

/*
 * Numbers of threads are used again: the lives of all that had one add up, and the name is that of
 * the longest (bare columns beside max() are of its row).
 */
#define THREAD_OF                                                                                                                      \
	"l AS (SELECT tid, comm, max(coalesce(end, d) - start, 0) AS life FROM thread,"                                                \
	" (SELECT CAST(value AS INTEGER) AS d FROM recording WHERE key='duration_ns')),"                                               \
	" t AS MATERIALIZED (SELECT tid, coalesce(nullif(comm,''),'?') || iif(count(*) > 1, ' and ' || (count(*) - 1) || ' more', '')" \
	" AS comm, max(sum(life), 1) AS wall, max(life) FROM l GROUP BY tid)"

/* CROSS JOIN: threads are looked up by series. SQLite would else read series for each thread. */
static const char threads_sql[] =
	"WITH " THREAD_OF " SELECT coalesce(nullif(t.comm,''),'?') || '[' || t.tid || ']', " COLUMNS
	" FROM series s CROSS JOIN t USING(tid) WHERE s.kind<>20 GROUP BY s.tid"
	" ORDER BY total(iif(kind IN (1,2,3), s.time, 0)) DESC, total(s.n) DESC, s.tid LIMIT ?";

/* Futexes of one signature, and sockets accepted at or connected to one address, are one row. */
static const char resources_sql[] =
	"WITH " THREAD_OF ","
	" f AS (SELECT pid, address, class, signature FROM futex WHERE id > 0),"
	" r AS MATERIALIZED (SELECT resource.id, coalesce('futex ' || f.signature, resource.kind || resource.alike)"
	" AS one, resource.alike AS name, f.class FROM resource LEFT JOIN f"
	" ON resource.kind='futex' AND f.pid=resource.pid AND f.address=resource.number)"
	" SELECT coalesce(nullif(t.comm,''),'?') || '[' || t.tid || '] > ' || min(r.name) ||"
	" iif(count(DISTINCT r.id) > 1, ' (' || count(DISTINCT r.id) || ' alike)', '') ||"
	" coalesce(' (' || min(r.class) || ')', ''), " COLUMNS
	" FROM series s CROSS JOIN t USING(tid) CROSS JOIN r ON r.id=s.resource"
	" GROUP BY s.tid, r.one"
	" ORDER BY total(s.time) DESC, total(s.n) DESC, s.tid, min(r.id) LIMIT ?";

/* The clock of an instance over the recording; a file that came later was charged for less. */
static const char instances_sql[] =
	"WITH f AS MATERIALIZED (SELECT epoll, count(*) AS n FROM epoll_file GROUP BY epoll)"
	" SELECT r.name || ' of ' || coalesce((SELECT max(comm) FROM process p WHERE p.pid=r.pid),'?')"
	" || '[' || r.pid || ']', 100.0 * total(s.time) / (SELECT CAST(value AS INTEGER)"
	" FROM recording WHERE key='duration_ns'), coalesce(max(f.n), 0)"
	" FROM series s CROSS JOIN resource r ON r.id=s.resource LEFT JOIN f ON f.epoll=r.id"
	" WHERE s.kind=20"
	" GROUP BY r.id ORDER BY total(s.time) DESC, r.id LIMIT ?";

/* What a resource has none of is not put. */
static int put_rows(struct analysis_ctx *c, const char *sql, bool threads, int limit, struct err *e)
{
	sqlite3_stmt *q;
	double v;
	int i, n, ret = db_query(&q, c->db, e, sql, "i", (s64)limit);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		n = sqlite3_column_count(q) - 1; /* the last one is the sample size */
		for (i = 1; i < n && ret > 0; i++) {
			v = sqlite3_column_double(q, i);
			if (sqlite3_column_type(q, i) == SQLITE_NULL || (!threads && v == 0))
				continue;
			if (put_metric(c, e, db_text(q, 0), metrics[i - 1].name, v, NO_INTERVAL,
				       sqlite3_column_int64(q, n)) < 0)
				ret = ERR_FAIL;
		}
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int put_instances(struct analysis_ctx *c, struct err *e)
{
	sqlite3_stmt *q;
	int n = 0, ret = db_query(&q, c->db, e, instances_sql, "i", (s64)INSTANCES);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		n++;
		if (put_metric(c, e, db_text(q, 0), "epoll_file_wait", sqlite3_column_double(q, 1),
			       NO_INTERVAL, sqlite3_column_int64(q, 2)) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	sqlite3_finalize(q);
	if (ret == 0 && n)
		ret = put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"epoll_file_wait: how slow a file is (it is the time in which a thread was idle "
			"that could serve it), and files that were registered before the recording.");
	return ret < 0 ? ret : 0;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	int ret = put_rows(c, threads_sql, true, THREADS, e);

	if (ret == 0)
		ret = put_rows(c, resources_sql, false, RESOURCES, e);
	return ret < 0 ? ret : put_instances(c, e);
}

const struct analysis analysis_metrics = {
	.name = "metrics",
	.doc = "What do the kernel metrics say, by thread and resource",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = THREADS + RESOURCES + INSTANCES,
	.aside = true,
	.run = run,
};
