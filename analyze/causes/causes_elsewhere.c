// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pauses are the problem, without a change next to them, and no slow request that was answered
 * touches one. Why those were slow is no part of the problem then.
 */
#include "analyze/store/request_rows.h"
#include "causes.h"
#include "format/grow.h"
#include "sides.h"

#include <stdlib.h>

struct pause_at {
	s64 server; /* a process can have several */
	s64 from, to;
};

struct paused {
	const struct samples *d;
	struct pause_at *at; /* by server */
	size_t n;
	s64 server; /* whose requests are looked at */
	bool touched;
};

static int on_pause(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct paused *p = arg;

	if (GROW(p->at, p->n, "pauses", e) < 0)
		return ERR_FAIL;
	p->at[p->n++] = (struct pause_at){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
					   sqlite3_column_int64(q, 2) };
	return 0;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	s64 from = row->ts - row->queued, to = row->ts + row->dur;
	struct paused *p = arg;
	size_t i;

	(void)rowid;
	(void)e;
	if (sides_of(p->d, from, to - from) != SIDE_SLOW)
		return 0;
	for (i = 0; i < p->n && !p->touched; i++)
		p->touched =
			p->at[i].server == p->server && from < p->at[i].to && to > p->at[i].from;
	return 0;
}

int causes_elsewhere(const struct reporting *r, bool *ret_elsewhere, struct err *e)
{
	static const char pauses[] =
		"WITH v AS MATERIALIZED (SELECT * FROM verdict WHERE status='problem' AND subject_kind='server' AND subject IN"
		" (SELECT server FROM service WHERE CASE ?1 WHEN 'server' THEN server=?2 WHEN 'service' THEN id=?2"
		" ELSE pid=?2 END)) SELECT v.subject, r.start, r.end FROM v JOIN verdict_range r USING(rank) WHERE"
		" v.kind='pauses' AND NOT EXISTS (SELECT 1 FROM v WHERE slow NOT NULL OR kind<>'pauses') ORDER BY 1";
	struct paused p = { .d = r->d };
	int ret = 0;
	size_t i;

	if (r->u->kind == UNIT_REQUEST && r->cmp->basis != BASIS_GIVEN)
		ret = db_each(r->c->db, e, on_pause, &p, pauses, "si", subject_names[r->u->of.kind],
			      r->u->of.id);
	for (i = 0; i < p.n && ret == 0 && !p.touched; i++) {
		if (i && p.at[i].server == p.server)
			continue;
		p.server = p.at[i].server;
		ret = requests_each(r->c->db, 0, "SELECT id FROM service WHERE server=?1", p.server,
				    on_request, &p, e);
	}
	*ret_elsewhere = p.n && !p.touched;
	free(p.at);
	return ret;
}
