// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which services belong together: those of processes of one name on one port. A server that takes
 * a new port each time it is started has none in common; if it answers on one service only in every
 * recording, there is no doubt all the same, and the service loses its port.
 */
#include "compare.h"

#include <stdio.h>
#include <string.h>

/* The only service of the process in this recording, or NULL. */
static const char *only_service(const struct measured *m, const char *process)
{
	const char *found = NULL;
	size_t i;

	for (i = 0; i < m->n_shapes; i++) {
		if (strcmp(m->shapes[i].process, process) != 0)
			continue;
		if (found)
			return NULL;
		found = m->shapes[i].subject;
	}
	return found;
}

/* True if each recording has one, and not all have the same; where: what they are called. */
static bool loses_port(const struct sides *s, const char *process, const char *where[2])
{
	const char *first = only_service(&s->of[0][0], process), *here;
	bool differ = false;
	size_t i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < s->n[side]; i++) {
			here = only_service(&s->of[side][i], process);
			if (!here)
				return false;
			differ |= strcmp(here, first) != 0;
			where[side] = i && strcmp(here, where[side]) != 0 ? "several" : here;
		}
	return differ;
}

static void rename_service(struct measured *m, const char *process)
{
	char old[COMPARE_SUBJECT];
	size_t i;

	snprintf(old, sizeof(old), "%s", only_service(m, process));
	for (i = 0; i < m->n_samples; i++)
		if (compare_metrics[m->samples[i].metric].service &&
		    strcmp(m->samples[i].subject, old) == 0)
			snprintf(m->samples[i].subject, COMPARE_SUBJECT, "%s", process);
	for (i = 0; i < m->n_shapes; i++)
		if (strcmp(m->shapes[i].process, process) == 0)
			snprintf(m->shapes[i].subject, COMPARE_SUBJECT, "%s", process);
}

int compare_pair(sqlite3 *db, struct sides *s, struct err *e)
{
	const struct measured *m = &s->of[0][0];
	const char *where[2];
	size_t i, k;
	int side, ret = 0;

	for (i = 0; i < m->n_shapes && ret == 0; i++) {
		const char *process = m->shapes[i].process;

		if (!*process || !loses_port(s, process, where))
			continue;
		ret = db_insert(
			db, TABLE_comparability, e, "sssss", "service", where[0], where[1],
			"differs",
			"paired without its port, because the process answered on no other");
		for (side = 0; side < 2; side++)
			for (k = 0; k < s->n[side]; k++)
				rename_service(&s->of[side][k], process);
	}
	return ret;
}
