// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many requests per second did each process answer on each server socket? Three
 * series that need nothing of the program itself: sends (the system call is chosen by how
 * steady its number per request is), exchanges (receives, then sends, on one connection), and
 * returns of probed functions. Rates are of the time asked for, without windows with lost events.
 *
 * Where the protocol was read, requests are those that it shows, also several in one receive. Else
 * an exchange is a request unless one receive may carry several: then it is called exchange. That
 * is so where several receives and several sends make up an exchange, or where the number of sends
 * for one receive varies. The interval of a rate follows from the dispersion of counts in windows
 * (stats.h).
 *
 * Several processes that share one socket (workers, a process for each connection) are one server
 * with a row of its own, and findings are about the server.
 */
#include "analyze/analyses/analysis.h"

#include "analyze/analyses/latency.h"
#include "analyze/stats/stats.h"
#include "analyze/stats/stats_series.h"
#include "format/grow.h"

#include <stdio.h>
#include <stdlib.h>

#define ENOUGH 30   /* events of a rate, at least */
#define STEADY 0.25 /* spread of sends per request up to which their number is constant */
#define COVERS 0.5  /* of the requests: a call in fewer of them is not what answers */
#define UNREAD_MOST \
	0.01 /* share of exchanges without a protocol: more, and they are not requests */
#define NOTABLE	    0.05 /* share of exchanges of a shape that is a finding */
#define WINDOWS_MAX 1000000

/* Services of a row: the one with id ?1, or, if that is negative, all of the group ?2. */
#define MEMBERS \
	"(SELECT id FROM service WHERE iif(?1 >= 0, id=?1, requests > 0 AND " SERVICE_GROUP "=?2))"

static const struct metric metrics[] = {
	{ "requests", "1/s", HIGHER_IS_BETTER, "requests per second, where a receive holds one" },
	{ "exchanges", "1/s", HIGHER_IS_BETTER,
	  "exchanges per second, where one receive may hold several requests" },
	{ "sends", "1/s", HIGHER_IS_BETTER, "sends per second by the chosen call" },
	{ "calls", "1/s", HIGHER_IS_BETTER, "returns of the probed function per second" },
	{ "sends/request", "", NEITHER_IS_BETTER, "mean number of the chosen call per request" },
	{ "spread", "", LOWER_IS_BETTER, "coefficient of variation of that number" },
	{ "slope", "", NEITHER_IS_BETTER,
	  "sends of all calls per request: line through the origin and the counts in windows" },
	{ "latency", "ns", LOWER_IS_BETTER, "mean: arrival to last send" },
	{ "p50", "ns", LOWER_IS_BETTER, "its median" },
	{ "p99", "ns", LOWER_IS_BETTER, "its 99th percentile" },
	{ "index of dispersion", "", NEITHER_IS_BETTER,
	  "of requests in windows: 1 random, 0 regular, above 1 bursts" },
	{ "received", "B/s", NEITHER_IS_BETTER, "bytes received per second" },
	{ "sent", "B/s", NEITHER_IS_BETTER, "bytes sent per second" },
	{ "connections", "", NEITHER_IS_BETTER, "connections that moved bytes" },
	{ "waiting", "", LOWER_IS_BETTER, "max requests that waited for their answer at one time" },
	{ "1:N", "%", NEITHER_IS_BETTER, "exchanges of one receive and several sends" },
	{ "N:1", "%", NEITHER_IS_BETTER, "exchanges of several receives and one send" },
	{ "N:N", "%", NEITHER_IS_BETTER, "exchanges of several receives and several sends" },
	{ 0 },
};

