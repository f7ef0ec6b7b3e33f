// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do requests wait for connections that the server opens to another server, or fail without them?
 * (Connections to the server itself: verdict_accept.c and verdict_unserved.c; a limit of those to
 * another server: verdict_connections.c.) Their process sent a SYN after the
 * request was read, and the attempt ended before the answer, established or not. Or it sent a
 * question, of which segments were sent again before they were answered. Each attempt explains one
 * request: a connect next to many requests, as one of a health check, explains no more
 * than one of them. Refused attempts explain answers that report errors. A handshake whose SYN was
 * sent again is of the same path as other segments of that address that were. Of questions that
 * have no answer, those count for which their thread waited: who sends metrics does not wait; or
 * that were given up by closing a stream to who answers others.
 *
 * Next to pauses of the whole server, attempts are first looked for in all requests: if they
 * explain more of them outside the pauses than in them, the pauses are only where all requests did
 * so.
 */
#include "verdict_attempts.h"

#include "analyze/analyses/verdict/verdict_levels.h"
#include "analyze/analyses/verdict/verdict_names.h"

#include "analyze/stats/sorted.h"
#include "analyze/store/request_rows.h"
#include "format/errnos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MOST     64   /* attempts that are looked at for one request */
#define ATTEMPTS_LEAST 3    /* fewer may be one name with several addresses */
#define LATE	       0.05 /* of an attempt: the socket may be closed so long after the answer */
#define MOSTLY	       0.5

/* Attempts to connect to one address that ended in one way. */
struct connect_tally {
	double n, ns, longest, errors, segments;
	double requests, paused; /* that they explain; of these, in pauses that count */
	double from, till;
	int error; /* errno of one of them */
	s64 row;   /* fd.rowid of the socket of one of them; 0: not known */
};

struct connecting {
	const struct judged *j;
	struct attempts a;
	struct connect_tally of[ADDRESSES_MOST][N_CONNECT_ENDS];
	double latency, requests, errors; /* of all requests that are looked at */
	bool wide;			  /* all requests, the verdict is about pauses */
};

/* The attempts that a request waited for, one after the other. */
static void explain(struct connecting *k, s64 pid, s64 from, s64 to, double errors)
{
	struct connect_tally *last = NULL;
	size_t i = sorted_from(k->a.v, k->a.n, sizeof(*k->a.v), from), end = i + TRIES_MOST;

	for (; i < k->a.n && i < end && k->a.v[i].ts <= to; i++) {
		struct attempt *a = &k->a.v[i];
		struct connect_tally *of = &k->of[a->address][a->end];
		double took = (double)(a->till - a->ts);

		if (a->used || a->pid != pid || a->ts < from ||
		    (double)a->till > (double)to + LATE * took)
			continue;
		a->used = true;
		from = a->till;
		of->from = of->n > 0 ? fmin(of->from, (double)a->ts) : (double)a->ts;
		of->till = fmax(of->till, (double)a->till);
		of->requests += of != last;
		of->paused += of != last && k->wide && verdict_is_about(k->j, a->ts, a->till, 0);
		last = of;
		of->segments += a->segments;
		of->n += a->n;
		of->ns += a->ns;
		of->errors += errors;
		of->longest = fmax(of->longest, took);
		of->error = a->error ? a->error : of->error;
		of->row = a->row;
	}
}

