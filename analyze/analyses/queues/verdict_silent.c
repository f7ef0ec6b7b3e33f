// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does another server that answered answer nothing any more, over UDP? What the server asked it
 * since its last answer has none: at least ten questions, each for longer than any answer took, so
 * many that the share without an answer before does not explain it. Who never answers, as one that
 * takes metrics, is none; nor is one that is asked nothing any more, or whose questions end with
 * their process. On streams an answer to a handshake is none to what is only published afterwards;
 * requests that wait for them are found by other rules.
 */
#include "fd_rows.h"
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
	s64 row;	/* fd.rowid of a socket that it had */
	s64 last;	/* question with an answer */
	s64 longest;	/* time to an answer */
	s64 from, till; /* first and last question after it */
	double answered, missed, silent;
};

/* A question without an answer; till: its socket was closed, or the recording ended. */
struct missed {
	struct peer *peer;
	s64 ts, till;
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
	if (p)
		p->row = f->row;
	return p;
}

static int on_answer(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	const struct fd_row *f;
	struct peer *p = peer_at(arg, row->pid, row->fd, row->ts, &f, e);

	(void)rowid;
	if (!p)
		return f ? ERR_FAIL : 0;
	p->answered++;
	p->last = row->ts > p->last ? row->ts : p->last;
	p->longest = row->dur > p->longest ? row->dur : p->longest;
	return 0;
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
	s->v[s->n++] = (struct missed){ p, row->ts, f->end < s->duration ? f->end : s->duration };
	return 0;
}

static void count(struct silence *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct missed *m = &s->v[i];
		struct peer *p = m->peer;

		if (m->ts <= p->last) {
			p->missed++;
		} else if (m->till - m->ts > p->longest) {
			p->from = p->silent > 0 && p->from < m->ts ? p->from : m->ts;
			p->till = m->ts > p->till ? m->ts : p->till;
			p->silent++;
		}
	}
}

static bool is_silent(const struct peer *p)
{
	double by_chance = (p->missed + 1) / (p->answered + p->missed + 1);

	return p->answered >= LEAST && p->silent >= LEAST &&
	       p->till - p->from >= LASTS * p->longest &&
	       p->silent * log(by_chance) < log(BY_CHANCE);
}

static int read_all(struct silence *s, struct analysis_ctx *c, s64 server, struct err *e)
{
	int ret = fd_rows_read(&s->fds, c->db, server, "connected", e);

	if (ret == 0 && s->fds.n)
		ret = rows_each(c->db, TABLE_upstream_unanswered, COLUMNS_ALL, on_missed, s, e);
	if (ret == 0 && s->n >= LEAST)
		ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, on_answer, s, e);
	if (ret == 0)
		count(s);
	return ret < 0 ? ret : 0;
}

int verdict_silent(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct silence s = { .duration = c->duration };
	const struct peer *p, *most = NULL;
	size_t at = 0;
	s64 lost = 0;
	int ret = 0;

	if (j->about.kind != SUBJECT_server || j->status == STATUS_PROBLEM)
		return 0;
	ret = db_int(c->db, &lost, e, "SELECT EXISTS (SELECT 1 FROM loss)", "");
	if (ret < 0 || lost)
		return ret;
	ret = read_all(&s, c, j->about.id, e);
	while (ret == 0 && (p = idmap_each(&s.peers, &at)))
		if (is_silent(p) && (!most || p->silent > most->silent))
			most = p;
	if (most) {
		j->status = STATUS_PROBLEM;
		j->kind = VERDICT_silent;
		j->start = (double)most->from;
		j->end = (double)c->duration;
		j->n = most->silent;
		j->silent = (struct verdict_silent){ .row = most->row,
						     .answered = most->answered,
						     .before = most->answered + most->missed };
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
		" (SELECT state, total(min(ts + dur, ?3) - max(ts, ?2)) AS ns FROM thread_state WHERE ts + dur > ?2 AND"
		" tid IN (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM p)) GROUP BY state) SELECT (SELECT"
		" pid FROM p), state, ns, (SELECT sum(ns) FROM t) FROM t WHERE (SELECT count(*) FROM p)=1 ORDER BY"
		" ns DESC LIMIT 1";
	const char *port = strrchr(address, ':');
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "siis", address, (s64)j->start, c->duration,
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

int verdict_silent_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(nullif(remote, ''), path, '') FROM fd WHERE rowid=?1";
	const struct verdict_silent *m = &j->silent;
	struct buf address = { 0 };
	int ret = db_add_text(&address, c->db, e, sql, "i", m->row);
	const struct value values[] = {
		VALUE_TEXT("address", address.len ? address.data : ""),
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("n", j->n, ""),
		VALUE_NUMBER("answered", m->answered, ""),
		VALUE_NUMBER("before", m->before, ""),
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
		ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	if (ret == 0)
		ret = say_peer(c, j, address.len ? address.data : "", e);
	buf_free(&address);
	return ret;
}
