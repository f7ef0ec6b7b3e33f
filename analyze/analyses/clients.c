// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which clients of a server get slow answers, and which send expensive requests? A client is an
 * address without port; workers of one name on one port are one server. Slow requests are those at
 * or above the 99th percentile of all the server's requests, queueing delay included. A slow client
 * with more CPU time per request than the others sends dear requests; with no more, its requests
 * wait. The converse is a finding too: a client with few of the requests and much of the CPU time
 * is what the others may wait for.
 */
#include "analysis.h"
#include "latency.h"

#include <stdio.h>

#define SERVERS	    4
#define SHOWN	    5	 /* clients of a server; the others are one row */
#define SLOW_LEAST  20	 /* slow requests of a client, at least */
#define TIMES_MORE  3.0	 /* its requests are slow so many times as often as the others' */
#define SHARE_LEAST 10.0 /* %, of slow requests or of CPU time: less is no finding */
#define DEARER	    2.0	 /* CPU time of a request, times the others' */

static const struct metric metrics[] = {
	{ "requests", "", NEITHER_IS_BETTER, "requests with an answer" },
	{ "share of requests", "%", NEITHER_IS_BETTER, "of the server's requests" },
	{ "p50", "ns", LOWER_IS_BETTER, "median duration of a request, queueing delay included" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "share of slow", "%", LOWER_IS_BETTER,
	  "of the server's slow requests, the slowest hundredth; n: slow requests of the server" },
	{ "cpu", "ns", NEITHER_IS_BETTER,
	  "CPU time per request: of the thread that received it, until it receives from another or polls" },
	{ "share of CPU", "%", NEITHER_IS_BETTER, "of such CPU time of all clients" },
	{ "received", "bytes", NEITHER_IS_BETTER, "mean size of a request" },
	{ "sent", "bytes", NEITHER_IS_BETTER, "mean size of an answer" },
	{ "connections", "", NEITHER_IS_BETTER, "connections that moved bytes" },
	{ "excluded", "", LOWER_IS_BETTER, "requests that overlap lost events: in no time" },
	{ 0 },
};

struct sums {
	s64 id;
	char name[96];
	double requests, timed, slow, cpu, received, sent, connections, excluded, max;
	int clients;
};

struct server {
	s64 id;
	char title[160];
	struct analysis_ctx *c;
	struct sums all, rest, shown[SHOWN];
	int n;	      /* of shown */
	double limit; /* ns: requests as long as this are slow */
	bool cpu;     /* CPU time is known */
};

/* Clients of the services of server ?1. */
#define OF_SERVER "(SELECT id FROM service WHERE server=?1)"

static void add(struct sums *s, const struct sums *o)
{
	s->requests += o->requests;
	s->timed += o->timed;
	s->slow += o->slow;
	s->cpu += o->cpu;
	s->received += o->received;
	s->sent += o->sent;
	s->connections += o->connections;
	s->excluded += o->excluded;
	s->max = fmax(s->max, o->max);
	s->clients += o->clients;
}

/* The bucket that the 99th percentile is in: requests in it and above are slow. */
static const char limit_sql[] =
	"WITH h AS (SELECT low, sum(n) AS n FROM latency WHERE kind='client' AND item=0 AND subject IN"
	" (SELECT id FROM client WHERE service IN " OF_SERVER ") GROUP BY low)"
	" SELECT max(low) FROM (SELECT low, sum(n) OVER (ORDER BY low DESC) AS above,"
	" sum(n) OVER () AS total FROM h) WHERE above >= 0.01 * total";

/* Clients by address: those with most of the slow requests, then of the requests, one by one. */
static const char clients_sql[] =
	"WITH h AS (SELECT subject, sum(n) AS slow FROM latency WHERE kind='client'"
	" AND item=0 AND low >= ?2 GROUP BY subject)"
	" SELECT address, min(id), sum(requests) AS t, sum(requests) - sum(lossy), total(h.slow) AS slow, sum(cpu),"
	" sum(recv_bytes), sum(send_bytes), sum(connections), sum(lossy), max(max)"
	" FROM client c LEFT JOIN h ON h.subject=c.id WHERE service IN " OF_SERVER
	" GROUP BY address"
	" HAVING t > 0 ORDER BY address='', slow DESC, t DESC, address";

