// SPDX-License-Identifier: GPL-2.0-or-later
#include "request_size.h"

#include "analyze/base/limits.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST  32   /* bytes of a request: below, too much is a multiple by chance or padding */
#define LARGEST	  1199 /* networks bring bodies in segments of 1200 bytes and more */
#define TRIED	  (16 << 20) /* pieces of bodies, too: divisors of them fit as well as they do */
#define COMMON	  64	     /* most common sizes that are tried */
#define PAIRED	  16	     /* of these, whose common divisors are tried */
#define DIVISOR	  64	     /* bytes of a request that was never seen alone */
#define DISTINCT  3	     /* multiples that were seen, its double among them */
#define NOT_ALONE 5	     /* multiples that were seen of one never seen alone */
#define FEWEST	  8	     /* turns */
#define FITS	  0.6	     /* share of turns beyond chance */
#define AS_GOOD	  0.02
#define TOGETHER  8 /* turns that may be a multiple only together */
#define APART	  2 /* times the least number of requests: more than that tells nothing */

struct request_turn {
	u32 stream, order, bytes;
};

/* What a block has of one size. */
struct size {
	u64 bytes, turns;
};

struct search {
	const struct request_turn *turns; /* by connection */
	u32 n;
	struct size *sizes; /* the most common first */
	u32 n_sizes;
	double best;
	u64 unit;
	double unit_fit;
};

static u64 divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Cohen's kappa: of what does not by chance, the share that does. */
static double beyond(double share, double chance)
{
	return (share - chance) / (1 - chance);
}

/*
 * The share of turns that fit beyond chance. If one of any size is a multiple with p, and so is
 * each sum, then that of k turns is the first with p q^(k - 1); after TOGETHER turns one begins
 * anew.
 */
static double beyond_chance(const struct request_count *c, double p)
{
	double q = 1 - p, none = pow(q, TOGETHER);
	double fit = (1 - (TOGETHER + 1) * none + TOGETHER * none * q) / p;

	return beyond((double)c->fit / c->turns, fit / (fit + TOGETHER * none));
}

/* Counts a turn of the connection at. If its turns are a multiple together, the network cut them
 * within requests, and what was counted for them is put right. */
static void count(struct request_count *c, struct request_stream *at, u64 bytes)
{
	u64 requests;

	c->turns++;
	c->several += bytes / c->unit > 1;
	if (bytes % c->unit == 0 || at->turns == TOGETHER)
		*at = (struct request_stream){ .id = at->id };
	at->turns++;
	at->bytes += bytes;
	requests = at->bytes / c->unit;
	if (at->bytes % c->unit && requests < at->turns)
		requests = at->turns;
	c->requests += requests - at->requests; /* may be negative: these are sums modulo 2^64 */
	c->least++;
	at->requests = requests;
	if (at->bytes % c->unit)
		return;
	c->fit += at->turns;
	c->least += requests - at->turns;
	*at = (struct request_stream){ .id = at->id };
}

static void count_block(struct request_count *c, const struct request_turn *t, u32 n)
{
	struct request_stream at = { 0 };
	u32 i;

	for (i = 0; i < n; i++) {
		if (t[i].stream != at.id)
			at = (struct request_stream){ .id = t[i].stream };
		count(c, &at, t[i].bytes);
	}
}

/* Turns whose size is a multiple. */
static u64 multiples(const struct search *w, u64 unit, u32 *ret_distinct, bool *ret_double)
{
	u64 turns = 0;
	u32 i;

	*ret_distinct = 0;
	*ret_double = false;
	for (i = 0; i < w->n_sizes; i++) {
		if (w->sizes[i].bytes % unit)
			continue;
		turns += w->sizes[i].turns;
		++*ret_distinct;
		*ret_double |= w->sizes[i].bytes == 2 * unit;
	}
	return turns;
}

/*
 * Sizes that are all words of some bytes are multiples of many words by chance, and of few words
 * several of any size together. So of those that are multiples of a part of the unit, more must be
 * of the whole; if it has many such parts, several turns together may show that, too.
 */
static bool is_whole(const struct search *w, const struct request_count *c, u64 turns)
{
	u64 parts, rest = c->unit, of_part;
	u32 distinct;
	bool twice;

	for (parts = 2; parts <= TOGETHER || rest > 1; parts++) {
		if (parts > TOGETHER && parts * parts > rest)
			parts = rest;
		if (parts > TOGETHER ? rest % parts : c->unit % parts)
			continue;
		while (rest % parts == 0)
			rest /= parts;
		of_part = multiples(w, c->unit / parts, &distinct, &twice);
		if (beyond((double)turns / of_part, 1.0 / parts) < FITS &&
		    (parts <= TOGETHER ||
		     beyond_chance(c, (double)of_part / c->turns / parts) < FITS))
			return false;
	}
	return true;
}

