// SPDX-License-Identifier: GPL-2.0-or-later
#include "paths.h"

#include "analyze/stats/stats_boot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALF	      0.5
#define NEARLY_ALL    0.9
#define LEAST_SAMPLES 10
#define REPETITIONS   500
#define SAME	      1e-9 /* sums of the same events differ by rounding */

/* One function of the path, and its sums over all its nodes: several, from the first join on. */
struct level {
	u32 code;
	double a, b;
	bool joined; /* others are between the function before and this one, in some call paths */
};

struct tree {
	struct calltree calls; /* a: ns of a slow unit, b: of a baseline one */
	struct idmap leaves;   /* user and kernel stack -> node */
	u32 *leaf;	       /* of each event */
	u32 *depth;	       /* of each node, on the path: 1 and up; 0: not on it */
	u32 *same;	   /* of each node, the next caller that is the same function; 0: none */
	u32 *steps;	   /* of each node, from the path's end; 0: it is not below */
	double *sum, *far; /* by code, of those below: what was added; that times the steps */
	struct level path[STACK_DEEP + 1]; /* [0]: all */
	u32 deep;			   /* of its end */
};

/* Sums of one function of the path, by block. */
struct part {
	double slow[UNIT_BLOCKS], baseline[UNIT_BLOCKS];
};

struct resampling {
	const struct sides *s;
	const struct part *part, *all;
	enum path_of of;
	bool fraction; /* of the slow samples, less that of the baseline's */
};

static int leaf_of(struct tree *t, const struct callstacks *stacks, const struct side_event *ev,
		   u32 *ret, struct err *e)
{
	u64 key = (u64)callstacks_at(stacks, ev->user) << 32 | callstacks_at(stacks, ev->kernel);
	uintptr_t known = (uintptr_t)idmap_get(&t->leaves, key);
	u32 codes[STACK_DEEP], n;

	*ret = (u32)known;
	if (known)
		return 0;
	n = callstacks_codes(stacks, ev->user, ev->kernel, codes);
	if (!n)
		codes[n++] = 0;
	if (calltree_path(&t->calls, 0, codes, n, ret, e) < 0)
		return ERR_FAIL;
	return idmap_put(&t->leaves, key, (void *)(uintptr_t)*ret, CALLTREE_MAX, e);
}

static void find_same(struct tree *t)
{
	const struct tree_node *v = t->calls.v;
	u32 k, at;

	for (k = 1; k <= t->calls.n; k++) {
		for (at = v[k].parent; at && v[at].code != v[k].code; at = v[at].parent)
			;
		t->same[k] = at;
	}
}

static int grow_tree(struct tree *t, const struct sides *s, const struct callstacks *stacks,
		     struct err *e)
{
	double slow = fmax(sides_sum(s->n_slow), 1), baseline = fmax(sides_sum(s->n_baseline), 1);
	size_t i;

	t->leaf = calloc(s->n + 1, sizeof(*t->leaf));
	if (!t->leaf)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	for (i = 0; i < s->n; i++) {
		const struct side_event *ev = &s->v[i];

		if (ev->slow <= 0 && ev->baseline <= 0)
			continue;
		if (leaf_of(t, stacks, ev, &t->leaf[i], e) < 0)
			return ERR_FAIL;
		t->calls.v[t->leaf[i]].a += ev->ns * ev->slow / slow;
		t->calls.v[t->leaf[i]].b += ev->ns * ev->baseline / baseline;
	}
	calltree_sum(&t->calls);
	t->depth = calloc((size_t)t->calls.n + 1, sizeof(*t->depth));
	t->same = calloc((size_t)t->calls.n + 1, sizeof(*t->same));
	t->steps = calloc((size_t)t->calls.n + 1, sizeof(*t->steps));
	t->sum = calloc((size_t)stacks->n_codes + 1, sizeof(*t->sum));
	t->far = calloc((size_t)stacks->n_codes + 1, sizeof(*t->far));
	if (!t->depth || !t->same || !t->steps || !t->sum || !t->far)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	find_same(t);
	return 0;
}

static double added(const struct tree *t, u32 node, bool against)
{
	return t->calls.v[node].a - (against ? t->calls.v[node].b : 0);
}

static double level_added(const struct tree *t, u32 deep, bool against)
{
	return t->path[deep].a - (against ? t->path[deep].b : 0);
}

static bool is_end(const struct tree *t, u32 node)
{
	return t->deep ? t->depth[node] == t->deep : !node;
}

