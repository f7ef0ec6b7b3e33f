// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that TCP still sends again when the recording ends, on open connections. The time between
 * two of them doubles, which only happens while nothing is acknowledged: not of a client that reads
 * slowly, nor where ACKs are not recorded. A client that is gone looks the same: one counts if its
 * address acknowledges later answers, or if several addresses are gone.
 *
 * The kernel reports no retransmission that its host drops. Without one, they are answers that fit
 * in any client's first window: all as large were acknowledged before, none since, and smaller ones
 * to the same addresses are.
 */
#include "analyze/stats/stats.h"
#include "analyze/store/db.h"
#include "verdict_queues.h"

#define LEAST	    2 /* connections */
#define GONE	    3 /* addresses that acknowledge nothing any more: fewer are clients that end */
#define LASTS	    1e9	  /* ns until the end */
#define PASSED	    10	  /* answers: fewer say nothing about sizes */
#define ESTABLISHED 1	  /* state of table retransmit */
#define MSS	    1000  /* bytes: a segment of full size has more */
#define WINDOW	    65536 /* bytes: the kernel of a client takes as many, unread */

/*
 * q: answers; u: the connections whose last ones are not acknowledged; k: of these, with three or
 * more segments that were sent again since, the last after 1.5 times the time of the one before
 * or more (the kernel stops at 2 min), and the next due after the end; s: without addresses that
 * are gone, if they are few.
 */
#define LAST_ANSWERS(f)                                                                         \
	"WITH f AS MATERIALIZED (SELECT pid, fd, ts, local, remote FROM fd WHERE"               \
	" role='accepted' AND end IS NULL AND " f " AND pid IN (SELECT pid FROM service WHERE"  \
	" server=?1)), q AS MATERIALIZED (SELECT pid, fd,"                                      \
	" r.ts + dur AS at, name, r.send_bytes AS bytes, acked NOT NULL AS known, address FROM" \
	" request r JOIN client c ON c.id=r.client WHERE r.service IN (SELECT id FROM service"  \
	" WHERE server=?1)), o AS (SELECT q.*, f.local, f.remote, coalesce(max(iif(known, at,"  \
	" -1)) OVER (PARTITION BY q.pid, q.fd), -1) AS last FROM f JOIN q ON q.pid=f.pid AND"   \
	" q.fd=f.fd AND q.at >= f.ts), u AS MATERIALIZED (SELECT pid, fd, local, remote,"       \
	" address, min(at) AS first, last FROM o WHERE at > last GROUP BY pid, fd), m AS"       \
	" (SELECT address, max(at) AS heard FROM q WHERE known GROUP BY address)"

#define RESENT                                                                                   \
	LAST_ANSWERS("local IN (SELECT local FROM retransmit)")                                  \
	", t AS (SELECT u.*, r.ts, lag(r.ts, 1) OVER w AS b, lag(r.ts, 2) OVER w AS a, count(*)" \
	" OVER (PARTITION BY pid, fd) AS n, row_number() OVER (PARTITION BY pid, fd ORDER BY"    \
	" r.ts DESC) AS nth FROM u JOIN retransmit r ON r.local=u.local AND r.remote=u.remote"   \
	" AND r.ts > u.first AND r.state=?4 WINDOW w AS (PARTITION BY pid, fd ORDER BY r.ts)),"  \
	" k AS MATERIALIZED (SELECT t.*, coalesce(heard > first, 0) AS alive FROM t LEFT JOIN m" \
	" USING (address) WHERE nth=1 AND (ts - b >= 1.5 * (b - a) OR ts - b >= 6e10) AND ?2 -"  \
	" ts <= 2.5 * (ts - b) AND ?2 - first >= ?3), s AS MATERIALIZED (SELECT * FROM k WHERE"  \
	" alive OR (SELECT count(DISTINCT address) FROM k WHERE NOT alive) >= ?5)"
#define DROPPED                                                                          \
	LAST_ANSWERS("local<>''")                                                        \
	", s AS MATERIALIZED (SELECT u.*, 0 AS n FROM u JOIN m USING (address) WHERE ?2" \
	" - first >= ?3 AND heard > first)"
#define BOUNDS "iidiii"

static int on_answers(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_unacked *u = arg;

	(void)e;
	*u = (struct verdict_unacked){
		.n = sqlite3_column_double(q, 0),
		.start = sqlite3_column_double(q, 1),
		.max = sqlite3_column_double(q, 2),
		.waited = sqlite3_column_double(q, 3),
		.name = sqlite3_column_int64(q, 4),
		.least = sqlite3_column_double(q, 5),
		.connections = sqlite3_column_double(q, 6),
		.segments = sqlite3_column_double(q, 7),
		.clients = sqlite3_column_double(q, 8),
		.client = sqlite3_column_int64(q, 9),
		.passed = sqlite3_column_double(q, 10),
		.largest = sqlite3_column_double(q, 11),
		.fit = sqlite3_column_double(q, 12),
		.arrived = sqlite3_column_double(q, 13),
		.since = sqlite3_column_double(q, 14),
	};
	return 0;
}

/* Connections open since then, and whether ACKs of half of the answers or more are recorded. */
static int on_recorded(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_unacked *u = arg;

	(void)e;
	u->of = sqlite3_column_int(q, 1) ? sqlite3_column_double(q, 0) : INFINITY;
	u->net = sqlite3_column_int(q, 2);
	return 0;
}

