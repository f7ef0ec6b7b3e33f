// SPDX-License-Identifier: GPL-2.0-or-later
/* Causes as rows and findings, and their numbers as metrics. */
#include "causes.h"

#include <stdio.h>
#include <string.h>

#define EXCLUDED_MAX 0.05 /* of the units */
#define QUEUED_LEAST 0.1  /* of the slow units' time: less is not said */
#define PASSED_LEAST 0.02 /* of the added latency: less is not said */
#define VALUES	     24

static const char *const unit_names[] = { "call", "request", "window" };
const char *const units_names[] = { "calls", "requests", "windows" };
static const char *const basis_names[] = {
	[BASIS_GIVEN] = "given",
	[BASIS_CHANGE] = "change",
	[BASIS_TAIL] = "tail",
	[BASIS_ALL] = "all",
};

/* Values of a finding in the making. */
struct list {
	struct value v[VALUES + 1];
	int n;
};

static void add(struct list *l, struct value v)
{
	if (l->n < VALUES)
		l->v[l->n++] = v;
}

#define ADD(l, macro, ...) add((l), (struct value)macro(__VA_ARGS__))

static void add_subject(struct list *l, const char *name, struct subject s)
{
	if (s.kind != SUBJECT_none)
		add(l, (struct value){
			       .name = name, .of = s, .number = NAN, .low = NAN, .high = NAN });
}

static void add_range(struct list *l, const struct moment *m)
{
	ADD(l, VALUE_NUMBER, "start", m->from, "at");
	ADD(l, VALUE_NUMBER, "end", m->to, "at");
}

static bool is_windows(const struct reporting *r)
{
	return r->u->kind == UNIT_WINDOW;
}

/* ---- which units ---- */

static enum finding_kind basis_kind(const struct reporting *r)
{
	switch (r->cmp->basis) {
	case BASIS_GIVEN:
		return is_windows(r) ? FINDING_window_given : FINDING_slow_given;
	case BASIS_CHANGE:
		return !is_windows(r)	     ? FINDING_slow_change
		       : r->cmp->found.waits ? FINDING_window_change
					     : FINDING_window_other;
	case BASIS_TAIL:
		return FINDING_slow_tail;
	default:
		return is_windows(r) ? FINDING_window_all : FINDING_slow_all;
	}
}

static int put_list(struct reporting *r, const struct list *l, enum finding_kind kind,
		    enum severity severity, enum evidence evidence, s64 parent, s64 *ret_id,
		    struct err *e)
{
	struct finding f = { .kind = kind,
			     .severity = severity,
			     .evidence = evidence,
			     .about = r->u->of,
			     .values = l->v,
			     .parent = parent };

	return finding_put(r->c->db, r->c->analysis->name, &f, ret_id, e);
}

static int put_unchanged(struct reporting *r, struct err *e)
{
	const struct found_windows *f = &r->cmp->found;
	struct list l = { 0 };
	bool few = f->n < 2 * WINDOWS_LEAST;

	ADD(&l, VALUE_NUMBER, "n", f->n, "");
	ADD(&l, VALUE_NUMBER, "length", r->u->block, "ns");
	ADD(&l, VALUE_NUMBER, "needed", 2 * WINDOWS_LEAST, "");
	ADD(&l, VALUE_NUMBER, "effective", f->worth, "");
	if (f->half < 1) {
		ADD(&l, VALUE_NUMBER, "half", 100 * f->half, "%");
		ADD(&l, VALUE_NUMBER, "half_length", (s64)f->n * r->u->block / 2, "ns");
	}
	if (f->brief < 1) {
		ADD(&l, VALUE_NUMBER, "brief", 100 * f->brief, "%");
		ADD(&l, VALUE_NUMBER, "brief_length", f->brief_ns, "ns");
	}
	return put_list(r, &l, few ? FINDING_window_too_few : FINDING_window_unchanged, NOTE, LIMIT,
			0, NULL, e);
}