static int read_client(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct server *s = arg;
	struct sums one = { .clients = 1, .id = sqlite3_column_int64(q, 1) };
	double *const values[] = { &one.requests,    &one.timed,    &one.slow,
				   &one.cpu,	     &one.received, &one.sent,
				   &one.connections, &one.excluded, &one.max };
	size_t i;

	(void)e;
	snprintf(one.name, sizeof(one.name), "%s", db_text(q, 0));
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		*values[i] = sqlite3_column_double(q, 2 + (int)i);
	add(&s->all, &one);
	if (one.name[0] && s->n < SHOWN)
		s->shown[s->n++] = one;
	else
		add(&s->rest, &one);
	return 0;
}

/* Of one of the clients that are shown, or of the rest. */
static void quantiles(const struct server *s, const struct sums *one, double ret_q[2])
{
	static const char sql[] =
		"SELECT low, max(high), sum(l.n) FROM latency l WHERE kind='client' AND item=0 AND subject"
		" IN (SELECT id FROM client WHERE service IN " OF_SERVER
		" AND iif(?2<>'', address=?2,"
		" address NOT IN (?3, ?4, ?5, ?6, ?7))) GROUP BY low ORDER BY low";
	static const double at[] = { 0.5, 0.99 };
	struct analysis_ctx *c = s->c;
	const char *shown[SHOWN];
	sqlite3_stmt *q;
	int i;

	for (i = 0; i < SHOWN; i++)
		shown[i] = i < s->n ? s->shown[i].name : "/"; /* no address */
	if (c->err == 0)
		c->err = db_query(&q, c->db, c->e, sql, "issssss", s->id, one->name, shown[0],
				  shown[1], shown[2], shown[3], shown[4]);
	if (c->err == 0)
		c->err = latency_of(q, at, ret_q, 2, one->max, c->e);
}

/* Wilson's 95 % interval of a share, in %; as if requests were slow independently of each other. */
static struct number slow_share(double k, double n)
{
	double z = 1.959964, p = k / n, d = 1 + z * z / n;
	double mid = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

	return (struct number){ "share of slow", percent(k, n), 100 * fmax((mid - half) / d, 0),
				100 * fmin((mid + half) / d, 1), n };
}

static void put_client(const struct server *s, const struct sums *one)
{
	const struct sums *all = &s->all;
	struct analysis_ctx *c = s->c;
	double q[2] = { NAN, NAN };
	char text[300];

	quantiles(s, one, q);
	const struct number numbers[] = {
		{ "requests", one->requests, NO_INTERVAL, one->requests },
		{ "share of requests", percent(one->requests, all->requests), NO_INTERVAL,
		  all->requests },
		{ "p50", q[0], NO_INTERVAL, one->timed },
		{ "p99", q[1], NO_INTERVAL, one->timed },
		{ "max", one->timed > 0 ? one->max : NAN, NO_INTERVAL, one->timed },
		{ "cpu", s->cpu ? one->cpu / one->requests : NAN, NO_INTERVAL, one->requests },
		{ "share of CPU", s->cpu ? percent(one->cpu, all->cpu) : NAN, NO_INTERVAL,
		  all->requests },
		{ "received", one->received / one->requests, NO_INTERVAL, one->requests },
		{ "sent", one->sent / one->requests, NO_INTERVAL, one->requests },
		{ "connections", one->connections, NO_INTERVAL, one->connections },
		{ "excluded", one->excluded, NO_INTERVAL, one->requests },
		slow_share(one->slow, all->slow),
	};

	if (one == &s->rest)
		snprintf(text, sizeof(text), "%s < others (%d addresses%s)", s->title, one->clients,
			 one->clients > 9000 ? " or more" : "");
	else
		snprintf(text, sizeof(text), "%s < %s", s->title, one->name);
	put_all(c, one == &s->rest ? ABOUT(server, s->id) : ABOUT(client, one->id), text, numbers,
		sizeof(numbers) / sizeof(numbers[0]));
}

