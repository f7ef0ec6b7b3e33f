// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whom was asked last before an answer that reports an error? In the time range of the errors, the
 * last exchange with another server that ended in the thread of a request, before its answer was
 * sent. It is the cause if half of the errors or more come after one address, and next to no good
 * answer does: its answers, while others answer well; or connections to it that end before an
 * answer. Which end ended them: the last receive there was reset, read the end, or neither. Or the
 * server read its answer by one call only, and closed the connection soon.
 */
#include "verdict_queues.h"

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

#define MOST	  0.5 /* of the errors are after it */
#define RARE	  0.1 /* of that share, of the good answers */
#define ENDS_MOST 1000000
#define KINDS	  128 /* of address and way to end */
#define SOON	  1e8 /* ns from a receive to the close of its connection */

enum exchange_end { ANSWERED, BY_RESET, BY_PEER, BY_SERVER, N_EXCHANGE_ENDS };

struct exchange {
	s64 tid, end;
	s64 opened; /* its connection */
	s64 row, remote;
	enum exchange_end how;
	bool spoke; /* the other end sent something on this connection */
	bool first; /* the receive that ended it was the last one on its connection */
	s64 closed, bytes;
};

struct after {
	s64 remote, row;
	enum exchange_end how;
	double n[2], before;	 /* good, failed; good ones before the errors */
	double kept, spoke;	 /* of failed: the connection is of an earlier request; it spoke */
	double all[2], first[2]; /* exchanges before the errors, and since: of first, one receive */
	double larger;		 /* was all of the answer, then it was closed; with more bytes */
	s64 largest, bytes;	 /* than any before; of the last of them */
};

struct last_asked {
	const struct judged *j;
	struct fd_rows fds;
	struct idmap services, threads;
	/* fd.rowid -> index + 1: of the exchange that had no answer; of the last with an answer */
	struct idmap broken, last;
	struct exchange *v;
	size_t n;
	bool full;	 /* there are more: nothing is said */
	bool full_first; /* nothing of first receives */
	struct after kinds[KINDS];
	int n_kinds;
	double requests[2], asked, asked_before;
};

static int add(struct last_asked *x, struct exchange one, struct err *e)
{
	bool answered = one.how == ANSWERED;
	struct idmap *m = answered ? &x->last : &x->broken;

	x->full |= x->n >= ENDS_MOST || (!answered && m->n >= SOCKET_LIMIT);
	x->full_first |= answered && m->n >= SOCKET_LIMIT;
	if (x->full)
		return 0;
	if (GROW(x->v, x->n, "exchanges", e) < 0)
		return ERR_FAIL;
	x->v[x->n++] = one;
	if (answered && (one.closed == INT64_MAX || x->full_first))
		return 0;
	return idmap_put(m, (u64)one.row, (void *)(uintptr_t)x->n, SOCKET_LIMIT, e);
}

static int take_upstream(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct last_asked *x = arg;
	const struct fd_row *at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);

	(void)rowid;
	x->full_first |= row->lossy; /* its first receive may not be known */
	return !at ? 0
		   : add(x,
			 (struct exchange){ .tid = row->tid,
					    .end = row->ts + row->dur,
					    .row = at->row,
					    .remote = at->remote,
					    .closed = at->end,
					    .bytes = row->recv_bytes },
			 e);
}

static int take_unanswered(void *arg, s64 rowid, const void *unanswered, struct err *e)
{
	const struct row_upstream_unanswered *row = unanswered;
	struct last_asked *x = arg;
	const struct fd_row *at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	const struct exchange one = { .tid = row->tid,
				      .end = at ? at->end : 0,
				      .opened = at ? at->ts : 0,
				      .row = at ? at->row : 0,
				      .remote = at ? at->remote : 0,
				      .closed = at ? at->end : 0,
				      .how = BY_SERVER,
				      .spoke = row->answered };

	(void)rowid;
	return !at || !row->closed || row->datagram ? 0 : add(x, one, e);
}

