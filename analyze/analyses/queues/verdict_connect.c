// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do requests wait for connections that the server opens to another server, or fail without them?
 * (Connections to the server itself: verdict_accept.c and verdict_unserved.c; a limit of those to
 * another server: verdict_connections.c.) Their process sent a SYN after the
 * request was read, and the attempt ended before the answer, established or not. Or it sent a
 * question, of which segments were sent again before they were answered. Each attempt explains one
 * request: a connect next to many requests, as one of a health check, explains no more
 * than one of them. Refused attempts explain answers that report errors.
 */
#include "analyze/analyses/verdict/verdict_names.h"

#include "analyze/stats/sorted.h"
#include "analyze/store/request_rows.h"
#include "format/errnos.h"
#include "format/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES_MOST 64
#define TRIES_MOST     64   /* attempts that are looked at for one request */
#define ATTEMPTS_LEAST 3    /* fewer may be one name with several addresses */
#define LATE	       0.05 /* of an attempt: the socket may be closed so long after the answer */
#define MOSTLY	       0.5

enum connect_end { CONNECT_NEVER, CONNECT_SLOW, CONNECT_REFUSED, CONNECT_LOST, N_CONNECT_ENDS };

struct attempt {
	s64 ts, till, pid;
	double n, ns; /* segments that were lost, else 1; time that it took */
	int address, error;
	enum connect_end end;
	bool used;
};

/* Attempts to connect to one address that ended in one way. */
struct connect_tally {
	double n, ns, longest, errors;
	int error; /* errno of one of them */
};

struct connecting {
	const struct judged *j;
	struct attempt *v;
	size_t n;
	char *address[ADDRESSES_MOST];
	int n_addresses;
	struct connect_tally of[ADDRESSES_MOST][N_CONNECT_ENDS];
	double latency, requests, errors; /* of all requests that are looked at */
};

static int address_of(struct connecting *k, const char *text)
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
static int add(struct connecting *k, sqlite3_stmt *q, struct attempt a, struct err *e)
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

static int add_attempt(void *arg, sqlite3_stmt *q, struct err *e)
{
	int error = sqlite3_column_int(q, 5);

	return add(arg, q,
		   (struct attempt){
			   .n = 1,
			   .ns = sqlite3_column_double(q, 1) - sqlite3_column_double(q, 0),
			   .error = error,
			   .end = error == LINUX_ECONNREFUSED		     ? CONNECT_REFUSED
				  : sqlite3_column_type(q, 4) == SQLITE_NULL ? CONNECT_NEVER
									     : CONNECT_SLOW },
		   e);
}

/* Those that took as long as the limit of latency, or were not established. */
static int read_attempts(struct analysis_ctx *c, struct connecting *k, const struct limits *l,
			 struct err *e)
{
	static const char sql[] =
		"SELECT ts, coalesce(ts + handshake, end, ?2), pid, remote, handshake, coalesce(error, 0) FROM"
		" connection WHERE role='connected' AND ts > 0 AND (handshake IS NULL OR handshake >= ?3) AND"
		" pid IN (SELECT pid FROM service WHERE server=?1) ORDER BY ts";

	return db_each(c->db, e, add_attempt, k, sql, "iid", k->j->about.id, c->duration,
		       l->latency);
}

static int add_lost(void *arg, sqlite3_stmt *q, struct err *e)
{
	return add(arg, q,
		   (struct attempt){ .n = sqlite3_column_double(q, 5),
				     .ns = sqlite3_column_double(q, 4),
				     .end = CONNECT_LOST },
		   e);
}

/*
 * Exchanges with upstreams in which segments were sent again, by this end or by the other, if that
 * is recorded. The loss took the time until the last of them at least.
 */
static int read_lost(struct analysis_ctx *c, struct connecting *k, struct err *e)
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
		       : db_each(c->db, e, add_lost, k, sql, "ii", k->j->about.id, c->duration);
}

static int by_time(const void *a, const void *b)
{
	const struct attempt *x = a, *y = b;

	return x->ts != y->ts	   ? (x->ts < y->ts ? -1 : 1)
	       : x->till < y->till ? -1
				   : x->till > y->till;
}

