// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Why were the slow ones slow? Units of work (calls of a probed function, else turns on
 * server sockets, else windows of time) are split by the states of their thread; what the slow
 * ones spend more time on than the usual ones is named, with what it waited for, what that did
 * meanwhile, an example, and what speaks against it. At most three causes, each at least
 * a fifth of the excess; otherwise there is no dominant cause, and that is said.
 */
#include "causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAUSES_MAX     3
#define MOST_UNKNOWN   0.3  /* of the excess */
#define SATURATED_RUN  0.9  /* of a thread's time on a CPU */
#define SATURATED_IDLE 0.06 /* of its time asleep for anything */
#define SATURATED_LONG 5    /* blocks */
#define SATURATED_NS   100000000
#define APART_MOST     0.05 /* of the units */
#define QUEUED_LEAST   0.1  /* of the slow units' time: less is not told */
#define PASSED_LEAST   0.02 /* of the excess: less is not told */
#define NANO	       1e9
#define BASIS_TEXT     400 /* bytes of a sentence */

static const struct metric metrics[] = {
	{ "share", "%", NEITHER_IS_BETTER, "of what makes the slow units slow" },
	{ "excess", "ns", LOWER_IS_BETTER, "time that a slow unit spends more than a usual one" },
	{ "slow", "ns", LOWER_IS_BETTER, "mean of the slow units" },
	{ "n slow", "", NEITHER_IS_BETTER, "slow units" },
	{ "usual", "ns", NEITHER_IS_BETTER, "mean of the usual units" },
	{ "n usual", "", NEITHER_IS_BETTER, "usual units" },
	{ "from", "ns", NEITHER_IS_BETTER, "begin of the slow windows, where these were found" },
	{ "to", "ns", NEITHER_IS_BETTER, "their end" },
	{ 0 },
};

/* What is said about the units of one subject. */
struct telling {
	struct analysis_ctx *c;
	const struct units *u;
	const struct comparison *cmp;
	struct drill *d;
	int rank;
	double run, idle; /* of the main thread in the slow windows, or at its fullest */
	struct moment full;
	struct queueing queueing;
	u32 thread;
	double passed[N_CATEGORIES]; /* share of the excess: waits for threads that wait for this */
};

/* "5.0..8.0 s of turns ..." : which units are slow, against which. */
static void say_basis(const struct telling *t, char *text, size_t size)
{
	const struct comparison *c = t->cmp;

	if (t->u->kind == UNIT_WINDOW) { /* all are as long */
		causes_say_windows(c, text, size);
		return;
	}
	switch (c->basis) {
	case BASIS_GIVEN:
	case BASIS_CHANGE:
		snprintf(text, size, "%.3f ms in %.2f..%.2f s (n %.0f) against %.3f ms %s (n %.0f)",
			 c->slow / 1e6, c->when.from / NANO, c->when.to / NANO, c->n_slow,
			 c->usual / 1e6,
			 c->basis == BASIS_GIVEN ? "in the baseline" : "before or after",
			 c->n_usual);
		break;
	case BASIS_TAIL:
		snprintf(text, size,
			 "the slowest %.0f %% (n %.0f) take %.3f ms, the middle half (n %.0f) %.3f "
			 "ms, on average",
			 100 * (1 - t->u->q), c->n_slow, c->slow / 1e6, c->n_usual, c->usual / 1e6);
		break;
	default:
		snprintf(text, size, "all take about %.3f ms (n %.0f)", c->slow / 1e6, c->n_slow);
	}
}

/* "of it 1.2 ms before they were received": what the turns themselves do not show. */
static void say_queued(const struct telling *t, char *text, size_t size)
{
	const struct comparison *c = t->cmp;

	text[0] = '\0';
	if (t->u->kind == UNIT_TURN && c->slow_queued >= QUEUED_LEAST * c->slow)
		snprintf(text, size, " (%.3f ms and %.3f ms of it before they were received)",
			 c->slow_queued / 1e6, c->usual_queued / 1e6);
}

