// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers of a name server that take longer, while requests wait in poll. An event loop has many
 * questions under way on one socket, and many requests wait for one answer: no question belongs to
 * one request. The mean time of an answer is that of the open questions, by all answers (Little).
 * It is a cause if that mean, and the time in poll, rose by most of what was added.
 */
#include "verdict_names.h"

#include "analyze/store/row_types.h"

#include <stdlib.h>
#include <string.h>

#define SERVERS_MOST 8 /* resolv.conf(5) has up to 3 */
#define MOSTLY	     0.5

/* Of others, and of those that the verdict is about. */
struct name_server {
	char *address;
	s64 at;
	double open, waited[2], answers[2];
};

struct lookups {
	const struct judged *j;
	struct name_server of[SERVERS_MOST];
	int n;
	double requests[2], took[2], polled[2];
};

static struct name_server *server_of(struct lookups *l, const char *address)
{
	int i;

	for (i = 0; i < l->n; i++)
		if (strcmp(l->of[i].address, address) == 0)
			return &l->of[i];
	if (i == SERVERS_MOST || !(l->of[i].address = strdup(address)))
		return NULL;
	l->n++;
	return &l->of[i];
}

/* Columns: time, messages, whether they are questions, address. */
static int add_call(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct lookups *l = arg;
	struct name_server *of = server_of(l, db_text(q, 3));
	double n = sqlite3_column_double(q, 1);
	s64 ts = sqlite3_column_int64(q, 0);
	bool about = verdict_is_about(l->j, ts, ts, l->j->names ? l->j->names->id[0] : BULK_NULL);

	(void)e;
	if (!of)
		return 0;
	of->waited[about] += of->open * (double)(ts - of->at);
	of->at = ts;
	if (sqlite3_column_int(q, 2)) {
		of->open += n;
	} else if (of->open > 0) {
		of->answers[about] += n;
		of->open = of->open > n ? of->open - n : 0;
	}
	return 0;
}

/* Columns: arrival, end, name, latency, in poll. */
static int add_request(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct lookups *l = arg;
	bool about = verdict_is_about(l->j, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				      sqlite3_column_int64(q, 2));

	(void)e;
	l->requests[about]++;
	l->took[about] += sqlite3_column_double(q, 3);
	l->polled[about] += sqlite3_column_double(q, 4);
	return 0;
}

static double added(const double of[2], const double n[2])
{
	return n[0] > 0 && n[1] > 0 ? of[1] / n[1] - of[0] / n[0] : NAN;
}

static int put(struct analysis_ctx *c, const struct lookups *l, const struct name_server *of,
	       struct err *e)
{
	const struct value values[] = {
		VALUE_TEXT("upstream", of->address),
		VALUE_NUMBER("each", of->waited[1] / of->answers[1], "ns"),
		VALUE_NUMBER("each_before", of->waited[0] / of->answers[0], "ns"),
		VALUE_NUMBER("n", of->answers[1], ""),
		VALUE_NUMBER("share",
			     percent(added(l->polled, l->requests), added(l->took, l->requests)),
			     "%"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_lookups,	 PROBLEM, CAUSAL,	l->j->about,
				   "SELECT * FROM upstream_use", values,  l->j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_lookups(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char calls_sql[] =
		"WITH d AS MATERIALIZED (SELECT pid, fd, ts, coalesce(end, 9e18) AS till, remote FROM fd WHERE"
		" role='connected' AND remote LIKE '%:53' AND pid IN (SELECT pid FROM service WHERE server=?1))"
		" SELECT s.ts, iif(n.name LIKE '%mmsg', s.ret, 1), n.name LIKE 'send%' OR n.name='write', d.remote"
		" FROM d JOIN thread h ON h.pid=d.pid JOIN syscall s ON s.tid=h.tid AND s.fd=d.fd AND s.ts"
		" BETWEEN d.ts AND d.till JOIN syscall_name n ON n.nr=s.nr WHERE s.ret > 0 AND (n.name IN ('write',"
		" 'read') OR n.name LIKE 'send%' OR n.name LIKE 'recv%') ORDER BY s.ts";
	static const char requests_sql[] =
		"WITH p AS MATERIALIZED (SELECT request, dur FROM request_wait WHERE state=state_id('poll'))"
		" SELECT r.ts - r.queued, r.ts + r.dur, r.name, r.dur, coalesce(p.dur, 0) FROM request r LEFT JOIN p ON"
		" p.request=r.rowid WHERE r.service IN (SELECT id FROM service WHERE server=?1)";
	struct lookups l = { .j = j };
	const struct name_server *of, *most = NULL;
	double more;
	int ret = db_each(c->db, e, add_call, &l, calls_sql, "i", j->about.id);

	if (ret == 0 && l.n)
		ret = db_each(c->db, e, add_request, &l, requests_sql, "i", j->about.id);
	more = MOSTLY * added(l.took, l.requests);
	for (of = l.of; ret == 0 && of < l.of + l.n; of++)
		if (more > 0 && added(l.polled, l.requests) >= more &&
		    added(of->waited, of->answers) >= more &&
		    (!most || of->answers[1] > most->answers[1]))
			most = of;
	if (most)
		ret = put(c, &l, most, e);
	while (l.n > 0)
		free(l.of[--l.n].address);
	return ret;
}