int report_basis(struct reporting *r, struct err *e)
{
	const struct comparison *c = r->cmp;
	struct list l = { 0 };
	int ret;

	ADD(&l, VALUE_TEXT, "unit", units_names[r->u->kind]);
	ADD(&l, VALUE_NUMBER, "n", c->n_slow, "");
	if (c->basis == BASIS_GIVEN || c->basis == BASIS_CHANGE)
		add_range(&l, &c->when);
	if (c->basis == BASIS_TAIL)
		ADD(&l, VALUE_NUMBER, "tail", 100 * (1 - r->u->q), "%");
	ADD(&l, VALUE_NUMBER, "slow", c->slow, "ns");
	if (c->basis != BASIS_ALL) {
		ADD(&l, VALUE_NUMBER, "baseline", c->usual, "ns");
		ADD(&l, VALUE_NUMBER, "n_baseline", c->n_usual, "");
	}
	if (r->u->kind == UNIT_REQUEST && c->slow_queued >= QUEUED_LEAST * c->slow)
		ADD(&l, VALUE_NUMBER, "queued", c->slow_queued, "ns");
	ret = put_list(r, &l, basis_kind(r), NOTE, OBSERVED, 0, NULL, e);
	if (ret == 0 && is_windows(r) && c->basis == BASIS_ALL)
		ret = put_unchanged(r, e);
	return ret;
}

/* ---- what qualifies a cause ---- */

static void add_example(struct cause *c)
{
	struct cause_child *child;

	if (!c->example_ns)
		return;
	child = cause_child(c, FINDING_cause_example, OBSERVED);
	CHILD_VALUE(child, VALUE_NUMBER, "part", c->example_ns, "ns");
	CHILD_VALUE(child, VALUE_NUMBER, "whole", c->example.dur, "ns");
	CHILD_VALUE(child, VALUE_NUMBER, "at", c->example.ts, "at");
	CHILD_VALUE(child, VALUE_SUBJECT, "thread", thread, c->example.tid);
}

/* It waits for threads of its own service, which are on a CPU. */
static bool ends_on_own_cpu(const struct reporting *r, const struct cause *c)
{
	return c->end_part > 0 && c->end_state == SPAN_run &&
	       samples_is_own(r->d, c->end.kind == SUBJECT_thread
					    ? names_of(&r->d->names, c->end.id).pid
					    : c->end.id);
}

static void add_load_name(const struct reporting *r, struct cause *c)
{
	struct cause_child *child = cause_child(c, FINDING_load_name, OBSERVED);
	const struct load_name *l = &r->load_name;

	CHILD_VALUE(child, VALUE_SUBJECT, "name", request_name, l->name);
	CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * l->part, "%");
	CHILD_VALUE(child, VALUE_NUMBER, "samples", l->samples, "");
	CHILD_VALUE(child, VALUE_TEXT, "holds", c->for_computing ? "the lock" : NULL);
	if (isnan(l->rate))
		return;
	CHILD_VALUE(child, VALUE_NUMBER, "rate", l->rate, "1/s");
	CHILD_VALUE(child, VALUE_NUMBER, "before", l->before, "1/s");
}