/* Means of slow and usual units, and of how many. */
static int put_sides(struct telling *t, const char *of, double slow, double usual, struct err *e)
{
	static const char *const names[] = { "slow", "n slow", "usual", "n usual" };
	const double n[] = { t->cmp->n_slow, t->cmp->n_usual }, mean[] = { slow, usual };
	int i, ret = 0;

	for (i = 0; i < (t->cmp->basis == BASIS_ALL ? 2 : 4) && ret == 0; i++)
		ret = put_metric(t->c, e, of, names[i], i % 2 ? n[i / 2] : mean[i / 2], NO_INTERVAL,
				 (s64)n[i / 2]);
	return ret;
}

/* All of their time, or a part that the categories divide in another way. */
static int put_pair(struct telling *t, const char *what, double slow, double usual, struct err *e)
{
	char subject[200];
	int ret;

	snprintf(subject, sizeof(subject), "%s: %s", t->u->name, what);
	ret = put_metric(t->c, e, subject, "excess", slow - usual, NO_INTERVAL,
			 (s64)t->cmp->n_slow);
	return ret < 0 ? ret : put_sides(t, subject, slow, usual, e);
}

static int put_whole(struct telling *t, struct err *e)
{
	const struct comparison *c = t->cmp;
	int ret = put_pair(t, "whole", c->slow, c->usual, e);

	if (ret == 0 && t->u->kind == UNIT_TURN && c->slow_queued > 0)
		ret = put_pair(t, "of it, before the receive", c->slow_queued, c->usual_queued, e);
	return ret;
}

static int put_numbers(struct telling *t, struct err *e)
{
	const struct comparison *c = t->cmp;
	char subject[200];
	s64 n = c->n_slow;
	int i, ret = 0;

	for (i = 0; i < N_CATEGORIES && ret == 0; i++) {
		const struct excess *x = &c->of[i];

		if (x->slow <= 0 && x->usual <= 0)
			continue;
		snprintf(subject, sizeof(subject), "%s: %s", t->u->name, category_names[i]);
		ret = put_metric(t->c, e, subject, "share", 100 * x->share, 100 * x->share_low,
				 100 * x->share_high, n);
		if (ret == 0)
			ret = put_metric(t->c, e, subject, "excess", x->value, x->low, x->high, n);
		if (ret == 0)
			ret = put_sides(t, subject, x->slow, x->usual, e);
	}
	return ret;
}

/* ---- saturation of the thread that serves ---- */

/* The longest stretch in which the thread did nothing but compute. */
static void find_full(struct telling *t, double (*spent)[N_SPAN_STATES])
{
	double run = 0, idle = 0, wall = 0, best = 0, all, asleep;
	int b, i, begin = 0;

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
		if (b - begin >= SATURATED_LONG && wall > best && wall >= SATURATED_NS) {
			best = wall;
			t->run = run / wall;
			t->idle = idle / wall;
			t->full = (struct moment){ begin * t->u->block, b * t->u->block };
		}
		run = idle = wall = 0;
		begin = b + 1;
	}
}

static int find_saturation(struct telling *t, struct err *e)
{
	double(*spent)[N_SPAN_STATES] = calloc(UNIT_BLOCKS, sizeof(*spent));
	int ret = 0;

	if (!spent)
		return err_set(e, ERR_FAIL, "out of memory for saturation");
	/* one of several workers that is full leaves the others */
	t->thread = t->u->processes > 1 ? 0 : units_thread_of(t->u);
	if (t->thread)
		ret = units_thread(t->c->db, t->thread, t->u->block, spent, e);
	if (ret == 0)
		find_full(t, spent);
	free(spent);
	return ret;
}

static int put_cause(struct telling *t, enum category cat, const struct found *f,
		     const char *sentence, struct err *e)
{
	const struct excess *x = &t->cmp->of[cat];

	t->rank++;
	return db_insert(t->c->db, TABLE_cause, e, "issssddddssisiisdis", (s64)t->rank, t->u->name,
			 f->kind, category_names[cat], f->label, x->share, x->share_low,
			 x->share_high, x->value, sentence, f->culprit, f->culprit_id, f->second,
			 f->example.ts, f->example.dur, t->c->verdict, f->part, (s64)f->itself,
			 f->behind);
}

