// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The 16 kernel metrics of Prism (Landau et al., arXiv 2505.13160), by thread and by thread
 * and resource, as shares of the thread's life and counts per second; their series in steps are in
 * table series and view kernel_metric. What differs from the original, on purpose: sleep excludes
 * block; receive, send, accept and connect have series of their own; calls that never
 * waited (EAGAIN, timeout 0) are `refused` and count in no wait, those that a timeout ended are
 * `timeouts` and waits (with the same EAGAIN where the timeout is the socket's); an epoll instance
 * and its waiters have clocks of their own; futexes with the same threads in the same
 * roles are one row.
 */
#include "analyze/analyses/analysis.h"

#define THREADS	  8
#define RESOURCES 10
#define INSTANCES 4

static const struct metric metrics[] = {
	{ "runtime", "%", NEITHER_IS_BETTER, "on a CPU" },
	{ "rq_time", "%", LOWER_IS_BETTER, "in the run queue" },
	{ "block_time", "%", LOWER_IS_BETTER, "uninterruptible" },
	{ "softirq_time", "%", NEITHER_IS_BETTER, "of runtime, in softirqs" },
	{ "irq_time", "%", NEITHER_IS_BETTER, "of runtime, in interrupts" },
	{ "stolen_time", "%", LOWER_IS_BETTER, "of runtime, taken by the hypervisor" },
	{ "iowait_time", "%", LOWER_IS_BETTER, "of block_time, in I/O wait" },
	{ "sleep_time", "%", NEITHER_IS_BETTER, "sleeping (S)" },
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
	{ "futex_wake_count", "1/s", NEITHER_IS_BETTER, "futex calls that woke a thread" },
	{ "epoll_wait_time", "%", NEITHER_IS_BETTER, "in waits for epoll instances" },
	{ "epoll_wait_count", "1/s", NEITHER_IS_BETTER, "such waits" },
	{ "epoll_file_wait", "%", NEITHER_IS_BETTER,
	  "clock of an epoll instance, charged to each of its files: a thread was ready to serve "
	  "it; n: files" },
	{ "poll_wait_time", "%", NEITHER_IS_BETTER, "in poll and select" },
	{ "poll_wait_count", "1/s", NEITHER_IS_BETTER, "such waits" },
	{ "sector_count", "1/s", NEITHER_IS_BETTER, "sectors of 512 bytes, by submitter" },
	{ "refused", "1/s", NEITHER_IS_BETTER, "calls that could not wait: EAGAIN, timeout 0" },
	{ "timeouts", "1/s", NEITHER_IS_BETTER, "waits above that a timeout ended" },
	{ 0 },
};

/* The columns as sums over kinds of series.def, in the order of metrics[]. */
#define OF(sum, times, name) ", nullif(" times " * total(" sum ") / wall, " UNSAID ") AS " name
#define SHARE(name, kinds)   OF("iif(s.kind IN (" kinds "), s.time, 0)", "100.0", name)
#define RATE(name, kinds)    OF("iif(s.kind IN (" kinds "), s.n, 0)", "1e9", name)
#define BOTH(name, kinds)    SHARE(name "_time", kinds) RATE(name "_count", kinds)
#define COLUMNS                                                                                    \
	"total(s.n) AS n" SHARE("runtime", "1") SHARE("rq_time", "2") SHARE("block_time", "3")     \
		SHARE("softirq_time", "23") SHARE("irq_time", "24") SHARE("stolen_time", "25")     \
			SHARE("iowait_time", "4") SHARE("sleep_time", "5,6,7,8,9,22")              \
				BOTH("pipe_wait", "10,11") BOTH("recv", "12") BOTH("send", "13")   \
					BOTH("accept", "14") BOTH("connect", "15") BOTH(           \
						"futex_wait", "16") RATE("futex_wake_count", "17") \
						BOTH("epoll_wait", "18") BOTH("poll_wait", "19")   \
							RATE("sector_count", "21")                 \
								OF("s.refused", "1e9", "refused")  \
									OF("s.timeouts", "1e9",    \
									   "timeouts")

/* Thread ids are used again: the lives of all that had one add up. */
#define THREAD_OF                                                                                           \
	"t AS MATERIALIZED (SELECT tid, max(sum(max(coalesce(end, d) - start, 0)), 1) AS wall FROM thread," \
	" (SELECT CAST(value AS INTEGER) AS d FROM recording WHERE key='duration_ns') GROUP BY tid)"

/* A value that is not put: none of threads, 0 of resources. */
#define UNSAID "NULL"

/* CROSS JOIN: threads are looked up by series. SQLite would else read series for each thread. */
static const char threads_sql[] =
	"WITH " THREAD_OF " SELECT s.tid AS id, " COLUMNS
	" FROM series s CROSS JOIN t USING(tid) WHERE s.kind<>series_id('epoll_clock') GROUP BY s.tid"
	" ORDER BY total(iif(s.kind IN (series_id('runtime'), series_id('rq_time'), series_id('block_time')), s.time, 0)) DESC, total(s.n) DESC, s.tid LIMIT ?";

#undef UNSAID
#define UNSAID "0"

/*
 * Futexes of one signature, and sockets accepted at or connected to one address, are one row.
 */
static const char resources_sql[] =
	"WITH " THREAD_OF ","
	" f AS (SELECT pid, address, class, signature FROM futex WHERE id > 0),"
	" r AS MATERIALIZED (SELECT resource.id, coalesce('futex ' || f.signature, resource.kind || resource.pool)"
	" AS one, resource.pool AS name, f.class FROM resource LEFT JOIN f"
	" ON resource.kind='futex' AND f.pid=resource.pid AND f.address=resource.number)"
	" SELECT s.tid AS id, ' > ' || min(r.name) || iif(count(DISTINCT r.id) > 1, ' (' || count(DISTINCT r.id)"
	" || ' of one kind)', '') || coalesce(' (' || min(r.class) || ')', '') AS part, " COLUMNS
	" FROM series s CROSS JOIN t USING(tid) CROSS JOIN r ON r.id=s.resource"
	" GROUP BY s.tid, r.one"
	" ORDER BY total(s.time) DESC, total(s.n) DESC, s.tid, min(r.id) LIMIT ?";

/* The clock of an instance over the recording; a file that came later was charged for less. */
static const char instances_sql[] =
	"WITH f AS MATERIALIZED (SELECT epoll, count(*) AS n FROM epoll_file GROUP BY epoll)"
	" SELECT r.pid AS id, ' ' || r.name AS part, coalesce(max(f.n), 0) AS n, 100.0 * total(s.time) /"
	" ?1 AS epoll_file_wait FROM series s CROSS JOIN resource r ON r.id=s.resource"
	" LEFT JOIN f ON f.epoll=r.id WHERE s.kind=series_id('epoll_clock')"
	" GROUP BY r.id ORDER BY total(s.time) DESC, r.id LIMIT ?2";

static int run(struct analysis_ctx *c, struct err *e)
{
	(void)e;
	put_table(c, SUBJECT_thread, threads_sql, "i", (s64)THREADS);
	put_table(c, SUBJECT_thread, resources_sql, "i", (s64)RESOURCES);
	put_table(c, SUBJECT_process, instances_sql, "ii", c->duration ? c->duration : (s64)1,
		  (s64)INSTANCES);
	if (query_number(c, "SELECT count(*) FROM series WHERE kind=series_id('epoll_clock')", "") >
	    0)
		add_limit(c, FINDING_epoll_file_wait_limits);
	return c->err;
}

const struct analysis analysis_metrics = {
	.name = "metrics",
	.doc = "What are the kernel metrics of each thread and resource",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = THREADS + RESOURCES + INSTANCES,
	.aside = true,
	.run = run,
};