static void add_load(struct reporting *r, struct cause *c)
{
	const struct load *l = &r->load;
	enum finding_kind kind = load_kind(l);
	struct cause_child *child;

	if (r->load_said || isnan(l->rate) || isnan(l->cpu))
		return;
	/* a wait for something else is explained by that */
	if (c->category != CATEGORY_cpu && c->category != CATEGORY_queue && !c->own &&
	    !c->for_computing && !ends_on_own_cpu(r, c) && kind != FINDING_load_less &&
	    kind != FINDING_load_dropped && kind != FINDING_load_closed)
		return;
	r->load_said = true;
	if (kind == FINDING_load_dearer && queue_between(r->d))
		kind = FINDING_load_between;
	child = cause_child(c, kind, OBSERVED);
	CHILD_VALUE(child, VALUE_NUMBER, "rate", l->rate, "x");
	CHILD_VALUE(child, VALUE_NUMBER, "cpu", l->cpu, "x");
	if (kind == FINDING_load_closed) {
		CHILD_VALUE(child, VALUE_NUMBER, "latency", l->latency, "x");
		CHILD_VALUE(child, VALUE_NUMBER, "outstanding", l->outstanding, "x");
	}
	if (kind == FINDING_load_dropped)
		CHILD_VALUE(child, VALUE_NUMBER, "dropped", (double)l->dropped, "");
	if (kind == FINDING_load_threads) {
		CHILD_VALUE(child, VALUE_SUBJECT, "thread", thread, l->tid);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * l->part, "%");
	}
	if (!isnan(l->idle_baseline) && !isnan(l->idle_slow)) {
		CHILD_VALUE(child, VALUE_NUMBER, "idle_baseline", 100 * l->idle_baseline, "%");
		CHILD_VALUE(child, VALUE_NUMBER, "idle", 100 * l->idle_slow, "%");
	}
	if (r->load_name.name && (kind == FINDING_load_more || kind == FINDING_load_dearer))
		add_load_name(r, c);
}

/* The longest is named: it may be the one that delayed all others. */
static void add_excluded(struct reporting *r, struct cause *c)
{
	const struct units *u = r->u;
	struct cause_child *child;

	if (r->rank || !u->n_excluded)
		return;
	child = cause_child(c, FINDING_caveat_excluded, OBSERVED);
	CHILD_VALUE(child, VALUE_NUMBER, "n", u->n_excluded, "");
	CHILD_VALUE(child, VALUE_TEXT, "unit", units_names[u->kind]);
	child_value(child, (struct value){ .name = "length",
					   .unit = "ns",
					   .number = u->longest.dur,
					   .low = u->shortest,
					   .high = u->longest.dur });
	CHILD_VALUE(child, VALUE_SUBJECT, "thread", thread, u->longest.tid);
	CHILD_VALUE(child, VALUE_NUMBER, "at", u->longest.ts, "at");
}

static void add_caveats(struct reporting *r, struct cause *c, double low)
{
	double excluded = r->u->excluded / (r->u->excluded + r->u->n);
	bool windows = is_windows(r) && r->cmp->basis != BASIS_ALL;
	struct cause_child *child;

	if (r->cmp->replaced && !r->rank) {
		child = cause_child(c, FINDING_cause_replaced, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "start", r->cmp->when.from, "at");
		CHILD_VALUE(child, VALUE_NUMBER, "slow", r->cmp->slow, "ns");
		CHILD_VALUE(child, VALUE_NUMBER, "baseline", r->cmp->usual, "ns");
	}
	if (c->passed.share >= PASSED_LEAST) {
		child = cause_child(c, FINDING_cause_through, CAUSAL);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * c->passed.share, "%");
	}
	if (r->d->n && c->largest < 0.5 && !windows &&
	    c->passed.share + c->moved.share < PASSED_LEAST) {
		child = cause_child(c, FINDING_caveat_part_of_slow, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * c->largest, "%");
		CHILD_VALUE(child, VALUE_TEXT, "unit", units_names[r->u->kind]);
	}
	if (!isnan(low) && low < LEAST_SHARE) {
		child = cause_child(c, FINDING_caveat_share_low, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "share", 100 * low, "%");
	}
	if (excluded > EXCLUDED_MAX) {
		child = cause_child(c, FINDING_caveat_lossy, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * excluded, "%");
		CHILD_VALUE(child, VALUE_TEXT, "unit", units_names[r->u->kind]);
	}
	if (windows && r->cmp->basis == BASIS_CHANGE)
		cause_child(c, FINDING_caveat_work, OBSERVED);
}

/* ---- one cause ---- */

/* Whether it is a problem is not decided here; a tail is in every recording. */
static enum severity severity_of(const struct reporting *r)
{
	if (r->cmp->basis == BASIS_TAIL || r->cmp->basis == BASIS_ALL || r->cmp->replaced)
		return NOTE;
	return is_windows(r) && !r->cmp->found.waits ? NOTE : WARNING;
}