struct server {
	s64 id, group;	 /* id -1: several processes */
	char title[160]; /* for display; empty: as the subject is called */
	struct subject about;
	bool function, member;		   /* member: another row is about this and others */
	double requests, first, last;	   /* requests, ns */
	double latency, latency_max, q[2]; /* ns; latency: total */
	double one_many, many_one, many_many, handed_over; /* exchanges */
	double connections, most_open;
	double received, unnamed;	  /* requests by protocol; exchanges without any */
	double sends, sends_each, spread; /* of the chosen call */
	double bytes[2];		  /* received, sent; NAN: not known */
	double *counts[3];     /* exchanges, sends, requests by protocol: of windows without loss */
	size_t windows, lossy; /* how many; how many are excluded */
	double window;	       /* s */
	double sum, seconds, rate; /* of the windows, or of all of the time without loss */
	double dispersion;	   /* of exchanges */
	double read, read_rate, read_dispersion; /* the same of requests by protocol */
	struct line line;
};

/*
 * The call of server sockets whose number per request is steadiest, among those that occur in
 * most requests; of equals the one that moved bytes most often.
 */
static const char call_sql[] =
	"WITH u AS (SELECT sum(n) AS n, sum(requests) AS requests, sum(request_calls) AS calls,"
	" sum(request_squares) AS squares, abi, nr FROM socket_use WHERE service IN " MEMBERS
	" AND send=1 GROUP BY abi, nr)"
	" SELECT n, calls, squares FROM u ORDER BY requests >= ?3 * max(max(requests) OVER (), 1) DESC,"
	" round(squares * 1.0 * max(?4, 1) / nullif(calls * 1.0 * calls, 0), 3), n DESC, nr LIMIT 1";

static int read_call(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct server *s = arg;
	double mean = sqlite3_column_double(q, 1) / s->requests;

	(void)e;
	s->sends = sqlite3_column_double(q, 0);
	s->sends_each = mean;
	s->spread = sqrt(fmax(sqlite3_column_double(q, 2) / s->requests - mean * mean, 0)) / mean;
	return 0;
}

/* Bytes of all calls; unknown where a call moves several messages. */
static int read_bytes(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct server *s = arg;

	(void)e;
	if (sqlite3_column_int(q, 2))
		s->bytes[sqlite3_column_int(q, 0) != 0] = sqlite3_column_double(q, 1);
	return 0;
}

/* Counts in the whole windows of the recording. */
static const char windows_sql[] =
	"WITH RECURSIVE g(step, dur) AS (SELECT value / 10, (SELECT CAST(value AS INTEGER) FROM recording"
	" WHERE key='duration_ns') FROM recording WHERE key='step_ns'),"
	" w(ts) AS (SELECT 0 UNION ALL SELECT ts + step FROM w, g WHERE ts + 2 * step <= dur LIMIT 1000000),"
	" r AS MATERIALIZED (SELECT ts, sum(requests) AS requests, sum(sends) AS sends, sum(received) AS received"
	" FROM request_window WHERE service IN " MEMBERS " GROUP BY ts)"
	" SELECT coalesce(r.requests, 0), coalesce(r.sends, 0),"
	" EXISTS(SELECT 1 FROM loss l WHERE l.reason<>'unlocated'"
	" AND l.grp=iif(?3, 'uprobe', 'syscalls') AND l.ts < w.ts + g.step AND l.ts + l.dur >= w.ts), g.step, coalesce(r.received, 0)"
	" FROM w, g LEFT JOIN r ON r.ts=w.ts WHERE w.ts + g.step <= g.dur";

static int read_window(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct server *s = arg;
	int i;

	for (i = 0; i < 3; i++)
		if (GROW(s->counts[i], s->windows, "windows", e) < 0)
			return ERR_FAIL;
	s->window = sqlite3_column_double(q, 3) / 1e9;
	s->counts[0][s->windows] = sqlite3_column_double(q, 0);
	s->counts[1][s->windows] = sqlite3_column_double(q, 1);
	s->counts[2][s->windows] = sqlite3_column_double(q, 4);
	if (sqlite3_column_int(q, 2))
		s->lossy++;
	else if (s->windows < WINDOWS_MAX)
		s->windows++;
	return 0;
}

