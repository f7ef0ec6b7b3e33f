// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Datagrams that the server read and did not answer, as one with a limit of its own: no request
 * shows them. From some time on surely more of them have none than the limit of errors, and than
 * before: by no chance, wherever among them the change is. They wait for longer than any answer
 * took. Some protocols leave a share without an answer all the time. Those of a host count after
 * one that was answered: what scans or is spoofed never is. A socket of several processes may be
 * read by one and answered by another, and a connected socket on its port is one for a client.
 */
#include "surely.h"
#include "verdict_failing.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <stdlib.h>

/* SQL: services of server ?1. On the ports not all datagrams need an answer: names asked of all
 * that may know (NetBIOS, SSDP, mDNS, LLMNR), traps of SNMP, lines of syslog, CoAP, memcached; or
 * they carry connections or tunnels (QUIC, IPsec, OpenVPN, WireGuard). */
#define SERVICES                                                                                     \
	"SELECT id FROM service WHERE server=?1 AND kind='udp' AND port NOT IN (137, 138, 162, 443," \
	" 500, 514, 1194, 1900, 4500, 5353, 5355, 5683, 5684, 11211, 51820) AND port NOT IN (SELECT" \
	" port FROM fd WHERE role='connected' AND port NOT NULL UNION ALL SELECT port FROM fd WHERE" \
	" role='bound' AND port NOT NULL AND ino IN (SELECT ino FROM fd WHERE role='bound' AND"      \
	" ino > 0 GROUP BY ino HAVING min(pid)<>max(pid)))"

struct datagram {
	s64 ts, client;
	bool missed;
};

enum known { NOT_ANSWERED = 1, ANSWERED };

struct datagrams {
	struct idmap hosts; /* client -> enum known */
	struct datagram *v;
	size_t n;
	double missed;
	double until; /* of later ones it is not known yet */
};

static int add(struct datagrams *d, s64 ts, s64 client, bool missed, struct err *e)
{
	if (client == BULK_NULL || !idmap_get(&d->hosts, (u64)client) || (double)ts >= d->until)
		return 0;
	if (GROW(d->v, d->n, "datagrams", e) < 0)
		return ERR_FAIL;
	d->v[d->n++] = (struct datagram){ ts, client, missed };
	d->missed += missed;
	return 0;
}

static int on_missed(void *arg, sqlite3_stmt *q, struct err *e)
{
	return add(arg, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1), true, e);
}

static int on_answered(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;

	(void)rowid;
	return add(arg, row->ts, row->client, false, e);
}

static int by_time(const void *a, const void *b)
{
	const struct datagram *x = a, *y = b;

	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* Leaves those of a host after its first that was answered. */
static int take_known(struct datagrams *d, struct err *e)
{
	size_t i, n = 0;

	d->missed = 0;
	for (i = 0; i < d->n; i++) {
		const struct datagram one = d->v[i];

		if (idmap_get(&d->hosts, (u64)one.client) == (void *)(intptr_t)ANSWERED) {
			d->v[n++] = one;
			d->missed += one.missed;
		} else if (!one.missed && idmap_put(&d->hosts, (u64)one.client,
						    (void *)(intptr_t)ANSWERED, TASK_LIMIT, e) < 0)
			return ERR_FAIL;
	}
	d->n = n;
	return 0;
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
 * longer gaps than those after it; ret_before: of those before it. The number of all: none, as it
 * may be chance.
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
	if (most - likely(d->missed, (double)d->n) <= log((double)d->n / CHANCE_MOST))
		return d->n;
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
	double before = 0, missed, until, lengths[2];
	size_t start = find_start(d, &before), end;

	if (start < DUE_ANSWERS || start == d->n || is_share(before, (double)start, l->errors))
		return;
	missed = d->missed - before;
	/* the lower end of the interval since, the upper end of the one before */
	if (!is_share(missed, (double)(d->n - start), l->errors) ||
	    surely(missed, (double)(d->n - start)) <=
		    1 - surely((double)start - before, (double)start))
		return;
	end = find_end(d, start, missed);
	until = end < d->n ? (double)d->v[end - 1].ts : d->until;
	lengths[0] = (double)(d->v[start].ts - d->v[0].ts) / 1e9;
	lengths[1] = (until - (double)d->v[start].ts) / 1e9;
	if (lengths[0] <= 0 || lengths[1] <= 0)
		return;
	*q = (struct verdict_datagrams){
		.n = missed,
		.of = (double)(end - start),
		.start = (double)d->v[start].ts,
		.end = end < d->n ? until : duration,
		.before = (double)start - before,
		.all = d->missed,
	};
	q->asked[0] = (double)start / lengths[0];
	q->sent[0] = q->before / lengths[0];
	q->asked[1] = q->of / lengths[1];
	q->sent[1] = (q->of - q->n) / lengths[1];
}

static int read_all(struct analysis_ctx *c, const struct judged *j, double least,
		    struct datagrams *d, struct err *e)
{
	static const char hosts[] =
		"SELECT id, 1 FROM client WHERE address NOT IN ('', '?') AND service IN (" SERVICES
		")";
	static const char missed[] =
		"SELECT ts, client FROM question_unanswered WHERE NOT lossy AND dur >= ?2 AND service IN (" SERVICES
		")";
	s64 any = 0;
	int ret = db_int(c->db, &any, e, "SELECT EXISTS (SELECT 1 FROM question_unanswered)", "");

	if (ret >= 0 && any)
		ret = db_each(c->db, e, db_idmap, &d->hosts, hosts, "i", j->about.id);
	if (ret >= 0 && d->hosts.n)
		ret = db_each(c->db, e, on_missed, d, missed, "id", j->about.id, least);
	if (ret >= 0 && d->missed > 0)
		ret = requests_each(c->db, COLUMN_OF(request, client), SERVICES, j->about.id,
				    on_answered, d, e);
	return ret < 0 ? ret : 0;
}

int verdict_datagrams_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			   struct err *e)
{
	double least = fmax(l->pause, j->max); /* no answer took longer */
	struct datagrams d = { .until = (double)c->duration - least };
	int ret = read_all(c, j, least, &d, e);

	if (ret == 0 && d.missed > 0) {
		qsort(d.v, d.n, sizeof(*d.v), by_time);
		ret = take_known(&d, e);
	}
	if (ret == 0 && d.missed > 0)
		judge(&j->datagrams, &d, l, (double)c->duration);
	j->rate += j->datagrams.all / ((double)c->duration / 1e9);
	idmap_free(&d.hosts);
	free(d.v);
	return ret;
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
