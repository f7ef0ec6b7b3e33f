// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_attempts.h"

#include "analyze/store/columns/columns.h"
#include "analyze/store/row_types.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>
#include <string.h>

#define SYN_SENT 2 /* state of table retransmit */

static int address_of(struct attempts *k, const char *text)
{
	int i;

	for (i = 0; i < k->n_addresses; i++)
		if (strcmp(k->address[i], text) == 0)
			return i;
	if (i == ADDRESSES_MOST)
		return -1;
	k->address[i] = strdup(text);
	return k->address[i] ? k->n_addresses++ : -1;
}

/* Columns: start, end, process, address. */
static int add(struct attempts *k, sqlite3_stmt *q, struct attempt a, struct err *e)
{
	a.ts = sqlite3_column_int64(q, 0);
	a.till = sqlite3_column_int64(q, 1);
	a.pid = sqlite3_column_int64(q, 2);
	a.address = address_of(k, db_text(q, 3));
	if (a.address < 0)
		return 0;
	if (GROW(k->v, k->n, "connections", e) < 0)
		return ERR_FAIL;
	k->v[k->n++] = a;
	return 0;
}

enum connect_end attempt_failed(int error)
{
	return error == LINUX_ECONNREFUSED    ? CONNECT_REFUSED
	       : error == LINUX_EADDRNOTAVAIL ? CONNECT_NO_PORT
					      : CONNECT_NEVER;
}

static int add_attempt(void *arg, sqlite3_stmt *q, struct err *e)
{
	int error = sqlite3_column_int(q, 5);
	double segments = sqlite3_column_double(q, 6);

	return add(arg, q,
		   (struct attempt){
			   .n = 1,
			   .ns = sqlite3_column_double(q, 1) - sqlite3_column_double(q, 0),
			   .segments = segments,
			   .error = error,
			   .end = sqlite3_column_type(q, 4) == SQLITE_NULL ? attempt_failed(error)
				  : segments > 0			   ? CONNECT_AGAIN
									   : CONNECT_SLOW },
		   e);
}

/* Those that took as long as the limit of latency, or were not established. */
static int read_attempts(struct analysis_ctx *c, struct attempts *k, const struct judged *j,
			 const struct limits *l, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT ts, local, remote FROM retransmit WHERE state=?4) SELECT c.ts,"
		" coalesce(c.ts + handshake, end, ?2) AS till, pid, c.remote, handshake, coalesce(error, 0),"
		" count(s.ts) FROM connection c LEFT JOIN s ON s.local=c.local AND s.remote=c.remote AND s.ts >="
		" c.ts AND s.ts <= coalesce(c.ts + handshake, end, ?2) WHERE role='connected' AND c.ts > 0 AND"
		" (handshake IS NULL OR handshake >= ?3) AND pid IN (SELECT pid FROM service WHERE server=?1)"
		" GROUP BY c.rowid ORDER BY c.ts";

	return db_each(c->db, e, add_attempt, k, sql, "iidi", j->about.id, c->duration, l->latency,
		       (s64)SYN_SENT);
}

static int add_lost(void *arg, sqlite3_stmt *q, struct err *e)
{
	return add(arg, q,
		   (struct attempt){ .n = sqlite3_column_double(q, 5),
				     .ns = sqlite3_column_double(q, 4),
				     .segments = sqlite3_column_double(q, 5),
				     .end = CONNECT_LOST },
		   e);
}

/*
 * Exchanges with upstreams in which segments were sent again, by this end or by the other, if that
 * is recorded. The loss took the time until the last of them at least.
 */
static int read_lost(struct analysis_ctx *c, struct attempts *k, const struct judged *j,
		     struct err *e)
{
	static const char sql[] =
		"WITH f AS MATERIALIZED (SELECT pid, fd, ts, coalesce(end, ?2) AS till, local, remote FROM fd"
		" WHERE role='connected' AND local<>'' AND pid IN (SELECT pid FROM service WHERE server=?1)), x AS"
		" MATERIALIZED (SELECT f.pid, f.fd, f.remote, r.ts FROM retransmit r JOIN f ON f.local=r.local AND"
		" f.remote=r.remote WHERE r.ts BETWEEN f.ts AND f.till UNION ALL SELECT f.pid, f.fd, f.remote,"
		" r.ts FROM retransmit r JOIN f ON f.local=r.remote AND f.remote=r.local WHERE r.ts BETWEEN f.ts"
		" AND f.till), u AS MATERIALIZED (SELECT pid, fd, coalesce(first_send, ts) AS ts, ts + dur AS till"
		" FROM upstream WHERE (pid, fd) IN (SELECT pid, fd FROM x)) SELECT u.ts, u.till, u.pid, x.remote,"
		" max(x.ts) - u.ts, count(*) FROM x JOIN u ON u.pid=x.pid AND u.fd=x.fd AND x.ts BETWEEN u.ts AND"
		" u.till GROUP BY u.pid, u.fd, u.ts";
	s64 any = 0;
	int ret = db_int(c->db, &any, e, "SELECT EXISTS (SELECT 1 FROM retransmit)", "");

