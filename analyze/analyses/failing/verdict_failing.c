// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do requests fail from start to end of the recording, with no level to compare with? Errors that
 * are the server's own, answers that could not be written, and requests whose connection it closed
 * without an answer, are a problem where their share is surely above the limit; refused logins
 * where they are surely most logins of the recording. Errors of wrong requests have no such limit:
 * only more of them can be a problem (verdict_traffic.c).
 */
#include "verdict_failing.h"

#include "own_errors.h"
#include "surely.h"
#include "verdict_left.h"

#include "analyze/analyses/verdict/verdict_name_fails.h"
#include "analyze/store/error_names.h"
#include "format/protocols.h"

#include <string.h>

#define MOST_LOGINS 0.5
#define MOST_GONE   0.5 /* of the requests that were read */
#define OUTLASTS    2

static bool is_problem_share(const struct verdict_errors *m)
{
	return is_share(m->n, m->of, m->least);
}

struct own_errors {
	struct verdict_errors of[N_ERRORS];
	double most[N_ERRORS]; /* of one code */
};

static int take_code(void *arg, sqlite3_stmt *q, struct err *e)
{
	int protocol = sqlite3_column_int(q, 0), status = sqlite3_column_int(q, 1), what;
	const char *code = db_text(q, 2);
	bool each = false;
	double n = sqlite3_column_double(q, 3);
	struct own_errors *o = arg;
	struct verdict_errors *of;

	if (!status)
		what = ERRORS_UNWRITTEN;
	else if (is_own_error(protocol, status, code))
		what = ERRORS_OWN;
	else if (is_login_error(protocol, status, code, &each))
		what = ERRORS_LOGIN;
	else
		return 0;
	of = &o->of[what];
	of->each |= each;
	of->start = of->n > 0 ? fmin(of->start, sqlite3_column_double(q, 4))
			      : sqlite3_column_double(q, 4);
	of->n += n;
	of->end = fmax(of->end, sqlite3_column_double(q, 5));
	if (n <= o->most[what])
		return 0;
	o->most[what] = n;
	of->name = sqlite3_column_int64(q, 6);
	buf_clear(&of->code);
	return *code && status <= 1 ? buf_printf(&of->code, e, "%s", code)
				    : buf_printf(&of->code, e, "%d", status);
}

/* What they are a share of: requests that were read, or connections that were opened. */
static int read_shares(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		       struct own_errors *o, struct err *e)
{
	static const char opened[] =
		"SELECT count(DISTINCT remote) FROM fd WHERE role='accepted' AND ts > 0 AND pid IN (SELECT"
		" pid FROM service WHERE server=?1)";
	struct verdict_errors *of = o->of;
	s64 n = 0;
	int i, ret = 0;

	if (of[ERRORS_LOGIN].n > 0 && !of[ERRORS_LOGIN].each)
		ret = db_int(c->db, &n, e, opened, "i", j->about.id);
	of[ERRORS_OWN].of = of[ERRORS_UNWRITTEN].of = j->read;
	if (isnan(j->read))
		of[ERRORS_UNWRITTEN].of = j->requests + of[ERRORS_UNWRITTEN].n;
	of[ERRORS_LOGIN].of = of[ERRORS_LOGIN].each ? j->read : (double)n;
	for (i = 0; i < N_ERRORS; i++) {
		of[i].what = i;
		of[i].least = i == ERRORS_LOGIN ? MOST_LOGINS : l->errors;
		of[i].share = fmin(100, percent(of[i].n, of[i].of));
	}
	return ret;
}

/*
 * Of the most frequent code, the name with more than half of them. Clients that end leave answers
 * that cannot be written: where all connections are closed, the last of them are none. Nor are
 * those whose clients left without a wait.
 */