/* Windows with lost events lack requests: they are in no rate. */
static void use_windows(struct server *s, double duration)
{
	double mean = stats_mean(s->counts[0], s->windows);

	s->dispersion = stats_dispersion(s->counts[0], s->windows);
	s->line = stats_line(s->counts[0], s->counts[1], s->windows);
	s->seconds = s->lossy ? (double)s->windows * s->window : duration / 1e9;
	s->sum = s->lossy ? mean * (double)s->windows : s->requests;
	s->rate = s->seconds > 0 ? s->sum / s->seconds : NAN;
	s->read_dispersion = stats_dispersion(s->counts[2], s->windows);
	s->read =
		s->lossy ? stats_mean(s->counts[2], s->windows) * (double)s->windows : s->received;
	s->read_rate = s->seconds > 0 ? s->read / s->seconds : NAN;
}

static void read_quantiles(struct analysis_ctx *c, struct server *s)
{
	static const double at[] = { 0.5, 0.99 };
	sqlite3_stmt *q;

	if (c->err == 0)
		c->err =
			db_query(&q, c->db, c->e,
				 "SELECT low, max(high), sum(n) FROM latency WHERE kind='service'"
				 " AND item=0 AND subject IN " MEMBERS " GROUP BY low ORDER BY low",
				 "ii", s->id, s->group);
	if (c->err == 0)
		c->err = latency_of(q, at, s->q, 2, s->latency_max, c->e);
}

/* The protocol of nearly all exchanges was read: it says how many requests there were. */
static bool is_read(const struct server *s)
{
	return s->received > 0 && s->unnamed <= UNREAD_MOST * s->requests;
}

/* Several receives and sends, or a number of sends that varies: a receive may hold several. */
static bool may_share(const struct server *s)
{
	if (is_read(s))
		return false;
	return s->many_many > NOTABLE * s->requests ||
	       (s->one_many > NOTABLE * s->requests && s->spread > STEADY);
}

static void put_server(struct analysis_ctx *c, const struct server *s)
{
	double error = stats_rate_error(s->dispersion, s->sum, s->windows);
	double send_error = stats_rate_error(s->dispersion * s->sends_each, s->sends, s->windows);
	double none = s->function ? NAN : 1, n = s->requests;
	double sends = none * s->rate * s->sends / n, scale = s->rate / n;
	const char *name = s->function ? "calls" : may_share(s) ? "exchanges" : "requests";
	bool read = is_read(s);
	double read_error = read ? stats_rate_error(s->read_dispersion, s->read, s->windows) : NAN;
	double read_rate = read ? s->read_rate : NAN, rate = read ? NAN : s->rate;
	const struct number numbers[] = {
		{ "requests", read_rate, read_rate * (1 - read_error), read_rate * (1 + read_error),
		  s->read },
		{ name, rate, rate * (1 - error), rate * (1 + error), n },
		{ "exchanges", read && s->received != n ? s->rate : NAN, NO_INTERVAL, n },
		{ "sends", sends, sends * (1 - send_error), sends * (1 + send_error), s->sends },
		{ "sends/request", none * s->sends_each, NO_INTERVAL, n },
		{ "spread", none * s->spread, NO_INTERVAL, n },
		{ "slope", none * s->line.slope, s->line.low, s->line.high, (double)s->windows },
		{ "latency", s->latency_max > 0 ? s->latency / n : NAN, NO_INTERVAL, n },
		{ "p50", s->q[0], NO_INTERVAL, n },
		{ "p99", s->q[1], NO_INTERVAL, n },
		{ "index of dispersion", s->dispersion, NO_INTERVAL, (double)s->windows },
		{ "received", s->bytes[0] * scale, NO_INTERVAL, n },
		{ "sent", s->bytes[1] * scale, NO_INTERVAL, n },
		{ "connections", none * s->connections, NO_INTERVAL, n },
		{ "waiting", none * s->most_open, NO_INTERVAL, n },
		{ "1:N", 100 * s->one_many / n, NO_INTERVAL, n },
		{ "N:1", 100 * s->many_one / n, NO_INTERVAL, n },
		{ "N:N", 100 * s->many_many / n, NO_INTERVAL, n },
	};

	put_all(c, s->about, s->title[0] ? s->title : NULL, numbers,
		sizeof(numbers) / sizeof(numbers[0]));
}

