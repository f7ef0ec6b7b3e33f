// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections that are still in the accept queue when the recording ends, while the thread that
 * accepted those before is idle in epoll: it does not ask for new ones, as an event loop does at
 * its limit of connections. No request shows them. Between readings of the queue that all have
 * some, none was accepted, and the queue did not shrink: no other process accepts from it. Where
 * several sockets listen on the port (SO_REUSEPORT), each has a queue of its own, and a process
 * that is stopped leaves it to fill while others accept from theirs. Not so if accept failed
 * (verdict_unserved.c); one that was accepted in the end is in verdict_accepts.c. With too few
 * requests for a verdict, or no server at all, what did not accept need not be idle: it may be
 * starting, or have other work.
 */
#include "accept_calls.h"
#include "verdict_queues.h"

#include "analyze/store/db.h"

#include <stdio.h>

#define MOSTLY 0.5 /* of the time without accept */

/* ?1 a server, or -pid: its listening sockets, and connections on its port. */
#define OWN                                                                                                      \
	"own AS MATERIALIZED (SELECT pid FROM service WHERE server=?1 UNION SELECT -?1 WHERE ?1 < 0),"           \
	" p AS MATERIALIZED (SELECT port FROM server WHERE id=?1 UNION SELECT port FROM fd WHERE"                \
	" role='listening' AND pid=-?1), l AS MATERIALIZED (SELECT"                                              \
	" ino, pid, fd FROM fd WHERE role='listening' AND ino > 0 AND end IS NULL AND port IN (SELECT port FROM" \
	" p) AND pid IN (SELECT pid FROM own)), a AS MATERIALIZED (SELECT pid, fd, remote, ts, end"              \
	" FROM fd WHERE role='accepted' AND port IN (SELECT port FROM p))"

static int on_queue(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_unaccepted *u = arg;

	(void)e;
	*u = (struct verdict_unaccepted){
		.n = sqlite3_column_double(q, 0),
		.first = sqlite3_column_double(q, 1),
		.end = sqlite3_column_double(q, 2),
		.start = sqlite3_column_double(q, 3),
		.pid = sqlite3_column_int64(q, 4),
		.fd = sqlite3_column_int64(q, 5),
		.port = sqlite3_column_int64(q, 6),
		.own = sqlite3_column_int(q, 7),
	};
	return 0;
}

/* Readings without a gap until the end, after the last connection that was accepted: of several
 * sockets, from that one. */
static int read_queue(struct verdict_unaccepted *u, struct analysis_ctx *c, const struct judged *j,
		      struct err *e)
{
	static const char sql[] =
		"WITH " OWN
		", i AS MATERIALIZED (SELECT l.ino, max(s.ts + s.dur) AS ts, l.pid, s.ret AS fd FROM syscall s"
		" CROSS JOIN thread t ON t.tid=s.tid CROSS JOIN l ON l.pid=t.pid AND l.fd=s.fd WHERE s.ret >= 0 AND s.nr"
		" IN (SELECT nr FROM syscall_name WHERE name IN ('accept', 'accept4')) AND (SELECT min(ino)<>max(ino)"
		" FROM l) GROUP BY l.ino), last AS MATERIALIZED (SELECT ino, ts, ts AS any, pid, fd, 1 AS own FROM i UNION"
		" ALL SELECT NULL, max(ts), (SELECT max(ts) FROM a), pid, fd, 0 FROM a WHERE pid IN (SELECT pid FROM own)"
		" AND NOT EXISTS (SELECT 1 FROM i)), r AS (SELECT q.ts, q.dur, q.ino, q.queue, q.port, lag(q.queue, 1, 0) OVER w"
		" AS before, last.ts AS since, last.pid, last.fd, last.own FROM accept_queue q JOIN last ON coalesce(last.ino,"
		" q.ino)=q.ino WHERE q.ts + q.dur > coalesce(any, 0) AND q.ino IN (SELECT ino FROM l) WINDOW w AS"
		" (PARTITION BY q.ino ORDER BY q.ts)) SELECT max(queue), min(r.ts + dur), max(r.ts + dur), coalesce(since, 0),"
		" pid, fd, port, own FROM r GROUP BY ino HAVING min(queue) > 0 AND min(queue - before) >= 0 AND total(dur) >= max(r.ts + dur) - min(r.ts) AND max(r.ts + dur) >="
		" (SELECT max(ts + dur) FROM accept_queue WHERE ino IS NULL) ORDER BY 1 LIMIT 1";

	return db_each(c->db, e, on_queue, u, sql, "i",
		       j->about.kind == SUBJECT_server ? j->about.id : -j->about.id);
}

static int take_idle(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_unaccepted *u = arg;

	(void)e;
	u->idle = sqlite3_column_double(q, 0);
	u->stopped = sqlite3_column_double(q, 1);
	return 0;
}

/* Of the thread that accepted last: how long it was idle since, or stopped. */
static int read_idle(struct verdict_unaccepted *u, struct analysis_ctx *c, const struct judged *j,
		     struct err *e)
{
	static const char sql[] =
		"SELECT total(ns) FILTER (WHERE state=state_id('poll') AND nr IN (SELECT nr FROM syscall_name WHERE name"
		" IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2'))), total(ns) FILTER (WHERE state=state_id('stopped'))"
		" FROM (SELECT state, nr, min(ts + dur, ?3) - max(ts, ?2) AS ns FROM thread_state WHERE tid=?1 AND ts"
		" < ?3 AND ts + dur > ?2)";
	struct accept_calls calls = { 0 };
	int ret = accept_calls_read(&calls, c->db, j->about.id, e);

