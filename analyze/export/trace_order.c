// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_order.h"

#include "analyze/store/columns/column_chunk.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW	  4	     /* chunks that wait for later ones */
#define EARLY_MAX (1u << 18) /* rows that are read before; of more the window grows */

struct entry {
	struct place at;
	s64 rowid;
	const s64 *row;
};

struct entries {
	struct entry *at;
	size_t n, cap;
};

struct order {
	const struct row_order *o;
	struct span part;
	placed_fn fn;
	void *arg;
	u32 columns;
	size_t window;
	s64 *latest; /* by chunk: the latest begin of a row up to there */
	size_t chunk, n_chunks;
	s64 *rows; /* of window + 1 chunks */
	struct entries early, waiting, fresh, merged;
	size_t next_early;
};

static int add(struct entries *l, const struct entry *n, struct err *e)
{
	size_t cap = l->cap ? 2 * l->cap : 1024;
	struct entry *grown;

	if (l->n == l->cap) {
		grown = realloc(l->at, cap * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for rows");
		l->at = grown;
		l->cap = cap;
	}
	l->at[l->n++] = *n;
	return 0;
}

static bool before(const struct entry *a, const struct entry *b)
{
	if (a->at.span.ts != b->at.span.ts)
		return a->at.span.ts < b->at.span.ts;
	if (a->at.rank != b->at.rank)
		return a->at.rank > b->at.rank;
	return a->rowid < b->rowid;
}

static int compare(const void *a, const void *b)
{
	return before(b, a) - before(a, b);
}

/* All earlier rows of chunks that are not read yet are among the early ones. */
static s64 limit_of(const struct order *r, size_t chunk)
{
	return chunk < r->window ? INT64_MIN : r->latest[chunk - r->window];
}

static bool take_row(const struct order *r, const struct columns *c, u32 i, s64 *row,
		     struct entry *ret)
{
	u32 k;

	for (k = 0; k < r->columns; k++)
		row[k] = c->value[k] ? c->value[k][i] : 0;
	ret->rowid = c->rowid + i;
	ret->row = row;
	return r->o->place(row, &ret->at) && ret->at.span.ts > INT64_MIN &&
	       ret->at.span.ts <= r->part.end && ret->at.span.end >= r->part.ts;
}

/* ---- rows that lasted long ---- */

static int keep_early(struct order *r, struct entry *n, struct err *e)
{
	s64 *copy = malloc(8 * (size_t)r->columns);
	int ret = -1;

	if (!copy)
		return err_set(e, ERR_FAIL, "out of memory for rows");
	memcpy(copy, n->row, 8 * (size_t)r->columns);
	n->row = copy;
	ret = add(&r->early, n, e);
	if (ret < 0)
		free(copy);
	return ret;
}

static void drop_early(struct order *r)
{
	while (r->early.n)
		free((void *)r->early.at[--r->early.n].row);
}

/* 1: there are too many. */
static int find_early(void *arg, const struct columns *c, struct err *e)
{
	struct order *r = arg;
	s64 row[CHUNK_COLUMNS], latest = INT64_MIN, *grown;
	struct entry n;
	int ret = 0;
	u32 i;

	if (r->chunk % 1024 == 0) {
		grown = realloc(r->latest, (r->chunk + 1024) * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for rows");
		r->latest = grown;
	}
	for (i = 0; i < c->rows && ret == 0; i++) {
		if (!take_row(r, c, i, row, &n))
			continue;
		latest = n.at.span.ts > latest ? n.at.span.ts : latest;
		if (n.at.span.ts <= limit_of(r, r->chunk))
			ret = r->early.n == EARLY_MAX ? 1 : keep_early(r, &n, e);
	}
	if (r->chunk && r->latest[r->chunk - 1] > latest)
		latest = r->latest[r->chunk - 1];
	r->latest[r->chunk++] = latest;
	return ret;
}

static int read_early(struct order *r, sqlite3 *db, struct err *e)
{
	int ret;

	for (r->window = WINDOW;; r->window *= 4) {
		r->chunk = 0;
		ret = columns_each(db, r->o->table, r->o->set, find_early, r, e);
		if (ret <= 0)
			break;
		drop_early(r);
	}
	r->n_chunks = r->chunk;
	if (r->window > r->n_chunks)
		r->window = r->n_chunks;
	if (r->early.n)
		qsort(r->early.at, r->early.n, sizeof(*r->early.at), compare);
	return ret;
}

/* ---- all others ---- */

/* Shows what begins up to limit, early rows among the waiting ones. */
static int show(struct order *r, s64 limit)
{
	struct entry *w = r->waiting.at, *end = w + r->waiting.n, *next, *early;
	int ret = 0;

	while (ret == 0) {
		early = r->next_early < r->early.n ? &r->early.at[r->next_early] : NULL;
		next = w < end && !(early && before(early, w)) ? w : early;
		if (!next || next->at.span.ts > limit)
			break;
		if (next == w)
			w++;
		else
			r->next_early++;
		ret = r->fn(r->arg, next->row, &next->at);
	}
	r->waiting.n = (size_t)(end - w);
	if (r->waiting.n)
		memmove(r->waiting.at, w, r->waiting.n * sizeof(*w));
	return ret;
}

/* The fresh entries, which are in order now, become waiting ones. */
static int merge(struct order *r, struct err *e)
{
	struct entries *a = &r->waiting, *b = &r->fresh, swap;
	size_t i = 0, k = 0;
	int ret = 0;

	r->merged.n = 0;
	while ((i < a->n || k < b->n) && ret == 0) {
		bool first = k == b->n || (i < a->n && before(&a->at[i], &b->at[k]));

		ret = add(&r->merged, first ? &a->at[i++] : &b->at[k++], e);
	}
	swap = r->waiting;
	r->waiting = r->merged;
	r->merged = swap;
	return ret;
}

static int show_chunk(void *arg, const struct columns *c, struct err *e)
{
	struct order *r = arg;
	s64 *row = r->rows + r->chunk % (r->window + 1) * CHUNK_ROWS * r->columns;
	s64 limit = limit_of(r, r->chunk);
	struct entry n;
	bool sorted = true;
	int ret = 0;
	u32 i;

	r->fresh.n = 0;
	for (i = 0; i < c->rows && ret == 0; i++) {
		if (!take_row(r, c, i, row, &n) || n.at.span.ts <= limit)
			continue;
		sorted = sorted && (!r->fresh.n || before(&r->fresh.at[r->fresh.n - 1], &n));
		ret = add(&r->fresh, &n, e);
		row += r->columns;
	}
	r->chunk++;
	if (!sorted)
		qsort(r->fresh.at, r->fresh.n, sizeof(*r->fresh.at), compare);
	if (ret == 0)
		ret = merge(r, e);
	return ret == 0 ? show(r, limit) : ret;
}

int rows_in_order(sqlite3 *db, const struct row_order *o, struct span part, placed_fn fn, void *arg,
		  struct err *e)
{
	struct order r = { .o = o, .part = part, .fn = fn, .arg = arg };
	int ret;

	r.columns = (u32)tables[o->table].n_columns;
	ret = read_early(&r, db, e);
	r.rows = ret == 0 ? malloc(8 * (size_t)CHUNK_ROWS * r.columns * (r.window + 1)) : NULL;
	if (ret == 0 && !r.rows)
		ret = err_set(e, ERR_FAIL, "out of memory for rows");
	r.chunk = 0;
	if (ret == 0)
		ret = columns_each(db, o->table, o->set, show_chunk, &r, e);
	if (ret == 0)
		ret = show(&r, INT64_MAX);
	drop_early(&r);
	free(r.early.at);
	free(r.waiting.at);
	free(r.fresh.at);
	free(r.merged.at);
	free(r.latest);
	free(r.rows);
	return ret;
}
