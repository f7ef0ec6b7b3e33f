// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs that moved the bytes of a disk while pauses waited for it. */
#include "pause_root.h"

#define NAMED_LEAST 0.05
#define NAMED_MOST  3
#define MOSTLY	    0.5

/* The disk for which threads of the server, or others, waited longest in the pauses; -1: none. */
static int read_disk(sqlite3 *db, s64 server, s64 *dev, bool *ret_own, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT ts, ts + dur AS till FROM pause WHERE server=?1 AND counts)"
		" SELECT s.object, s.tid IN (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service WHERE"
		" server=?1)) AS own, sum(min(s.ts + s.dur, p.till) - max(s.ts, p.ts)) AS ns FROM p JOIN thread_state s"
		" ON s.ts < p.till AND s.ts + s.dur > p.ts WHERE s.state=state_id('disk') AND s.object NOT NULL GROUP BY"
		" 1, 2 ORDER BY own DESC, ns DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "i", server);

	*dev = -1;
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		*dev = sqlite3_column_int64(q, 0);
		*ret_own = sqlite3_column_int(q, 1);
	}
	return db_end(q, ret);
}

/* By program: those of the server are one, with its first process. */
static int read_users(struct analysis_ctx *c, s64 server, s64 dev, struct value *values,
		      bool *ret_others, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT ts, ts + dur AS till FROM pause WHERE server=?1 AND counts), b AS"
		" (SELECT (SELECT pid FROM thread t WHERE t.tid=b.tid ORDER BY start DESC LIMIT 1) AS pid, sum(bytes)"
		" AS bytes FROM block_io b WHERE dev=?2 AND block_op(op) IN ('read', 'write') AND EXISTS (SELECT 1 FROM p"
		" WHERE b.ts <= p.till AND b.ts + coalesce(b.dur, 0) >= p.ts) GROUP BY 1), u AS (SELECT pid, bytes, pid"
		" IN (SELECT pid FROM service WHERE server=?1) AS own, (SELECT comm FROM process WHERE process.pid=b.pid"
		" ORDER BY start DESC LIMIT 1) AS comm FROM b) SELECT pid, 1.0 * sum(bytes) / (SELECT sum(bytes) FROM"
		" u), count(*), own, max(bytes) FROM u GROUP BY own, iif(own, '', coalesce(comm, '')) ORDER BY 2 DESC"
		" LIMIT ?3";
	sqlite3_stmt *q;
	int n = 0, ret = db_query(&q, c->db, e, sql, "iii", server, dev, (s64)NAMED_MOST);

	if (ret < 0)
		return ret;
	while (n < NAMED_MOST && (ret = db_step(q, e)) > 0) {
		s64 pid = sqlite3_column_int64(q, 0);
		double part = sqlite3_column_double(q, 1);
		bool many = sqlite3_column_int64(q, 2) > 1;

		if (pid <= 0 || part < NAMED_LEAST)
			continue;
		*ret_others |= !n && !sqlite3_column_int(q, 3);
		values[n++] =
			(struct value){ .name = "user",
					.of = { many ? SUBJECT_program : SUBJECT_process, pid },
					.number = 100 * part,
					.unit = "%",
					.low = NAN,
					.high = NAN };
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : n;
}

/*
 * The share of the pauses in which any disk had a request: without one no thread waits for a disk.
 * One that was not seen to complete counts if none is known to have completed after it began. 1 if
 * block events were lost.
 */
static int read_busy(struct analysis_ctx *c, s64 server, double *ret_share, struct err *e)
{
	static const char sql[] =
		"WITH last AS MATERIALIZED (SELECT dev, max(ts + dur) AS at FROM block_io GROUP BY dev), b AS"
		" (SELECT ts, ts + coalesce(dur, iif(ts > coalesce(at, -1), ?2, 0)) AS till FROM block_io JOIN"
		" last USING(dev)) SELECT max(b.ts, p.ts), min(b.till, p.ts + p.dur) FROM pause p JOIN b ON b.ts"
		" < p.ts + p.dur AND b.till > p.ts WHERE p.server=?1 AND p.counts ORDER BY 1";
	double busy = 0, end = 0, from, to;
	s64 ns = 0, lost = 0;
	sqlite3_stmt *q;
	int ret = db_int(c->db, &ns, e, "SELECT total(dur) FROM pause WHERE server=?1 AND counts",
			 "i", server);

	*ret_share = 1;
	if (ret == 0)
		ret = db_int(c->db, &lost, e,
			     "SELECT count(*) FROM loss WHERE n > 0 AND grp='block'", "");
	if (ret < 0 || lost || ns <= 0)
		return ret;
	ret = db_query(&q, c->db, e, sql, "ii", server, c->duration);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		from = fmax(sqlite3_column_double(q, 0), end);
		to = sqlite3_column_double(q, 1);
		busy += fmax(0, to - from);
		end = fmax(end, to);
	}
	*ret_share = busy / (double)ns;
	return db_end(q, ret);
}

static int put_idle_disks(struct analysis_ctx *c, const struct judged *j, double share,
			  struct err *e)
{
	const struct value values[] = { VALUE_NUMBER("busy", 100 * share, "%"), { 0 } };
	const struct finding f = {
		FINDING_pause_disk_idle, PROBLEM, OBSERVED, j->about, NULL, values, j->finding
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int pause_disk_put(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct value values[NAMED_MOST + 2] = { 0 };
	struct finding f = { FINDING_pause_disk, PROBLEM, OBSERVED, j->about, NULL, values,
			     j->finding };
	bool others = false, own = false;
	double share = 1;
	s64 dev = -1;
	int n, ret = mark_pauses(c, j, e);

	if (ret == 0)
		ret = read_disk(c->db, j->about.id, &dev, &own, e);
	if (ret < 0 || dev < 0)
		return ret;
	if (own)
		ret = read_busy(c, j->about.id, &share, e);
	if (ret < 0)
		return ret;
	if (share < MOSTLY)
		return put_idle_disks(c, j, share, e);
	n = read_users(c, j->about.id, dev, values, &others, e);
	if (n <= 0)
		return n;
	values[n] = (struct value)VALUE_SUBJECT("disk", disk, dev);
	f.evidence = others ? OVERLAP : OBSERVED;
	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}