static int read_always(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	static const char sql[] =
		"WITH " LEFT_WITH
		", x AS MATERIALIZED (SELECT protocol, status, coalesce(code, 0) AS code, coalesce(name, 0)"
		" AS name, count(*) AS n, min(ts) AS first, max(ts) AS last FROM request_error WHERE service IN"
		" " SERVICES_OF " AND (status<>0 OR ts < ?2) AND NOT " LEFT_ALONE
		" GROUP BY 1, 2, 3, 4) SELECT protocol, status, coalesce((SELECT k.code FROM"
		" request_code k WHERE k.id=x.code), ''), sum(n), min(first), max(last), CASE WHEN 2 * max(n) >"
		" sum(n) THEN name ELSE 0 END FROM x GROUP BY protocol, status, code";
	struct own_errors o = { 0 };
	double end = j->ends > 0 ? j->ends - START_NS : INFINITY;
	int i, chosen = 0,
	       ret = db_each(c->db, e, take_code, &o, sql, "iddd", j->about.id, end, l->latency,
			     l->factor);

	if (ret == 0)
		ret = read_shares(c, j, l, &o, e);
	while (chosen < N_ERRORS && !is_problem_share(&o.of[chosen]))
		chosen++;
	chosen = chosen < N_ERRORS ? chosen : ERRORS_OWN;
	j->always = o.of[chosen];
	for (i = 0; i < N_ERRORS; i++)
		if (i != chosen)
			buf_free(&o.of[i].code);
	return ret;
}

static int take_closed(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct judged *j = arg;

	(void)e;
	j->closed.n = sqlite3_column_double(q, 0);
	j->closed.start = sqlite3_column_double(q, 1);
	j->closed.end = sqlite3_column_double(q, 2);
	j->closed.name = sqlite3_column_int64(q, 3);
	return 0;
}

static int read_closed(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH k AS MATERIALIZED (SELECT name, count(*) AS n, min(end) AS first, max(end) AS last FROM " CLOSED_OF
		" GROUP BY name) SELECT total(n), min(first), max(last), coalesce((SELECT name FROM k WHERE 2 *"
		" n > (SELECT sum(n) FROM k)), 0) FROM k";
	int ret = db_each(c->db, e, take_closed, j, sql, "id", j->about.id,
			  j->crash.n > 0 ? j->crash.ts : (double)INT64_MAX);

	j->closed.share = percent(j->closed.n, fmax(j->read, j->closed.n));
	return ret;
}

static int take_gone(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct judged *j = arg;

	(void)e;
	j->gone.n = sqlite3_column_double(q, 0);
	j->gone.start = sqlite3_column_double(q, 1);
	j->gone.end = sqlite3_column_double(q, 2);
	j->gone.name = sqlite3_column_int64(q, 3);
	j->gone_after = sqlite3_column_double(q, 4);
	return 0;
}

/* Clients that waited as long as the limit of pauses; memcached need not answer. */
static int read_gone(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		     struct err *e)
{
	static const char sql[] =
		"WITH x AS MATERIALIZED (SELECT r.* FROM request_closed r JOIN request_name n ON n.id=r.name WHERE"
		" peer AND r.end - r.ts >= ?2 AND n.protocol<>?3 AND readable(n.protocol) AND NOT"
		" awaits(n.protocol, n.name) AND service IN " SERVICES_OF
		"), k AS MATERIALIZED (SELECT name, count(*) AS n, min(end) AS first, max(end) AS last,"
		" max(end - ts) AS wait FROM x GROUP BY name) SELECT total(n), min(first), max(last),"
		" coalesce((SELECT name FROM k WHERE 2 * n > (SELECT sum(n) FROM k)), 0), max(wait) FROM k";
	int ret = db_each(c->db, e, take_gone, j, sql, "idi", j->about.id, l->pause,
			  (s64)PROTOCOL_MEMCACHED);

	j->gone.of = fmax(j->read, j->gone.n);
	j->gone.least = MOST_GONE;
	return ret;
}

/* The most frequent code of a name all of whose answers report errors. */
static int take_name_code(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_errors *m = arg;

	return buf_printf(&m->code, e, "%s", db_text(q, 0));
}

static int read_always_name(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			    struct err *e)
{
	static const char sql[] = "SELECT " ERROR_CODE_OF
				  " FROM request_error e WHERE name=?2 AND service IN " SERVICES_OF
				  " GROUP BY status, code ORDER BY count(*) DESC LIMIT 1";
	struct verdict_errors m = { .n = 0 };
	int ret = verdict_name_fails(c, j, l, false, &m, e);

	if (ret < 0 || !(m.n > 0))
		return ret;
	m.least = l->errors;
	m.share = percent(m.n, m.of);
	buf_free(&j->always.code);
	j->always = m;
	return db_each(c->db, e, take_name_code, &j->always, sql, "ii", j->about.id, m.name);
}

/* Whatever it is of: what hides none of it by a name with few. */
static bool fails_always(const struct judged *j, const struct limits *l)
{
	return is_problem_share(&j->always) || is_problem_share(&j->gone) ||
	       is_share(j->turned.n, j->turned.of, l->errors) ||
	       is_share(j->closed.n, fmax(j->read, j->closed.n), l->errors);
}

int verdict_failing_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			 struct err *e)
{
	int ret = verdict_crash_read(c, j, e);

	if (ret == 0)
		ret = read_always(c, j, l, e);
	if (ret == 0 && !is_problem_share(&j->always))
		ret = verdict_name_server_read(c, j, e);
	if (ret == 0 && !is_problem_share(&j->always) && j->errors > 0)
		ret = read_always_name(c, j, l, e);
	if (ret == 0)
		ret = read_closed(c, j, e);
	if (ret == 0)
		ret = read_gone(c, j, l, e);
	if (ret == 0)
		ret = verdict_turned_read(c, j, e);
	if (ret == 0)
		ret = verdict_outage_read(c, j, l, e);
	if (ret == 0)
		ret = verdict_unserved_read(c, j, l, e);
	if (ret == 0)
		ret = verdict_datagrams_read(c, j, l, e);
	if (ret == 0 && j->kind != VERDICT_hang && !(j->more.n > 0) && !fails_always(j, l))
		ret = verdict_cut(c, j, l, &j->more, e);
	return ret;
}

