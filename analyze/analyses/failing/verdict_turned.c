// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does the server turn new connections away? It has as many as it may, or is in a mode that serves
 * none: it accepts one, sends a few bytes and closes it, and has never tried to read. Where it
 * speaks first it reads afterwards, or waits in poll until the client is gone. A service that
 * always answers so (as daytime does) has done it since the recording began: that is no change.
 */
#include "verdict_failing.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/stats/sorted.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE	     1000000000 /* ns from accept to close; later, a client was given up */
#define STEPS_MOST   1024	/* others that were turned away right before one */
#define TURNED_MOST  1000000
#define CLIENTS_MOST 32
#define LEAST	     5	/* fewer are no share */
#define STRAY	     10 /* so many were expected until the next one: not of the same cause */

enum socket_of { SOCKET_OWN = 1, SOCKET_OTHER };

/* A connection that was accepted, and not read from. */
struct fresh {
	s64 start, sent_at, bytes;
	s64 nth; /* of all that were accepted */
	bool open;
};

/* One that was turned away. */
struct turned {
	s64 start; /* of accept: first, for sorted_from */
	u64 key;
	s64 end, bytes, nth;
};

struct turning {
	struct idmap pids;    /* threads of the server -> pid */
	struct idmap sockets; /* pid and fd that listen -> enum socket_of */
	struct idmap fresh;   /* pid and fd -> struct fresh */
	struct idmap polled;  /* tid -> start of its last call of poll + 1 */
	struct turned *v;
	size_t n;
	s64 accepted;
	struct {
		char address[sizeof(((struct verdict_turned *)0)->from)];
		double n;
	} client[CLIENTS_MOST];
	int clients;
};

static u64 key_of(s64 pid, s64 fd)
{
	return (u64)pid << 32 | (u32)fd;
}

static int add_socket(void *arg, sqlite3_stmt *q, struct err *e)
{
	return idmap_put(arg, key_of(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1)),
			 (void *)(intptr_t)sqlite3_column_int64(q, 2), SOCKET_LIMIT, e);
}

static int on_accept(struct turning *a, s64 pid, const struct row_syscall *row, struct err *e)
{
	u64 key = key_of(pid, row->ret);
	struct fresh *f = idmap_get(&a->fresh, key);

	if (row->ret < 0 || (intptr_t)idmap_get(&a->sockets, key_of(pid, row->fd)) == SOCKET_OTHER)
		return 0;
	if (!f && a->fresh.n >= TASK_LIMIT) /* of more, none is looked at */
		return 0;
	if (!f)
		f = idmap_add(&a->fresh, key, sizeof(*f), TASK_LIMIT, "connections", e);
	if (!f)
		return ERR_FAIL;
	*f = (struct fresh){ .start = row->ts, .nth = a->accepted++, .open = true };
	return 0;
}

static int on_close(struct turning *a, u64 key, const struct fresh *f,
		    const struct row_syscall *row, struct err *e)
{
	s64 polled = (intptr_t)idmap_get(&a->polled, (u64)row->tid);

	if (f->bytes <= 0 || row->ts - f->start > AT_ONCE || polled > f->sent_at ||
	    a->n >= TURNED_MOST)
		return 0;
	if (GROW(a->v, a->n, "connections", e) < 0)
		return ERR_FAIL;
	a->v[a->n++] = (struct turned){
		.start = f->start, .key = key, .end = row->ts, .bytes = f->bytes, .nth = f->nth
	};
	return 0;
}

static int on_other(struct turning *a, s64 pid, const struct row_syscall *row,
		    const struct syscall_desc *d, struct err *e)
{
	struct fresh *f = idmap_get(&a->fresh, key_of(pid, row->fd));
	int ret = 0;

	if (!f || !f->open)
		return 0;
	if (d->family == FAMILY_SEND && row->ret > 0) {
		f->bytes += row->ret;
		f->sent_at = row->ts;
	} else if (d->family == FAMILY_CLOSE) {
		ret = on_close(a, key_of(pid, row->fd), f, row, e);
		f->open = false;
	} else if (d->family == FAMILY_RECV || d->family == FAMILY_RECV_MANY ||
		   d->family == FAMILY_SEND_MANY || d->family == FAMILY_SEND) {
		f->open = false;
	}
	return ret;
}

