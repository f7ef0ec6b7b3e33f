// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of connections that the kernel had established, and the server did not accept although
 * the thread that accepted them in the end was idle in epoll: it did not ask for new connections,
 * as an event loop does at its limit of connections or of open files. Not so if it called accept in
 * vain at that time (verdict_unserved.c), or if it has one connection at a time and waits for that
 * one. Or it was asleep for something else between its calls of accept: what for is said. A thread
 * that computes or polls within the work of a request is busy.
 */
#include "accept_calls.h"
#include "analyze/analyses/verdict/fd_rows.h"
#include "verdict_queues.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "analyze/store/state.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>

#define MOSTLY	  0.5 /* of the time of the waits */
#define LOOKED_AT 50  /* waits, for how many connections there were */

/* A request that waited for accept; the thread that accepted it, once that is known. */
struct unaccepted {
	s64 tid, from, to;
	s64 pid, fd;
};

/* A thread that accepts: ns in which at least one waits for it, and of these by state; of poll,
 * those in epoll. */
struct acceptor {
	s64 tid;
	double waits, spent[N_STATES];
};

struct accepts {
	const struct verdict_when *when;
	double least; /* ns: waits that count */
	struct fd_rows rows;
	struct accept_calls calls;
	struct verdict_side side[2];
	struct unaccepted *v; /* by thread, then by time */
	size_t n;
	struct unaccepted *joined; /* the same without overlap */
	double *before;		   /* ns of those before each */
	size_t n_joined;
	struct idmap threads; /* tid -> struct acceptor */
	struct idmap polls;   /* numbers of the calls of epoll */
	struct idmap serving; /* threads that read or answer requests */

	double of, sum, longest, start, end; /* of the waits for idle threads: how many; ns */
	int did; /* the state that these threads were in, -1: of none is it known, or they ran */
	double idle, waits;
	struct unaccepted example;    /* with most connections */
	double clients, files, limit; /* then; limit NAN: not known */
	double threads_idle;	      /* how many */
};

/* ---- the waits ---- */

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct accepts *a = arg;
	const struct fd_row *f = fd_rows_at(&a->rows, row->pid, row->fd, row->ts);
	double arrival = (double)row->ts - (double)row->queued,
	       end = (double)row->ts + (double)row->dur, wait = f ? (double)f->ts - arrival : 0;
	bool in = verdict_when_has(a->when, arrival, end);

	(void)rowid;
	if (idmap_put(&a->serving, (u64)row->tid, a, TASK_LIMIT, e) < 0 ||
	    (row->receiver > 0 && idmap_put(&a->serving, (u64)row->receiver, a, TASK_LIMIT, e) < 0))
		return ERR_FAIL;
	a->side[in].n++;
	a->side[in].latency += end - arrival;
	a->side[in].part += fmax(0, wait);
	if (!in || wait <= 0 || arrival < 0 || wait < MOSTLY * (end - arrival) || wait < a->least)
		return 0;
	if (GROW(a->v, a->n, "requests", e) < 0)
		return ERR_FAIL;
	a->v[a->n++] = (struct unaccepted){
		.from = (s64)arrival, .to = f->ts, .pid = row->pid, .fd = row->fd
	};
	return 0;
}

/* Without those whose acceptor is not known, or that accept failed for. */
static void find_acceptors(struct accepts *a)
{
	size_t i, n = 0;

	for (i = 0; i < a->n; i++) {
		struct unaccepted *w = &a->v[i];

		w->tid = accept_calls_thread(&a->calls, w->pid, w->fd, w->to);
		if (w->tid && !accept_calls_failed(&a->calls, w->pid, w->from, w->to))
			a->v[n++] = *w;
	}
	a->n = n;
}

