// SPDX-License-Identifier: GPL-2.0-or-later
/* Which requests a verdict is about, and in which time ranges. */
#include "verdict_names.h"

#include "analyze/store/db.h"

#include <math.h>
#include <stdlib.h>

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

int verdict_ranges(struct analysis_ctx *c, const struct judged *j, int rank, struct err *e)
{
	bool paused = j->kind == VERDICT_pauses, slower = j->kind == VERDICT_slower;
	int i, ret = 0;

	if (j->status != STATUS_PROBLEM || isnan(j->start))
		return 0;
	if (!paused && !(slower && j->ranges))
		return db_insert(c->db, TABLE_verdict_range, e, "idd", (s64)rank, j->start,
				 isnan(j->end) ? (double)c->duration : j->end);
	for (i = 0; paused && i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts)
			ret = db_insert(c->db, TABLE_verdict_range, e, "iii", (s64)rank,
					j->pauses[i].start, j->pauses[i].end);
	for (i = 0; slower && i < j->ranges && ret == 0; i++)
		ret = db_insert(c->db, TABLE_verdict_range, e, "idd", (s64)rank, j->range[i][0],
				j->range[i][1]);
	return ret;
}

void verdict_forget_change(struct judged *j)
{
	j->slow = j->baseline = j->ratio = j->ratio_low = j->ratio_high = j->start = j->end = NAN;
	j->n = j->ranges = 0;
	free(j->names);
	j->names = NULL;
}
