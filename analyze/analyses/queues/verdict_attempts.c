// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_attempts.h"

#include "analyze/analyses/verdict/fd_rows.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
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

#define SOON 0.1 /* of the questions that were given up: so many may have been sooner */

/* An address: questions with an answer, and without one, until their stream was closed. */
struct asked {
	double answered, soon, late; /* late: as long as the limit of latency */
};

/* A socket on which a question has none at the end, the last answer before that, and the question
 * at hand with the waits of its thread that ended without an answer. */
struct asking {
	const struct fd_row *at;
	s64 answered;
	s64 tid, asked, till; /* tid 0: no question */
	double ns;
};

struct questions {
	sqlite3 *db;
	struct attempts *k;
	struct fd_rows fds;
	struct idmap asking;	/* fd.rowid -> struct asking */
	struct idmap threads;	/* of the server -> pid */
	struct idmap addresses; /* fd_row.remote -> its number, and 2 */
	struct idmap asked;	/* the same -> struct asked */
	double least;
};

static struct asked *asked_at(struct questions *x, const struct fd_row *at, struct err *e)
{
	struct asked *a = idmap_get(&x->asked, (u64)at->remote);

	return a ? a
		 : idmap_add(&x->asked, (u64)at->remote, sizeof(*a), SOCKET_LIMIT, "addresses", e);
}

static int count_answer(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct questions *x = arg;
	const struct fd_row *at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	struct asked *a = at ? asked_at(x, at, e) : NULL;

	(void)rowid;
	if (a)
		a->answered++;
	return at && !a ? ERR_FAIL : 0;
}

static int count_unanswered(void *arg, s64 rowid, const void *unanswered, struct err *e)
{
	const struct row_upstream_unanswered *row = unanswered;
	struct questions *x = arg;
	const struct fd_row *at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	struct asked *a;

	(void)rowid;
	if (!at || row->datagram || !row->closed)
		return 0;
	a = asked_at(x, at, e);
	if (!a)
		return ERR_FAIL;
	*((double)(at->end - row->ts) < x->least ? &a->soon : &a->late) += 1;
	return 0;
}

static struct asking *asking_at(const struct questions *x, s64 pid, s64 fd, s64 ts)
{
	const struct fd_row *at = pid ? fd_rows_at(&x->fds, pid, fd, ts) : NULL;

	return at && ts < at->end ? idmap_get(&x->asking, (u64)at->row) : NULL;
}

/* The number of an upstream's address; the same text is looked for once. */
static int address_at(struct questions *x, const struct fd_row *at, int *ret, struct err *e)
{
	uintptr_t known = (uintptr_t)idmap_get(&x->addresses, (u64)at->remote);
	struct buf text = { 0 };
	int err = 0;

	if (!known) {
		err = db_add_text(&text, x->db, e, "SELECT remote FROM fd WHERE rowid=?1", "i",
				  at->row);
		known = (uintptr_t)(text.len ? address_of(x->k, text.data) : -1) + 2;
		if (err == 0)
			err = idmap_put(&x->addresses, (u64)at->remote, (void *)known, SOCKET_LIMIT,
					e);
		buf_free(&text);
	}
	*ret = (int)known - 2;
	return err;
}

static int add_question(struct questions *x, const struct fd_row *at, struct attempt *one,
			struct err *e)
{
	int ret = address_at(x, at, &one->address, e);

	if (ret < 0 || one->address < 0)
		return ret;
	if (GROW(x->k->v, x->k->n, "questions", e) < 0)
		return ERR_FAIL;
	x->k->v[x->k->n++] = *one;
	return 0;
}

/*
 * The stream was closed before any answer. Who answers other questions would have answered this
 * one; who takes messages and does not answer gets them on streams that are closed soon as well, or
 * answers a handshake first.
 */
static int give_up(struct questions *x, const struct row_upstream_unanswered *row,
		   const struct fd_row *at, struct err *e)
{
	const struct asked *a = idmap_get(&x->asked, (u64)at->remote);
	struct attempt one = { .ts = row->ts,
			       .till = at->end,
			       .pid = row->pid,
			       .n = 1,
			       .ns = (double)(at->end - row->ts),
			       .row = at->row,
			       .end = CONNECT_GIVEN_UP };

	if (!row->closed || row->answered || one.ns < x->least || a->soon > SOON * a->late)
		return 0;
	return add_question(x, at, &one, e);
}

