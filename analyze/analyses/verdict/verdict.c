// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is there a problem? One row a server. A problem needs all of: requests, or a whole process,
 * stood still or became slower; by a material size (the limits in verdict.h); with an interval
 * that excludes no change; and not from the start of the recorder alone. Pauses count as events,
 * never the requests that waited in them. A slowest hundredth always exists and is no problem.
 */
#include "verdict_pauses.h"

#include "analyze/analyses/failing/verdict_failing.h"
#include "analyze/analyses/queues/verdict_queues.h"
#include "analyze/store/request_rows.h"
#include "verdict_names.h"
#include "verdict_stuck.h"

#include <stdlib.h>
#include <string.h>

#define SERVERS_MOST  64
#define SUBJECTS_MOST (2 * SERVERS_MOST + 1)

static const struct metric metrics[] = {
	{ "requests", "", NEITHER_IS_BETTER, "with an answer" },
	{ "rate", "1/s", HIGHER_IS_BETTER, "requests answered" },
	{ "p50", "ns", LOWER_IS_BETTER, "median latency, from arrival to the end of the answer" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "p99 outside", "ns", LOWER_IS_BETTER, "99th percentile outside pauses" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "idle", "%", HIGHER_IS_BETTER, "of the busiest thread" },
	{ "pauses", "", LOWER_IS_BETTER, "that count" },
	{ "paused", "ns", LOWER_IS_BETTER, "their total" },
	{ 0 },
};

static const char *const status_names[] = { "problem", "unknown", "none", "unchanged" };

static int read_limits(struct analysis_ctx *c, struct limits *l, struct err *e)
{
	static const char sql[] =
		"SELECT max(CAST(value AS REAL)) FILTER (WHERE key='limit_pause_ns'),"
		" max(CAST(value AS REAL)) FILTER (WHERE key='limit_latency_ns'),"
		" max(CAST(value AS REAL)) FILTER (WHERE key='limit_factor'),"
		" max(CAST(value AS REAL)) FILTER (WHERE key='limit_errors') FROM recording";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	*l = (struct limits){ LIMIT_PAUSE, LIMIT_LATENCY, LIMIT_FACTOR, LIMIT_ERRORS };
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_double(q, 0) > 0)
		l->pause = sqlite3_column_double(q, 0);
	if (ret > 0 && sqlite3_column_double(q, 1) > 0)
		l->latency = sqlite3_column_double(q, 1);
	if (ret > 0 && sqlite3_column_double(q, 2) > 1)
		l->factor = sqlite3_column_double(q, 2);
	if (ret > 0 && sqlite3_column_double(q, 3) > 0)
		l->errors = sqlite3_column_double(q, 3) / 100;
	return db_end(q, ret);
}

/* A change by the factor, but by less than the limit of latency: said, not judged. */
static int find_small(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		      struct err *e)
{
	const struct limits least = { l->pause, 0, l->factor, l->errors };
	int changed = verdict_change(c, j, &least, e);

	/* by more than the limit: it is of one long request */
	if (changed > 0 && j->slow - j->baseline >= l->latency) {
		verdict_forget_change(j);
		return 0;
	}
	if (changed <= 0)
		return changed;
	j->small = j->slow;
	j->small_base = j->baseline;
	j->small_ratio = j->ratio;
	j->small_from = j->start;
	verdict_forget_change(j);
	return 0;
}

static void take_locked(struct judged *j)
{
	verdict_forget_change(j);
	j->status = STATUS_PROBLEM;
	j->kind = VERDICT_locked;
	j->start = j->locked.start;
	j->end = j->locked.end;
	j->n = j->locked.n;
}

/* Of the whole recording: short pauses that p99 comes from, else what most of the latency is. */
static int judge_level(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	int ret = verdict_held_pauses(c, j, l, e);

	if (ret <= 0)
		return ret < 0 ? ret : verdict_level(c, j, l, e);
	j->status = STATUS_PROBLEM;
	j->n = j->counted;
	return verdict_choose(c, j, false, l, e);
}

