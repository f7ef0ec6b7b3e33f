// SPDX-License-Identifier: GPL-2.0-or-later
/* The head of a trace: which recording, how complete, and its clocks. */
#include "analyze/store/fact.h"
#include "trace_event.h"

int trace_start(struct trace_writer *w, sqlite3 *db)
{
	static const char *const keys[] = { "verdict", "host",	  "kernel",
					    "start",   "command", "obsrec" };
	char values[sizeof(keys) / sizeof(keys[0])][512];
	const char *texts[sizeof(keys) / sizeof(keys[0]) + 1][2] = { 0 };
	struct trace_facts facts = { .texts = texts };
	size_t i;
	int ret = coverage_verdict(values[0], sizeof(values[0]), db, w->e);

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]) && ret == 0; i++) {
		if (i)
			ret = fact_text(values[i], sizeof(values[i]), db, keys[i], w->e);
		texts[i][0] = keys[i];
		texts[i][1] = values[i];
	}
	if (ret == 0)
		ret = fact_number(&facts.realtime, db, "start_realtime_ns", w->e);
	if (ret == 0)
		ret = fact_number(&facts.boottime, db, "start_boottime_ns", w->e);
	if (ret == 0)
		ret = fact_number(&facts.monotonic, db, "start_monotonic_ns", w->e);
	if (ret == 0)
		ret = w->form->start(w, &facts);
	return ret;
}
