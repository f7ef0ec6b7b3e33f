// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that a proxy ends early, as its upstream closed its connection: the last answers of
 * connections that had others before, shorter, by the factor of the limits, than all answers of
 * their name after which the connection was kept. The client did not end it: from the first send on
 * the server received nothing there, and asked for no error. Within the request, its thread read
 * the end of a connection to the upstream. The server closes none after complete answers, as it
 * would when it ends. Of clients that open a connection per request nothing is known: they may ask
 * for it.
 */
#include "verdict_name_fails.h"

#include "analyze/analyses/queues/fd_rows.h"
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/row_types.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>

#define ENDS_MOST 1000000
#define RARE	  0.1 /* of the early ones: connections that are closed after complete answers */

/* The last request of a connection, so far. */
struct last_answer {
	s64 before; /* answers on the connection before it */
	s64 name, tid, ts, end, bytes, sends;
	bool good, closed; /* closed: by the server, right after it */
	bool unclear;	   /* the client may have ended it */
	s64 upstream;	   /* fd.rowid of the connection whose end was read last; 0: none */
	s64 remote;
};

struct cut_name {
	double kept;	  /* answers after which the connection was kept */
	double least;	  /* bytes of the shortest of them */
	double due;	  /* DUE_ANSWERS of them had ended then */
	double n, others; /* early: as said above; the client may have ended them */
	double bytes, first, last;
};

struct upstream_end {
	s64 tid, ts, row, remote;
};

struct cut {
	const struct limits *l;
	struct fd_rows fds, upstreams;
	struct idmap services, threads, ended;
	struct idmap names;	/* those that are readable: struct cut_name */
	struct last_answer *of; /* by the index in fds */
	double from;		/* the first early answer arrived then */
	const struct syscall_desc *option;
	struct upstream_end *ends;
	size_t n_ends;
	bool full;     /* there are more: nothing is said */
	double usual;  /* connections that are closed after complete answers */
	s64 name, all; /* that is said; its answers that follow others */
};

static void is_kept(struct cut *x, const struct last_answer *a)
{
	struct cut_name *n = a->good ? idmap_get(&x->names, (u64)a->name) : NULL;

	if (!n)
		return;
	n->least = n->kept > 0 ? fmin(n->least, (double)a->bytes) : (double)a->bytes;
	n->due = n->kept < DUE_ANSWERS ? fmax(n->due, (double)a->end) : n->due;
	n->kept++;
}

static int take_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	s64 end = row->ts + row->dur;
	struct cut *x = arg;
	const struct fd_row *at;
	struct last_answer *a;

	(void)rowid;
	(void)e;
	if (!idmap_get(&x->services, (u64)row->service))
		return 0;
	at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	if (!at || at->end < end)
		return 0;
	a = &x->of[at - x->fds.v];
	if (a->end)
		is_kept(x, a);
	*a = (struct last_answer){
		.before = a->before + (a->end > 0),
		.name = row->name,
		.tid = row->tid,
		.ts = row->ts,
		.end = end,
		.bytes = row->send_bytes,
		.sends = row->first_send > row->ts ? row->first_send : row->ts + 1,
		.good = !row->lossy && !row->errors && row->name > 0,
	};
	return 0;
}

static bool is_short(const struct cut *x, const struct last_answer *a, const struct cut_name *n)
{
	return n && n->kept >= DUE_ANSWERS && x->l->factor * (double)a->bytes < n->least;
}

/* Whether some may be early. */
static bool find_closed(struct cut *x)
{
	double n = 0;
	size_t i;

	x->from = INFINITY;
	for (i = 0; i < x->fds.n; i++) {
		struct last_answer *a = &x->of[i];
		const struct fd_row *at = &x->fds.v[i];
		s64 gone = (intptr_t)idmap_get(&x->ended, (u64)at->pid);

		if (a->end && at->end == INT64_MAX)
			is_kept(x, a);
		a->closed = a->end && a->good && at->end != INT64_MAX &&
			    (double)(at->end - a->end) < x->l->pause && !(gone && gone <= at->end);
	}
	for (i = 0; i < x->fds.n; i++) {
		const struct last_answer *a = &x->of[i];

		if (!a->closed || !a->before || !is_short(x, a, idmap_get(&x->names, (u64)a->name)))
			continue;
		x->from = fmin(x->from, (double)a->ts);
		n++;
	}
	return n >= DUE_ANSWERS;
}

