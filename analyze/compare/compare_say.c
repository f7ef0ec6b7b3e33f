// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the comparison means, as findings, from the rows of the other tables. First what changed: a
 * fall of throughput, durations, errors, pauses; then why. "No change" needs that every duration
 * that could be judged is equivalent and that pauses do not differ; else it is inconclusive.
 */
#include "compare_functions.h"
#include "compare_mix.h"
#include "compare_pauses.h"

#include "analyze/store/finding.h"

#include <stdio.h>
#include <string.h>

#define NAMED_MOST  4
#define VALUES_MOST 12
#define IDLE_LOW    8 /* %: below it, and with more queueing than all else, it is saturated */
#define FEW	    5 /* recordings */

/* Durations that decide: no maxima, which are one value, nor those of disks that others use. */
#define DURATION "unit='ns' AND what<>'rare' AND name<>'request max' AND (kind<>'disk' OR gates)"
#define CHANGED	 "verdict IN ('more', 'less')"
/* Not of one name while its service has as many requests as before: that is a change of mix. */
#define RATE                                                                           \
	"what='rate' AND NOT (kind='request' AND EXISTS (SELECT 1 FROM change s WHERE" \
	" s.kind='service' AND s.comm=change.comm AND s.name=change.name AND"          \
	" s.verdict='equivalent')) AND "
/* What a reader wants first: what users wait for, then its parts, then their size. */
#define IMPORTANCE                                                                               \
	"CASE what WHEN 'request' THEN 0 WHEN 'service time' THEN 1 WHEN 'call' THEN 2 WHEN"     \
	" 'CPU' THEN 3 WHEN 'run queue' THEN 4 ELSE 5 END, abs(ln(coalesce(ratio, 1e9))) DESC, " \
	"change.rowid"

/* One row of change. */
struct picked {
	s64 row; /* 0: none */
	char subject[COMPARE_TEXT], metric[40], unit[8], verdict[16];
	double before, after, ratio, low, high, bound;
};

static double number_of(sqlite3_stmt *q, int c)
{
	return sqlite3_column_type(q, c) == SQLITE_NULL ? NAN : sqlite3_column_double(q, c);
}

static int pick(sqlite3 *db, struct picked *p, struct err *e, const char *where)
{
	char sql[900];
	sqlite3_stmt *q;
	int ret;

	*p = (struct picked){ 0 };
	snprintf(sql, sizeof(sql),
		 "SELECT change.rowid, subject, name, unit, verdict, before, after, ratio, low,"
		 " high, bound FROM change WHERE %s ORDER BY " IMPORTANCE " LIMIT 1",
		 where);
	ret = db_query(&q, db, e, sql, "");
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		p->row = sqlite3_column_int64(q, 0);
		snprintf(p->subject, sizeof(p->subject), "%s", db_text(q, 1));
		snprintf(p->metric, sizeof(p->metric), "%s", db_text(q, 2));
		snprintf(p->unit, sizeof(p->unit), "%s", db_text(q, 3));
		snprintf(p->verdict, sizeof(p->verdict), "%s", db_text(q, 4));
		p->before = number_of(q, 5);
		p->after = number_of(q, 6);
		p->ratio = number_of(q, 7);
		p->low = number_of(q, 8);
		p->high = number_of(q, 9);
		p->bound = number_of(q, 10);
	}
	return db_end(q, ret);
}

static int count(sqlite3 *db, double *ret, struct err *e, const char *where)
{
	char sql[300];
	s64 n = 0;
	int r;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM change WHERE %s", where);
	r = db_int(db, &n, e, sql, "");
	*ret = n;
	return r;
}

static int put(sqlite3 *db, enum finding_kind kind, enum severity severity, enum evidence evidence,
	       const char *sql, const struct value *values, struct err *e)
{
	const struct finding f = { kind, severity, evidence, .sql = sql, .values = values };

	return finding_put(db, "compare", &f, NULL, e);
}

/* One more than n of them, or nothing to print. */
static double others(double n)
{
	return n > 1 ? n - 1 : NAN;
}

/* ---- what changed ---- */

