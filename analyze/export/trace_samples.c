// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples of the CPU clock as instants: what ran between two of them is not known. An instant has
 * the name of the innermost function; its callers are arguments.
 */
#include "trace_rail.h"

#include <stdio.h>
#include <string.h>

/* Of "outermost;...;innermost". */
static const char *innermost(const char *stack)
{
	const char *last = strrchr(stack, ';');

	return last ? last + 1 : stack;
}

int trace_sample(struct trace *t, sqlite3_stmt *s)
{
	s64 tid = sqlite3_column_int64(s, 1);
	const char *user = db_text(s, 3), *kernel = db_text(s, 4);
	struct rail *r = trace_rail(t, tid);
	struct trace_event v = { .kind = TRACE_INSTANT,
				 .ts = sqlite3_column_int64(s, 0),
				 .category = "sample" };
	char name[128];

	if (!r)
		return ERR_FAIL;
	if (!r->samples.k.named) {
		snprintf(name, sizeof(name), "%s[%lld] samples", r->comm, (long long)tid);
		trace_track(t, &r->samples, TRACK_LANE, r->pid, SAMPLES_BASE + tid, name,
			    2 * (tid & 0x3fffffff) + 1);
	}
	v.name = *kernel ? innermost(kernel) : *user ? innermost(user) : "[unknown]";
	trace_arg(&v, "ns", sqlite3_column_int64(s, 2));
	if (*user)
		trace_arg_text(&v, "user", user);
	if (*kernel)
		trace_arg_text(&v, "kernel", kernel);
	return t->w.form->event(&t->w, &r->samples.k, &v);
}
