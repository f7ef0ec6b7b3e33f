// SPDX-License-Identifier: GPL-2.0-or-later
/* What the parts of a measured recording share: subjects by columns, samples, splits. */
#include "compare.h"

#include "format/escape.h"
#include "format/grow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PER_WINDOW 10 /* independent durations */

const struct compare_desc compare_metrics[N_COMPARE_METRICS] = {
#define METRIC(id, what, name, unit, form, quantile, higher, lower) \
	{ what, name, unit, FORM_##form, quantile, higher, lower },
#include "compare.def"
#undef METRIC
};

const char *const compare_kinds[N_COMPARE_KINDS] = {
	[COMPARE_SERVICE] = "service", [COMPARE_PROCESS] = "process",
	[COMPARE_CALL] = "call",       [COMPARE_FUNCTION] = "function",
	[COMPARE_DISK] = "disk",       [COMPARE_REQUEST] = "request",
};

const double compare_slow_bounds[SLOW_BOUNDS] = { 1e5, 1e6, 1e7, 1e8, 1e9, 1e10 };

/* Escapes; cuts no character. */
static void take(char *ret, size_t size, const char *text)
{
	struct buf safe = { 0 };
	size_t n;

	ret[0] = '\0';
	if (!text || escape_add(&safe, ESCAPE_TEXT, text, strlen(text), NULL) < 0 || !safe.len)
		goto out;
	n = safe.len < size ? safe.len : size - 1;
	while (n < safe.len && n && (safe.data[n] & 0xc0) == 0x80)
		n--;
	memcpy(ret, safe.data, n);
	ret[n] = '\0';
out:
	buf_free(&safe);
}

void compare_subject(struct compared_subject *ret, enum compare_kind kind, const char *comm,
		     const char *protocol, s64 port, const char *object)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = kind;
	ret->port = port;
	take(ret->comm, sizeof(ret->comm), comm);
	take(ret->protocol, sizeof(ret->protocol), protocol);
	take(ret->object, sizeof(ret->object), object);
}

void compare_subject_row(struct compared_subject *ret, sqlite3_stmt *q, int column)
{
	s64 kind = sqlite3_column_int64(q, column), port = COMPARE_NO_PORT;

	if (sqlite3_column_type(q, column + 3) != SQLITE_NULL)
		port = sqlite3_column_int64(q, column + 3);
	compare_subject(ret, kind >= 0 && kind < N_COMPARE_KINDS ? kind : COMPARE_PROCESS,
			db_text(q, column + 1), db_text(q, column + 2), port,
			db_text(q, column + 4));
}

bool compare_same(const struct compared_subject *a, const struct compared_subject *b)
{
	return a->kind == b->kind && a->port == b->port && strcmp(a->comm, b->comm) == 0 &&
	       strcmp(a->protocol, b->protocol) == 0 && strcmp(a->object, b->object) == 0;
}

void compare_subject_text(char *ret, size_t size, const struct compared_subject *s)
{
	const char *comm = *s->comm ? s->comm : "?";

	if (s->kind == COMPARE_SERVICE && s->port > 0)
		snprintf(ret, size, "%s %s:%lld", comm,
			 strcmp(s->protocol, "tcp") == 0 ? "" : s->protocol, (long long)s->port);
	else if (s->kind == COMPARE_SERVICE)
		snprintf(ret, size, "%s (%s)", comm, s->protocol);
	else if (s->kind == COMPARE_PROCESS)
		snprintf(ret, size, "%s", comm);
	else if (s->kind == COMPARE_CALL || s->kind == COMPARE_REQUEST)
		snprintf(ret, size, "%s %s", comm, s->object);
	else if (s->kind == COMPARE_DISK)
		snprintf(ret, size, "%s %s", s->object, s->protocol);
	else
		snprintf(ret, size, "%s", s->object);
}

struct sample *compare_add(struct measured *m, const struct compared_subject *subject,
			   enum compare_metric metric, struct err *e)
{
	struct sample *s;

	if (GROW(m->samples, m->n_samples, "metrics", e) < 0)
		return NULL;
	s = &m->samples[m->n_samples++];
	*s = (struct sample){ .subject = *subject, .metric = metric, .wander = NAN, .tau = NAN };
	s->log = (struct estimate){ NAN, NAN, 0, false };
	return s;
}

struct split *compare_split_of(struct measured *m, const struct compared_subject *subject,
			       const char *unit, struct err *e)
{
	size_t i;

	for (i = 0; i < m->n_splits; i++)
		if (compare_same(&m->splits[i].subject, subject))
			return &m->splits[i];
	if (GROW(m->splits, i, "sums of time", e) < 0)
		return NULL;
	m->splits[i] = (struct split){ .subject = *subject, .unit = unit };
	return &m->splits[m->n_splits++];
}

const struct sample *compare_find(const struct measured *m, const struct compared_subject *subject,
				  enum compare_metric metric)
{
	size_t i;

	for (i = 0; i < m->n_samples; i++)
		if (m->samples[i].metric == metric && compare_same(&m->samples[i].subject, subject))
			return &m->samples[i];
	return NULL;
}

double compare_wander(const double *num, const double *den, size_t k)
{
	double x[WINDOWS_MOST];
	size_t i;

	for (i = 0; i < k && i < WINDOWS_MOST; i++) {
		if (!(num[i] > 0) || !(den[i] > 0))
			return NAN;
		x[i] = log(num[i] / den[i]);
	}
	return stats_wander(x, i);
}

const struct shape *compare_shape(const struct measured *m, const struct compared_subject *subject,
				  const char *what)
{
	size_t i;

	for (i = 0; i < m->n_shapes; i++)
		if (compare_same(&m->shapes[i].subject, subject) &&
		    strcmp(m->shapes[i].what, what) == 0)
			return &m->shapes[i];
	return NULL;
}

void compare_discount(struct estimate *est, int k, const struct measured *m,
		      const struct compared_subject *subject, const char *what)
{
	const struct shape *s = compare_shape(m, subject, what);
	double worth = s ? fmax(s->n / s->tau / PER_WINDOW, 1.5) : k;

	if (!(worth < k))
		return;
	est->error *= sqrt(k / worth);
	est->df = worth - 1;
}
