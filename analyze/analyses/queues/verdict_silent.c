// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does another server that answered answer nothing, over UDP? What the server asked it from some
 * time on has no answer: at least ten questions, each for longer than any answer took, so many that
 * the share without an answer at other times does not explain it. A server that never answers, as
 * one that takes metrics, is none; nor is one that is asked nothing any more, or whose questions
 * end with their process. It may answer again later: then it counts from the length of a pause on.
 * On streams an answer to a handshake is none to what is only published afterwards; requests that
 * wait for them are found by other rules.
 */
#include "analyze/analyses/verdict/fd_rows.h"
#include "verdict_queues.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST	  10
#define BY_CHANCE 1e-6
#define LASTS                                                                          \
	3 /* the last of them are asked so many of the longest answers after the first \
	   */

struct peer {
	s64 row;     /* fd.rowid of a socket that it had */
	s64 longest; /* time to an answer */
	double answered, missed;
	bool answers; /* also what was asked after the last question without an answer */
};

/* A question without an answer; till: its socket was closed, or the recording ended. */
struct missed {
	struct peer *peer;
	s64 ts, till;
	bool first; /* since the last question that had an answer */
};

/* Such questions without one with an answer between them. */
struct silent {
	const struct peer *peer; /* NULL: none */
	s64 from, till;		 /* first and last question */
	double n, all, waited;	 /* n: those that waited for longer than any answer took */
	bool ended;
};

struct silence {
	struct fd_rows fds;
	struct idmap peers; /* fd_row.remote -> struct peer */
	struct missed *v;
	size_t n;
	s64 duration;
};

static struct peer *peer_at(struct silence *s, s64 pid, s64 fd, s64 ts, const struct fd_row **ret,
			    struct err *e)
{
	const struct fd_row *f = fd_rows_at(&s->fds, pid, fd, ts);
	struct peer *p = f ? idmap_get(&s->peers, (u64)f->remote) : NULL;

	*ret = f;
	if (f && !p)
		p = idmap_add(&s->peers, (u64)f->remote, sizeof(*p), SOCKET_LIMIT, "connections",
			      e);
	if (p && !p->row)
		p->row = f->row;
	return p;
}

static int on_missed(void *arg, s64 rowid, const void *unanswered, struct err *e)
{
	const struct row_upstream_unanswered *row = unanswered;
	struct silence *s = arg;
	const struct fd_row *f;
	struct peer *p = peer_at(s, row->pid, row->fd, row->ts, &f, e);

	(void)rowid;
	if (!p)
		return f ? ERR_FAIL : 0;
	if (!row->datagram)
		return 0;
	if (GROW(s->v, s->n, "questions", e) < 0)
		return ERR_FAIL;
	s->v[s->n++] =
		(struct missed){ p, row->ts, f->end < s->duration ? f->end : s->duration, false };
	p->missed++;
	return 0;
}