static double clamp(double share)
{
	return isnan(share) ? share : fmin(1, fmax(0, share));
}

const char *time_of(const struct comparison *c)
{
	return c->waits ? "waits" : c->basis == BASIS_ALL ? "time" : "added latency";
}

static int put_row(struct reporting *r, const struct cause *c, const struct value *contribution,
		   s64 finding, struct err *e)
{
	const struct comparison *m = r->cmp;
	bool range = c->kind && (m->basis == BASIS_GIVEN || m->basis == BASIS_CHANGE);

	return db_insert(
		r->c->db, TABLE_cause, e, "iississsddddddiisiisidisisissdsdddissddddiiis", finding,
		(s64)r->rank, unit_names[r->u->kind], subject_names[r->u->of.kind], r->u->of.id,
		c->kind, category_names[c->category], evidence_names[c->evidence],
		contribution->number / 100, contribution->low / 100, contribution->high / 100,
		m->of[c->category].value, m->slow, m->basis == BASIS_ALL ? NAN : m->usual,
		(s64)m->n_slow, (s64)m->n_usual, basis_names[m->basis],
		range ? m->when.from : (s64)0, range ? m->when.to : (s64)0,
		subject_names[c->offender.kind], c->offender.id, c->part, (s64)c->own,
		subject_names[c->object.kind], c->object.id, subject_names[c->end.kind], c->end.id,
		c->end_part > 0 ? state_names[c->end_state] : "", c->end_call, c->end_part, c->path,
		c->path_share, c->path_low, c->path_high, (s64)c->path_samples,
		c->reason ? c->reason : "", c->end_path, r->load.rate, r->load.cpu,
		r->load.idle_slow, r->load.idle_baseline, c->example.ts, c->example.dur,
		(s64)c->example.tid, r->c->verdict);
}

/* Its share of the added latency, in percent. */
static struct value contribution_of(const struct reporting *r, const struct cause *c)
{
	const struct excess *x = &r->cmp->of[c->category];
	double direct = isnan(x->share) ? 0 : x->share;

	return (struct value){ .name = "contribution",
			       .unit = "%",
			       .number = 100 * clamp(direct + c->passed.share + c->moved.share),
			       .low = 100 * clamp(x->share_low + c->passed.low + c->moved.low),
			       .high = 100 *
				       clamp(x->share_high + c->passed.high + c->moved.high) };
}

static int put_children(struct reporting *r, const struct cause *c, s64 parent, struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < c->n_children && ret == 0; i++) {
		struct finding f = { .kind = c->children[i].kind,
				     .severity = NOTE,
				     .evidence = c->children[i].evidence,
				     .about = r->u->of,
				     .values = c->children[i].v,
				     .parent = parent };

		ret = finding_put(r->c->db, r->c->analysis->name, &f, NULL, e);
	}
	return ret;
}

int report_cause(struct reporting *r, struct cause *c, struct err *e)
{
	struct value contribution = contribution_of(r, c);
	struct list l = { 0 };
	char sql[300];
	s64 id = 0;
	int i, ret;
	struct finding f = { .kind = c->finding,
			     .severity = severity_of(r),
			     .evidence = c->evidence,
			     .about = r->u->of,
			     .sql = sql,
			     .values = l.v };

	if (c->own && c->offender.kind == SUBJECT_none)
		c->offender = r->u->of;
	add_example(c);
	add_load(r, c);
	add_excluded(r, c);
	add_caveats(r, c, contribution.low / 100);
	add(&l, contribution);
	ADD(&l, VALUE_TEXT, "time", time_of(r->cmp));
	add_subject(&l, "object", c->object);
	add_subject(&l, "offender", c->offender);
	add_subject(&l, "holder", c->holder);
	if (c->holder.id != c->waker.id)
		add_subject(&l, "waker", c->waker);
	if (c->waker.kind == SUBJECT_thread && c->waker.id != c->offender.id &&
	    c->holder.kind == SUBJECT_none)
		add_subject(&l, "root", c->offender);
	if (c->finding == FINDING_cause_peer && c->offender.kind == SUBJECT_process)
		add_subject(&l, "process", c->offender);
	if (c->part > 0)
		ADD(&l, VALUE_NUMBER, "part", 100 * c->part, "%");
	for (i = 0; i < c->n_values; i++)
		add(&l, c->values[i]);
	snprintf(
		sql, sizeof(sql),
		"SELECT s.*, n.name FROM thread_state s JOIN state n ON n.id=s.state WHERE tid=%u AND"
		" ts<%lld AND ts+dur>%lld ORDER BY ts",
		c->example.tid, (long long)(c->example.ts + c->example.dur),
		(long long)c->example.ts);
	r->rank++;
	ret = finding_put(r->c->db, r->c->analysis->name, &f, &id, e);
	if (ret == 0)
		ret = put_row(r, c, &contribution, id, e);
	return ret < 0 ? ret : put_children(r, c, id, e);
}

