// SPDX-License-Identifier: GPL-2.0-or-later
#include "pools.h"

#include <stdio.h>
#include <string.h>

/* ---- pools ---- */

static const char pool_sql[] =
	"DROP TABLE IF EXISTS temp.pool;"
	"CREATE TEMP TABLE pool AS SELECT tid, coalesce(leader, pid) AS pid, min(tid) OVER w AS pool, count(*) OVER w AS threads FROM"
	" (SELECT tid, max(pid) AS pid, max(comm) AS comm FROM thread GROUP BY tid) LEFT JOIN " LED_PROCESSES
	" USING(pid) WINDOW w AS (PARTITION BY coalesce(leader, pid), comm);"
	"CREATE INDEX temp.pool_of ON pool(tid);";

/* Threads that served requests, or that these threads or their process waited for. */
static const char relevant_sql[] =
	"INSERT INTO temp.relevant SELECT tid, sum(served), sum(waited) FROM"
	" (SELECT tid, n AS served, 0 AS waited FROM temp.served UNION ALL"
	" SELECT waker, 0, dur FROM thread_state WHERE waker > 0 AND tid IN (SELECT tid FROM temp.served) UNION ALL"
	" SELECT tid, 0, woken + preempted FROM cpu_contender WHERE tid > 0 AND pid IN (SELECT pid FROM service WHERE"
	" " SERVICE_GROUP "=?1 AND ?1<>0 UNION SELECT ?2) UNION ALL"
	" SELECT waker, 0, total FROM futex_release WHERE waiter IN (SELECT tid FROM temp.served) UNION ALL"
	" SELECT tid, 0, dur FROM request WHERE tid > 0 AND (pid, fd) IN (SELECT o.pid, o.fd FROM fd m JOIN fd o ON o.local=m.remote"
	" AND o.remote=m.local WHERE m.role='connected' AND o.role='accepted' AND m.remote<>'' AND m.pid IN (SELECT pid FROM service"
	" WHERE " SERVICE_GROUP "=?1 AND ?1<>0 UNION SELECT ?2)) UNION ALL"
	" SELECT holder, 0, 1 FROM futex_holder WHERE holder > 0 AND tid IN (SELECT tid FROM temp.served))"
	" GROUP BY tid";

static const char served_sql[] =
	"INSERT INTO temp.served SELECT tid, count(*) FROM request WHERE service IN (SELECT id FROM service WHERE"
	" " SERVICE_GROUP
	"=?1 AND ?1<>0) GROUP BY tid UNION ALL SELECT tid, run FROM thread WHERE pid=?2";

static const char kept_sql[] =
	"INSERT INTO temp.kept SELECT pool FROM temp.pool p LEFT JOIN temp.relevant r USING(tid)"
	" LEFT JOIN (SELECT tid, sum(run) AS run FROM thread GROUP BY tid) t USING(tid) GROUP BY pool"
	" ORDER BY total(served) DESC, total(waited) DESC, total(t.run) DESC, pool LIMIT ?1";

static const char rest_sql[] =
	"UPDATE temp.pool SET pool=-1 WHERE pool NOT IN (SELECT pool FROM temp.kept);"
	"INSERT INTO temp.pool SELECT -1, 0, -1, count(*) FROM temp.pool WHERE pool < 0 HAVING count(*) > 0;"
	"DROP TABLE temp.kept; DROP TABLE temp.relevant; DROP TABLE temp.served";

int pools_open(struct analysis_ctx *c, struct err *e)
{
	return db_exec(c->db, e, pool_sql);
}

void pools_keep(struct analysis_ctx *c, s64 group, s64 pid, s64 most)
{
	static const char open_sql[] =
		"CREATE TEMP TABLE served(tid, n); CREATE TEMP TABLE relevant(tid PRIMARY KEY, served, waited);"
		"CREATE TEMP TABLE kept(pool PRIMARY KEY)";

	if (c->err < 0)
		return;
	c->err = db_exec(c->db, c->e, open_sql);
	if (c->err == 0)
		c->err = db_run(c->db, c->e, served_sql, "ii", group, pid);
	if (c->err == 0)
		c->err = db_run(c->db, c->e, relevant_sql, "ii", group, pid);
	if (c->err == 0)
		c->err = db_run(c->db, c->e, kept_sql, "i", most);
	if (c->err == 0)
		c->err = db_exec(c->db, c->e, rest_sql);
}

