// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that TCP had to send again: the server was on time, its clients were not. An answer
 * counts with the segments of its connection that were sent again after it, until the client had
 * acknowledged it. The client waited until the last of them at least, unless it had had them.
 */
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/stats/stats.h"
#include "analyze/store/db.h"
#include "shares.h"
#include "verdict_queues.h"

#define ESTABLISHED 1	  /* state of table retransmit */
#define LEAST	    10	  /* answers: fewer in a short time are no share of it */
#define STEP	    0.02  /* of the answers of a window, more than outside */
#define KNOWN	    100	  /* ACKs: fewer have no p99 */
#define LARGE	    65536 /* bytes: longer answers find their rate by losses */

/*
 * a: the answers; t: of connections of the server, segments that were sent again, and
 * acknowledgments that the peer had one before, each of the last answer that was sent again. Each
 * takes one from the others: the client had the answer when the first of them was sent again, at
 * the latest.
 */
#define RESENT                                                                                   \
	"WITH f AS MATERIALIZED (SELECT pid, fd, ts, coalesce(end, ?2) AS till, local, remote"   \
	" FROM fd WHERE role='accepted' AND local IN (SELECT local FROM retransmit) AND pid IN"  \
	" (SELECT pid FROM service WHERE server=?1)), t AS MATERIALIZED (SELECT f.pid, f.fd,"    \
	" r.ts, r.needless FROM (SELECT ts, local, remote, 0 AS needless FROM retransmit WHERE"  \
	" state=?5 UNION ALL SELECT ts, local, remote, 1 FROM dsack) r JOIN f ON"                \
	" f.local=r.local AND f.remote=r.remote WHERE r.ts BETWEEN f.ts AND f.till), x AS"       \
	" (SELECT pid, fd, ts + dur AS at, 1 AS answer, 0 AS needless, acked, send_bytes FROM"   \
	" request WHERE service IN (SELECT id FROM service WHERE server=?1) AND (pid, fd) IN"    \
	" (SELECT pid, fd FROM t) UNION ALL SELECT pid, fd, ts, 0, needless, NULL, NULL FROM"    \
	" t), o AS (SELECT *, sum(answer) OVER (PARTITION BY pid, fd ORDER BY at, answer DESC"   \
	" ROWS UNBOUNDED PRECEDING) AS nr FROM x), n AS (SELECT *, CASE WHEN needless THEN"      \
	" max(CASE WHEN NOT answer AND NOT needless THEN nr END) OVER (PARTITION BY pid, fd"     \
	" ORDER BY at, answer DESC ROWS UNBOUNDED PRECEDING) ELSE nr END AS nth FROM o), w AS"   \
	" (SELECT *, first_value(at) OVER o AS sent, first_value(acked) OVER o AS known,"        \
	" first_value(send_bytes) OVER o AS bytes FROM n WINDOW o AS (PARTITION BY pid, fd, nth" \
	" ORDER BY answer DESC)), a AS MATERIALIZED (SELECT pid, fd, sent, CASE WHEN"            \
	" max(needless) THEN min(at) ELSE max(at) END - sent AS late, sum(NOT needless) -"       \
	" sum(needless) AS segments FROM w WHERE NOT answer AND nth > 0 AND (needless OR at <="  \
	" sent + known) AND bytes <= ?4 GROUP BY pid, fd, nth HAVING segments > 0), i AS"        \
	" (SELECT id, min(id) OVER (PARTITION BY address) AS one FROM client), h AS (SELECT"     \
	" q.ts + q.dur AS at, iif(q.send_bytes <= ?4, acked, NULL) AS acked, i.one AS client,"   \
	" late, segments FROM request q LEFT JOIN (SELECT * FROM a WHERE late >= ?3) b ON"       \
	" b.pid=q.pid AND b.fd=q.fd AND b.sent=q.ts + q.dur LEFT JOIN i ON i.id=q.client WHERE"  \
	" q.service IN (SELECT id FROM service WHERE server=?1))"
#define BOUNDS "iidii"

struct peer {
	s64 id;
	double n;
};

struct resends {
	struct shares shares;
	struct verdict_resent *r;
	double range[2];		      /* ns, of the first and last of them */
	double first[WINDOWS], last[WINDOWS]; /* of them in each window */
	double n;
	struct hist acked[2]; /* outside, in it */
	struct idmap peers;   /* in it: client -> struct peer */
};

static int on_window(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct resends *s = arg;
	double at = sqlite3_column_double(q, 0);
	bool again = sqlite3_column_int(q, 1);
	int i = s->shares.n ? shares_window(&s->shares, at) : 0;

	(void)e;
	if (s->shares.n)
		shares_add(&s->shares, at, again);
	if (!again)
		return 0;
	s->first[i] = s->shares.part[i] > 1 ? s->first[i] : at;
	s->last[i] = at;
	s->range[0] = s->n > 0 ? s->range[0] : at;
	s->range[1] = at;
	s->n++;
	return 0;
}

static int add_peer(struct resends *s, s64 id, bool again, struct err *e)
{
	struct peer *p = id ? idmap_get(&s->peers, (u64)id) : NULL;

	if (id && !p)
		p = idmap_add(&s->peers, (u64)id, sizeof(*p), TASK_LIMIT, "clients", e);
	if (!p)
		return id ? ERR_FAIL : 0;
	p->id = id;
	p->n += again;
	return 0;
}