/* Divisors of the unit fit as well as it does: the largest of those that are as good is the one. */
static void try_unit(struct search *w, u64 unit, bool alone)
{
	struct request_count c = { .unit = unit };
	u32 distinct;
	double fit;
	bool twice;
	u64 turns;

	if (unit < (alone ? SMALLEST : DIVISOR) || unit > TRIED || unit == w->unit)
		return;
	turns = multiples(w, unit, &distinct, &twice);
	if (alone ? distinct < DISTINCT || !twice : distinct < NOT_ALONE)
		return;
	count_block(&c, w->turns, w->n);
	fit = beyond_chance(&c, 1.0 / unit);
	if (fit < FITS || fit < w->best - AS_GOOD || !is_whole(w, &c, turns))
		return;
	if (fit > w->best)
		w->best = fit;
	if (unit > w->unit || w->unit_fit < w->best - AS_GOOD) {
		w->unit = unit;
		w->unit_fit = fit;
	}
}

/* Requests are of any size; buffers, and what fills them, are of round ones. */
static bool is_request(u64 unit)
{
	return unit && unit <= LARGEST && unit % 512 && unit % 500;
}

static int by_bytes(const void *a, const void *b)
{
	u64 x = ((const struct size *)a)->bytes, y = ((const struct size *)b)->bytes;

	return (x > y) - (x < y);
}

static int by_turns(const void *a, const void *b)
{
	u64 x = ((const struct size *)a)->turns, y = ((const struct size *)b)->turns;

	return x == y ? by_bytes(a, b) : x < y ? 1 : -1;
}

static int by_stream(const void *a, const void *b)
{
	const struct request_turn *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void gather_sizes(struct search *w)
{
	u32 i;

	for (i = 0; i < w->n; i++)
		w->sizes[i] = (struct size){ w->turns[i].bytes, 1 };
	qsort(w->sizes, w->n, sizeof(*w->sizes), by_bytes);
	for (i = 0; i < w->n; i++)
		if (w->n_sizes && w->sizes[w->n_sizes - 1].bytes == w->sizes[i].bytes)
			w->sizes[w->n_sizes - 1].turns++;
		else
			w->sizes[w->n_sizes++] = w->sizes[i];
	qsort(w->sizes, w->n_sizes, sizeof(*w->sizes), by_turns);
}

/* 0: none, or no memory to look for it. */
static u64 find_unit(struct request_turn *turns, u32 n)
{
	struct search w = { .turns = turns, .n = n };
	u32 i, j;

	if (n < FEWEST)
		return 0;
	w.sizes = calloc(n, sizeof(*w.sizes));
	if (!w.sizes)
		return 0;
	qsort(turns, n, sizeof(*turns), by_stream);
	gather_sizes(&w);
	for (i = 0; i < COMMON && i < w.n_sizes; i++)
		try_unit(&w, w.sizes[i].bytes, true);
	for (i = 0; i < PAIRED && i < w.n_sizes; i++)
		for (j = 0; j < i; j++)
			try_unit(&w, divisor(w.sizes[i].bytes, w.sizes[j].bytes), false);
	free(w.sizes);
	return is_request(w.unit) ? w.unit : 0;
}

/* The block is full, or all there is: looks for a unit in it. */
static void settle(struct request_size *s)
{
	u32 i;

	s->count.unit = find_unit(s->block, s->n);
	if (s->count.unit)
		count_block(&s->count, s->block, s->n);
	else
		for (i = 0; i < s->n; i++) {
			s->untold_turns++;
			s->untold_bytes += s->block[i].bytes;
		}
	s->wait = s->untold_turns; /* few blocks, however long the recording */
	request_size_free(s);
}

static bool grow(struct request_size *s)
{
	u32 room = s->room ? 2 * s->room : 16;
	struct request_turn *block;

	if (s->kept && *s->kept + room - s->room > KEPT_TURNS)
		return false;
	block = realloc(s->block, room * sizeof(*block));
	if (!block)
		return false;
	if (s->kept)
		*s->kept += room - s->room;
	s->block = block;
	s->room = room;
	return true;
}

void request_size_note(struct request_size *s, struct request_stream *at, u64 bytes)
{
	if (!bytes)
		return; /* not known, of several messages in one call */
	bytes = bytes < UINT32_MAX ? bytes : UINT32_MAX;
	if (!at->id)
		at->id = ++s->streams;
	if (s->count.unit) {
		count(&s->count, at, bytes);
		return;
	}
	if (s->wait || (s->n == s->room && !grow(s))) {
		s->wait -= s->wait > 0;
		s->untold_turns++;
		s->untold_bytes += bytes;
		return;
	}
	s->block[s->n] = (struct request_turn){ at->id, s->n, (u32)bytes };
	if (++s->n == REQUEST_SIZE_BLOCK)
		settle(s);
}

struct request_count request_size_count(struct request_size *s)
{
	struct request_count c;
	u64 untold;

	if (s->n)
		settle(s);
	c = s->count;
	if (!c.unit)
		return c;
	untold = s->untold_bytes / c.unit;
	c.turns += s->untold_turns;
	c.requests += untold > s->untold_turns ? untold : s->untold_turns;
	c.least += s->untold_turns;
	if (beyond_chance(&c, 1.0 / c.unit) < FITS || c.requests / APART > c.least)
		return (struct request_count){ 0 };
	return c;
}

void request_size_free(struct request_size *s)
{
	if (s->kept)
		*s->kept -= s->room;
	free(s->block);
	s->block = NULL;
	s->n = s->room = 0;
}
