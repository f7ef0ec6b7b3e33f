// SPDX-License-Identifier: GPL-2.0-or-later
/* What the exchange that is open on a connection holds, as track_names.c read it. */
#include "exchange.h"

#include "track_names.h"

u32 names_first(const struct file *f)
{
	return f->held ? f->held->name : 0;
}

u64 names_held(const struct file *f)
{
	return f->held ? f->held->total : 0;
}

u32 names_errors(const struct file *f)
{
	return f->held ? f->held->errors : 0;
}

u64 *names_cpu(const struct file *f)
{
	return f->held && f->held->n_parts ? &f->held->parts[0].stat->cpu : NULL;
}
