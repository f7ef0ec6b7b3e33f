// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does the server leave connections to it unserved for want of a resource? No request shows them.
 * They wait while accept fails: a second failure, without a connection accepted in between, means
 * that one waits, since a single one may be the try after the last connection; or the kernel had
 * established one before the failure that was accepted later. One that is accepted and closed at
 * once (as libuv does) is not served either. Or the thread or process that was to serve it is not
 * created: the call fails after accept, and the connection is closed without a receive.
 */
#include "verdict_errnos.h"
#include "verdict_failing.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/stats/sorted.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>
#include <string.h>

#define FAILED_MAX   1000000
#define TURNED_LEAST 3 /* connections that were closed unserved */

/* Of a listening socket: failures since the last connection that was served. */
struct listener {
	double n;
	s64 first, last;
};

/* A thread that accepts. */
struct acceptor {
	struct listener *at;
	s64 fd;	     /* accepted last, nothing done with it yet; -1: none */
	bool served; /* something was done since: later calls, as of another goroutine, say nothing
		      */
	bool fork_failed;
	s64 ts;
	s64 call, error; /* of the fork */
};

struct accepting {
	struct judged *j;
	const struct limits *l;
	s64 duration;
	struct idmap pids;	/* threads that may accept -> pid */
	struct idmap sockets;	/* pid and fd -> inode of the listening socket */
	struct idmap listeners; /* inode -> struct listener */
	struct idmap acceptors; /* tid -> struct acceptor */
	struct verdict_unserved waiting, turned, late;
	s64 *failed; /* times of accept, in order of their return */
	size_t n_failed;
};

static u64 key_of(s64 pid, s64 fd)
{
	return (u64)pid << 32 | (u32)fd;
}

static int add_socket(void *arg, sqlite3_stmt *q, struct err *e)
{
	return idmap_put(arg, key_of(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1)),
			 (void *)(intptr_t)sqlite3_column_int64(q, 2), TASK_LIMIT, e);
}

static int listener_of(struct accepting *a, struct listener **ret, s64 pid, s64 fd, struct err *e)
{
	intptr_t ino = (intptr_t)idmap_get(&a->sockets, key_of(pid, fd));
	u64 key = ino ? (u64)ino : key_of(pid, fd) | 1ULL << 63;

	*ret = idmap_get(&a->listeners, key);
	if (!*ret)
		*ret = idmap_add(&a->listeners, key, sizeof(**ret), TASK_LIMIT, "listening sockets",
				 e);
	return *ret ? 0 : ERR_FAIL;
}

static void add_unserved(struct verdict_unserved *r, double n, s64 start, s64 end)
{
	r->start = r->n > 0 ? fmin(r->start, (double)start) : (double)start;
	r->end = fmax(r->end, (double)end);
	r->n += n;
}

/* A connection is served, or the recording ends. */
static void no_longer_failing(struct accepting *a, struct listener *at)
{
	if (at->n >= 2 && (double)(at->last - at->first) >= a->l->pause)
		add_unserved(&a->waiting, at->n, at->first, at->last);
	at->n = 0;
}

static int on_failed(struct accepting *a, struct listener *at, const struct row_syscall *row,
		     struct err *e)
{
	struct verdict_unserved *r = &a->waiting;

	if (a->n_failed < FAILED_MAX) {
		if (GROW(a->failed, a->n_failed, "failed calls", e) < 0)
			return ERR_FAIL;
		a->failed[a->n_failed++] = row->ts;
	}

	at->first = at->n > 0 ? at->first : row->ts;
	at->last = row->ts;
	at->n++;
	if (r->call)
		return 0;
	r->first = (double)row->ts;
	r->call = row->nr << 8 | row->abi;
	r->error = -row->ret;
	r->tid = row->tid;
	return 0;
}

static void on_fork_failed(struct acceptor *t, const struct row_syscall *row)
{
	if (t->fd < 0)
		return;
	t->fork_failed = true;
	t->ts = row->ts;
	t->call = row->nr << 8 | row->abi;
	t->error = -row->ret;
}

