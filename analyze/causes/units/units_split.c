// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of requests by state, from tables that have rows in their order. */
#include "units_split.h"

#include "units.h"

#include <math.h>

static int split_open(struct split *s, sqlite3 *db, const char *sql, struct err *e)
{
	int ret = db_query(&s->q, db, e, sql, "");

	return ret < 0 ? ret : (s->more = db_step(s->q, e));
}

/* Adds what the table has of this request. */
static int split_read(struct split *s, s64 request, double *spent, struct err *e)
{
	while (s->more > 0 && sqlite3_column_int64(s->q, 0) <= request) {
		if (sqlite3_column_int64(s->q, 0) == request)
			spent[sqlite3_column_int(s->q, 1) % N_SPAN_STATES] +=
				sqlite3_column_double(s->q, 2);
		s->more = db_step(s->q, e);
	}
	return s->more < 0 ? s->more : 0;
}

int splits_open(struct splits *s, sqlite3 *db, struct err *e)
{
	int ret = split_open(&s->wait, db,
			     "SELECT request, state, dur FROM request_wait ORDER BY rowid", e);

	if (ret >= 0)
		ret = split_open(&s->before, db,
				 "SELECT request, state, dur FROM request_queue ORDER BY rowid", e);
	return ret < 0 ? ret : request_queue_open(&s->queue, db, e);
}

void splits_close(struct splits *s)
{
	sqlite3_finalize(s->wait.q);
	sqlite3_finalize(s->before.q);
	request_queue_close(s->queue);
}

int splits_read(struct splits *s, s64 request, s64 queued, s64 dur, double *spent,
		s64 *ret_in_queue, struct err *e)
{
	double before[N_SPENT] = { 0 }, left = queued, run = dur;
	int i;

	if (split_read(&s->before, request, before, e) < 0 ||
	    split_read(&s->wait, request, spent, e) < 0)
		return ERR_FAIL;
	for (i = SPAN_run + 1; i < N_SPAN_STATES; i++) {
		left -= before[i];
		spent[i] += before[i];
		run -= spent[i];
	}
	*ret_in_queue = 0;
	if (queued > 0 && request_queue_of(s->queue, request, ret_in_queue, e) < 0)
		return ERR_FAIL;
	left = fmax(0, fmin(left, run));
	*ret_in_queue = *ret_in_queue < left ? *ret_in_queue : (s64)left;
	spent[SPENT_queue] = *ret_in_queue;
	spent[SPAN_run] = fmax(0, run) - *ret_in_queue;
	return 0;
}