static int take_unanswered(void *arg, s64 rowid, const void *unanswered, struct err *e)
{
	const struct row_upstream_unanswered *row = unanswered;
	struct questions *x = arg;
	const struct fd_row *at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	const struct asked *known = at ? idmap_get(&x->asked, (u64)at->remote) : NULL;
	struct asking *a;

	(void)rowid;
	if (!at || idmap_get(&x->asking, (u64)at->row))
		return 0;
	if (!row->datagram && known && known->answered > 0)
		return give_up(x, row, at, e);
	a = idmap_add(&x->asking, (u64)at->row, sizeof(*a), SOCKET_LIMIT, "sockets", e);
	if (a)
		*a = (struct asking){ .at = at, .answered = INT64_MIN };
	return a ? 0 : ERR_FAIL;
}

static int take_answer(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct asking *a = asking_at(arg, row->pid, row->fd, row->ts);

	(void)rowid;
	(void)e;
	if (a && row->ts + row->dur > a->answered)
		a->answered = row->ts + row->dur;
	return 0;
}

/* The question at hand has no answer: its waits are an attempt. */
static int end_question(struct questions *x, struct asking *a, struct err *e)
{
	struct attempt one = { .ts = a->asked,
			       .till = a->till,
			       .pid = a->at->pid,
			       .n = 1,
			       .ns = a->ns,
			       .row = a->at->row,
			       .end = CONNECT_UNANSWERED };

	a->tid = 0;
	a->ns = 0;
	return one.ns > 0 ? add_question(x, a->at, &one, e) : 0;
}

/* Poll of that descriptor alone ends by its timeout, or a receive does. */
static bool is_in_vain(const struct questions *x, const struct row_syscall *row,
		       const struct syscall_desc *d)
{
	bool receives = d->family == FAMILY_RECV || d->family == FAMILY_RECV_MANY;

	return row->dur != BULK_NULL && (double)row->dur >= x->least &&
	       ((receives && row->ret == -LINUX_EAGAIN) ||
		(d->family == FAMILY_POLL && row->ret == 0));
}

/* In the order of each thread. A question has the waits of its thread until the next one. */
static int take_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	const struct syscall_desc *d = syscall_find((u8)row->abi, (u32)row->nr);
	struct questions *x = arg;
	struct asking *a;
	bool send;
	int ret = 0;

	(void)rowid;
	if (!d || row->fd < 0 || row->ret == BULK_NULL)
		return 0;
	send = (d->family == FAMILY_SEND || d->family == FAMILY_SEND_MANY) && row->ret > 0;
	if (!send && !is_in_vain(x, row, d))
		return 0;
	a = asking_at(x, (intptr_t)idmap_get(&x->threads, (u64)row->tid), row->fd, row->ts);
	if (!a || row->ts < a->answered)
		return 0;
	if (send) {
		ret = end_question(x, a, e);
		a->tid = row->tid;
		a->asked = row->ts;
	} else if (a->tid == row->tid) {
		a->till = row->ts + row->dur;
		a->ns += (double)row->dur;
	}
	return ret;
}

static int read_questions(struct analysis_ctx *c, struct attempts *k, const struct judged *j,
			  const struct limits *l, struct err *e)
{
	static const char threads[] =
		"SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM service WHERE server=?1)";
	struct questions x = { .db = c->db, .k = k, .least = l->latency };
	struct asking *a;
	size_t at = 0;
	int ret = fd_rows_read(&x.fds, c->db, j->about.id, "connected", e);

	if (ret == 0 && x.fds.n)
		ret = rows_each(c->db, TABLE_upstream_unanswered, COLUMNS_ALL, count_unanswered, &x,
				e);
	if (ret == 0 && x.asked.n)
		ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, count_answer, &x, e);
	if (ret == 0 && x.fds.n)
		ret = rows_each(c->db, TABLE_upstream_unanswered, COLUMNS_ALL, take_unanswered, &x,
				e);
	if (ret == 0 && x.asking.n)
		ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, take_answer, &x, e);
	if (ret == 0 && x.asking.n)
		ret = db_each(c->db, e, db_idmap, &x.threads, threads, "i", j->about.id);
	if (ret == 0 && x.asking.n)
		ret = rows_each(c->db, TABLE_syscall, COLUMNS_ALL, take_call, &x, e);
	while (ret >= 0 && (a = idmap_each(&x.asking, &at)))
		ret = end_question(&x, a, e);
	fd_rows_free(&x.fds);
	idmap_free_all(&x.asking);
	idmap_free_all(&x.asked);
	idmap_free(&x.threads);
	idmap_free(&x.addresses);
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