	return ret < 0 || !any
		       ? ret
		       : db_each(c->db, e, add_lost, k, sql, "ii", j->about.id, c->duration);
}

/* ---- questions without an answer ---- */

/* A wait of a thread for input of one socket that ended without. */
struct vain {
	s64 tid, fd, ts, dur;
};

/* A datagram socket on which a question has no answer, since it was opened. */
struct asking {
	s64 tid, fd, ts, pid;
	int address;
};

struct questions {
	struct attempts *k;
	struct vain *waits;
	struct asking *v;
	size_t n_waits, n;
	double least;
};

/* poll of that descriptor alone ends by its timeout, or a receive does. */
static int take_wait(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct questions *x = arg;
	const struct syscall_desc *d;

	(void)rowid;
	if (row->fd < 0 || row->ret > 0 || row->dur == BULK_NULL || (double)row->dur < x->least)
		return 0;
	d = syscall_find((u8)row->abi, (u32)row->nr);
	if (!d || !((d->family == FAMILY_POLL && row->ret == 0) ||
		    (d->family == FAMILY_RECV && row->ret == -LINUX_EAGAIN)))
		return 0;
	if (GROW(x->waits, x->n_waits, "waits for answers", e) < 0)
		return ERR_FAIL;
	x->waits[x->n_waits++] = (struct vain){ row->tid, row->fd, row->ts, row->dur };
	return 0;
}

/* Columns: thread, descriptor, since when, process, address. */
static int take_asking(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct questions *x = arg;
	int address = address_of(x->k, db_text(q, 4));

	if (address < 0)
		return 0;
	if (GROW(x->v, x->n, "sockets", e) < 0)
		return ERR_FAIL;
	x->v[x->n++] =
		(struct asking){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				 sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3), address };
	return 0;
}

static int by_socket(const void *a, const void *b)
{
	const struct vain *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* Both are in the order of thread, socket, time: each wait is one for the answer to a question. */
static int match_waits(struct questions *x, struct err *e)
{
	size_t i, w = 0;

	for (i = 0; i < x->n; i++) {
		const struct asking *v = &x->v[i], *next = i + 1 < x->n ? v + 1 : NULL;
		struct vain from = { v->tid, v->fd, v->ts, 0 },
			    until = { v->tid, v->fd, INT64_MAX, 0 };

		if (next && next->tid == v->tid && next->fd == v->fd)
			until.ts = next->ts;
		while (w < x->n_waits && by_socket(&x->waits[w], &from) < 0)
			w++;
		for (; w < x->n_waits && by_socket(&x->waits[w], &until) < 0; w++) {
			if (GROW(x->k->v, x->k->n, "questions", e) < 0)
				return ERR_FAIL;
			x->k->v[x->k->n++] =
				(struct attempt){ .ts = x->waits[w].ts,
						  .till = x->waits[w].ts + x->waits[w].dur,
						  .pid = v->pid,
						  .n = 1,
						  .ns = (double)x->waits[w].dur,
						  .address = v->address,
						  .end = CONNECT_UNANSWERED };
		}
	}
	return 0;
}

static int read_questions(struct analysis_ctx *c, struct attempts *k, const struct judged *j,
			  const struct limits *l, struct err *e)
{
	static const char sql[] =
		"SELECT u.tid, u.fd, f.ts, u.pid, f.remote FROM upstream_unanswered u JOIN fd f ON f.pid=u.pid AND"
		" f.fd=u.fd AND f.ts <= u.ts AND coalesce(f.end, ?2) >= u.ts WHERE datagram AND f.remote<>'' AND"
		" u.pid IN (SELECT pid FROM service WHERE server=?1) ORDER BY u.tid, u.fd, f.ts";
	struct questions x = { .k = k, .least = l->latency };
	int ret = db_each(c->db, e, take_asking, &x, sql, "ii", j->about.id, c->duration);

	if (ret == 0 && x.n)
		ret = rows_each(c->db, TABLE_syscall, COLUMNS_ALL, take_wait, &x, e);
	if (x.n_waits)
		qsort(x.waits, x.n_waits, sizeof(*x.waits), by_socket);
	if (ret >= 0 && x.n_waits)
		ret = match_waits(&x, e);
	free(x.waits);
	free(x.v);
	return ret < 0 ? ret : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct attempt *x = a, *y = b;

	return x->ts != y->ts	   ? (x->ts < y->ts ? -1 : 1)
	       : x->till < y->till ? -1
				   : x->till > y->till;
}

int attempts_read(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		  struct attempts *ret, struct err *e)
{
	int err = read_attempts(c, ret, j, l, e);

	if (err == 0)
		err = read_lost(c, ret, j, e);
	if (err == 0)
		err = read_questions(c, ret, j, l, e);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_time);
	return err;
}

void attempts_free(struct attempts *k)
{
	while (k->n_addresses > 0)
		free(k->address[--k->n_addresses]);
	free(k->v);
}
