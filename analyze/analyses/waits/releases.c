// SPDX-License-Identifier: GPL-2.0-or-later
#include "releases.h"

#include "analyze/base/idmap.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/error_names.h"
#include "analyze/store/request_rows.h"

#include <stdlib.h>

struct search {
	struct release **v; /* by the thread of one side, then by the end of the wait */
	size_t n;
	bool waker;	       /* of which side */
	struct idmap parents;  /* of processes; > 1 */
	struct idmap alone;    /* processes with one connection */
	struct idmap awaiting; /* names */
	struct idmap unread;   /* services of servers without a protocol that was read */
	void (*found)(const struct search *s, struct release *r, s64 rowid,
		      const struct row_request *row);
};

static int order(const struct release *x, s64 tid, s64 at, bool waker)
{
	s64 of = waker ? x->waker : x->waiter;

	return of != tid ? (of < tid ? -1 : 1) : (x->at > at) - (x->at < at);
}

static int by_waiter(const void *a, const void *b)
{
	const struct release *y = *(struct release *const *)b;

	return order(*(struct release *const *)a, y->waiter, y->at, false);
}

static int by_waker(const void *a, const void *b)
{
	const struct release *y = *(struct release *const *)b;

	return order(*(struct release *const *)a, y->waker, y->at, true);
}