static void count_steps(struct tree *t)
{
	u32 k, parent;

	for (k = 1; k <= t->calls.n; k++) {
		parent = t->calls.v[k].parent;
		t->steps[k] = is_end(t, parent)		   ? 1
			      : parent && t->steps[parent] ? t->steps[parent] + 1
							   : 0;
	}
}

/*
 * Whether the function of a node can be the next of the path: a callee of its end. Further down, a
 * function of a script: the compiler puts its callers into it, or leaves them out, as it runs.
 * join: one of the program itself, not of a library that all of it calls, nor of the kernel.
 */
static bool is_next(const struct tree *t, const struct callstacks *stacks, u32 node, bool join)
{
	const struct code *c = &stacks->codes[t->calls.v[node].code];

	if (!t->steps[node])
		return false;
	if (t->steps[node] == 1 && !join)
		return true;
	if (!c->named || c->kernel || c->runtime || !(join || c->script))
		return false;
	return !t->same[node] || !t->steps[t->same[node]]; /* else it counts there */
}

/* The function with most of what was added; of several with the same, the outermost. */
static u32 largest(const struct tree *t)
{
	u32 k, code, best = 0;

	for (k = 1; k <= t->calls.n; k++) {
		code = t->calls.v[k].code;
		if (t->sum[code] > t->sum[best] * (1 + SAME) ||
		    (t->sum[code] >= t->sum[best] * (1 - SAME) && t->far[code] < t->far[best]))
			best = code;
	}
	return best;
}

/*
 * One function more: the callee, or the function of a script, that has half of all; join: the
 * function of which the calls below the end together have it, by whatever callers.
 */
static bool go_on(struct tree *t, const struct callstacks *stacks, bool against, bool join)
{
	struct level *next = &t->path[t->deep + 1];
	const struct tree_node *v = t->calls.v;
	u32 k;

	for (k = 1; k <= t->calls.n; k++)
		t->sum[v[k].code] = t->far[v[k].code] = 0;
	for (k = 1; k <= t->calls.n; k++) {
		if (!is_next(t, stacks, k, join))
			continue;
		t->sum[v[k].code] += added(t, k, against);
		t->far[v[k].code] += added(t, k, against) * t->steps[k];
	}
	*next = (struct level){ .code = largest(t) };
	if (t->sum[next->code] < HALF * level_added(t, 0, against))
		return false;
	for (k = 1; k <= t->calls.n; k++) {
		if (v[k].code != next->code || !is_next(t, stacks, k, join))
			continue;
		t->depth[k] = t->deep + 1;
		next->joined |= t->steps[k] > 1;
		next->a += v[k].a;
		next->b += v[k].b;
	}
	t->deep++;
	return true;
}

static void follow(struct tree *t, const struct callstacks *stacks, bool against)
{
	bool on = true;

	t->path[0].a = t->calls.v[0].a;
	t->path[0].b = t->calls.v[0].b;
	while (on && level_added(t, 0, against) > 0 && t->deep < STACK_DEEP) {
		count_steps(t);
		on = go_on(t, stacks, against, false) || go_on(t, stacks, against, true);
	}
}

/* Each event counts for the innermost function of the path that it is in, then for its callers. */
static void fill_parts(struct part *parts, double *samples, const struct tree *t,
		       const struct sides *s, const struct samples *d, u32 depth)
{
	size_t i;
	u32 k;
	int b;

	for (i = 0; i < s->n; i++) {
		const struct side_event *ev = &s->v[i];

		if (ev->slow <= 0 && ev->baseline <= 0)
			continue;
		for (k = t->leaf[i]; k && !t->depth[k]; k = t->calls.v[k].parent)
			;
		b = sides_block(d, ev->ts);
		parts[t->depth[k]].slow[b] += ev->ns * ev->slow;
		parts[t->depth[k]].baseline[b] += ev->ns * ev->baseline;
		samples[t->depth[k]] += ev->slow > 0;
	}
	for (k = depth; k > 0; k--) {
		for (b = 0; b < UNIT_BLOCKS; b++) {
			parts[k - 1].slow[b] += parts[k].slow[b];
			parts[k - 1].baseline[b] += parts[k].baseline[b];
		}
		samples[k - 1] += samples[k];
	}
}