/* By peer and time. */
static int by_peer(const void *a, const void *b)
{
	const struct missed *x = a, *y = b;

	if (x->peer != y->peer)
		return x->peer->row < y->peer->row ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* The first question to a peer since ts that has no answer. */
static struct missed *missed_since(const struct silence *s, const struct peer *p, s64 ts)
{
	const struct missed key = { .peer = (struct peer *)p, .ts = ts };
	size_t from = 0, to = s->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (by_peer(&s->v[mid], &key) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from < s->n && s->v[from].peer == p ? &s->v[from] : NULL;
}

static int on_answer(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	const struct fd_row *f;
	struct missed *next;
	struct peer *p = peer_at(arg, row->pid, row->fd, row->ts, &f, e);

	(void)rowid;
	if (!p)
		return f ? ERR_FAIL : 0;
	p->answered++;
	p->longest = row->dur > p->longest ? row->dur : p->longest;
	next = missed_since(arg, p, row->ts);
	if (next)
		next->first = true;
	else
		p->answers = true;
	return 0;
}

static bool is_silent(const struct silent *s, const struct limits *l)
{
	const struct peer *p = s->peer;
	double before = p->missed - s->all, by_chance = (before + 1) / (p->answered + before + 1);

	return p->answered >= LEAST && s->n >= LEAST && s->till - s->from >= LASTS * p->longest &&
	       s->n * log(by_chance) < log(BY_CHANCE) &&
	       !(s->ended && (double)(s->till - s->from) < l->pause);
}

/* The one with most questions. */
static struct silent most_silent(const struct silence *s, const struct limits *l)
{
	struct silent most = { 0 }, one = { 0 };
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct missed *m = &s->v[i], *next = i + 1 < s->n ? m + 1 : NULL;
		bool last = !next || next->peer != m->peer;

		if (m->first || m->peer != one.peer)
			one = (struct silent){ .peer = m->peer };
		one.all++;
		if (m->till - m->ts > m->peer->longest) {
			one.from = one.n > 0 ? one.from : m->ts;
			one.till = m->ts;
			one.waited += (double)(m->till - m->ts);
			one.n++;
		}
		one.ended = last ? m->peer->answers : next->first;
		if ((last || next->first) && one.n > most.n && is_silent(&one, l))
			most = one;
	}
	return most;
}

static int read_all(struct silence *s, struct analysis_ctx *c, s64 server, struct err *e)
{
	int ret = fd_rows_read(&s->fds, c->db, server, "connected", e);

	if (ret == 0 && s->fds.n)
		ret = rows_each(c->db, TABLE_upstream_unanswered, COLUMNS_ALL, on_missed, s, e);
	if (ret < 0 || s->n < LEAST)
		return ret < 0 ? ret : 0;
	qsort(s->v, s->n, sizeof(*s->v), by_peer);
	ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, on_answer, s, e);
	return ret < 0 ? ret : 0;
}

static bool comes_first(const struct judged *j, double harm)
{
	return j->status != STATUS_PROBLEM || verdict_outweighs(j, harm);
}

int verdict_silent(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct silence s = { .duration = c->duration };
	struct silent most;
	s64 lost = 0;
	int ret = 0;

	if (j->about.kind != SUBJECT_server || !comes_first(j, INFINITY))
		return 0;
	ret = db_int(c->db, &lost, e, "SELECT EXISTS (SELECT 1 FROM loss)", "");
	if (ret < 0 || lost)
		return ret;
	ret = read_all(&s, c, j->about.id, e);
	most = ret == 0 ? most_silent(&s, l) : (struct silent){ 0 };
	if (most.n > 0 && comes_first(j, most.waited)) {
		j->silent = (struct verdict_silent){
			.row = most.peer->row,
			.answered = most.peer->answered,
			.before = most.peer->answered + most.peer->missed - most.all,
			.ended = most.ended,
		};
		verdict_take(j, VERDICT_silent, (double)most.from,
			     most.ended ? (double)most.till : (double)c->duration, most.n);
	}
	idmap_free_all(&s.peers);
	fd_rows_free(&s.fds);
	free(s.v);
	return ret;
}

