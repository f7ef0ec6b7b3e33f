// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which functions use more, or less, CPU time per request, or wait for longer: differences of means
 * as in excess, with the error of a count at least (few samples can lie evenly by chance), and p by
 * Holm over all functions of a process. The path that is named leads down while one callee has half
 * of the process's difference, and up again to a function whose own difference is proved.
 */
#include "compare_functions.h"

#include "analyze/store/finding.h"

#include <stdlib.h>
#include <string.h>

#define LEAST	   20 /* samples of a function, on both sides: fewer are not tested */
#define PROVED	   0.05
#define PATHS_MOST 20000

struct tested {
	struct contrast c;
	struct unit_mean mean[2];
	double n[2];
	double p; /* after Holm; NAN: not tested */
};

struct blame {
	sqlite3 *db;
	const struct sides *s;
	struct err *e;
	struct callstacks all;		/* codes of all recordings: from 1; no stacks */
	u32 *map[2][COMPARE_SIDE_MOST]; /* from the codes of a recording */
	const struct compared_subject *subject;
	bool waits;	   /* of them; else CPU time */
	double one;	   /* mean of the squared ns of a sample or wait, of all recordings */
	struct tested *of; /* by code */
	s64 stack;	   /* the last one that was put */
};

/* ---- one number for a function of all recordings ---- */

static int by_name(const void *a, const void *b)
{
	const struct code *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	return d ? d : x->kernel - y->kernel;
}

static int join_codes(struct blame *b)
{
	size_t n = 0, i, k = 0;
	struct code *all;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < b->s->n[side]; i++)
			n += b->s->of[side][i].profiles->stacks.n_codes;
	all = calloc(n + 2, sizeof(*all));
	if (!all)
		return err_set(b->e, ERR_FAIL, "out of memory for functions");
	for (n = 1, side = 0; side < 2; side++)
		for (i = 0; i < b->s->n[side]; i++) {
			const struct callstacks *one = &b->s->of[side][i].profiles->stacks;

			if (one->n_codes)
				memcpy(&all[n], &one->codes[1], one->n_codes * sizeof(*all));
			n += one->n_codes;
		}
	qsort(all + 1, n - 1, sizeof(*all), by_name);
	for (i = 1; i < n; i++) {
		if (!k || by_name(&all[k], &all[i]) != 0) {
			all[++k] = all[i];
		} else if (!all[k].file) {
			all[k].file = all[i].file;
			all[k].line = all[i].line;
		}
	}
	all[0].name = "[unknown]";
	b->all.codes = all;
	b->all.n_codes = (u32)k;
	return 0;
}

static int map_codes(struct blame *b)
{
	const struct code *found;
	size_t i;
	u32 k;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < b->s->n[side]; i++) {
			const struct callstacks *one = &b->s->of[side][i].profiles->stacks;
			u32 *map = calloc((size_t)one->n_codes + 1, sizeof(*map));

			b->map[side][i] = map;
			if (!map)
				return err_set(b->e, ERR_FAIL, "out of memory for functions");
			for (k = 1; k <= one->n_codes; k++) {
				found = bsearch(&one->codes[k], b->all.codes + 1, b->all.n_codes,
						sizeof(*found), by_name);
				map[k] = found ? (u32)(found - b->all.codes) : 0;
			}
		}
	return 0;
}

static const struct code_profile *profile_of(const struct measured *m,
					     const struct compared_subject *subject, bool waits)
{
	size_t i;

	for (i = 0; i < m->profiles->n; i++)
		if (m->profiles->of[i].waits == waits && m->profiles->of[i].all > 0 &&
		    compare_same(&m->profiles->of[i].subject, subject))
			return &m->profiles->of[i];
	return NULL;
}

/* ---- functions ---- */

/* Of one recording. The variance of a sum of n independent samples is the sum of their squares. */
static struct unit_mean mean_of(const struct blame *b, const struct code_profile *p,
				const struct code_use *use)
{
	struct unit_mean m = compare_mean(p->requests, use->sum);
	double one = use->n > 0 ? use->squares / use->n : b->one;
	double least = sqrt((use->n + 1) * one) / m.n;

	m.est.error = m.est.error < least ? least : m.est.error;
	return m;
}

/* The functions of one recording, by the numbers of all; of several recordings, one after the
 * other. */