/* ---- series ---- */

/*
 * Temporary tables: life of pools, and moves, their series by resources of one kind, without sleep
 * and waits for work.
 */
static const char moves_sql[] =
	"DROP TABLE IF EXISTS temp.related; DROP TABLE IF EXISTS temp.moves; DROP TABLE IF EXISTS temp.life;"
	"CREATE TEMP TABLE life AS SELECT pool, min(start) AS start, max(coalesce(end, 9e18)) AS end FROM thread"
	" JOIN temp.pool USING(tid) GROUP BY pool;"
	"CREATE INDEX temp.life_of ON life(pool);"
	/* upstream: a socket that a process connected; work: a queue of it, or a timer */
	"CREATE TEMP TABLE related AS SELECT r.id, dense_rank() OVER (ORDER BY r.pool) AS part, r.pool AS name,"
	" r.kind='socket' AND EXISTS(SELECT 1 FROM fd WHERE fd.ino=r.number AND fd.dev=r.dev AND fd.kind='socket'"
	" AND fd.role='connected') AS upstream, coalesce(f.class IN ('handoff', 'timeout'), 0) AS work FROM resource r"
	" LEFT JOIN futex f ON r.kind='futex' AND f.pid=r.pid AND f.address=r.number;"
	"CREATE INDEX temp.related_of ON related(id); CREATE INDEX temp.related_part ON related(part);"
	"CREATE TEMP TABLE moves AS SELECT s.kind, p.pool, iif(p.pool < 0, 0, coalesce(a.part, 0)) AS part, s.ts, sum(s.time) AS time,"
	" sum(s.n) AS n FROM series s JOIN temp.pool p USING(tid) LEFT JOIN temp.related a ON a.id=s.resource WHERE"
	" s.kind NOT IN (series_id('sleep_futex'), series_id('sleep_poll'), series_id('sleep_socket'), series_id('sleep_pipe'), series_id('sleep_other'), series_id('socket_accept'), series_id('epoll_wait'), series_id('epoll_clock'), series_id('sleep_client')) AND NOT (s.kind IN (series_id('socket_recv'), series_id('poll_wait')) AND NOT coalesce(a.upstream, 0))"
	" AND NOT (s.kind=series_id('futex_wait') AND coalesce(a.work, 0)) GROUP BY 1, 2, 3, 4;"
	"CREATE INDEX temp.moves_of ON moves(kind, pool, part, ts)";

/*
 * An event loop waits for upstream servers in epoll, where it waits for work as well. Of that time
 * the part in which a request was open and its upstream had not answered counts: it is that of the
 * requests, in windows of ?1 ns.
 */
static const char upstream_sql[] =
	"INSERT INTO temp.moves SELECT series_id('sleep_client'), p.pool, 0, (r.ts + r.dur) / ?1 * ?1 AS w,"
	" sum(q.dur), 0 FROM request_wait q JOIN request r ON r.rowid=q.request JOIN temp.pool p ON p.tid=r.tid"
	" WHERE q.state=state_id('client') AND p.pool IN (SELECT pool FROM series s JOIN temp.pool USING(tid)"
	" WHERE s.kind=series_id('epoll_wait')) GROUP BY p.pool, w";

int pools_read(struct analysis_ctx *c, s64 step, struct err *e)
{
	int ret = db_exec(c->db, e, moves_sql);

	return ret < 0 ? ret : db_run(c->db, e, upstream_sql, "i", step);
}

