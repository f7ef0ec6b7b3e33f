// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that ask another server more often than those at other times: a cache that is empty, a
 * query for each row. Questions are counted by the thread that asks: a question belongs to the
 * request that the thread works on, if it works on no other during that time. Where threads do
 * several at once, or others ask for them, no question belongs to one request: then all questions
 * of the time range are divided by all its requests, unless the verdict is about some names only.
 * It is a cause if the further questions, at the usual time of an answer, take most of what was
 * added. Of many more questions the answers may take longer for it: theirs counts. Questions that
 * went to another server otherwise are no further ones: then one server gets the share of another.
 */
#include "verdict_names.h"

#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESSES_MOST 64
#define NAMES_MOST     64
#define MOSTLY	       0.5
#define MANY	       2.0 /* times as often */

/* A request of the server; about: it is one of those that the verdict is about; other: of a name
 * that it is not about. */
struct asking {
	s64 tid, ts, end, name;
	bool about, other, alone;
};

/* Of others, and of those that the verdict is about. */
struct asked_tally {
	double n[2], ns[2]; /* in requests that are alone on their thread */
	double all[2], all_ns[2];
};

/* Of the requests of a name that the verdict is about. */
struct asked_name {
	s64 id;
	double requests, n;
};

struct asks {
	const struct judged *j;
	const struct asked_tally *most, *left; /* left: most gets what this one got */
	struct asked_name name[NAMES_MOST];
	int n_names;
	struct asking *v;
	size_t n;
	char *address[ADDRESSES_MOST];
	struct asked_tally of[ADDRESSES_MOST];
	int n_addresses;
	double requests[2], alone[2], took[2], took_alone[2];
	double questions, owned;
};

static bool is_other(const struct judged *j, s64 name)
{
	int i;

	for (i = 0; j->names && i < j->names->n; i++)
		if (j->names->id[i] == name)
			return false;
	return j->names != NULL;
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct asks *k = arg;
	struct asking one = { .tid = row->tid,
			      .ts = row->ts,
			      .end = row->ts + row->dur,
			      .name = row->name == BULK_NULL ? 0 : row->name };

	(void)rowid;
	one.about = verdict_is_about(k->j, row->ts - row->queued, one.end, row->name);
	one.other = !one.about && is_other(k->j, row->name);
	if (GROW(k->v, k->n, "requests", e) < 0)
		return ERR_FAIL;
	k->v[k->n++] = one;
	if (one.other)
		return 0;
	k->requests[one.about]++;
	k->took[one.about] += (double)row->dur;
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct asking *x = a, *y = b;

	return x->tid != y->tid ? (x->tid < y->tid ? -1 : 1) : (x->ts > y->ts) - (x->ts < y->ts);
}

static void find_alone(struct asks *k)
{
	s64 until = 0;
	size_t i;

	qsort(k->v, k->n, sizeof(*k->v), by_thread);
	for (i = 0; i < k->n; i++) {
		struct asking *r = &k->v[i];

		until = i && r[-1].tid == r->tid ? until : 0;
		r->alone = r->ts >= until &&
			   (i + 1 == k->n || r[1].tid != r->tid || r[1].ts >= r->end);
		until = r->end > until ? r->end : until;
		if (r->other)
			continue;
		k->alone[r->about] += r->alone;
		k->took_alone[r->about] += r->alone ? (double)(r->end - r->ts) : 0;
	}
}

/* The last request that the thread had read at a time. */
static const struct asking *request_at(const struct asks *k, s64 tid, s64 ts)
{
	size_t low = 0, high = k->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (k->v[mid].tid < tid || (k->v[mid].tid == tid && k->v[mid].ts <= ts))
			low = mid + 1;
		else
			high = mid;
	}
	return low && k->v[low - 1].tid == tid ? &k->v[low - 1] : NULL;
}

static struct asked_tally *tally_of(struct asks *k, const char *address)
{
	int i;

	for (i = 0; i < k->n_addresses; i++)
		if (strcmp(k->address[i], address) == 0)
			return &k->of[i];
	if (i == ADDRESSES_MOST || !(k->address[i] = strdup(address)))
		return NULL;
	k->n_addresses++;
	return &k->of[i];
}

/* Columns: thread, when it asked, the answer, address. */
static int add_question(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 tid = sqlite3_column_int64(q, 0), ts = sqlite3_column_int64(q, 1),
	    end = sqlite3_column_int64(q, 2);
	struct asks *k = arg;
	struct asked_tally *of = tally_of(k, db_text(q, 3));
	const struct asking *r = request_at(k, tid, ts);
	bool about = verdict_is_about(k->j, ts, end, BULK_NULL);

	(void)e;
	if (!of)
		return 0;
	k->questions++;
	of->all[about]++;
	of->all_ns[about] += (double)(end - ts);
	if (!r || !r->alone || end > r->end)
		return 0;
	k->owned++;
	if (r->other)
		return 0;
	of->n[r->about]++;
	of->ns[r->about] += (double)(end - ts);
	return 0;
}