static void take_means(struct blame *b, int side, size_t i, const struct code_profile *p,
		       double *values)
{
	const struct code_use none = { 0 };
	u32 n = b->s->of[side][i].profiles->stacks.n_codes, k;

	for (k = 0; k <= b->all.n_codes; k++) {
		b->of[k].mean[side] = mean_of(b, p, &none);
		values[k] = 0;
	}
	for (k = 0; k <= n; k++) {
		struct tested *t = &b->of[b->map[side][i][k]];

		t->n[side] += p->of[k].n;
		t->mean[side] = mean_of(b, p, &p->of[k]);
		values[b->map[side][i][k]] = t->mean[side].est.value;
	}
}

static int take_side(struct blame *b, int side)
{
	size_t i, n = b->s->n[side], codes = (size_t)b->all.n_codes + 1, k, r;
	double *values = calloc(codes * n, sizeof(*values)), x[COMPARE_SIDE_MOST];

	if (!values)
		return err_set(b->e, ERR_FAIL, "out of memory for functions");
	for (i = 0; i < n; i++)
		take_means(b, side, i, profile_of(&b->s->of[side][i], b->subject, b->waits),
			   values + i * codes);
	for (k = 0; k < codes && (n > 1 || b->s->n[!side] > 1); k++) {
		for (r = 0; r < n; r++)
			x[r] = values[r * codes + k];
		b->of[k].mean[side].est = stats_mean_of(x, n);
		b->of[k].mean[side].wander = NAN;
	}
	free(values);
	return 0;
}

static int test_functions(struct blame *b)
{
	size_t n = (size_t)b->all.n_codes + 1, k;
	double *p = calloc(2 * n, sizeof(*p));
	int ret = p ? 0 : err_set(b->e, ERR_FAIL, "out of memory for functions");

	for (k = 0; k < n && ret == 0; k++) {
		struct tested *t = &b->of[k];

		t->c = compare_contrast(t->mean);
		p[k] = t->n[0] + t->n[1] >= LEAST ? t->c.p : NAN;
	}
	if (ret == 0 && !stats_holm(p, n, p + n))
		ret = err_set(b->e, ERR_FAIL, "out of memory for functions");
	for (k = 0; k < n && ret == 0; k++)
		b->of[k].p = p[n + k];
	free(p);
	return ret;
}

static int put_functions(struct blame *b, u32 lead, const char *path)
{
	u32 k;
	int ret = 0;

	for (k = 0; k <= b->all.n_codes && ret == 0; k++) {
		const struct tested *t = &b->of[k];

		if (t->n[0] + t->n[1] < LEAST)
			continue;
		ret = db_insert(b->db, TABLE_function_change, b->e, "sisiddddddssdd",
				b->subject->comm, (s64)b->waits, b->all.codes[k].name,
				(s64)b->all.codes[k].kernel, t->mean[0].est.value,
				t->mean[1].est.value, t->c.diff, t->c.low, t->c.high, t->p,
				!(t->p < PROVED) ? "inconclusive"
				: t->c.diff > 0	 ? "more"
						 : "less",
				path && k == lead ? path : NULL, t->n[0], t->n[1]);
	}
	return ret;
}

/* ---- call paths ---- */

/* Adds the paths of a recording: those of after as a, of before as b, per request of the side. */
static int add_tree(struct blame *b, struct calltree *t, int side, size_t i, double requests)
{
	const struct code_profile *p = profile_of(&b->s->of[side][i], b->subject, b->waits);
	u32 *node = calloc((size_t)p->tree.n + 1, sizeof(*node)), k;
	int ret = node ? 0 : err_set(b->e, ERR_FAIL, "out of memory for stacks");

	for (k = 1; k <= p->tree.n && ret == 0; k++) {
		const struct tree_node *v = &p->tree.v[k];

		ret = calltree_node(t, node[v->parent], b->map[side][i][v->code], &node[k], b->e);
		if (ret == 0 && side)
			t->v[node[k]].a += v->a / requests;
		else if (ret == 0)
			t->v[node[k]].b += v->a / requests;
	}
	free(node);
	return ret;
}

