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

struct tree {
	struct calltree calls; /* a: ns of a slow unit, b: of a baseline one */
	struct idmap leaves;   /* user and kernel stack -> node */
	u32 *leaf;	       /* of each event */
	u32 *best;	       /* of each node, the callee with most of what was added */
	u32 *depth;	       /* of each node, on the path: 1 and up; 0: not on it */
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
	t->best = calloc((size_t)t->calls.n + 1, sizeof(*t->best));
	t->depth = calloc((size_t)t->calls.n + 1, sizeof(*t->depth));
	return t->best && t->depth ? 0 : err_set(e, ERR_FAIL, "out of memory for stacks");
}

static double added(const struct tree *t, u32 node, bool against)
{
	return t->calls.v[node].a - (against ? t->calls.v[node].b : 0);
}

/* Marks the path; returns its last node. */
static u32 follow(struct tree *t, bool against, u32 *ret_depth)
{
	double all = added(t, 0, against);
	u32 k, at = 0, depth = 0;

	for (k = 1; k <= t->calls.n; k++) {
		u32 *best = &t->best[t->calls.v[k].parent];

		if (!*best || added(t, k, against) > added(t, *best, against))
			*best = k;
	}
	while (all > 0 && depth < STACK_DEEP && t->best[at] &&
	       added(t, t->best[at], against) >= HALF * all) {
		at = t->best[at];
		t->depth[at] = ++depth;
	}
	*ret_depth = depth;
	return at;
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
static double larger(const struct tree *t, u32 node)
{
	const struct tree_node *v = t->calls.v;

	return v[node].a / v[0].a - (v[0].b > 0 ? v[node].b / v[0].b : 0);
}

/* The innermost callee on the path that the function has nearly all of its difference from. Few
 * samples of the baseline may prove it of the function alone. */
static u32 source(const struct tree *t, u32 at, const double *samples)
{
	double enough = NEARLY_ALL * larger(t, at);
	u32 k, ret = at;

	for (k = t->best[at]; k && t->depth[k] && samples[t->depth[k]] >= LEAST_SAMPLES;
	     k = t->best[k])
		if (larger(t, k) >= enough)
			ret = k;
	return ret;
}

/* The innermost function of the path whose share is not that of the baseline. */
static void judge(struct path *ret, const struct tree *t, u32 at, const struct part *parts,
		  const double *samples, struct resampling *r)
{
	bool against = r->of == PATH_ADDED;
	struct boot boot;

	for (; at; at = t->calls.v[at].parent) {
		u32 depth = t->depth[at];

		r->part = &parts[depth];
		if (samples[depth] >= LEAST_SAMPLES && stands_out(r))
			break;
	}
	if (!at)
		return;
	if (r->of == PATH_ADDED) {
		at = source(t, at, samples);
		r->part = &parts[t->depth[at]];
	}
	boot = stats_boot(UNIT_BLOCKS, stats_boot_block(UNIT_BLOCKS), REPETITIONS, estimate, r);
	ret->share = fmin(boot.value, 1);
	ret->low = fmin(boot.low, 1);
	ret->high = fmin(boot.high, 1);
	ret->samples = samples[t->depth[at]];
	for (; at && ret->n < STACK_DEEP; at = t->calls.v[at].parent) {
		ret->shares[ret->n] = added(t, at, against) / added(t, 0, against);
		ret->codes[ret->n++] = t->calls.v[at].code;
	}
}

int paths_find(struct path *ret, const struct sides *s, const struct samples *d,
	       const struct callstacks *stacks, enum path_of of, struct err *e)
{
	struct tree t = { 0 };
	struct part *parts = NULL;
	double *samples = NULL;
	u32 depth = 0, at = 0;
	int r = grow_tree(&t, s, stacks, e);

	memset(ret, 0, sizeof(*ret));
	if (r == 0 && t.calls.n)
		at = follow(&t, of == PATH_ADDED, &depth);
	if (r == 0 && depth) {
		parts = calloc((size_t)depth + 1, sizeof(*parts));
		samples = calloc((size_t)depth + 1, sizeof(*samples));
		if (!parts || !samples)
			r = err_set(e, ERR_FAIL, "out of memory for stacks");
	}
	if (r == 0 && depth) {
		struct resampling how = { .s = s, .all = parts, .of = of };

		fill_parts(parts, samples, &t, s, d, depth);
		judge(ret, &t, at, parts, samples, &how);
	}
	free(parts);
	free(samples);
	free(t.leaf);
	free(t.best);
	free(t.depth);
	calltree_free(&t.calls);
	idmap_free(&t.leaves);
	return r;
}
