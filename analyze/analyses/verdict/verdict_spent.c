// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_spent.h"

#include "analyze/store/columns/columns.h"
#include "analyze/store/state.h"

#include <stdlib.h>

const char *const spent_says[N_IN] = {
#define BAND(...)
#define CATEGORY(name, band, part, label, says) [IN_##name] = (says),
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
};

static const u8 in_of[N_STATES] = {
#define STATE(id, name, off, category, ...) [id] = IN_##category,
#include "analyze/store/waits.def"
#undef STATE
};

int spent_begin(struct spent *s, sqlite3 *db, struct err *e)
{
	int ret = db_int(db, &s->rows, e, "SELECT coalesce(max(rowid), 0) FROM request", "");

	if (ret < 0)
		return ret;
	s->of = calloc((size_t)s->rows / 8 + 1, 1);
	s->many = calloc((size_t)s->rows / 8 + 1, 1);
	return s->of && s->many ? 0 : err_set(e, ERR_FAIL, "out of memory for requests");
}

void spent_free(struct spent *s)
{
	free(s->of);
	free(s->many);
}

void spent_take(struct spent *s, s64 rowid, const struct row_request *row)
{
	s64 at = rowid - 1;

	if (!row->split || at < 0 || at >= s->rows)
		return;
	s->of[at / 8] |= (u8)(1 << at % 8);
	s->many[at / 8] |= (u8)((row->recvs > 1) << at % 8);
	s->n++;
	s->total += (double)row->dur + (double)row->queued;
	s->queued += (double)row->queued;
}

/* Rows of request_wait or request_queue: they have the same columns. */
static void add_state(struct spent *s, double *sums, const void *wait)
{
	const struct row_request_wait *row = wait;
	s64 at = row->request - 1;
	bool input;

	if (at < 0 || at >= s->rows || !(s->of[at / 8] & 1 << at % 8) || row->state <= STATE_run ||
	    row->state >= N_STATES)
		return;
	input = row->state == STATE_poll && s->many[at / 8] & 1 << at % 8;
	sums[input ? IN_server : in_of[row->state]] += (double)row->dur;
	s->held += in_of[row->state] == IN_disk || in_of[row->state] == IN_stopped;
	s->wakes += row->state == STATE_woken;
	s->woken += row->state == STATE_woken ? (double)row->dur : 0;
	s->preempted += row->state == STATE_preempted ? (double)row->dur : 0;
}

static int add_wait(void *arg, s64 rowid, const void *wait, struct err *e)
{
	struct spent *s = arg;

	(void)rowid;
	(void)e;
	add_state(s, s->in, wait);
	return 0;
}

static int add_queue(void *arg, s64 rowid, const void *wait, struct err *e)
{
	struct spent *s = arg;

	(void)rowid;
	(void)e;
	add_state(s, s->before, wait);
	return 0;
}

/* Of the run-queue latency of its threads, the share in which a thread of its own had the CPU. */
static int read_own(sqlite3 *db, s64 server, double from, double to, double *ret_own, struct err *e)
{
	static const char sql[] =
		"WITH own AS MATERIALIZED (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service"
		" WHERE server=?1)) SELECT total(dur) FILTER (WHERE object IN own) / sum(dur) FROM"
		" thread_state WHERE state IN (state_id('woken'), state_id('preempted')) AND tid IN own"
		" AND ts < ?3 AND ts + dur > ?2";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "idd", server, from, to);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	*ret_own = ret > 0 ? sqlite3_column_double(q, 0) : 0;
	return db_end(q, ret);
}

/* Time on the CPU, or waiting for those of its own threads that are, before the read or after. */
static int split(struct spent *s, sqlite3 *db, s64 server, double from, double to, struct err *e)
{
	double run = s->total - s->queued, other = s->queued, own = 0;
	int i, ret = 0;

	for (i = 0; i < N_IN; i++) {
		run -= s->in[i];
		other -= s->before[i];
		s->in[i] += s->before[i];
	}
	s->in[IN_cpu] = fmax(run, 0);
	s->in[IN_queue] = fmax(other, 0);
	if (s->in[IN_runq] > 0)
		ret = read_own(db, server, from, to, &own, e);
	s->in[IN_queue] += own * s->in[IN_runq];
	s->in[IN_runq] *= 1 - own;
	s->woken *= 1 - own;
	return ret;
}

int spent_read(struct spent *s, sqlite3 *db, s64 server, double from, double to, struct err *e)
{
	int ret = rows_each(db, TABLE_request_wait, COLUMNS_ALL, add_wait, s, e);

	if (ret == 0)
		ret = rows_each(db, TABLE_request_queue, COLUMNS_ALL, add_queue, s, e);
	return ret < 0 ? ret : split(s, db, server, from, to, e);
}

bool spent_is_dearer(const struct spent *usual, const struct spent *now, const struct limits *l)
{
	double before = usual->in[IN_cpu] / usual->n, then = now->in[IN_cpu] / now->n;

	return then - before >= l->latency && then >= l->factor * before;
}
