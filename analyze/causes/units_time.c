// SPDX-License-Identifier: GPL-2.0-or-later
/* Time of threads by state, in the blocks of their units. */
#include "units.h"

#include <string.h>

/* Adds the interval to the blocks that it touches. */
static void spread(double (*spent)[N_SPAN_STATES], s64 block, int state, s64 ts, s64 dur)
{
	s64 i, first = ts / block, last = (ts + dur) / block;

	for (i = first < 0 ? 0 : first; i <= last && i < UNIT_BLOCKS; i++) {
		s64 from = ts > i * block ? ts : i * block;
		s64 to = ts + dur < (i + 1) * block ? ts + dur : (i + 1) * block;

		spent[i][state % N_SPAN_STATES] += to > from ? to - from : 0;
	}
}

static int read_states(sqlite3 *db, const char *sql, s64 key, s64 block,
		       double (*spent)[N_SPAN_STATES], struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "i", key);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		spread(spent, block, sqlite3_column_int(q, 2), sqlite3_column_int64(q, 0),
		       sqlite3_column_int64(q, 1));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

int units_thread(sqlite3 *db, u32 tid, s64 block, double (*spent)[N_SPAN_STATES], struct err *e)
{
	memset(spent, 0, UNIT_BLOCKS * sizeof(*spent));
	if (block <= 0)
		return 0;
	return read_states(db, "SELECT ts, dur, state FROM thread_state WHERE tid=?", tid, block,
			   spent, e);
}

int units_processes(sqlite3 *db, u32 leader, bool serving, s64 block,
		    double (*spent)[N_SPAN_STATES], struct err *e)
{
	static const char all[] =
		"SELECT ts, dur, state FROM thread_state WHERE tid IN"
		" (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM " UNITS_LED
		" WHERE leader=?))";
	static const char answering[] =
		"SELECT ts, dur, state FROM thread_state WHERE tid IN (SELECT tid FROM turn WHERE pid IN"
		" (SELECT pid FROM " UNITS_LED " WHERE leader=?))";

	memset(spent, 0, UNIT_BLOCKS * sizeof(*spent));
	if (block <= 0)
		return 0;
	return read_states(db, serving ? answering : all, leader, block, spent, e);
}
