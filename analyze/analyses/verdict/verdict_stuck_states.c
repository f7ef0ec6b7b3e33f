// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sleeps of all threads for no news of a client, as long as a pause: next to none on a healthy
 * host. All servers are judged by them, so that the states of all threads are read once.
 */
#include "verdict_stuck.h"

#include "analyze/base/idmap.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/row_types.h"
#include "analyze/store/state.h"

struct states {
	sqlite3_stmt *insert;
	struct idmap semaphores; /* numbers of their calls */
	double least;
};

/* A futex is a lock if it has an owner. */
static const char insert_sql[] =
	"INSERT INTO stuck_state SELECT ?1, (SELECT pid FROM thread WHERE tid=?1 LIMIT 1), ?2, ?3, ?4, ?5, ?6"
	" WHERE ?2 <> state_id('futex') OR EXISTS (SELECT 1 FROM futex_holder WHERE tid=?1 AND futex=?3 AND"
	" holder NOT NULL AND ts BETWEEN ?4 - ?7 AND ?5)";

static bool may_be_stuck(const struct states *x, const struct row_thread_state *row)
{
	switch (row->state) {
	case STATE_disk:
	case STATE_blocked:
	case STATE_stopped:
		return true;
	case STATE_futex:
		return row->object != BULK_NULL;
	case STATE_lock:
		return !idmap_get(&x->semaphores, (u64)row->nr);
	default:
		return false;
	}
}

static int on_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct states *x = arg;

	(void)rowid;
	if ((double)row->dur < x->least || !may_be_stuck(x, row))
		return 0;
	return db_again(x->insert, e, "iiiiiii", row->tid, row->state,
			row->object == BULK_NULL ? 0 : row->object, row->ts, row->ts + row->dur,
			row->waker == BULK_NULL ? 0 : row->waker, (s64)STUCK_ENTRY);
}

int stuck_states_forget(sqlite3 *db, struct err *e)
{
	return db_exec(db, e, "DROP TABLE IF EXISTS temp.stuck_state");
}

int stuck_states(sqlite3 *db, const struct limits *l, struct err *e)
{
	static const u32 set = COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
			       COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state) |
			       COLUMN_OF(thread_state, nr) | COLUMN_OF(thread_state, waker) |
			       COLUMN_OF(thread_state, object);
	static const char made[] =
		"SELECT count(*) FROM temp.sqlite_master WHERE name='stuck_state'";
	struct states x = { .least = l->pause };
	s64 n = 0;
	int ret = db_int(db, &n, e, made, "");

	if (ret < 0 || n)
		return ret;
	ret = db_exec(
		db, e,
		"CREATE TEMP TABLE stuck_state(tid INT, pid INT, state INT, object INT, ts INT, till INT,"
		" waker INT); CREATE INDEX temp.stuck_state_of ON stuck_state(tid, ts)");
	if (ret == 0)
		ret = db_each(db, e, db_idmap, &x.semaphores, "SELECT nr, 1 FROM " SEMAPHORES, "");
	if (ret == 0)
		ret = db_query(&x.insert, db, e, insert_sql, "");
	if (ret == 0)
		ret = rows_each(db, TABLE_thread_state, set, on_state, &x, e);
	sqlite3_finalize(x.insert);
	idmap_free(&x.semaphores);
	return ret < 0 ? ret : 0;
}