/* The attempts that a request waited for, one after the other. */
static void explain(struct connecting *k, s64 pid, s64 from, s64 to, double errors)
{
	size_t i = sorted_from(k->v, k->n, sizeof(*k->v), from), end = i + TRIES_MOST;

	for (; i < k->n && i < end && k->v[i].ts <= to; i++) {
		struct attempt *a = &k->v[i];
		struct connect_tally *of = &k->of[a->address][a->end];
		double took = (double)(a->till - a->ts);

		if (a->used || a->pid != pid || a->ts < from ||
		    (double)a->till > (double)to + LATE * took)
			continue;
		a->used = true;
		from = a->till;
		of->n += a->n;
		of->ns += a->ns;
		of->errors += errors;
		of->longest = fmax(of->longest, took);
		of->error = a->error ? a->error : of->error;
	}
}

static int look_at(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct connecting *k = arg;
	double errors = row->errors > 0;

	(void)rowid;
	(void)e;
	if (!verdict_is_about(k->j, row->ts - row->queued, row->ts + row->dur, row->name))
		return 0;
	k->latency += (double)(row->dur + row->queued);
	k->requests++;
	k->errors += errors;
	explain(k, row->pid, row->ts, row->ts + row->dur, errors);
	return 0;
}

static int look_at_unanswered(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 from = sqlite3_column_int64(q, 0), to = sqlite3_column_int64(q, 2);
	struct connecting *k = arg;

	(void)e;
	k->latency += (double)(to - from);
	k->requests++;
	explain(k, sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 1), to, 0);
	return 0;
}

static int read_requests(struct analysis_ctx *c, struct connecting *k, struct err *e)
{
	static const char services[] = "SELECT id FROM service WHERE server=?1";
	static const char unanswered[] =
		"SELECT ts, read, ?2, pid FROM unanswered WHERE read IS NOT NULL AND coalesce(name, 0) NOT IN"
		" (SELECT id FROM request_name WHERE awaits(protocol, name)) AND service IN (SELECT id FROM"
		" service WHERE server=?1) ORDER BY read";
	int ret = requests_each(c->db,
				COLUMN_OF(request, pid) | COLUMN_OF(request, errors) |
					COLUMN_OF(request, name),
				services, k->j->about.id, look_at, k, e);

	if (ret == 0 && k->j->kind != VERDICT_errors && k->j->kind != VERDICT_tail)
		ret = db_each(c->db, e, look_at_unanswered, k, unanswered, "ii", k->j->about.id,
			      c->duration);
	return ret;
}

/*
 * The address and the end of its attempts that explain most of the latency, or of the answers with
 * errors; false: of that, not most. A refused attempt takes no time.
 */
static bool find_most(const struct connecting *k, bool failed, int *ret_address, int *ret_end)
{
	double most = 0, value;
	int i, end;

	for (i = 0; i < k->n_addresses; i++)
		for (end = 0; end < N_CONNECT_ENDS; end++) {
			if (end == CONNECT_REFUSED && !failed)
				continue;
			value = failed ? k->of[i][end].errors : k->of[i][end].ns;
			if (value <= most)
				continue;
			most = value;
			*ret_address = i;
			*ret_end = end;
		}
	return most > 0 && most >= MOSTLY * (failed ? k->errors : k->latency);
}

/* Whether it makes a problem of what is none yet. */
static bool is_material(const struct connecting *k, const struct connect_tally *of, bool failed,
			const struct limits *l)
{
	return failed ? of->errors >= l->errors * k->requests : of->ns >= l->latency * k->requests;
}

static int judge(struct judged *j, const struct connecting *k, const struct limits *l,
		 struct err *e)
{
	struct verdict_connect *m = &j->connect;
	bool none = j->status != STATUS_PROBLEM, failed = j->kind == VERDICT_errors;
	const struct connect_tally *of;
	int address = 0, end = 0;
	char code[32];

	if (!find_most(k, failed, &address, &end)) {
		failed = true;
		if (!none || !find_most(k, true, &address, &end))
			return 0;
	}
	of = &k->of[address][end];
	if (none && !is_material(k, of, failed, l))
		return 0;
	if (none && j->kind != VERDICT_hang) {
		j->kind = VERDICT_connect;
		j->start = j->end = NAN;
	}
	j->status = STATUS_PROBLEM;
	*m = (struct verdict_connect){
		.n = of->n,
		.max = of->longest,
		.requests = k->requests,
		.latency = failed ? NAN : 100 * of->ns / k->latency,
		.errors = failed ? 100 * of->errors / k->errors : NAN,
		.failed = 100 * k->errors / k->requests,
		.refused = end == CONNECT_REFUSED,
		.slow = end == CONNECT_SLOW,
		.lost = end == CONNECT_LOST,
	};
	if (buf_printf(&m->address, e, "%s", k->address[address]) < 0)
		return ERR_FAIL;
	return of->error ? buf_printf(&m->code, e, "%s", errno_name(of->error, code, sizeof(code)))
			 : 0;
}

