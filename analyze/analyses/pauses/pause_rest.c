// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A wakeup chain that ends at an idle poller: the server has read requests and answers none, and
 * none of its threads works or waits for anything that is recorded. It holds them back by a
 * decision of its own, as flow control does. Where a connection to another port of the process was
 * open when it read the first of them, and the next one there when it answered, these may be why.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "pause_root.h"

#include "format/buf.h"

/*
 * ?1 server, ?2 begin, ?3 end, ?4 middle of the pause. r: requests that last until its end, and are
 * not waited for by sends that block. w: what its threads did; a quarter of the pause is no rest.
 * Threads with a request sleep in poll, but for those of a runtime whose tasks are not threads: its
 * threads are idle in a futex.
 */
static const char rest_sql[] =
	"WITH s AS MATERIALIZED (SELECT id, pid FROM service WHERE server=?1), r AS MATERIALIZED (SELECT ts, tid, 2 *"
	" blocked > dur AS blocks FROM request WHERE service IN (SELECT id FROM s) AND ts - queued < ?4 AND ts + dur >= ?3"
	" UNION ALL SELECT coalesce(read, ?3), tid, 0 FROM unanswered WHERE service IN (SELECT id FROM s) AND ts"
	" < ?4 AND answered), t AS MATERIALIZED (SELECT t.tid, p.green IS NULL AND t.tid IN (SELECT tid FROM r) AS asked"
	" FROM thread t JOIN process p USING(pid) WHERE t.pid IN (SELECT pid FROM s)), w AS MATERIALIZED (SELECT s.tid,"
	" total(min(s.ts + s.dur, ?3) - max(s.ts, ?2)) AS ns FROM thread_state s JOIN t USING(tid) WHERE s.ts < ?3 AND s.ts"
	" + s.dur > ?2 AND (s.state IN (state_id('run'), state_id('woken'), state_id('preempted'), state_id('disk'),"
	" state_id('blocked'), state_id('client'), state_id('lock'), state_id('child'), state_id('stopped'),"
	" state_id('unknown')) OR (t.asked AND s.state<>state_id('poll'))) GROUP BY 1) SELECT count(*), min(ts) FROM r"
	" HAVING count(*) > 0 AND max(ts) <= ?4 AND NOT total(blocks) AND NOT EXISTS (SELECT 1 FROM w WHERE 4 * ns >"
	" ?3 - ?2) AND NOT EXISTS (SELECT 1 FROM upstream u WHERE u.pid IN (SELECT pid FROM s) AND 2 * (min(u.ts + u.dur,"
	" ?3) - max(u.ts, ?2)) > ?3 - ?2) AND NOT EXISTS (SELECT 1 FROM upstream_unanswered u WHERE u.pid IN (SELECT pid"
	" FROM s) AND u.ts < ?4)";

/* ?1 server, ?2 the first was read, ?3 end of the pause: the next is the only one after ?2. */
static const char other_sql[] =
	"WITH k AS MATERIALIZED (SELECT ts, coalesce(end, ?3) AS end, local, remote FROM connection WHERE role='accepted' AND"
	" pid IN (SELECT pid FROM service WHERE server=?1) AND local NOT LIKE '%:' || (SELECT port FROM server WHERE"
	" id=?1)), a AS MATERIALIZED (SELECT * FROM k WHERE ts <= ?2 ORDER BY ts DESC LIMIT 1), b AS MATERIALIZED (SELECT"
	" *, count(*) OVER () AS n FROM k WHERE ts > ?2 AND ts <= ?3) SELECT a.remote, replace(a.local, rtrim(a.local,"
	" '0123456789'), ''), a.ts, b.ts FROM a JOIN b WHERE b.n=1 AND a.end >= ?2 AND b.end >= ?3 AND a.local=b.local";

static const char longest_sql[] =
	"SELECT coalesce(n.name, 'request'), coalesce(nullif((SELECT remote FROM fd WHERE fd.pid=p.pid AND fd.fd=p.fd AND"
	" fd.ts <= p.request_ts ORDER BY fd.ts DESC LIMIT 1), ''), k.address) FROM pause p JOIN request r ON"
	" r.rowid=p.request LEFT JOIN request_name n ON n.id=r.name LEFT JOIN client k ON k.id=p.peer WHERE p.id=?1";

/* Of a row of texts and times; all are missing without a row. */
struct other {
	struct buf opened, port;
	double since, until;
};

static int read_other(struct other *o, sqlite3 *db, s64 server, s64 first, s64 end, struct err *e)
{
	sqlite3_stmt *q;
	int got, ret = db_query(&q, db, e, other_sql, "iii", server, first, end);

	if (ret < 0)
		return ret;
	got = db_step(q, e);
	if (got > 0) {
		ret = buf_printf(&o->opened, e, "%s", db_text(q, 0));
		if (ret == 0)
			ret = buf_printf(&o->port, e, "%s", db_text(q, 1));
		o->since = sqlite3_column_double(q, 2);
		o->until = sqlite3_column_double(q, 3);
	}
	got = db_end(q, got);
	return ret < 0 ? ret : got;
}

static int put(struct analysis_ctx *c, const struct judged *j, double n, const struct other *o,
	       struct err *e)
{
	sqlite3_stmt *q;
	int got, ret = db_query(&q, c->db, e, longest_sql, "i", judged_longest(j)->id);

	if (ret < 0)
		return ret;
	got = db_step(q, e);
	if (got >= 0) {
		bool other = o->opened.len > 0;
		const struct value values[] = {
			VALUE_NUMBER("n", n, ""),
			VALUE_TEXT("opened", other ? o->opened.data : NULL),
			VALUE_TEXT("port", other ? o->port.data : NULL),
			VALUE_NUMBER("since", other ? o->since : NAN, "at"),
			VALUE_NUMBER("until", other ? o->until : NAN, "at"),
			VALUE_TEXT("request", got > 0 ? db_text(q, 0) : NULL),
			VALUE_TEXT("client", got > 0 ? db_text(q, 1) : NULL),
			{ 0 },
		};
		const struct finding f = { FINDING_pause_rest, PROBLEM, OBSERVED,
					   j->about,	       NULL,	values,
					   j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	got = db_end(q, got);
	return ret < 0 ? ret : got;
}

int pause_rest_put(struct analysis_ctx *c, const struct judged *j, const struct pause_root *r,
		   bool green, bool *ret_said, struct err *e)
{
	bool polls = r->tid > 0 && r->state == STATE_poll && !r->timer && !r->end_sends && !r->by;
	const struct judged_pause *p = judged_longest(j);
	struct other o = { .since = NAN };
	s64 n = 0, first = 0;
	sqlite3_stmt *q;
	int ret;

	if (!(polls || (r->tid <= 0 && green)) || r->client.len || r->upstream.address.len ||
	    r->serving.len)
		return 0;
	ret = db_query(&q, c->db, e, rest_sql, "iiii", j->about.id, p->start, p->end,
		       p->start + (p->end - p->start) / 2);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		n = sqlite3_column_int64(q, 0);
		first = sqlite3_column_int64(q, 1);
	}
	ret = db_end(q, ret);
	*ret_said = n > 0;
	if (ret == 0 && n)
		ret = read_other(&o, c->db, j->about.id, first, p->end, e);
	if (ret == 0 && n)
		ret = put(c, j, (double)n, &o, e);
	buf_free(&o.opened);
	buf_free(&o.port);
	return ret;
}
