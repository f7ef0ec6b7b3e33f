// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do requests wait for connections to another server that clients hold without use? All connections
 * to an address have the last answer, and the client that each answer went to has sent nothing
 * since: a proxy keeps a connection for a client in a transaction, or for as long as that client
 * stays. It was kept if the next question on it is of the same client, or if that client began a
 * transaction and no other client used it since.
 */
#include "analyze/analyses/verdict/fd_rows.h"
#include "verdict_queues.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/stats/sorted.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/other_end.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/transactions.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define ASKED_LEAST 0.5	 /* questions per request */
#define OTHERS_MOST 1024 /* answers of other threads between two of one */

/* A request of a client, by its answer. */
struct served {
	s64 sent; /* entry of the first send; the end of the recording: none */
	s64 tid, pid, read, arrival, end, name;
	const struct fd_row *client; /* NULL: not known */
	s64 next;		     /* when the client sent again, or closed the connection */
	bool open;		     /* its answer left a transaction open */
};

struct question {
	s64 from, to, tid;
	const struct fd_row *on;
};

/* A connection that is kept for a client. */
struct hold {
	s64 from, to;
	const struct fd_row *on, *client;
	bool open;
};

struct holds {
	const struct verdict_when *when;
	s64 duration;
	struct fd_rows fds, clients;
	struct idmap begins, ends; /* names of requests that begin or end transactions */
	struct served *served;
	size_t n_served;
	struct question *questions;
	size_t n_questions;
	struct hold *v;
	size_t n;
};

/* ---- reading ---- */

static int read_names(struct holds *h, sqlite3 *db, struct err *e)
{
	int ret = db_each(db, e, db_idmap, &h->begins,
			  "SELECT id FROM request_name WHERE " BEGINS_TRANSACTION("name"), "");

	return ret < 0 ? ret
		       : db_each(db, e, db_idmap, &h->ends,
				 "SELECT id FROM request_name WHERE " ENDS_TRANSACTION("name"), "");
}

static int add_served(struct holds *h, struct served s, s64 fd, struct err *e)
{
	if (GROW(h->served, h->n_served, "requests", e) < 0)
		return ERR_FAIL;
	s.client = fd_rows_at(&h->clients, s.pid, fd, s.read);
	h->served[h->n_served++] = s;
	return 0;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	s64 end = row->ts + row->dur, sent = row->first_send > row->ts ? row->first_send : end;

	(void)rowid;
	return add_served(arg,
			  (struct served){ .sent = sent,
					   .tid = row->tid,
					   .pid = row->pid,
					   .read = row->ts,
					   .arrival = row->ts - row->queued,
					   .end = end,
					   .name = row->name },
			  row->fd, e);
}

static int on_unanswered(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct holds *h = arg;

	return add_served(h,
			  (struct served){ .sent = h->duration,
					   .pid = sqlite3_column_int64(q, 0),
					   .read = sqlite3_column_int64(q, 2),
					   .arrival = sqlite3_column_int64(q, 3),
					   .end = h->duration },
			  sqlite3_column_int64(q, 1), e);
}

static int on_question(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct holds *h = arg;
	const struct fd_row *on = fd_rows_at(&h->fds, row->pid, row->fd, row->ts);

	(void)rowid;
	if (!on)
		return 0;
	if (GROW(h->questions, h->n_questions, "questions", e) < 0)
		return ERR_FAIL;
	h->questions[h->n_questions++] =
		(struct question){ row->first_send > 0 ? row->first_send : row->ts,
				   row->ts + row->dur, row->tid, on };
	return 0;
}

static int read_all(struct holds *h, sqlite3 *db, s64 server, struct err *e)
{
	static const char unanswered[] =
		"SELECT pid, fd, read, ts FROM unanswered WHERE read IS NOT NULL AND service IN (SELECT id"
		" FROM service WHERE server=?1)";
	int ret = fd_rows_read(&h->fds, db, server, "connected", e);

	if (ret < 0 || !h->fds.n)
		return ret;
	ret = rows_each(db, TABLE_upstream, COLUMNS_ALL, on_question, h, e);
	if (ret < 0 || !h->n_questions)
		return ret;
	ret = fd_rows_read(&h->clients, db, server, "accepted", e);
	if (ret == 0)
		ret = read_names(h, db, e);
	if (ret == 0)
		ret = requests_each(db,
				    COLUMN_OF(request, pid) | COLUMN_OF(request, tid) |
					    COLUMN_OF(request, fd) | COLUMN_OF(request, first_send),
				    "SELECT id FROM service WHERE server=?1", server, on_request, h,
				    e);
	return ret < 0 ? ret : db_each(db, e, on_unanswered, h, unanswered, "i", server);
}

/* ---- which client an answer went to ---- */

static int by_client(const void *a, const void *b)
{
	const struct served *x = a, *y = b;

	if (x->client != y->client)
		return x->client < y->client ? -1 : 1;
	return x->read < y->read ? -1 : x->read > y->read;
}

static int by_sent(const void *a, const void *b)
{
	const struct served *x = a, *y = b;

	return x->sent < y->sent ? -1 : x->sent > y->sent;
}