/* Errors come first: a change of latency is mentioned next to them. */
static void take_errors(struct judged *j)
{
	/* not one that was slow from the first request on */
	if (!j->names && !verdict_at_edge(j, 0, verdict_window_at(j, j->start) - 1)) {
		j->slower_from = j->start;
		j->slower_to = j->end;
		j->slower_ratio = j->ratio;
	}
	verdict_forget_change(j);
	j->status = STATUS_NONE;
	j->kind = VERDICT_none;
}

/* What is no change of latency and no pause. */
static int judge_rest(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		      struct err *e)
{
	s64 unseen = 0; /* requests that are in no window */
	bool errors = false;
	int ret = verdict_errors(c, j, l, &j->more, e), locked;

	if (ret == 0)
		ret = verdict_failing_read(c, j, l, e);
	if (ret == 0)
		ret = verdict_errors_first(c, j, &errors, e);
	if (errors || (ret == 0 && verdict_crash_first(j)))
		take_errors(j);
	if (ret == 0)
		verdict_failing(j, l);
	if (ret < 0)
		return ret;
	locked = verdict_locked(c, j, l, e);
	if (!locked && j->status != STATUS_NONE && !j->given)
		locked = verdict_deadlocks(c, j, e);
	if (locked > 0 && j->locked.deadlocks && !(j->locked.added > verdict_harm(j)))
		locked = 0;
	if (locked > 0 && j->status != STATUS_NONE)
		take_locked(j);
	if (locked < 0 || j->status != STATUS_NONE)
		return locked < 0 ? ERR_FAIL : 0;
	ret = verdict_tail(c, j, l, e);
	if (ret >= 0 && locked && !(ret && j->late.n > 2 * j->locked.n)) {
		take_locked(j);
		return 0;
	}
	if (ret > 0) {
		j->status = STATUS_PROBLEM;
		j->kind = VERDICT_tail;
		j->n = j->late.events;
		return 0;
	}
	if (ret == 0)
		ret = verdict_deadlocks(c, j, e);
	if (ret > 0) {
		take_locked(j);
		return 0;
	}
	if (ret == 0)
		ret = j->busy > 0 ? verdict_level(c, j, l, e) : judge_level(c, j, l, e);
	if (ret == 0)
		ret = db_int(
			c->db, &unseen, e,
			"SELECT count(*) + (SELECT count(*) FROM request WHERE lossy AND service IN (SELECT id"
			" FROM service WHERE server=?1)) FROM unanswered u WHERE " ANSWER_DUE
			" AND service IN (SELECT id"
			" FROM service WHERE server=?1) AND coalesce(name, 0) NOT IN (SELECT id FROM"
			" request_name WHERE awaits(protocol, name))",
			"i", j->about.id);
	if (ret == 0 && j->status == STATUS_NONE && !unseen)
		verdict_rate(j, l);
	return ret == 0 && j->status == STATUS_NONE && !j->mix && !(j->busy > 0)
		       ? find_small(c, j, l, e)
		       : ret;
}

