// SPDX-License-Identifier: GPL-2.0-or-later
/* The requests that a parser found in one piece of a stream. */
#include "parse.h"

/* To the last run of that name: where they begin is given up, their number is not. */
static void join(struct found *f, u32 id, u32 count)
{
	int i = f->n - 1;

	while (i >= 0 && f->runs[i].name != id)
		i--;
	if (i < 0) {
		i = f->n - 1;
		f->runs[i].name = request_names_other(f->names);
	}
	f->runs[i].count += count;
}

u32 found_add(struct found *f, u32 offset, enum protocol protocol, const char *name)
{
	struct run *last = f->n ? &f->runs[f->n - 1] : NULL;
	u32 id;

	if (!f->names) /* only trying whether the bytes make sense */
		return 0;
	id = request_names_id(f->names, protocol, name);
	if (f->n < RUNS_MAX && (!last || last->name != id))
		f->runs[f->n++] = (struct run){ offset, id, 1 };
	else
		join(f, id, 1);
	return id;
}

void found_shorten(struct found *f, int max)
{
	while (f->n > max) {
		f->n--;
		join(f, f->runs[f->n].name, f->runs[f->n].count);
	}
}
