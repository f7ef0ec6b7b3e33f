// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A request that is the only one of its name in the recording, and began or ended as requests
 * became slower or failed: a cache that is emptied, an index that is dropped, a server that becomes
 * a replica. Before a pause it ended: what lasts for the pause is its cause. Of the server, or of a
 * recorded one that it asks. When the change began is known to a window; the one before counts,
 * too. Of many names that occur once, one does so then by chance: nothing is said.
 *
 * A SIGHUP from another process within the same time is said as well: a server reads its
 * configuration again.
 *
 * Else a name whose requests arrive from then on, and did not before: if they were spread over the
 * whole time, that none was before the first would be chance. Of many new names, the same holds.
 */
#include "verdict.h"
#include "verdict_names.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/db.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

struct just_then {
	s64 request, server;
	double once; /* names */
};

static int on_request(void *arg, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	*(struct just_then *)arg =
		(struct just_then){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				    sqlite3_column_double(q, 2) };
	return 0;
}

/* The requests of a name. */
struct arrivals {
	s64 name, first;
	double n;
};

struct new_names {
	struct idmap names;
	s64 first, last; /* of all requests */
};

static int on_arrival(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	s64 ts = row->ts - (s64)row->queued;
	struct new_names *x = arg;
	struct arrivals *a;

	(void)rowid;
	if (ts < x->first)
		x->first = ts;
	if (ts > x->last)
		x->last = ts;
	if (row->name == BULK_NULL)
		return 0;
	a = idmap_get(&x->names, (u64)row->name);
	if (!a)
		a = idmap_add(&x->names, (u64)row->name, sizeof(*a), TASK_LIMIT, "names", e);
	if (!a)
		return ERR_FAIL;
	if (!a->n++ || ts < a->first)
		a->first = ts;
	a->name = row->name;
	return 0;
}

static bool is_new(const struct new_names *x, const struct arrivals *a)
{
	double left = (double)(x->last - a->first) / (double)(x->last - x->first);

	return a->n >= DUE_ANSWERS && (double)x->names.n * pow(left, a->n) <= CHANCE_MOST;
}

static int put_new(struct analysis_ctx *c, const struct judged *j, double from, double to,
		   struct err *e)
{
	struct new_names x = { .first = c->duration };
	const struct arrivals *a, *found = NULL;
	double n = 0;
	size_t at = 0;
	int ret = requests_each(c->db, 0, "SELECT id, 1 FROM service WHERE server=?", j->about.id,
				on_arrival, &x, e);

	while (ret == 0 && x.last > x.first && (a = idmap_each(&x.names, &at)) != NULL) {
		if (!is_new(&x, a))
			continue;
		n++;
		if ((double)a->first >= from && (double)a->first <= to &&
		    (!found || a->n > found->n))
			found = a;
	}
	if (ret == 0 && found && n * (to - from) <= CHANCE_MOST * (double)(x.last - x.first)) {
		const struct value values[] = {
			VALUE_SUBJECT("name", request_name, found->name),
			VALUE_NUMBER("since", (double)found->first, "at"),
			VALUE_NUMBER("n", found->n, ""),
			{ 0 },
		};
		const struct finding f = {
			FINDING_verdict_new_name, WARNING, CORRELATED, j->about, NULL, values, 0
		};

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	idmap_free_all(&x.names);
	return ret < 0 ? ret : 0;
}

/* Of other processes, as for a reload. Those of pauses are said by pause_signal.c. */
static int put_signal(struct analysis_ctx *c, const struct judged *j, double from, double to,
		      struct err *e)
{
	static const char sql[] =
		"WITH own AS MATERIALIZED (SELECT pid FROM service WHERE server=?1), g AS MATERIALIZED (SELECT ts,"
		" pid, sender || '[' || tid || ']' AS sender FROM signal_sent WHERE signal=1 AND code <= 0 AND pid IN"
		" own AND sender_pid NOT IN own) SELECT ts, pid, sender, (SELECT count(*) FROM g) FROM g WHERE ts"
		" BETWEEN ?2 AND ?3 ORDER BY ts LIMIT 1";
	sqlite3_stmt *q;
	int ret;

	if (j->kind == VERDICT_pauses)
		return 0;
	ret = db_query(&q, c->db, e, sql, "idd", j->about.id, from, to);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 &&
	    sqlite3_column_double(q, 3) * (to - from) <= CHANCE_MOST * (double)c->duration) {
		const struct value values[] = {
			VALUE_NUMBER("at", sqlite3_column_double(q, 0), "at"),
			VALUE_SUBJECT("process", process, sqlite3_column_int64(q, 1)),
			VALUE_TEXT("sender", db_text(q, 2)),
			{ 0 },
		};
		const struct finding f = {
			FINDING_verdict_signal_then, WARNING, CORRELATED, j->about,
			"SELECT * FROM signal_sent", values,  0
		};

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	return db_end(q, ret);
}

int verdict_just_then(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH own AS MATERIALIZED (SELECT pid FROM service WHERE server=?1), s AS MATERIALIZED (SELECT id,"
		" server FROM service WHERE pid IN (SELECT pid FROM own) OR (pid, port) IN (SELECT pid, port FROM fd WHERE"
		" role='accepted' AND local IN (SELECT remote FROM fd WHERE role='connected' AND remote<>'' AND"
		" pid IN (SELECT pid FROM own)))), n AS MATERIALIZED (SELECT r.rowid AS id, s.server, r.ts AS"
		" first, max(r.ts + r.dur) AS last, total(r.errors) AS failed FROM request r JOIN s ON s.id=r.service WHERE"
		" r.name NOT NULL GROUP BY s.server, r.name HAVING count(*)=1) SELECT id, server, (SELECT count(*) FROM"
		" n) FROM n WHERE (last BETWEEN ?2 AND ?3 OR (NOT ?4 AND first BETWEEN ?2 AND ?3)) AND NOT failed"
		" ORDER BY abs(last - (?2 + ?3) / 2) LIMIT 1";
	double from = verdict_since(j) - j->width, to = verdict_since(j) + j->width;
	struct just_then t = { 0 };
	int ret = 0;

	if ((j->kind != VERDICT_slower && j->kind != VERDICT_errors && j->kind != VERDICT_pauses) ||
	    j->given || j->about.kind != SUBJECT_server || !(from > 0))
		return 0;
	/* of names, the first request that is slow is known */
	ret = put_signal(c, j, j->names ? fmin(from, j->names->first - j->width) : from, to, e);
	if (ret == 0)
		ret = db_each(c->db, e, on_request, &t, sql, "iddi", j->about.id, from, to,
			      (s64)(j->kind == VERDICT_pauses));
	if (ret < 0)
		return ret;
	if (!t.request || t.once * (to - from) > CHANCE_MOST * (double)c->duration)
		return put_new(c, j, from, to, e);
	const struct value values[] = {
		VALUE_SUBJECT("request", request, t.request),
		VALUE_MAYBE("server", server, t.server == j->about.id ? 0 : t.server),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_just_then, WARNING, CORRELATED, j->about, NULL, values, 0
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}