static int by_connection(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	if (x->on != y->on)
		return x->on < y->on ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Of each request when its client sends again, and whether a transaction is open; by their answers.
 */
static void sort(struct holds *h)
{
	size_t i;

	qsort(h->served, h->n_served, sizeof(*h->served), by_client);
	for (i = 0; i < h->n_served; i++) {
		struct served *s = &h->served[i];
		bool same = i && s[-1].client == s->client;

		s->open = idmap_get(&h->begins, (u64)s->name) ||
			  (same && s[-1].open && !idmap_get(&h->ends, (u64)s->name));
		s->next = s->client && s->client->end < h->duration ? s->client->end : h->duration;
		if (same)
			s[-1].next = s->arrival;
	}
	qsort(h->served, h->n_served, sizeof(*h->served), by_sent);
	qsort(h->questions, h->n_questions, sizeof(*h->questions), by_connection);
}

/* The first answer that its thread sent after the answer to a question; NULL: of no such request.
 */
static const struct served *served_by(const struct holds *h, const struct question *q)
{
	size_t i = sorted_from(h->served, h->n_served, sizeof(*h->served), q->to);
	size_t end = i + OTHERS_MOST < h->n_served ? i + OTHERS_MOST : h->n_served;

	while (i < end && h->served[i].tid != q->tid)
		i++;
	return i < end && h->served[i].client && h->served[i].read <= q->from ? &h->served[i]
									      : NULL;
}

static int find_holds(struct holds *h, struct err *e)
{
	size_t i;

	for (i = 0; i < h->n_questions; i++) {
		const struct question *q = &h->questions[i];
		const struct question *then =
			i + 1 < h->n_questions && q[1].on == q->on ? &q[1] : NULL;
		const struct served *of = served_by(h, q), *next = then ? served_by(h, then) : NULL;
		s64 to = then ? then->from : q->on->end < h->duration ? q->on->end : h->duration;

		if (!of)
			continue;
		to = of->next < to ? of->next : to;
		if (!(next && next->client == of->client) &&
		    !(of->open && (!then || to < then->from)))
			continue;
		if (to <= q->to)
			continue;
		if (GROW(h->v, h->n, "connections", e) < 0)
			return ERR_FAIL;
		h->v[h->n++] = (struct hold){ q->to, to, q->on, of->client, of->open };
	}
	return 0;
}

/* ---- when all connections of a process to an address are kept ---- */

struct step {
	s32 open, held;
};
_Static_assert(sizeof(struct step) == 8, "a value of sort_keys");

struct full {
	struct verdict_when when;
	const struct fd_row *on; /* one of the connections */
	s64 connections;
	struct verdict_side side[2];
	double waited; /* of the inner side: requests that waited */
	double quiet;  /* of the client that was quiet longest */
	const struct fd_row *client;
	double others;
	bool open; /* all of them in transactions */
};

static bool is_same(const struct fd_row *x, const struct fd_row *y)
{
	return x->pid == y->pid && x->remote == y->remote;
}

static void walk(struct full *f, const s64 *at, const struct step *v, size_t n)
{
	s64 open = 0, held = 0;
	size_t i;
	int k;

	for (i = 0; i + 1 < n; i++) {
		open += v[i].open;
		held += v[i].held;
		if (!open || held < open || at[i + 1] == at[i])
			continue;
		f->connections = open > f->connections ? open : f->connections;
		k = f->when.n;
		if (k && f->when.v[k - 1][1] >= (double)at[i])
			f->when.n = --k;
		else
			f->when.v[k][0] = (double)at[i];
		f->when.v[k][1] = (double)at[i + 1];
		f->when.n = k + 1;
	}
}

static int find_full(struct holds *h, struct full *f, struct err *e)
{
	size_t room = 2 * (h->fds.n + h->n) + 1, n = 0, i;
	s64 *at = malloc(room * sizeof(*at));
	struct step *v = malloc(room * sizeof(*v));
	int ret = err_set(e, ERR_FAIL, "out of memory for connections");

	f->when.v = malloc(room * sizeof(*f->when.v));
	if (!at || !v || !f->when.v)
		goto out;
	for (i = 0; i < h->fds.n; i++) {
		const struct fd_row *x = &h->fds.v[i];

		if (!is_same(x, f->on))
			continue;
		at[n] = x->ts;
		v[n++] = (struct step){ 1, 0 };
		at[n] = x->end < h->duration ? x->end : h->duration;
		v[n++] = (struct step){ -1, 0 };
	}
	for (i = 0; i < h->n; i++) {
		if (!is_same(h->v[i].on, f->on))
			continue;
		at[n] = h->v[i].from;
		v[n++] = (struct step){ 0, 1 };
		at[n] = h->v[i].to;
		v[n++] = (struct step){ 0, -1 };
	}
	if (!sort_keys(at, v, n))
		goto out;
	walk(f, at, v, n);
	ret = 0;
out:
	free(at);
	free(v);
	return ret;
}

/* How long requests waited then. */
static void add_waits(const struct holds *h, struct full *f)
{
	size_t i;

	for (i = 0; i < h->n_served; i++) {
		const struct served *s = &h->served[i];
		double from = (double)s->arrival, to = (double)s->end;
		bool in = verdict_when_has(h->when, from, to);
		struct verdict_side *side = &f->side[in];
		double wait = s->pid == f->on->pid
				      ? verdict_when_within(&f->when, (double)s->read, to)
				      : 0;

		side->n++;
		side->latency += to - from;
		side->part += wait;
		f->waited += in && wait > 0;
	}
}

/* Who keeps them in the time of the verdict. */
static int add_clients(const struct holds *h, struct full *f, struct err *e)
{
	struct idmap clients = { 0 };
	size_t i;
	int ret = 0;

	f->open = true;
	for (i = 0; i < h->n && ret == 0; i++) {
		const struct hold *x = &h->v[i];
		double quiet = (double)(x->to - x->from);

		if (!is_same(x->on, f->on) ||
		    verdict_when_within(&f->when, (double)x->from, (double)x->to) <= 0 ||
		    !verdict_when_has(h->when, (double)x->from, (double)x->to))
			continue;
		f->open &= x->open;
		if (quiet > f->quiet) {
			f->quiet = quiet;
			f->client = x->client;
		}
		ret = idmap_put(&clients, (u64)x->client->row, f, SOCKET_LIMIT, e);
	}
	f->others = (double)clients.n - 1;
	idmap_free(&clients);
	return ret;
}

static bool asks(const struct holds *h, const struct full *f)
{
	double n = 0;
	size_t i;

	for (i = 0; i < h->n_questions; i++)
		n += is_same(h->questions[i].on, f->on);
	return n >= ASKED_LEAST * (f->side[0].n + f->side[1].n);
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct holds *h,
	       const struct full *f, struct err *e)
{
	static const char client[] =
		"SELECT coalesce(nullif(remote, ''), 'a Unix socket') || coalesce((SELECT ' (' ||"
		" nullif(comm, '') || '[' || pid || '])' FROM process WHERE pid=" OTHER_END
		" ORDER BY start DESC LIMIT 1), '') FROM fd m WHERE rowid=?1";
	double full = 0, length = verdict_when_length(h->when);
	struct buf text = { 0 };
	int i, ret = db_add_text(&text, c->db, e, client, "i", f->client->row);

	for (i = 0; i < f->when.n; i++)
		full += verdict_when_within(h->when, f->when.v[i][0], f->when.v[i][1]);
	const struct value values[] = {
		VALUE_NUMBER("n", (double)f->connections, ""),
		VALUE_SUBJECT("upstream", upstream, f->on->row),
		VALUE_TEXT("transaction", f->open ? "in transactions" : NULL),
		VALUE_NUMBER("full", fmin(100, percent(full, length)), "%"),
		VALUE_TEXT("client", text.len ? text.data : "a client"),
		VALUE_NUMBER("others", f->others > 0 ? f->others : NAN, ""),
		VALUE_NUMBER("quiet", f->quiet, "ns"),
		VALUE_NUMBER("waited", f->waited, ""),
		VALUE_NUMBER("of", f->side[1].n, ""),
		VALUE_NUMBER("queued", f->side[1].part / f->waited, "ns"),
		{ 0 },
	};

	if (ret == 0)
		ret = verdict_queues_put(c, j, FINDING_verdict_held, OBSERVED,
					 "SELECT pid, fd, ts + dur FROM upstream", values, e);
	buf_free(&text);
	return ret;
}

/* One process and address; 1: said. */
static int look_at(struct analysis_ctx *c, const struct judged *j, struct holds *h,
		   const struct fd_row *on, const struct limits *l, struct err *e)
{
	struct full f = { .on = on };
	int ret = find_full(h, &f, e), said = 0;

	if (ret == 0)
		add_waits(h, &f);
	if (ret == 0 && f.side[1].n > 0 && side_is_most(f.side, l->latency) && asks(h, &f)) {
		ret = add_clients(h, &f, e);
		if (ret == 0 && f.client) {
			ret = put(c, j, h, &f, e);
			said = 1;
		}
	}
	free(f.when.v);
	return ret < 0 ? ret : said;
}

int verdict_held(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		 const struct limits *l, struct err *e)
{
	struct holds h = { .when = w, .duration = c->duration };
	int ret = read_all(&h, c->db, j->about.id, e);
	size_t i, k;

	if (ret == 0 && h.n_questions && h.n_served) {
		sort(&h);
		ret = find_holds(&h, e);
	}
	for (i = 0; i < h.n && ret == 0; i++) {
		for (k = 0; k < i && !is_same(h.v[k].on, h.v[i].on); k++)
			;
		if (k == i)
			ret = look_at(c, j, &h, h.v[i].on, l, e);
	}
	fd_rows_free(&h.fds);
	fd_rows_free(&h.clients);
	idmap_free(&h.begins);
	idmap_free(&h.ends);
	free(h.served);
	free(h.questions);
	free(h.v);
	return ret;
}
