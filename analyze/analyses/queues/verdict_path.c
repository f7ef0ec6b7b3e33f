// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where answers wait below the socket, as in a narrow link, only the ACK shows it. The least time
 * to the ACK of a client and a name is their way and size. An ACK that the next request brings may
 * have come as late as the client asked: it is left out. A client that has the whole answer delays
 * its ACK by 40 ms, or more if it acknowledges more slowly. What is later by a pause that counts
 * waited on the path.
 */
#include "analyze/store/db.h"
#include "verdict_queues.h"

#include <math.h>

#define LEAST 100 /* answers: of fewer there is no 99th percentile */

struct path {
	struct hist whole; /* from the arrival to the ACK */
	struct hist late;  /* later than the least */
};

static int on_ack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct path *p = arg;

	(void)e;
	hist_add(&p->whole, (u64)sqlite3_column_int64(q, 0));
	hist_add(&p->late, (u64)sqlite3_column_int64(q, 1));
	return 0;
}

int verdict_path(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	static const char any_sql[] =
		"SELECT count(*) FROM (SELECT 1 FROM request WHERE acked > ?2 AND NOT lossy AND NOT paced AND"
		" service IN (SELECT id FROM service WHERE server=?1) LIMIT 1)";
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id FROM service WHERE server=?1), r AS (SELECT pid, fd, ts, ts - queued AS"
		" came, dur, queued, acked, client, name, lossy, paced FROM request WHERE service IN s UNION ALL SELECT"
		" pid, fd, ts, ts, 0, 0, NULL, client, name, 0, 0 FROM (SELECT ts, pid, fd, service, client, name FROM"
		" unanswered UNION ALL SELECT ts, pid, fd, service, client, name FROM request_closed) WHERE service IN s), b AS (SELECT *, dur + queued AS took, lead(came) OVER"
		" (PARTITION BY pid, fd ORDER BY ts) - ts - dur AS next FROM r) SELECT took + acked, acked - min(acked) OVER (PARTITION BY client,"
		" name) FROM b WHERE NOT lossy AND NOT paced AND acked NOT NULL AND coalesce(next > acked, 1)";
	double late = ACK_LATEST + l->pause;
	struct path p = { 0 };
	s64 any = 0;
	int ret;

	j->acked_p50 = j->acked_p99 = NAN;
	if (j->about.kind != SUBJECT_server)
		return 0;
	ret = db_int(c->db, &any, e, any_sql, "id", j->about.id, late);
	if (ret == 0 && any)
		ret = db_each(c->db, e, on_ack, &p, sql, "i", j->about.id);
	if (p.late.n >= LEAST && verdict_quantile(&p.late, 0.99) > late) {
		j->acked_p50 = verdict_quantile(&p.whole, 0.5);
		j->acked_p99 = verdict_quantile(&p.whole, 0.99);
	}
	hist_free(&p.whole);
	hist_free(&p.late);
	return ret;
}
