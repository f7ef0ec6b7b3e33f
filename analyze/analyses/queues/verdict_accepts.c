// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of connections that the kernel had established, and the server did not accept although
 * the thread that accepts polled: it does not ask for new connections, as an event loop does at its
 * limit of connections or of open files. A thread that serves others meanwhile is busy, not idle;
 * so is one that waits for a lock, as that of an interpreter. One that has a single connection at a
 * time waits for that one.
 */
#include "fd_rows.h"
#include "verdict_queues.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "analyze/store/state.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>

#define MOSTLY	  0.5 /* of the time of the waits */
#define LOOKED_AT 50

/* Of a process, a time in which a request waited for accept. */
struct unaccepted {
	s64 pid, from, to;
};

struct accepts {
	const struct verdict_when *when;
	struct fd_rows rows;
	struct verdict_side side[2];
	struct unaccepted *v; /* of requests of which it is most */
	size_t n;
	double sum;			/* ns of these */
	double least, late, start, end; /* ns; how many waited so long; from when to when */
	struct unaccepted longest;
	double files, limit;	/* open then; NAN: not known */
	struct idmap threads;	/* that accept: tid -> pid */
	struct idmap processes; /* of the server */
	double idle, all;	/* ns of them while a request waited: in poll, and in any state */
	s64 tid;		/* one of them */
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct accepts *a = arg;
	const struct fd_row *f = fd_rows_at(&a->rows, row->pid, row->fd, row->ts);
	s64 from = row->ts - row->queued, to = f && f->ts < row->ts ? f->ts : row->ts;
	bool in = verdict_when_has(a->when, (double)from, (double)(row->ts + row->dur));
	bool waited = f && f->ts > from;
	double latency = (double)row->queued + (double)row->dur;

	(void)rowid;
	a->side[in].n++;
	a->side[in].latency += latency;
	a->side[in].part += waited ? (double)(to - from) : 0;
	if (!in || !waited || (double)(to - from) < MOSTLY * latency)
		return 0;
	if (GROW(a->v, a->n, "requests", e) < 0)
		return ERR_FAIL;
	a->v[a->n] = (struct unaccepted){ row->pid, from, to };
	if (to - from > a->longest.to - a->longest.from)
		a->longest = a->v[a->n];
	a->sum += (double)(to - from);
	a->n++;
	if ((double)(to - from) < a->least)
		return 0;
	a->start = a->late > 0 ? fmin(a->start, (double)from) : (double)from;
	a->end = fmax(a->end, (double)to);
	a->late++;
	return 0;
}

static int by_process(const void *a, const void *b)
{
	const struct unaccepted *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Times of one process become disjoint. */
static void join(struct accepts *a)
{
	size_t i, n = 0;

	if (a->n)
		qsort(a->v, a->n, sizeof(*a->v), by_process);
	for (i = 0; i < a->n; i++) {
		struct unaccepted *last = n ? &a->v[n - 1] : NULL;

		if (last && last->pid == a->v[i].pid && a->v[i].from <= last->to)
			last->to = last->to > a->v[i].to ? last->to : a->v[i].to;
		else
			a->v[n++] = a->v[i];
	}
	a->n = n;
}

/* ns of from..to in which a request waits for this process. */
static double waited_within(const struct accepts *a, s64 pid, s64 from, s64 to)
{
	size_t low = 0, high = a->n, mid;
	double ns = 0;

	while (low < high) { /* the first that ends after from */
		mid = (low + high) / 2;
		if (a->v[mid].pid < pid || (a->v[mid].pid == pid && a->v[mid].to <= from))
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < a->n && a->v[low].pid == pid && a->v[low].from < to; low++)
		ns += (double)((to < a->v[low].to ? to : a->v[low].to) -
			       (from > a->v[low].from ? from : a->v[low].from));
	return ns;
}

static int on_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct accepts *a = arg;
	const struct syscall_desc *d = syscall_find((u8)row->abi, (u32)row->nr);

	(void)rowid;
	if (!d || d->class != CALL_ACCEPT || row->ret == BULK_NULL || row->ret < 0 ||
	    !idmap_get(&a->processes, (u64)row->tid))
		return 0;
	return idmap_put(&a->threads, (u64)row->tid, idmap_get(&a->processes, (u64)row->tid),
			 TASK_LIMIT, e);
}

static int on_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct accepts *a = arg;
	s64 pid = (intptr_t)idmap_get(&a->threads, (u64)row->tid);
	double ns;

	(void)rowid;
	(void)e;
	if (!pid)
		return 0;
	ns = waited_within(a, pid, row->ts, row->ts + row->dur);
	a->all += ns;
	if (ns <= 0 || row->state != STATE_poll)
		return 0;
	a->idle += ns;
	a->tid = row->tid;
	return 0;
}

/* Connections of clients that its process had when this wait ended. */
static s64 had(const struct accepts *a, const struct unaccepted *wait)
{
	s64 n = 0;
	size_t i;

	for (i = 0; i < a->rows.n; i++)
		n += a->rows.v[i].pid == wait->pid && a->rows.v[i].ts < wait->to &&
		     a->rows.v[i].end > wait->to;
	return n;
}

