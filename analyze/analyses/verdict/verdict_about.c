// SPDX-License-Identifier: GPL-2.0-or-later
/* Which requests a verdict is about. */
#include "verdict_names.h"

bool verdict_in_ranges(const double (*range)[2], int n, double at)
{
	int i;

	for (i = 0; i < n; i++)
		if (at >= range[i][0] && at < range[i][1])
			return true;
	return false;
}

bool verdict_is_about(const struct judged *j, s64 from, s64 to, s64 name)
{
	bool named = !j->names;
	int i;

	if (j->kind == VERDICT_pauses) {
		for (i = 0; i < j->n_pauses; i++)
			if (j->pauses[i].counts && from < j->pauses[i].end &&
			    to > j->pauses[i].start)
				return true;
		return false;
	}
	if (j->kind == VERDICT_errors)
		return (double)to >= j->start && (double)to <= j->end;
	if (j->kind == VERDICT_tail)
		return (double)to >= j->start && (double)to < j->end &&
		       (double)(to - from) > j->late.p99_otherwise;
	if (j->kind != VERDICT_slower)
		return true;
	for (i = 0; !named && i < j->names->n; i++)
		named = j->names->id[i] == name;
	return named && (!j->ranges || verdict_in_ranges(JUDGED_RANGES(j), j->ranges, (double)to));
}