/* All resources of a pool together, and each kind of resource where there are several. */
static const char series_sql[] =
	"WITH own AS MATERIALIZED (SELECT leader FROM " LED_PROCESSES
	" WHERE pid IN (SELECT pid FROM service WHERE"
	" requests > 0 AND " SERVICE_GROUP "=?2)),"
	" s AS (SELECT kind, pool, part, total(time) AS time, total(n) AS n FROM temp.moves GROUP BY 1, 2, 3),"
	" o AS (SELECT kind, pool, count(*) AS several FROM s GROUP BY 1, 2),"
	" a AS (SELECT kind, pool, -1 AS part, total(time) AS time, total(n) AS n FROM s GROUP BY 1, 2 UNION ALL"
	" SELECT kind, pool, part, time, n FROM s JOIN o USING(kind, pool) WHERE part > 0 AND several > 1)"
	" SELECT a.kind, a.pool, a.part, m.count, iif(p.pool < 0, 'none', iif(p.threads > 1, 'process', 'thread')),"
	" iif(p.threads > 1, p.pid, p.tid), iif(p.pool < 0, p.threads || ' other threads', iif(p.threads > 1, ' (' || p.threads || ' threads)', '')) || ' ' ||"
	" k.name || iif(m.count AND a.kind NOT IN (series_id('futex_wake'), series_id('sectors')), ' count', '') || coalesce(' > ' || (SELECT name FROM"
	" temp.related l WHERE l.part=a.part LIMIT 1), '') || iif(m.count, ', 1/s', ', %'), p.pid IN own"
	" FROM a JOIN series_kind k ON k.id=a.kind JOIN temp.pool p ON p.tid=a.pool,"
	" (SELECT 0 AS count UNION ALL SELECT 1) m"
	" WHERE iif(m.count, a.kind > series_id('sleep_other') AND a.n > 0, a.time > 0)"
	" AND NOT (?1 AND m.count AND a.kind IN (series_id('socket_recv'), series_id('socket_send')) AND p.pid IN own)"
	" ORDER BY a.part >= 0, a.time DESC, a.n DESC, a.kind, a.pool, m.count LIMIT ?3";

struct reading {
	struct analysis_ctx *c;
	struct pool_series *all;
	size_t n;
};

static int read_series(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reading *r = arg;
	struct pool_series *x = &r->all[r->n];
	struct buf name = { 0 };
	int ret;

	x->kind = sqlite3_column_int64(q, 0);
	x->pool = sqlite3_column_int64(q, 1);
	x->part = sqlite3_column_int64(q, 2);
	x->count = sqlite3_column_int(q, 3);
	x->about.kind = subject_kind_of(db_text(q, 4));
	x->about.id = sqlite3_column_int64(q, 5);
	x->own = sqlite3_column_int(q, 7);
	ret = subject_text(&name, r->c->db, x->about, e);
	snprintf(x->name, sizeof(x->name), "%s%s", name.data ? name.data : "", db_text(q, 6));
	buf_free(&name);
	r->n++;
	return ret;
}

size_t pools_series(struct analysis_ctx *c, struct pool_series *ret, s64 group, bool rate)
{
	struct reading r = { .c = c, .all = ret };

	each_row(c, read_series, &r, series_sql, "iii", (s64)rate, group, (s64)POOL_SERIES_MAX);
	return r.n;
}

/* ---- values ---- */

/* The windows in which the pool lived. */
static void life_of(struct analysis_ctx *c, const struct grid *grid, const struct pool_series *x,
		    size_t *from, size_t *to)
{
	double start = query_number(c, "SELECT start FROM temp.life WHERE pool=?", "i", x->pool);
	double end = query_number(c, "SELECT end FROM temp.life WHERE pool=?", "i", x->pool) /
		     (double)grid->step;

	*from = start > 0 ? (size_t)(start / (double)grid->step) + 1 : 0;
	*to = end < 0 ? 0 : end < (double)grid->n ? (size_t)end : grid->n;
}

struct values {
	const struct grid *grid;
	double *value;
};

static int add_value(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct values *v = arg;
	s64 ts = sqlite3_column_int64(q, 0);

	(void)e;
	if (ts >= 0 && (size_t)(ts / v->grid->step) < v->grid->n)
		v->value[ts / v->grid->step] += sqlite3_column_double(q, 1);
	return 0;
}

void pools_values(struct analysis_ctx *c, const struct grid *grid, const struct pool_series *x,
		  double *value, size_t *ret_from, size_t *ret_to)
{
	struct values v = { grid, value };

	life_of(c, grid, x, ret_from, ret_to);
	memset(value, 0, (grid->n + 1) * sizeof(*value));
	each_row(
		c, add_value, &v,
		"SELECT ts, iif(?5, n, time) FROM temp.moves WHERE kind=?1 AND pool=?2 AND part BETWEEN ?3"
		" AND ?4",
		"iiiii", x->kind, x->pool, x->part < 0 ? (s64)0 : x->part,
		x->part < 0 ? INT64_MAX : x->part, (s64)x->count);
}
