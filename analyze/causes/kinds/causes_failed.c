// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slow requests that end in an error: which, if they are a good part of the added latency, and a
 * larger part of the slow requests of their name than of the others.
 */
#include "analyze/causes/causes.h"

#include "analyze/store/error_names.h"

#include <stdio.h>

#define NOTABLE	    0.25 /* of the added latency */
#define MORE	    1.5	 /* times as often as other requests */
#define FAILED_MOST 10000

/* Columns: name, code, its meaning, times, mean latency, arrival of the first. */
static void add_child(struct cause *c, sqlite3_stmt *q)
{
	struct cause_child *child = cause_child(c, FINDING_cause_failed, OBSERVED);

	snprintf(c->failed, sizeof(c->failed), "%s", db_text(q, 1));
	snprintf(c->failed_for, sizeof(c->failed_for), "%s", db_text(q, 2));
	if (sqlite3_column_type(q, 0) != SQLITE_NULL)
		CHILD_VALUE(child, VALUE_SUBJECT, "name", request_name, sqlite3_column_int64(q, 0));
	else
		CHILD_VALUE(child, VALUE_TEXT, "name", "Requests");
	CHILD_VALUE(child, VALUE_NUMBER, "n", sqlite3_column_double(q, 3), "");
	CHILD_VALUE(child, VALUE_TEXT, "code", c->failed);
	if (c->failed_for[0])
		CHILD_VALUE(child, VALUE_TEXT, "meaning", c->failed_for);
	CHILD_VALUE(child, VALUE_NUMBER, "took", sqlite3_column_double(q, 4), "ns");
	CHILD_VALUE(child, VALUE_NUMBER, "at", sqlite3_column_double(q, 5), "at");
}

#define OWN "pid IN (SELECT pid FROM " ANSWERING_PROCESSES " WHERE leader=?1)"

/* Columns as above; then what they added, errors of this kind, slow requests of the name, and all.
 */
static const char sql[] =
	"WITH r AS MATERIALIZED (SELECT tid, ts, ts + dur AS till, ts - queued AS arrival, dur + queued AS"
	" took, name FROM request WHERE errors > 0 AND NOT lossy AND dur + queued > ?2 AND " OWN
	" LIMIT ?5), x AS MATERIALIZED (SELECT r.*, " ERROR_CODE_OF
	" AS code, (r.till BETWEEN ?3 AND ?4) * (r.took - ?6) AS added FROM r JOIN request_error e ON"
	" e.tid=r.tid AND e.ts BETWEEN r.ts AND r.till), y AS (SELECT name, code, count(*) AS n, avg(took) AS"
	" took, min(arrival) AS first, total(added) AS added FROM x GROUP BY name, code ORDER BY 6 DESC LIMIT"
	" 1) SELECT name, code, (SELECT name FROM " LOCK_ERRORS
	" k WHERE k.code=y.code), n, took, first, added, (SELECT count(*) FROM request_error e WHERE e.name IS"
	" y.name AND " ERROR_CODE_OF "=y.code AND " OWN
	"), (SELECT total(dur + queued > ?2) FROM request WHERE name IS y.name AND " OWN
	"), (SELECT count(*) FROM request WHERE name IS y.name AND " OWN ") FROM y";

int cause_failed(struct samples *d, struct cause *c, struct err *e)
{
	const struct comparison *m = d->cmp;
	bool range = m->basis == BASIS_GIVEN || m->basis == BASIS_CHANGE;
	double added = m->n_slow * (m->slow - m->usual), n, slow, others;
	sqlite3_stmt *q;
	int ret;

	if (d->u->kind != UNIT_REQUEST || m->basis == BASIS_ALL || !(added > 0))
		return 0;
	ret = db_query(&q, d->db, e, sql, "idiiid", d->u->key, (m->slow + m->usual) / 2,
		       range ? m->when.from : (s64)0, range ? m->when.to : INT64_MAX,
		       (s64)FAILED_MOST, m->usual);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_double(q, 6) >= NOTABLE * added) {
		n = sqlite3_column_double(q, 3);
		slow = sqlite3_column_double(q, 8);
		others = sqlite3_column_double(q, 9) - slow;
		if (n * others > MORE * (sqlite3_column_double(q, 7) - n) * slow)
			add_child(c, q);
	}
	return db_end(q, ret);
}
