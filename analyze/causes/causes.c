// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Why were slow requests slow? Units of work (calls of a probed function, else requests on server
 * sockets, else windows of time) are split by the states of their thread. What slow ones spend more
 * time on than baseline ones is a cause, with its offender, the end of the wakeup chain, an example
 * and caveats. At most three causes, each at least a fifth of the added latency; otherwise there is
 * no dominant cause.
 */
#include "causes.h"

#include "sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAUSES_MAX     3
#define MOST_UNKNOWN   0.3  /* of the added latency */
#define SATURATED_RUN  0.9  /* of a thread's time on a CPU */
#define SATURATED_IDLE 0.06 /* of its time asleep for anything */
#define SATURATED_LONG 5    /* blocks */
#define SATURATED_NS   100000000

static const struct metric metrics[] = {
	{ "share", "%", NEITHER_IS_BETTER, "of the added latency of slow units" },
	{ "added", "ns", LOWER_IS_BETTER, "added latency: mean of slow units minus baseline" },
	{ "slow", "ns", LOWER_IS_BETTER, "mean of the slow units" },
	{ "n slow", "", NEITHER_IS_BETTER, "slow units" },
	{ "baseline", "ns", NEITHER_IS_BETTER, "mean of the baseline units" },
	{ "n baseline", "", NEITHER_IS_BETTER, "baseline units" },
	{ "from", "ns", NEITHER_IS_BETTER, "start of the slow windows, where these were found" },
	{ "to", "ns", NEITHER_IS_BETTER, "their end" },
	{ 0 },
};

/* ---- saturation of the thread that serves ---- */

struct saturation {
	u32 thread;
	struct moment full; /* to 0: it is not saturated */
	double run, idle;   /* shares of its time then */
};

/* The longest time range in which the thread only ran. */
static void find_full(const struct units *u, struct saturation *s, double (*spent)[N_SPAN_STATES])
{
	double run = 0, idle = 0, wall = 0, best = 0, all, asleep;
	int b, i, start = 0;

	for (b = 0; b <= UNIT_BLOCKS; b++) {
		for (all = asleep = 0, i = 0; b < UNIT_BLOCKS && i < N_SPAN_STATES; i++) {
			all += spent[b][i];
			asleep += span_is_wait(i) ? spent[b][i] : 0;
		}
		if (b < UNIT_BLOCKS && all > 0 && spent[b][SPAN_run] >= SATURATED_RUN * all &&
		    asleep <= SATURATED_IDLE * all) {
			run += spent[b][SPAN_run];
			idle += asleep;
			wall += all;
			continue;
		}
		if (b - start >= SATURATED_LONG && wall > best && wall >= SATURATED_NS) {
			best = wall;
			s->run = run / wall;
			s->idle = idle / wall;
			s->full = (struct moment){ start * u->block, b * u->block };
		}
		run = idle = wall = 0;
		start = b + 1;
	}
}

static int find_saturation(struct reporting *r, struct saturation *s, struct err *e)
{
	double(*spent)[N_SPAN_STATES] = calloc(UNIT_BLOCKS, sizeof(*spent));
	int ret = 0;

	if (!spent)
		return err_set(e, ERR_FAIL, "out of memory for saturation");
	/* one of several workers that is full leaves the others */
	s->thread = r->u->processes > 1 ? 0 : units_thread_of(r->u);
	if (s->thread)
		ret = units_thread(r->c->db, s->thread, r->u->block, spent, e);
	if (ret == 0)
		find_full(r->u, s, spent);
	free(spent);
	return ret;
}

static int report_saturation(struct reporting *r, const struct saturation *s, struct err *e)
{
	struct cause c = { .kind = "saturation",
			   .finding = FINDING_cause_saturation,
			   .evidence = OBSERVED,
			   .category = CATEGORY_cpu,
			   .offender = { SUBJECT_thread, s->thread },
			   .part = s->run,
			   .own = true,
			   .largest = 1,
			   .example = { .ts = s->full.from,
					.dur = s->full.to - s->full.from,
					.tid = s->thread } };

	CAUSE_VALUE(&c, VALUE_NUMBER, "start", s->full.from, "at");
	CAUSE_VALUE(&c, VALUE_NUMBER, "end", s->full.to, "at");
	CAUSE_VALUE(&c, VALUE_NUMBER, "run", 100 * s->run, "%");
	CAUSE_VALUE(&c, VALUE_NUMBER, "idle", 100 * s->idle, "%");
	if (cause_stack(r->d, &c, false, e) < 0 || cause_limit(r->d, &c, &r->limit_said, e) < 0)
		return ERR_FAIL;
	if (cause_parts(&c, r->c->db, &s->full, s->thread, e) < 0)
		return ERR_FAIL;
	return report_cause(r, &c, e);
}

/* ---- which ---- */

#define NAMED_LEAST 0.5 /* %: less is printed as 0 % */

