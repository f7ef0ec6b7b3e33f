// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs that moved the bytes of a disk while pauses waited for it, and whether they moved
 * more than at other times.
 */
#include "pause_root.h"

#define NAMED_LEAST 0.05
#define NAMED_MOST  3

/* The disk for which threads of the server, or others, waited longest in the pauses. */
static int read_disk(sqlite3 *db, s64 server, s64 *dev, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT ts, ts + dur AS till FROM pause WHERE server=?1 AND counts) SELECT object"
		" FROM (SELECT s.object, s.tid IN (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service WHERE"
		" server=?1)) AS own, sum(min(s.ts + s.dur, p.till) - max(s.ts, p.ts)) AS ns FROM p JOIN thread_state s"
		" ON s.ts < p.till AND s.ts + s.dur > p.ts WHERE s.state=state_id('disk') AND s.object NOT NULL GROUP BY"
		" 1, 2) ORDER BY own DESC, ns DESC LIMIT 1";

	return db_int(db, dev, e, sql, "i", server);
}

/* Bytes of a disk per second. */
struct moved {
	double in, out; /* in the pauses; otherwise */
};

/* As much as at other times, for the most part. */
static bool is_usual(const struct moved *m)
{
	return m->out >= m->in / 2;
}

struct users {
	struct value values[NAMED_MOST + 4];
	int n;
	bool others; /* the first one is not the server */
	struct moved first, all;
};

/* By program: those of the server are one, with its first process. What it moved more comes first.
 */
static int read_users(struct analysis_ctx *c, s64 server, s64 dev, struct users *u, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT ts, ts + dur AS till FROM pause WHERE server=?1 AND counts), t AS"
		" MATERIALIZED (SELECT total(till - ts) / 1e9 AS s FROM p), b AS (SELECT (SELECT pid FROM thread t WHERE"
		" t.tid=b.tid ORDER BY start DESC LIMIT 1) AS pid, bytes, EXISTS (SELECT 1 FROM p WHERE b.ts <= p.till"
		" AND b.ts + coalesce(b.dur, 0) >= p.ts) AS inside FROM block_io b WHERE dev=?2 AND block_op(op) IN"
		" ('read', 'write')), u AS (SELECT pid, total(bytes) FILTER (WHERE inside) AS bytes, total(bytes) FILTER"
		" (WHERE NOT inside) AS rest, pid IN (SELECT pid FROM service WHERE server=?1) AS own, (SELECT comm FROM"
		" process WHERE process.pid=b.pid ORDER BY start DESC LIMIT 1) AS comm FROM b GROUP BY 1), m AS (SELECT"
		" pid, count(*) FILTER (WHERE bytes > 0) AS n, own, max(bytes), total(bytes) / t.s AS moved, total(rest)"
		" / max(?3 / 1e9 - t.s, 1e-9) AS rest FROM u, t GROUP BY own, iif(own, '', coalesce(comm, ''))) SELECT"
		" pid, moved / total(moved) OVER (), n, own, moved, rest, total(moved) OVER (), total(rest) OVER () FROM"
		" m ORDER BY moved - min(moved, rest) DESC, moved DESC";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iii", server, dev, c->duration);

	if (ret < 0)
		return ret;
	while (u->n < NAMED_MOST && (ret = db_step(q, e)) > 0) {
		s64 pid = sqlite3_column_int64(q, 0);
		double part = sqlite3_column_double(q, 1);
		bool many = sqlite3_column_int64(q, 2) > 1;

		u->all = (struct moved){ sqlite3_column_double(q, 6), sqlite3_column_double(q, 7) };
		if (pid <= 0 || !(part >= NAMED_LEAST))
			continue;
		if (!u->n) {
			u->others = !sqlite3_column_int(q, 3);
			u->first = (struct moved){ sqlite3_column_double(q, 4),
						   sqlite3_column_double(q, 5) };
		}
		u->values[u->n++] =
			(struct value){ .name = "user",
					.of = { many ? SUBJECT_program : SUBJECT_process, pid },
					.number = 100 * part,
					.unit = "%",
					.low = NAN,
					.high = NAN };
	}
	return db_end(q, ret);
}

int pause_disk_put(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct users u = { .n = 0 };
	const struct moved *m = &u.first;
	struct finding f = { FINDING_pause_disk, PROBLEM,   OBSERVED, j->about, NULL,
			     u.values,		 j->finding };
	s64 dev = -1;
	int n, ret = mark_pauses(c, j, e);

	if (ret == 0)
		ret = read_disk(c->db, j->about.id, &dev, e);
	if (ret < 0 || dev < 0)
		return ret;
	ret = read_users(c, j->about.id, dev, &u, e);
	if (ret < 0 || !u.n)
		return ret;
	if (is_usual(&u.first)) {
		f.kind = FINDING_pause_disk_usual;
		m = &u.all;
	}
	n = u.n;
	u.values[n++] = (struct value)VALUE_SUBJECT("disk", disk, dev);
	u.values[n++] = (struct value)VALUE_NUMBER("rate", m->in, "bytes");
	u.values[n++] = (struct value)VALUE_NUMBER("rate_else", m->out, "bytes");
	f.evidence = u.others && f.kind == FINDING_pause_disk ? OVERLAP : OBSERVED;
	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}