static int judge_server(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	s64 lossy = 0;
	int ret = verdict_read(c, j, l, e), changed, named = 0;
	struct slow_names names;
	bool busy = false;

	if (ret == 0)
		ret = db_int(
			c->db, &lossy, e,
			"SELECT total(lost) > ?1 * total(seen) FROM coverage WHERE grp='syscalls'",
			"d", LOST_MOST);
	if (ret < 0)
		return ret;
	if (verdict_backlog(c, j, e) < 0 || verdict_pauses(c, j, l, e) < 0)
		return ERR_FAIL;
	verdict_take_pauses(j);
	if (verdict_outside(c, j, 0, e) < 0)
		return ERR_FAIL;
	changed = verdict_change(c, j, l, e);
	if (changed >= 0)
		named = verdict_names(c, j, l, &names, e);
	if (changed < 0 || named < 0)
		return ERR_FAIL;
	if ((changed || named == NAMES_SLOW) && !j->given &&
	    verdict_busy(c, j, named == NAMES_SLOW ? names.id[0] : 0, j->range, j->ranges, l, &busy,
			 e) < 0)
		return ERR_FAIL;
	if (!busy && changed && named != NAMES_SLOW && !j->given &&
	    verdict_chance(c, j, &busy, e) < 0)
		return ERR_FAIL;
	if (busy) {
		verdict_forget_change(j);
		changed = named = 0;
	}
	j->mix = named == NAMES_MIX;
	if (j->mix)
		changed = 0;
	if (named == NAMES_SLOW) {
		changed = 1;
		j->names = malloc(sizeof(*j->names));
		if (!j->names)
			return err_set(e, ERR_FAIL, "out of memory for the verdict");
		*j->names = names;
	}
	j->status = STATUS_PROBLEM;
	if (changed || j->counted)
		ret = verdict_choose(c, j, changed > 0, l, e);
	else
		j->status = lossy || j->requests < REQUESTS_LEAST ? STATUS_UNKNOWN : STATUS_NONE;
	if (j->status == STATUS_UNKNOWN)
		j->kind = lossy ? VERDICT_loss : VERDICT_requests;
	if (j->kind == VERDICT_pauses)
		j->n = j->counted;
	if (ret == 0)
		ret = judge_rest(c, j, l, e);
	verdict_chance_take(j);
	return ret < 0 ? ret : verdict_lossy(c, j, l, e);
}

/* Without requests: did its busiest thread wait for a CPU or a disk for long? */
static int judge_process(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			 struct err *e)
{
	static const char sql[] =
		"SELECT count(*) FILTER (WHERE bad), total(dur) FILTER (WHERE bad), min(ts) FILTER (WHERE"
		" bad), max(ts + dur) FILTER (WHERE bad), max(dur) FROM (SELECT ts, dur, dur >= ?1 AND"
		" 2 * (woken + preempted + disk + blocked) > dur AS bad FROM pause WHERE server=0 AND"
		" NOT lossy)";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "d", STANDSTILL);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	j->status = STATUS_UNKNOWN;
	j->kind = VERDICT_requests;
	j->p50 = j->p99 = j->p99_outside = j->max = j->idle = j->rate = j->errors = NAN;
	if (ret > 0) {
		j->pause_max = sqlite3_column_double(q, 4);
		j->n = j->counted = sqlite3_column_int(q, 0);
	}
	if (ret > 0 && j->counted) {
		j->status = STATUS_PROBLEM;
		j->kind = VERDICT_standstill;
		j->paused = sqlite3_column_double(q, 1);
		j->start = sqlite3_column_double(q, 2);
		j->end = sqlite3_column_double(q, 3);
	}
	ret = db_end(q, ret);
	if (ret == 0)
		ret = verdict_unserved_read(c, j, l, e);
	if (ret == 0)
		verdict_failing(j, l);
	return ret;
}

static int judge(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	int ret;

	if (j->about.kind != SUBJECT_server)
		return judge_process(c, j, l, e);
	if (j->kind != VERDICT_hang)
		return judge_server(c, j, l, e);
	ret = verdict_hang(c, j, l, e);
	if (ret < 0 || j->status == STATUS_PROBLEM)
		return ret;
	ret = verdict_failing_read(c, j, l, e);
	if (ret == 0)
		verdict_failing(j, l);
	return ret;
}

