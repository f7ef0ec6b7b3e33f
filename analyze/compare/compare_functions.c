// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples and waits of processes that answer requests, in windows of time. A window in which events
 * were lost is excluded. Processes without requests have no unit that their functions could be
 * compared by. Of waits, the functions in user mode: what the kernel does then is their kind.
 */
#include "compare_functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_REQUESTS 30
#define LEAST_SAMPLES  20

struct reading {
	struct measured *m;
	sqlite3 *db;
	struct code_profiles *all;
	struct code_profile *at;
	bool lost[COMPARE_WINDOWS];
	u32 *seen; /* by code: number of the row that counted last */
	u32 row;
};

static size_t window_of(const struct reading *g, s64 ts)
{
	double at = (double)ts * COMPARE_WINDOWS / (double)g->m->duration;

	return at < 0 ? 0 : at >= COMPARE_WINDOWS ? COMPARE_WINDOWS - 1 : (size_t)at;
}

static int on_loss(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reading *g = arg;
	size_t w;

	(void)e;
	for (w = window_of(g, sqlite3_column_int64(q, 0));
	     w <= window_of(g, sqlite3_column_int64(q, 1)); w++)
		g->lost[w] = true;
	return 0;
}

static int on_request(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reading *g = arg;
	size_t w = window_of(g, sqlite3_column_int64(q, 0));

	(void)e;
	if (g->lost[w])
		return 0;
	g->at->requests[w]++;
	g->at->all++;
	return 0;
}

/* Without the C library in which they wait, unless there is nothing else. */
static u32 callers(const struct callstacks *s, u32 *codes, u32 n)
{
	u32 k = 0;

	while (k < n && s->codes[codes[k]].runtime)
		k++;
	if (k == n)
		return n;
	memmove(codes, codes + k, (n - k) * sizeof(*codes));
	return n - k;
}

static int on_samples(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reading *g = arg;
	double ns = sqlite3_column_double(q, 3), n = sqlite3_column_double(q, 4);
	double squares = sqlite3_column_double(q, 5);
	u32 codes[STACK_DEEP], count, i, node = 0;
	size_t w = window_of(g, sqlite3_column_int64(q, 2));
	int ret;

	if (g->lost[w] || !(ns > 0) || !isfinite(squares))
		return 0;
	count = callstacks_codes(&g->all->stacks, sqlite3_column_int64(q, 0),
				 sqlite3_column_int64(q, 1), codes);
	if (g->at->waits)
		count = callers(&g->all->stacks, codes, count);
	if (!count)
		codes[count++] = 0;
	g->row++;
	g->at->n += n;
	g->at->squares += squares;
	for (i = 0; i < count; i++) {
		struct code_use *u = &g->at->of[codes[i]];

		if (g->seen[codes[i]] == g->row)
			continue;
		g->seen[codes[i]] = g->row;
		u->sum[w] += ns;
		u->n += n;
		u->squares += squares;
	}
	ret = calltree_path(&g->at->tree, 0, codes, count, &node, e);
	if (ret == 0)
		g->at->tree.v[node].a += ns;
	return ret;
}

#define OF_NAME "pid IN (SELECT pid FROM process WHERE comm IS ?)"

static int add_profile(struct reading *g, const char *comm, bool waits, struct err *e)
{
	static const char *const sql[] = {
		"SELECT user_stack, kernel_stack, min(ts), sum(weight), count(*),"
		" sum(1.0 * weight * weight) FROM sample WHERE " OF_NAME
		" GROUP BY 1, 2, CAST(1.0 * ts * ? / ? AS INTEGER) ORDER BY 1, 2, 3",
		"SELECT user_stack, 0, min(ts), sum(weight), count(*), sum(1.0 * weight * weight)"
		" FROM offcpu WHERE request NOT NULL AND weight > 0 AND " OF_NAME
		" GROUP BY 1, 2, CAST(1.0 * ts * ? / ? AS INTEGER) ORDER BY 1, 2, 3",
	};
	struct code_profile *p = &g->all->of[g->all->n];
	int ret;

	g->at = p;
	compare_subject(&p->subject, COMPARE_PROCESS, comm, NULL, COMPARE_NO_PORT, NULL);
	p->waits = waits;
	p->of = calloc((size_t)g->all->stacks.n_codes + 1, sizeof(*p->of));
	if (!p->of)
		return err_set(e, ERR_FAIL, "out of memory for functions");
	g->all->n++;
	ret = db_each(g->db, e, on_request, g, "SELECT ts + dur FROM request WHERE " OF_NAME, "s",
		      comm);
	if (ret == 0)
		ret = db_each(g->db, e, on_samples, g, sql[waits], "sii", comm,
			      (s64)COMPARE_WINDOWS, g->m->duration);
	return ret;
}

/* Columns: comm, samples. No waits are some, of length 0. */
static int on_process(void *arg, sqlite3_stmt *row, struct err *e)
{
	struct reading *g = arg;
	int ret = 0;

	if (sqlite3_column_int64(row, 1) >= LEAST_SAMPLES)
		ret = add_profile(g, db_text(row, 0), false, e);
	if (ret == 0 && g->all->threshold > 0)
		ret = add_profile(g, db_text(row, 0), true, e);
	return ret;
}

int compare_functions(struct measured *m, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT p.comm, total(s.n) AS samples, total(w.n) AS waits FROM (SELECT pid, max(comm) AS comm"
		" FROM process GROUP BY pid) p LEFT JOIN (SELECT pid, count(*) AS n FROM sample GROUP BY pid) s"
		" USING (pid) LEFT JOIN (SELECT pid, count(*) AS n FROM offcpu WHERE request NOT NULL GROUP BY"
		" pid) w USING (pid) JOIN (SELECT pid, sum(requests) AS n FROM service WHERE kind<>'function'"
		" GROUP BY pid) t USING (pid) GROUP BY p.comm HAVING sum(t.n) >= ? ORDER BY samples DESC,"
		" waits DESC, p.comm LIMIT ?";
	struct reading g = { .m = m, .db = db, .all = calloc(1, sizeof(*g.all)) };
	int ret;

	m->profiles = g.all;
	if (!g.all)
		return err_set(e, ERR_FAIL, "out of memory for functions");
	ret = callstacks_load(&g.all->stacks, db, e);
	if (ret < 0 || !g.all->stacks.codes)
		return ret;
	g.seen = calloc((size_t)g.all->stacks.n_codes + 1, sizeof(*g.seen));
	if (!g.seen)
		return err_set(e, ERR_FAIL, "out of memory for functions");
	ret = db_int(db, &g.all->threshold, e,
		     "SELECT CAST(value AS INTEGER) FROM recording WHERE key='stack_threshold'",
		     "");
	if (ret == 0)
		ret = db_each(db, e, on_loss, &g, "SELECT ts, ts + dur FROM loss", "");
	if (ret == 0)
		ret = db_each(db, e, on_process, &g, sql, "ii", (s64)LEAST_REQUESTS,
			      (s64)PROFILES_MOST / 2);
	free(g.seen);
	return ret;
}

void compare_functions_free(struct code_profiles *p)
{
	size_t i;

	for (i = 0; p && i < p->n; i++) {
		free(p->of[i].of);
		calltree_free(&p->of[i].tree);
	}
	if (p)
		callstacks_free(&p->stacks);
	free(p);
}
