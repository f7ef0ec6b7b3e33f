// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls on one file that the threads of pauses spend most of them in: what a server does itself
 * then, whether such a call runs, waits for a CPU, or for a disk.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "pause_root.h"

#define CALL_LEAST 1000000 /* ns: as in pause_thread.c */

/* ?1 server; s: one pass over the calls, for all pauses. Calls that wait for a lock of the file are
 * none; only some return a number of bytes. */
static const char sql[] =
	"WITH p AS MATERIALIZED (SELECT * FROM pause WHERE counts AND server=?1), s AS MATERIALIZED (SELECT"
	" tid, ts, dur, ret, fd, abi, nr, ts - (SELECT max(dur) FROM p) AS since FROM syscall WHERE fd >= 0"
	" AND dur >= ?2 AND tid IN (SELECT tid FROM p)), c AS MATERIALIZED (SELECT"
	" p.id AS pause, p.dur AS length, s.tid AS tid, s.ts AS ts, s.dur AS dur, iif(n.name LIKE '%read%' OR"
	" n.name LIKE '%write%', max(s.ret, 0), 0) AS bytes, n.name AS call, min(s.ts + s.dur, p.ts + p.dur)"
	" - max(s.ts, p.ts) AS ns, (SELECT iif(d.kind='file', d.path, NULL) FROM fd d WHERE d.pid=p.pid AND"
	" d.fd=s.fd AND d.ts <= s.ts ORDER BY d.ts DESC LIMIT 1) AS path FROM s CROSS JOIN pause p ON"
	" p.counts AND p.server=?1 AND p.ts BETWEEN s.since AND s.ts + s.dur AND p.tid=s.tid AND s.ts < p.ts + p.dur JOIN syscall_name n ON n.abi=s.abi AND n.nr=s.nr"
	" WHERE n.name NOT IN ('flock', 'fcntl')), f AS MATERIALIZED (SELECT"
	" path, tid, sum(ns) AS took, count(DISTINCT ts) AS n, max(dur) AS longest, sum(bytes) AS bytes FROM c"
	" WHERE path <> '' GROUP BY path ORDER BY sum(ns) DESC, path LIMIT 1) SELECT tid, path, 100.0 * took"
	" / (SELECT sum(dur) FROM p), n, longest, bytes, (SELECT group_concat(call, ', ') FROM (SELECT call"
	" FROM c WHERE path=f.path GROUP BY call HAVING 10 * sum(ns) > took ORDER BY sum(ns) DESC, call)),"
	" (SELECT count(*) FROM (SELECT pause FROM c WHERE path=f.path GROUP BY pause HAVING 2 * sum(ns) >"
	" max(length))) FROM f WHERE 2 * took > (SELECT sum(dur) FROM p)";

int pause_calls_put(struct analysis_ctx *c, const struct judged *j, bool *ret_said, struct err *e)
{
	sqlite3_stmt *q;
	int got, ret = db_query(&q, c->db, e, sql, "ii", j->about.id, (s64)CALL_LEAST);

	if (ret < 0)
		return ret;
	got = db_step(q, e);
	*ret_said = got > 0;
	if (got > 0) {
		double bytes = sqlite3_column_double(q, 5);
		const struct value values[] = {
			VALUE_SUBJECT("thread", thread, sqlite3_column_int64(q, 0)),
			VALUE_TEXT("path", db_text(q, 1)),
			VALUE_NUMBER("share", sqlite3_column_double(q, 2), "%"),
			VALUE_NUMBER("n", sqlite3_column_double(q, 3), ""),
			VALUE_NUMBER("longest", sqlite3_column_double(q, 4), "ns"),
			VALUE_NUMBER("bytes", bytes > 0 ? bytes : NAN, "bytes"),
			VALUE_TEXT("call", db_text(q, 6)),
			VALUE_NUMBER("same", j->counted > 1 ? sqlite3_column_double(q, 7) : NAN,
				     ""),
			VALUE_NUMBER("count", j->counted > 1 ? j->counted : NAN, ""),
			VALUE_TEXT("which", j->counted > 1 ? "the pauses" : "the pause"),
			{ 0 },
		};
		const struct finding f = {
			FINDING_pause_calls,
			PROBLEM,
			OBSERVED,
			j->about,
			"SELECT * FROM v_syscall WHERE dur >= 1000000 ORDER BY dur DESC",
			values,
			j->finding
		};

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	got = db_end(q, got);
	return ret < 0 ? ret : got;
}