/* By time. */
static int on_answer(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct resends *s = arg;
	struct verdict_resent *r = s->r;
	double at = sqlite3_column_double(q, 0), late = sqlite3_column_double(q, 3);
	bool again = sqlite3_column_type(q, 3) != SQLITE_NULL;
	bool in = at >= s->range[0] && at <= s->range[1];

	if (sqlite3_column_type(q, 1) != SQLITE_NULL)
		hist_add(&s->acked[in], (u64)sqlite3_column_double(q, 1));
	r->of += in;
	r->of_otherwise += !in;
	r->n_otherwise += !in && again;
	if (!in || !again)
		return in ? add_peer(s, sqlite3_column_int64(q, 2), false, e) : 0;
	r->start = r->n > 0 ? r->start : at;
	r->end = fmax(r->end, at + late);
	r->n++;
	r->segments += sqlite3_column_double(q, 4);
	r->late += late; /* until all are known: their sum */
	r->max = fmax(r->max, late);
	return add_peer(s, sqlite3_column_int64(q, 2), true, e);
}

static void sum_up(struct resends *s)
{
	struct verdict_resent *r = s->r;
	const struct peer *p;
	double most = 0;
	size_t at = 0;
	int i;

	r->late /= r->n > 0 ? r->n : 1;
	for (i = 0; i < 2; i++)
		*(i ? &r->acked : &r->acked_otherwise) =
			s->acked[i].n >= KNOWN ? verdict_quantile(&s->acked[i], 0.99) : NAN;
	while ((p = idmap_each(&s->peers, &at))) {
		r->clients += p->n > 0;
		r->others += !(p->n > 0);
		if (!(p->n > most) && !(p->n >= most && p->n > 0 && p->id < r->client))
			continue;
		most = p->n;
		r->client = p->id;
	}
}

/* From the first to the last of them in windows of a higher share, or right next to these. */
static void take_range(struct resends *s, const double range[2])
{
	int first = shares_window(&s->shares, range[0] + s->shares.width / 2), last;

	last = shares_window(&s->shares, range[1] - s->shares.width / 2);
	shares_widen(&s->shares, &first, &last);
	while (first < last && !(s->shares.part[first] > 0))
		first++;
	while (last > first && !(s->shares.part[last] > 0))
		last--;
	s->range[0] = s->first[first];
	s->range[1] = s->last[last];
}

static int read_answers(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	static const char windows[] = RESENT " SELECT at, late NOT NULL FROM h ORDER BY at";
	static const char answers[] = RESENT " SELECT * FROM h ORDER BY at";
	struct resends s = { .shares = { .width = j->width, .n = j->n_windows }, .r = &j->resent };
	double range[2];
	int ret = db_each(c->db, e, on_window, &s, windows, BOUNDS, j->about.id, c->duration,
			  l->latency, (s64)LARGE, (s64)ESTABLISHED);

	if (ret < 0 || s.n < LEAST)
		return ret;
	if (j->n_windows && shares_range(&s.shares, STEP, range))
		take_range(&s, range);
	ret = db_each(c->db, e, on_answer, &s, answers, BOUNDS, j->about.id, c->duration,
		      l->latency, (s64)LARGE, (s64)ESTABLISHED);
	if (ret == 0)
		sum_up(&s);
	hist_free(&s.acked[0]);
	hist_free(&s.acked[1]);
	idmap_free_all(&s.peers);
	return ret;
}

int verdict_resent(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct verdict_resent *r = &j->resent;
	s64 any = 0;
	int ret;

	if (j->about.kind != SUBJECT_server || !verdict_outweighs(j, INFINITY))
		return 0;
	ret = db_int(c->db, &any, e, "SELECT EXISTS (SELECT 1 FROM retransmit)", "");
	if (ret == 0 && any)
		ret = read_answers(c, j, l, e);
	if (ret < 0 || r->n < LEAST || stats_events_low(r->n) < l->errors * r->of)
		return ret;
	/* one client of several has a path of its own */
	if (!verdict_outweighs(j, r->clients < 2 && r->others > 0 ? 0 : r->n * r->late))
		return ret;
	verdict_take(j, VERDICT_resent, r->start, r->end, r->n);
	return 0;
}

int verdict_resent_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_resent *r = &j->resent;
	bool before = r->of_otherwise >= KNOWN, later = !(r->acked <= r->acked_otherwise);
	const struct value values[] = {
		VALUE_NUMBER("start", r->start, "at"),
		VALUE_NUMBER("end", r->end < (double)c->duration - j->width ? r->end : NAN, "at"),
		VALUE_NUMBER("n", r->n, ""),
		VALUE_NUMBER("of", r->of, ""),
		VALUE_NUMBER("share", 100 * r->n / r->of, "%"),
		VALUE_NUMBER("otherwise", before ? 100 * r->n_otherwise / r->of_otherwise : NAN,
			     "%"),
		VALUE_NUMBER("late", r->late, "ns"),
		VALUE_NUMBER("max", r->max, "ns"),
		VALUE_NUMBER("acked", later ? r->acked : NAN, "ns"),
		VALUE_NUMBER("acked_otherwise", r->acked_otherwise, "ns"),
		VALUE_TEXT("on_time", j->outweighed == VERDICT_none ? "on time" : NULL),
		VALUES_OUTWEIGHED(j),
		{ 0 },
	};
	const struct value path[] = {
		VALUE_MAYBE("client", client, r->client),
		VALUE_NUMBER("clients", r->clients > 1 ? r->clients - 1 : NAN, ""),
		VALUE_NUMBER("segments", r->segments, ""),
		VALUE_NUMBER("others", r->others > 0 ? r->others : NAN, ""),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_resent, PROBLEM, OBSERVED, j->about, NULL, values, 0
	};
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	const struct finding cause = { FINDING_resent_path, PROBLEM, CAUSAL, j->about, NULL, path,
				       j->finding };

	return ret < 0 ? ret : finding_put(c->db, c->analysis->name, &cause, NULL, e);
}
