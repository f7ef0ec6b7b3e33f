// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that end early: the last answers of connections that had others before, shorter, by the
 * factor of the limits, than all answers of their name after which the connection was kept. The
 * client did not end it: from the first send on the server received nothing there, and asked for no
 * error. The server closes next to none after complete answers that follow others, as when it ends.
 * Of a proxy, its upstream closed its connection: within the request, its thread read that end.
 * Or the server itself ends all answers of a name since a moment: it kept no connection after one
 * since, and its clients ask with as many bytes as before: none asks for the close. Not so of a
 * process that ends in the recording, or stops to listen: it may end all that it holds. Then also
 * the answers count that are the first of their connection, as clients open new ones. Without
 * others, nothing is known of clients that open a connection per request: they may ask for it.
 */
#include "loss_times.h"
#include "upstream_closes.h"
#include "verdict_name_fails.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/row_types.h"
#include "fd_rows.h"
#include "format/errnos.h"
#include "format/syscall.h"

#include <stdlib.h>

#define ENDS_MOST 1000000
#define RARE	  0.1 /* of the early ones: connections that are closed after complete answers */

/* The last request of a connection, so far. */
struct last_answer {
	s64 before; /* answers on the connection before it */
	s64 name, tid, ts, end, bytes, asked, sends;
	bool good, closed; /* closed: by the server, right after it, or next to an upstream's */
	bool unclear;	   /* the client may have ended it */
	const struct fd_row *with;     /* that was closed next to it; NULL: none */
	const struct fd_row *upstream; /* whose end was read last, or with; NULL: none */
};

/* Answers that end early; follow: others on their connection; to: an upstream, closed with it. */
struct early {
	double n, others; /* others: the client may have ended them */
	double bytes, first, last, waited, follow, to;
};

struct cut_name {
	double kept;	      /* answers after which the connection was kept */
	double least;	      /* bytes of the shortest of them */
	double asked[2];      /* bytes of their requests */
	double newest;	      /* the last of them was asked then */
	double due;	      /* DUE_ANSWERS of them had ended then */
	double delay;	      /* ns, the longest from one that is short to the server's close */
	struct early by, own; /* by its upstream; by the server */
};

struct cut {
	const struct limits *l;
	s64 duration;
	struct fd_rows fds, upstreams;
	struct idmap services, threads, ended;
	struct idmap deaf;	/* processes that listened and do not */
	struct idmap names;	/* those that are readable: struct cut_name */
	struct last_answer *of; /* by the index in fds */
	double from;		/* the first early answer arrived then */
	const struct syscall_desc *option;
	struct loss_times losses;
	struct upstream_ends ends;     /* that threads read */
	struct upstream_closes closes; /* by the processes themselves */
	bool own;		       /* what is said: the server itself ends them */
	bool full;		       /* there are more: nothing is said */
	double usual;		       /* connections that are closed after complete answers */
	s64 name, all;		       /* that is said; its answers that follow others */
};

static void is_kept(struct cut *x, const struct last_answer *a)
{
	struct cut_name *n = a->good ? idmap_get(&x->names, (u64)a->name) : NULL;

	if (!n)
		return;
	n->least = n->kept > 0 ? fmin(n->least, (double)a->bytes) : (double)a->bytes;
	n->asked[0] = n->kept > 0 ? fmin(n->asked[0], (double)a->asked) : (double)a->asked;
	n->asked[1] = fmax(n->asked[1], (double)a->asked);
	n->newest = fmax(n->newest, (double)a->ts);
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
		.asked = row->recv_bytes,
		.sends = row->first_send > row->ts ? row->first_send : row->ts + 1,
		.good = !row->lossy && !row->errors && row->name > 0,
	};
	return 0;
}

static bool is_short(const struct cut *x, const struct last_answer *a, const struct cut_name *n)
{
	return n && n->kept >= DUE_ANSWERS && x->l->factor * (double)a->bytes < n->least;
}

/* By the server, as it did not end itself. */
static bool is_closed(struct cut *x, const struct fd_row *at, struct last_answer *a)
{
	s64 gone = (intptr_t)idmap_get(&x->ended, (u64)at->pid);

	if (!a->end || !a->good || at->end == INT64_MAX || (gone && gone <= at->end))
		return false;
	a->with = upstream_closes_take(&x->closes, at->pid, a->tid, a->ts, a->end, at->end);
	return a->with || (double)(at->end - a->end) < x->l->pause;
}