static void is_problem(struct judged *j, enum verdict_kind kind, double start, double end, double n)
{
	j->status = STATUS_PROBLEM;
	j->kind = kind;
	j->start = start;
	j->end = end;
	j->n = n;
}

/* It lasts so much longer than the problem that was found that it is not its effect. */
static bool outlasts(const struct judged *j, double start, double end)
{
	return end - start >= OUTLASTS * (j->end - j->start);
}

void verdict_failing(struct judged *j, const struct limits *l)
{
	const struct verdict_errors *a = &j->always, *k = &j->closed;
	struct verdict_outage *out = &j->outage;
	bool open = j->status == STATUS_NONE || j->kind == VERDICT_requests ||
		    (j->status == STATUS_UNKNOWN && j->kind == VERDICT_hang);
	bool more = j->more.n > 0 && !j->more.refused;
	/* connections that are served in the end hurt less than as many requests that fail */
	bool late = more && j->unserved.late > 0 && j->more.n >= j->unserved.late;

	if (!open && j->status != STATUS_PROBLEM)
		return;
	if (open && j->crash.last)
		is_problem(j, VERDICT_ended, j->crash.ts, NAN, 1);
	else if (out->n > 0 && (open || outlasts(j, out->start, out->end))) {
		is_problem(j, VERDICT_ended, out->start, out->end,
			   fmax(out->lost, j->rate * out->total / 1e9));
		out->first = true;
	} else if (open && j->crash.n > 0)
		is_problem(j, VERDICT_unanswered, k->start, k->end, k->n);
	else if (j->unserved.n > 0 && !late &&
		 (open || outlasts(j, j->unserved.start, j->unserved.end)))
		is_problem(j, VERDICT_connections, j->unserved.start, j->unserved.end,
			   j->unserved.n);
	else if (more && (open || outlasts(j, j->more.start, j->more.end)))
		is_problem(j, VERDICT_errors, j->more.start, j->more.end, j->more.n);
	else if (is_problem_share(a) && !more && (open || outlasts(j, a->start, a->end)))
		is_problem(j, VERDICT_errors, a->start, a->end, a->n);
	else if (is_share(j->turned.n, j->turned.of, l->errors) &&
		 (open || outlasts(j, j->turned.start, j->turned.end))) {
		is_problem(j, VERDICT_connections, j->turned.start, j->turned.end, j->turned.n);
		j->turned.first = true;
	} else if (open && is_share(k->n, fmax(j->read, k->n), l->errors))
		is_problem(j, VERDICT_unanswered, k->start, k->end, k->n);
	else if (open && is_problem_share(&j->gone)) {
		is_problem(j, VERDICT_unanswered, j->gone.start, j->gone.end, j->gone.n);
		j->gave_up = true;
	} else if (j->datagrams.n > 0 &&
		   (open || outlasts(j, j->datagrams.start, j->datagrams.end))) {
		is_problem(j, VERDICT_unanswered, j->datagrams.start, j->datagrams.end,
			   j->datagrams.n);
		j->datagrams.first = true;
	}
}

