// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A signal that asks a process to read its files again (SIGHUP): its thread opens files after it,
 * and answers nothing from the first of these to the end of the pause. Or one that stops it, which
 * the kernel sends where a debugger attaches; the freezer of cgroups sends none.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "pause_root.h"

#define SI_KERNEL     128
#define SIGNAL_BEFORE "1000000000" /* ns: requests may arrive when it reads already */

/* ?1 thread, ?2, ?3 the pause. The file that it was busy with longest. */
static const char opened[] =
	"WITH g AS (SELECT s.ts AS ts, s.pid AS pid, s.sender || '[' || s.tid || ']' AS sender FROM"
	" signal_sent s WHERE s.signal=1 AND s.pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1) AND s.ts"
	" BETWEEN ?2 - " SIGNAL_BEFORE
	" AND ?3 ORDER BY s.ts DESC LIMIT 1), o AS MATERIALIZED (SELECT f.path AS path,"
	" f.ts AS ts, lead(f.ts, 1, ?3) OVER (ORDER BY f.ts) - f.ts AS dur FROM file_open f JOIN g WHERE"
	" f.tid=?1 AND f.ret >= 0 AND f.ts BETWEEN g.ts AND ?3) SELECT g.ts, g.sender, (SELECT p.path FROM"
	" o JOIN file_path p ON p.id=o.path ORDER BY o.dur DESC, o.ts LIMIT 1), (SELECT count(DISTINCT"
	" path) FROM o), g.pid FROM g WHERE EXISTS (SELECT 1 FROM o) AND NOT EXISTS (SELECT 1 FROM request r"
	" WHERE r.tid=?1 AND r.ts + r.dur >= (SELECT min(ts) FROM o) AND r.ts + r.dur < ?3)";

static int put(struct analysis_ctx *c, const struct judged *j, enum finding_kind kind,
	       const struct value *values, struct err *e)
{
	const struct finding f = {
		kind, PROBLEM, OBSERVED, j->about, "SELECT * FROM signal_sent", values, j->finding
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

static int put_signal(struct analysis_ctx *c, const struct judged *j, sqlite3_stmt *q,
		      struct err *e)
{
	double files = sqlite3_column_double(q, 3);
	const struct value values[] = {
		VALUE_SUBJECT("process", process, sqlite3_column_int64(q, 4)),
		VALUE_NUMBER("at", sqlite3_column_double(q, 0), "at"),
		VALUE_TEXT("sender", db_text(q, 1)),
		VALUE_TEXT("path", db_text(q, 2)),
		VALUE_NUMBER("others", files > 1 ? files - 1 : NAN, ""),
		{ 0 },
	};

	return put(c, j, FINDING_pause_signal, values, e);
}

/* ?1 thread, ?2, ?3 the pause. What stopped it in most of the pause; not what an earlier stop had.
 */
static const char stops[] =
	"WITH t AS MATERIALIZED (SELECT ts, dur FROM thread_state WHERE tid=?1 AND state=state_id('stopped') AND ts < ?3),"
	" v AS (SELECT ts FROM t WHERE ts + dur > ?2 ORDER BY min(ts + dur, ?3) - max(ts, ?2) DESC, ts LIMIT 1) SELECT s.ts,"
	" s.sender || '[' || s.tid || ']', s.signal, s.code, s.pid FROM signal_sent s JOIN v ON s.ts <= v.ts WHERE s.target"
	" IN (?1, (SELECT pid FROM thread WHERE tid=?1 LIMIT 1)) AND s.signal IN (19, 20, 21, 22) AND s.ts > coalesce((SELECT"
	" max(ts) FROM t WHERE ts < (SELECT ts FROM v)), -1) ORDER BY s.ts DESC LIMIT 1";

static const char *signal_of(int number)
{
	static const char *const names[] = { "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU" };

	return names[number - 19];
}

static int put_stopped(struct analysis_ctx *c, const struct judged *j, sqlite3_stmt *q,
		       struct err *e)
{
	bool tracer = sqlite3_column_int(q, 3) == SI_KERNEL;
	const struct value values[] = {
		VALUE_SUBJECT("process", process, sqlite3_column_int64(q, 4)),
		VALUE_NUMBER("at", sqlite3_column_double(q, 0), "at"),
		VALUE_TEXT("sender", db_text(q, 1)),
		VALUE_TEXT("signal", tracer ? NULL : signal_of(sqlite3_column_int(q, 2))),
		VALUE_TEXT("tracer", tracer ? "debugger" : NULL),
		{ 0 },
	};

	return put(c, j, FINDING_pause_stopped, values, e);
}

typedef int put_fn(struct analysis_ctx *, const struct judged *, sqlite3_stmt *, struct err *);

/* Returns 1 if there is such a signal. */
static int put_first(struct analysis_ctx *c, const struct judged *j, s64 tid, s64 from, s64 to,
		     const char *sql, put_fn *put_row, struct err *e)
{
	sqlite3_stmt *q;
	int got, end, ret = db_query(&q, c->db, e, sql, "iii", tid, from, to);

	if (ret < 0)
		return ret;
	got = db_step(q, e);
	ret = got > 0 ? put_row(c, j, q, e) : 0;
	end = db_end(q, got);
	return ret < 0 ? ret : end < 0 ? end : got;
}

static int put_of_longest(struct analysis_ctx *c, const struct judged *j, s64 tid, const char *sql,
			  put_fn *put_row, struct err *e)
{
	const struct judged_pause *p = judged_longest(j);
	int ret = p ? put_first(c, j, tid, p->start, p->end, sql, put_row, e) : 0;

	return ret < 0 ? ret : 0;
}

int pause_signal_put(struct analysis_ctx *c, const struct judged *j, s64 tid, struct err *e)
{
	return put_of_longest(c, j, tid, opened, put_signal, e);
}

int pause_stopped_put(struct analysis_ctx *c, const struct judged *j, s64 tid, struct err *e)
{
	return put_of_longest(c, j, tid, stops, put_stopped, e);
}

int pause_stopped_then(struct analysis_ctx *c, const struct judged *j, s64 tid, s64 from, s64 to,
		       struct err *e)
{
	return put_first(c, j, tid, from, to, stops, put_stopped, e);
}
