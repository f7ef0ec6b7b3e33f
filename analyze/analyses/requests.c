// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which requests were answered: by name, how often, how fast from their arrival on, where the time
 * went, how many failed; and the slowest ones. Workers of one name on one port are one server. A
 * name covers all requests that its protocol shows, also several in one exchange. What could not be
 * read is a row of its own, with the reason.
 */
#include "analysis.h"
#include "latency.h"

#include "format/buf.h"

#include <stdio.h>

#define SERVERS	      4
#define NAMES	      20 /* of a server, by total time; the others are counted */
#define SLOWEST	      10
#define UNNAMED_LIMIT 0.1 /* %, of the exchanges: less is not reported */
#define ERRORS	      5	  /* names with errors that are reported */

static const struct metric metrics[] = {
	{ "rate", "1/s", HIGHER_IS_BETTER,
	  "requests per second; exchanges where no name was read" },
	{ "requests", "", NEITHER_IS_BETTER, "how many" },
	{ "errors", "", LOWER_IS_BETTER, "answers that report an error" },
	{ "p50", "ns", LOWER_IS_BETTER, "median latency, from arrival to the last send" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "queueing", "ns", LOWER_IS_BETTER, "mean time from arrival to the read" },
	{ "cpu", "ns", NEITHER_IS_BETTER, "mean CPU time of the thread that received it" },
	{ "wait", "ns", LOWER_IS_BETTER, "mean time off the CPU after the read, of an exchange" },
	{ "received", "bytes", NEITHER_IS_BETTER, "mean size of an exchange" },
	{ "sent", "bytes", NEITHER_IS_BETTER, "mean size of the answer" },
	{ 0 },
};

struct server {
	struct analysis_ctx *c;
	s64 id;
	char title[160];
	int others; /* names that are not shown */
};

/* Rows of request_stat of server ?1. */
#define OF_SERVER "FROM request_stat s WHERE s.service IN (SELECT id FROM service WHERE server=?1)"

static void quantiles(const struct server *s, s64 name, double max, double ret_q[2])
{
	static const char sql[] =
		"SELECT low, max(high), sum(n) FROM latency WHERE kind='name' AND item=?2 AND subject IN"
		" (SELECT id FROM service WHERE server=?1) GROUP BY low ORDER BY low";
	static const double at[] = { 0.5, 0.99 };
	struct analysis_ctx *c = s->c;
	sqlite3_stmt *q;

	ret_q[0] = ret_q[1] = NAN;
	if (c->err == 0)
		c->err = db_query(&q, c->db, c->e, sql, "ii", s->id, name);
	if (c->err == 0)
		c->err = latency_of(q, at, ret_q, 2, max, c->e);
}

static double mean_of(sqlite3_stmt *row, int i, double n)
{
	double sum = sqlite3_column_double(row, i);

	return n > 0 ? sum / n : NAN;
}

static int put_name(void *arg, sqlite3_stmt *row, struct err *e)
{
	struct server *s = arg;
	struct analysis_ctx *c = s->c;
	s64 name = sqlite3_column_int64(row, 0);
	double exchanges = sqlite3_column_double(row, 3), max = sqlite3_column_double(row, 6);
	double n = fmax(sqlite3_column_double(row, 2), exchanges), q[2], seconds;
	double cpu = mean_of(row, 8, n);
	struct buf text = { 0 };

	if (sqlite3_column_int(row, 12) > NAMES) {
		s->others++;
		return 0;
	}
	seconds = c->duration > 0 ? (double)c->duration / 1e9 : NAN;
	quantiles(s, name, max, q);
	const struct number numbers[] = {
		{ "rate", n / seconds, NO_INTERVAL, n },
		{ "requests", n, NO_INTERVAL, n },
		{ "errors", sqlite3_column_double(row, 5), NO_INTERVAL, n },
		{ "p50", q[0], NO_INTERVAL, n },
		{ "p99", q[1], NO_INTERVAL, n },
		{ "max", max > 0 ? max : NAN, NO_INTERVAL, n },
		{ "queueing", mean_of(row, 7, n), NO_INTERVAL, n },
		{ "cpu", cpu > 0 ? cpu : NAN, NO_INTERVAL, n },
		{ "wait", mean_of(row, 9, sqlite3_column_double(row, 13)), NO_INTERVAL,
		  sqlite3_column_double(row, 13) },
		{ "received", mean_of(row, 10, exchanges), NO_INTERVAL, exchanges },
		{ "sent", mean_of(row, 11, exchanges), NO_INTERVAL, exchanges },
	};

	c->err = buf_printf(&text, e, "%s %s", s->title,
			    name ? db_text(row, 1) : "(exchanges without a name)");
	put_all(c, name ? ABOUT(request_name, name) : ABOUT(server, s->id), text.data, numbers,
		sizeof(numbers) / sizeof(numbers[0]));
	buf_free(&text);
	return c->err;
}

static const char names_sql[] =
	"SELECT s.name, coalesce((SELECT name FROM request_name r WHERE r.id=s.name), ''),"
	" sum(requests), sum(exchanges), sum(kernel), sum(errors), max(max), sum(queued), sum(cpu),"
	" sum(wait), sum(recv_bytes), sum(send_bytes), row_number() OVER (ORDER BY sum(latency) DESC),"
	" sum(split) " OF_SERVER
	" GROUP BY s.name HAVING sum(requests) + sum(exchanges) > 0 ORDER BY sum(latency) DESC, 1";