static int by_thread(const void *a, const void *b)
{
	const struct unaccepted *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Times of one thread become disjoint. */
static int join(struct accepts *a, struct err *e)
{
	struct acceptor *of;
	size_t i, n = 0;
	double ns = 0;

	a->joined = calloc(a->n + 1, sizeof(*a->joined));
	a->before = calloc(a->n + 1, sizeof(*a->before));
	if (!a->joined || !a->before)
		return err_set(e, ERR_FAIL, "out of memory for requests");
	qsort(a->v, a->n, sizeof(*a->v), by_thread);
	for (i = 0; i < a->n; i++) {
		struct unaccepted *last = n ? &a->joined[n - 1] : NULL;

		if (last && last->tid == a->v[i].tid && a->v[i].from <= last->to)
			last->to = last->to > a->v[i].to ? last->to : a->v[i].to;
		else
			a->joined[n++] = a->v[i];
	}
	a->n_joined = n;
	for (i = 0; i < n; i++) {
		const struct unaccepted *w = &a->joined[i];

		a->before[i] = ns;
		ns += (double)(w->to - w->from);
		of = idmap_get(&a->threads, (u64)w->tid);
		if (!of)
			of = idmap_add(&a->threads, (u64)w->tid, sizeof(*of), TASK_LIMIT, "threads",
				       e);
		if (!of)
			return ERR_FAIL;
		of->tid = w->tid;
		of->waits += (double)(w->to - w->from);
	}
	a->before[n] = ns;
	return 0;
}

/* ns of the waits for a thread that passed until ts, and of all those for threads before it. */
static double passed(const struct accepts *a, s64 tid, s64 ts)
{
	size_t low = 0, high = a->n_joined, mid;
	const struct unaccepted *w;

	while (low < high) { /* the first that begins later */
		mid = (low + high) / 2;
		w = &a->joined[mid];
		if (w->tid < tid || (w->tid == tid && w->from < ts))
			low = mid + 1;
		else
			high = mid;
	}
	w = low ? &a->joined[low - 1] : NULL;
	return w && w->tid == tid && w->to > ts ? a->before[low - 1] + (double)(ts - w->from)
						: a->before[low];
}

/* ---- what the threads did then ---- */

static int on_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct accepts *a = arg;
	struct acceptor *of = idmap_get(&a->threads, (u64)row->tid);

	(void)rowid;
	(void)e;
	if (of && row->state >= 0 && row->state < N_STATES &&
	    (row->state != STATE_poll || idmap_get(&a->polls, (u64)row->nr)))
		of->spent[row->state] +=
			passed(a, row->tid, row->ts + row->dur) - passed(a, row->tid, row->ts);
	return 0;
}

/* Connections of clients that its process had when this wait ended. */
static double had(const struct accepts *a, const struct unaccepted *wait)
{
	double n = 0;
	size_t i;

	for (i = 0; i < a->rows.n; i++)
		n += a->rows.v[i].pid == wait->pid && a->rows.v[i].ts < wait->to &&
		     a->rows.v[i].end > wait->to;
	return n;
}

/* The state it was in for most of the waits, if it was asleep; -1: none, or in a request's work. */
static int did_of(const struct accepts *a, const struct acceptor *of)
{
	static const int asleep[] = { STATE_poll,    STATE_timer,  STATE_futex,
				      STATE_lock,    STATE_disk,   STATE_pipe,
				      STATE_blocked, STATE_client, STATE_child };
	size_t i;

	for (i = 0; i < sizeof(asleep) / sizeof(asleep[0]); i++)
		if (of->spent[asleep[i]] >= MOSTLY * of->waits)
			return asleep[i] == STATE_poll || !idmap_get(&a->serving, (u64)of->tid)
				       ? asleep[i]
				       : -1;
	return -1;
}

/* The waits for threads that were in the state of the one that is waited for most. */
static void choose(struct accepts *a)
{
	const struct acceptor *of;
	double most = 0;
	size_t i, n = 0, at = 0;

	a->did = -1;
	while ((of = idmap_each(&a->threads, &at)))
		if (did_of(a, of) >= 0 && of->waits > most) {
			most = of->waits;
			a->did = did_of(a, of);
		}
	at = 0;
	while (a->did >= 0 && (of = idmap_each(&a->threads, &at))) {
		if (did_of(a, of) != a->did)
			continue;
		a->idle += of->spent[a->did];
		a->waits += of->waits;
		a->threads_idle++;
	}
	for (i = 0; i < a->n; i++) {
		struct unaccepted *w = &a->v[i];

		of = idmap_get(&a->threads, (u64)w->tid);
		if (a->did < 0 || did_of(a, of) != a->did)
			continue;
		a->start = n ? fmin(a->start, (double)w->from) : (double)w->from;
		a->end = fmax(a->end, (double)w->to);
		a->longest = fmax(a->longest, (double)(w->to - w->from));
		a->sum += (double)(w->to - w->from);
		a->v[n++] = *w;
	}
	a->of = (double)n;
}

/* Whether their processes have several connections at a time, when most of the waits end. */
static bool has_several(struct accepts *a)
{
	size_t i, n = (size_t)a->of, step = n / LOOKED_AT + 1, several = 0, looked = 0;

	for (i = 0; i < n; i += step, looked++) {
		double clients = had(a, &a->v[i]);

		several += clients > 1;
		if (looked && clients <= a->clients)
			continue;
		a->clients = clients;
		a->example = a->v[i];
	}
	return 2 * several > looked;
}

static int read_requests(struct accepts *a, struct analysis_ctx *c, const struct judged *j,
			 struct err *e)
{
	int ret = fd_rows_read(&a->rows, c->db, j->about.id, "accepted", e);

	return ret < 0 || !a->rows.n
		       ? ret
		       : requests_each(c->db,
				       COLUMN_OF(request, pid) | COLUMN_OF(request, fd) |
					       COLUMN_OF(request, tid) |
					       COLUMN_OF(request, receiver),
				       "SELECT id FROM service WHERE server=?1", j->about.id,
				       add_request, a, e);
}