/* Whether it has several at a time, when most of the waits end: some of them are looked at. */
static bool has_several(const struct accepts *a)
{
	size_t i, step = a->n / LOOKED_AT + 1, several = 0, n = 0;

	for (i = 0; i < a->n; i += step, n++)
		several += had(a, &a->v[i]) > 1;
	return 2 * several > n;
}

static int read_idle(struct accepts *a, struct analysis_ctx *c, const struct judged *j,
		     struct err *e)
{
	int ret = db_each(c->db, e, db_idmap, &a->processes,
			  "SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM service WHERE"
			  " server=?1)",
			  "i", j->about.id);

	if (ret == 0)
		ret = rows_each(c->db, TABLE_syscall,
				COLUMN_OF(syscall, tid) | COLUMN_OF(syscall, abi) |
					COLUMN_OF(syscall, nr) | COLUMN_OF(syscall, ret),
				on_call, a, e);
	return ret < 0 ? ret
		       : rows_each(c->db, TABLE_thread_state,
				   COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
					   COLUMN_OF(thread_state, tid) |
					   COLUMN_OF(thread_state, state),
				   on_state, a, e);
}

static int take_files(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct accepts *a = arg;

	(void)e;
	a->files = db_number(q, 0);
	a->limit = db_number(q, 1);
	return 0;
}

/* What its process had open when the longest wait ended. */
static int read_files(struct accepts *a, struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT count(*), (SELECT files_limit FROM process WHERE pid=?1 LIMIT 1) FROM fd WHERE pid=?1"
		" AND fd >= 0 AND ts < ?2 AND coalesce(end, ?2 + 1) > ?2";

	return db_each(c->db, e, take_files, a, sql, "ii", a->longest.pid, a->longest.to);
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct accepts *a, double n,
	       struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("n", n, ""),
		VALUE_NUMBER("mean", a->sum / n, "ns"),
		VALUE_NUMBER("longest", (double)(a->longest.to - a->longest.from), "ns"),
		VALUE_MAYBE("thread", thread, a->threads.n == 1 ? a->tid : 0),
		VALUE_MAYBE("process", process, a->threads.n == 1 ? 0 : a->longest.pid),
		VALUE_TEXT("doing", verdict_does[STATE_poll]),
		VALUE_NUMBER("share", percent(a->idle, a->all), "%"),
		VALUE_NUMBER("files", a->files, ""),
		VALUE_NUMBER("limit", a->limit, ""),
		VALUE_NUMBER("clients", (double)had(a, &a->longest), ""),
		{ 0 },
	};

	return verdict_queues_put(c, j, FINDING_verdict_accepts, OBSERVED,
				  "SELECT * FROM connection ORDER BY accept_delay DESC", values, e);
}

/* Requests that were accepted late in the time of the verdict. */
static int read_waits(struct accepts *a, struct analysis_ctx *c, const struct judged *j,
		      struct err *e)
{
	int ret = fd_rows_read(&a->rows, c->db, j->about.id, "accepted", e);

	return ret < 0 ? ret
		       : requests_each(c->db, COLUMN_OF(request, pid) | COLUMN_OF(request, fd),
				       "SELECT id FROM service WHERE server=?1", j->about.id,
				       add_request, a, e);
}

/* The thread that accepts was idle, not busy with others or waiting for a single one. */
static int was_idle(struct accepts *a, struct analysis_ctx *c, const struct judged *j, bool *ret_is,
		    struct err *e)
{
	int ret;

	*ret_is = false;
	if (!has_several(a))
		return 0;
	join(a);
	ret = read_idle(a, c, j, e);
	*ret_is = a->idle > MOSTLY * a->all;
	return ret;
}

static void forget(struct accepts *a)
{
	fd_rows_free(&a->rows);
	idmap_free(&a->threads);
	idmap_free(&a->processes);
	free(a->v);
}

int verdict_accepts(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		    const struct limits *l, struct err *e)
{
	struct accepts a = { .when = w };
	int ret = read_waits(&a, c, j, e);
	double n = (double)a.n;
	bool said = false;

	if (ret >= 0 && a.n && side_is_most(a.side, l->latency))
		ret = was_idle(&a, c, j, &said, e);
	if (ret >= 0 && said)
		ret = read_files(&a, c, e);
	if (ret >= 0 && said)
		ret = put(c, j, &a, n, e);
	forget(&a);
	return ret < 0 ? ret : said;
}

int verdict_accepted_late(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			  struct err *e)
{
	double all[1][2] = { { 0, (double)c->duration } };
	const struct verdict_when when = { .v = all, .n = 1, .all = true };
	struct accepts a = { .when = &when, .least = l->pause };
	bool idle = false;
	int ret = 0;

	if (j->about.kind != SUBJECT_server ||
	    (j->status != STATUS_NONE && j->status != STATUS_UNCHANGED))
		return 0;
	ret = read_waits(&a, c, j, e);
	if (ret >= 0 && a.late > 0)
		ret = was_idle(&a, c, j, &idle, e);
	if (ret >= 0 && idle) {
		j->status = STATUS_PROBLEM;
		j->kind = VERDICT_connections;
		j->unserved = (struct verdict_unserved){ .n = a.late,
							 .start = a.start,
							 .end = a.end,
							 .late = a.late,
							 .longest = (double)(a.longest.to -
									     a.longest.from) };
		j->start = a.start;
		j->end = a.end;
		j->n = a.late;
	}
	forget(&a);
	return ret < 0 ? ret : 0;
}