/* It is open for longer than the server takes to close one that is short: it is kept. */
static bool stays_open(const struct cut *x, const struct fd_row *at, const struct last_answer *a)
{
	const struct cut_name *n = idmap_get(&x->names, (u64)a->name);

	return n && a->end && at->end == INT64_MAX && (double)(x->duration - a->end) > n->delay;
}

static bool is_early(const struct cut *x, const struct last_answer *a)
{
	return a->closed && is_short(x, a, idmap_get(&x->names, (u64)a->name));
}

/* Whether some may be early. */
static bool find_closed(struct cut *x)
{
	double n = 0;
	size_t i;

	x->from = INFINITY;
	for (i = 0; i < x->fds.n; i++) {
		struct last_answer *a = &x->of[i];
		struct cut_name *name = idmap_get(&x->names, (u64)a->name);

		a->closed = is_closed(x, &x->fds.v[i], a);
		if (is_early(x, a))
			name->delay = fmax(name->delay, (double)(x->fds.v[i].end - a->end));
	}
	for (i = 0; i < x->fds.n; i++)
		if (stays_open(x, &x->fds.v[i], &x->of[i]))
			is_kept(x, &x->of[i]);
	for (i = 0; i < x->fds.n; i++) {
		const struct last_answer *a = &x->of[i];

		if (!is_early(x, a))
			continue;
		x->from = fmin(x->from, (double)a->ts);
		n += a->before > 0;
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
	x->full = x->ends.n >= ENDS_MOST;
	return x->full ? 0 : upstream_ends_add(&x->ends, row->tid, end, at, e);
}

static void add_early(struct early *r, const struct last_answer *a, s64 closed)
{
	r->first = r->n > 0 ? fmin(r->first, (double)a->end) : (double)a->end;
	r->last = fmax(r->last, (double)a->end);
	r->bytes += (double)a->bytes;
	r->waited += (double)(closed - a->ts);
	r->follow += a->before > 0;
	r->n++;
}

static void add_by_upstream(struct cut *x, struct cut_name *n, struct last_answer *a, s64 closed)
{
	const struct upstream_end *u =
		a->unclear || (double)a->ts < n->due
			? NULL
			: upstream_ends_last(&x->ends, a->tid, a->ts, a->end);

	if (!u) {
		n->by.others++;
		return;
	}
	a->upstream = u->at;
	add_early(&n->by, a, closed);
}

static void add_own(const struct cut *x, struct cut_name *n, struct last_answer *a,
		    const struct fd_row *at)
{
	/* as it stops, it ends what others would still hold */
	bool stops = idmap_get(&x->ended, (u64)at->pid) || idmap_get(&x->deaf, (u64)at->pid);

	if (a->unclear || stops || (double)a->ts <= n->newest || (double)a->ts < n->due ||
	    (double)a->asked < n->asked[0] || (double)a->asked > n->asked[1]) {
		n->own.others++;
		return;
	}
	add_early(&n->own, a, at->end);
	if (!a->with || a->upstream)
		return;
	n->own.to++;
	a->upstream = a->with;
}

static void count_closed(struct cut *x)
{
	size_t i;

	upstream_ends_sort(&x->ends);
	for (i = 0; i < x->fds.n; i++) {
		struct last_answer *a = &x->of[i];
		struct cut_name *n = idmap_get(&x->names, (u64)a->name);

		if (!a->closed || !n)
			continue;
		a->unclear |= loss_times_touch(&x->losses, a->end, x->fds.v[i].end);
		if (!is_short(x, a, n)) {
			x->usual += a->before && !a->unclear;
			continue;
		}
		if (a->before)
			add_by_upstream(x, n, a, x->fds.v[i].end);
		add_own(x, n, a, &x->fds.v[i]);
	}
}

/* The upstream of all of them; 0: several. */
static s64 upstream_of(const struct cut *x)
{
	const struct fd_row *found = NULL;
	size_t i;

	for (i = 0; i < x->fds.n; i++) {
		const struct last_answer *a = &x->of[i];

		if (a->name != x->name || !a->upstream)
			continue;
		if (found && a->upstream->remote != found->remote)
			return 0;
		found = a->upstream;
	}
	return found ? found->row : 0;
}

/* Its answers since the first that ends early, on connections that had others before. */
static int take_answer(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct cut *x = arg;
	const struct fd_row *at;
	struct last_answer *a;
	bool follows;

	(void)rowid;
	(void)e;
	if (!idmap_get(&x->services, (u64)row->service))
		return 0;
	at = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	if (!at || at->end < row->ts + row->dur)
		return 0;
	a = &x->of[at - x->fds.v];
	follows = a->before > 0 || x->own;
	a->before = 1;
	/* the server may be about to close it */
	if (x->own && a->ts == row->ts && at->end == INT64_MAX && !stays_open(x, at, a))
		return 0;
	x->all += follows && row->name == x->name && (double)(row->ts + row->dur) >= x->from;
	return 0;
}

static bool is_said(const struct cut *x, const struct early *of)
{
	return of->follow >= DUE_ANSWERS && of->others <= RARE * of->n && x->usual <= RARE * of->n;
}

/* The name with most of them. */
static const struct cut_name *find_name(struct cut *x, const struct idmap_slot *one)
{
	const struct cut_name *most = NULL;
	double most_n = 0;

	for (; one->value; one++) {
		const struct cut_name *n = one->value;
		const struct early *of = x->own ? &n->own : &n->by;

		if (!is_said(x, of) || of->n <= most_n)
			continue;
		most = n;
		most_n = of->n;
		x->name = (s64)one->id;
	}
	return most;
}

static int choose(struct analysis_ctx *c, struct cut *x, struct verdict_errors *ret_errors,
		  struct err *e)
{
	struct idmap_slot *sorted = idmap_sorted(&x->names, e);
	const struct cut_name *most;
	const struct early *of;
	size_t i;
	int ret;

	if (!sorted)
		return ERR_FAIL;
	/* that an upstream ends them is more than that the server closed them */
	most = find_name(x, sorted);
	x->own = !most;
	most = most ? most : find_name(x, sorted);
	free(sorted);
	of = !most ? NULL : x->own ? &most->own : &most->by;
	if (!most)
		return 0;
	*ret_errors = (struct verdict_errors){
		.name = x->name,
		.of_name = true,
		.n = of->n,
		.name_n = of->n,
		.start = of->first,
		.end = of->last + 1,
		.cut = of->bytes / of->n,
		.complete = most->least,
		.kept = x->own ? most->kept : 0,
		.waited = of->waited / of->n,
		.upstream = !x->own || of->to >= of->n ? upstream_of(x) : 0,
		.first = NAN,
		.before = NAN,
		.name_before = NAN,
	};
	x->from = of->first;
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
	static const char deaf[] =
		"SELECT DISTINCT pid, 1 FROM fd WHERE role='listening' AND end NOT NULL"
		" AND pid IN (SELECT pid FROM service WHERE server=?1)";
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
		ret = db_each(c->db, e, db_idmap, &x->deaf, deaf, "i", server);
	if (ret >= 0)
		ret = db_each(c->db, e, add_name, x,
			      "SELECT id FROM request_name WHERE readable(protocol)", "");
	if (ret >= 0)
		ret = rows_each(c->db, TABLE_request, COLUMNS_ALL, take_request, x, e);
	return ret;
}

/* A server that closes connections by calls that are recorded. */
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
	if (ret >= 0)
		ret = upstream_closes_read(&x->closes, c->db, &x->upstreams, (s64)x->l->latency,
					   c->duration, e);
	if (ret >= 0)
		ret = fd_rows_read(&x->fds, c->db, server, "accepted", e);
	for (i = 0; i < x->fds.n; i++)
		closed += x->fds.v[i].end != INT64_MAX;
	*ret_any = ret >= 0 && closed >= DUE_ANSWERS;
	return ret;
}

int verdict_cut(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		struct verdict_errors *ret_errors, struct err *e)
{
	struct cut x = { .l = l, .duration = c->duration, .option = syscall_by_name("getsockopt") };
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
		if (ret >= 0 && !x.full)
			ret = loss_times_read(&x.losses, c->db, e);
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
	idmap_free(&x.deaf);
	idmap_free_all(&x.names);
	free(x.of);
	loss_times_free(&x.losses);
	upstream_ends_free(&x.ends);
	upstream_closes_free(&x.closes);
	return ret < 0 ? ret : 0;
}