static int say_change(sqlite3 *db, enum finding_kind kind, enum severity severity,
		      const struct picked *p, double more, double less, struct err *e)
{
	const char *unit = strcmp(p->unit, "1/s") == 0 ? "" : p->unit;
	const struct value values[] = { VALUE_TEXT("subject", p->subject),
					VALUE_TEXT("metric", p->metric),
					VALUE_NUMBER("before", p->before, unit),
					VALUE_NUMBER("after", p->after, unit),
					VALUE_TEXT("unit", p->metric),
					VALUE_INTERVAL("ratio", p->ratio, p->low, p->high, "x"),
					VALUE_NUMBER("more", more, ""),
					VALUE_NUMBER("less", less > 0 ? less : NAN, ""),
					{ 0 } };

	return put(db, kind, severity, OBSERVED, "SELECT * FROM change", values, e);
}

struct said {
	sqlite3 *db;
	const struct sides *sides;
	struct err *e;
	bool changed;	    /* something did: no "no change" */
	struct picked lead; /* what is explained; row 0: nothing */
};

static int say_rate(struct said *s, const char *where, enum finding_kind kind,
		    enum severity severity)
{
	struct picked p;
	int ret = pick(s->db, &p, s->e, where);

	if (ret < 0 || !p.row)
		return ret;
	s->changed = true;
	if (!s->lead.row)
		s->lead = p;
	return say_change(s->db, kind, severity, &p, NAN, NAN, s->e);
}

static int say_durations(struct said *s)
{
	struct picked slower, faster;
	double more = 0, less = 0;
	int ret = pick(s->db, &slower, s->e, DURATION " AND verdict='slower'");

	if (ret == 0)
		ret = pick(s->db, &faster, s->e, DURATION " AND verdict='faster'");
	if (ret == 0)
		ret = count(s->db, &more, s->e, DURATION " AND verdict='slower'");
	if (ret == 0)
		ret = count(s->db, &less, s->e, DURATION " AND verdict='faster'");
	if (ret < 0 || (!slower.row && !faster.row))
		return ret;
	s->changed = true;
	s->lead = slower.row ? slower : faster;
	if (slower.row)
		return say_change(s->db, FINDING_compare_slower, PROBLEM, &slower, others(more),
				  less, s->e);
	return say_change(s->db, FINDING_compare_faster, NOTE, &faster, others(less), NAN, s->e);
}

static int say_errors(struct said *s, const char *where, enum finding_kind kind,
		      enum severity severity)
{
	struct picked p;
	double n = 0;
	int ret = pick(s->db, &p, s->e, where);

	if (ret == 0)
		ret = count(s->db, &n, s->e, where);
	if (ret < 0 || !p.row)
		return ret;
	s->changed = true;
	return say_change(s->db, kind, severity, &p, others(n), NAN, s->e);
}

/* Pauses whose count differs; slow episodes if that is proved. */
static int say_rare(struct said *s)
{
	static const char *const where[] = { "name='pauses' AND before<>after",
					     "name='slow episodes' AND " CHANGED };
	struct picked p, total;
	size_t i;
	int ret = 0;

	for (i = 0; i < 2 && ret == 0; i++) {
		ret = pick(s->db, &p, s->e, where[i]);
		if (ret < 0 || !p.row)
			continue;
		total = (struct picked){ .before = NAN, .after = NAN };
		if (i == 0)
			ret = pick(s->db, &total, s->e, "name='time in pauses'");
		const struct value values[] = { VALUE_TEXT("subject", p.subject),
						VALUE_TEXT("metric", p.metric),
						VALUE_NUMBER("before", p.before, ""),
						VALUE_NUMBER("after", p.after, ""),
						VALUE_NUMBER("total_before", total.before, "ns"),
						VALUE_NUMBER("total_after", total.after, "ns"),
						VALUE_NUMBER("bound", p.bound, "ns"),
						{ 0 } };
		s->changed |= strcmp(p.verdict, "more") == 0 || strcmp(p.verdict, "less") == 0;
		if (ret == 0)
			ret = put(s->db, i ? FINDING_compare_episodes : FINDING_compare_pauses,
				  strcmp(p.verdict, "more") == 0 ? PROBLEM : NOTE, OBSERVED,
				  "SELECT * FROM change WHERE what='rare'", values, s->e);
		if (ret == 0 && i == 0 && p.after > p.before)
			ret = compare_pauses_say(s->db, s->sides, p.subject, s->e);
	}
	return ret;
}

