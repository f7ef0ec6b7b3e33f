// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of the time on a CPU, and time in direct reclaim, by process. */
#include "cpu_parts.h"

#define MATTERS \
	0.01	    /* of the recording's duration: less CPU time, or less reclaim, is no finding */
#define SHOWN 0.005 /* of the time on a CPU: a smaller part is left out */

/* A part in percent of the time on a CPU; left out of the sentence if it is small or not known. */
static double shown(sqlite3_stmt *q, int i, double run)
{
	double part = sqlite3_column_double(q, i);

	return sqlite3_column_type(q, i) == SQLITE_NULL || part < SHOWN * run ? NAN
									      : 100 * part / run;
}

static int put_parts(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT pid, total(run), total(softirq), total(irq), total(stolen) FROM thread WHERE exec"
		" IS NOT NULL GROUP BY pid HAVING total(run) >= ? ORDER BY total(run) DESC, pid LIMIT 3";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", (s64)(c->duration * MATTERS));

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		double run = sqlite3_column_double(q, 1);
		const struct value values[] = {
			VALUE_NUMBER("run", 100 * run / c->duration, "%"),
			VALUE_NUMBER("softirq", shown(q, 2, run), "%"),
			VALUE_NUMBER("irq", shown(q, 3, run), "%"),
			VALUE_NUMBER("stolen", shown(q, 4, run), "%"),
			{ 0 },
		};
		const struct finding f = {
			.kind = FINDING_cpu_parts,
			.severity = NOTE,
			.evidence = OBSERVED,
			.about = { SUBJECT_process, sqlite3_column_int64(q, 0) },
			.sql = "SELECT pid, tid, run, exec, softirq, irq, stolen FROM thread WHERE"
			       " exec IS NOT NULL ORDER BY run DESC",
			.values = values,
		};

		if (put_finding(c, e, &f) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int put_reclaim(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT t.pid, count(*), total(r.dur), max(r.dur), sum(r.kind > 0) FROM reclaim r"
		" JOIN (SELECT tid, max(pid) AS pid FROM thread GROUP BY tid) t ON t.tid=r.tid"
		" GROUP BY t.pid HAVING total(r.dur) >= ? ORDER BY total(r.dur) DESC, t.pid LIMIT 3";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", (s64)(c->duration * MATTERS));

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		const struct value values[] = {
			VALUE_NUMBER("n", sqlite3_column_double(q, 1), ""),
			VALUE_NUMBER("time", sqlite3_column_double(q, 2), "ns"),
			VALUE_NUMBER("max", sqlite3_column_double(q, 3), "ns"),
			VALUE_NUMBER("limited", sqlite3_column_double(q, 4), ""),
			{ 0 },
		};
		const struct finding f = {
			.kind = FINDING_cpu_reclaim,
			.severity = WARNING,
			.evidence = OBSERVED,
			.about = { SUBJECT_process, sqlite3_column_int64(q, 0) },
			.sql = "SELECT * FROM reclaim ORDER BY dur DESC",
			.values = values,
		};

		if (put_finding(c, e, &f) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

int cpu_parts_put(struct analysis_ctx *c, struct err *e)
{
	int ret = put_parts(c, e);

	return ret < 0 ? ret : put_reclaim(c, e);
}
