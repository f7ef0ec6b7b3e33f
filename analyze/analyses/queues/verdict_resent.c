// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that TCP had to send again: the server was on time, its clients were not. An answer
 * counts with the segments of its connection that were sent again after it, until the client had
 * acknowledged it. The client waited until the last of them at least, unless it had had them.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"

#include <gsl/gsl_cdf.h>

#define ESTABLISHED 1	  /* state of table retransmit */
#define LEAST	    10	  /* answers: fewer in a short time are no share of it */
#define LARGE	    65536 /* bytes: longer answers find their rate by losses */

/*
 * a: the answers; t: of connections of the server, segments that were sent again, and
 * acknowledgments that the peer had one before, each of the last answer that was sent again. Each
 * takes one from the others: the client had the answer when the first of them was sent again, at
 * the latest.
 */
#define RESENT                                                                                          \
	"WITH f AS MATERIALIZED (SELECT pid, fd, ts, coalesce(end, ?2) AS till, local, remote FROM fd"  \
	" WHERE role='accepted' AND local IN (SELECT local FROM retransmit) AND pid IN (SELECT pid"     \
	" FROM service WHERE server=?1)), t AS MATERIALIZED (SELECT f.pid, f.fd, r.ts, r.needless FROM" \
	" (SELECT ts, local, remote, 0 AS needless FROM retransmit WHERE state=?5 UNION ALL SELECT ts," \
	" local, remote, 1 FROM dsack) r JOIN f ON f.local=r.local AND f.remote=r.remote WHERE r.ts"    \
	" BETWEEN f.ts AND f.till), x AS (SELECT pid, fd, ts + dur AS at, client, 1 AS answer, 0 AS"    \
	" needless, acked, send_bytes FROM request WHERE service IN (SELECT id FROM service WHERE"      \
	" server=?1) AND (pid, fd) IN (SELECT pid, fd FROM t) UNION ALL SELECT pid, fd, ts, NULL, 0,"   \
	" needless, NULL, NULL FROM t), o AS (SELECT *, sum(answer) OVER (PARTITION BY pid, fd ORDER"   \
	" BY at, answer DESC ROWS UNBOUNDED PRECEDING) AS nr FROM x), n AS (SELECT *, CASE WHEN"        \
	" needless THEN max(CASE WHEN NOT answer AND NOT needless THEN nr END) OVER (PARTITION BY pid," \
	" fd ORDER BY at, answer DESC ROWS UNBOUNDED PRECEDING) ELSE nr END AS nth FROM o), w AS"       \
	" (SELECT *, first_value(at) OVER o AS sent, first_value(client) OVER o AS peer,"               \
	" first_value(acked) OVER o AS known, first_value(send_bytes) OVER o AS bytes FROM n WINDOW o"  \
	" AS (PARTITION BY pid, fd, nth ORDER BY answer DESC)), a AS MATERIALIZED (SELECT sent, CASE"   \
	" WHEN max(needless) THEN min(at) ELSE max(at) END - sent AS late, sum(NOT needless) -"         \
	" sum(needless) AS segments, peer FROM w WHERE NOT answer AND nth > 0 AND (needless OR at <="   \
	" sent + known) AND bytes <= ?4 GROUP BY pid, fd, nth HAVING segments > 0)"

static int on_answers(void *arg, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	*(struct verdict_resent *)arg = (struct verdict_resent){
		.n = sqlite3_column_double(q, 0),
		.segments = sqlite3_column_double(q, 1),
		.late = sqlite3_column_double(q, 2),
		.max = sqlite3_column_double(q, 3),
		.start = sqlite3_column_double(q, 4),
		.end = sqlite3_column_double(q, 5),
		.clients = sqlite3_column_double(q, 6),
		.client = sqlite3_column_int64(q, 7),
	};
	return 0;
}

int verdict_resent(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	static const char answers[] = RESENT
		", b AS (SELECT * FROM a WHERE late >= ?3) SELECT count(*), total(segments), avg(late), max(late), min(sent), max(sent + late), count(DISTINCT"
		" peer), (SELECT peer FROM b GROUP BY peer ORDER BY count(*) DESC, peer LIMIT 1) FROM b";
	static const char all[] =
		"SELECT count(*) FROM request WHERE ts + dur BETWEEN ?2 AND ?3 AND service IN (SELECT id FROM service"
		" WHERE server=?1)";
	struct verdict_resent *r = &j->resent;
	s64 any = 0, of = 0;
	int ret;

	if (j->about.kind != SUBJECT_server || j->status != STATUS_NONE)
		return 0;
	ret = db_int(c->db, &any, e, "SELECT EXISTS (SELECT 1 FROM retransmit)", "");
	if (ret == 0 && any)
		ret = db_each(c->db, e, on_answers, r, answers, "iidii", j->about.id, c->duration,
			      l->latency, (s64)LARGE, (s64)ESTABLISHED);
	if (ret < 0 || r->n < LEAST)
		return ret;
	ret = db_int(c->db, &of, e, all, "idd", j->about.id, r->start, r->end);
	r->of = (double)of;
	/* Garwood's lower limit of their number */
	if (ret < 0 || gsl_cdf_chisq_Pinv(0.025, 2 * r->n) / 2 < l->errors * r->of)
		return ret;
	j->status = STATUS_PROBLEM;
	j->kind = VERDICT_resent;
	j->start = r->start;
	j->end = r->end;
	j->n = r->n;
	return 0;
}

int verdict_resent_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_resent *r = &j->resent;
	const struct value values[] = {
		VALUE_NUMBER("start", r->start, "at"),
		VALUE_NUMBER("end", r->end < (double)c->duration - j->width ? r->end : NAN, "at"),
		VALUE_NUMBER("n", r->n, ""),
		VALUE_NUMBER("of", r->of, ""),
		VALUE_NUMBER("share", 100 * r->n / r->of, "%"),
		VALUE_NUMBER("late", r->late, "ns"),
		VALUE_NUMBER("max", r->max, "ns"),
		{ 0 },
	};
	const struct value path[] = {
		VALUE_MAYBE("client", client, r->client),
		VALUE_NUMBER("clients", r->clients > 1 ? r->clients - 1 : NAN, ""),
		VALUE_NUMBER("segments", r->segments, ""),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_resent, PROBLEM, OBSERVED, j->about, NULL, values, 0
	};
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	const struct finding cause = { FINDING_resent_path, PROBLEM, CAUSAL, j->about, NULL, path,
				       j->finding };

	return ret < 0 ? ret : finding_put(c->db, c->analysis->name, &cause, NULL, e);
}