/* Of the requests that waited, those for threads that were idle; their number is a->of. */
static int read_idle(struct accepts *a, struct analysis_ctx *c, const struct judged *j,
		     struct err *e)
{
	double all = 0;
	size_t i;
	int ret = accept_calls_read(&a->calls, c->db, j->about.id, e);

	if (ret == 0)
		find_acceptors(a);
	if (ret < 0 || !a->n)
		return ret;
	for (i = 0; i < a->n; i++)
		all += (double)(a->v[i].to - a->v[i].from);
	ret = join(a, e);
	if (ret == 0)
		ret = db_each(
			c->db, e, db_idmap, &a->polls,
			"SELECT nr FROM syscall_name WHERE name IN ('epoll_wait', 'epoll_pwait',"
			" 'epoll_pwait2')",
			"");
	if (ret == 0)
		ret = rows_each(c->db, TABLE_thread_state, COLUMNS_ALL, on_state, a, e);
	if (ret < 0)
		return ret;
	choose(a);
	if (!a->of || a->sum < MOSTLY * all || (!has_several(a) && a->did == STATE_poll))
		a->of = 0;
	return 0;
}

static void forget(struct accepts *a)
{
	fd_rows_free(&a->rows);
	idmap_free_all(&a->threads);
	idmap_free(&a->polls);
	idmap_free(&a->serving);
	accept_calls_free(&a->calls);
	free(a->joined);
	free(a->before);
	free(a->v);
}

/* ---- what is said ---- */

static int take_files(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct accepts *a = arg;

	(void)e;
	a->files = db_number(q, 0);
	a->limit = db_number(q, 1);
	/* it was another one by then */
	a->limit = a->files > a->limit ? NAN : a->limit;
	return 0;
}

/* What its process had open when the wait of the example ended. */
static int read_files(struct accepts *a, struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT count(*), (SELECT files_limit FROM process WHERE pid=?1 AND start <= ?2 ORDER BY start"
		" DESC LIMIT 1) FROM fd WHERE pid=?1 AND fd >= 0 AND ts < ?2 AND coalesce(end, ?2 + 1) > ?2";

	return db_each(c->db, e, take_files, a, sql, "ii", a->example.pid, a->example.to);
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct accepts *a,
	       struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("n", a->of, ""),
		VALUE_NUMBER("mean", a->sum / a->of, "ns"),
		VALUE_NUMBER("longest", a->longest, "ns"),
		VALUE_SUBJECT("thread", thread, a->example.tid),
		VALUE_NUMBER("others", a->threads_idle > 1 ? a->threads_idle - 1 : NAN, ""),
		VALUE_TEXT("state", a->did == STATE_poll ? "idle in epoll" : verdict_does[a->did]),
		VALUE_NUMBER("share", percent(a->idle, a->waits), "%"),
		VALUE_SUBJECT("process", process, a->example.pid),
		VALUE_NUMBER("files", a->files, ""),
		VALUE_NUMBER("limit", a->limit, ""),
		VALUE_NUMBER("clients", a->clients, ""),
		{ 0 },
	};

	return verdict_queues_put(c, j, FINDING_verdict_accepts, OBSERVED,
				  "SELECT * FROM connection ORDER BY accept_delay DESC", values, e);
}

int verdict_accepts(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		    const struct limits *l, struct err *e)
{
	bool late = j->kind == VERDICT_connections;
	struct accepts a = { .when = w, .least = late ? l->pause : 0 };
	int ret = 0;

	if (!late || !j->unserved.call)
		ret = read_requests(&a, c, j, e);
	if (ret >= 0 && a.n && (late || side_is_most(a.side, l->latency)))
		ret = read_idle(&a, c, j, e);
	if (ret >= 0 && a.of > 0)
		ret = read_files(&a, c, e);
	if (ret >= 0 && a.of > 0)
		ret = put(c, j, &a, e);
	forget(&a);
	return ret < 0 ? ret : a.of > 0;
}

int verdict_accepted_late(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			  struct err *e)
{
	double all[1][2] = { { 0, (double)c->duration } };
	const struct verdict_when when = { .v = all, .n = 1, .all = true };
	struct accepts a = { .when = &when, .least = l->pause };
	int ret = 0;

	if (j->about.kind != SUBJECT_server || j->unserved.n > 0 ||
	    (j->status != STATUS_NONE && j->status != STATUS_UNCHANGED))
		return 0;
	ret = read_requests(&a, c, j, e);
	if (ret >= 0 && a.n)
		ret = read_idle(&a, c, j, e);
	if (ret >= 0 && a.of > 0 && a.did == STATE_poll) {
		j->status = STATUS_PROBLEM;
		j->kind = VERDICT_connections;
		j->unserved = (struct verdict_unserved){
			.n = a.of,
			.start = a.start,
			.end = a.end,
			.late = a.of,
			.longest = a.longest,
		};
		j->start = a.start;
		j->end = a.end;
		j->n = a.of;
	}
	forget(&a);
	return ret < 0 ? ret : 0;
}