/* Quantiles that too few durations stand for. */
static int add_missing(sqlite3 *db, struct value *values, size_t *n, struct err *e)
{
	static char names[NAMED_MOST][40];
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e,
			   "SELECT DISTINCT name FROM change WHERE " DURATION
			   " AND verdict='too few' ORDER BY rowid LIMIT ?",
			   "i", (s64)NAMED_MOST);
	size_t i;

	if (ret < 0)
		return ret;
	for (i = 0; i < NAMED_MOST && (ret = db_step(q, e)) > 0; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", db_text(q, 0));
		values[(*n)++] = (struct value)VALUE_TEXT("missing", names[i]);
	}
	return db_end(q, ret);
}

static int say_same(struct said *s, double threshold)
{
	struct value values[VALUES_MOST] = { VALUE_NUMBER("threshold", 100 * threshold, "%") };
	double same = 0, unsure = 0, medians = 0, pauses = 0;
	struct picked p;
	size_t n = 1;
	int ret = count(s->db, &same, s->e, DURATION " AND verdict='equivalent'");

	if (ret == 0)
		ret = count(s->db, &unsure, s->e, DURATION " AND verdict='inconclusive'");
	if (ret == 0) /* without these nothing is known of a subject */
		ret = count(s->db, &medians, s->e,
			    "verdict='too few' AND name IN ('request p50', 'call p50')");
	if (ret == 0)
		ret = count(s->db, &pauses, s->e, "name='pauses' AND before<>after");
	if (ret == 0)
		ret = pick(s->db, &p, s->e, DURATION " AND verdict='inconclusive'");
	if (ret < 0)
		return ret;
	if (!(same + unsure > 0))
		return put(s->db, FINDING_compare_nothing, NOTE, OBSERVED, NULL, NULL, s->e);
	if (!(unsure + medians + pauses > 0)) {
		ret = add_missing(s->db, values, &n, s->e);
		return ret < 0 ? ret
			       : put(s->db, FINDING_compare_no_change, NOTE, OBSERVED,
				     "SELECT * FROM change", values, s->e);
	}
	values[n++] = (struct value)VALUE_NUMBER("equivalent", same, "");
	values[n++] = (struct value)VALUE_NUMBER("all", same + unsure, "");
	if (p.row) {
		values[n++] = (struct value)VALUE_TEXT("subject", p.subject);
		values[n++] = (struct value)VALUE_TEXT("metric", p.metric);
		values[n++] = (struct value)VALUE_NUMBER("before", p.before, p.unit);
		values[n++] = (struct value)VALUE_NUMBER("after", p.after, p.unit);
		values[n++] = (struct value)VALUE_INTERVAL("ratio", p.ratio, p.low, p.high, "x");
	}
	return put(s->db, FINDING_compare_inconclusive, NOTE, OBSERVED, "SELECT * FROM change",
		   values, s->e);
}

/* ---- why ---- */

/* Rows of excess of the subject that row ?1 of change is about; of a process: of its services. */
#define EXCESS_OF                                                             \
	" FROM excess x JOIN change c ON c.rowid=?1 AND x.comm=c.comm AND"    \
	" ((x.kind=c.kind AND x.port IS c.port AND x.protocol=c.protocol AND" \
	" x.object=c.object) OR (c.kind='process' AND x.kind='service'))"

static int say_parts(const struct said *s, const char *unit, double before, double after)
{
	struct value values[VALUES_MOST] = { VALUE_NUMBER("before", before, "ns"),
					     VALUE_NUMBER("after", after, "ns"),
					     VALUE_TEXT("unit", unit) };
	char names[NAMED_MOST][100];
	double sign = after > before ? 1 : -1;
	sqlite3_stmt *q;
	size_t i, n = 3;
	int ret = db_query(&q, s->db, s->e,
			   "SELECT x.says, x.diff, x.low, x.high" EXCESS_OF
			   " WHERE x.category<>'all' AND x.diff * ?2 >= ?3 AND x.low * x.high > 0"
			   " ORDER BY abs(x.diff) DESC LIMIT ?4",
			   "iddi", s->lead.row, sign, COMPARE_PART * fabs(after - before),
			   (s64)NAMED_MOST);

	if (ret < 0)
		return ret;
	for (i = 0; i < NAMED_MOST && (ret = db_step(q, s->e)) > 0; i++) {
		double low = sign * number_of(q, 2), high = sign * number_of(q, 3);

		snprintf(names[i], sizeof(names[i]), "%s", db_text(q, 0));
		values[n] = (struct value)VALUE_INTERVAL("part", sign * number_of(q, 1),
							 fmin(low, high), fmax(low, high), "ns");
		values[n++].text = names[i];
	}
	sqlite3_finalize(q);
	if (ret < 0 || n == 3)
		return ret < 0 ? ret : 0;
	return put(s->db, sign > 0 ? FINDING_compare_added : FINDING_compare_saved, NOTE, OBSERVED,
		   "SELECT * FROM excess", values, s->e);
}

