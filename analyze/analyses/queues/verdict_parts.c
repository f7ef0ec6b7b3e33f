// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that arrive in parts: a client that writes header and body on their own with Nagle's
 * algorithm, that uploads slowly, or a network that loses segments. The latency of a request counts
 * from its first byte, so it includes the wait for the others. Column request.rest has this wait: a
 * server that reads a request which has arrived in two receives has none. What a process asks
 * itself waits for the process.
 */
#include "verdict_queues.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"

#define NEARLY_ALL 0.9

struct of_client {
	s64 id;
	double rest;
};

struct parts {
	const struct verdict_when *when;
	struct verdict_side side[2];
	double n, rest;	      /* requests of which it is most */
	double acked;	      /* of these, whose rest came when a delayed ACK had been sent */
	struct idmap clients; /* of these: id -> struct of_client */
	struct idmap own;     /* pid and descriptor of connections of a process to itself */
};

static u64 connection_of(s64 pid, s64 fd)
{
	return (u64)pid << 32 | (u32)fd;
}

static int take_client(struct parts *p, s64 id, double rest, struct err *e)
{
	struct of_client *of = idmap_get(&p->clients, (u64)id);

	if (!of)
		of = idmap_add(&p->clients, (u64)id, sizeof(*of), TASK_LIMIT, "clients", e);
	if (!of)
		return ERR_FAIL;
	of->id = id;
	of->rest += rest;
	return 0;
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct parts *p = arg;
	double arrival = (double)row->ts - (double)row->queued,
	       end = (double)row->ts + (double)row->dur, rest = (double)row->rest;
	bool in = verdict_when_has(p->when, arrival, end);

	(void)rowid;
	if (idmap_get(&p->own, connection_of(row->pid, row->fd)))
		return 0;
	p->side[in].n++;
	p->side[in].latency += end - arrival;
	p->side[in].part += rest;
	if (!in || !(rest > SIDE_MOST * (end - arrival)))
		return 0;
	p->n++;
	p->rest += rest;
	p->acked += rest >= ACK_DELAYED && rest <= ACK_DELAYED + ACK_TICK;
	return take_client(p, row->client, rest, e);
}

/* The client with most of it. */
static struct of_client first_client(const struct parts *p)
{
	struct of_client most = { 0 };
	const struct of_client *of;
	size_t at = 0;

	while ((of = idmap_each(&p->clients, &at)))
		if (of->rest > most.rest || (of->rest >= most.rest && of->id < most.id))
			most = *of;
	return most;
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct parts *p, struct err *e)
{
	const struct of_client client = first_client(p);
	const struct value values[] = {
		VALUE_NUMBER("n", p->n, ""),
		VALUE_NUMBER("rest", p->rest / p->n, "ns"),
		VALUE_MAYBE("client", client, client.id),
		VALUE_NUMBER("of_client", client.id ? percent(client.rest, p->rest) : NAN, "%"),
		VALUE_NUMBER("ack", p->acked >= NEARLY_ALL * p->n ? ACK_DELAYED : NAN, "ns"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_parts,
		PROBLEM,
		OBSERVED,
		j->about,
		"SELECT ts, dur, rest, client FROM request WHERE 2 * rest > dur + queued",
		values,
		j->finding,
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

static int add_own(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct idmap *own = arg;
	u64 key = connection_of(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));

	return idmap_get(own, key) ? 0 : idmap_put(own, key, own, SOCKET_LIMIT, e);
}

static int read_own(struct analysis_ctx *c, struct parts *p, s64 server, struct err *e)
{
	return db_each(
		c->db, e, add_own, &p->own,
		"SELECT a.pid, a.fd FROM fd a JOIN fd b ON b.local=a.remote AND b.remote=a.local"
		" AND b.pid=a.pid WHERE a.role='accepted' AND b.role='connected' AND a.remote<>''"
		" AND a.pid IN (SELECT pid FROM service WHERE server=?1)",
		"i", server);
}

static int read_parts(struct analysis_ctx *c, const struct judged *j, struct parts *p,
		      struct err *e)
{
	p->side[0] = p->side[1] = (struct verdict_side){ 0 };
	p->n = p->rest = p->acked = 0;
	idmap_free_all(&p->clients);
	return requests_each(
		c->db,
		COLUMN_OF(request, rest) | COLUMN_OF(request, client) | COLUMN_OF(request, pid) |
			COLUMN_OF(request, fd) | COLUMN_OF(request, paced),
		"SELECT id FROM service WHERE server=?1", j->about.id, add_request, p, e);
}

int verdict_parts(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		  const struct limits *l, struct err *e)
{
	struct parts p = { .when = w };
	int ret = read_parts(c, j, &p, e);
	bool most = ret >= 0 && p.n > 0 && side_is_most(p.side, l->latency);

	if (most)
		ret = read_own(c, &p, j->about.id, e);
	if (most && ret >= 0 && p.own.n) {
		ret = read_parts(c, j, &p, e);
		most = p.n > 0 && side_is_most(p.side, l->latency);
	}
	if (most && ret >= 0)
		ret = put(c, j, &p, e);
	idmap_free(&p.own);
	idmap_free_all(&p.clients);
	return ret < 0 ? ret : 0;
}