/* The client's CPU time per request next to the others' decides between dear and waiting requests.
 */
static void find_client(const struct server *s, const struct sums *one)
{
	static const char waits_sql[] =
		"SELECT c.address, s.name, count(*) AS requests, sum(w.dur) / 1e9 AS seconds FROM request t"
		" JOIN request_wait w ON w.request=t.rowid JOIN state s ON s.id=w.state"
		" JOIN client c ON c.id=t.client GROUP BY 1, 2 ORDER BY 1, 4 DESC";
	double others = s->all.requests - one->requests, slow = s->all.slow - one->slow;
	double of_slow = percent(one->slow, s->all.slow), of_cpu = percent(one->cpu, s->all.cpu);
	double of_all = percent(one->requests, s->all.requests), own = one->cpu / one->requests;
	double rest = (s->all.cpu - one->cpu) / others;
	const struct value values[] = {
		VALUE_SUBJECT("client", client, one->id),
		VALUE_NUMBER("of_slow", of_slow, "%"),
		VALUE_NUMBER("of_all", of_all, "%"),
		VALUE_NUMBER("of_cpu", of_cpu, "%"),
		VALUE_NUMBER("own", s->cpu ? own : NAN, "ns"),
		VALUE_NUMBER("others", s->cpu ? rest : NAN, "ns"),
		VALUE_NUMBER("slow", one->slow, ""),
		VALUE_NUMBER("limit", s->limit, "ns"),
		{ 0 },
	};
	struct finding f = { .about = ABOUT(server, s->id), .sql = waits_sql, .values = values };

	if (others <= 0 || one->requests < SLOW_LEAST)
		return;
	if (one->slow >= SLOW_LEAST && of_slow >= SHARE_LEAST &&
	    one->slow / one->requests >= TIMES_MORE * slow / others)
		f.kind = !s->cpu		? FINDING_slow_client
			 : own >= DEARER * rest ? FINDING_slow_client_costly
						: FINDING_slow_client_waits;
	else if (s->cpu && of_cpu >= SHARE_LEAST && of_cpu >= TIMES_MORE * of_all)
		f.kind = FINDING_costly_client;
	else
		return;
	add_finding(s->c, &f);
}

static int analyse_server(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct server *s = arg;
	struct analysis_ctx *c = s->c;
	int i;

	(void)e;
	*s = (struct server){ .c = c, .cpu = s->cpu, .id = sqlite3_column_int64(q, 0) };
	snprintf(s->title, sizeof(s->title), "%s", db_text(q, 1));
	s->limit = query_number(c, limit_sql, "i", s->id);
	each_row(c, read_client, s, clients_sql, "id", s->id, s->limit);
	for (i = 0; i < s->n; i++)
		put_client(s, &s->shown[i]);
	if (s->rest.requests > 0)
		put_client(s, &s->rest);
	for (i = 0; i < s->n; i++)
		find_client(s, &s->shown[i]);
	return c->err;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT id, name FROM server WHERE id IN (SELECT s.server FROM service s JOIN client c ON"
		" c.service=s.id WHERE c.requests > 0) ORDER BY requests DESC, name LIMIT ?";
	struct server s = { .c = c };

	(void)e;
	s.cpu = query_number(c, "SELECT count(*) FROM coverage WHERE grp='sched' AND records > 0",
			     "") > 0;
	each_row(c, analyse_server, &s, sql, "i", (s64)SERVERS);
	return c->err;
}

const struct analysis analysis_clients = {
	.name = "clients",
	.doc = "Which clients get slow answers, and which send expensive requests",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = SERVERS * (SHOWN + 1),
	.run = run,
};