static int put_row(struct analysis_ctx *c, const struct judged *j, int rank, struct err *e)
{
	return db_insert(
		c->db, TABLE_verdict, e,
		"isissddii"
		"ddddddddd"
		"iiiidddddiisidd",
		(s64)rank, subject_names[j->about.kind], j->about.id, status_names[j->status],
		verdict_kinds[j->kind].name, verdict_since(j), j->end, c->duration,
		(s64)j->requests, j->rate, j->p50, j->p99, j->p99_outside, j->max, j->errors,
		j->read,
		isnan(j->read) && !(j->datagrams.all > 0) ? NAN : j->closed.n + j->datagrams.all,
		j->idle, (s64)j->counted, (s64)j->paused, (s64)j->pause_max, (s64)j->waited,
		j->slow, j->baseline, j->ratio, j->ratio_low, j->ratio_high, (s64)j->n, j->finding,
		c->verdict, j->due, j->acked_p50, j->acked_p99);
}

static int put_numbers(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "requests", j->requests },
		{ "rate", j->rate },
		{ "p50", j->p50 },
		{ "p99", j->p99 },
		{ "p99 outside", j->p99_outside },
		{ "max", j->max },
		{ "idle", j->idle },
		{ "pauses", j->counted },
		{ "paused", j->paused },
	};
	struct buf name = { 0 };
	size_t i;
	int ret = subject_text(&name, c->db, j->about, e);

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, name.data ? name.data : "", values[i].name, values[i].value,
				 NO_INTERVAL, (s64)j->requests);
	buf_free(&name);
	return ret;
}

static int put_limits(struct analysis_ctx *c, const struct limits *l, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("pause", l->pause, "ns"),
		VALUE_NUMBER("latency", l->latency, "ns"),
		VALUE_NUMBER("factor", l->factor, ""),
		VALUE_NUMBER("errors", 100 * l->errors, "%"),
		{ 0 },
	};
	struct finding f = {
		FINDING_verdict_limits, NOTE, LIMIT, { SUBJECT_none, 0 }, NULL, values, 0
	};

	return put_finding(c, e, &f);
}

static int read_subjects(struct analysis_ctx *c, const struct limits *l, struct judged *v,
			 int *ret_n, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(
		&q, c->db, e,
		"WITH h AS (SELECT server, count(*) AS n FROM unanswered u JOIN service s ON s.id=u.service"
		" WHERE server IN (SELECT id FROM server WHERE requests=0) AND (read IS NULL OR u.name IS NOT"
		" NULL) GROUP BY server UNION SELECT server, count(*) FROM request_before b JOIN service v ON v.id="
		"b.service WHERE server IN (SELECT id FROM server WHERE requests=0) AND EXISTS (SELECT 1 FROM"
		" thread_state s WHERE s.ts <= 0 AND s.dur >= ?3 AND s.tid IN (SELECT tid FROM thread WHERE pid=b.pid)"
		" AND " STUCK
		") GROUP BY server), k AS (SELECT DISTINCT server FROM request_closed x JOIN service s ON"
		" s.id=x.service WHERE x.name NOT NULL AND (NOT x.peer OR x.end - x.ts >= ?2)) SELECT 's', id FROM (SELECT id FROM server WHERE"
		" requests > 0 OR (id IN (SELECT server FROM k) AND id NOT IN (SELECT server FROM h)) ORDER BY"
		" requests DESC, id LIMIT ?1) UNION ALL SELECT 'h', server FROM (SELECT server FROM h ORDER BY n"
		" DESC, server LIMIT ?1) UNION ALL SELECT 'p', pid FROM (SELECT pid FROM thread WHERE wall NOT NULL AND NOT EXISTS"
		" (SELECT 1 FROM server WHERE requests > 0) AND NOT EXISTS (SELECT 1 FROM h) AND NOT EXISTS (SELECT"
		" 1 FROM k) ORDER BY run DESC,"
		" used DESC, tid LIMIT 1)",
		"idd", (s64)SERVERS_MOST, l->pause, EDGE_LEAST);

	*ret_n = 0;
	if (ret < 0)
		return ret;
	while (*ret_n < SUBJECTS_MOST && (ret = db_step(q, e)) > 0)
		v[(*ret_n)++] = (struct judged){
			.about = { *db_text(q, 0) == 'p' ? SUBJECT_process : SUBJECT_server,
				   sqlite3_column_int64(q, 1) },
			.kind = *db_text(q, 0) == 'h' ? VERDICT_hang : VERDICT_none,
			.start = NAN,
			.end = NAN,
			.slow = NAN,
			.baseline = NAN,
			.ratio = NAN,
			.ratio_low = NAN,
			.ratio_high = NAN,
			.read = NAN,
			.slower_from = NAN,
			.slower_to = NAN,
			.slower_ratio = NAN,
		};
	sqlite3_finalize(q);
	return ret;
}