/*
 * Processes without requests: to one address they tried again and again, no attempt succeeded, and
 * nothing else was answered.
 */
static int judge_processes(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT remote, count(*), max(error), min(ts), max(ts), max(coalesce(end, ?2) - ts) FROM"
		" connection WHERE role='connected' AND ts > 0 AND NOT EXISTS (SELECT 1 FROM upstream) GROUP BY"
		" remote HAVING count(*) >= ?1 AND count(*) = count(*) FILTER (WHERE failed) ORDER BY 2 DESC, 1"
		" LIMIT 1";
	char code[32];
	sqlite3_stmt *q;
	int error, ret = j->status == STATUS_UNKNOWN ? db_query(&q, c->db, e, sql, "ii",
								(s64)ATTEMPTS_LEAST, c->duration)
						     : 1;

	if (ret != 0)
		return ret < 0 ? ret : 0;
	ret = db_step(q, e);
	if (ret > 0) {
		error = sqlite3_column_int(q, 2);
		j->status = STATUS_PROBLEM;
		j->kind = VERDICT_connect;
		j->start = sqlite3_column_double(q, 3);
		j->end = sqlite3_column_double(q, 4);
		j->connect = (struct verdict_connect){ .n = sqlite3_column_double(q, 1),
						       .max = sqlite3_column_double(q, 5),
						       .latency = NAN,
						       .errors = NAN,
						       .alone = true,
						       .refused = error == LINUX_ECONNREFUSED };
		ret = buf_printf(&j->connect.address, e, "%s", db_text(q, 0));
		if (ret == 0 && error)
			ret = buf_printf(&j->connect.code, e, "%s",
					 errno_name(error, code, sizeof(code)));
	}
	return db_end(q, ret);
}

int verdict_connect(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct connecting *k;
	int ret;

	if (j->about.kind != SUBJECT_server)
		return judge_processes(c, j, e);
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(e, ERR_FAIL, "out of memory for connections");
	k->j = j;
	ret = read_attempts(c, k, l, e);
	if (ret == 0)
		ret = read_lost(c, k, e);
	if (k->n)
		qsort(k->v, k->n, sizeof(*k->v), by_time);
	if (ret == 0 && k->n)
		ret = read_requests(c, k, e);
	if (ret == 0 && k->n)
		ret = judge(j, k, l, e);
	while (k->n_addresses > 0)
		free(k->address[--k->n_addresses]);
	free(k->v);
	free(k);
	return ret;
}

int verdict_connect_cause(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_connect *m = &j->connect;
	const struct value values[] = {
		VALUE_TEXT("address", m->address.data),
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("max", m->max, "ns"),
		VALUE_TEXT("code", m->code.len ? m->code.data : NULL),
		VALUE_NUMBER("share", m->latency, "%"),
		VALUE_NUMBER("failed", m->errors, "%"),
		{ 0 },
	};
	const struct finding f = { m->refused ? FINDING_connect_refused
				   : m->slow  ? FINDING_connect_slow
				   : m->lost  ? FINDING_connect_lost
					      : FINDING_connect_never,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM connection WHERE role='connected'",
				   values,
				   j->finding };

	return m->n > 0 ? finding_put(c->db, c->analysis->name, &f, NULL, e) : 0;
}

int verdict_connect_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_connect *m = &j->connect;
	bool failed = isnan(m->latency);
	const struct value values[] = {
		VALUE_TEXT("address", m->address.data),
		VALUE_NUMBER("n", m->alone ? m->n : m->requests, ""),
		VALUE_NUMBER("share", failed ? m->failed : m->latency, "%"),
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("end", j->end, "at"),
		{ 0 },
	};
	const struct finding f = { m->alone  ? FINDING_verdict_unconnected
				   : failed  ? FINDING_verdict_unreachable
				   : m->lost ? FINDING_verdict_lost
					     : FINDING_verdict_connect,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   NULL,
				   values,
				   0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 ? ret : verdict_connect_cause(c, j, e);
}
