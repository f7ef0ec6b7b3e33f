// SPDX-License-Identifier: GPL-2.0-or-later
#include "contenders.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "cpu_quota.h"

#include <stdlib.h>

#define LEAST (1.0 / 16) /* of the recording: so much time before a range shows what is usual */

/* Waits: ts, end, and a number of the program that had the CPU; 0: not known, idle, or its own. */
static const char waits_sql[] =
	"WITH own AS MATERIALIZED (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service"
	" WHERE server=?1)), named AS MATERIALIZED (SELECT tid, comm, min(tid) OVER (PARTITION BY"
	" comm) AS program FROM (SELECT tid, max(comm) AS comm FROM thread GROUP BY tid) WHERE tid"
	" > 0 AND tid NOT IN own) SELECT s.ts, s.ts + s.dur, coalesce(n.program, 0) FROM"
	" thread_state s LEFT JOIN named n ON n.tid=s.object WHERE s.tid IN own AND s.dur > 0"
	" AND s.state IN (state_id('woken'), state_id('preempted'))";

/* What a program took in one part: 2 i before range i, 2 i + 1 in range i; 2 n is the rest. */
struct took {
	u64 program;
	u32 part;
	double ns;
};

struct contenders {
	struct contended *of;
	const double (*range)[2];
	int n;
	double duration;
	struct idmap took;
	struct took *sorted;
	size_t n_sorted;
	int first_wait;		/* the first part outside with a wait; -1: none */
	double inside, outside; /* ns of all ranges, and of the rest */
};