/* The first wait of the thread that ends at ts or later. */
static size_t first_at(const struct search *s, s64 tid, s64 ts)
{
	size_t low = 0, high = s->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (order(s->v[mid], tid, ts, s->waker) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct release *wait_of(const struct search *s, size_t i, s64 tid, s64 end)
{
	return i < s->n && order(s->v[i], tid, end, s->waker) <= 0 ? s->v[i] : NULL;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	const struct search *s = arg;
	struct release *r;
	size_t i;

	(void)e;
	for (i = first_at(s, row->tid, row->ts); (r = wait_of(s, i, row->tid, row->ts + row->dur));
	     i++)
		s->found(s, r, rowid, row);
	return 0;
}

static s64 parent_of(const struct search *s, s64 pid)
{
	return (s64)(uintptr_t)idmap_get(&s->parents, (u64)pid);
}

static void take_waiter(const struct search *s, struct release *r, s64 rowid,
			const struct row_request *row)
{
	(void)rowid;
	if (row->ts > r->from)
		return;
	r->until = row->ts + row->dur;
	if (idmap_get(&s->alone, (u64)row->pid))
		r->pid = row->pid;
}

static void take_waker(const struct search *s, struct release *r, s64 rowid,
		       const struct row_request *row)
{
	s64 parent = parent_of(s, row->pid);

	if (r->asked || r->cancelled || !r->pid || row->pid == r->pid || !parent ||
	    parent != parent_of(s, r->pid) || !idmap_get(&s->alone, (u64)row->pid))
		return;
	/* replies of a replica have no name, and arrive when it has written */
	if (row->name == BULK_NULL ? !idmap_get(&s->unread, (u64)row->service)
				   : !!idmap_get(&s->awaiting, (u64)row->name))
		return;
	r->released = true;
	r->request = rowid;
	r->name = row->name == BULK_NULL ? 0 : row->name;
}

/* Columns: tid, start, end of an outstanding question to another server. */
static int on_upstream(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 tid = sqlite3_column_int64(q, 0), end = sqlite3_column_int64(q, 2);
	const struct search *s = arg;
	struct release *r;
	size_t i;

	(void)e;
	for (i = first_at(s, tid, sqlite3_column_int64(q, 1)); (r = wait_of(s, i, tid, end)); i++)
		r->asked = true;
	return 0;
}

/* Columns: tid, ts of an error; whether it is for want of a lock, else its statement was cancelled.
 */
static int on_error(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 tid = sqlite3_column_int64(q, 0), ts = sqlite3_column_int64(q, 1);
	bool lock = sqlite3_column_int(q, 2);
	const struct search *s = arg;
	struct release *r;
	size_t i;

	(void)e;
	for (i = first_at(s, tid, 0); (r = wait_of(s, i, tid, ts)); i++)
		if (r->until >= ts) {
			r->failed |= lock;
			r->cancelled |= !lock;
		}
	return 0;
}

/* Columns: tid, read, pid, service, name of a request without an answer. */
static int on_unanswered(void *arg, sqlite3_stmt *q, struct err *e)
{
	const struct row_request row = { .tid = sqlite3_column_int64(q, 0),
					 .ts = sqlite3_column_int64(q, 1),
					 .dur = INT64_MAX - sqlite3_column_int64(q, 1),
					 .pid = sqlite3_column_int64(q, 2),
					 .service = sqlite3_column_int64(q, 3),
					 .name = sqlite3_column_int64(q, 4) };

	return on_request(arg, 0, &row, e);
}

/* The requests of one side, with or without an answer. */
static int each_request(sqlite3 *db, struct search *s, struct err *e)
{
	int ret;

	qsort(s->v, s->n, sizeof(struct release *), s->waker ? by_waker : by_waiter);
	s->found = s->waker ? take_waker : take_waiter;
	ret = rows_each(db, TABLE_request,
			COLUMN_OF(request, ts) | COLUMN_OF(request, dur) | COLUMN_OF(request, pid) |
				COLUMN_OF(request, tid) | COLUMN_OF(request, service) |
				COLUMN_OF(request, name),
			on_request, s, e);
	return ret < 0 ? ret
		       : db_each(db, e, on_unanswered, s,
				 "SELECT tid, read, pid, service, coalesce(name, ?1) FROM unanswered"
				 " WHERE read NOT NULL",
				 "i", BULK_NULL);
}

static int read_waiters(sqlite3 *db, struct search *s, struct err *e)
{
	int ret = each_request(db, s, e);

	if (ret >= 0)
		ret = db_each(
			db, e, on_error, s,
			"SELECT tid, ts, locked FROM (SELECT tid, ts, code IN (SELECT code FROM " LOCK_ERRORS
			") AS locked, code GLOB '57*' AND length(code)=5 AS cancelled FROM (SELECT tid, ts, " ERROR_CODE_OF
			" AS code FROM request_error e)) WHERE locked OR cancelled",
			"");
	return ret < 0 ? ret
		       : db_each(db, e, on_upstream, s, "SELECT tid, ts, ts + dur FROM upstream",
				 "");
}

int releases_find(sqlite3 *db, struct release *v, size_t n, struct err *e)
{
	struct search s = { .v = calloc(n + 1, sizeof(struct release *)), .n = n };
	int ret = s.v ? awaiting_names(&s.awaiting, db, e)
		      : err_set(e, ERR_FAIL, "out of memory for releases of locks");
	size_t i;

	for (i = 0; i < n && s.v; i++)
		s.v[i] = &v[i];
	if (ret == 0)
		ret = db_each(db, e, db_idmap, &s.parents,
			      "SELECT pid, parent FROM process WHERE parent > 1", "");
	if (ret == 0)
		ret = db_each(
			db, e, db_idmap, &s.alone,
			"SELECT pid FROM fd WHERE role='accepted' GROUP BY pid HAVING count(*)=1",
			"");
	if (ret == 0)
		ret = db_each(
			db, e, db_idmap, &s.unread,
			"SELECT id FROM service s WHERE NOT EXISTS (SELECT 1 FROM service o WHERE"
			" o.server=s.server AND o.received > 0)",
			"");
	if (ret == 0)
		ret = read_waiters(db, &s, e);
	s.waker = true;
	if (ret == 0)
		ret = each_request(db, &s, e);
	idmap_free(&s.parents);
	idmap_free(&s.alone);
	idmap_free(&s.unread);
	idmap_free(&s.awaiting);
	free(s.v);
	return ret;
}
