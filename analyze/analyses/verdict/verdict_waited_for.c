// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long requests waited, before they were read, while the thread that then read them was
 * occupied by requests of one name. Where each connection has a thread of its own, none waits so,
 * however long others take; nor where another thread works on what one reads.
 */
#include "verdict_names.h"

#include "format/grow.h"

#include <stdlib.h>

#define BACK_MOST 1000 /* earlier requests of its thread that one waited for */

struct waited_for {
	const struct judged *j;
	const struct idmap *judged;
	s64 name, reader;
	struct interval {
		s64 from, to;
	} * v; /* of requests of that name on reader, in order of time */
	size_t n;
	double ns;
};

/* How much of the wait these occupied. */
static double occupied(const struct waited_for *b, s64 from, s64 to)
{
	double ns = 0;
	size_t i, last = b->n > BACK_MOST ? b->n - BACK_MOST : 0;

	for (i = b->n; i > last && b->v[i - 1].to > from; i--)
		ns += fmax(0, fmin((double)b->v[i - 1].to, (double)to) -
				      fmax((double)b->v[i - 1].from, (double)from));
	return ns;
}

/* Columns: reader, ts, queued, dur, name, occupied, errors, requests. */
static int on_request(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct waited_for *b = arg;
	s64 reader = sqlite3_column_int64(q, 0), ts = sqlite3_column_int64(q, 1),
	    queued = sqlite3_column_int64(q, 2), end = ts + sqlite3_column_int64(q, 3),
	    name = sqlite3_column_int64(q, 4), occupies = sqlite3_column_int64(q, 5);

	if (reader != b->reader)
		b->n = 0;
	b->reader = reader;
	if (name != b->name) {
		if (end >= (s64)b->j->start && end < (s64)b->j->end &&
		    idmap_get(b->judged, (u64)name) &&
		    !verdict_is_quick(b->j, name, sqlite3_column_int64(q, 6),
				      sqlite3_column_int64(q, 7)))
			b->ns += occupied(b, ts - queued, ts);
		return 0;
	}
	if (!occupies)
		return 0;
	if (GROW(b->v, b->n, "requests", e) < 0)
		return ERR_FAIL;
	b->v[b->n++] = (struct interval){ ts, ts + occupies };
	return 0;
}

int verdict_waited_for(struct analysis_ctx *c, const struct judged *j, const struct idmap *judged,
		       s64 name, double *ret_ns, struct err *e)
{
	static const char sql[] =
		"SELECT reader, ts, queued, dur, name, occupied, errors, requests FROM " OCCUPYING
		" WHERE NOT lossy AND NOT paced AND name IS NOT NULL AND service IN (SELECT id FROM service WHERE"
		" server=?1) ORDER BY reader, ts";
	struct waited_for b = { .j = j, .judged = judged, .name = name };
	int ret = db_each(c->db, e, on_request, &b, sql, "i", j->about.id);

	free(b.v);
	*ret_ns = b.ns;
	return ret;
}