static int say_always(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const enum finding_kind kinds[N_ERRORS] = {
		[ERRORS_OWN] = FINDING_verdict_failing,
		[ERRORS_UNWRITTEN] = FINDING_verdict_unwritten,
		[ERRORS_LOGIN] = FINDING_verdict_logins,
	};
	const struct verdict_errors *m = &j->always;
	const struct value values[] = {
		VALUE_NUMBER("share", m->share, "%"),
		VALUE_TEXT("what", m->each ? "requests" : "logins"),
		VALUE_NUMBER("start", m->start, "at"),
		VALUE_NUMBER("end", m->end, "at"),
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("of", m->of, ""),
		VALUE_TEXT("code", m->code.len ? m->code.data : NULL),
		VALUE_TEXT("meaning", error_name(m->code.data)),
		VALUE_MAYBE("name", request_name, m->name),
		VALUE_NUMBER("unanswered", j->closed.n > 0 ? j->closed.n : NAN, ""),
		{ 0 },
	};
	const struct finding f = {
		kinds[m->what], PROBLEM, OBSERVED, j->about, "SELECT * FROM request_error",
		values,		0
	};

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

/* What the server asked, and got no byte for. */
static int say_silent(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT remote, count(*), total(sent) FROM connection WHERE role='connected' AND pid IN (SELECT pid"
		" FROM service WHERE server=?1) GROUP BY remote HAVING total(received)=0 AND total(sent) > 0"
		" ORDER BY 2 DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", j->about.id);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		const struct value values[] = {
			VALUE_TEXT("address", db_text(q, 0)),
			VALUE_NUMBER("n", sqlite3_column_double(q, 1), ""),
			VALUE_NUMBER("sent", sqlite3_column_double(q, 2), "bytes"),
			{ 0 },
		};
		const struct finding f = { FINDING_upstream_silent,    PROBLEM, OBSERVED,  j->about,
					   "SELECT * FROM connection", values,	j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	return db_end(q, ret);
}

static int say_gone(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_errors *m = &j->gone;
	const struct value values[] = {
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("of", m->of, ""),
		VALUE_NUMBER("wait", j->gone_after, "ns"),
		VALUE_NUMBER("start", m->start, "at"),
		VALUE_NUMBER("end", m->end, "at"),
		VALUE_MAYBE("name", request_name, m->name),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_gone,	   PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM request_closed", values,  0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 ? ret : say_silent(c, j, e);
}

static int say_closed(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_errors *m = &j->closed;
	bool brief = m->end - m->start < 1e9;
	const struct value values[] = {
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("share", m->share, "%"),
		VALUE_NUMBER("at", brief ? m->start : NAN, "at"),
		VALUE_NUMBER("start", brief ? NAN : m->start, "at"),
		VALUE_NUMBER("end", brief ? NAN : m->end, "at"),
		VALUE_MAYBE("name", request_name, m->name),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_unanswered,	   PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM request_closed", values,  0 };

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

static int say_ended(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("at", j->crash.ts, "at"),
		VALUE_NUMBER("rest", (double)c->duration - j->crash.ts, "ns"),
		VALUE_NUMBER("unanswered", j->closed.n > 0 ? j->closed.n : NAN, ""),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_ended, PROBLEM, OBSERVED, j->about, NULL, values, 0
	};

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

int verdict_failing_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	bool connections = j->kind == VERDICT_connections;
	int ret = 0;

	if (connections)
		ret = j->turned.first ? verdict_turned_say(c, j, e) : verdict_unserved_say(c, j, e);
	else if (j->kind == VERDICT_ended)
		ret = j->outage.first ? verdict_outage_say(c, j, e) : say_ended(c, j, e);
	else if (j->kind == VERDICT_unanswered)
		ret = j->datagrams.first ? verdict_datagrams_say(c, j, e)
		      : j->gave_up	 ? say_gone(c, j, e)
					 : say_closed(c, j, e);
	else if (!(j->more.n > 0) || j->more.refused)
		ret = j->always.of_name ? verdict_name_server_say(c, j, e) : say_always(c, j, e);
	if (ret == 0)
		ret = verdict_crash_say(c, j, e);
	if (ret == 0 && j->kind == VERDICT_errors)
		ret = verdict_holders_say(c, j, e);
	if (ret == 0 && j->kind == VERDICT_errors)
		ret = verdict_replicas_say(c, j, e);
	if (ret == 0 && j->kind == VERDICT_errors)
		ret = verdict_files_say(c, j, e);
	return ret < 0 || connections ? ret : verdict_calls_say(c, j, j->finding, e);
}
