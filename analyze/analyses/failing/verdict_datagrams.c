// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Datagrams that the server read and did not answer, as one with a limit of its own: no request
 * shows them. From some time on more of them have none than the limit of errors, and not more
 * before. They wait for longer than any answer took. Some protocols leave a share without an answer
 * all the time. A socket of several processes may be read by one and answered by another.
 */
#include "surely.h"
#include "verdict_failing.h"

#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <stdlib.h>

struct datagram {
	s64 ts;
	bool missed;
};

struct datagrams {
	struct datagram *v;
	size_t n;
	double missed;
	double until; /* of later ones it is not known yet */
};

static int add(struct datagrams *d, s64 ts, bool missed, struct err *e)
{
	if (GROW(d->v, d->n, "datagrams", e) < 0)
		return ERR_FAIL;
	d->v[d->n++] = (struct datagram){ ts, missed };
	d->missed += missed;
	return 0;
}

static int on_missed(void *arg, sqlite3_stmt *q, struct err *e)
{
	return add(arg, sqlite3_column_int64(q, 0), true, e);
}

static int on_answered(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct datagrams *d = arg;

	(void)rowid;
	return (double)row->ts < d->until ? add(d, row->ts, false, e) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct datagram *x = a, *y = b;

	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* Logarithm of the likelihood of k of n, at their own share. */
static double likely(double k, double n)
{
	return k > 0 && k < n ? k * log(k / n) + (n - k) * log(1 - k / n) : 0;
}

/* ns, between two without an answer. */
static s64 longest_gap(const struct datagrams *d, size_t from, size_t to)
{
	s64 longest = 0, gap;
	size_t i, last = from;

	for (i = from; i < to; i++) {
		gap = d->v[i].ts - d->v[last].ts;
		longest = d->v[i].missed && gap > longest ? gap : longest;
		last = d->v[i].missed ? i : last;
	}
	return longest;
}

/*
 * Where the share changes most, at one without an answer, and those right before that have no
 * longer gaps than those after it; ret_before: of those before it.
 */
static size_t find_start(const struct datagrams *d, double *ret_before)
{
	double before = 0, most = -INFINITY, at;
	size_t i, start = 0;
	s64 longest;

	for (i = 0; i < d->n; i++) {
		if (!d->v[i].missed)
			continue;
		at = likely(before, (double)i) + likely(d->missed - before, (double)(d->n - i));
		if (at > most) {
			most = at;
			start = i;
			*ret_before = before;
		}
		before++;
	}
	longest = longest_gap(d, start, d->n);
	for (i = start; i > 0 && d->v[start].ts - d->v[i - 1].ts <= longest; i--) {
		if (!d->v[i - 1].missed)
			continue;
		start = i - 1;
		--*ret_before;
	}
	return start;
}

/* After the last of them, so many have answers, for so long, that this is no chance. */
static size_t find_end(const struct datagrams *d, size_t start, double missed)
{
	size_t end = d->n;

	while (end > start && !d->v[end - 1].missed)
		end--;
	if (end == d->n || d->v[d->n - 1].ts - d->v[end - 1].ts <= longest_gap(d, start, end))
		return d->n;
	return pow(1 - missed / (double)(end - start), (double)(d->n - end)) <= CHANCE_MOST ? end
											    : d->n;
}

static void judge(struct verdict_datagrams *q, const struct datagrams *d, const struct limits *l,
		  double duration)
{
	double before = 0, missed, length;
	size_t start = find_start(d, &before), end;

	missed = d->missed - before;
	if (start < DUE_ANSWERS || is_share(before, (double)start, l->errors) ||
	    !is_share(missed, (double)(d->n - start), l->errors))
		return;
	end = find_end(d, start, missed);
	*q = (struct verdict_datagrams){
		.n = missed,
		.of = (double)(end - start),
		.start = (double)d->v[start].ts,
		.end = end < d->n ? (double)d->v[end - 1].ts : duration,
		.before = (double)start - before,
		.all = q->all,
	};
	length = (q->start - (double)d->v[0].ts) / 1e9;
	q->asked[0] = (double)start / length;
	q->sent[0] = q->before / length;
	length = (q->end - q->start) / 1e9;
	q->asked[1] = q->of / length;
	q->sent[1] = (q->of - q->n) / length;
}

int verdict_datagrams_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			   struct err *e)
{
	static const char sql[] =
		"WITH o AS MATERIALIZED (SELECT ino FROM fd WHERE role='bound' AND ino > 0 GROUP BY ino HAVING"
		" min(pid)<>max(pid)), f AS MATERIALIZED (SELECT pid, fd FROM fd WHERE role='bound' AND ino IN"
		" (SELECT ino FROM o)) SELECT ts FROM question_unanswered WHERE NOT lossy AND dur >= ?2 AND"
		" service IN " SERVICES_OF " AND (pid, fd) NOT IN (SELECT pid, fd FROM f)";
	double least = fmax(l->pause, j->max); /* no answer took longer */
	struct datagrams d = { .until = (double)c->duration - least };
	int ret = db_each(c->db, e, on_missed, &d, sql, "id", j->about.id, least);

	j->datagrams.all = d.missed;
	j->rate += d.missed > 0 ? d.missed / ((double)c->duration / 1e9) : 0;
	if (ret == 0 && d.missed > 0)
		ret = requests_each(c->db, 0, "SELECT id FROM service WHERE server=?1", j->about.id,
				    on_answered, &d, e);
	if (ret >= 0 && d.missed > 0) {
		qsort(d.v, d.n, sizeof(*d.v), by_time);
		judge(&j->datagrams, &d, l, (double)c->duration);
	}
	free(d.v);
	return ret < 0 ? ret : 0;
}

int verdict_datagrams_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_datagrams *m = &j->datagrams;
	const struct value values[] = {
		VALUE_NUMBER("start", m->start, "at"),
		VALUE_NUMBER("end", m->end < (double)c->duration ? m->end : NAN, "at"),
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("of", m->of, ""),
		VALUE_NUMBER("share", percent(m->n, m->of), "%"),
		VALUE_NUMBER("before", m->before, ""),
		VALUE_NUMBER("asked", m->asked[1], "1/s"),
		VALUE_NUMBER("asked_before", m->asked[0], "1/s"),
		VALUE_NUMBER("sent", m->sent[1], "1/s"),
		VALUE_NUMBER("sent_before", m->sent[0], "1/s"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_datagrams,		PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM question_unanswered", values,	 0 };

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}
