// SPDX-License-Identifier: GPL-2.0-or-later
/* The findings of the verdict: what happened to a server, and under it why. */
#include "verdict.h"

#include "analyze/analyses/failing/verdict_failing.h"
#include "analyze/analyses/queues/verdict_queues.h"
#include "verdict_cycle.h"
#include "verdict_names.h"
#include "verdict_stuck.h"

#include "format/buf.h"

#define LENGTHS_NAMED 3
#define PARTS_SAID    2 /* names with the reason of their added time */
#define RANGES_NAMED  2 /* besides the one that added most */

static int say_pauses(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct judged_pause *first = judged_longest(j);
	struct value values[LENGTHS_NAMED + 10];
	double longest[LENGTHS_NAMED] = { 0 }, max_wait = 0;
	struct finding f = { FINDING_verdict_pauses, PROBLEM, OBSERVED, j->about, NULL, values, 0 };
	double last = NAN;
	int i, k, n = 0;

	for (i = 0; i < j->n_pauses; i++) {
		double dur = (double)(j->pauses[i].end - j->pauses[i].start), swap;

		if (!j->pauses[i].counts)
			continue;
		if (j->pauses[i].end >= c->duration)
			last = (double)j->pauses[i].start;
		max_wait = fmax(max_wait, (double)j->pauses[i].victim_wait);
		for (k = 0; k < LENGTHS_NAMED; k++)
			if (dur > longest[k]) {
				swap = longest[k];
				longest[k] = dur;
				dur = swap;
			}
	}
	values[n++] = (struct value)VALUE_NUMBER("count", j->counted, "");
	if (j->counted > 1)
		values[n++] = (struct value)VALUE_INTERVAL("range", NAN, j->start, j->end, "at");
	else
		values[n++] = (struct value)VALUE_NUMBER("at", j->start, "at");
	for (k = 0; k < LENGTHS_NAMED && longest[k] > 0; k++)
		values[n++] = (struct value)VALUE_NUMBER("length", longest[k], "ns");
	values[n++] = (struct value)VALUE_NUMBER(
		"more", j->counted > LENGTHS_NAMED ? j->counted - LENGTHS_NAMED : NAN, "");
	values[n++] = (struct value)VALUE_NUMBER("waited", j->waited, "");
	values[n++] = (struct value)VALUE_NUMBER("max", max_wait, "ns");
	values[n++] = (struct value)VALUE_NUMBER(
		"p99", judged_is_part(first) ? first->part_usual : j->p99_outside, "ns");
	if (!judged_is_part(first) && j->others > j->waited)
		values[n++] = (struct value)VALUE_NUMBER("others", j->others, "");
	if (first->service)
		values[n++] = (struct value)VALUE_SUBJECT("part", service, first->service);
	else if (first->name)
		values[n++] = (struct value)VALUE_SUBJECT(first->stall ? "some" : "part",
							  request_name, first->name);
	if (j->counted > 1)
		values[n++] = (struct value)VALUE_NUMBER("last", last, "at");
	else
		values[n++] = (struct value)VALUE_TEXT("lasts", isnan(last) ? NULL : "lasts");
	values[n] = (struct value){ 0 };
	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

static int say_slower(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct value values[RANGES_NAMED + 12];
	struct finding f = { FINDING_verdict_slower, PROBLEM, OBSERVED, j->about, NULL, values, 0 };
	double longest;
	int i, said = 0, n = 0;

	values[n++] = (struct value)VALUE_NUMBER("start", verdict_since(j), "at");
	values[n++] = (struct value)VALUE_NUMBER("end", verdict_until(j, j->end), "at");
	for (i = 0; i < j->ranges && said < RANGES_NAMED; i++)
		if (j->range[i][0] != j->start) {
			values[n++] = (struct value)VALUE_INTERVAL("range", NAN, j->range[i][0],
								   j->range[i][1], "at");
			said++;
		}
	values[n++] = (struct value)VALUE_NUMBER(
		"more", j->ranges - 1 > said ? j->ranges - 1 - said : NAN, "");
	values[n++] = (struct value)VALUE_NUMBER("slow", j->slow, "ns");
	values[n++] = (struct value)VALUE_NUMBER("baseline", j->baseline, "ns");
	values[n++] = (struct value)VALUE_INTERVAL(j->by_mean ? "moment" : "ratio", j->ratio,
						   j->ratio_low, j->ratio_high, "x");
	values[n++] =
		(struct value)VALUE_NUMBER(j->by_mean ? "level" : "typical", j->typical, "ns");
	values[n++] = (struct value)VALUE_NUMBER(j->by_mean ? "level_base" : "typical_base",
						 j->typical_base, "ns");
	values[n++] = (struct value)VALUE_NUMBER("window", j->by_mean ? j->width : NAN, "ns");
	values[n++] = (struct value)VALUE_NUMBER("paused", verdict_also_paused(j, &longest), "");
	values[n++] = (struct value)VALUE_NUMBER("longest", longest, "ns");
	values[n] = (struct value){ 0 };
	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

static int say_names(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct slow_names *s = j->names;
	struct value values[SLOW_NAMES + 8];
	struct finding f = { FINDING_verdict_names, PROBLEM, OBSERVED, j->about, NULL, values, 0 };
	double longest;
	int i, n = 0;

	for (i = 0; i < s->n; i++) {
		values[n] =
			(struct value)VALUE_SUBJECT(i ? "second" : "name", request_name, s->id[i]);
		values[n].unit = "ns";
		values[n++].number = i ? s->p99[i] : NAN;
	}
	values[n++] = (struct value)VALUE_NUMBER("p99", s->p99[0], "ns");
	values[n++] = (struct value)VALUE_NUMBER("baseline", s->p99_base, "ns");
	values[n++] = (struct value)VALUE_NUMBER("start", fmin(s->first, j->start), "at");
	values[n++] = (struct value)VALUE_NUMBER("end", verdict_names_until(j), "at");
	values[n++] = (struct value)VALUE_NUMBER("others", s->unchanged ? s->unchanged : NAN, "");
	values[n++] = (struct value)VALUE_NUMBER("paused", verdict_also_paused(j, &longest), "");
	values[n++] = (struct value)VALUE_NUMBER("longest", longest, "ns");
	values[n] = (struct value){ 0 };
	n = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	if (n == 0)
		n = verdict_connect_cause(c, j, e);
	if (n == 0)
		n = verdict_own(c, j, e);
	for (i = 0; i < s->n && i < PARTS_SAID && n == 0; i++)
		n = verdict_name_part(c, j, s->id[i], e);
	return n;
}

static int say_mix(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("slow", j->slow, "ns"),
		VALUE_NUMBER("baseline", j->baseline, "ns"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_mix, NOTE, OBSERVED, j->about, NULL, values, 0 };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

static int say_other(struct analysis_ctx *c, struct judged *j, enum finding_kind kind,
		     enum severity severity, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("requests", j->requests > 0 ? j->requests : NAN, ""),
		VALUE_NUMBER("idle", j->idle, "%"),
		VALUE_NUMBER("pause", j->pause_max > 0 ? j->pause_max : NAN, "ns"),
		VALUE_NUMBER("queued", j->queued, "ns"),
		VALUE_NUMBER("served", j->served, "ns"),
		VALUE_NUMBER("count", j->counted, ""),
		VALUE_NUMBER("since", j->fewer > 0 ? j->fewer_from : NAN, "at"),
		VALUE_NUMBER("fewer", j->fewer > 0 ? j->fewer : NAN, "1/s"),
		VALUE_NUMBER("usual", j->fewer > 0 ? j->usual : NAN, "1/s"),
		VALUE_NUMBER("from", j->small > 0 ? j->small_from : NAN, "at"),
		VALUE_NUMBER("small", j->small > 0 ? j->small : NAN, "ns"),
		VALUE_NUMBER("baseline", j->small > 0 ? j->small_base : NAN, "ns"),
		VALUE_NUMBER("ratio", j->small > 0 ? j->small_ratio : NAN, "x"),
		VALUE_NUMBER("late", j->late.share >= 100 * LATE_MORE ? j->late.share : NAN, "%"),
		VALUE_NUMBER("busy", j->busy > 0 ? j->busy : NAN, "%"),
		VALUE_NUMBER("usual_pauses", j->usual_pauses ? j->usual_pauses : NAN, ""),
		VALUE_NUMBER("usual_pause", j->usual_pauses ? j->usual_pause : NAN, "ns"),
		VALUE_TEXT("contender", j->contender.len ? j->contender.data : NULL),
		{ 0 },
	};
	struct finding f = { kind,     severity, severity == PROBLEM ? OBSERVED : LIMIT,
			     j->about, NULL,	 values,
			     0 };

	if (kind == FINDING_verdict_healthy) {
		f.evidence = OBSERVED;
		f.kind = j->steady     ? FINDING_verdict_contended
			 : j->busy > 0 ? FINDING_verdict_busy
				       : kind;
	}
	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

/* A name of a smaller part of the requests that has most of their time, as long polls do. */
struct waiting_name {
	s64 name; /* 0: none */
	double each, others;
};

static int read_waiting_name(struct waiting_name *ret, struct analysis_ctx *c,
			     const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH n AS MATERIALIZED (SELECT coalesce(name, 0) AS name, total(dur + queued) AS ns, count(*) AS n"
		" FROM request WHERE NOT lossy AND NOT paced AND coalesce(name, 0) NOT IN (SELECT id FROM request_name"
		" WHERE awaits(protocol, name)) AND service IN (SELECT id FROM service WHERE server=?1) GROUP BY 1), a AS"
		" (SELECT total(ns) AS ns, total(n) AS n FROM n) SELECT name, n.ns / n.n, (a.ns - n.ns) / (a.n - n.n) FROM"
		" n, a WHERE name > 0 AND 2 * n.ns > a.ns AND 2 * n.n < a.n";
	sqlite3_stmt *q;
	int err = db_query(&q, c->db, e, sql, "i", j->about.id);

	*ret = (struct waiting_name){ 0, NAN, NAN };
	if (err < 0)
		return err;
	err = db_step(q, e);
	if (err > 0)
		*ret = (struct waiting_name){ sqlite3_column_int64(q, 0), db_number(q, 1),
					      db_number(q, 2) };
	return db_end(q, err);
}

static int say_capacity(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("used", j->chance.used, "%"),
		VALUE_NUMBER("latency", j->queued + j->served, "ns"),
		VALUE_NUMBER("queued", j->queued, "ns"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_capacity, WARNING, OBSERVED, j->about, NULL, values, 0
	};

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

/* No change, and no health either: what requests wait for, or cost. */
static int say_level(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	double mean = j->queued + j->served;
	bool wait = j->kind == VERDICT_wait, queue = j->kind == VERDICT_queue;
	struct waiting_name n = { j->name, NAN, NAN };
	int ret = wait ? read_waiting_name(&n, c, j, e) : 0;
	const struct value values[] = {
		VALUE_NUMBER("queued", queue ? j->queued : NAN, "ns"),
		VALUE_NUMBER("part", 100 * j->part, "%"),
		VALUE_NUMBER("latency", mean, "ns"),
		VALUE_NUMBER("share", wait ? 100 * j->where_part : NAN, "%"),
		VALUE_TEXT("where", j->where),
		VALUE_NUMBER("waiting", j->waiting, "%"),
		VALUE_MAYBE("name", request_name, n.name),
		VALUE_NUMBER("each", n.each, "ns"),
		VALUE_NUMBER("others", n.others, "ns"),
		{ 0 },
	};
	struct finding f = { wait    ? FINDING_verdict_wait
			     : queue ? FINDING_verdict_queue
				     : FINDING_verdict_cost,
			     WARNING,
			     OBSERVED,
			     j->about,
			     NULL,
			     values,
			     0 };

	return ret < 0 ? ret : finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

static int say_change(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	int ret = j->names ? say_names(c, j, e) : say_slower(c, j, e);

	if (j->names || ret < 0)
		return ret;
	ret = verdict_connect_cause(c, j, e);
	if (ret == 0)
		ret = verdict_blocker(c, j, e);
	return ret < 0 ? ret : verdict_own(c, j, e);
}

static int say_failing(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	bool more = j->kind == VERDICT_errors && j->more.n > 0 && !j->more.refused;
	int ret = more ? verdict_errors_say(c, j, PROBLEM, &j->finding, e) : 0;

	if (j->unaccepted.n > 0)
		return verdict_unaccepted_say(c, j, e);
	return ret < 0 ? ret : verdict_failing_say(c, j, e);
}

static int say_healthy(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	int ret = say_other(c, j, FINDING_verdict_healthy, NOTE, e);

	return ret == 0 && j->mix ? say_mix(c, j, e) : ret;
}

static int say_few(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT count(*) FROM request WHERE lossy AND iif(?2, service IN (SELECT id FROM service WHERE"
		" server=?1), ?1=0 OR pid=?1)";
	bool none = !(j->requests > 0);
	s64 lossy = 0;
	int ret = none ? db_int(c->db, &lossy, e, sql, "ii", j->about.id,
				(s64)(j->about.kind == SUBJECT_server))
		       : 0;

	if (ret < 0)
		return ret;
	if (lossy) {
		const struct value values[] = { VALUE_NUMBER("requests", (double)lossy, ""),
						{ 0 } };
		struct finding f = {
			FINDING_verdict_incomplete, NOTE, LIMIT, j->about, NULL, values, 0
		};

		return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	}
	ret = say_other(c, j, none ? FINDING_verdict_unknown : FINDING_verdict_few, NOTE, e);
	return ret == 0 && none ? verdict_hang_threads(c, j, e) : ret;
}

static int say_loss(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct value values[] = { VALUE_NUMBER("n", j->unjudged, ""),
					VALUE_NUMBER("max", j->unjudged_max, "ns"),
					{ 0 } };
	struct finding f = { FINDING_verdict_unjudged, NOTE, LIMIT, j->about, NULL, values, 0 };

	return j->unjudged > 0 ? finding_put(c->db, c->analysis->name, &f, &j->finding, e)
			       : say_other(c, j, FINDING_verdict_loss, NOTE, e);
}

static int say_overload(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	return say_other(c, j, FINDING_verdict_overload, PROBLEM, e);
}

static int say_standstill(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	return say_other(c, j, FINDING_verdict_standstill, PROBLEM, e);
}

int verdict_unmatched(struct analysis_ctx *c, struct err *e)
{
	sqlite3_stmt *q;
	int ret =
		db_query(&q, c->db, e,
			 "SELECT group_concat(value, ', ') FROM (SELECT value FROM recording WHERE"
			 " key GLOB 'target.[0-9]*' ORDER BY key) HAVING count(*)",
			 "");

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		const struct value values[] = { VALUE_TEXT("target", db_text(q, 0)), { 0 } };
		const struct finding f = {
			FINDING_verdict_unmatched, NOTE, LIMIT, { SUBJECT_none, 0 }, NULL, values, 0
		};

		ret = put_finding(c, e, &f);
	}
	return db_end(q, ret);
}

/* What is said of each kind, and of what else it may be the effect. */
static const struct {
	int (*say)(struct analysis_ctx *c, struct judged *j, struct err *e);
	bool crash;   /* a process that a signal ended */
	bool connect; /* connections to another server */
	bool own;     /* timers of the server itself, and what it asks */
	bool pipe;    /* a full one, which it writes into */
	bool pause;   /* what the serving thread did */
} says[N_VERDICTS] = {
	[VERDICT_none] = { .say = say_healthy },
	[VERDICT_pauses] = { .say = say_pauses,
			     .crash = true,
			     .connect = true,
			     .own = true,
			     .pipe = true,
			     .pause = true },
	[VERDICT_slower] = { .say = say_change, .crash = true, .pipe = true },
	[VERDICT_tail] = { .say = verdict_tail_say,
			   .crash = true,
			   .connect = true,
			   .own = true,
			   .pipe = true },
	[VERDICT_locked] = { .say = verdict_locked_say, .crash = true },
	[VERDICT_errors] = { .say = say_failing, .connect = true },
	[VERDICT_unanswered] = { .say = say_failing },
	[VERDICT_connections] = { .say = say_failing },
	[VERDICT_ended] = { .say = say_failing },
	[VERDICT_overload] = { .say = say_overload, .crash = true },
	[VERDICT_pool] = { .say = NULL }, /* it is known since the level was judged */
	[VERDICT_hang] = { .say = verdict_hang_say },
	[VERDICT_stuck] = { .say = NULL },
	[VERDICT_connect] = { .say = verdict_connect_say },
	[VERDICT_silent] = { .say = verdict_silent_say },
	[VERDICT_accept] = { .say = verdict_accept_say },
	[VERDICT_resent] = { .say = verdict_resent_say },
	[VERDICT_unacked] = { .say = verdict_unacked_say },
	[VERDICT_nagle] = { .say = verdict_nagle_say },
	[VERDICT_standstill] = { .say = say_standstill,
				 .crash = true,
				 .connect = true,
				 .pause = true },
	[VERDICT_queue] = { .say = say_level },
	[VERDICT_wait] = { .say = say_level, .own = true },
	[VERDICT_cost] = { .say = say_level },
	[VERDICT_capacity] = { .say = say_capacity },
	[VERDICT_requests] = { .say = say_few },
	[VERDICT_loss] = { .say = say_loss },
};

int verdict_say(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	bool problem = j->kind == VERDICT_errors && !j->more.refused, pipe = false;
	int ret = 0;

	if (j->more.n > 0 && !problem)
		ret = verdict_errors_say(c, j, j->more.refused ? NOTE : WARNING, NULL, e);
	if (ret == 0 && j->kind == VERDICT_stuck)
		ret = verdict_stuck_say(c, j, e);
	else if (ret == 0 && j->status != STATUS_PROBLEM)
		ret = verdict_stuck_maybe(c, j, l, e);
	if (ret == 0 && says[j->kind].say)
		ret = says[j->kind].say(c, j, e);
	if (ret == 0 && j->kind != VERDICT_connections && j->kind != VERDICT_accept)
		ret = verdict_open_limit_say(c, j, e);
	if (ret == 0 && j->status == STATUS_PROBLEM)
		ret = verdict_replaced_say(c, j, e);
	if (ret == 0 && j->kind == VERDICT_errors)
		ret = verdict_tried(c, j, e);
	if (ret == 0 && j->status == STATUS_PROBLEM)
		ret = verdict_idle_holder(c, j, e);
	if (ret == 0 && j->kind == VERDICT_errors)
		ret = verdict_last_asked(c, j, e);
	if (ret == 0 && j->kind == VERDICT_errors)
		ret = verdict_sizes_say(c, j, l, e);
	if (ret == 0)
		ret = verdict_backlog_say(c, j, e);
	if (ret == 0 && j->status == STATUS_PROBLEM)
		ret = verdict_cycle_say(c, j, l, e);
	if (ret == 0 && j->status == STATUS_PROBLEM)
		ret = verdict_just_then(c, j, e);
	if (ret == 0)
		ret = verdict_facts(c, j, l, e);
	if (ret == 0 && says[j->kind].crash)
		ret = verdict_crash_say(c, j, e);
	if (ret == 0 && says[j->kind].connect &&
	    !(j->kind == VERDICT_errors && j->always.dead_server))
		ret = verdict_connect_cause(c, j, e);
	if (ret == 0 && says[j->kind].own)
		ret = verdict_own(c, j, e);
	if (ret == 0)
		ret = verdict_leaked(c, j, e);
	if (ret == 0 && says[j->kind].pipe)
		ret = verdict_pipe(c, j, &pipe, e);
	if (ret == 0 && !pipe) /* else they queue for it */
		ret = verdict_queues(c, j, l, e);
	if (ret == 0 && says[j->kind].pause)
		ret = verdict_pause_say(c, j, e);
	if (ret == 0 && j->nagle.always && j->kind != VERDICT_nagle)
		ret = verdict_nagle_say(c, j, e);
	return ret == 0 && j->accept.n >= 1 && j->kind != VERDICT_accept
		       ? verdict_accept_say(c, j, e)
		       : ret;
}
