// SPDX-License-Identifier: GPL-2.0-or-later
/* Silences of servers by buckets of answers. */
#include "silences.h"

#include <stdint.h>
#include <stdlib.h>

#define BUCKETS_MOST 2000000 /* of all servers together: 64 MB */
#define WIDTH_LEAST  250000  /* ns */

struct bucket {
	s64 first, last;    /* answers; last -1: none */
	s64 oldest, newest; /* arrivals of the requests answered in it; later of all from it on */
};

int silences_begin(struct silences *s, u32 n_servers, s64 duration, struct err *e)
{
	u64 most = n_servers ? BUCKETS_MOST / n_servers : 0;
	size_t i, n;

	*s = (struct silences){ .n_servers = n_servers, .width = WIDTH_LEAST };
	if (!n_servers)
		return 0;
	if (most < 2)
		return err_set(e, ERR_FAIL, "too many servers");
	while ((u64)(duration / s->width) + 2 > most)
		s->width *= 2;
	s->n_buckets = (u32)(duration / s->width) + 2;
	n = (size_t)s->n_buckets * n_servers;
	s->buckets = malloc(n * sizeof(*s->buckets));
	if (!s->buckets)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < n; i++)
		s->buckets[i] = (struct bucket){ INT64_MAX, -1, INT64_MAX, -1 };
	return 0;
}

void silences_answer(struct silences *s, u32 server, s64 arrival, s64 end)
{
	s64 at = end < 0 ? 0 : end / s->width;
	struct bucket *b;

	if (server >= s->n_servers)
		return;
	at = at < s->n_buckets ? at : s->n_buckets - 1;
	b = &s->buckets[(size_t)server * s->n_buckets + (size_t)at];
	b->first = end < b->first ? end : b->first;
	b->last = end > b->last ? end : b->last;
	b->oldest = arrival < b->oldest ? arrival : b->oldest;
	b->newest = arrival > b->newest ? arrival : b->newest;
}

/* Counts the gaps of one server, or writes them to v. */
static size_t gaps_of(const struct silences *s, u32 server, struct silence *v)
{
	const struct bucket *b = &s->buckets[(size_t)server * s->n_buckets];
	s64 last = 0, newest = -1;
	bool any = false;
	size_t n = 0;
	u32 i;

	for (i = 0; i < s->n_buckets; i++) {
		s64 start = b[i].oldest > last ? b[i].oldest : last;

		if (b[i].last < 0)
			continue;
		if (b[i].first - start >= SILENCE_LEAST && v)
			v[n] = (struct silence){ .start = b[i].first,
						 .end = b[i].first,
						 .server = server,
						 .edge = !any,
						 .answered = last,
						 .newest = newest };
		n += b[i].first - start >= SILENCE_LEAST;
		any = true;
		last = b[i].last;
		newest = b[i].newest > newest ? b[i].newest : newest;
	}
	return n;
}

/* oldest becomes that of all buckets from it on: they waited before as well. */
static void carry_back(struct silences *s, u32 server)
{
	struct bucket *b = &s->buckets[(size_t)server * s->n_buckets];
	u32 i;

	for (i = s->n_buckets - 1; i > 0; i--)
		if (b[i].oldest < b[i - 1].oldest)
			b[i - 1].oldest = b[i].oldest;
}

int silences_between(struct silences *s, struct err *e)
{
	size_t n = 0;
	u32 i;

	s->first = calloc((size_t)s->n_servers + 1, sizeof(*s->first));
	if (!s->first)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < s->n_servers; i++) {
		carry_back(s, i);
		n += gaps_of(s, i, NULL);
	}
	s->v = calloc(n ? n : 1, sizeof(*s->v));
	if (!s->v)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < s->n_servers; i++) {
		s->first[i] = (u32)s->n;
		s->n += gaps_of(s, i, s->v + s->n);
	}
	s->first[i] = (u32)s->n;
	free(s->buckets);
	s->buckets = NULL;
	return 0;
}

size_t silences_after(const struct silences *s, u32 server, s64 ts)
{
	size_t low = s->first[server], high = s->first[server + 1], mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (s->v[mid].end <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void silences_arrival(struct silences *s, u32 server, s64 arrival, s64 end)
{
	size_t i;

	if (server >= s->n_servers)
		return;
	/* newest rises: once it is at the arrival, this request was overtaken for good */
	for (i = silences_after(s, server, arrival);
	     i < s->first[server + 1] && s->v[i].end <= end && s->v[i].newest < arrival; i++) {
		s64 start = arrival > s->v[i].answered ? arrival : s->v[i].answered;

		s->v[i].start = start < s->v[i].start ? start : s->v[i].start;
	}
}

static void take_piece(struct silence *v, s64 to)
{
	if (to - v->piece > v->best_end - v->best) {
		v->best = v->piece;
		v->best_end = to;
	}
}

void silences_sent(struct silences *s, u32 server, s64 from, s64 to)
{
	struct silence *v;
	size_t i;

	if (server >= s->n_servers)
		return;
	i = silences_after(s, server, from);
	if (i == s->first[server + 1])
		return;
	v = &s->v[i];
	if (from < v->start || to > v->end)
		return; /* what was sent may have been sent outside */
	if (!v->piece)
		v->piece = v->start;
	take_piece(v, from);
	v->piece = to;
}

static int by_length(const void *a, const void *b)
{
	const struct silence *x = a, *y = b;
	s64 m = x->end - x->start, n = y->end - y->start;

	if (m != n)
		return m > n ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_time(const void *a, const void *b)
{
	const struct silence *x = a, *y = b;

	if (x->server != y->server)
		return x->server < y->server ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

void silences_end(struct silences *s, size_t most)
{
	size_t i, n = 0;
	u32 k = 0;

	for (i = 0; i < s->n; i++) {
		struct silence *v = &s->v[i];

		if (v->piece) {
			take_piece(v, v->end);
			v->start = v->best;
			v->end = v->best_end;
		}
		if (v->end - v->start >= SILENCE_LEAST)
			s->v[n++] = *v;
	}
	qsort(s->v, n, sizeof(*s->v), by_length);
	s->n = n < most ? n : most;
	qsort(s->v, s->n, sizeof(*s->v), by_time);
	for (i = 0; i < s->n; i++)
		while (k <= s->v[i].server)
			s->first[k++] = (u32)i;
	while (k <= s->n_servers)
		s->first[k++] = (u32)s->n;
}

void silences_free(struct silences *s)
{
	free(s->v);
	free(s->buckets);
	free(s->first);
	*s = (struct silences){ 0 };
}
