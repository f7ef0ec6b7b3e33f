// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that failed in deadlocks, however short these were: MariaDB finds one as soon as it is
 * there. One alone happens on a healthy server.
 */
#include "verdict.h"

#include "analyze/store/error_names.h"

#include <stdio.h>

#define DEADLOCKS_LEAST 2
#define FAILED		1e9 /* ns that one counts: as in verdict_rank.c */
#define ENDED_MOST	100 /* longest sleeps that are looked for in requests */

/*
 * Table f: requests of a server that failed so. The one that an answer belongs to is the last that
 * its thread had read of this client.
 */
#define FAILING                                                                                        \
	"WITH q AS MATERIALIZED (SELECT ts, dur, queued, tid, client, coalesce(name, 0) AS name FROM"  \
	" request WHERE errors > 0 AND service IN (SELECT id FROM service WHERE server=?1)), x AS"     \
	" (SELECT tid, client, at, code, max(read) OVER (PARTITION BY tid, client ORDER BY at, code"   \
	" NOT NULL) AS read FROM (SELECT tid, client, ts AS at, ts AS read, NULL AS code FROM q UNION" \
	" ALL SELECT e.tid, e.client, e.ts, NULL, " ERROR_CODE_OF                                      \
	" AS code FROM request_error e WHERE " ERROR_CODE_OF " IN " DEADLOCKS                          \
	")), f AS MATERIALIZED (SELECT q.*, q.ts + q.dur AS till, x.code FROM x CROSS JOIN q ON"       \
	" q.tid=x.tid AND q.client=x.client AND q.ts=x.read WHERE x.code NOT NULL AND x.at <= till)"

int verdict_deadlocks(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] = FAILING
		" SELECT count(*), min(ts - queued), max(till), iif(min(name)=max(name), name, 0), max(code),"
		" coalesce((SELECT sum(exchanges) FROM request_stat s WHERE s.name=f.name AND s.service IN (SELECT"
		" id FROM service WHERE server=?1)), 0) FROM f";
	struct verdict_locked *k = &j->locked;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", j->about.id);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_int64(q, 0) >= DEADLOCKS_LEAST) {
		*k = (struct verdict_locked){
			.deadlocks = true,
			.n = sqlite3_column_double(q, 0),
			.start = sqlite3_column_double(q, 1),
			.end = sqlite3_column_double(q, 2),
			.name = sqlite3_column_int64(q, 3),
			.of = sqlite3_column_double(q, 5),
		};
		k->added = k->n * FAILED;
		snprintf(k->code, sizeof(k->code), "%s", db_text(q, 4));
	}
	return db_end(q, ret) < 0 ? ERR_FAIL : k->deadlocks;
}

/* The longest wait of another request that such a failure ended. */
static int put_other(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] = FAILING
		", s AS (SELECT tid, ts, dur, waker, at, max(till) OVER (PARTITION BY waker ORDER BY at, tid NOT NULL)"
		" AS till FROM (SELECT NULL AS tid, ts, 0 AS dur, tid AS waker, ts AS at, till FROM f UNION ALL SELECT"
		" tid, ts, dur, waker, ts + dur, NULL FROM thread_state WHERE context=0 AND state IN"
		" (state_id('futex'), state_id('poll')) AND waker IN (SELECT tid FROM f))), l AS MATERIALIZED (SELECT *"
		" FROM s WHERE tid NOT NULL AND at <= till ORDER BY dur DESC, waker LIMIT ?2) SELECT waker, dur, (SELECT"
		" r.rowid FROM request r WHERE r.tid=l.tid AND r.ts <= l.ts AND r.ts + r.dur >= l.at AND r.service IN"
		" (SELECT id FROM service WHERE server=?1) LIMIT 1) AS other, tid, ts FROM l WHERE other NOT NULL ORDER"
		" BY dur DESC, waker LIMIT 1";
	struct value values[] = {
		VALUE_SUBJECT("other", request, 0),
		VALUE_NUMBER("length", 0, "ns"),
		VALUE_SUBJECT("thread", thread, 0),
		VALUE_TEXT("caller", NULL),
		{ 0 },
	};
	const struct finding f = {
		FINDING_deadlock_wait, PROBLEM, CAUSAL, j->about, NULL, values, j->finding
	};
	struct buf caller = { 0 };
	sqlite3_stmt *q;
	s64 from, tid;
	int ret = db_query(&q, c->db, e, sql, "ii", j->about.id, (s64)ENDED_MOST), found;

	if (ret < 0)
		return ret;
	found = db_step(q, e);
	if (found > 0) {
		values[0] =
			(struct value)VALUE_SUBJECT("other", request, sqlite3_column_int64(q, 2));
		values[1] = (struct value)VALUE_NUMBER("length", sqlite3_column_double(q, 1), "ns");
		values[2] =
			(struct value)VALUE_SUBJECT("thread", thread, sqlite3_column_int64(q, 0));
		tid = sqlite3_column_int64(q, 3);
		from = sqlite3_column_int64(q, 4);
		if (verdict_wait_caller(&caller, c->db, tid, from, from + (s64)values[1].number,
					e) < 0)
			found = ERR_FAIL;
		values[3] = (struct value)VALUE_TEXT("caller", caller.len ? caller.data : NULL);
	}
	ret = db_end(q, found);
	if (ret == 0 && found > 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&caller);
	return ret;
}

int verdict_deadlocks_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_locked *k = &j->locked;
	const struct value values[] = {
		VALUE_NUMBER("n", k->n, ""),
		VALUE_NUMBER("of", k->name && k->of > 0 ? k->of : NAN, ""),
		VALUE_MAYBE("name", request_name, k->name),
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("end", j->end, "at"),
		VALUE_TEXT("code", k->code),
		VALUE_TEXT("meaning", error_name(k->code)),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_deadlocks, PROBLEM, OBSERVED, j->about, NULL, values, 0
	};
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 ? ret : put_other(c, j, e);
}
