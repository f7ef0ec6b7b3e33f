// SPDX-License-Identifier: GPL-2.0-or-later
#include "request_size.h"

#define SMALLEST 16  /* bytes of a request: below, too much is a multiple by chance or padding */
#define COMMON	 16  /* most common sizes whose divisors are tried */
#define DIVISOR	 64  /* bytes of a request that was never seen alone */
#define DISTINCT 3   /* multiples that were seen */
#define FITS	 0.6 /* share of turns beyond chance */
#define AS_GOOD	 0.02

static u64 divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Cohen's kappa: of the turns that do not fit by chance, one in unit, the share that does. */
static double beyond_chance(u64 fit, u64 turns, u64 unit)
{
	double chance = 1.0 / unit;

	return ((double)fit / turns - chance) / (1 - chance);
}

/* 0 if too few sizes are multiples. */
static double fit_of(const struct request_size *s, u64 unit)
{
	u64 turns = 0, fit = 0;
	u32 i, distinct = 0;

	for (i = 0; i < s->n; i++) {
		turns += s->sizes[i].turns;
		if (s->sizes[i].bytes % unit)
			continue;
		fit += s->sizes[i].turns;
		distinct++;
	}
	return distinct < DISTINCT ? 0 : beyond_chance(fit, turns, unit);
}

struct search {
	double best;
	u64 unit;
	double unit_fit;
};

/* Divisors of the unit fit as well as it does: the largest of those that are as good is the one. */
static void try_unit(const struct request_size *s, u64 unit, u64 least, struct search *w)
{
	double fit;

	if (unit < least || unit == w->unit)
		return;
	fit = fit_of(s, unit);
	if (fit < FITS || fit < w->best - AS_GOOD)
		return;
	if (fit > w->best)
		w->best = fit;
	if (unit > w->unit || w->unit_fit < w->best - AS_GOOD) {
		w->unit = unit;
		w->unit_fit = fit;
	}
}

/* The most common sizes first. */
static void sort_common(struct request_size *s)
{
	u32 i, j, most;

	for (i = 0; i < COMMON && i < s->n; i++) {
		for (most = i, j = i + 1; j < s->n; j++)
			if (s->sizes[j].turns > s->sizes[most].turns)
				most = j;
		if (most != i) {
			u64 bytes = s->sizes[i].bytes, turns = s->sizes[i].turns;

			s->sizes[i] = s->sizes[most];
			s->sizes[most].bytes = bytes;
			s->sizes[most].turns = turns;
		}
	}
}

static u64 find_unit(struct request_size *s)
{
	struct search w = { 0 };
	u32 i, j;

	if (s->n < DISTINCT)
		return 0;
	for (i = 0; i < s->n; i++)
		try_unit(s, s->sizes[i].bytes, SMALLEST, &w);
	sort_common(s);
	for (i = 0; i < COMMON && i < s->n; i++)
		for (j = 0; j < i; j++)
			try_unit(s, divisor(s->sizes[i].bytes, s->sizes[j].bytes), DIVISOR, &w);
	return w.unit;
}

static void count(struct request_count *c, u64 bytes, u64 turns)
{
	u64 requests = bytes < c->unit ? 1 : bytes / c->unit;

	c->turns += turns;
	if (bytes % c->unit == 0)
		c->fit += turns;
	if (requests > 1)
		c->several += turns;
	c->requests += requests * turns;
	c->least += bytes % c->unit == 0 ? requests * turns : turns;
}

void request_size_note(struct request_size *s, u64 bytes)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->sizes[i].bytes == bytes) {
			s->sizes[i].turns++;
			return;
		}
	if (s->n < REQUEST_SIZES) {
		s->sizes[s->n].bytes = bytes;
		s->sizes[s->n++].turns = 1;
		return;
	}
	if (!s->full)
		s->later.unit = find_unit(s);
	s->full = true;
	if (s->later.unit)
		count(&s->later, bytes, 1);
}

struct request_count request_size_count(struct request_size *s)
{
	struct request_count c = s->later;
	u32 i;

	if (!s->full)
		c.unit = find_unit(s);
	if (!c.unit)
		return c;
	for (i = 0; i < s->n; i++)
		count(&c, s->sizes[i].bytes, s->sizes[i].turns);
	/* those that came later must have kept to it */
	return beyond_chance(c.fit, c.turns, c.unit) < FITS ? (struct request_count){ 0 } : c;
}