static int put_saturation(struct telling *t, struct err *e)
{
	struct found f = { .kind = "saturation", .label = "OBSERVED", .culprit_id = t->thread };
	char name[64], text[500], sql[200];

	thread_text(&t->d->names, t->thread, name, sizeof(name));
	snprintf(f.culprit, sizeof(f.culprit), "%s", name);
	snprintf(
		text, sizeof(text),
		"%s: thread %s is saturated in %.2f..%.2f s: on a CPU for %.0f %% of the time, asleep "
		"for %.0f %%; %s. Against it: interrupts and stolen time count as time on a CPU.",
		t->u->name, name, t->full.from / NANO, t->full.to / NANO, 100 * t->run,
		100 * t->idle,
		t->u->kind == UNIT_WINDOW
			? "it gets no further than one CPU does"
			: "requests queue before it receives them, which their own time does not "
			  "show");
	snprintf(sql, sizeof(sql),
		 "SELECT state, sum(dur) FROM thread_state WHERE tid=%u AND ts>=%lld AND ts<%lld "
		 "GROUP BY state",
		 t->thread, (long long)t->full.from, (long long)t->full.to);
	if (put_cause(t, CATEGORY_cpu, &f, text, e) < 0)
		return ERR_FAIL;
	/* computing is what jobs without requests are for */
	return put_prose(t->c, e, t->u->kind == UNIT_WINDOW ? NOTE : PROBLEM, "OBSERVED", sql, "%s",
			 text);
}

/* ---- one cause ---- */

static int say_against(const struct telling *t, enum category cat, struct found *f, struct err *e)
{
	const struct excess *x = &t->cmp->of[cat];
	double apart = t->u->apart / (t->u->apart + t->u->n);
	bool windows = t->u->kind == UNIT_WINDOW && t->cmp->basis != BASIS_ALL;
	int ret = 0;

	if (t->d->n && f->largest < 0.5 && !windows) /* windows are as long: less of the rest */
		ret = buf_printf(
			&f->against, e,
			"%ct is the largest part of only %.0f %% of the slow ones looked at. ",
			f->against.len ? 'I' : 'i', 100 * f->largest);
	if (ret == 0 && !isnan(x->share_low) && x->share_low < LEAST_SHARE)
		ret = buf_printf(&f->against, e, "%cts share may be as low as %.0f %%. ",
				 f->against.len ? 'I' : 'i', 100 * x->share_low);
	if (ret == 0 && apart > APART_MOST)
		ret = buf_printf(
			&f->against, e,
			"%.0f %% of the units are set apart: events were lost, %sstates are not known. ",
			100 * apart,
			t->u->kind == UNIT_WINDOW ? "the thread did not live, or its " : "or ");
	if (ret == 0 && windows && t->cmp->basis == BASIS_CHANGE)
		ret = buf_printf(
			&f->against, e,
			"%cow much work was done is not known: another phase of it looks the same. ",
			f->against.len ? 'H' : 'h');
	if (ret == 0 && !f->against.len)
		ret = buf_printf(&f->against, e, "nothing was found. ");
	f->against.data[f->against.len - 1] = '\0'; /* the last blank */
	return ret;
}

/* A tail is found in every recording; what became worse, or waits most of the time, is not. */
static enum severity severity_of(const struct telling *t, enum category cat)
{
	if (t->cmp->basis == BASIS_ALL)
		return cat == CATEGORY_cpu ? NOTE : WARNING;
	if (t->cmp->basis == BASIS_CHANGE && t->u->kind == UNIT_WINDOW)
		return t->cmp->found.waits ? WARNING : NOTE; /* perhaps it does something else */
	return t->cmp->basis != BASIS_TAIL && t->rank == 1 ? PROBLEM : WARNING;
}

/* Whose the longest is matters: it may be the one that held up all others. */
static int say_aside(const struct telling *t, struct buf *text, struct err *e)
{
	const struct unit *longest = &t->u->aside;
	char name[64];

	return buf_printf(text, e,
			  " Left out: %d as long as half of this time or longer, the longest %.3f "
			  "ms at %.6f s, of %s.",
			  t->u->n_aside, longest->dur / 1e6, longest->ts / NANO,
			  thread_text(&t->d->names, longest->tid, name, sizeof(name)));
}

