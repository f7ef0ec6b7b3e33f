// SPDX-License-Identifier: GPL-2.0-or-later
/* Time of threads by state, in the blocks of their units. */
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "units.h"

#include <math.h>
#include <string.h>

/* Adds the interval to the blocks that it touches. Any times: no arithmetic of them in 64 bits. */
static void spread(double (*spent)[N_SPAN_STATES], s64 block, int state, s64 ts, s64 dur)
{
	double start = (double)ts, end = start + (double)dur, size = (double)block;
	int i = start <= 0 ? 0 : (int)fmin(start / size, UNIT_BLOCKS);

	for (; i < UNIT_BLOCKS && i * size < end; i++)
		spent[i][state % N_SPAN_STATES] +=
			fmax(0, fmin(end, (i + 1) * size) - fmax(start, i * size));
}

struct spreading {
	const struct idmap *tids;
	s64 block;
	double (*spent)[N_SPAN_STATES];
};

#define STATE_COLUMNS                                                 \
	(COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) | \
	 COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state))

static int take_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct spreading *s = arg;

	(void)rowid;
	(void)e;
	if (idmap_get(s->tids, (u64)row->tid))
		spread(s->spent, s->block, (int)row->state, row->ts, row->dur);
	return 0;
}

int units_time(sqlite3 *db, const struct idmap *tids, s64 block, double (*spent)[N_SPAN_STATES],
	       struct err *e)
{
	struct spreading s = { tids, block, spent };

	memset(spent, 0, UNIT_BLOCKS * sizeof(*spent));
	return block > 0 ? rows_each(db, TABLE_thread_state, STATE_COLUMNS, take_state, &s, e) : 0;
}

int units_thread(sqlite3 *db, u32 tid, s64 block, double (*spent)[N_SPAN_STATES], struct err *e)
{
	struct idmap tids = { 0 };
	int ret = idmap_put(&tids, tid, spent, TASK_LIMIT, e);

	if (ret == 0)
		ret = units_time(db, &tids, block, spent, e);
	idmap_free(&tids);
	return ret;
}

/* ---- threads of a server ---- */

struct threads_of {
	struct idmap processes;
	struct idmap *answering, *others;
};

static int add_process(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct threads_of *t = arg;

	return idmap_put(&t->processes, (u64)sqlite3_column_int64(q, 0), t, TASK_LIMIT, e);
}

static int add_answering(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct threads_of *t = arg;

	(void)rowid;
	return idmap_get(&t->processes, (u64)row->pid) && !idmap_get(t->answering, (u64)row->tid)
		       ? idmap_put(t->answering, (u64)row->tid, t, TASK_LIMIT, e)
		       : 0;
}

static int add_other(void *arg, sqlite3_stmt *q, struct err *e)
{
	u64 tid = (u64)sqlite3_column_int64(q, 0);
	struct threads_of *t = arg;

	return idmap_get(t->answering, tid) ? 0 : idmap_put(t->others, tid, t, TASK_LIMIT, e);
}

int units_threads(sqlite3 *db, u32 leader, struct idmap *answering, struct idmap *others,
		  struct err *e)
{
	static const char processes[] = "SELECT pid FROM " ANSWERING_PROCESSES " WHERE leader=?";
	static const char threads[] =
		"SELECT tid FROM thread WHERE pid IN (SELECT pid FROM " ANSWERING_PROCESSES
		" WHERE leader=?)";
	struct threads_of t = { .answering = answering, .others = others };
	int ret = db_each(db, e, add_process, &t, processes, "i", (s64)leader);

	if (ret == 0)
		ret = rows_each(db, TABLE_request,
				COLUMN_OF(request, pid) | COLUMN_OF(request, tid), add_answering,
				&t, e);
	if (ret == 0)
		ret = db_each(db, e, add_other, &t, threads, "i", (s64)leader);
	idmap_free(&t.processes);
	return ret;
}

struct weighing {
	const struct idmap *tids;
	const double *weight;
	s64 block;
	struct tally *by_tid;
};

static int weigh_run(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct weighing *w = arg;
	double start = (double)row->ts, end = start + (double)row->dur, size = (double)w->block;
	int i = start <= 0 ? 0 : (int)fmin(start / size, UNIT_BLOCKS);

	(void)rowid;
	(void)e;
	if (row->state != SPAN_run || !idmap_get(w->tids, (u64)row->tid))
		return 0;
	for (; i < UNIT_BLOCKS && i * size < end; i++)
		tally_add(w->by_tid, row->tid,
			  w->weight[i] *
				  fmax(0, fmin(end, (i + 1) * size) - fmax(start, i * size)));
	return 0;
}

int units_run(sqlite3 *db, const struct idmap *tids, s64 block, const double weight[UNIT_BLOCKS],
	      struct tally *ret, struct err *e)
{
	struct weighing w = { tids, weight, block, ret };

	return block > 0 ? rows_each(db, TABLE_thread_state, STATE_COLUMNS, weigh_run, &w, e) : 0;
}