#define ANSWERS                                                                                    \
	", x AS MATERIALIZED (SELECT q.* FROM s JOIN q ON q.pid=s.pid AND q.fd=s.fd AND at >="     \
	" s.first), p AS (SELECT count(*) AS n, max(bytes) AS most FROM q WHERE known AND at >"    \
	" (SELECT min(first) FROM s) AND address IN (SELECT address FROM s)), l AS (SELECT"        \
	" count(*) FILTER (WHERE at < (SELECT min(at) FROM x)) AS before, count(*) AS n FROM q"    \
	" WHERE known AND bytes >= (SELECT min(bytes) FROM x)) SELECT count(*), min(at), max(?2 -" \
	" at), total(?2 - at), CASE WHEN min(name)=max(name) AND count(name)=count(*) THEN"        \
	" min(name) END, min(bytes), (SELECT count(*) FROM s), (SELECT sum(n) FROM s), (SELECT"    \
	" count(DISTINCT address) FROM s), (SELECT min(id) FROM client WHERE address=(SELECT"      \
	" address FROM s GROUP BY address ORDER BY count(*) DESC, address LIMIT 1) AND service IN" \
	" (SELECT id FROM service WHERE server=?1)), (SELECT n FROM p), (SELECT most FROM p),"     \
	" total(bytes <= ?6), (SELECT before FROM l), (SELECT n - before FROM l) FROM x"

static int read_unacked(struct analysis_ctx *c, const struct judged *j, struct verdict_unacked *u,
			struct err *e)
{
	static const char recorded[] =
		"SELECT (SELECT count(*) FROM fd WHERE role='accepted' AND coalesce(end, ?3) > ?2 AND pid IN"
		" (SELECT pid FROM service WHERE server=?1)), 2 * count(acked) >= count(*), EXISTS (SELECT 1"
		" FROM coverage WHERE grp='net') FROM request WHERE"
		" service IN (SELECT id FROM service WHERE server=?1)";
	int ret = db_each(c->db, e, on_answers, u, RESENT ANSWERS, BOUNDS, j->about.id, c->duration,
			  LASTS, (s64)ESTABLISHED, (s64)GONE, (s64)WINDOW);

	if (ret == 0 && u->connections < LEAST) {
		ret = db_each(c->db, e, on_answers, u, DROPPED ANSWERS, BOUNDS, j->about.id,
			      c->duration, LASTS, (s64)ESTABLISHED, (s64)GONE, (s64)WINDOW);
		u->dropped = true;
		if (!(u->fit >= PASSED && u->arrived >= PASSED && u->passed >= PASSED) ||
		    u->since > 0 || !(u->least > MSS))
			u->connections = 0;
	}
	return ret < 0 || u->connections < LEAST
		       ? ret
		       : db_each(c->db, e, on_recorded, u, recorded, "idi", j->about.id, u->start,
				 c->duration);
}

int verdict_unacked(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct verdict_unacked *u = &j->unacked;
	s64 lost = 0;
	int ret;

	if (j->about.kind != SUBJECT_server || !verdict_outweighs(j, INFINITY))
		return 0;
	ret = db_int(c->db, &lost, e, "SELECT EXISTS (SELECT 1 FROM loss)", "");
	if (ret == 0 && !lost)
		ret = read_unacked(c, j, u, e);
	if (ret < 0 || u->connections < LEAST ||
	    (!(u->passed > 0) && 2 * u->connections < u->of) || /* clients go, now and then */
	    stats_events_low(u->connections) < l->errors * u->of ||
	    !verdict_outweighs(j, u->waited))
		return ret;
	verdict_take(j, VERDICT_unacked, u->start, (double)c->duration, u->n);
	return 0;
}

int verdict_unacked_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_unacked *u = &j->unacked;
	bool larger = u->passed >= PASSED && u->least > u->largest && u->least > MSS;
	const struct value values[] = {
		VALUE_NUMBER("n", u->n, ""),
		VALUE_MAYBE("name", request_name, u->name),
		VALUE_NUMBER("max", u->max, "ns"),
		VALUE_NUMBER("start", u->start, "at"),
		VALUE_NUMBER("segments", u->dropped ? NAN : u->segments, ""),
		VALUES_OUTWEIGHED(j),
		{ 0 },
	};
	const struct value path[] = {
		VALUE_MAYBE("client", client, u->client),
		VALUE_NUMBER("clients", u->clients > 1 ? u->clients - 1 : NAN, ""),
		VALUE_NUMBER("connections", u->connections, ""),
		VALUE_NUMBER("passed", u->passed > 0 ? u->passed : NAN, ""),
		VALUE_TEXT("none", u->passed > 0 ? NULL : "No"),
		VALUE_NUMBER("largest", larger ? u->largest : NAN, "bytes"),
		VALUE_NUMBER("least", larger ? u->least : NAN, "bytes"),
		VALUE_TEXT("again", u->dropped && u->net ? "No" : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_unacked,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   u->dropped
					   ? "SELECT * FROM request WHERE acked IS NULL"
					   : "SELECT ts, local, remote FROM retransmit ORDER BY ts",
				   values,
				   0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	const struct finding cause = {
		FINDING_unacked_path, PROBLEM, OBSERVED, j->about, NULL, path, j->finding
	};

	return ret < 0 ? ret : finding_put(c->db, c->analysis->name, &cause, NULL, e);
}