/* The first range that ends after ts. */
static int range_at(const struct contenders *x, double ts)
{
	int low = 0, high = x->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (x->range[mid][1] <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int add(struct contenders *x, u64 program, int part, double ns, struct err *e)
{
	u64 key = program * (2 * (u64)x->n + 1) + (u64)part;
	struct took *t;

	if (!program)
		return 0;
	t = idmap_get(&x->took, key);
	if (!t)
		t = idmap_add(&x->took, key, sizeof(*t), TASK_LIMIT, "what programs took", e);
	if (!t)
		return ERR_FAIL;
	t->program = program;
	t->part = (u32)part;
	t->ns += ns;
	return 0;
}

static int add_wait(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct contenders *x = arg;
	double ts = sqlite3_column_double(q, 0), end = sqlite3_column_double(q, 1);
	u64 program = (u64)sqlite3_column_int64(q, 2);
	int i = range_at(x, ts), ret = 0;

	if (i == x->n || x->range[i][0] >= end) {
		x->first_wait = x->first_wait < 0 || 2 * i < x->first_wait ? 2 * i : x->first_wait;
		return add(x, program, 2 * i, end - ts, e);
	}
	for (; i < x->n && x->range[i][0] < end && ret == 0; i++) {
		double in = fmin(end, x->range[i][1]) - fmax(ts, x->range[i][0]);

		x->of[i].total += in;
		ret = add(x, program, 2 * i + 1, in, e);
	}
	return ret;
}

static int by_program(const void *a, const void *b)
{
	const struct took *x = a, *y = b;

	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

static int sort(struct contenders *x, struct err *e)
{
	const struct took *t;
	size_t at = 0;
	int i;

	x->sorted = calloc(x->took.n + 1, sizeof(*x->sorted));
	if (!x->sorted)
		return err_set(e, ERR_FAIL, "out of memory for what programs took");
	while ((t = idmap_each(&x->took, &at)))
		x->sorted[x->n_sorted++] = *t;
	qsort(x->sorted, x->n_sorted, sizeof(*x->sorted), by_program);
	for (i = 0; i < x->n; i++)
		x->inside += x->range[i][1] - x->range[i][0];
	x->outside = fmax(x->duration - x->inside, 0);
	return 0;
}

/* One program: the parts t[0] .. t[n - 1]. */
static void add_usual(const struct contenders *x, const struct took *t, size_t n,
		      struct contender *ret)
{
	double in = 0, out = 0, before = 0, length = 0, at = 0, end = 0, all;
	size_t i, k;

	for (i = 0; i < n; i++)
		*(t[i].part % 2 ? &in : &out) += t[i].ns;
	for (i = k = 0; i < n; i++) {
		u32 range = t[i].part / 2;

		if (t[i].part % 2 == 0) {
			before += t[i].ns;
			continue;
		}
		for (; k <= range; end = x->range[k++][1])
			length += fmax(x->range[k][0] - end, 0);
		all = x->range[range][1] - x->range[range][0];
		if (x->first_wait >= 0 && x->first_wait <= (int)t[i].part &&
		    length >= LEAST * x->duration)
			at = before / length;
		else
			at = x->outside > length ? (out - before) / (x->outside - length) : 0;
		x->of[range].usual += fmin(t[i].ns, at * all);
	}
	if (in > ret->in) {
		ret->in = in;
		ret->out = out;
	}
}

/* Was a process of the server stopped by a CPU quota in the readings from the first range on? */
static int read_stopped(const struct contenders *x, sqlite3 *db, s64 server, bool *ret_stopped,
			struct err *e)
{
	struct quota quota = { 0 };
	s64 pid = 0;
	int ret = db_int(db, &pid, e, "SELECT min(pid) FROM service WHERE server=?1", "i", server);

	if (ret == 0)
		ret = quota_read(&quota, db, pid, pid, (s64)x->range[0][0],
				 (s64)x->range[x->n - 1][1], e);
	*ret_stopped = quota.cgroup > 0;
	return ret;
}

static int name(struct contender *ret, sqlite3 *db, u64 program, struct err *e)
{
	sqlite3_stmt *q;
	int r = db_query(&q, db, e, "SELECT max(comm) FROM thread WHERE tid=?", "i", (s64)program);

	if (r < 0)
		return r;
	r = db_step(q, e);
	if (r > 0)
		r = buf_printf(&ret->name, e, "%s", db_text(q, 0));
	return db_end(q, r);
}

static int settle(struct contenders *x, struct contender *first, sqlite3 *db, struct err *e)
{
	struct contender most = { 0 };
	u64 program = 0;
	size_t i, k;
	double in;
	int ret = sort(x, e);

	for (i = 0; ret == 0 && i < x->n_sorted; i = k) {
		for (k = i; k < x->n_sorted && x->sorted[k].program == x->sorted[i].program; k++)
			;
		in = most.in;
		add_usual(x, x->sorted + i, k - i, &most);
		program = most.in > in ? x->sorted[i].program : program;
	}
	if (ret < 0 || !first || !program)
		return ret;
	first->in = 100 * most.in / x->inside;
	first->out = x->outside > 0 ? 100 * most.out / x->outside : 0;
	return name(first, db, program, e);
}

int contenders_read(struct contended *ret, struct contender *first, struct analysis_ctx *c,
		    s64 server, const double (*range)[2], int n, struct err *e)
{
	struct contenders x = { .of = ret,
				.range = range,
				.n = n,
				.duration = (double)(c->duration > 0 ? c->duration : 1),
				.first_wait = -1 };
	bool stopped = false;
	int i, r;

	for (i = 0; i < n; i++)
		ret[i] = (struct contended){ 0 };
	if (n <= 0)
		return 0;
	r = db_each(c->db, e, add_wait, &x, waits_sql, "i", server);
	if (r == 0)
		r = settle(&x, first, c->db, e);
	if (r == 0)
		r = read_stopped(&x, c->db, server, &stopped, e);
	for (i = 0; i < n && stopped; i++)
		ret[i].usual = 0;
	idmap_free_all(&x.took);
	free(x.sorted);
	return r;
}

void contender_free(struct contender *c)
{
	buf_free(&c->name);
	*c = (struct contender){ 0 };
}