/* Another call than accept of a thread that has accepted a connection. */
static void on_other(struct accepting *a, struct acceptor *t, const struct row_syscall *row,
		     const struct syscall_desc *d)
{
	struct verdict_unserved *r = &a->turned;
	bool closes = d && d->family == FAMILY_CLOSE && row->fd == t->fd;
	bool receives = d && (d->family == FAMILY_RECV || d->family == FAMILY_RECV_MANY);

	if (closes && t->fork_failed) {
		add_unserved(r, 1, t->ts, t->ts);
		r->call = t->call;
		r->error = t->error;
		r->tid = row->tid;
	}
	if (!closes && !t->fork_failed && !t->served) {
		no_longer_failing(a, t->at);
		t->served = true;
	}
	if (closes || (receives && row->fd == t->fd)) {
		t->fd = -1;
		t->fork_failed = false;
	}
}

static bool is_fork_error(const struct row_syscall *row)
{
	return row->ret < 0 && row->ret >= -4095 &&
	       errno_reason((u8)row->abi, (u32)row->nr, (int)-row->ret) &&
	       is_fork((u8)row->abi, (u32)row->nr);
}

static int take_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct accepting *a = arg;
	s64 pid = (intptr_t)idmap_get(&a->pids, (u64)row->tid);
	const struct syscall_desc *d;
	struct acceptor *t;
	struct listener *at;

	(void)rowid;
	if (!pid || row->ret == BULK_NULL)
		return 0;
	d = syscall_find((u8)row->abi, (u32)row->nr);
	t = idmap_get(&a->acceptors, (u64)row->tid);
	if (t && t->fd >= 0 && is_fork_error(row))
		on_fork_failed(t, row);
	else if (t && t->fd >= 0)
		on_other(a, t, row, d);
	if (!d || d->class != CALL_ACCEPT)
		return 0;
	if (row->ret < 0 && !errno_reason((u8)row->abi, (u32)row->nr, (int)-row->ret))
		return 0;
	if (listener_of(a, &at, pid, row->fd, e) < 0)
		return ERR_FAIL;
	if (row->ret < 0)
		return on_failed(a, at, row, e);
	if (!t)
		t = idmap_add(&a->acceptors, (u64)row->tid, sizeof(*t), TASK_LIMIT, "threads", e);
	if (!t)
		return ERR_FAIL;
	*t = (struct acceptor){ .at = at, .fd = row->ret };
	return 0;
}

static int by_time(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

/* A connection that was accepted late: ts, established; accept_delay. */
static int take_late(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 from = sqlite3_column_int64(q, 0), waited = sqlite3_column_int64(q, 1);
	struct accepting *a = arg;
	size_t i = sorted_from(a->failed, a->n_failed, sizeof(*a->failed), from);

	(void)e;
	if (i == a->n_failed || a->failed[i] > from + waited)
		return 0;
	add_unserved(&a->late, 1, a->failed[i], from + waited);
	a->late.longest = fmax(a->late.longest, (double)waited);
	return 0;
}

/* Those that still fail at the end. */
static void finish(struct accepting *a)
{
	struct listener *at;
	size_t i = 0;

	while ((at = idmap_each(&a->listeners, &i))) {
		if (at->n > 0)
			a->waiting.alone = fmax(a->waiting.alone, (double)at->first);
		no_longer_failing(a, at);
	}
	if (a->waiting.n > 0) {
		a->j->unserved = a->waiting;
	} else if (a->late.n > 0) {
		a->j->unserved = a->waiting; /* the call */
		a->j->unserved.n = (double)a->n_failed;
		a->j->unserved.start = a->late.start;
		a->j->unserved.end = a->late.end;
		a->j->unserved.late = a->late.n;
		a->j->unserved.longest = a->late.longest;
	} else {
		a->j->unserved = a->turned.n >= TURNED_LEAST ? a->turned : a->waiting;
	}
	a->j->unserved.accepted = a->j->unserved.call == a->turned.call && a->turned.n > 0;
}

/*
 * SQL: processes that accept for server ?1 (?2: for any): its own, those that listen on the same
 * sockets, and parents that listen.
 */
#define ACCEPTING                                                                                   \
	"WITH own AS MATERIALIZED (SELECT pid FROM service WHERE server=?1), up AS MATERIALIZED"    \
	" (SELECT parent FROM process WHERE pid IN (SELECT pid FROM own)), ears AS MATERIALIZED"    \
	" (SELECT pid, fd, ino FROM fd WHERE role='listening'), p AS MATERIALIZED (SELECT pid"      \
	" FROM own UNION SELECT pid FROM ears WHERE ?2 OR pid IN (SELECT parent FROM up) OR ino IN" \
	" (SELECT ino FROM ears WHERE pid IN (SELECT pid FROM own)))"

int verdict_unserved_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			  struct err *e)
{
	static const char any[] = ACCEPTING
		" SELECT count(*) FROM syscall_error x JOIN syscall_name n USING(abi, nr) WHERE x.pid IN"
		" (SELECT pid FROM p) AND n.name IN ('accept', 'accept4', 'clone', 'clone3', 'fork', 'vfork')"
		" AND " IS_REASON;
	struct accepting a = { .j = j, .l = l, .duration = c->duration };
	s64 n = 0, all = j->about.kind != SUBJECT_server;
	s64 id = all ? -1 : j->about.id;
	int ret = db_int(c->db, &n, e, any, "ii", id, all);

	if (ret < 0 || !n)
		return ret;
	ret = db_each(c->db, e, db_idmap, &a.pids,
		      ACCEPTING " SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM p)",
		      "ii", id, all);
	if (ret == 0)
		ret = db_each(c->db, e, add_socket, &a.sockets,
			      ACCEPTING " SELECT pid, fd, ino FROM ears WHERE ino > 0", "ii", id,
			      all);
	if (ret == 0)
		ret = rows_each(c->db, TABLE_syscall, COLUMNS_ALL, take_call, &a, e);
	if (a.n_failed)
		qsort(a.failed, a.n_failed, sizeof(*a.failed), by_time);
	if (ret == 0 && a.n_failed)
		ret = db_each(
			c->db, e, take_late, &a,
			ACCEPTING
			" SELECT ts, accept_delay FROM connection WHERE role='accepted' AND ts > 0 AND"
			" accept_delay >= ?3 AND pid IN (SELECT pid FROM p)",
			"iid", id, all, l->pause);
	if (ret == 0)
		finish(&a);
	free(a.failed);
	idmap_free(&a.pids);
	idmap_free(&a.sockets);
	idmap_free_all(&a.listeners);
	idmap_free_all(&a.acceptors);
	return ret < 0 ? ret : 0;
}

