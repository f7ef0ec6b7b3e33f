// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Long waits by process, state, calling functions and kernel reason. A wait has a stack if it was
 * not shorter than the recording's threshold; its time in the run queue is not counted.
 */
#include "analysis.h"
#include "analyze/analyses/waits/kernel_reason.h"
#include "analyze/store/stacks/callstacks.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 5000 /* different ones */
#define FINDINGS   3
#define MATTERS	   1e-3 /* of the recording's duration: less waiting is no finding */

static const struct metric metrics[] = {
	{ "waits", "", NEITHER_IS_BETTER, "waits not shorter than the stack threshold" },
	{ "total", "ns", LOWER_IS_BETTER, "their time in this state" },
	{ "mean", "ns", LOWER_IS_BETTER, "a wait" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ 0 },
};

/* Waits of one process in one state, with one path and one reason. */
struct group {
	s64 pid;
	char *state, *path;
	const char *reason;
	double n, total, max;
};

struct offcpu {
	struct analysis_ctx *c;
	struct callstacks stacks;
	struct group *of;
	size_t n;
};

static int same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_key(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int d = x->pid < y->pid ? -1 : x->pid > y->pid;

	d = d ? d : same(x->state, y->state);
	d = d ? d : same(x->path, y->path);
	return d ? d : same(x->reason, y->reason);
}

static int by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return by_key(a, b);
}

static int on_stack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct offcpu *o = arg;
	struct group *g = &o->of[o->n];
	struct buf path = { 0 };
	int ret;

	if (o->n >= GROUPS_MAX)
		return 1;
	ret = callstacks_callers(&path, &o->stacks, sqlite3_column_int64(q, 2), false, e);
	if (ret < 0) {
		buf_free(&path);
		return ret;
	}
	*g = (struct group){
		.pid = sqlite3_column_int64(q, 0),
		.state = strdup(db_text_or(q, 1, "unknown")),
		.path = strdup(path.len ? path.data : ""),
		.reason = kernel_reason(&o->stacks, sqlite3_column_int64(q, 3)),
		.n = sqlite3_column_double(q, 4),
		.total = sqlite3_column_double(q, 5),
		.max = sqlite3_column_double(q, 6),
	};
	buf_free(&path);
	o->n++;
	return g->state && g->path ? 0 : err_set(e, ERR_FAIL, "out of memory for waits");
}

/* Stacks that differ elsewhere are one group. */
static void merge(struct offcpu *o)
{
	size_t i, k = 0;

	if (!o->n)
		return;
	qsort(o->of, o->n, sizeof(*o->of), by_key);
	for (i = 1; i < o->n; i++) {
		if (by_key(&o->of[k], &o->of[i]) != 0) {
			struct group kept = o->of[++k];

			o->of[k] = o->of[i];
			o->of[i] = kept;
			continue;
		}
		o->of[k].n += o->of[i].n;
		o->of[k].total += o->of[i].total;
		o->of[k].max = fmax(o->of[k].max, o->of[i].max);
		free(o->of[i].state);
		free(o->of[i].path);
		o->of[i].state = o->of[i].path = NULL;
	}
	o->n = k + 1;
	qsort(o->of, o->n, sizeof(*o->of), by_total);
}

static void put_group(struct offcpu *o, const struct group *g)
{
	const struct number numbers[] = { { "waits", g->n, NO_INTERVAL, g->n },
					  { "total", g->total, NO_INTERVAL, g->n },
					  { "mean", g->total / g->n, NO_INTERVAL, g->n },
					  { "max", g->max, NO_INTERVAL, g->n } };
	struct buf text = { 0 };

	if (o->c->err == 0)
		o->c->err = subject_text(&text, o->c->db, ABOUT(process, g->pid), o->c->e);
	if (o->c->err == 0)
		o->c->err = buf_printf(&text, o->c->e, " %s: %s%s%s", g->state,
				       *g->path ? g->path : "stack not known",
				       g->reason ? "; kernel: " : "", g->reason ? g->reason : "");
	put_all(o->c, ABOUT(process, g->pid), text.data, numbers, 4);
	buf_free(&text);
}