/* Columns as add_question has them. */
static const char questions_sql[] =
	"SELECT u.tid, coalesce(u.first_send, u.ts), u.ts + u.dur, coalesce((SELECT nullif(f.remote, '') FROM"
	" fd f WHERE f.pid=u.pid AND f.fd=u.fd AND f.ts <= u.ts ORDER BY f.ts DESC LIMIT 1), '') AS at FROM"
	" upstream u WHERE NOT u.lossy AND u.pid IN (SELECT pid FROM service WHERE server=?1) AND at<>''";

/* Counts by request, or by time, become the same: n and ns of each side. */
static bool choose(struct asks *k, bool *ret_by_request)
{
	bool by_request = k->owned >= MOSTLY * k->questions;
	int i, side;

	for (side = 0; side < 2; side++)
		by_request &= k->alone[side] >= MOSTLY * k->requests[side];
	*ret_by_request = by_request;
	if (by_request) {
		memcpy(k->requests, k->alone, sizeof(k->requests));
		memcpy(k->took, k->took_alone, sizeof(k->took));
		return true;
	}
	for (i = 0; i < k->n_addresses; i++) {
		memcpy(k->of[i].n, k->of[i].all, sizeof(k->of[i].n));
		memcpy(k->of[i].ns, k->of[i].all_ns, sizeof(k->of[i].ns));
	}
	/* questions at the same time: their answers are no sum of waits */
	return k->j->kind == VERDICT_slower && !k->j->names;
}

static bool explains(const struct asks *k, const struct asked_tally *of)
{
	double n = of->n[1] / k->requests[1], before = of->n[0] / k->requests[0];
	double added = k->took[1] / k->requests[1] - k->took[0] / k->requests[0];
	double now = of->ns[1] / of->n[1], each = of->n[0] > 0 ? of->ns[0] / of->n[0] : now;
	/* retries of answers that take longer are further questions, too: fewer times as many */
	bool many = n >= MANY * before && n * each >= before * now;

	return n > before && added > 0 && (n - before) * (many ? now : each) >= MOSTLY * added;
}

static double per_request(const struct asks *k, const struct asked_tally *of, int side)
{
	return of->all[side] / k->requests[side];
}

/* Of questions that another server got otherwise: the server that lost most, if that explains it.
 */
static const struct asked_tally *shifted_from(const struct asks *k, const struct asked_tally *of)
{
	double added = k->took[1] / k->requests[1] - k->took[0] / k->requests[0];
	double rise = per_request(k, of, 1) - per_request(k, of, 0), lost = 0, before = 0, fell;
	double ns = of->all_ns[1] / k->requests[1] - of->all_ns[0] / k->requests[0], most = 0;
	const struct asked_tally *ret = NULL, *o;

	for (o = k->of; o < k->of + k->n_addresses; o++) {
		fell = per_request(k, o, 0) - per_request(k, o, 1);
		if (o == of || fell <= 0)
			continue;
		lost += fell;
		before += per_request(k, o, 0);
		ns -= fell * o->all_ns[0] / o->all[0];
		if (fell > most)
			ret = o;
		most = fell > most ? fell : most;
	}
	if (per_request(k, of, 1) < MANY * per_request(k, of, 0) && MANY * lost < before)
		return NULL;
	return rise > 0 && lost >= MOSTLY * rise && added > 0 && ns >= MOSTLY * added ? ret : NULL;
}

/* By time: which request a question belongs to does not matter. */
static void find_shifted(struct asks *k)
{
	const struct asked_tally *of, *left;

	if (k->j->kind != VERDICT_slower || k->j->names)
		return;
	for (of = k->of; of < k->of + k->n_addresses; of++) {
		left = shifted_from(k, of);
		if (!left || (k->most && of->all_ns[1] <= k->most->all_ns[1]))
			continue;
		k->most = of;
		k->left = left;
	}
}

static struct asked_name *name_of(struct asks *k, s64 id)
{
	int i;

	for (i = 0; i < k->n_names; i++)
		if (k->name[i].id == id)
			return &k->name[i];
	if (!id || i == NAMES_MOST)
		return NULL;
	k->name[k->n_names].id = id;
	return &k->name[k->n_names++];
}

static int add_to_name(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 tid = sqlite3_column_int64(q, 0), ts = sqlite3_column_int64(q, 1);
	struct asks *k = arg;
	const struct asking *r = request_at(k, tid, ts);
	struct asked_name *name;

	(void)e;
	if (!r || !r->alone || !r->about || sqlite3_column_int64(q, 2) > r->end ||
	    tally_of(k, db_text(q, 3)) != k->most)
		return 0;
	name = name_of(k, r->name);
	if (name)
		name->n++;
	return 0;
}