/* The process that has its socket, if one has, and what its threads did since. */
static int say_peer(struct analysis_ctx *c, const struct judged *j, const char *address,
		    struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT DISTINCT pid FROM fd WHERE role IN ('bound', 'listening') AND (local=?1"
		" OR local IN ('0.0.0.0:' || ?4, '[::]:' || ?4)) AND ts <= ?2 AND coalesce(end, ?3) > ?2), t AS"
		" (SELECT state, total(min(ts + dur, ?3) - max(ts, ?2)) AS ns FROM thread_state WHERE ts + dur > ?2 AND ts < ?3 AND"
		" tid IN (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM p)) GROUP BY state) SELECT (SELECT"
		" pid FROM p), state, ns, (SELECT sum(ns) FROM t) FROM t WHERE (SELECT count(*) FROM p)=1 ORDER BY"
		" ns DESC LIMIT 1";
	const char *port = strrchr(address, ':');
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "siis", address, (s64)j->start, (s64)j->end,
			   port ? port + 1 : ""),
	    state;

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	state = ret > 0 ? sqlite3_column_int(q, 1) : -1;
	if (state >= 0 && state < N_STATES) {
		const struct value values[] = {
			VALUE_SUBJECT("process", process, sqlite3_column_int64(q, 0)),
			VALUE_TEXT("state", verdict_does[state]),
			VALUE_NUMBER(
				"share",
				percent(sqlite3_column_double(q, 2), sqlite3_column_double(q, 3)),
				"%"),
			{ 0 },
		};
		const struct finding f = { FINDING_silent_process,
					   PROBLEM,
					   OBSERVED,
					   j->about,
					   "SELECT * FROM upstream_unanswered",
					   values,
					   j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	} else if (ret >= 0) {
		const struct value none[] = { VALUE_TEXT("address", address), { 0 } };
		const struct finding f = { FINDING_silent_unknown,
					   PROBLEM,
					   OBSERVED,
					   j->about,
					   "SELECT * FROM upstream_unanswered",
					   none,
					   j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	return db_end(q, ret < 0 ? ret : 0);
}

struct datagrams {
	double received, sent;
};

static int on_datagrams(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct datagrams *d = arg;

	(void)e;
	d->received = sqlite3_column_double(q, 0);
	d->sent = sqlite3_column_double(q, 1);
	return 0;
}

/* Of a server of datagrams in the time of the verdict: how many it received, and sent. */
static int read_datagrams(struct analysis_ctx *c, const struct judged *j, struct datagrams *d,
			  struct err *e)
{
	static const char sql[] =
		"WITH f AS (SELECT f.* FROM fd f JOIN service v ON v.pid=f.pid AND f.role='bound' AND"
		" f.local LIKE '%:' || v.port WHERE v.server=?1 AND v.kind='udp'), m AS (SELECT name LIKE 'recv%'"
		" AS received, iif(name LIKE '%mmsg', ret, 1) AS n FROM f JOIN thread t ON t.pid=f.pid JOIN"
		" syscall s ON s.tid=t.tid AND s.fd=f.fd AND s.ret > 0 AND s.ts BETWEEN max(f.ts, ?2) AND"
		" min(coalesce(f.end, ?3), ?3) JOIN syscall_name x ON x.abi=s.abi AND x.nr=s.nr WHERE name LIKE"
		" 'recv%' OR name LIKE 'send%') SELECT total(iif(received, n, 0)), total(iif(received, 0, n)) FROM m";

	return db_each(c->db, e, on_datagrams, d, sql, "idd", j->about.id, j->start, j->end);
}

int verdict_silent_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(nullif(remote, ''), path, '') FROM fd WHERE rowid=?1";
	const struct verdict_silent *m = &j->silent;
	struct datagrams d = { 0 };
	struct buf address = { 0 };
	int ret = db_add_text(&address, c->db, e, sql, "i", m->row),
	    counted = read_datagrams(c, j, &d, e);
	const struct value values[] = {
		VALUE_TEXT("address", address.len ? address.data : ""),
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("end", m->ended ? j->end : NAN, "at"),
		VALUE_NUMBER("n", j->n, ""),
		VALUE_NUMBER("answered", m->answered, ""),
		VALUE_NUMBER("before", m->before, ""),
		VALUE_NUMBER("received", d.sent < d.received ? d.received : NAN, ""),
		VALUE_NUMBER("sent", d.sent, ""),
		VALUES_OUTWEIGHED(j),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_silent,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM upstream_unanswered",
				   values,
				   0 };

	if (ret == 0)
		ret = counted;
	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	if (ret == 0)
		ret = say_peer(c, j, address.len ? address.data : "", e);
	buf_free(&address);
	return ret;
}
