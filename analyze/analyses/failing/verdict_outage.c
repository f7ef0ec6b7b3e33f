// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Was there a time in which no process listened on the port of the server? One that listened has
 * ended; another made a socket of its own later, and clients were there right before and after.
 * Where a worker of several ends, or old and new overlap, another one listens all the time; a
 * process that is given the socket of the one before keeps the connections that wait. It lasts
 * until the recording ends if none is accepted any more: connections wait in the queue of the later
 * socket; or there is none, and clients were connected or are refused.
 */
#include "verdict_failing.h"

#include "analyze/store/signal_names.h"

#include <stdio.h>

#define NEAR	  1000000000 /* ns: an answer before, a request after */
#define EXIT_LONG 1e9	     /* ns: a shorter time is usual where the process was not killed */

static int take_outage(void *arg, sqlite3_stmt *q, struct err *e)
{
	double start = sqlite3_column_double(q, 0), end = sqlite3_column_double(q, 1);
	struct verdict_outage *x = arg;
	double n = x->n + 1, total = x->total + end - start;
	s64 last = sqlite3_column_int64(q, 7), name = !x->n || x->name == last ? last : 0;

	(void)e;
	if (!x->n || end - start > x->end - x->start)
		*x = (struct verdict_outage){ .start = start,
					      .end = end,
					      .pid = sqlite3_column_int64(q, 2),
					      .next = sqlite3_column_int64(q, 3),
					      .port = sqlite3_column_int64(q, 4),
					      .code = sqlite3_column_int(q, 5),
					      .lost = sqlite3_column_double(q, 6),
					      .waiting = sqlite3_column_double(q, 8),
					      .open = sqlite3_column_int(q, 9) };
	x->n = n;
	x->total = total;
	x->name = name;
	return 0;
}

int verdict_outage_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	static const char any[] =
		"SELECT count(*) FROM process_exit WHERE pid IN (SELECT pid FROM fd WHERE role='listening' AND"
		" port IN (SELECT port FROM service WHERE server=?1))";
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT pid, port, first_recv, last_send FROM service WHERE kind='tcp' AND"
		" port IN (SELECT port FROM service WHERE server=?1)), ears AS MATERIALIZED (SELECT f.pid, ino, port,"
		" f.ts, min(coalesce(f.end, ?5), coalesce(x.ts, ?5)) AS end, x.code, x.signal FROM fd f LEFT JOIN"
		" process_exit x ON x.pid=f.pid AND x.ts > f.ts WHERE role='listening' AND port IN (SELECT port FROM"
		" s)), g AS MATERIALIZED (SELECT x.pid, x.port, x.end AS start, code, signal, y.pid AS next, min(y.ts)"
		" AS end FROM ears x LEFT JOIN (SELECT pid, port, ino, min(ts) AS ts FROM ears GROUP BY port, ino) y ON"
		" y.port=x.port AND y.ts > x.end AND y.ino<>x.ino AND y.pid<>x.pid WHERE x.signal NOT NULL GROUP BY"
		" x.pid, x.port, x.ino), h AS MATERIALIZED (SELECT *, EXISTS (SELECT 1 FROM s WHERE s.port=g.port AND"
		" first_recv BETWEEN g.end AND g.end + ?3) AS back FROM g), k AS MATERIALIZED (SELECT *, (SELECT"
		" count(*) FROM connection c WHERE c.failed AND c.error=111 AND c.ts BETWEEN h.start AND"
		" coalesce(h.end, ?5) AND c.remote LIKE '%:' || h.port) AS lost, (SELECT max(queue) FROM accept_queue a"
		" WHERE a.port=h.port AND a.ts + a.dur > h.start) AS waiting FROM h WHERE iif(back, end, ?5) - start >="
		" iif(back AND signal NOT IN (0, 1, 2, 3, 15), ?2, ?4) AND NOT EXISTS (SELECT 1 FROM ears y WHERE"
		" y.port=h.port AND y.ts < coalesce(h.end, ?5) AND y.end > h.start AND y.pid<>h.pid) AND EXISTS"
		" (SELECT 1 FROM s WHERE s.port=h.port AND last_send BETWEEN start - ?3 AND start + ?3) AND NOT EXISTS"
		" (SELECT 1 FROM fd WHERE role='accepted' AND port=h.port AND ts > h.start AND ts < iif(back, h.end, ?5))"
		" AND (back OR NOT EXISTS (SELECT 1 FROM s WHERE s.port=h.port AND last_send > start + ?3))) SELECT"
		" start, iif(back, end, ?5), pid, next, min(port) AS port, CASE WHEN signal=0 THEN code ELSE 0 END,"
		" lost, iif(signal=0 AND code, (SELECT r.name FROM request_closed r WHERE r.pid=k.pid AND NOT r.peer AND"
		" r.read <= k.start AND r.end >= k.start ORDER BY r.read DESC LIMIT 1), 0), iif(back, 0, waiting), NOT"
		" back FROM k WHERE back OR waiting > 0 OR (NOT EXISTS (SELECT 1 FROM ears y WHERE y.port=k.port AND"
		" y.end >= ?5) AND (lost > 0 OR EXISTS (SELECT 1 FROM fd WHERE role='accepted' AND port=k.port AND"
		" fd.end >= k.start - 1000000))) GROUP BY pid, start ORDER BY start";
	s64 n = 0;
	int ret = db_int(c->db, &n, e, any, "i", j->about.id);

	if (ret < 0 || !n)
		return ret;
	return db_each(c->db, e, take_outage, &j->outage, sql, "ididi", j->about.id, l->pause,
		       (s64)NEAR, EXIT_LONG, c->duration);
}