static int look_at(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct connecting *k = arg;
	double errors = row->errors > 0;

	(void)rowid;
	(void)e;
	if (!k->wide &&
	    !verdict_is_about(k->j, row->ts - row->queued, row->ts + row->dur, row->name))
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

static void join(struct connect_tally *to, const struct connect_tally *from, double n)
{
	if (!(from->n > 0))
		return;
	to->from = to->n > 0 ? fmin(to->from, from->from) : from->from;
	to->till = fmax(to->till, from->till);
	to->n += n;
	to->ns += from->ns;
	to->longest = fmax(to->longest, from->longest);
	to->errors += from->errors;
	to->segments += from->segments;
	to->requests += from->requests;
	to->paused += from->paused;
}

static void join_again(struct connecting *k)
{
	int i;

	for (i = 0; i < k->a.n_addresses; i++) {
		struct connect_tally *of = k->of[i], *again = &of[CONNECT_AGAIN];

		if (of[CONNECT_LOST].n > 0)
			join(&of[CONNECT_LOST], again, again->segments);
		else
			join(&of[CONNECT_SLOW], again, again->n);
		*again = (struct connect_tally){ 0 };
	}
}

/*
 * The address and the end of its attempts that explain most of the latency, or of the answers with
 * errors; false: of that, not most. What is refused, or not sent, takes no time.
 */
static bool find_most(const struct connecting *k, bool failed, int *ret_address, int *ret_end)
{
	double most = 0, value;
	int i, end;

	for (i = 0; i < k->a.n_addresses; i++)
		for (end = 0; end < N_CONNECT_ENDS; end++) {
			if ((end == CONNECT_REFUSED || end == CONNECT_NO_PORT) && !failed)
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

static int fill(struct judged *j, const struct connecting *k, int address, int end, bool failed,
		struct err *e)
{
	const struct connect_tally *of = &k->of[address][end];
	struct verdict_connect *m = &j->connect;
	char code[32];

	*m = (struct verdict_connect){
		.n = of->n,
		.max = of->longest,
		.requests = k->requests,
		.explained = of->requests,
		.again = of->segments,
		.from = of->from,
		.latency = failed ? NAN : 100 * of->ns / k->latency,
		.errors = failed ? 100 * of->errors / k->errors : NAN,
		.failed = 100 * k->errors / k->requests,
		.row = of->row,
		.end = end,
	};
	if (buf_printf(&m->address, e, "%s", k->a.address[address]) < 0)
		return ERR_FAIL;
	return of->error ? buf_printf(&m->code, e, "%s", errno_name(of->error, code, sizeof(code)))
			 : 0;
}

/* All requests, next to pauses: 1 if most of those that it explains are outside. */
static int judge_wide(struct judged *j, const struct connecting *k, const struct limits *l,
		      struct err *e)
{
	const struct connect_tally *of;
	int address = 0, end = 0;

	if (!find_most(k, false, &address, &end))
		return 0;
	of = &k->of[address][end];
	if (!is_material(k, of, false, l) || of->requests <= 2 * of->paused)
		return 0;
	j->kind = VERDICT_connect;
	j->start = of->from;
	j->end = of->till;
	return fill(j, k, address, end, false, e) < 0 ? ERR_FAIL : 1;
}

static int judge(struct judged *j, const struct connecting *k, const struct limits *l,
		 struct err *e)
{
	bool none = j->status != STATUS_PROBLEM, failed = j->kind == VERDICT_errors;
	const struct connect_tally *of;
	int address = 0, end = 0;

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
	return fill(j, k, address, end, failed, e);
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
						       .end = attempt_failed(error) };
		ret = buf_printf(&j->connect.address, e, "%s", db_text(q, 0));
		if (ret == 0 && error)
			ret = buf_printf(&j->connect.code, e, "%s",
					 errno_name(error, code, sizeof(code)));
	}
	return db_end(q, ret);
}

/* Which of the attempts requests waited for. */
static int match(struct analysis_ctx *c, struct connecting *k, bool wide, struct err *e)
{
	size_t i;
	int ret;

	k->wide = wide;
	k->latency = k->requests = k->errors = 0;
	memset(k->of, 0, sizeof(k->of));
	for (i = 0; i < k->a.n; i++)
		k->a.v[i].used = false;
	ret = read_requests(c, k, e);
	join_again(k);
	return ret;
}

/* Pauses of the whole server: those of parts count only where none of these does. */
static bool is_paused(const struct judged *j)
{
	int i;

	for (i = 0; i < j->whole; i++)
		if (j->pauses[i].counts)
			return j->kind == VERDICT_pauses;
	return false;
}

/* The slow time ranges begin before the first of these attempts. */
static int start_at_attempts(struct analysis_ctx *c, struct judged *j, struct connecting *k,
			     const struct limits *l, struct err *e)
{
	struct verdict_connect *m = &j->connect;
	int ret;

	if (!(m->n > 0) || j->kind != VERDICT_slower || j->names || j->given ||
	    m->from < j->start + j->width || !verdict_start_at(j, m->from, l))
		return 0;
	buf_free(&m->address);
	buf_free(&m->code);
	*m = (struct verdict_connect){ .n = 0 };
	ret = match(c, k, false, e);
	return ret < 0 ? ret : judge(j, k, l, e);
}

static int match_and_judge(struct analysis_ctx *c, struct judged *j, struct connecting *k,
			   const struct limits *l, struct err *e)
{
	int ret = 0;

	if (is_paused(j)) {
		ret = match(c, k, true, e);
		if (ret == 0)
			ret = judge_wide(j, k, l, e);
	}
	if (ret != 0)
		return ret < 0 ? ret : 0;
	ret = match(c, k, false, e);
	if (ret == 0)
		ret = judge(j, k, l, e);
	return ret < 0 ? ret : start_at_attempts(c, j, k, l, e);
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
	ret = attempts_read(c, j, l, &k->a, e);
	if (ret == 0 && k->a.n)
		ret = match_and_judge(c, j, k, l, e);
	attempts_free(&k->a);
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
		VALUE_NUMBER("again", m->end == CONNECT_SLOW && m->again > 0 ? m->again : NAN, ""),
		VALUE_TEXT("code", m->code.len ? m->code.data : NULL),
		VALUE_NUMBER("share", m->latency, "%"),
		VALUE_NUMBER("failed", m->errors, "%"),
		VALUE_MAYBE("upstream", upstream, m->row),
		{ 0 },
	};
	static const enum finding_kind kinds[N_CONNECT_ENDS] = {
		[CONNECT_NEVER] = FINDING_connect_never,
		[CONNECT_SLOW] = FINDING_connect_slow,
		[CONNECT_REFUSED] = FINDING_connect_refused,
		[CONNECT_NO_PORT] = FINDING_connect_no_port,
		[CONNECT_LOST] = FINDING_connect_lost,
		[CONNECT_AGAIN] = FINDING_connect_slow,
		[CONNECT_UNANSWERED] = FINDING_connect_unanswered,
		[CONNECT_GIVEN_UP] = FINDING_connect_given_up,
	};
	const struct finding f = { kinds[m->end],
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
		VALUE_NUMBER("explained", m->end == CONNECT_LOST ? m->explained : NAN, ""),
		VALUE_NUMBER("share", failed ? m->failed : m->latency, "%"),
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("end", j->end, "at"),
		{ 0 },
	};
	static const enum finding_kind waits[N_CONNECT_ENDS] = {
		[CONNECT_NEVER] = FINDING_verdict_connect,
		[CONNECT_SLOW] = FINDING_verdict_connect,
		[CONNECT_REFUSED] = FINDING_verdict_connect,
		[CONNECT_NO_PORT] = FINDING_verdict_connect,
		[CONNECT_LOST] = FINDING_verdict_lost,
		[CONNECT_AGAIN] = FINDING_verdict_connect,
		[CONNECT_UNANSWERED] = FINDING_verdict_no_answers,
		[CONNECT_GIVEN_UP] = FINDING_verdict_no_answers,
	};
	const struct finding f = { m->alone ? FINDING_verdict_unconnected
				   : failed ? FINDING_verdict_unreachable
					    : waits[m->end],
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   NULL,
				   values,
				   0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 ? ret : verdict_connect_cause(c, j, e);
}
