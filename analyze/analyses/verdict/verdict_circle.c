// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pool of processes that waits for its own address: in the longest pause each process waited for
 * an answer of one address. That is an address of the server itself, or of another recorded one,
 * which in turn waited for an answer of the server. Both ends of the connections are recorded.
 */
#include "verdict.h"

#define PROCESSES_LEAST 2 /* of one, other threads may serve the question */

struct circle {
	s64 asked; /* server.id; 0: itself */
	double processes;
	struct buf address, back;
};

/*
 * ?1: the server; ?2 and ?3: the pause. q: questions that were open for most of it.
 */
static const char sql[] =
	"WITH own AS MATERIALIZED (SELECT DISTINCT pid FROM service WHERE server=?1), q AS MATERIALIZED (SELECT u.pid,"
	" f.local, f.remote FROM (SELECT pid, fd, ts, ts + dur AS till FROM upstream WHERE ts < ?3 AND ts + dur > ?2"
	" UNION ALL SELECT pid, fd, ts, NULL FROM upstream_unanswered WHERE ts < ?3) u JOIN fd f ON f.pid=u.pid AND"
	" f.fd=u.fd AND f.ts <= u.ts AND coalesce(f.end, u.ts) >= u.ts WHERE f.remote <> '' AND 2 * (min(coalesce(u.till,"
	" f.end, ?3), ?3) - max(u.ts, ?2)) > ?3 - ?2), at AS MATERIALIZED (SELECT DISTINCT local FROM fd WHERE"
	" role='accepted' AND local <> '' AND pid IN (SELECT pid FROM own)), n AS (SELECT remote, count(DISTINCT pid) AS n"
	" FROM q WHERE pid IN (SELECT pid FROM own) GROUP BY remote HAVING n=(SELECT count(*) FROM own)) SELECT n.n,"
	" n.remote, coalesce(s.server, 0), coalesce(b.remote, '') FROM n LEFT JOIN q a ON a.remote=n.remote AND a.pid IN"
	" (SELECT pid FROM own) LEFT JOIN fd f ON f.role='accepted' AND f.local=a.remote AND f.remote=a.local LEFT JOIN"
	" service s ON s.pid=f.pid LEFT JOIN q b ON b.pid=f.pid AND b.remote IN (SELECT local FROM at) WHERE n.remote IN"
	" (SELECT local FROM at) OR (b.remote NOT NULL AND s.server NOT NULL) LIMIT 1";

static int on_circle(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct circle *k = arg;

	k->processes = sqlite3_column_double(q, 0);
	k->asked = sqlite3_column_int64(q, 2);
	if (buf_printf(&k->address, e, "%s", db_text(q, 1)) < 0)
		return ERR_FAIL;
	return buf_printf(&k->back, e, "%s", db_text(q, 3));
}

int verdict_circle(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct judged_pause *p = judged_longest(j);
	struct circle k = { 0 };
	int ret =
		p ? db_each(c->db, e, on_circle, &k, sql, "iii", j->about.id, p->start, p->end) : 0;
	bool direct = !k.asked || k.asked == j->about.id;

	if (ret == 0 && k.processes >= PROCESSES_LEAST) {
		const struct value values[] = {
			VALUE_NUMBER("n", k.processes, ""),
			VALUE_TEXT("address", k.address.data),
			VALUE_MAYBE("server", server, direct ? 0 : k.asked),
			VALUE_TEXT("back", direct ? NULL : k.back.data),
			{ 0 },
		};
		const struct finding f = { .kind = FINDING_verdict_circle,
					   .severity = WARNING,
					   .evidence = OBSERVED,
					   .about = j->about,
					   .sql = "SELECT * FROM upstream_unanswered",
					   .values = values };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	buf_free(&k.address);
	buf_free(&k.back);
	return ret;
}
