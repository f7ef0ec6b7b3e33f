/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: a server with workers and clients that wait for their answers, as a recording. */
#pragma once

#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdarg.h>
#include <stdlib.h>

#define POOL_MS	   1000000L
#define POOL_LINES 400000
#define WORKERS	   4
#define CLIENTS	   24

struct pool_line {
	long ts, nth;
	int cpu;
	char *text;
};

struct pool_text {
	struct pool_line *v;
	long n;
	int cpu; /* of the lines that follow */
};

__attribute__((format(printf, 3, 4))) static inline void pool_line(struct pool_text *x, long ts,
								   const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_true(x->n < POOL_LINES);
	x->v[x->n] = (struct pool_line){ ts, x->n, x->cpu, strdup(text) };
	x->n++;
}

static inline int pool_by_cpu(const void *a, const void *b)
{
	const struct pool_line *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu - y->cpu;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->nth < y->nth ? -1 : 1;
}

/* The lines of each CPU in their order, and the end; frees them. */
static inline sqlite3 *pool_loaded(struct text *x, struct pool_text *lines, long end)
{
	long i;

	qsort(lines->v, (size_t)lines->n, sizeof(*lines->v), pool_by_cpu);
	for (i = 0; i < lines->n; i++) {
		if (!i || lines->v[i - 1].cpu != lines->v[i].cpu)
			text_line(x, "@cpu %d", lines->v[i].cpu);
		text_line(x, "%ld %s", lines->v[i].ts, lines->v[i].text);
		free(lines->v[i].text);
	}
	free(lines->v);
	text_line(x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", end, end);
	return loaded_buf(&x->b);
}