static int join_trees(struct blame *b, struct calltree *t, double *ret_samples)
{
	double requests[2] = { 0, 0 };
	size_t i;
	int side, ret = 0;

	for (side = 0; side < 2; side++)
		for (i = 0; i < b->s->n[side]; i++) {
			const struct code_profile *p =
				profile_of(&b->s->of[side][i], b->subject, b->waits);

			requests[side] += p->all;
			*ret_samples += p->n;
		}
	for (side = 0; side < 2 && ret == 0; side++)
		for (i = 0; i < b->s->n[side] && ret == 0; i++)
			ret = add_tree(b, t, side, i, requests[side]);
	return ret;
}

/* As stacks of this database, for flame graphs. A frame is a function. */
static int put_paths(struct blame *b, const struct calltree *t, double samples)
{
	const s64 base = b->stack;
	u32 k;
	int ret = 0;

	for (k = 1; k <= t->n && k <= PATHS_MOST && ret == 0; k++) {
		const struct tree_node *v = &t->v[k];

		ret = db_insert(b->db, TABLE_stack, b->e, "iii", base + k,
				v->parent ? base + v->parent : (s64)0, (s64)v->code);
		if (ret == 0)
			ret = db_insert(b->db, TABLE_stack_change, b->e, "siiddi", b->subject->comm,
					(s64)b->waits, base + k, v->b, v->a,
					(s64)(k == 1 ? samples : 0));
	}
	b->stack += t->n;
	return ret;
}

static int put_names(struct blame *b)
{
	int ret = db_insert(b->db, TABLE_module, b->e, "isssii", (s64)1, "kernel", NULL, NULL,
			    (s64)0, (s64)0);
	u32 k;

	for (k = 0; k <= b->all.n_codes && ret == 0; k++) {
		ret = db_insert(b->db, TABLE_frame, b->e, "iiin", (s64)k, (s64)0,
				(s64)b->all.codes[k].kernel);
		if (ret == 0)
			ret = db_insert(b->db, TABLE_symbol, b->e, "isisii", (s64)k,
					b->all.codes[k].name, (s64)0, b->all.codes[k].file,
					(s64)b->all.codes[k].line, (s64)0);
	}
	return ret;
}

/* The path with most of the difference; *lead: its innermost proved function. *path is empty
 * without one. */
static int find_path(struct blame *b, const struct calltree *joined, u32 *lead, struct buf *path)
{
	struct calltree t = { .n = joined->n };
	double shares[STACK_DEEP], sign;
	u32 codes[STACK_DEEP], n, k;

	t.v = calloc((size_t)t.n + 1, sizeof(*t.v));
	if (!t.v)
		return err_set(b->e, ERR_FAIL, "out of memory for stacks");
	memcpy(t.v, joined->v, ((size_t)t.n + 1) * sizeof(*t.v));
	calltree_sum(&t);
	sign = t.v[0].a >= t.v[0].b ? 1 : -1;
	for (k = 0; k <= t.n; k++)
		t.v[k].a = sign * (t.v[k].a - t.v[k].b);
	n = calltree_heavy(&t, codes, shares);
	free(t.v);
	for (k = 0; k < n; k++)
		if (b->of[codes[k]].p < PROVED && sign * b->of[codes[k]].c.diff > 0)
			break;
	if (k == n)
		return 0;
	*lead = codes[k];
	return callstacks_running(path, &b->all, codes + k, n - k, 0, b->e);
}

/* False: there are none. */
static bool find_one(struct blame *b)
{
	double squares = 0, n = 0;
	size_t i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < b->s->n[side]; i++) {
			const struct code_profile *p =
				profile_of(&b->s->of[side][i], b->subject, b->waits);

			squares += p->squares;
			n += p->n;
		}
	b->one = n > 0 ? squares / n : 0;
	return b->one > 0;
}

static int blame_process(struct blame *b)
{
	struct calltree t = { 0 };
	struct buf path = { 0 };
	double samples = 0;
	u32 lead = 0;
	int ret = 0, side;

	memset(b->of, 0, ((size_t)b->all.n_codes + 1) * sizeof(*b->of));
	for (side = 0; side < 2 && ret == 0; side++)
		ret = take_side(b, side);
	if (ret == 0)
		ret = test_functions(b);
	if (ret == 0)
		ret = join_trees(b, &t, &samples);
	if (ret == 0 && t.n)
		ret = find_path(b, &t, &lead, &path);
	if (ret == 0)
		ret = put_functions(b, lead, path.len ? path.data : NULL);
	if (ret == 0)
		ret = put_paths(b, &t, samples);
	calltree_free(&t);
	buf_free(&path);
	return ret;
}