static int report_none(struct reporting *r, const struct ranking *ranking, struct err *e)
{
	const struct comparison *c = r->cmp;
	bool unknown = c->of[CATEGORY_unknown].share > MOST_UNKNOWN;
	enum category first = unknown ? CATEGORY_unknown : ranking->order[0];
	double part = 100 * c->of[first].share;
	const struct value contribution =
		VALUE_INTERVAL("contribution", part, 100 * c->of[first].share_low,
			       100 * c->of[first].share_high, "%");
	const struct value none = VALUE_NUMBER("contribution", NAN, "%");
	const struct value values[] = {
		unknown || part >= NAMED_LEAST ? contribution : none,
		VALUE_TEXT("time", time_of(c)),
		VALUE_TEXT("category", category_says[first]),
		{ 0 },
	};
	const struct finding f = { .kind = unknown ? FINDING_cause_unknown : FINDING_cause_none,
				   .severity = NOTE,
				   .evidence = OVERLAP,
				   .about = r->u->of,
				   .values = values };

	return put_finding(r->c, e, &f);
}

static bool is_computing(enum category cat)
{
	return cat == CATEGORY_cpu || cat == CATEGORY_queue;
}

static int report_category(struct reporting *r, const struct ranking *ranking, enum category cat,
			   struct err *e)
{
	struct cause *c = calloc(1, sizeof(*c));
	bool dearer = cat == CATEGORY_cpu && load_kind(&r->load) == FINDING_load_dearer &&
		      !queue_between(r->d);
	int ret;

	if (!c)
		return err_set(e, ERR_FAIL, "out of memory for a cause");
	ret = cause_find(r->d, ranking, cat, c, e);
	if (ret == 0)
		ret = cause_stack(r->d, c, dearer, e);
	/* a page that must be read again is a sleep, and a wait for a CPU after it */
	if (ret == 0 && (is_computing(cat) || cat == CATEGORY_runq))
		ret = cause_limit(r->d, c, &r->limit_said, e);
	if (ret == 0 && !r->rank)
		ret = cause_failed(r->d, c, e);
	if (ret == 0)
		ret = report_cause(r, c, e);
	free(c);
	return ret;
}

static int report_causes(struct reporting *r, const struct saturation *s, struct err *e)
{
	const struct comparison *c = r->cmp;
	struct ranking ranking;
	int i, ret = causes_rank(r->d, &r->load, &ranking, e);
	enum category first = ranking.order[0];
	bool full = s->full.to > 0 && (is_computing(first) || !causes_counts(c, &ranking, first));

	if (ret == 0 && full)
		ret = report_saturation(r, s, e);
	for (i = 0; i < N_CATEGORIES && r->rank < CAUSES_MAX && ret == 0; i++) {
		enum category cat = ranking.order[i];

		if (!causes_counts(c, &ranking, cat) ||
		    c->of[CATEGORY_unknown].share > MOST_UNKNOWN)
			continue;
		if (full && cat == CATEGORY_cpu)
			continue; /* in the first one */
		ret = report_category(r, &ranking, cat, e);
	}
	if (ret == 0 && !r->rank)
		ret = report_none(r, &ranking, e);
	pieces_free(&ranking.ends);
	return ret;
}

/* The slow time of the verdict cannot be compared with the rest. */
static int report_not_compared(struct analysis_ctx *c, const struct units *u,
			       const struct comparison *cmp, struct err *e)
{
	bool few = cmp->basis == BASIS_FEW, slow = !few || cmp->n_slow <= cmp->n_usual;
	const struct value values[] = {
		VALUE_NUMBER("n", slow ? cmp->n_slow : cmp->n_usual, ""),
		VALUE_TEXT("unit", units_names[u->kind]),
		VALUE_TEXT("where", slow ? "from" : "outside of"),
		VALUE_NUMBER("from", cmp->when.from, "at"),
		VALUE_NUMBER("to", cmp->when.to, "at"),
		{ 0 },
	};
	const struct finding f = { .kind = few ? FINDING_too_few_slow : FINDING_not_slower,
				   .severity = NOTE,
				   .evidence = LIMIT,
				   .about = u->of,
				   .values = values };

	return put_finding(c, e, &f);
}

static int report_too_few(struct analysis_ctx *c, const struct units *u, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("n", u->n, ""),
		VALUE_TEXT("unit", units_names[u->kind]),
		{ 0 },
	};
	const struct finding f = { .kind = FINDING_too_few_units,
				   .severity = NOTE,
				   .evidence = LIMIT,
				   .about = u->of,
				   .values = values };

	return put_finding(c, e, &f);
}

static int explain(struct reporting *r, const struct saturation *s, struct err *e)
{
	const struct finding elsewhere = { .kind = FINDING_causes_elsewhere,
					   .severity = NOTE,
					   .evidence = OBSERVED,
					   .about = r->u->of };
	bool outside;

	if (causes_elsewhere(r, &outside, e) < 0)
		return ERR_FAIL;
	return outside ? put_finding(r->c, e, &elsewhere) : report_causes(r, s, e);
}

static int analyse_units(struct analysis_ctx *c, struct units *u, const struct windows *w,
			 struct err *e)
{
	struct comparison *cmp = calloc(1, sizeof(*cmp));
	struct samples *d = calloc(1, sizeof(*d));
	struct reporting r = { .c = c, .u = u, .cmp = cmp, .d = d };
	struct saturation s = { 0 };
	int ret;

