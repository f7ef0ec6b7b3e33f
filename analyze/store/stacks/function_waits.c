// SPDX-License-Identifier: GPL-2.0-or-later
#include "function_waits.h"

#include <stddef.h>
#include <string.h>

/* Of PostgreSQL 9 to 17, and of CPython 3: the only wait in each. */
static const struct named_wait {
	const char *function;
	const char *waits;
	bool computing;
} waits[] = {
	{ "ProcSleep", "waits for a lock of PostgreSQL", false },
	{ "PyEval_RestoreThread", "waits for Python's interpreter lock", true },
	{ "PyEval_AcquireThread", "waits for Python's interpreter lock", true },
	{ "take_gil", "waits for Python's interpreter lock", true },
};

static const struct named_wait *wait_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strcmp(name, waits[i].function) == 0)
			return &waits[i];
	return NULL;
}

const char *function_waits(const char *name)
{
	const struct named_wait *w = wait_of(name);

	return w ? w->waits : NULL;
}

bool function_waits_for_computing(const char *name)
{
	const struct named_wait *w = wait_of(name);

	return w && w->computing;
}
