// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_attempts.h"

#include "format/errnos.h"
#include "format/grow.h"

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
