// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both pauses and a change outside them: what added more time to requests comes first. So does a
 * queue that grows from before the first of them on, and longer than they took. Requests
 * that cost more CPU time outside pauses of the whole server come first, unless a pause lasts until
 * the end: no pause explains them, and their sentence has the pauses too.
 */
#include "verdict_levels.h"
#include "verdict_names.h"

#include "analyze/store/db.h"
#include "analyze/store/request_rows.h"

static bool hangs_at_the_end(const struct analysis_ctx *c, const struct judged *j)
{
	int i;

	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts && j->pauses[i].end >= c->duration)
			return true;
	return false;
}

/* Until the end of the recording included. */
static int spend_in_pauses(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	s64 until_end = 0;
	int i;

	for (i = 0; i < j->n_pauses; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (p->counts)
			j->spent += judged_is_part(p) ? p->part_waited : p->inside.sum;
	}
	if (hangs_at_the_end(c, j) &&
	    db_int(c->db, &until_end, e,
		   "SELECT CAST(total(?2 - ts) AS INT) FROM unanswered u WHERE " ANSWER_DUE " AND"
		   " coalesce(name, 0) NOT IN (SELECT id FROM request_name WHERE"
		   " awaits(protocol, name)) AND service IN (SELECT id FROM service WHERE"
		   " server=?1)",
		   "ii", j->about.id, c->duration) < 0)
		return ERR_FAIL;
	j->spent += (double)until_end;
	return 0;
}

/*
 * Pauses while a queue grows that they do not explain: the change lasts until the end, and its last
 * request waited for longer than those of the change took on average.
 */
static bool grows_with_pauses(const struct analysis_ctx *c, const struct judged *j)
{
	double first = INFINITY;
	int i;

	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts)
			first = fmin(first, (double)j->pauses[i].end);
	return isfinite(first) && !hangs_at_the_end(c, j) && verdict_outlasts(j, first) &&
	       j->chance.last_wait > j->slow && isnan(verdict_until(j, j->end));
}

double verdict_until(const struct judged *j, double end)
{
	int i;

	if (!(end >= 0 && end < j->n_windows * j->width))
		return NAN;
	i = (int)round(end / j->width);
	while (i < j->n_windows && j->traffic[i].exchanges <= 0)
		i++;
	return i < j->n_windows ? end : NAN;
}

double verdict_names_until(const struct judged *j)
{
	return j->end < j->names->last ? verdict_until(j, j->end) : NAN;
}

double verdict_errors_until(const struct judged *j)
{
	const struct verdict_errors *m = &j->more;
	bool all = m->of_name && m->name_n >= m->name_of; /* those from its start on */

	return all ? NAN : verdict_until(j, m->end);
}

double verdict_since(const struct judged *j)
{
	double start = j->start, before = 0;
	int i;

	if (j->kind != VERDICT_slower || j->given || j->names)
		return start;
	for (i = 0; i < j->ranges; i++)
		if (j->range[i][1] <= j->start)
			before = fmax(before, j->range[i][1]);
	for (i = j->whole - 1; i >= 0; i--) {
		const struct judged_pause *p = &j->pauses[i];
		double length = (double)(p->end - p->start);
		/* the first slow window begins after its pause; further pauses touch */
		double gap = start == j->start ? fmin(j->width, length) : 0;

		if (p->counts && (double)p->start < start && (double)p->end >= start - gap &&
		    (double)p->end < j->end)
			start = (double)p->start;
	}
	return fmax(start, before);
}

int verdict_choose(struct analysis_ctx *c, struct judged *j, bool changed, const struct limits *l,
		   struct err *e)
{
	const struct judged_pause *longest = judged_longest(j);
	int ret = spend_in_pauses(c, j, e);
	bool named = j->names && !(longest && judged_is_part(longest)), slower, dearer = false;

	slower = changed && (!j->counted || named || verdict_added_outside(j) > j->spent ||
			     grows_with_pauses(c, j));
	if (ret == 0 && changed && !slower && !judged_is_part(longest) && !hangs_at_the_end(c, j))
		ret = verdict_dearer_outside(c, j, l, &dearer, e);
	slower |= dearer;
	j->kind = slower ? VERDICT_slower : VERDICT_pauses;
	if (!slower)
		verdict_range_of_pauses(j);
	return ret;
}
