// SPDX-License-Identifier: GPL-2.0-or-later
/* Code that a virtual machine generated has no names unless that writes them: the remedy is said.
 */
#include "verdict.h"

#include <string.h>

#define SHARE_LEAST 25 /* %, of the samples: less is a detail */
#define N_LEAST	    5

/* By the name of the process. */
static const struct {
	const char *comm, *remedy;
} remedies[] = {
	{ "node", "start node with --perf-basic-prof" },
	{ "python", "start Python (3.12 or later) with -X perf" },
	{ "java", "run jcmd PID Compiler.perfmap (JDK 17 or later) before the recording" },
};

static const char *remedy_for(const char *comm)
{
	size_t i;

	for (i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (strncmp(comm, remedies[i].comm, strlen(remedies[i].comm)) == 0)
			return remedies[i].remedy;
	return "let its runtime write /tmp/perf-PID.map";
}

static int put(struct analysis_ctx *c, const struct judged *j, double share, struct err *e)
{
	static const char sql[] =
		"SELECT comm FROM process WHERE pid IN (SELECT pid FROM service WHERE server=?1)"
		" ORDER BY pid LIMIT 1";
	struct buf comm = { 0 };
	int ret = db_add_text(&comm, c->db, e, sql, "i", j->about.id);
	const struct value values[] = {
		VALUE_NUMBER("share", share, "%"),
		VALUE_TEXT("remedy", remedy_for(comm.len ? comm.data : "")),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_unnamed_code, NOTE, LIMIT, j->about, NULL, values, 0
	};

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&comm);
	return ret;
}

int verdict_unnamed_code(struct analysis_ctx *c, const struct judged *j, int rank, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT user_stack AS u, total(weight) AS w, count(*) AS n FROM sample WHERE pid"
		" IN (SELECT pid FROM service WHERE server=?2) AND EXISTS (SELECT 1 FROM verdict_range v WHERE"
		" v.rank=?1 AND sample.ts >= v.start AND sample.ts < v.end) GROUP BY 1), g AS MATERIALIZED (SELECT"
		" f.id FROM frame f JOIN module m ON m.id=f.module AND m.kind='generated' LEFT JOIN symbol y ON"
		" y.frame=f.id WHERE y.name IS NULL) SELECT sum(n), 100.0 * total(w) FILTER (WHERE x.frame IN g OR"
		" y.frame IN g OR z.frame IN g) / total(w), total(w)"
		" FILTER (WHERE x.frame IN g OR y.frame IN g OR z.frame IN g), (SELECT total(end - start) FROM"
		" verdict_range WHERE rank=?1) FROM s LEFT JOIN stack x ON x.id=s.u LEFT JOIN stack y"
		" ON y.id=x.caller LEFT JOIN stack z ON z.id=y.caller";
	sqlite3_stmt *q;
	double share;
	bool slept;
	int ret;

	if (j->status != STATUS_PROBLEM)
		return 0;
	ret = db_query(&q, c->db, e, sql, "ii", (s64)rank, j->about.id);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	share = ret > 0 ? sqlite3_column_double(q, 1) : 0;
	/* while the server waits, names of what ran say little */
	slept = j->kind == VERDICT_pauses &&
		100 * sqlite3_column_double(q, 2) < SHARE_LEAST * sqlite3_column_double(q, 3);
	if (ret > 0 && sqlite3_column_int64(q, 0) >= N_LEAST && share >= SHARE_LEAST && !slept)
		ret = put(c, j, share, e);
	return db_end(q, ret);
}