/* Only what it received where it says who ended a connection. */
static int take_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	const struct syscall_desc *d = syscall_find((u8)row->abi, (u32)row->nr);
	s64 end = row->ts + (row->dur != BULK_NULL ? row->dur : 0), pid;
	struct cut *x = arg;
	const struct fd_row *at;
	struct last_answer *a;
	bool receives;

	(void)rowid;
	if (!d || row->fd < 0 || x->full)
		return 0;
	receives = d->family == FAMILY_RECV || d->family == FAMILY_RECV_MANY;
	if ((!receives && d != x->option) || (double)end < x->from || row->ret == -LINUX_EAGAIN)
		return 0;
	pid = (intptr_t)idmap_get(&x->threads, (u64)row->tid);
	at = pid ? fd_rows_at(&x->fds, pid, row->fd, row->ts) : NULL;
	if (at && row->ts <= at->end) {
		a = &x->of[at - x->fds.v];
		a->unclear |= a->closed && end >= a->sends;
	}
	at = pid && receives && (row->ret == 0 || row->ret == -LINUX_ECONNRESET)
		     ? fd_rows_at(&x->upstreams, pid, row->fd, row->ts)
		     : NULL;
	if (!at || row->ts > at->end)
		return 0;
	x->full = x->n_ends >= ENDS_MOST;
	if (x->full)
		return 0;
	if (GROW(x->ends, x->n_ends, "ends of connections", e) < 0)
		return ERR_FAIL;
	x->ends[x->n_ends++] = (struct upstream_end){ row->tid, end, at->row, at->remote };
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct upstream_end *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* The last end that its thread read within the request. */
static const struct upstream_end *end_within(const struct cut *x, const struct last_answer *a)
{
	const struct upstream_end key = { .tid = a->tid, .ts = a->end };
	size_t low = 0, high = x->n_ends, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_thread(&x->ends[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low && x->ends[low - 1].tid == a->tid && x->ends[low - 1].ts >= a->ts
		       ? &x->ends[low - 1]
		       : NULL;
}

static void count_closed(struct cut *x)
{
	size_t i;

	if (x->n_ends)
		qsort(x->ends, x->n_ends, sizeof(*x->ends), by_thread);
	for (i = 0; i < x->fds.n; i++) {
		struct last_answer *a = &x->of[i];
		struct cut_name *n = idmap_get(&x->names, (u64)a->name);
		const struct upstream_end *u;

		if (!a->closed || !a->before || !n)
			continue;
		if (!is_short(x, a, n)) {
			x->usual += !a->unclear;
			continue;
		}
		u = a->unclear || (double)a->ts < n->due ? NULL : end_within(x, a);
		if (!u) {
			n->others++;
			continue;
		}
		a->upstream = u->row;
		a->remote = u->remote;
		n->first = n->n > 0 ? fmin(n->first, (double)a->end) : (double)a->end;
		n->last = fmax(n->last, (double)a->end);
		n->bytes += (double)a->bytes;
		n->n++;
	}
}

/* The upstream of all of them; 0: several. */
static s64 upstream_of(const struct cut *x)
{
	s64 row = 0, remote = 0;
	size_t i;

	for (i = 0; i < x->fds.n; i++) {
		const struct last_answer *a = &x->of[i];

		if (a->name != x->name || !a->upstream)
			continue;
		if (row && a->remote != remote)
			return 0;
		row = a->upstream;
		remote = a->remote;
	}
	return row;
}

/* Its answers since the first that ends early, on connections that had others before. */
static int take_answer(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct cut *x = arg;
	const struct fd_row *at;
	bool follows;

	(void)rowid;
	(void)e;
	if (!idmap_get(&x->services, (u64)row->service))
		return 0;
	at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	if (!at || at->end < row->ts + row->dur)
		return 0;
	follows = x->of[at - x->fds.v].before > 0;
	x->of[at - x->fds.v].before = 1;
	x->all += follows && row->name == x->name && (double)(row->ts + row->dur) >= x->from;
	return 0;
}

static int choose(struct analysis_ctx *c, struct cut *x, struct verdict_errors *ret_errors,
		  struct err *e)
{
	const struct cut_name *n, *most = NULL;
	size_t at = 0, i;
	struct idmap_slot *sorted = idmap_sorted(&x->names, e);
	int ret;

	if (!sorted)
		return ERR_FAIL;
	for (; (n = sorted[at].value); at++)
		if (n->n >= DUE_ANSWERS && n->others <= RARE * n->n && x->usual <= RARE * n->n &&
		    (!most || n->n > most->n)) {
			most = n;
			x->name = (s64)sorted[at].id;
		}
	free(sorted);
	if (!most)
		return 0;
	*ret_errors = (struct verdict_errors){
		.name = x->name,
		.of_name = true,
		.n = most->n,
		.name_n = most->n,
		.start = most->first,
		.end = most->last + 1,
		.cut = most->bytes / most->n,
		.complete = most->least,
		.upstream = upstream_of(x),
		.first = NAN,
		.before = NAN,
		.name_before = NAN,
	};
	x->from = most->first;
	for (i = 0; i < x->fds.n; i++)
		x->of[i].before = 0;
	ret = rows_each(c->db, TABLE_request, COLUMNS_ALL, take_answer, x, e);
	ret_errors->of = ret_errors->name_of = (double)x->all;
	ret_errors->share = percent(ret_errors->n, ret_errors->of);
	return ret;
}

static int add_name(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct cut *x = arg;

	return idmap_add(&x->names, (u64)sqlite3_column_int64(q, 0), sizeof(struct cut_name),
			 TASK_LIMIT, "names of requests", e)
		       ? 0
		       : ERR_FAIL;
}

static int read_tables(struct analysis_ctx *c, s64 server, struct cut *x, struct err *e)
{
	int ret = db_each(c->db, e, db_idmap, &x->services,
			  "SELECT id, 1 FROM service WHERE server=?1", "i", server);

	if (ret >= 0)
		ret = db_each(
			c->db, e, db_idmap, &x->threads,
			"SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM service WHERE"
			" server=?1)",
			"i", server);
	if (ret >= 0)
		ret = db_each(c->db, e, db_idmap, &x->ended,
			      "SELECT pid, max(end, 1) FROM process WHERE end NOT NULL AND pid IN"
			      " (SELECT pid FROM service WHERE server=?1)",
			      "i", server);
	if (ret >= 0)
		ret = db_each(c->db, e, add_name, x,
			      "SELECT id FROM request_name WHERE readable(protocol)", "");
	if (ret >= 0)
		ret = rows_each(c->db, TABLE_request, COLUMNS_ALL, take_request, x, e);
	return ret;
}

/* A server that asks others, and closes connections by calls that are recorded. */
static int read_sockets(struct analysis_ctx *c, s64 server, struct cut *x, bool *ret_any,
			struct err *e)
{
	static const char rings[] =
		"SELECT count(*) FROM fd WHERE path='anon_inode:[io_uring]' AND pid IN (SELECT pid FROM service"
		" WHERE server=?1)";
	s64 n = 0;
	size_t i, closed = 0;
	int ret = db_int(c->db, &n, e, rings, "i", server);

	*ret_any = false;
	if (ret < 0 || n)
		return ret;
	ret = fd_rows_read(&x->upstreams, c->db, server, "connected", e);
	if (ret < 0 || !x->upstreams.n)
		return ret;
	ret = fd_rows_read(&x->fds, c->db, server, "accepted", e);
	for (i = 0; i < x->fds.n; i++)
		closed += x->fds.v[i].end != INT64_MAX;
	*ret_any = ret >= 0 && closed >= DUE_ANSWERS;
	return ret;
}

int verdict_cut(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		struct verdict_errors *ret_errors, struct err *e)
{
	struct cut x = { .l = l, .option = syscall_by_name("getsockopt") };
	struct verdict_errors found = { .n = 0 };
	bool any = false;
	int ret = read_sockets(c, j->about.id, &x, &any, e);

	if (ret >= 0 && any) {
		x.of = calloc(x.fds.n, sizeof(*x.of));
		ret = x.of ? read_tables(c, j->about.id, &x, e)
			   : err_set(e, ERR_FAIL, "out of memory for the verdict");
	}
	if (ret >= 0 && any && find_closed(&x)) {
		ret = rows_each(c->db, TABLE_syscall, COLUMNS_ALL, take_call, &x, e);
		if (ret >= 0 && !x.full) {
			count_closed(&x);
			ret = choose(c, &x, &found, e);
		}
	}
	if (ret >= 0 && found.n > 0 && found.share > 100 * l->errors)
		*ret_errors = found;
	fd_rows_free(&x.fds);
	fd_rows_free(&x.upstreams);
	idmap_free(&x.services);
	idmap_free(&x.threads);
	idmap_free(&x.ended);
	idmap_free_all(&x.names);
	free(x.of);
	free(x.ends);
	return ret < 0 ? ret : 0;
}
