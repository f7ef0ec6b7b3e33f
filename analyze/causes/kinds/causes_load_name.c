// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of which name need the CPU time that is added, by samples of it, and how many of them
 * there are: more requests of a name that costs more than others are dearer requests, too. Which of
 * the requests of one exchange needs its CPU time is not known, nor their names but the first.
 */
#include "analyze/causes/causes.h"

#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"

#include <math.h>
#include <stdlib.h>

#define MOST	      0.5 /* of the added CPU time */
#define SAMPLES_LEAST 10  /* of its requests, while they are slow */
#define UNNAMED	      0
#define SEVERAL	      (-1) /* exchanges of several requests, in place of a name */

/* Of the baseline, and of the slow time: CPU time, ns, and requests. */
struct by_name {
	s64 name; /* or UNNAMED, SEVERAL */
	double cpu[2], samples[2], n[2];
};

struct by_names {
	const struct units *u;
	const struct comparison *c;
	struct idmap pids;	   /* of the service */
	struct idmap names;	   /* name + 2 -> struct by_name */
	s64 known;		   /* number of blocks in which samples have their requests */
	double blocks[2], none[2]; /* none: CPU time of no request, ns */
};

/* 0 baseline, 1 slow, -1 neither. */
static int side_of_block(const struct by_names *a, s64 b)
{
	if (b < 0 || b >= a->known)
		return -1;
	return a->c->is_slow[b] ? 1 : a->c->is_usual[b] ? 0 : -1;
}

static int side_of(const struct by_names *a, s64 ts)
{
	return side_of_block(a, ts < 0 ? -1 : ts / a->u->block);
}

static struct by_name *name_at(struct by_names *a, s64 name, struct err *e)
{
	u64 key = (u64)(name + 2);
	struct by_name *one = idmap_get(&a->names, key);

	if (!one && (one = idmap_add(&a->names, key, sizeof(*one), TASK_LIMIT, "names", e)))
		one->name = name;
	return one;
}

static int add_sample(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct by_names *a = arg;
	int side = side_of(a, sqlite3_column_int64(q, 0));
	double ns = sqlite3_column_double(q, 1);
	struct by_name *one;

	if (side < 0)
		return 0;
	if (!sqlite3_column_int64(q, 2)) {
		a->none[side] += ns;
		return 0;
	}
	one = name_at(a, sqlite3_column_int64(q, 3), e);
	if (!one)
		return ERR_FAIL;
	one->cpu[side] += ns;
	one->samples[side]++;
	return 0;
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct by_names *a = arg;
	int side = side_of(a, row->ts - row->queued);
	struct by_name *one;

	(void)rowid;
	if (side < 0 || !idmap_get(&a->pids, (u64)row->pid))
		return 0;
	one = name_at(a,
		      row->requests > 1	       ? SEVERAL
		      : row->name == BULK_NULL ? UNNAMED
					       : row->name,
		      e);
	if (!one)
		return ERR_FAIL;
	one->n[side]++;
	return 0;
}

static int read_names(sqlite3 *db, struct by_names *a, struct err *e)
{
	int ret = db_each(db, e, db_idmap, &a->pids,
			  "SELECT pid, 1 FROM " LED_PROCESSES " WHERE leader=?1", "i", a->u->key);

	if (ret == 0)
		ret = db_each(
			db, e, add_sample, a,
			"SELECT s.ts, s.weight, s.request, iif(r.requests > 1, -1, coalesce(r.name,"
			" 0)) FROM sample s LEFT JOIN request r ON r.rowid=s.request WHERE s.pid IN"
			" (SELECT pid FROM " LED_PROCESSES " WHERE leader=?1)",
			"i", a->u->key);
	return ret < 0 ? ret
		       : rows_each(db, TABLE_request,
				   COLUMN_OF(request, ts) | COLUMN_OF(request, queued) |
					   COLUMN_OF(request, pid) | COLUMN_OF(request, name) |
					   COLUMN_OF(request, requests),
				   add_request, a, e);
}

/* Per ns of wall time, what is added. */
static double added(const struct by_names *a, const double cpu[2])
{
	return cpu[1] / a->blocks[1] - cpu[0] / a->blocks[0];
}

static void choose(const struct by_names *a, struct load_name *ret)
{
	const struct by_name *one, *most = NULL, *several = NULL;
	double sum = fmax(added(a, a->none), 0), rate = 1e9 / (double)a->u->block;
	size_t at = 0, n = 0;

	while ((one = idmap_each(&a->names, &at))) {
		sum += fmax(added(a, one->cpu), 0);
		n++;
		if (one->name == SEVERAL)
			several = one;
		if (!most || added(a, one->cpu) > added(a, most->cpu))
			most = one;
	}
	if (n < 2 || most->name <= UNNAMED || most->samples[1] < SAMPLES_LEAST ||
	    added(a, most->cpu) < MOST * sum)
		return;
	ret->name = most->name;
	ret->part = added(a, most->cpu) / sum;
	ret->samples = most->samples[1];
	ret->rate = ret->before = NAN;
	if (several && several->n[0] + several->n[1] > 0)
		return; /* some of these may have the name */
	ret->rate = rate * most->n[1] / a->blocks[1];
	ret->before = rate * most->n[0] / a->blocks[0];
}

int load_name(sqlite3 *db, const struct units *u, const struct comparison *c, struct load_name *ret,
	      struct err *e)
{
	struct by_names a = { .u = u, .c = c, .known = UNIT_BLOCKS };
	int b, side, r = 0;

	if (u->block > 0)
		r = db_int(db, &a.known, e,
			   "SELECT min(?1, coalesce((SELECT CAST(value AS INT) FROM recording WHERE"
			   " key='sample_requests_until_ns') / ?2, ?1))",
			   "ii", (s64)UNIT_BLOCKS, u->block);
	for (b = 0; b < UNIT_BLOCKS; b++) {
		side = side_of_block(&a, b);
		if (side >= 0)
			a.blocks[side]++;
	}
	if (r >= 0 && u->block > 0 && a.blocks[0] > 0 && a.blocks[1] > 0)
		r = read_names(db, &a, e);
	if (r == 0 && a.names.n)
		choose(&a, ret);
	idmap_free(&a.pids);
	idmap_free_all(&a.names);
	return r < 0 ? r : 0;
}
