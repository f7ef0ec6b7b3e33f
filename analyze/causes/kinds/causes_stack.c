// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of a cause: of time on a CPU the one that slow units run longer than baseline ones, of
 * waits the call path in which slow units wait, and the one in which the thread at the end of the
 * wakeup chain is.
 */
#include "analyze/analyses/waits/kernel_reason.h"
#include "analyze/causes/causes.h"
#include "analyze/causes/paths.h"
#include "analyze/store/stacks/function_waits.h"
#include "analyze/store/stacks/stack_brief.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 512 /* bytes of a path: four functions of at most 121 */
#define REASON	  0.5 /* of the waits: a reason of less is not named */
#define REASONS	  16
#define END_LEAST 0.5 /* of the end's time: a path of less is not named */

static bool is_computing(const struct cause *c)
{
	return c->category == CATEGORY_cpu || c->category == CATEGORY_queue;
}

/* "handle > parse"; in the kernel "handle > read > vfs_read (kernel)". most: as of
 * callstacks_running. */
static int say_path(char *text, size_t size, const struct callstacks *s,
		    const struct stack_root *root, const u32 *path, u32 n, u32 most, bool wait,
		    struct err *e)
{
	struct buf out = { 0 };
	u32 codes[STACK_DEEP];
	int ret;

	n = n < STACK_DEEP ? n : STACK_DEEP;
	memcpy(codes, path, n * sizeof(*codes));
	n = callstacks_useful(s, codes, n);
	/* a wait is the caller's, whatever the C library and the kernel did for it */
	n = stack_brief(root, s, codes, n, wait);
	ret = wait ? callstacks_say(&out, s, codes, n, e)
		   : callstacks_running(&out, s, codes, n, most, e);
	snprintf(text, size, "%s", out.len ? out.data : "");
	buf_free(&out);
	return ret;
}

/* What most of the waits of slow units waited for in the kernel; NULL: not known. */
static const char *reason_of(const struct sides *s, const struct callstacks *stacks)
{
	const char *names[REASONS] = { 0 };
	double of[REASONS] = { 0 }, all = 0;
	struct idmap seen = { 0 };
	static const char none[] = "";
	size_t i;
	int k, best = 0;

	for (i = 0; i < s->n; i++) {
		double ns = s->v[i].ns * s->v[i].slow;
		u64 at = callstacks_at(stacks, s->v[i].kernel);
		const char *reason = ns > 0 ? idmap_get(&seen, at) : none;

		if (!reason) {
			reason = kernel_reason(stacks, s->v[i].kernel);
			reason = reason ? reason : none;
			idmap_put(&seen, at, (void *)(uintptr_t)reason, 1000000, NULL);
		}
		all += ns;
		for (k = 0; *reason && k < REASONS && names[k] && strcmp(names[k], reason) != 0;
		     k++)
			;
		if (!*reason || k == REASONS)
			continue;
		names[k] = reason;
		of[k] += ns;
		best = of[k] > of[best] ? k : best;
	}
	idmap_free(&seen);
	return all > 0 && of[best] >= REASON * all ? names[best] : NULL;
}

/* Without a larger share: the path that slow units run most of, unless all of the thread have it.
 */
static int find_spent(struct path *p, const struct sides *s, struct samples *d,
		      const struct callstacks *stacks, const struct stack_root *root, struct err *e)
{
	int ret = paths_find(p, s, d, stacks, PATH_MOST, e);

	if (ret == 0 && stack_root_has(root, stacks, p->codes, p->n))
		p->n = 0;
	return ret;
}

static bool is_for_computing(const struct callstacks *stacks, const struct path *p)
{
	u32 i;

	for (i = 0; i < p->n; i++)
		if (function_waits_for_computing(stacks->codes[p->codes[i]].name))
			return true;
	return false;
}

