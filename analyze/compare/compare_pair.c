// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which services belong together: those of processes of one name on one port. A server that takes
 * a new port each time it is started has none in common; if it answers on one service only in every
 * recording, there is no doubt, and the service loses its port.
 */
#include "compare.h"

#include "analyze/store/finding.h"

#include <stdio.h>
#include <string.h>

/* The only service of processes of this name in this recording, or NULL. */
static const struct compared_subject *only_service(const struct measured *m, const char *comm)
{
	const struct compared_subject *found = NULL, *s;
	size_t i;

	for (i = 0; i < m->n_samples; i++) {
		s = &m->samples[i].subject;
		if (s->kind != COMPARE_SERVICE || strcmp(s->comm, comm) != 0)
			continue;
		if (found && !compare_same(found, s))
			return NULL;
		found = s;
	}
	return found;
}

/* True if each recording has one, and not all have the same; where: what they are called. */
static bool loses_port(const struct sides *s, const char *comm, char where[2][COMPARE_TEXT])
{
	const struct compared_subject *first = only_service(&s->of[0][0], comm), *here, *of_side;
	bool differ = false;
	size_t i;
	int side;

	for (side = 0; side < 2; side++)
		for (of_side = NULL, i = 0; i < s->n[side]; i++) {
			here = only_service(&s->of[side][i], comm);
			if (!first || !here || strcmp(first->protocol, here->protocol) != 0)
				return false;
			differ |= !compare_same(here, first);
			if (of_side && !compare_same(here, of_side))
				snprintf(where[side], COMPARE_TEXT, "several");
			else if (!of_side)
				compare_subject_text(where[side], COMPARE_TEXT, here);
			of_side = of_side ? of_side : here;
		}
	return differ;
}

static void drop(struct compared_subject *s, const char *comm)
{
	if (s->kind == COMPARE_SERVICE && strcmp(s->comm, comm) == 0)
		s->port = COMPARE_NO_PORT;
}

static void drop_port(struct measured *m, const char *comm)
{
	size_t i;

	for (i = 0; i < m->n_samples; i++)
		drop(&m->samples[i].subject, comm);
	for (i = 0; i < m->n_shapes; i++)
		drop(&m->shapes[i].subject, comm);
	for (i = 0; i < m->n_splits; i++)
		drop(&m->splits[i].subject, comm);
}

static int put_paired(sqlite3 *db, const char *before, const char *after, struct err *e)
{
	const struct value values[] = { VALUE_TEXT("before", before),
					VALUE_TEXT("after", after),
					{ 0 } };
	const struct finding f = { FINDING_compare_ports, NOTE, LIMIT, .values = values };
	s64 id = 0;
	int ret = finding_put(db, "compare", &f, &id, e);

	if (ret < 0)
		return ret;
	return db_insert(db, TABLE_comparability, e, "ssssi", "service", before, after, "differs",
			 id);
}

int compare_pair(sqlite3 *db, struct sides *s, struct err *e)
{
	const struct measured *m = &s->of[0][0];
	char comm[COMPARE_NAME], where[2][COMPARE_TEXT];
	size_t i, k;
	int side, ret = 0;

	for (i = 0; i < m->n_samples && ret == 0; i++) {
		if (m->samples[i].subject.kind != COMPARE_SERVICE)
			continue;
		snprintf(comm, sizeof(comm), "%s", m->samples[i].subject.comm);
		if (!loses_port(s, comm, where))
			continue;
		ret = put_paired(db, where[0], where[1], e);
		for (side = 0; side < 2; side++)
			for (k = 0; k < s->n[side]; k++)
				drop_port(&s->of[side][k], comm);
	}
	return ret;
}
