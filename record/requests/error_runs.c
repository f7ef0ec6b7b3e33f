// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors in answers: those of one code and name, or in a row of one code, as one. */
#include "parse.h"

void take_code(char *ret, size_t size, const u8 *b, size_t at, size_t n)
{
	size_t k = 0;

	for (; at < n && k + 1 < size &&
	       ((b[at] >= 'A' && b[at] <= 'Z') || (b[at] >= '0' && b[at] <= '9') || b[at] == '_');
	     at++)
		ret[k++] = (char)b[at];
	ret[k] = '\0';
}

static bool same(const struct error_run *a, const struct error_run *b)
{
	return a->status == b->status && a->protocol == b->protocol &&
	       strcmp(a->code, b->code) == 0;
}

/* To the last run of that code: the place of its errors is given up, their number is not. */
static void join(struct errors_found *f, const struct error_run *run, u32 other)
{
	int i = f->n - 1;

	while (i && !same(&f->runs[i], run))
		i--;
	f->runs[i].count += run->count;
	if (f->runs[i].name != run->name)
		f->runs[i].name = other;
}

void errors_shorten(struct errors_found *f, int max, u32 other)
{
	while (f->n > max && f->n > 1) {
		f->n--;
		join(f, &f->runs[f->n], other);
	}
}

void errors_add(struct errors_found *f, struct error_run run, const u8 *code, size_t n)
{
	struct error_run *before = f->n ? &f->runs[f->n - 1] : NULL;

	take_code(run.code, sizeof(run.code), code, 0, n);
	while (run.name && before > f->runs && !(same(before, &run) && before->name == run.name))
		before--; /* names need no places */
	if (before && same(before, &run) && before->name == run.name &&
	    (run.name || before->first + before->count == run.first))
		before->count += run.count;
	else if (f->n < ERRORS_MAX)
		f->runs[f->n++] = run;
	else
		join(f, &run, 0);
}
