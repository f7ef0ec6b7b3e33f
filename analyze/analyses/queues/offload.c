// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload.h"

#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"
#include "format/grow.h"

#include <stdlib.h>

#define WOKE_MOST (1 << 21)

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct offload *o = arg;

	(void)rowid;
	return idmap_put(&o->serving, (u64)row->tid, o, TASK_LIMIT, e);
}

static int on_sleep(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct woke x = { sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			  sqlite3_column_int64(q, 2) };
	struct offload *o = arg;

	if (!idmap_get(&o->serving, (u64)x.tid))
		return 0;
	if (o->n >= WOKE_MOST)
		return 1;
	if (GROW(o->v, o->n, "sleeps", e) < 0)
		return ERR_FAIL;
	if (idmap_get(&o->serving, (u64)x.waker))
		x.waker = 0;
	o->v[o->n++] = x;
	return 0;
}

int offload_read(struct offload *o, sqlite3 *db, s64 server, struct err *e)
{
	static const char sql[] =
		"WITH t AS MATERIALIZED (SELECT tid, min(pid) AS pid FROM thread WHERE pid IN (SELECT pid FROM service"
		" WHERE server=?1) GROUP BY tid) SELECT s.tid, s.ts + s.dur AS at, iif(s.context=0 AND w.pid=t.pid"
		" AND s.waker<>s.tid, s.waker, 0) FROM thread_state s JOIN t ON t.tid=s.tid LEFT JOIN t w ON"
		" w.tid=s.waker WHERE s.state=state_id('poll') ORDER BY s.tid, at";
	s64 others = 0;
	size_t i;
	int ret;

	*o = (struct offload){ 0 };
	ret = db_int(
		db, &others, e,
		"SELECT count(*) FROM thread WHERE tid<>pid AND pid IN (SELECT pid FROM service"
		" WHERE server=?1)",
		"i", server);
	if (ret < 0 || !others)
		return ret;
	ret = requests_each(db, COLUMN_OF(request, tid), "SELECT id FROM service WHERE server=?1",
			    server, on_request, o, e);
	if (ret == 0)
		ret = db_each(db, e, on_sleep, o, sql, "i", server);
	if (ret < 0)
		return ret;
	for (i = 0; i < o->n && !o->v[i].waker; i++)
		;
	return o->n < WOKE_MOST && i < o->n;
}

void offload_free(struct offload *o)
{
	free(o->v);
	idmap_free(&o->serving);
	*o = (struct offload){ 0 };
}

const struct woke *offload_last(const struct offload *o, s64 tid, s64 from, s64 to)
{
	size_t low = 0, high = o->n, mid;
	const struct woke *x;

	while (low < high) { /* the first after to */
		mid = (low + high) / 2;
		if (o->v[mid].tid > tid || (o->v[mid].tid == tid && o->v[mid].at > to))
			high = mid;
		else
			low = mid + 1;
	}
	x = low ? &o->v[low - 1] : NULL;
	return x && x->tid == tid && x->at > from && x->waker ? x : NULL;
}
