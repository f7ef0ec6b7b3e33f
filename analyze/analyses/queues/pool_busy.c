// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pool: threads, or processes with one each, that have one request at a time. A thread has it
 * from its read to its answer. Threads that read the next request before that are event loops, and
 * no pool. A request can be read by any thread if it is the first of its connection, or if requests
 * of one connection are read by several threads; else it waits for the thread that has its
 * connection.
 */
#include "pool_busy.h"

#include "analyze/stats/sorted.h"
#include "analyze/store/request_rows.h"
#include "format/grow.h"

#include <stdlib.h>

#define POOLED_MOST (1 << 20) /* requests */
#define TOGETHER    0.01      /* of the requests */
#define SHARED	    0.25      /* of the requests after another one of their connection */

struct reading {
	struct pool *p;
	struct fd_rows accepted;
	s64 duration;
};

static int add_pooled(struct reading *r, const struct row_request *row, bool answered,
		      struct err *e)
{
	const struct fd_row *f = fd_rows_at(&r->accepted, row->pid, row->fd, row->ts);
	struct pool *p = r->p;

	if (p->n >= POOLED_MOST)
		return 1;
	if (GROW(p->v, p->n, "requests", e) < 0)
		return ERR_FAIL;
	p->v[p->n++] = (struct pooled){
		.arrival = answered ? row->ts - row->queued : row->ts,
		.read = row->ts,
		.end = answered ? row->ts + row->dur - row->held : r->duration,
		.name = row->name == BULK_NULL ? 0 : row->name,
		.accepted = f ? f->ts : 0,
		.connection = f ? f->row : -1 - (row->pid << 32 | (u32)row->fd),
		.tid = (u32)row->tid,
	};
	return 0;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	(void)rowid;
	return add_pooled(arg, request, true, e);
}

static int on_unanswered(void *arg, sqlite3_stmt *q, struct err *e)
{
	const struct row_request row = {
		.ts = sqlite3_column_int64(q, 0),
		.pid = sqlite3_column_int64(q, 1),
		.tid = sqlite3_column_int64(q, 2),
		.fd = sqlite3_column_int64(q, 3),
		.name = sqlite3_column_int64(q, 4),
	};

	return add_pooled(arg, &row, false, e);
}

static int on_thread(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct pool *p = arg;

	if (GROW(p->workers, p->n_workers, "threads", e) < 0)
		return ERR_FAIL;
	p->workers[p->n_workers++] = (struct worker){
		.tid = sqlite3_column_int64(q, 0),
		.pid = sqlite3_column_int64(q, 1),
		.start = sqlite3_column_int64(q, 2),
		.end = sqlite3_column_int64(q, 3),
	};
	return 0;
}

static int read_all(struct reading *r, const struct analysis_ctx *c, s64 server, struct err *e)
{
	int ret = fd_rows_read(&r->accepted, c->db, server, "accepted", e);

	if (ret == 0)
		ret = db_each(
			c->db, e, on_thread, r->p,
			"SELECT tid, pid, start, coalesce(end, ?2) FROM thread WHERE pid IN (SELECT pid FROM"
			" service WHERE server=?1) ORDER BY tid, start",
			"ii", server, INT64_MAX);
	if (ret == 0)
		ret = requests_each(
			c->db,
			COLUMN_OF(request, tid) | COLUMN_OF(request, pid) | COLUMN_OF(request, fd) |
				COLUMN_OF(request, held) | COLUMN_OF(request, paced),
			"SELECT id FROM service WHERE server=?1", server, on_request, r, e);
	if (ret == 0)
		ret = db_each(
			c->db, e, on_unanswered, r,
			"SELECT read, pid, tid, fd, coalesce(name, 0) FROM unanswered WHERE read NOT NULL AND"
			" service IN (SELECT id FROM service WHERE server=?1)",
			"i", server);
	return ret;
}

static u32 worker_at(const struct pool *p, s64 tid, s64 ts)
{
	size_t low = 0, high = p->n_workers, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (p->workers[mid].tid > tid ||
		    (p->workers[mid].tid == tid && p->workers[mid].start > ts))
			high = mid;
		else
			low = mid + 1;
	}
	return low && p->workers[low - 1].tid == tid ? (u32)low - 1 : UINT32_MAX;
}

/* Those of threads that are not known are left out. How many serve. */
static int find_workers(struct pool *p)
{
	size_t i, n = 0;
	int serving = 0;

	for (i = 0; i < p->n; i++) {
		p->v[i].worker = worker_at(p, p->v[i].tid, p->v[i].read);
		if (p->v[i].worker == UINT32_MAX)
			continue;
		serving += !p->workers[p->v[i].worker].serves;
		p->workers[p->v[i].worker].serves = true;
		p->v[n++] = p->v[i];
	}
	p->n = n;
	return serving;
}

static int by_connection(const void *a, const void *b)
{
	const struct pooled *x = a, *y = b;

	if (x->connection != y->connection)
		return x->connection < y->connection ? -1 : 1;
	return x->read < y->read ? -1 : x->read > y->read;
}

