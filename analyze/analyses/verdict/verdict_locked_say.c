// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said of requests that wait for a lock of another connection. */
#include "verdict.h"

#include "verdict_stuck.h"

#include "analyze/store/error_names.h"

/* Of the wait, the part in which the holder worked on no request. */
static int read_idle(double *ret_share, sqlite3 *db, const struct release *w, struct err *e)
{
	static const char sql[] =
		"SELECT total(min(till, ?3) - max(ts, ?2)) FROM (SELECT ts, ts + dur AS till FROM request WHERE"
		" tid=?1 UNION ALL SELECT read, ?3 FROM unanswered WHERE tid=?1 AND read NOT NULL) WHERE ts < ?3 AND"
		" till > ?2";
	s64 busy = 0;
	int ret = db_int(db, &busy, e, sql, "iii", w->waker, w->from, w->at);

	*ret_share = 100 * fmax(0, 1 - (double)busy / (double)(w->at - w->from));
	return ret;
}

/* What the holder did for most of the wait; in_turn: ns of it that it waited for a lock itself. */
static int read_did(const char **ret_did, double *ret_share, sqlite3 *db, const struct release *w,
		    s64 in_turn, struct err *e)
{
	double waited = 100 * fmin(1, (double)in_turn / (double)(w->at - w->from)), idle = 0;
	int ret = read_idle(&idle, db, w, e);

	if (ret < 0)
		return ret;
	if (2 * waited < 100 && 2 * idle < 100)
		return verdict_did(ret_did, ret_share, db, w->waker, w->from, w->at, e);
	*ret_did =
		2 * waited >= 100 ? "itself waiting for a lock" : "without a request of its client";
	*ret_share = 2 * waited >= 100 ? waited : idle;
	return 0;
}

static int put_example(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_locked *k = &j->locked;
	const struct release *w = &k->example;
	const struct release *next = &k->next; /* the holder waited for it in its turn */
	bool chain = w->released && next->released && 2 * k->in_turn >= w->at - w->from;
	s64 holder = w->released ? w->waker : 0;
	struct buf caller = { 0 };
	const char *did = NULL, *next_did = NULL;
	double share = NAN, next_share = NAN;
	int ret = verdict_wait_caller(&caller, c->db, w->waiter, w->from, w->at, e);

	if (ret == 0 && holder)
		ret = read_did(&did, &share, c->db, w, k->in_turn, e);
	if (ret == 0 && chain)
		ret = read_did(&next_did, &next_share, c->db, next, 0, e);
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, w->waiter),
		VALUE_NUMBER("length", (double)(w->at - w->from), "ns"),
		VALUE_MAYBE("holder", thread, holder),
		VALUE_MAYBE("released", request, holder ? w->request : 0),
		VALUE_TEXT("did", did),
		VALUE_MAYBE("next", thread, chain ? next->waker : 0),
		VALUE_MAYBE("next_in", request, chain ? next->request : 0),
		VALUE_NUMBER("share", did ? share : NAN, "%"),
		VALUE_MAYBE("waited_for", thread, next_did ? next->waker : 0),
		VALUE_TEXT("next_did", next_did),
		VALUE_NUMBER("next_share", next_did ? next_share : NAN, "%"),
		VALUE_TEXT("caller", caller.len ? caller.data : NULL),
		VALUE_TEXT("unknown", holder ? NULL : "not known"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_locked_wait, PROBLEM, holder ? CAUSAL : OBSERVED, j->about, NULL, values,
		j->finding
	};

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&caller);
	return ret;
}

int verdict_locked_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_locked *k = &j->locked;
	double longest, paused = verdict_also_paused(j, &longest);
	const struct value values[] = {
		VALUE_NUMBER("n", k->n, ""),
		VALUE_NUMBER("of", k->name ? k->of : NAN, ""),
		VALUE_MAYBE("name", request_name, k->name),
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("end", j->end, "at"),
		VALUE_NUMBER("max", k->max, "ns"),
		VALUE_NUMBER("failed", k->failed > 0 ? k->failed : NAN, ""),
		VALUE_TEXT("code", k->code[0] ? k->code : NULL),
		VALUE_TEXT("meaning", error_name(k->code)),
		VALUE_NUMBER("paused", paused, ""),
		VALUE_NUMBER("longest", longest, "ns"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_locked, PROBLEM, OBSERVED, j->about, NULL, values, 0
	};
	int ret;

	if (k->deadlocks)
		return verdict_deadlocks_say(c, j, e);
	ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 ? ret : put_example(c, j, e);
}