/* Where the difference went, in the direction of the verdict. */
static int say_why(const struct said *s)
{
	double before = NAN, after = NAN, diff = NAN, low = NAN, high = NAN;
	char unit[16] = "";
	sqlite3_stmt *q;
	int ret = db_query(&q, s->db, s->e,
			   "SELECT x.unit, x.before, x.after, x.diff, x.low, x.high" EXCESS_OF
			   " WHERE x.category='all' AND x.unit<>'window' LIMIT 1",
			   "i", s->lead.row);

	if (ret < 0)
		return ret;
	ret = db_step(q, s->e);
	if (ret > 0) {
		snprintf(unit, sizeof(unit), "%s", db_text(q, 0));
		before = number_of(q, 1);
		after = number_of(q, 2);
		diff = number_of(q, 3);
		low = number_of(q, 4);
		high = number_of(q, 5);
	}
	sqlite3_finalize(q);
	if (ret <= 0)
		return ret;
	if (low * high > 0 && (diff > 0) == (strcmp(s->lead.verdict, "slower") == 0))
		return say_parts(s, unit, before, after);
	const struct value values[] = { VALUE_TEXT("unit", unit),
					VALUE_INTERVAL("diff", diff, low, high, "ns"),
					{ 0 } };

	return put(s->db, FINDING_compare_not_explained, NOTE, LIMIT, "SELECT * FROM excess",
		   values, s->e);
}

/* Rate, cost and idleness of the process that the lead is about: load, cost or waiting? */
static int say_load(const struct said *s)
{
	static const char sql[] =
		"SELECT (SELECT ratio FROM change r WHERE r.name='requests per second' AND"
		" r.comm=c.comm ORDER BY r.before DESC LIMIT 1),"
		" (SELECT ratio FROM change r WHERE r.name='CPU per request' AND r.comm=c.comm),"
		" (SELECT before FROM change r WHERE r.name='idle share' AND r.comm=c.comm),"
		" (SELECT after FROM change r WHERE r.name='idle share' AND r.comm=c.comm)"
		" FROM change c WHERE c.rowid=?";
	double v[4] = { NAN, NAN, NAN, NAN };
	sqlite3_stmt *q;
	int i, ret = db_query(&q, s->db, s->e, sql, "i", s->lead.row);

	if (ret < 0)
		return ret;
	ret = db_step(q, s->e);
	for (i = 0; i < 4 && ret > 0; i++)
		v[i] = number_of(q, i);
	sqlite3_finalize(q);
	if (ret < 0 || isnan(v[0]))
		return ret < 0 ? ret : 0;
	const struct value values[] = { VALUE_NUMBER("rate", v[0], "x"),
					VALUE_NUMBER("cpu", v[1], "x"),
					VALUE_NUMBER("idle_before", v[2], "%"),
					VALUE_NUMBER("idle_after", v[3], "%"),
					{ 0 } };

	return put(s->db, FINDING_compare_load_ratios, NOTE, OBSERVED, "SELECT * FROM change",
		   values, s->e);
}