static const char rates_sql[] =
	"SELECT s.name, w.ts / 1000000000 AS second, sum(w.recvs) AS receives, sum(w.sends) AS sends,"
	" sum(w.requests) AS requests FROM request_window w JOIN service s ON s.id=w.service"
	" GROUP BY w.service, second";

/* One finding of a number, if it is one. */
static void find_if(struct analysis_ctx *c, const struct server *s, bool is, enum finding_kind kind,
		    enum severity severity, struct value v)
{
	static const char shapes_sql[] =
		"SELECT name, requests, one_many, many_one, many_many, paired, handed_over, most_open"
		" FROM service WHERE kind<>'function'";
	const struct value values[] = { v, VALUE_NUMBER("spread", 100 * s->spread, "%"), { 0 } };
	const struct finding f = { .kind = kind,
				   .severity = severity,
				   .about = s->about,
				   .sql = shapes_sql,
				   .values = values };

	if (is)
		add_finding(c, &f);
}

static void find_server(struct analysis_ctx *c, const struct server *s)
{
	double n = s->requests, few = NOTABLE * n;
	bool read = is_read(s);
	double rate = read ? s->read_rate : s->rate;
	double error = rate * (read ? stats_rate_error(s->read_dispersion, s->read, s->windows)
				    : stats_rate_error(s->dispersion, s->sum, s->windows));
	bool varies = s->spread > STEADY, shared = may_share(s);
	const struct value values[] = {
		VALUE_NUMBER("requests", read ? s->received : n, ""),
		VALUE_INTERVAL("rate", rate, rate - error, rate + error, "1/s"),
		VALUE_NUMBER("connections", s->connections, ""),
		VALUE_NUMBER("seconds", s->seconds * 1e9, "ns"),
		VALUE_NUMBER("windows", s->lossy ? (double)s->windows : NAN, ""),
		VALUE_NUMBER("lossy", s->lossy ? (double)s->lossy : NAN, ""),
		{ 0 },
	};
	const struct finding f = { .kind = s->function ? FINDING_call_rate
					   : read      ? FINDING_request_rate_read
					   : shared    ? FINDING_exchange_rate
						       : FINDING_request_rate,
				   .about = s->about,
				   .sql = rates_sql,
				   .values = values };

	add_finding(c, &f);
	if (s->function)
		return;
	if (s->received > 0 && !read)
		find_if(c, s, true, FINDING_protocol_partly, WARNING,
			(struct value)VALUE_NUMBER("share", percent(s->unnamed, n), "%"));
	find_if(c, s, varies, FINDING_sends_vary, NOTE,
		(struct value)VALUE_NUMBER("sends", s->sends_each, ""));
	find_if(c, s, !varies && fabs(s->sends_each - 1) > 0.01, FINDING_sends_per_request, NOTE,
		(struct value)VALUE_NUMBER("sends", s->sends_each, ""));
	find_if(c, s, s->many_many > few && !read, FINDING_requests_multiplexed, WARNING,
		(struct value)VALUE_NUMBER("share", 100 * s->many_many / n, "%"));
	find_if(c, s, shared && s->many_many <= few, FINDING_requests_vary, WARNING,
		(struct value)VALUE_NUMBER("share", 100 * s->one_many / n, "%"));
	find_if(c, s, s->many_one > few, FINDING_several_receives, NOTE,
		(struct value)VALUE_NUMBER("share", 100 * s->many_one / n, "%"));
	find_if(c, s, s->one_many > few && !shared, FINDING_several_sends, NOTE,
		(struct value)VALUE_NUMBER("share", 100 * s->one_many / n, "%"));
}