	if (!cmp || !d) {
		ret = err_set(e, ERR_FAIL, "out of memory for causes");
		goto out;
	}
	causes_compare(u, w, cmp);
	if (cmp->basis >= BASIS_FEW) {
		ret = cmp->basis == BASIS_NOTHING ? report_too_few(c, u, e)
						  : report_not_compared(c, u, cmp, e);
		goto out;
	}
	ret = samples_open(d, c->db, u, cmp, e);
	if (ret == 0)
		ret = sides_put(d, e);
	if (ret == 0)
		ret = find_saturation(&r, &s, e);
	if (ret == 0)
		ret = load_read(c->db, u, cmp, &r.load, e);
	if (ret == 0 && u->kind == UNIT_REQUEST)
		ret = load_name(c->db, u, cmp, &r.load_name, e);
	if (ret == 0)
		ret = report_basis(&r, e);
	if (ret == 0)
		ret = explain(&r, &s, e);
	if (ret == 0)
		ret = report_numbers(&r, e);
	samples_close(d);
out:
	free(cmp);
	free(d);
	return ret;
}

/* A part that the user named: facts NAME_from and NAME_to (ask.c). */
static int read_part(sqlite3 *db, const char *name, struct moment *ret_part, struct err *e)
{
	static const char sql[] = "SELECT value FROM recording WHERE key=? || ?";
	int ret = db_int(db, &ret_part->from, e, sql, "ss", name, "_from");

	return ret < 0 ? ret : db_int(db, &ret_part->to, e, sql, "ss", name, "_to");
}

static int on_range(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct windows *w = arg;

	(void)e;
	w->judged[w->n_judged++] =
		(struct moment){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1) };
	w->tail = sqlite3_column_int(q, 2);
	return 0;
}

/* Where the verdict is about the level of latency from the start on, all requests are its units,
 * not a tail. Where it is about slow or late requests, those in its time ranges. */
static int read_judged(sqlite3 *db, const struct units *u, struct windows *w, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(max(1 + (v.kind='wait')), 0) FROM verdict v JOIN service s ON s.server=v.subject WHERE v.kind IN"
		" ('overload', 'pool', 'queue', 'wait', 'cost', 'capacity') AND CASE ?1 WHEN 'server' THEN s.server=?2"
		" WHEN 'service' THEN s.id=?2 WHEN 'function' THEN 0 ELSE s.pid=?2 END";
	static const char ranges[] =
		"SELECT r.start, r.end, v.kind='tail' FROM verdict v JOIN verdict_range r USING(rank) LEFT JOIN finding f ON"
		" f.id=v.finding WHERE (v.kind='tail' OR f.kind='verdict_slower') AND EXISTS (SELECT 1 FROM service s"
		" WHERE s.server=v.subject AND CASE ?1 WHEN 'server' THEN s.server=?2 WHEN 'service' THEN s.id=?2"
		" WHEN 'function' THEN 0 ELSE s.pid=?2 END) ORDER BY v.rank, r.end - r.start DESC LIMIT ?3";
	const char *of = subject_names[u->of.kind];
	s64 n = 0;
	int ret = db_int(db, &n, e, sql, "si", of, u->of.id);

	w->all = n > 0 && u->kind == UNIT_REQUEST;
	w->waits = n > 1;
	w->n_judged = 0;
	w->tail = false;
	if (ret < 0 || u->kind != UNIT_REQUEST)
		return ret;
	return db_each(db, e, on_range, w, ranges, "sii", of, u->of.id, (s64)JUDGED_MAX);
}

static const struct finding_query below = {
	FINDING_causes_below,
	NOTE,
	OBSERVED,
	NULL,
	"SELECT count(*) AS n FROM verdict HAVING total(status='none') > 0 AND total(status='problem')=0",
	NULL,
};

static int run(struct analysis_ctx *c, struct err *e)
{
	static const struct finding none = { .kind = FINDING_no_units,
					     .severity = NOTE,
					     .evidence = LIMIT };
	struct windows w = { 0 };
	struct units *u = NULL;
	size_t i, n = 0;
	int ret = db_exec(c->db, e, "DELETE FROM cause; DELETE FROM stack_side");

	if (ret == 0)
		ret = read_part(c->db, "baseline", &w.baseline, e);
	if (ret == 0)
		ret = read_part(c->db, "degraded", &w.degraded, e);
	if (ret == 0)
		ret = units_read(c->db, c->duration, &u, &n, e);
	if (ret == 0 && n)
		find_rows(c, &below, "");
	for (i = 0; i < n && ret == 0; i++) {
		ret = read_judged(c->db, &u[i], &w, e);
		if (ret == 0)
			ret = analyse_units(c, &u[i], &w, e);
	}
	free(u);
	if (ret == 0 && n == 0)
		ret = put_finding(c, e, &none);
	return ret;
}

const struct analysis analysis_causes = {
	.name = "causes",
	.doc = "Why were slow requests slow",
	.needs = "sched",
	.metrics = metrics,
	.rows = 24,
	.run = run,
};