static int name_path(struct samples *d, struct cause *c, const struct callstacks *stacks,
		     bool dearer, struct err *e)
{
	/* of a saturated thread, its sentence says what it runs */
	bool wait = !is_computing(c), saturated = c->finding == FINDING_cause_saturation;
	bool against = !wait && !saturated && d->cmp->basis != BASIS_ALL;
	struct path *p = calloc(1, sizeof(*p));
	struct stack_root root = { 0 };
	struct sides s;
	int ret;

	if (!p)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	ret = sides_read(&s, d, wait, c->category,
			 wait			       ? PART_ALL
			 : c->category == CATEGORY_cpu ? PART_SERVED
						       : PART_QUEUED,
			 e);
	if (ret == 0 && s.n)
		ret = paths_find(p, &s, d, stacks, against ? PATH_ADDED : PATH_SLOW, e);
	/* more requests of the same CPU time: nothing is added to one, but something runs */
	if (ret == 0 && s.n && !p->n && against && c->category == CATEGORY_queue)
		ret = paths_find(p, &s, d, stacks, PATH_SLOW, e);
	if (ret == 0 && (p->n || dearer) && d->n)
		ret = stack_root_read(&root, stacks, d->db, d->slow[0].tid, e);
	if (ret == 0 && s.n && !p->n && against && dearer) {
		ret = find_spent(p, &s, d, stacks, &root, e);
		c->path_same = p->n > 0;
	}
	if (ret == 0 && p->n)
		ret = say_path(c->path, sizeof(c->path), stacks, &root, p->codes, p->n,
			       callstacks_most(stacks, p->codes, p->shares, p->n), wait, e);
	if (ret == 0 && *c->path) {
		c->path_share = p->share;
		c->path_low = p->low;
		c->path_high = p->high;
		c->path_samples = p->samples;
	}
	if (ret == 0 && wait) {
		c->for_computing = is_for_computing(stacks, p);
		c->reason = reason_of(&s, stacks);
	}
	sides_free(&s);
	free(p);
	return ret;
}

static void add_path(struct cause *c)
{
	if (*c->path) {
		CAUSE_VALUE(c, VALUE_INTERVAL, c->path_same ? "spent" : "in", 100 * c->path_share,
			    100 * c->path_low, 100 * c->path_high, "%");
		CAUSE_VALUE(c, VALUE_TEXT, c->path_same ? "spent_in" : "function", c->path);
		CAUSE_VALUE(c, VALUE_NUMBER, "samples", c->path_samples, "");
	}
	if (c->reason)
		CAUSE_VALUE(c, VALUE_TEXT, "reason", c->reason);
}

/* ---- the end of the wakeup chain ---- */

/* Where a thread was while slow units waited for it: time by stack. */
struct ended {
	const struct samples *d;
	struct tally user;
	struct tally kernel;
};

static int take_end(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct ended *x = arg;
	s64 from = sqlite3_column_int64(q, 0), to = from + sqlite3_column_int64(q, 1);
	double most = 0;
	size_t i;

	(void)e;
	for (i = 0; i < x->d->n; i++) {
		const struct unit *u = &x->d->slow[i];
		s64 a = from > u->ts ? from : u->ts, b = to < unit_sent(u) ? to : unit_sent(u);

		most = fmax(most, b - a);
	}
	if (most <= 0)
		return 0;
	tally_add(&x->user, sqlite3_column_int64(q, 2), most);
	tally_add(&x->kernel, sqlite3_column_int64(q, 3), most);
	return 0;
}

/* The path of most of the time; "" if there is none. */
static int end_path(char *text, size_t size, const struct callstacks *stacks,
		    const struct stack_root *root, const struct tally *t, bool wait,
		    double *ret_part, double *ret_n, struct err *e)
{
	char best[NAMED_MAX] = "", path[NAMED_MAX];
	u32 codes[STACK_DEEP], n;
	double all = 0, same = 0, times = 0;
	size_t i;

	for (i = 0; i < t->n; i++) {
		n = callstacks_codes(stacks, t->of[i].key, 0, codes);
		if (say_path(path, sizeof(path), stacks, root, codes, n, 0, wait, e) < 0)
			return ERR_FAIL;
		all += t->of[i].sum;
		if (!*best)
			memcpy(best, path, sizeof(best));
		if (*path && strcmp(path, best) == 0) {
			same += t->of[i].sum;
			times += t->of[i].n;
		}
	}
	*ret_part = all > 0 ? same / all : 0;
	*ret_n = times;
	snprintf(text, size, "%s", *ret_part >= END_LEAST ? best : "");
	return 0;
}

