// SPDX-License-Identifier: GPL-2.0-or-later
/* The worst moments of a problem: of what the problem is about. */
#include "screen.h"

#include "analyze/store/error_names.h"

#include <string.h>

#define PEER                                                                                 \
	"coalesce(nullif((SELECT remote FROM fd WHERE fd.pid=x.pid AND fd.fd=x.fd AND fd.ts" \
	" <= x.read ORDER BY fd.ts DESC LIMIT 1), ''), (SELECT address FROM client WHERE"    \
	" client.id=x.peer), '')"

static const char pauses_sql[] =
	"SELECT ts, dur, 'pause, ' || printf('%,d', victims) || ' waited', iif(request IS NULL, '',"
	" coalesce((SELECT n.name || ' from ' FROM request q JOIN request_name n ON n.id=q.name"
	" WHERE q.rowid=x.request), '') || " PEER
	") FROM (SELECT *, request_ts AS read FROM pause p WHERE server=?1 AND"
	" 20 * dur >= (SELECT max(dur) FROM pause WHERE server=?1) AND (counts OR NOT EXISTS (SELECT 1 FROM"
	" pause c WHERE c.counts AND c.server=?1 AND c.ts < p.ts + p.dur AND c.ts + c.dur > p.ts))"
	" ORDER BY counts DESC, id LIMIT ?2) x";
static const char requests_sql[] =
	"SELECT ts, dur, coalesce((SELECT n.name FROM request_name n WHERE n.id=x.name),"
	" 'request'), " PEER " FROM (SELECT ts - queued AS ts, dur + queued AS dur, name,"
	" ts AS read, pid, fd, client AS peer FROM request WHERE NOT lossy AND NOT paced AND coalesce(name, 0) NOT"
	" IN (SELECT id FROM request_name WHERE awaits(protocol, name)) AND service IN (SELECT id"
	" FROM service WHERE server=?1) ORDER BY 2 DESC LIMIT ?2) x";
static const char waiting_sql[] =
	"SELECT ts, (SELECT max(duration) FROM verdict) - ts, iif(got IS NULL, 'not read', coalesce("
	"(SELECT n.name FROM request_name n WHERE n.id=x.name), 'request') || ', not answered'), " PEER
	" FROM (SELECT ts, read AS got, coalesce(read, ts) AS read, name, pid, fd, client AS peer FROM"
	" unanswered WHERE service IN (SELECT id FROM service WHERE server=?1) ORDER BY ts LIMIT ?2) x";
static const char failed_sql[] =
	"SELECT ts, dur, coalesce((SELECT n.name FROM request_name n WHERE n.id=x.name), 'request') ||"
	" ': ' || coalesce((SELECT " ERROR_CODE_OF
	" FROM request_error e WHERE e.tid=x.tid AND e.ts BETWEEN x.read AND x.till LIMIT 1), 'error'), " PEER
	" FROM (SELECT ts - queued AS ts, dur + queued AS dur, name, ts AS read, ts + dur AS till, tid, pid,"
	" fd, client AS peer FROM request WHERE errors > 0 AND NOT lossy AND service IN (SELECT id FROM"
	" service WHERE server=?1) ORDER BY 2 DESC LIMIT ?2) x";
static const char closed_sql[] =
	"SELECT ts, end - ts, coalesce((SELECT n.name FROM request_name n WHERE n.id=x.name), 'request') ||"
	" ': no answer', " PEER
	" FROM (SELECT ts, end, coalesce(read, end) AS read, name, pid, fd, client AS peer FROM"
	" request_closed WHERE read NOT NULL AND service IN (SELECT id FROM service WHERE server=?1)"
	" ORDER BY end - ts DESC LIMIT ?2) x";

int screen_moments(struct screen *s, sqlite3 *db, struct err *e)
{
	static const char *const of[N_VERDICTS] = {
		[VERDICT_hang] = waiting_sql,	   [VERDICT_pauses] = pauses_sql,
		[VERDICT_standstill] = pauses_sql, [VERDICT_errors] = failed_sql,
		[VERDICT_unanswered] = closed_sql, [VERDICT_ended] = closed_sql,
	};
	const char *sql = of[s->kind] ? of[s->kind] : requests_sql;
	sqlite3_stmt *q;
	int ret;

	if ((!s->problems && !s->unchanged) || s->kind == VERDICT_connections ||
	    s->kind == VERDICT_stuck)
		return 0;
	ret = db_query(&q, db, e, sql, "ii", s->server, (s64)SCREEN_MOMENTS);
	if (ret < 0)
		return ret;
	while (s->n_moments < SCREEN_MOMENTS && (ret = db_step(q, e)) > 0) {
		struct screen_moment *m = &s->moments[s->n_moments++];

		m->ts = sqlite3_column_double(q, 0);
		m->dur = sqlite3_column_double(q, 1);
		ret = buf_printf(&m->what, e, "%s", s->server ? db_text(q, 2) : "off CPU");
		if (ret == 0)
			ret = buf_printf(&m->who, e, "%s", db_text(q, 3));
		if (ret < 0)
			break;
	}
	return db_end(q, ret);
}