/* Hardly idle, and requests wait for others longer than all else takes; before not. */
static int say_saturated(const struct said *s)
{
	static const char sql[] =
		"SELECT w.subject, i.after, b.after FROM excess b JOIN excess w ON w.category='all'"
		" AND w.kind=b.kind AND w.subject=b.subject JOIN change i ON i.name='idle share' AND"
		" i.comm=b.comm WHERE b.category='queue' AND i.after < ?1 AND b.after > w.after / 2"
		" AND NOT (i.before < ?1 AND b.before > w.before / 2) LIMIT 1";
	char subject[COMPARE_TEXT] = "";
	double idle = NAN, queue = NAN;
	sqlite3_stmt *q;
	int ret = db_query(&q, s->db, s->e, sql, "d", (double)IDLE_LOW);

	if (ret < 0)
		return ret;
	ret = db_step(q, s->e);
	if (ret > 0) {
		snprintf(subject, sizeof(subject), "%s", db_text(q, 0));
		idle = number_of(q, 1);
		queue = number_of(q, 2);
	}
	sqlite3_finalize(q);
	if (ret <= 0)
		return ret;
	const struct value values[] = { VALUE_TEXT("subject", subject),
					VALUE_NUMBER("idle", idle, "%"),
					VALUE_NUMBER("queue", queue, "ns"),
					{ 0 } };

	return put(s->db, FINDING_compare_saturated, WARNING, OBSERVED, "SELECT * FROM excess",
		   values, s->e);
}

/* ---- limits ---- */

static int say_only(sqlite3 *db, const struct sides *s, int side, struct err *e)
{
	const struct measured *here = &s->of[side][0], *there = &s->of[!side][0];
	struct value values[NAMED_MOST + 2] = { { 0 } };
	char names[NAMED_MOST][COMPARE_TEXT + 60], subject[COMPARE_TEXT];
	size_t i, n = 0, all = 0;
	char more[40];

	for (i = 0; i < here->n_samples; i++) {
		const struct sample *x = &here->samples[i];
		const struct compare_desc *d = &compare_metrics[x->metric];

		if (x->metric == COMPARE_errors || d->quantile > 0.5 ||
		    (x->subject.kind == COMPARE_DISK && here->chosen) ||
		    compare_find(there, &x->subject, x->metric) || all++ >= NAMED_MOST)
			continue;
		compare_subject_text(subject, sizeof(subject), &x->subject);
		snprintf(names[n], sizeof(names[n]), "%s (%s)", subject, d->name);
		values[n] = (struct value)VALUE_TEXT("what", names[n]);
		n++;
	}
	if (!n)
		return 0;
	snprintf(more, sizeof(more), "and %zu more", all - n);
	if (all > n)
		values[n] = (struct value)VALUE_TEXT("what", more);
	return put(db, side ? FINDING_compare_only_after : FINDING_compare_only_before, NOTE, LIMIT,
		   NULL, values, e);
}

static int say_runs(sqlite3 *db, const struct sides *s, struct err *e)
{
	const struct value values[] = { VALUE_NUMBER("n", FEW, ""), { 0 } };

	if (s->n[0] == 1)
		return put(db, FINDING_compare_one_pair, NOTE, LIMIT, NULL, NULL, e);
	if (s->n[0] < FEW || s->n[1] < FEW)
		return put(db, FINDING_compare_few, NOTE, LIMIT, NULL, values, e);
	return 0;
}

int compare_say(sqlite3 *db, const struct sides *s, double threshold, struct err *e)
{
	struct said x = { .db = db, .sides = s, .e = e };
	bool mix = false;
	int ret = say_rate(&x, RATE "verdict='less'", FINDING_compare_throughput_fell, PROBLEM);

	if (ret == 0)
		ret = say_durations(&x);
	if (ret == 0)
		ret = compare_mix_say(db, &mix, e);
	x.changed |= mix;
	if (ret == 0)
		ret = say_rate(&x, RATE "verdict='more'", FINDING_compare_throughput_rose, NOTE);
	if (ret == 0)
		ret = say_errors(&x, "what='errors' AND verdict='more'",
				 FINDING_compare_more_errors, PROBLEM);
	if (ret == 0)
		ret = say_errors(&x, "what='errors' AND verdict='less'",
				 FINDING_compare_fewer_errors, NOTE);
	if (ret == 0)
		ret = say_rare(&x);
	if (ret == 0 && !x.changed)
		ret = say_same(&x, threshold);
	if (ret == 0 && x.lead.row && strcmp(x.lead.unit, "ns") == 0)
		ret = say_why(&x);
	if (ret == 0)
		ret = compare_say_functions(db, x.sides, e);
	if (ret == 0 && x.lead.row)
		ret = say_load(&x);
	if (ret == 0 && x.changed)
		ret = say_saturated(&x);
	if (ret == 0)
		ret = say_runs(db, s, e);
	if (ret == 0)
		ret = say_only(db, s, 0, e);
	return ret < 0 ? ret : say_only(db, s, 1, e);
}
