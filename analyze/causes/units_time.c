// SPDX-License-Identifier: GPL-2.0-or-later
/* Time of threads by state, in the blocks of their units. */
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns.h"
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
	struct idmap chosen; /* threads, or processes */
	struct idmap tids;
	s64 block;
	double (*spent)[N_SPAN_STATES];
};

static int take_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct spreading *s = arg;

	(void)rowid;
	(void)e;
	if (idmap_get(&s->tids, (u64)row->tid))
		spread(s->spent, s->block, (int)row->state, row->ts, row->dur);
	return 0;
}

static int read_states(sqlite3 *db, struct spreading *s, struct err *e)
{
	return rows_each(db, TABLE_thread_state,
			 COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
				 COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state),
			 take_state, s, e);
}

static int add_id(struct idmap *m, s64 id, struct err *e)
{
	return idmap_put(m, (u64)id, m, TASK_LIMIT, e);
}

static int add_chosen(void *arg, sqlite3_stmt *q, struct err *e)
{
	return add_id(arg, sqlite3_column_int64(q, 0), e);
}

/* The threads that ended requests of the chosen processes. */
static int take_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct spreading *s = arg;

	(void)rowid;
	return idmap_get(&s->chosen, (u64)row->pid) && !idmap_get(&s->tids, (u64)row->tid)
		       ? add_id(&s->tids, row->tid, e)
		       : 0;
}

int units_thread(sqlite3 *db, u32 tid, s64 block, double (*spent)[N_SPAN_STATES], struct err *e)
{
	struct spreading s = { .block = block, .spent = spent };
	int ret;

	memset(spent, 0, UNIT_BLOCKS * sizeof(*spent));
	if (block <= 0)
		return 0;
	ret = add_id(&s.tids, tid, e);
	if (ret == 0)
		ret = read_states(db, &s, e);
	idmap_free(&s.tids);
	return ret;
}

int units_processes(sqlite3 *db, u32 leader, bool serving, s64 block,
		    double (*spent)[N_SPAN_STATES], struct err *e)
{
	static const char all[] =
		"SELECT tid FROM thread WHERE pid IN (SELECT pid FROM " ANSWERING_PROCESSES
		" WHERE leader=?)";
	static const char processes[] = "SELECT pid FROM " ANSWERING_PROCESSES " WHERE leader=?";
	struct spreading s = { .block = block, .spent = spent };
	int ret;

	memset(spent, 0, UNIT_BLOCKS * sizeof(*spent));
	if (block <= 0)
		return 0;
	ret = db_each(db, e, add_chosen, serving ? &s.chosen : &s.tids, serving ? processes : all,
		      "i", (s64)leader);
	if (ret == 0 && serving)
		ret = rows_each(db, TABLE_request,
				COLUMN_OF(request, pid) | COLUMN_OF(request, tid), take_request, &s,
				e);
	if (ret == 0)
		ret = read_states(db, &s, e);
	idmap_free(&s.chosen);
	idmap_free(&s.tids);
	return ret;
}

struct weighing {
	struct idmap tids;
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
	if (row->state != SPAN_run || !idmap_get(&w->tids, (u64)row->tid))
		return 0;
	for (; i < UNIT_BLOCKS && i * size < end; i++)
		tally_add(w->by_tid, row->tid,
			  w->weight[i] *
				  fmax(0, fmin(end, (i + 1) * size) - fmax(start, i * size)));
	return 0;
}

int units_run_of_threads(sqlite3 *db, u32 leader, s64 block, const double weight[UNIT_BLOCKS],
			 struct tally *ret, struct err *e)
{
	static const char sql[] =
		"SELECT tid FROM thread WHERE pid IN (SELECT pid FROM " ANSWERING_PROCESSES
		" WHERE leader=?1) AND tid NOT IN (SELECT tid FROM request)";
	struct weighing w = { .weight = weight, .block = block, .by_tid = ret };
	int r = block > 0 ? db_each(db, e, add_chosen, &w.tids, sql, "i", (s64)leader) : 0;

	if (r == 0)
		r = rows_each(db, TABLE_thread_state,
			      COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
				      COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state),
			      weigh_run, &w, e);
	idmap_free(&w.tids);
	tally_sort(ret);
	return r;
}