/* ---- metrics ---- */

/* Means of slow and baseline units, and of how many. */
static int put_sides(struct reporting *r, const char *of, double slow, double usual, struct err *e)
{
	static const char *const names[] = { "slow", "n slow", "baseline", "n baseline" };
	const double n[] = { r->cmp->n_slow, r->cmp->n_usual }, mean[] = { slow, usual };
	int i, ret = 0;

	for (i = 0; i < (r->cmp->basis == BASIS_ALL ? 2 : 4) && ret == 0; i++)
		ret = put_metric(r->c, e, of, names[i], i % 2 ? n[i / 2] : mean[i / 2], NO_INTERVAL,
				 (s64)n[i / 2]);
	return ret;
}

/* All of their time, or a part that the categories divide in another way. */
static int put_pair(struct reporting *r, const char *what, double slow, double usual, struct err *e)
{
	char subject[200];
	int ret;

	snprintf(subject, sizeof(subject), "%s: %s", r->u->name, what);
	ret = put_metric(r->c, e, subject, "added", slow - usual, NO_INTERVAL, (s64)r->cmp->n_slow);
	return ret < 0 ? ret : put_sides(r, subject, slow, usual, e);
}

static int put_category(struct reporting *r, enum category cat, struct err *e)
{
	const struct excess *x = &r->cmp->of[cat];
	s64 n = r->cmp->n_slow;
	char subject[200];
	int ret;

	if (x->slow <= 0 && x->usual <= 0)
		return 0;
	snprintf(subject, sizeof(subject), "%s: %s", r->u->name, category_names[cat]);
	ret = put_metric(r->c, e, subject, "share", 100 * x->share, 100 * x->share_low,
			 100 * x->share_high, n);
	if (ret == 0)
		ret = put_metric(r->c, e, subject, "added", x->value, x->low, x->high, n);
	return ret < 0 ? ret : put_sides(r, subject, x->slow, x->usual, e);
}

int report_numbers(struct reporting *r, struct err *e)
{
	const struct comparison *c = r->cmp;
	char subject[200];
	int i, ret = 0;

	for (i = 0; i < N_CATEGORIES && ret == 0; i++)
		ret = put_category(r, i, e);
	if (ret == 0)
		ret = put_pair(r, "all", c->slow, c->usual, e);
	if (ret == 0 && r->u->kind == UNIT_REQUEST && c->slow_queued > 0)
		ret = put_pair(r, "of it, before the read", c->slow_queued, c->usual_queued, e);
	for (i = 0; i < c->found.n_slow && ret == 0 && is_windows(r); i++) {
		snprintf(subject, sizeof(subject), "%s: slow stretch %d", r->u->name, i + 1);
		ret = put_metric(r->c, e, subject, "from", c->found.slow[i].from, NO_INTERVAL,
				 (s64)c->n_slow);
		if (ret == 0)
			ret = put_metric(r->c, e, subject, "to", c->found.slow[i].to, NO_INTERVAL,
					 (s64)c->n_slow);
	}
	return ret;
}