static int put_found(struct telling *t, enum category cat, struct found *f, struct err *e)
{
	const struct excess *x = &t->cmp->of[cat];
	struct buf text = { 0 };
	char basis[BASIS_TEXT], queued[100], sql[300], part[60] = "";
	int ret;

	say_basis(t, basis, sizeof(basis));
	say_queued(t, queued, sizeof(queued));
	if (t->rank && t->cmp->basis != BASIS_ALL) { /* it stands in the sentence before this one */
		snprintf(basis, sizeof(basis), "the same slow ones");
		queued[0] = '\0';
	}
	if (!isnan(x->share_low))
		snprintf(part, sizeof(part), " (%.0f..%.0f)", 100 * x->share_low,
			 100 * x->share_high);
	ret = buf_printf(&text, e, "%s: %s%s; %.0f %%%s of %s is %s%s.", t->u->name, basis, queued,
			 100 * x->share, part,
			 t->cmp->basis == BASIS_ALL ? "that" : "the difference", category_says[cat],
			 f->text.data ? f->text.data : "");
	if (ret == 0 && t->queueing.held_up && t->cmp->of[CATEGORY_cpu].share >= LEAST_SHARE)
		ret = buf_printf(
			&text, e,
			" %.0f %% is time on a CPU, of requests in front that were held up as well: "
			"with %.2f times as many turns a second, each takes %.2f times the CPU time.",
			100 * t->cmp->of[CATEGORY_cpu].share, t->queueing.rate, t->queueing.cpu);
	if (ret == 0 && t->passed[cat] >= PASSED_LEAST)
		ret = buf_printf(
			&text, e,
			" A further %.0f %% is waiting for threads that were held up by the same.",
			100 * t->passed[cat]);
	if (ret == 0 && f->example_ns)
		ret = buf_printf(&text, e, " Example: at %.6f s, %.3f of %.3f ms.",
				 f->example.ts / NANO, f->example_ns / 1e6, f->example.dur / 1e6);
	if (ret == 0 && t->u->n_aside && !t->rank)
		ret = say_aside(t, &text, e);
	if (ret == 0)
		ret = say_against(t, cat, f, e);
	if (ret == 0)
		ret = buf_printf(&text, e, " Against it: %s", f->against.data);
	snprintf(
		sql, sizeof(sql),
		"SELECT s.*, n.name FROM thread_state s JOIN state n ON n.id=s.state WHERE tid=%u AND"
		" ts<%lld AND ts+dur>%lld ORDER BY ts",
		f->example.tid, (long long)(f->example.ts + f->example.dur),
		(long long)f->example.ts);
	if (ret == 0)
		ret = put_cause(t, cat, f, text.data, e);
	if (ret == 0)
		ret = put_prose(t->c, e, severity_of(t, cat), f->label, sql, "%s", text.data);
	buf_free(&text);
	return ret;
}

static int tell(struct telling *t, enum category cat, struct err *e)
{
	struct found f = { 0 };
	int ret = drill_category(t->d, cat, &f, e);

	if (ret == 0)
		ret = put_found(t, cat, &f, e);
	buf_free(&f.text);
	buf_free(&f.against);
	return ret;
}

/* ---- which ---- */

static int put_none(struct telling *t, const enum category *order, struct err *e)
{
	const struct comparison *c = t->cmp;
	char basis[BASIS_TEXT];

	say_basis(t, basis, sizeof(basis));
	if (c->of[CATEGORY_unknown].share > MOST_UNKNOWN)
		return put_prose(t->c, e, NOTE, "OVERLAP", NULL,
				 "%s: no dominant cause: %s, but %.0f %% of the difference is time "
				 "that the recording cannot explain.",
				 t->u->name, basis, 100 * c->of[CATEGORY_unknown].share);
	return put_prose(t->c, e, NOTE, "OVERLAP", NULL,
			 "%s: no dominant cause: %s; the largest part of the difference, %s, is "
			 "%.0f %%.",
			 t->u->name, basis, category_says[order[0]], 100 * c->of[order[0]].share);
}