/* The name whose requests asked most of these questions, if they ask more often than all do. */
static int find_name(struct analysis_ctx *c, struct asks *k, const struct asked_name **ret,
		     struct err *e)
{
	struct asked_name *name;
	size_t i;
	int at, err = db_each(c->db, e, add_to_name, k, questions_sql, "i", k->j->about.id);

	for (i = 0; i < k->n; i++)
		if (k->v[i].about && k->v[i].alone && (name = name_of(k, k->v[i].name)))
			name->requests++;
	for (at = 0; at < k->n_names; at++)
		if (!*ret || k->name[at].n > (*ret)->n)
			*ret = &k->name[at];
	if (*ret && (*ret)->n * k->requests[1] <= k->most->n[1] * (*ret)->requests)
		*ret = NULL;
	return err;
}

static int put(struct analysis_ctx *c, const struct asks *k, const struct asked_name *name,
	       struct err *e)
{
	const struct asked_tally *of = k->most;
	const struct value values[] = {
		VALUE_TEXT("address", k->address[of - k->of]),
		VALUE_NUMBER("n", of->n[1] / k->requests[1], ""),
		VALUE_NUMBER("before", of->n[0] / k->requests[0], ""),
		VALUE_MAYBE("name", request_name, name ? name->id : 0),
		VALUE_NUMBER("of_name", name ? name->n / name->requests : NAN, ""),
		VALUE_NUMBER("each", of->ns[1] / of->n[1], "ns"),
		VALUE_NUMBER("each_before", of->n[0] > 0 ? of->ns[0] / of->n[0] : NAN, "ns"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_asks,     PROBLEM, OBSERVED,	    k->j->about,
				   "SELECT * FROM upstream", values,  k->j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

static double share_of(const struct asks *k, const struct asked_tally *of, int side)
{
	double all = 0;
	int i;

	for (i = 0; i < k->n_addresses; i++)
		all += k->of[i].all[side];
	return all > 0 ? 100 * of->all[side] / all : NAN;
}

static int put_shifted(struct analysis_ctx *c, const struct asks *k, struct err *e)
{
	const struct asked_tally *of = k->most, *left = k->left;
	const struct value values[] = {
		VALUE_TEXT("upstream", k->address[of - k->of]),
		VALUE_NUMBER("share", share_of(k, of, 1), "%"),
		VALUE_NUMBER("before", share_of(k, of, 0), "%"),
		VALUE_TEXT("other", k->address[left - k->of]),
		VALUE_NUMBER("left", share_of(k, left, 1), "%"),
		VALUE_NUMBER("other_before", share_of(k, left, 0), "%"),
		VALUE_NUMBER("each", of->all_ns[1] / of->all[1], "ns"),
		VALUE_NUMBER("each_before", of->all[0] > 0 ? of->all_ns[0] / of->all[0] : NAN,
			     "ns"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_shifted,  PROBLEM, OBSERVED,	    k->j->about,
				   "SELECT * FROM upstream", values,  k->j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_asks(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char any_sql[] =
		"SELECT EXISTS (SELECT 1 FROM upstream WHERE pid IN (SELECT pid FROM service WHERE server=?1))";
	struct asks *k;
	const struct asked_name *name = NULL;
	bool by_request = false;
	s64 any = 0;
	int i, ret = db_int(c->db, &any, e, any_sql, "i", j->about.id);

	if (ret < 0 || !any)
		return ret;
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(e, ERR_FAIL, "out of memory for questions");
	k->j = j;
	ret = requests_each(c->db, COLUMN_OF(request, tid),
			    "SELECT id FROM service WHERE server=?1", j->about.id, add_request, k,
			    e);
	if (ret == 0 && k->n) {
		find_alone(k);
		ret = db_each(c->db, e, add_question, k, questions_sql, "i", j->about.id);
	}
	if (ret == 0 && k->requests[0] > 0 && k->requests[1] > 0)
		find_shifted(k);
	if (ret == 0 && !k->most && k->requests[0] > 0 && k->requests[1] > 0 &&
	    choose(k, &by_request))
		for (i = 0; i < k->n_addresses; i++)
			if (explains(k, &k->of[i]) && (!k->most || k->of[i].ns[1] > k->most->ns[1]))
				k->most = &k->of[i];
	if (k->most && !k->left && by_request)
		ret = find_name(c, k, &name, e);
	if (ret == 0 && k->most)
		ret = k->left ? put_shifted(c, k, e) : put(c, k, name, e);
	while (k->n_addresses > 0)
		free(k->address[--k->n_addresses]);
	free(k->v);
	free(k);
	return ret;
}