static double estimate(void *arg, const size_t *order, size_t n)
{
	const struct resampling *r = arg;
	double slow = 0, all_slow = 0, n_slow = 0, baseline = 0, all_baseline = 0, n_baseline = 0;
	double more;
	size_t i;

	for (i = 0; i < n; i++) {
		slow += r->part->slow[order[i]];
		all_slow += r->all->slow[order[i]];
		n_slow += r->s->n_slow[order[i]];
		baseline += r->part->baseline[order[i]];
		all_baseline += r->all->baseline[order[i]];
		n_baseline += r->s->n_baseline[order[i]];
	}
	if (all_slow <= 0 || (r->of == PATH_ADDED && n_baseline <= 0))
		return NAN;
	if (r->fraction)
		return slow / all_slow - (all_baseline > 0 ? baseline / all_baseline : 0);
	if (r->of != PATH_ADDED)
		return slow / all_slow;
	more = all_slow / n_slow - all_baseline / n_baseline;
	return more > 0 ? (slow / n_slow - baseline / n_baseline) / more : NAN;
}

static bool stands_out(struct resampling *r)
{
	struct boot boot;

	if (r->of == PATH_SLOW)
		return true;
	r->fraction = r->of == PATH_ADDED;
	boot = stats_boot(UNIT_BLOCKS, stats_boot_block(UNIT_BLOCKS), REPETITIONS, estimate, r);
	r->fraction = false;
	return boot.low > (r->of == PATH_MOST ? HALF : 0);
}

/* How much larger its share of the slow units is. */
static double larger(const struct tree *t, u32 deep)
{
	const struct level *v = t->path;

	return v[deep].a / v[0].a - (v[0].b > 0 ? v[deep].b / v[0].b : 0);
}

/* The innermost callee on the path that the function has nearly all of its difference from. Few
 * samples of the baseline may prove it of the function alone. */
static u32 source(const struct tree *t, u32 deep, const double *samples)
{
	double enough = NEARLY_ALL * larger(t, deep);
	u32 k, ret = deep;

	for (k = deep + 1; k <= t->deep && samples[k] >= LEAST_SAMPLES; k++)
		if (larger(t, k) >= enough)
			ret = k;
	return ret;
}

/* From the function at this depth on, innermost first. */
static void take_path(struct path *ret, const struct tree *t, const struct callstacks *stacks,
		      u32 deep, bool against)
{
	for (; deep && ret->n < STACK_DEEP; deep--) {
		ret->shares[ret->n] = level_added(t, deep, against) / level_added(t, 0, against);
		ret->codes[ret->n++] = t->path[deep].code;
		if (t->path[deep].joined && ret->n < STACK_DEEP)
			ret->codes[ret->n++] = callstacks_gap(stacks);
	}
}

/* The innermost function of the path whose share is not that of the baseline. */
static void judge(struct path *ret, const struct tree *t, const struct callstacks *stacks,
		  const struct part *parts, const double *samples, struct resampling *r)
{
	struct boot boot;
	u32 deep;

	for (deep = t->deep; deep; deep--) {
		r->part = &parts[deep];
		if (samples[deep] >= LEAST_SAMPLES && stands_out(r))
			break;
	}
	if (!deep)
		return;
	if (r->of == PATH_ADDED) {
		deep = source(t, deep, samples);
		r->part = &parts[deep];
	}
	boot = stats_boot(UNIT_BLOCKS, stats_boot_block(UNIT_BLOCKS), REPETITIONS, estimate, r);
	ret->share = fmin(boot.value, 1);
	ret->low = fmin(boot.low, 1);
	ret->high = fmin(boot.high, 1);
	ret->samples = samples[deep];
	take_path(ret, t, stacks, deep, r->of == PATH_ADDED);
}

int paths_find(struct path *ret, const struct sides *s, const struct samples *d,
	       const struct callstacks *stacks, enum path_of of, struct err *e)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct part *parts = NULL;
	double *samples = NULL;
	int r = t ? grow_tree(t, s, stacks, e) : err_set(e, ERR_FAIL, "out of memory for stacks");

	memset(ret, 0, sizeof(*ret));
	if (!t)
		return r;
	if (r == 0 && t->calls.n)
		follow(t, stacks, of == PATH_ADDED);
	if (r == 0 && t->deep) {
		parts = calloc((size_t)t->deep + 1, sizeof(*parts));
		samples = calloc((size_t)t->deep + 1, sizeof(*samples));
		if (!parts || !samples)
			r = err_set(e, ERR_FAIL, "out of memory for stacks");
	}
	if (r == 0 && t->deep) {
		struct resampling how = { .s = s, .all = parts, .of = of };

		fill_parts(parts, samples, t, s, d, t->deep);
		judge(ret, t, stacks, parts, samples, &how);
	}
	free(parts);
	free(samples);
	free(t->leaf);
	free(t->depth);
	free(t->same);
	free(t->steps);
	free(t->sum);
	free(t->far);
	calltree_free(&t->calls);
	idmap_free(&t->leaves);
	free(t);
	return r;
}