/* Computing for others in front of it, while something else holds up the thread, is no cause. */
static bool is_queueing(const struct telling *t)
{
	int i;

	for (i = 0; t->queueing.held_up && i < N_CATEGORIES; i++)
		if (i != CATEGORY_cpu && causes_counts(t->cmp, i))
			return true;
	return false;
}

static int put_causes(struct telling *t, struct err *e)
{
	enum category order[N_CATEGORIES];
	const struct comparison *c = t->cmp;
	bool full = t->full.to > 0;
	int i, told = 0, ret = causes_rank(t->d, c, order, t->passed, e);

	if (ret < 0)
		return ret;
	t->queueing.held_up = is_queueing(t);
	if (full && !t->queueing.held_up &&
	    (order[0] == CATEGORY_cpu || !causes_counts(c, order[0]))) {
		ret = put_saturation(t, e);
		told++;
	}
	for (i = 0; i < N_CATEGORIES && told < CAUSES_MAX && ret == 0; i++) {
		if (!causes_counts(c, order[i]) || c->of[CATEGORY_unknown].share > MOST_UNKNOWN)
			continue;
		if (full && order[i] == CATEGORY_cpu && order[0] == CATEGORY_cpu)
			continue; /* said */
		if (order[i] == CATEGORY_cpu && t->queueing.held_up)
			continue; /* said with the other */
		ret = tell(t, order[i], e);
		told++;
	}
	return ret < 0 || told ? ret : put_none(t, order, e);
}

static int analyse_units(struct analysis_ctx *c, struct units *u, const struct windows *w,
			 struct err *e)
{
	struct comparison *cmp = calloc(1, sizeof(*cmp));
	struct drill *d = calloc(1, sizeof(*d));
	struct telling t = { .c = c, .u = u, .cmp = cmp, .d = d };
	int ret;

	if (!cmp || !d) {
		ret = err_set(e, ERR_FAIL, "out of memory for causes");
		goto out;
	}
	causes_compare(u, w, cmp);
	if (cmp->basis == BASIS_NOTHING) {
		ret = put_prose(c, e, NOTE, "LIMIT", NULL,
				"no causes for %s: %.0f of them can be used, which is too few%s.",
				u->name, u->n, w->degraded.to ? " in these windows" : "");
		goto out;
	}
	ret = drill_open(d, c->db, u, cmp, e);
	if (ret == 0)
		ret = find_saturation(&t, e);
	if (ret == 0)
		ret = causes_queueing(c->db, u, cmp, &t.queueing, e);
	if (ret == 0)
		ret = put_causes(&t, e);
	if (ret == 0)
		ret = put_numbers(&t, e);
	if (ret == 0)
		ret = put_whole(&t, e);
	if (ret == 0 && u->kind == UNIT_WINDOW)
		ret = causes_put_windows(c, u, cmp, e);
	drill_close(d);
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

static int run(struct analysis_ctx *c, struct err *e)
{
	struct windows w = { 0 };
	struct units *u = NULL;
	size_t i, n = 0;
	int ret = db_exec(c->db, e, "DELETE FROM cause");

	if (ret == 0)
		ret = read_part(c->db, "baseline", &w.baseline, e);
	if (ret == 0)
		ret = read_part(c->db, "degraded", &w.degraded, e);
	if (ret == 0)
		ret = units_read(c->db, c->duration, &u, &n, e);
	for (i = 0; i < n && ret == 0; i++)
		ret = analyse_units(c, &u[i], &w, e);
	free(u);
	if (ret == 0 && n == 0)
		ret = put_prose(c, e, NOTE, "LIMIT", NULL,
				"no causes: nothing that was recorded can be taken for a unit of "
				"work.");
	return ret;
}

const struct analysis analysis_causes = {
	.name = "causes",
	.doc = "Why were the slow ones slow",
	.needs = "sched",
	.metrics = metrics,
	.rows = 24,
	.run = run,
};