	if (ret == 0) {
		u->tid = accept_calls_thread(&calls, u->pid, u->fd, (s64)u->start);
		if (accept_calls_failed(&calls, u->pid, (s64)u->start, c->duration))
			u->tid = 0;
	}
	if (ret == 0 && u->tid)
		ret = db_each(c->db, e, take_idle, u, sql, "idd", u->tid, u->start, u->end);
	accept_calls_free(&calls);
	return ret;
}

static int on_clients(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_unaccepted *u = arg;

	u->clients = sqlite3_column_double(q, 0);
	u->quiet = sqlite3_column_double(q, 1);
	u->of_client = sqlite3_column_double(q, 3);
	if (u->of_client > 0)
		return buf_printf(&u->client, e, "%s", db_text(q, 2));
	return 0;
}

/* Its connections that are open at the end; of those that are idle, whose are most? */
static int read_clients(struct verdict_unaccepted *u, struct analysis_ctx *c,
			const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH " OWN
		", o AS MATERIALIZED (SELECT remote, (pid, fd) NOT IN (SELECT pid, fd FROM request"
		" WHERE ts > ?2 AND service IN (SELECT id FROM service WHERE server=?1)) AS quiet FROM a WHERE"
		" end IS NULL AND pid=?3), h AS (SELECT rtrim(rtrim(remote, '0123456789'), ':') AS host,"
		" count(*) AS n FROM o WHERE quiet AND remote<>'' GROUP BY 1) SELECT (SELECT count(*) FROM o),"
		" (SELECT total(quiet) FROM o), host, n FROM (SELECT 1) LEFT JOIN h ORDER BY n DESC, host"
		" LIMIT 1";

	return db_each(c->db, e, on_clients, u, sql, "idi", j->about.id, u->first, u->pid);
}

int verdict_unaccepted(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	struct verdict_unaccepted *u = &j->unaccepted;
	bool few = j->status == STATUS_UNKNOWN && j->kind == VERDICT_requests;
	double least;
	int ret;

	if (j->unserved.n > 0 ||
	    (!few && (j->about.kind != SUBJECT_server ||
		      (j->status != STATUS_NONE && j->status != STATUS_UNCHANGED))))
		return 0;
	ret = read_queue(u, c, j, e);
	if (ret == 0 && u->end - u->first < l->pause)
		u->n = 0;
	if (ret == 0 && u->n > 0 && !few)
		ret = read_idle(u, c, j, e);
	if (ret == 0 && u->idle > 0)
		ret = read_clients(u, c, j, e);
	least = MOSTLY * (u->end - u->start);
	u->halted = u->stopped >= least;
	if (ret < 0 || (!few && !u->halted && (u->idle < least || u->clients < 2)))
		u->n = 0;
	if (ret < 0 || !(u->n > 0))
		return ret;
	j->status = STATUS_PROBLEM;
	j->kind = VERDICT_connections;
	j->start = u->start;
	j->end = (double)c->duration;
	j->n = u->n;
	return 0;
}

static int put_clients(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_unaccepted *u = &j->unaccepted;
	bool all = u->of_client >= u->quiet;
	const struct value values[] = {
		VALUE_NUMBER("share", percent(u->idle, u->end - u->start), "%"),
		VALUE_SUBJECT("thread", thread, u->tid),
		VALUE_SUBJECT("process", process, u->pid),
		VALUE_NUMBER("clients", u->clients, ""),
		VALUE_NUMBER("quiet", u->quiet, ""),
		VALUE_NUMBER("since", u->first, "at"),
		VALUE_TEXT("client", u->of_client > 0 && all ? u->client.data : NULL),
		VALUE_NUMBER("of_client", u->of_client > 0 && !all ? u->of_client : NAN, ""),
		VALUE_TEXT("most", u->of_client > 0 && !all ? u->client.data : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_unaccepted_clients,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT pid, remote, ts, end FROM fd WHERE role='accepted'",
				   values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_unaccepted_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_unaccepted *u = &j->unaccepted;
	char port[16];
	const struct value values[] = {
		VALUE_NUMBER("start", u->start > 0 ? u->start : NAN, "at"),
		VALUE_MAYBE("thread", thread, u->own ? u->tid : 0),
		VALUE_NUMBER("duration", u->start > 0 ? NAN : (double)c->duration, "ns"),
		VALUE_TEXT("port", u->clients > 0 ? NULL : port),
		VALUE_NUMBER("first", u->first, "at"),
		VALUE_NUMBER("n", u->n, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_unaccepted,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM accept_queue WHERE queue > 0",
				   values,
				   0 };
	int ret;

	snprintf(port, sizeof(port), "%lld", (long long)u->port);
	ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	if (ret < 0)
		return ret;
	if (u->halted)
		return pause_stopped_then(c, j, u->tid, (s64)u->start, (s64)u->end, e);
	return u->clients > 0 ? put_clients(c, j, e) : verdict_hang_threads(c, j, e);
}