/* The request before an exit, if no other of its name was answered: else it is one of many. */
static int put_last(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_outage *x = &j->outage;
	s64 n = 0;
	int ret =
		db_int(c->db, &n, e,
		       "SELECT iif(EXISTS (SELECT 1 FROM request WHERE name=?1), 0, count(*)) FROM"
		       " request_closed WHERE name=?1",
		       "i", x->name);
	const struct value values[] = {
		VALUE_SUBJECT("name", request_name, x->name),
		VALUE_NUMBER("times", x->n > 1 ? x->n : NAN, ""),
		VALUE_NUMBER("name_n", (double)n, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_outage_last,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM request_closed",
				   values,
				   j->finding };

	return ret < 0 || !n ? ret : finding_put(c->db, c->analysis->name, &f, NULL, e);
}

struct outage_say {
	struct analysis_ctx *c;
	const struct judged *j;
};

static int put_signal(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct outage_say *s = arg;
	const struct value values[] = {
		VALUE_SUBJECT("process", process, sqlite3_column_int64(q, 0)),
		VALUE_TEXT("signal", signal_name(sqlite3_column_int(q, 1))),
		VALUE_TEXT("sender", *db_text(q, 2) ? db_text(q, 2) : NULL),
		VALUE_NUMBER("at", sqlite3_column_double(q, 3), "at"),
		{ 0 },
	};
	const struct finding f = { FINDING_outage_signal,	PROBLEM, OBSERVED,     s->j->about,
				   "SELECT * FROM signal_sent", values,	 s->j->finding };

	return finding_put(s->c->db, s->c->analysis->name, &f, NULL, e);
}

/* What asked it, or its parent, to end: a signal from no process that listened there. */
static int say_signal(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH ears AS MATERIALIZED (SELECT pid FROM fd WHERE role='listening' AND port=?1 AND ts < ?2)"
		" SELECT pid, signal, coalesce(sender, '') || iif(sender_pid, '[' || sender_pid || ']', ''), ts"
		" FROM signal_sent WHERE code <= 0 AND signal IN (2, 3, 15) AND ts <= ?2 AND pid IN (?3, (SELECT parent"
		" FROM process WHERE pid=?3 ORDER BY start DESC LIMIT 1)) AND pid IN (SELECT pid FROM ears) AND sender_pid NOT IN (SELECT pid FROM ears) ORDER BY ts DESC LIMIT 1";
	struct outage_say s = { c, j };

	return db_each(c->db, e, put_signal, &s, sql, "idi", j->outage.port, j->outage.start,
		       j->outage.pid);
}

int verdict_outage_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_outage *x = &j->outage;
	char port[16];
	const struct value values[] = {
		VALUE_TEXT("port", port),
		VALUE_NUMBER("start", x->start, "at"),
		VALUE_NUMBER("end", x->open ? NAN : x->end, "at"),
		VALUE_TEXT("open", x->open ? "until the recording ends" : NULL),
		VALUE_NUMBER("length", x->end - x->start, "ns"),
		VALUE_SUBJECT("process", process, x->pid),
		VALUE_MAYBE("next", process, x->next),
		VALUE_NUMBER("waiting", x->waiting > 0 ? x->waiting : NAN, ""),
		VALUE_NUMBER("code", x->code ? x->code : NAN, ""),
		VALUE_NUMBER("more", x->n > 1 ? x->n - 1 : NAN, ""),
		VALUE_NUMBER("total", x->n > 1 ? x->total : NAN, "ns"),
		VALUE_NUMBER("unanswered", j->closed.n > 0 ? j->closed.n : NAN, ""),
		VALUE_NUMBER("lost", x->lost > 0 ? x->lost : NAN, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_outage,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM fd WHERE role='listening'",
				   values,
				   0 };

	int ret;

	snprintf(port, sizeof(port), "%lld", (long long)x->port);
	ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	if (ret == 0 && !j->crash.pid)
		ret = say_signal(c, j, e);
	return ret < 0 || !x->name ? ret : put_last(c, j, e);
}