/* A thread of the kernel has no path, but a reason. */
static void say_end(struct cause *c, struct subject of, double part, double n, const char *reason)
{
	const char *path = c->end_path;
	struct cause_child *child;

	if (!*path && !reason)
		return;
	child = cause_child(c, *path ? FINDING_cause_end_stack : FINDING_cause_end_reason,
			    OBSERVED);
	child_value(child, (struct value)VALUE_WHO("end", of));
	if (*path) {
		CHILD_VALUE(child, VALUE_TEXT, "function", path);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * part, "%");
		CHILD_VALUE(child, VALUE_NUMBER, "n", n, "");
	}
	if (reason)
		CHILD_VALUE(child, VALUE_TEXT, "reason", reason);
}

/* A thread, a process, or all processes of one name. */
#define OF_SUBJECT                                                                                   \
	"CASE ?1 WHEN 'thread' THEN tid=?2 WHEN 'process' THEN pid=?2 ELSE pid IN (SELECT pid FROM"  \
	" process WHERE comm=(SELECT comm FROM process WHERE pid=?2 ORDER BY coalesce(comm, '')=''," \
	" start DESC LIMIT 1)) END"

/* What it ran, or waited in, while slow units waited for it. */
static int name_subject(struct samples *d, struct cause *c, const struct callstacks *stacks,
			struct subject of, s64 state, struct err *e)
{
	static const char waits[] =
		"SELECT ts, coalesce(waited, dur), user_stack, kernel_stack FROM offcpu WHERE " OF_SUBJECT
		" AND state=?3";
	static const char runs[] =
		"SELECT ts, weight, user_stack, kernel_stack FROM sample WHERE " OF_SUBJECT
		" AND ?3=?3";
	struct ended x = { .d = d };
	struct stack_root root = { 0 };
	bool wait = state != SPAN_run;
	double part, n;
	int ret = db_each(d->db, e, take_end, &x, wait ? waits : runs, "sii",
			  subject_names[of.kind], of.id, state);

	tally_sort(&x.user);
	tally_sort(&x.kernel);
	if (ret == 0 && of.kind == SUBJECT_thread)
		ret = stack_root_read(&root, stacks, d->db, of.id, e);
	if (ret == 0)
		ret = end_path(c->end_path, sizeof(c->end_path), stacks, &root, &x.user, wait,
			       &part, &n, e);
	if (ret == 0)
		say_end(c, of, part, n,
			wait && x.kernel.n ? kernel_reason(stacks, x.kernel.of[0].key) : NULL);
	tally_free(&x.user);
	tally_free(&x.kernel);
	return ret;
}

static bool is_task(enum subject_kind kind)
{
	return kind == SUBJECT_thread || kind == SUBJECT_process || kind == SUBJECT_program;
}

/* The end of the wakeup chain; of waits for a CPU, what had it. */
static int name_end(struct samples *d, struct cause *c, const struct callstacks *stacks,
		    struct err *e)
{
	bool runq = c->category == CATEGORY_runq;
	struct subject of = runq ? c->offender : c->end;

	if (!is_task(of.kind) || (runq ? c->own : c->end_part <= 0))
		return 0;
	return name_subject(d, c, stacks, of, runq ? SPAN_run : c->end_state, e);
}

int cause_stack(struct samples *d, struct cause *c, bool dearer, struct err *e)
{
	struct callstacks stacks = { 0 };
	bool any;
	int ret = sides_any(d->db, &any, e);

	if (ret < 0 || !any)
		return ret;
	ret = callstacks_load(&stacks, d->db, e);
	if (ret == 0 && stacks.n && c->category != CATEGORY_runq)
		ret = name_path(d, c, &stacks, dearer, e);
	if (ret == 0 && c->category != CATEGORY_runq)
		add_path(c);
	if (ret == 0 && stacks.n)
		ret = name_end(d, c, &stacks, e);
	callstacks_free(&stacks);
	return ret;
}