static int by_worker(const void *a, const void *b)
{
	const struct pooled *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return x->read < y->read ? -1 : x->read > y->read;
}

/* Which requests any thread could read. */
static void find_free(struct pool *p)
{
	double others = 0, later = 0;
	size_t i;

	qsort(p->v, p->n, sizeof(*p->v), by_connection);
	for (i = 0; i < p->n; i++) {
		bool again = i && p->v[i - 1].connection == p->v[i].connection;

		p->v[i].free_for_all = !again && p->v[i].accepted > 0;
		later += again;
		others += again && p->v[i - 1].tid != p->v[i].tid;
	}
	for (i = 0; i < p->n && others > SHARED * later; i++)
		p->v[i].free_for_all = true;
}

/* How many threads have a request, and how many there are, from a moment on. */
struct edge {
	s32 busy, alive;
};
_Static_assert(sizeof(struct edge) == 8, "a value of sort_keys");

struct edges {
	s64 *at;
	struct edge *v;
	size_t n;
};

static void add_edges(struct edges *x, s64 from, s64 to, struct edge by)
{
	if (to <= from)
		return;
	x->at[x->n] = from;
	x->v[x->n++] = by;
	x->at[x->n] = to;
	x->v[x->n++] = (struct edge){ -by.busy, -by.alive };
}

/*
 * Requests are by thread and time. One that waited when the thread answered the one before is read
 * next: the time between both is no idle time.
 */
static void add_requests(struct pool *p, struct edges *x)
{
	s64 from = 0, to = 0;
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct pooled *r = &p->v[i];
		bool same = i && r[-1].worker == r->worker;

		p->together += same && r->read < to;
		if (same && (r->read <= to || r->arrival <= to)) {
			to = r->end > to ? r->end : to;
			continue;
		}
		add_edges(x, from, to, (struct edge){ 1, 0 });
		from = r->read;
		to = r->end;
	}
	add_edges(x, from, to, (struct edge){ 1, 0 });
}

static int find_full(struct pool *p, const struct edges *x, struct err *e)
{
	s64 busy = 0, alive = 0;
	double sum = 0;
	size_t i;

	for (i = 0; i < x->n; i++) {
		busy += x->v[i].busy;
		alive += x->v[i].alive;
		if (busy <= 0 || busy < alive || i + 1 == x->n || x->at[i + 1] == x->at[i])
			continue;
		p->most = busy > p->most ? (int)busy : p->most;
		if (p->n_full && p->full[p->n_full - 1].to == x->at[i]) {
			p->full[p->n_full - 1].to = x->at[i + 1];
		} else {
			if (GROW(p->full, p->n_full, "times", e) < 0)
				return ERR_FAIL;
			p->full[p->n_full++] = (struct full){ x->at[i], x->at[i + 1], sum };
		}
		sum += (double)(x->at[i + 1] - x->at[i]);
	}
	return 0;
}

static int walk(struct pool *p, struct err *e)
{
	size_t room = 2 * (p->n + p->n_workers) + 2, i;
	struct edges x = { malloc(room * sizeof(*x.at)), malloc(room * sizeof(*x.v)), 0 };
	int ret = x.at && x.v ? 0 : err_set(e, ERR_FAIL, "out of memory for requests");

	if (ret == 0) {
		qsort(p->v, p->n, sizeof(*p->v), by_worker);
		add_requests(p, &x);
	}
	for (i = 0; i < p->n_workers && ret == 0; i++)
		if (p->workers[i].serves)
			add_edges(&x, p->workers[i].start, p->workers[i].end,
				  (struct edge){ 0, 1 });
	if (ret == 0 && !sort_keys(x.at, x.v, x.n))
		ret = err_set(e, ERR_FAIL, "out of memory for requests");
	if (ret == 0)
		ret = find_full(p, &x, e);
	free(x.at);
	free(x.v);
	return ret;
}

int pool_read(struct pool *p, const struct analysis_ctx *c, s64 server, struct err *e)
{
	struct reading r = { .p = p, .duration = c->duration };
	int ret;

	*p = (struct pool){ 0 };
	ret = read_all(&r, c, server, e);
	fd_rows_free(&r.accepted);
	if (ret)
		return ret < 0 ? ret : 0;
	if (find_workers(p) < 2)
		return 0;
	find_free(p);
	ret = walk(p, e);
	return ret < 0 ? ret : p->n_full > 0 && p->together <= TOGETHER * (double)p->n;
}

void pool_free(struct pool *p)
{
	free(p->v);
	free(p->workers);
	free(p->full);
	*p = (struct pool){ 0 };
}

double pool_full(const struct pool *p, s64 ts)
{
	size_t low = 0, high = p->n_full, mid;
	const struct full *x;

	while (low < high) { /* the first that starts at ts or later */
		mid = (low + high) / 2;
		if (p->full[mid].from < ts)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	x = &p->full[low - 1];
	return x->before + (double)((ts < x->to ? ts : x->to) - x->from);
}