static void put_top(struct offcpu *o, const struct group *g)
{
	struct value values[6] = {
		VALUE_NUMBER("waited", g->total, "ns"),
		VALUE_NUMBER("n", g->n, ""),
		VALUE_TEXT("state", g->state),
	};
	const struct finding f = { .kind = FINDING_offcpu_top,
				   .evidence = OBSERVED,
				   .about = ABOUT(process, g->pid),
				   .values = values };
	int n = 3;

	if (*g->path)
		values[n++] = (struct value)VALUE_TEXT("function", g->path);
	if (g->reason)
		values[n] = (struct value)VALUE_TEXT("reason", g->reason);
	add_finding(o->c, &f);
}

/* Waiting for input is idleness, and the run queue is a question of its own. */
static bool is_idle(const struct group *g)
{
	return strcmp(g->state, "woken") == 0 || strcmp(g->state, "preempted") == 0 ||
	       strcmp(g->state, "poll") == 0 || strcmp(g->state, "socket") == 0 ||
	       strcmp(g->state, "timer") == 0 || strcmp(g->state, "unknown") == 0;
}

/* Waits that last until the end have a stack or not for another reason. */
static const struct finding_query shorter = {
	FINDING_offcpu_short,
	NOTE,
	LIMIT,
	NULL,
	"WITH last AS MATERIALIZED (SELECT t.pid, sum(s.dur) AS ns FROM thread_state s JOIN thread t"
	" USING(tid) WHERE s.ts + s.dur >= ?1 AND s.state NOT IN (state_id('run'), state_id('woken'),"
	" state_id('preempted'), state_id('unknown')) GROUP BY 1) SELECT 'process' AS kind, o.pid AS id,"
	" 100.0 * sum(o.weight) / (SELECT sum(t.wall - t.run - t.woken - t.preempted - t.unknown) -"
	" coalesce((SELECT ns FROM last WHERE last.pid=o.pid), 0) FROM thread t WHERE t.pid=o.pid) AS"
	" \"part:%\", (SELECT CAST(value AS INTEGER) FROM recording WHERE key='stack_threshold') AS"
	" \"threshold:ns\" FROM offcpu o WHERE \"threshold:ns\" > 0 AND NOT o.flags & 32 GROUP BY o.pid"
	" HAVING \"part:%\" IS NOT NULL ORDER BY sum(o.waited) DESC LIMIT 3",
	NULL,
};

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] = "SELECT o.pid, n.name, o.user_stack, o.kernel_stack,"
				  " sum(1.0 * o.weight / max(coalesce(o.waited, o.dur), 1)),"
				  " sum(o.weight) AS total, max(coalesce(o.waited, o.dur)) FROM"
				  " offcpu o LEFT JOIN state n ON n.id=o.state GROUP BY 1, 2, 3, 4"
				  " ORDER BY total DESC, 1, 2, 3, 4";
	struct offcpu o = { .c = c };
	size_t i, said = 0;

	c->err = callstacks_load(&o.stacks, c->db, e);
	o.of = calloc(GROUPS_MAX, sizeof(*o.of));
	if (c->err == 0 && !o.of)
		c->err = err_set(e, ERR_FAIL, "out of memory for waits");
	if (o.stacks.n)
		each_row(c, on_stack, &o, sql, "");
	if (c->err == 0)
		merge(&o);
	for (i = 0; i < o.n && c->err == 0; i++)
		put_group(&o, &o.of[i]);
	for (i = 0; i < o.n && c->err == 0 && said < FINDINGS; i++)
		if (!is_idle(&o.of[i]) && o.of[i].total >= MATTERS * c->duration) {
			put_top(&o, &o.of[i]);
			said++;
		}
	find_rows(c, &shorter, "i", c->duration);
	for (i = 0; o.of && i < GROUPS_MAX; i++) {
		free(o.of[i].state);
		free(o.of[i].path);
	}
	free(o.of);
	callstacks_free(&o.stacks);
	return c->err;
}

const struct analysis analysis_offcpu = {
	.name = "offcpu",
	.doc = "Where threads waited, by calling function",
	.needs = "cpu sched",
	.silence = true, /* threads that sleep all the time make no event of these groups */
	.metrics = metrics,
	.rows = 12,
	.run = run,
};