/* What its connections show, above all where nothing else does. */
static int judge_sockets(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			 struct err *e)
{
	int ret = verdict_connect(c, j, l, e);

	if (ret == 0)
		ret = verdict_accept(c, j, e);
	if (ret == 0)
		ret = verdict_accepted_late(c, j, l, e);
	if (ret == 0)
		ret = verdict_unaccepted(c, j, l, e);
	if (ret == 0)
		ret = verdict_silent(c, j, l, e);
	if (ret == 0)
		ret = verdict_stuck(c, j, l, e);
	if (ret == 0)
		ret = verdict_unacked(c, j, l, e);
	if (ret == 0)
		ret = verdict_resent(c, j, l, e);
	if (ret == 0)
		ret = verdict_path(c, j, l, e);
	if (ret == 0)
		ret = verdict_nagle(c, j, l, e);
	return ret < 0 ? ret : verdict_awaited(c, j, e);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct judged *v = calloc(SUBJECTS_MOST, sizeof(*v));
	struct limits l;
	int i, n = 0, ret = v ? 0 : err_set(e, ERR_FAIL, "out of memory for the verdict");

	if (ret == 0)
		ret = db_exec(
			c->db, e,
			"DELETE FROM verdict; DELETE FROM verdict_range; UPDATE pause SET counts=0 WHERE counts");
	if (ret == 0)
		ret = stuck_states_forget(c->db, e);
	if (ret == 0)
		ret = read_limits(c, &l, e);
	if (ret == 0)
		ret = read_subjects(c, &l, v, &n, e);
	for (i = 0; i < n && ret == 0; i++)
		ret = judge(c, &v[i], &l, e);
	for (i = 0; i < n && ret == 0; i++)
		ret = judge_sockets(c, &v[i], &l, e);
	if (ret == 0)
		qsort(v, (size_t)n, sizeof(*v), verdict_by_rank);
	for (i = 0; i < n && ret == 0; i++) {
		ret = verdict_say(c, &v[i], &l, e);
		if (ret == 0)
			ret = verdict_stuck_asked(c, &v[i], v, n, e);
		if (ret == 0)
			ret = put_row(c, &v[i], i + 1, e);
		if (ret == 0)
			ret = mark_pauses(c, &v[i], e);
		if (ret == 0)
			ret = verdict_ranges(c, &v[i], i + 1, e);
		if (ret == 0 && v[i].about.kind == SUBJECT_server)
			ret = verdict_unnamed_code(c, &v[i], i + 1, e);
		if (ret == 0 && v[i].requests > 0)
			ret = put_numbers(c, &v[i], e);
	}
	if (ret == 0)
		ret = put_limits(c, &l, e);
	if (ret == 0 && !n)
		ret = verdict_unmatched(c, e);
	for (i = 0; i < n; i++) {
		hist_free(&v[i].all);
		hist_free(&v[i].outside);
		free(v[i].pauses);
		idmap_free(&v[i].quick);
		buf_free(&v[i].more.code);
		buf_free(&v[i].always.code);
		buf_free(&v[i].contender);
		buf_free(&v[i].unaccepted.client);
		buf_free(&v[i].connect.address);
		buf_free(&v[i].connect.code);
		free(v[i].names);
		verdict_stuck_free(&v[i]);
	}
	free(v);
	return ret;
}

const struct analysis analysis_verdict = {
	.name = "verdict",
	.doc = "Is there a problem",
	.needs = "syscalls",
	.silence = true,
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