static int take_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct turning *a = arg;
	s64 pid = (intptr_t)idmap_get(&a->pids, (u64)row->tid);
	const struct syscall_desc *d;

	(void)rowid;
	if (!pid || row->ret == BULK_NULL)
		return 0;
	d = syscall_find((u8)row->abi, (u32)row->nr);
	if (!d)
		return 0;
	if (d->wait == SYSWAIT_POLL && a->polled.n >= TASK_LIMIT)
		return 0;
	if (d->wait == SYSWAIT_POLL)
		return idmap_put(&a->polled, (u64)row->tid, (void *)(intptr_t)(row->ts + 1),
				 TASK_LIMIT, e);
	if (d->class == CALL_ACCEPT)
		return on_accept(a, pid, row, e);
	return d->family == FAMILY_NONE ? 0 : on_other(a, pid, row, d, e);
}

static int by_start(const void *a, const void *b)
{
	const struct turned *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* A connection of table fd: pid, fd, ts, address. */
static int take_client(void *arg, sqlite3_stmt *q, struct err *e)
{
	u64 key = key_of(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
	s64 ts = sqlite3_column_int64(q, 2);
	const char *address = db_text(q, 3);
	struct turning *a = arg;
	size_t i = sorted_from(a->v, a->n, sizeof(*a->v), ts + 1);
	int k, steps = 0;

	(void)e;
	while (i > 0 && steps++ < STEPS_MOST && a->v[i - 1].start > ts - AT_ONCE &&
	       a->v[i - 1].key != key)
		i--;
	if (!i || a->v[i - 1].key != key || a->v[i - 1].end < ts)
		return 0;
	for (k = 0; k < a->clients && strcmp(a->client[k].address, address) != 0; k++)
		;
	if (k == CLIENTS_MOST || !*address)
		return 0;
	a->clients += k == a->clients;
	snprintf(a->client[k].address, sizeof(a->client[k].address), "%s", address);
	a->client[k].n++;
	return 0;
}

/* The first one that is followed by others as often as the rest of them. */
static size_t first_of(const struct turning *a)
{
	s64 last = a->v[a->n - 1].nth;
	size_t i;
	double rest;

	for (i = 0; i + LEAST < a->n; i++) {
		rest = (double)(a->n - i - 1) / (double)(last - a->v[i + 1].nth + 1);
		if ((double)(a->v[i + 1].nth - a->v[i].nth) * rest < STRAY)
			break;
	}
	return i;
}

static void finish(struct turning *a, struct verdict_turned *t)
{
	size_t i = first_of(a);
	const struct turned *first = &a->v[i], *last = &a->v[a->n - 1];
	double n = (double)(a->n - i), of = fmax(n, (double)(last->nth - first->nth + 1));

	if (n < LEAST || (double)first->nth * n / of < LEAST)
		return;
	*t = (struct verdict_turned){ .n = n,
				      .of = of,
				      .start = (double)first->start,
				      .end = (double)last->end,
				      .least = (double)first->bytes,
				      .most = (double)first->bytes };
	for (; i < a->n; i++) {
		t->least = fmin(t->least, (double)a->v[i].bytes);
		t->most = fmax(t->most, (double)a->v[i].bytes);
	}
}

static void name_client(struct turning *a, struct verdict_turned *t)
{
	int i;

	for (i = 0; i < a->clients; i++) {
		if (a->client[i].n <= t->from_n)
			continue;
		t->from_n = a->client[i].n;
		snprintf(t->from, sizeof(t->from), "%s", a->client[i].address);
	}
	t->clients = a->clients;
}

/* SQL: processes of server ?1 that make their system calls themselves. */
#define OWN                                                                                    \
	"WITH p AS MATERIALIZED (SELECT pid, port FROM service WHERE server=?1 AND pid NOT IN" \
	" (SELECT pid FROM fd WHERE path='anon_inode:[io_uring]'))"

static int read_turned(struct analysis_ctx *c, struct judged *j, struct turning *a, struct err *e)
{
	static const u32 set = COLUMN_OF(syscall, ts) | COLUMN_OF(syscall, tid) |
			       COLUMN_OF(syscall, nr) | COLUMN_OF(syscall, abi) |
			       COLUMN_OF(syscall, fd) | COLUMN_OF(syscall, ret);
	s64 id = j->about.id;
	int ret = db_each(c->db, e, db_idmap, &a->pids,
			  OWN " SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM p)", "i",
			  id);

	if (ret == 0)
		ret = db_each(c->db, e, add_socket, &a->sockets,
			      OWN
			      " SELECT f.pid, f.fd, CASE WHEN f.port IN (SELECT port FROM p) THEN 1"
			      " ELSE 2 END FROM fd f WHERE f.role='listening' AND f.pid IN (SELECT"
			      " pid FROM p)",
			      "i", id);
	if (ret == 0)
		ret = rows_each(c->db, TABLE_syscall, set, take_call, a, e);
	if (ret < 0 || a->n < LEAST)
		return ret;
	qsort(a->v, a->n, sizeof(*a->v), by_start);
	finish(a, &j->turned);
	if (!(j->turned.n > 0))
		return 0;
	ret = db_each(c->db, e, take_client, a,
		      OWN
		      " SELECT pid, fd, ts, rtrim(rtrim(remote, '0123456789'), ':') FROM fd WHERE"
		      " role='accepted' AND ts >= ?2 AND remote<>'' AND pid IN (SELECT pid FROM p)",
		      "ii", id, (s64)j->turned.start);
	name_client(a, &j->turned);
	return ret;
}

int verdict_turned_read(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	/* sends that belong to no request, and connections that were closed at once */
	static const char any[] =
		"SELECT min((SELECT total(sends) - total(request_sends) FROM service WHERE server=?1), (SELECT"
		" count(*) FROM fd WHERE role='accepted' AND end - ts <= ?2 AND pid IN (SELECT pid FROM service"
		" WHERE server=?1)))";
	struct turning a = { 0 };
	s64 n = 0;
	int ret = db_int(c->db, &n, e, any, "ii", j->about.id, (s64)AT_ONCE);

	if (ret == 0 && n >= LEAST)
		ret = read_turned(c, j, &a, e);
	free(a.v);
	idmap_free(&a.pids);
	idmap_free(&a.sockets);
	idmap_free(&a.polled);
	idmap_free_all(&a.fresh);
	return ret < 0 ? ret : 0;
}

int verdict_turned_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_turned *t = &j->turned;
	bool ends = t->end + j->width + 1e9 < (double)c->duration, all = t->from_n >= t->n;
	const struct value values[] = {
		VALUE_NUMBER("n", t->n, ""),
		VALUE_NUMBER("of", t->of, ""),
		VALUE_NUMBER("start", t->start, "at"),
		VALUE_NUMBER("end", ends ? t->end : NAN, "at"),
		VALUE_NUMBER("bytes", t->least < t->most ? NAN : t->most, "bytes"),
		VALUE_NUMBER("most", t->least < t->most ? t->most : NAN, "bytes"),
		VALUE_TEXT("client", t->from_n > 0 && all ? t->from : NULL),
		VALUE_NUMBER("from_n", t->from_n > 0 && !all ? t->from_n : NAN, ""),
		VALUE_TEXT("from", t->from_n > 0 && !all ? t->from : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_turned,  PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM syscall", values,  0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 ? ret : verdict_holders_say(c, j, e);
}