static void find_too_few(struct analysis_ctx *c, const struct server *s)
{
	const struct value values[] = { VALUE_NUMBER("n", s->requests, ""),
					VALUE_NUMBER("needed", ENOUGH, ""),
					{ 0 } };
	const struct finding f = { .kind = FINDING_too_few_requests,
				   .evidence = LIMIT,
				   .about = s->about,
				   .values = values };

	if (!s->member)
		add_finding(c, &f);
}

static int analyse_server(struct analysis_ctx *c, struct server *s)
{
	if (s->requests < ENOUGH) {
		find_too_few(c, s);
		return c->err;
	}
	if (!s->function)
		each_row(c, read_call, s, call_sql, "iidd", s->id, s->group, COVERS, s->requests);
	each_row(c, read_bytes, s,
		 "SELECT send, sum(bytes), min(bytes) > 0 FROM socket_use WHERE service IN " MEMBERS
		 " GROUP BY send",
		 "ii", s->id, s->group);
	each_row(c, read_window, s, windows_sql, "iii", s->id, s->group, (s64)s->function);
	read_quantiles(c, s);
	if (c->err < 0)
		return c->err;
	use_windows(s, (double)c->duration);
	put_server(c, s);
	if (!s->member)
		find_server(c, s);
	return c->err;
}

static int read_server(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct analysis_ctx *c = arg;
	struct server s = { .id = sqlite3_column_int64(q, 0),
			    .group = sqlite3_column_int64(q, 2),
			    .function = sqlite3_column_int(q, 1),
			    .member = sqlite3_column_int(q, 3) };
	double *const numbers[] = { &s.requests,    &s.first,	    &s.last,	  &s.latency,
				    &s.latency_max, &s.one_many,    &s.many_one,  &s.many_many,
				    &s.handed_over, &s.connections, &s.most_open, &s.received,
				    &s.unnamed };
	size_t i;

	(void)e;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i] = db_number(q, 4 + (int)i + (i >= 11));
	/* several processes: a server, or a function by name; else the service */
	if (s.id >= 0)
		s.about = ABOUT(service, s.id);
	else if (s.function)
		s.about = ABOUT(function, -1 - s.group);
	else
		s.about = ABOUT(server, s.group);
	if (s.id < 0 && s.function)
		snprintf(s.title, sizeof(s.title), "%s", db_text(q, 15));
	s.sends = s.sends_each = s.spread = s.bytes[0] = s.bytes[1] = NAN;
	analyse_server(c, &s);
	free(s.counts[0]);
	free(s.counts[1]);
	free(s.counts[2]);
	return c->err;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT *, kind='function' AS function, " SERVICE_GROUP
		" AS grp FROM service),"
		" several AS MATERIALIZED (SELECT grp, count(*) AS n, max(port) AS site FROM s WHERE requests > 0 AND grp<>0"
		" GROUP BY grp HAVING count(DISTINCT pid) > 1)"
		" SELECT -1, function, grp, 0, sum(requests) AS requests,"
		" min(first_request), max(last_request), sum(latency_sum), max(latency_max), sum(one_many),"
		" sum(many_one), sum(many_many), sum(handed_over), sum(connections), NULL,"
		" (SELECT function FROM site WHERE site.id=g.site) || ' (' || g.n || ' processes)',"
		" sum(received), sum(unnamed)"
		" FROM several g JOIN s USING(grp) WHERE requests > 0 GROUP BY grp UNION ALL"
		" SELECT id, function, grp, g.n IS NOT NULL, requests, first_request, last_request, latency_sum,"
		" latency_max, one_many, many_one, many_many, handed_over, connections, most_open, NULL, received, unnamed"
		" FROM s LEFT JOIN several g USING(grp) ORDER BY 2, requests DESC, 1";

	(void)e;
	each_row(c, read_server, c, sql, "");
	if (query_number(c, "SELECT count(*) FROM service WHERE kind<>'function'", "") == 0)
		add_limit(c, FINDING_no_requests);
	return c->err;
}

const struct analysis analysis_rps = {
	.name = "rps",
	.doc = "How many requests per second",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
