// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread in poll that no thread wakes: what it waits for is said only where the requests show it.
 * It waits to send, if the only request that it has read is half answered. It does not wait for
 * requests that it has read.
 */
#include "pause_root.h"

#include "analyze/analyses/waits/polls.h"
#include "format/buf.h"

/* The requests that last until the pause ends or longer. */
struct open_requests {
	s64 read;      /* by the thread, before the middle of the pause */
	s64 answering; /* of these, their answer began before it, too */
	s64 unread;    /* of its server, arrived before the middle and read after it */
	s64 pid, fd, ts;
};

static int read_open(struct open_requests *o, sqlite3 *db, const struct judged *j, s64 tid,
		     const struct judged_pause *p, struct err *e)
{
	static const char sql[] =
		"WITH r AS (SELECT ts, tid, pid, fd, first_send FROM request WHERE ts -"
		" queued < ?1 AND ts + dur >= ?2 AND service IN (SELECT id FROM service WHERE server=?3)"
		" UNION ALL SELECT coalesce(read, ?2), tid, pid, fd, NULL FROM unanswered WHERE ts < ?1 AND"
		" answered AND service IN (SELECT id FROM service WHERE server=?3)) SELECT count(*) FILTER"
		" (WHERE tid=?4 AND ts <= ?1), count(*) FILTER (WHERE tid=?4 AND ts <= ?1 AND first_send <= ?1),"
		" count(*) FILTER (WHERE ts > ?1), max(pid) FILTER (WHERE tid=?4 AND ts <= ?1), max(fd) FILTER"
		" (WHERE tid=?4 AND ts <= ?1), max(ts) FILTER (WHERE tid=?4 AND ts <= ?1) FROM r";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iiii", p->start + (p->end - p->start) / 2, p->end,
			   j->about.id, tid);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		o->read = sqlite3_column_int64(q, 0);
		o->answering = sqlite3_column_int64(q, 1);
		o->unread = sqlite3_column_int64(q, 2);
		o->pid = sqlite3_column_int64(q, 3);
		o->fd = sqlite3_column_int64(q, 4);
		o->ts = sqlite3_column_int64(q, 5);
	}
	return db_end(q, ret);
}

/* The request that was answered last before it, if each one of its name came before such a pause.
 */
static int read_before(struct buf *out, sqlite3 *db, const struct judged *j, s64 start,
		       struct err *e)
{
	static const char sql[] =
		"WITH last AS (SELECT name, pid, fd, ts FROM request WHERE ts + dur <= ?1 AND service IN (SELECT"
		" id FROM service WHERE server=?2) ORDER BY ts + dur DESC LIMIT 1) SELECT n.name || coalesce("
		"' from ' || (SELECT nullif(remote, '') FROM fd WHERE fd.pid=last.pid AND fd.fd=last.fd AND fd.ts"
		" <= last.ts ORDER BY fd.ts DESC LIMIT 1), '') FROM last JOIN request_name n ON n.id=last.name"
		" WHERE (SELECT total(exchanges) FROM request_stat WHERE name=last.name AND service IN (SELECT id"
		" FROM service WHERE server=?2)) <= ?3";

	return db_add_text(out, db, e, sql, "iii", start, j->about.id, (s64)j->counted);
}

int pause_poll(struct pause_root *r, sqlite3 *db, s64 tid, struct err *e)
{
	static const char client[] = "SELECT remote FROM fd WHERE pid=?1 AND fd=?2 AND"
				     " role='accepted' AND ts <= ?3 ORDER BY ts DESC LIMIT 1";
	const struct judged_pause *p = judged_longest(r->judged);
	struct open_requests o = { 0 };
	int ret = read_open(&o, db, r->judged, tid, p, e);

	if (ret < 0)
		return ret;
	if (o.read == 1 && o.answering == 1) {
		r->sends = true;
		r->wait = "waiting to send";
		return db_add_text(&r->of, db, e, client, "iii", o.pid, o.fd, o.ts);
	}
	if (!o.read || o.unread || o.answering)
		return 0;
	r->wait = "waiting in poll with all requests already read";
	r->all_read = true;
	return read_before(&r->before, db, r->judged, p->start, e);
}

int pause_timer(bool *ret, sqlite3 *db, s64 tid, s64 end, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT s.ts, s.ts + s.dur AS till, s.ret=0 AS timer, min(s.ts + s.dur, ?4) -"
		" max(s.ts, ?3) AS ns FROM syscall s WHERE s.tid=?1 AND s.ts < ?4 AND s.ts + s.dur > ?3 AND s.nr IN " POLLS
		") SELECT coalesce((SELECT total(ns) FILTER (WHERE timer) * 2 > total(ns) FROM p) AND EXISTS (SELECT 1 FROM p"
		" WHERE timer AND ?2 BETWEEN ts AND till), 0)";
	s64 is = 0;
	int err = db_int(db, &is, e, sql, "iiii", tid, end, from, to);

	*ret = is;
	return err;
}