static bool any_missing(const struct sides *s)
{
	size_t i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < s->n[side]; i++)
			if (!s->of[side][i].profiles)
				return true;
	return false;
}

/* Every recording has samples of this process, or stacks of waits of the same length. */
static bool is_everywhere(const struct sides *s, const struct code_profile *p)
{
	size_t i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < s->n[side]; i++)
			if (!profile_of(&s->of[side][i], &p->subject, p->waits) ||
			    (p->waits &&
			     s->of[side][i].profiles->threshold != s->of[0][0].profiles->threshold))
				return false;
	return true;
}

static void free_blame(struct blame *b)
{
	int side, i;

	for (side = 0; side < 2; side++)
		for (i = 0; i < COMPARE_SIDE_MOST; i++)
			free(b->map[side][i]);
	free(b->all.codes); /* the names are those of the recordings */
	free(b->of);
}

int compare_blame(sqlite3 *db, const struct sides *s, struct err *e)
{
	struct blame b = { .db = db, .s = s, .e = e };
	const struct code_profiles *first = s->of[0][0].profiles;
	size_t i;
	int ret;

	if (any_missing(s))
		return 0;
	ret = join_codes(&b);
	if (ret == 0)
		ret = map_codes(&b);
	b.of = ret == 0 ? calloc((size_t)b.all.n_codes + 1, sizeof(*b.of)) : NULL;
	if (ret == 0 && !b.of)
		ret = err_set(e, ERR_FAIL, "out of memory for functions");
	for (i = 0; i < first->n && ret == 0; i++) {
		b.subject = &first->of[i].subject;
		b.waits = first->of[i].waits;
		if (!is_everywhere(s, &first->of[i]) || !find_one(&b))
			continue;
		if (!b.stack)
			ret = put_names(&b);
		if (ret == 0)
			ret = blame_process(&b);
	}
	free_blame(&b);
	return ret;
}

struct saying {
	sqlite3 *db;
	double least; /* ns: shorter waits have no stack */
};

static int say_function(void *arg, sqlite3_stmt *q, struct err *e)
{
	const struct saying *s = arg;
	static const enum finding_kind kinds[2][2] = {
		{ FINDING_compare_function_less, FINDING_compare_function_more },
		{ FINDING_compare_waits_less, FINDING_compare_waits_more },
	};
	const struct value values[] = {
		VALUE_TEXT("subject", db_text(q, 0)),
		VALUE_TEXT("function", db_text(q, 1)),
		VALUE_NUMBER("before", db_number(q, 2), "ns"),
		VALUE_NUMBER("after", db_number(q, 3), "ns"),
		VALUE_INTERVAL("diff", db_number(q, 4), db_number(q, 5), db_number(q, 6), "ns"),
		VALUE_NUMBER("n", db_number(q, 7), ""),
		VALUE_NUMBER("least", sqlite3_column_int(q, 9) ? s->least : NAN, "ns"),
		{ 0 },
	};
	const struct finding f = {
		.kind = kinds[sqlite3_column_int(q, 9)][sqlite3_column_int(q, 8)],
		.evidence = OBSERVED,
		.sql = "SELECT * FROM function_change",
		.values = values,
	};

	return finding_put(s->db, "compare", &f, NULL, e);
}

int compare_say_functions(sqlite3 *db, const struct sides *sides, struct err *e)
{
	const struct code_profiles *first = sides->of[0][0].profiles;
	struct saying s = { db, first ? (double)first->threshold : NAN };

	return db_each(
		db, e, say_function, &s,
		"SELECT c.subject, f.path, f.before, f.after, abs(f.diff),"
		" iif(f.diff < 0, -f.high, f.low), iif(f.diff < 0, -f.low, f.high),"
		" f.n_before + f.n_after, f.diff > 0, f.wait FROM function_change f JOIN change c ON"
		" c.comm=f.comm AND c.kind='process' AND c.name='CPU per request' WHERE f.path IS NOT"
		" NULL AND (iif(f.wait, (SELECT r.verdict FROM change r WHERE r.comm=f.comm AND"
		" r.kind='service' AND r.name='request mean' ORDER BY r.rowid LIMIT 1), c.verdict),"
		" f.verdict) IN (('slower', 'more'), ('faster', 'less')) ORDER BY abs(f.diff) DESC,"
		" f.rowid",
		"");
}