static int put_open_files(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	s64 pid = 0;
	int ret =
		db_int(c->db, &pid, e, "SELECT pid FROM thread WHERE tid=?1", "i", j->unserved.tid);

	return ret < 0 || !pid ? ret : verdict_open_files_say(c, j, pid, (s64)j->unserved.start, e);
}

static int put_call(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_unserved *r = &j->unserved;
	u8 abi = r->call & 0xff;
	u32 nr = (u32)(r->call >> 8);
	const struct errno_reason *reason = errno_reason(abi, nr, (int)r->error);
	char call[64], error[32];
	const struct value values[] = {
		VALUE_TEXT("call", syscall_name(abi, nr, call, sizeof(call))),
		VALUE_NUMBER("n", r->n, ""),
		VALUE_TEXT("errno", errno_name((int)r->error, error, sizeof(error))),
		VALUE_TEXT("meaning", reason ? reason->meaning : ""),
		VALUE_TEXT("limit", reason ? reason->limit : NULL),
		VALUE_SUBJECT("thread", thread, r->tid),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_calls,	  PROBLEM, OBSERVED,  j->about,
				   "SELECT * FROM syscall_error", values,  j->finding };

	int ret = finding_put(c->db, c->analysis->name, &f, NULL, e);

	return ret == 0 && r->error == LINUX_EMFILE ? put_open_files(c, j, e) : ret;
}

int verdict_unserved_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_unserved *r = &j->unserved;
	bool ends = r->end + j->width + 1e9 < (double)c->duration;
	const struct value values[] = {
		VALUE_TEXT("closed", r->accepted ? "closed without a request" : NULL),
		VALUE_TEXT("waiting", r->accepted || r->late > 0 ? NULL : "not accepted"),
		VALUE_NUMBER("late", r->late > 0 ? r->late : NAN, ""),
		VALUE_NUMBER("longest", r->late > 0 ? r->longest : NAN, "ns"),
		VALUE_NUMBER("start", r->start, "at"),
		VALUE_NUMBER("end", ends ? r->end : NAN, "at"),
		VALUE_NUMBER("n", r->accepted ? NAN : r->n, ""),
		VALUE_NUMBER("refused", r->accepted ? r->n : NAN, ""),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_unserved, PROBLEM, OBSERVED, j->about, NULL, values, 0
	};
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 || !r->call ? ret : put_call(c, j, e);
}