/* The share of exchanges that could not be read, and why. */
static const char unnamed_sql[] =
	"SELECT 'server' AS kind, ?1 AS id, 100.0 * (encrypted + unknown) / total AS \"share:%\","
	" nullif(encrypted, 0) AS encrypted, nullif(unknown, 0) AS unknown FROM (SELECT total(exchanges)"
	" AS total, total(exchanges) FILTER (WHERE NOT readable(r.protocol)) AS encrypted, total(exchanges) FILTER"
	" (WHERE r.id IS NULL) AS unknown FROM request_stat s LEFT JOIN request_name r ON r.id=s.name"
	" WHERE s.service IN (SELECT id FROM service WHERE server=?1)) WHERE encrypted + unknown >"
	" ?2 / 100 * total";

static const struct finding_query unnamed = {
	.kind = FINDING_requests_unnamed,
	.severity = NOTE,
	.evidence = LIMIT,
	.proof = "SELECT * FROM request_stat WHERE name NOT IN (SELECT id FROM request_name WHERE"
		 " readable(protocol))",
	.sql = unnamed_sql,
};

static const struct finding_query estimated = {
	.kind = FINDING_arrival_estimated,
	.severity = NOTE,
	.evidence = LIMIT,
	.proof = "SELECT * FROM request WHERE NOT arrival_is",
	.sql = "SELECT 'server' AS kind, ?1 AS id, 100.0 * (1 - total(kernel) / total(exchanges)) AS"
	       " \"share:%\" " OF_SERVER " HAVING total(kernel) < 0.99 * total(exchanges)",
};

static const struct finding_query errors = {
	.kind = FINDING_request_errors,
	.severity = NOTE,
	.evidence = OBSERVED,
	.proof = "SELECT * FROM request_error",
	.sql = "SELECT 'server' AS kind, ?1 AS id, r.name AS name, sum(s.errors) AS n, 100.0 *"
	       " sum(s.errors) / max(sum(s.requests), sum(s.exchanges)) AS \"share:%\", (SELECT"
	       " coalesce(nullif(k.code, ''), e.status) FROM request_error e LEFT JOIN request_code k ON"
	       " k.id=e.code WHERE e.name=r.id AND e.service IN (SELECT id FROM service WHERE server=?1)"
	       " GROUP BY e.status, k.code ORDER BY count(*) DESC LIMIT 1) AS code FROM request_stat s"
	       " JOIN request_name r ON r.id=s.name WHERE s.service IN (SELECT id FROM service WHERE"
	       " server=?1) GROUP BY r.id HAVING sum(s.errors) > 0 ORDER BY sum(s.errors) DESC LIMIT ?2",
};

static int put_server(void *arg, sqlite3_stmt *row, struct err *e)
{
	struct server *s = arg;
	struct analysis_ctx *c = s->c;

	(void)e;
	s->id = sqlite3_column_int64(row, 0);
	s->others = 0;
	snprintf(s->title, sizeof(s->title), "%s", db_text(row, 1));
	each_row(c, put_name, s, names_sql, "i", s->id);
	if (s->others) {
		const struct value values[] = { VALUE_NUMBER("n", s->others, ""), { 0 } };
		const struct finding f = { .kind = FINDING_more_names,
					   .about = ABOUT(server, s->id),
					   .sql = "SELECT * FROM request_stat",
					   .values = values };

		add_finding(c, &f);
	}
	find_rows(c, &errors, "ii", s->id, (s64)ERRORS);
	find_rows(c, &unnamed, "id", s->id, UNNAMED_LIMIT);
	find_rows(c, &estimated, "i", s->id);
	return c->err;
}

/* About the request itself: its name says what it was, and who asked. */
static const struct finding_query slowest = {
	.kind = FINDING_slowest_request,
	.severity = NOTE,
	.evidence = OBSERVED,
	.proof = "SELECT * FROM v_request ORDER BY latency DESC",
	.sql = "SELECT 'request' AS kind, rowid AS id, ts - queued AS \"at:at\", dur + queued AS"
	       " \"latency:ns\", queued AS \"queued:ns\" FROM request WHERE NOT lossy ORDER BY dur + queued"
	       " DESC, rowid LIMIT ?1",
};

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT id, name FROM server WHERE id IN (SELECT server FROM service WHERE id IN (SELECT"
		" service FROM request_stat)) ORDER BY requests DESC, name LIMIT ?";
	struct server s = { .c = c };

	(void)e;
	each_row(c, put_server, &s, sql, "i", (s64)SERVERS);
	if (query_number(c, "SELECT count(*) FROM request_stat", "") > 0)
		find_rows(c, &slowest, "i", (s64)SLOWEST);
	return c->err;
}

const struct analysis analysis_requests = {
	.name = "requests",
	.doc = "Which requests were answered, by name: rate, errors, latency",
	.needs = "syscalls requests",
	.metrics = metrics,
	.rows = SERVERS * (NAMES + 1),
	.run = run,
};