/* The last receive on a connection that ended. */
static int take_receive(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	const struct syscall_desc *d = syscall_find((u8)row->abi, (u32)row->nr);
	struct last_asked *x = arg;
	const struct fd_row *at;
	size_t i, k;

	(void)rowid;
	(void)e;
	if (!d || (d->family != FAMILY_RECV && d->family != FAMILY_RECV_MANY) || row->fd < 0 ||
	    row->ret == BULK_NULL)
		return 0;
	at = fd_rows_at(&x->fds, (intptr_t)idmap_get(&x->threads, (u64)row->tid), row->fd, row->ts);
	i = at ? (uintptr_t)idmap_get(&x->broken, (u64)at->row) : 0;
	k = at && !i ? (uintptr_t)idmap_get(&x->last, (u64)at->row) : 0;
	if (k)
		x->v[k - 1].first = row->ts + row->dur == x->v[k - 1].end;
	if (i && row->ret != -LINUX_EAGAIN)
		x->v[i - 1].how = row->ret == -LINUX_ECONNRESET ? BY_RESET
				  : row->ret == 0		? BY_PEER
								: BY_SERVER;
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct exchange *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static const struct exchange *last_of(const struct last_asked *x, s64 tid, s64 from, s64 to)
{
	const struct exchange key = { .tid = tid, .end = to };
	size_t low = 0, high = x->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_thread(&x->v[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low && x->v[low - 1].tid == tid && x->v[low - 1].end >= from ? &x->v[low - 1] : NULL;
}

static struct after *kind_of(struct last_asked *x, const struct exchange *last)
{
	int i;

	for (i = 0; i < x->n_kinds; i++)
		if (x->kinds[i].remote == last->remote && x->kinds[i].how == last->how)
			return &x->kinds[i];
	if (i == KINDS)
		return NULL;
	x->kinds[x->n_kinds++] =
		(struct after){ .remote = last->remote, .row = last->row, .how = last->how };
	return &x->kinds[i];
}

static int take_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct last_asked *x = arg;
	s64 end = row->ts + row->dur;
	s64 sent =
		row->first_send != BULK_NULL && row->first_send > row->ts ? row->first_send : end;
	bool before = (double)end<x->j->start, failed = row->errors> 0;
	const struct exchange *last;
	struct after *k;

	(void)rowid;
	(void)e;
	if (row->lossy || !idmap_get(&x->services, (u64)row->service) ||
	    (double)end > x->j->end + x->j->width || (before && failed))
		return 0;
	last = last_of(x, row->tid, row->ts, sent);
	k = last ? kind_of(x, last) : NULL;
	if (!before)
		x->requests[failed]++;
	if (!k)
		return 0;
	*(before ? &x->asked_before : &x->asked) += 1;
	*(before ? &k->before : &k->n[failed]) += 1;
	k->kept += failed && last->opened < row->ts;
	k->spoke += failed && last->spoke;
	return 0;
}

static int read_exchanges(struct analysis_ctx *c, struct last_asked *x, struct err *e)
{
	s64 server = x->j->about.id;
	int ret = fd_rows_read(&x->fds, c->db, server, "connected", e);

	if (ret < 0 || !x->fds.n)
		return ret;
	ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, take_upstream, x, e);
	if (ret >= 0)
		ret = rows_each(c->db, TABLE_upstream_unanswered, COLUMNS_ALL, take_unanswered, x,
				e);
	if (ret >= 0 && (x->last.n || x->broken.n))
		ret = db_each(
			c->db, e, db_idmap, &x->threads,
			"SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM service WHERE"
			" server=?1)",
			"i", server);
	if (ret >= 0 && (x->last.n || x->broken.n))
		ret = rows_each(c->db, TABLE_syscall, COLUMNS_ALL, take_receive, x, e);
	if (ret < 0 || !x->n)
		return ret;
	qsort(x->v, x->n, sizeof(*x->v), by_thread);
	ret = db_each(c->db, e, db_idmap, &x->services, "SELECT id, 1 FROM service WHERE server=?1",
		      "i", server);
	return ret < 0 ? ret : rows_each(c->db, TABLE_request, COLUMNS_ALL, take_request, x, e);
}

static bool is_cause(const struct last_asked *x, const struct after *k)
{
	double bad = x->requests[1] > 0 ? k->n[1] / x->requests[1] : 0;
	double good = x->requests[0] > 0 ? k->n[0] / x->requests[0] : 0;

	return bad >= MOST && good <= RARE * bad;
}

/*
 * Answers that are not read any further, with a larger first receive than any before. A thread that
 * has several requests under way does not show whose they are: about as many as errors belong to
 * these.
 */
static void count_first(struct last_asked *x, bool since)
{
	struct after *k;
	size_t i;

	for (i = 0; i < x->n; i++) {
		const struct exchange *one = &x->v[i];
		bool first = one->first && (double)(one->closed - one->end) <= SOON;

		if (one->how != ANSWERED || since != ((double)one->end >= x->j->start) ||
		    (double)one->end > x->j->end + x->j->width)
			continue;
		k = kind_of(x, one);
		if (!k) { /* of too many */
			x->full_first = true;
			return;
		}
		k->all[since]++;
		k->first[since] += first;
		if (!since) {
			k->largest = one->bytes > k->largest ? one->bytes : k->largest;
		} else if (first && one->bytes > k->largest) {
			k->larger++;
			k->bytes = one->bytes;
		}
	}
}

static bool is_first_read(const struct last_asked *x, const struct after *k)
{
	return k->how == ANSWERED && k->all[0] >= DUE_ANSWERS && k->larger > 0 &&
	       k->larger >= MOST * x->requests[1] && x->requests[1] >= MOST * k->larger &&
	       k->first[0] * k->all[1] <= MOST * k->first[1] * k->all[0];
}

/* Good answers after those of other addresses. */
static double others_of(const struct last_asked *x, const struct after *k)
{
	double n = 0;
	int i;

	for (i = 0; i < x->n_kinds; i++)
		n += x->kinds[i].remote != k->remote && x->kinds[i].how == ANSWERED
			     ? x->kinds[i].n[0]
			     : 0;
	return n;
}

static int say(struct analysis_ctx *c, const struct last_asked *x, const struct after *k,
	       struct err *e)
{
	static const enum finding_kind kinds[N_EXCHANGE_ENDS] = {
		[ANSWERED] = FINDING_failing_upstream,
		[BY_RESET] = FINDING_failing_reset,
		[BY_PEER] = FINDING_failing_closed,
		[BY_SERVER] = FINDING_failing_broken_off,
	};
	double others = others_of(x, k);
	const struct value values[] = {
		VALUE_NUMBER("n", k->n[1], ""),
		VALUE_NUMBER("of", x->requests[1], ""),
		VALUE_MAYBE("upstream", upstream, k->row),
		VALUE_NUMBER("good", k->n[0], ""),
		VALUE_NUMBER("others", others, ""),
		VALUE_NUMBER("share", percent(k->n[0] + k->n[1], x->asked), "%"),
		VALUE_NUMBER("before",
			     x->asked_before > 0 ? percent(k->before, x->asked_before) : NAN, "%"),
		VALUE_NUMBER("kept", k->kept > 0 ? k->kept : NAN, ""),
		VALUE_NUMBER("spoke", k->spoke > 0 && !(k->kept > 0) ? k->spoke : NAN, ""),
		{ 0 },
	};
	const struct finding f = {
		kinds[k->how], PROBLEM,	     OBSERVED, x->j->about, "SELECT * FROM upstream",
		values,	       x->j->finding
	};

	return k->how == ANSWERED && !(others > 0)
		       ? 0
		       : finding_put(c->db, c->analysis->name, &f, NULL, e);
}

/* All answers come from one address: this one's were not read any further. */
static int say_first_read(struct analysis_ctx *c, const struct last_asked *x, const struct after *k,
			  struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("n", k->larger, ""),
		VALUE_MAYBE("upstream", upstream, k->row),
		VALUE_NUMBER("bytes", (double)k->bytes, "bytes"),
		VALUE_NUMBER("errors", x->requests[1], ""),
		VALUE_NUMBER("before", (double)k->largest, "bytes"),
		{ 0 },
	};
	const struct finding f = { FINDING_failing_first_read, PROBLEM, OVERLAP,      x->j->about,
				   "SELECT * FROM upstream",   values,	x->j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

static int say_cause(struct analysis_ctx *c, struct last_asked *x, struct err *e)
{
	int i;

	for (i = 0; i < x->n_kinds; i++)
		if (is_cause(x, &x->kinds[i]))
			return say(c, x, &x->kinds[i], e);
	count_first(x, false);
	count_first(x, true);
	for (i = 0; i < x->n_kinds && !x->full_first; i++)
		if (is_first_read(x, &x->kinds[i]))
			return say_first_read(c, x, &x->kinds[i], e);
	return 0;
}

int verdict_last_asked(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct last_asked x = { .j = j };
	int ret;

	if (j->awaited.n > 0)
		return verdict_awaited_say(c, j, e);
	ret = j->connect.n > 0 ? 0 : read_exchanges(c, &x, e);
	if (ret >= 0 && !x.full)
		ret = say_cause(c, &x, e);
	fd_rows_free(&x.fds);
	idmap_free(&x.services);
	idmap_free(&x.threads);
	idmap_free(&x.broken);
	idmap_free(&x.last);
	free(x.v);
	return ret < 0 ? ret : 0;
}
