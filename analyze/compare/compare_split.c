// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the time of requests went, from arrival to the last send: sums by category in windows of
 * time. A thread that serves several requests at a time is at one of them: after a read at the
 * request that it read, before a send, if it read none since the last, at the one that it answers.
 * For all others that is waiting for other requests: before their own read whatever the thread did
 * (taken from its time on a CPU first, then from its waits, last from its waits for a CPU), after
 * it only its time on a CPU, because a request may wait for something of its own at the same time.
 * Of probed functions, and of processes without requests, causes' units have the sums.
 */
#include "compare.h"

#include "analyze/stats/sorted.h"
#include "analyze/store/columns/columns.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MOST 1500000 /* more are not split */

struct request {
	s64 row, arrival, ts, end, service;
	double before, during; /* ns of others: before the read, and from there on */
	double own;	       /* ns: its thread was at it */
	u32 tid;
	bool known; /* where its time went */
};

struct requests {
	struct request *v;
	size_t n;
};

/* 1: there are too many. */
static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct requests *t = arg;

	if (t->n == REQUESTS_MOST)
		return 1;
	if (GROW(t->v, t->n, "requests", e) < 0)
		return ERR_FAIL;
	t->v[t->n++] = (struct request){ .row = rowid,
					 .arrival = row->ts - row->queued,
					 .ts = row->ts,
					 .end = row->ts + row->dur,
					 .service = row->service,
					 .tid = row->tid,
					 .known = row->split && !row->lossy };
	return 0;
}

static int read_requests(struct requests *t, sqlite3 *db, struct err *e)
{
	int ret = rows_each(db, TABLE_request,
			    COLUMN_OF(request, ts) | COLUMN_OF(request, dur) |
				    COLUMN_OF(request, queued) | COLUMN_OF(request, service) |
				    COLUMN_OF(request, tid) | COLUMN_OF(request, split) |
				    COLUMN_OF(request, lossy),
			    on_request, t, e);

	return ret < 0 ? ret : 0;
}

/* ---- other requests ---- */

/* A request's read or last send on its thread. */
struct moment_of {
	s64 ts;
	struct request *request;
	bool end;
};

/* A thread is at one request; before: total length of the thread's ranges before it. */
struct range {
	s64 from, to;
	double before;
};

struct serving {
	struct moment_of *moments; /* by thread, by time; of one time sends first */
	struct range *ranges;
	size_t n;
};

/*
 * Length of the ranges up to an instant. at: where the search begins, and the first range that
 * begins then or later.
 */
static double served_until(const struct range *r, size_t n, s64 ts, size_t *at)
{
	size_t low = *at, high = *at, step = 1, middle;

	for (; low && r[low - 1].from >= ts; step *= 2) { /* it is near */
		high = low - 1;
		low = low > step ? low - step : 0;
	}
	for (; high < n && r[high].from < ts; step *= 2) {
		low = high + 1;
		high = high + step < n ? high + step : n;
	}
	while (low < high) {
		middle = low + (high - low) / 2;
		if (r[middle].from < ts)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	if (!low)
		return 0;
	r += low - 1;
	return r->before + (ts < r->to ? ts : r->to) - r->from;
}

/* The requests of one thread: its moments a..b. */
static void find_others(struct serving *s, size_t a, size_t b)
{
	struct request *at;
	size_t i, n = 0, near = 0, other;
	double sum = 0;

	for (i = a + 1; i < b; i++) {
		const struct moment_of *last = &s->moments[i - 1], *next = &s->moments[i];

		if (last->end && !next->end)
			continue;
		at = last->end ? next->request : last->request;
		s->ranges[n++] = (struct range){ last->ts, next->ts, sum };
		at->own += next->ts - last->ts;
		sum += next->ts - last->ts;
	}
	for (i = a; i < b; i++) {
		struct request *t = s->moments[i].request;
		double read;

		if (s->moments[i].end)
			continue;
		read = served_until(s->ranges, n, t->ts, &near);
		other = near;
		t->before = read - served_until(s->ranges, n, t->arrival, &other);
		other = near;
		t->during = fmax(0, served_until(s->ranges, n, t->end, &other) - read - t->own);
	}
}

/* Requests by thread, then by time: twice each, once for its read, once for its last send. */
static bool put_moments(struct serving *s, const struct requests *t)
{
	s64 *key = malloc((2 * t->n + 1) * sizeof(*key));
	u64 *place = malloc((2 * t->n + 1) * sizeof(*place)); /* 2 * number of the request + end */
	bool done = key && place;
	size_t i, n = 2 * t->n;

	for (i = 0; done && i < n; i++) {
		const struct request *r = &t->v[i / 2];

		key[i] = 2 * (u64)(i % 2 ? r->end : r->ts) + !(i % 2);
		place[i] = i;
	}
	done = done && sort_keys(key, place, n);
	for (i = 0; done && i < n; i++)
		key[i] = t->v[place[i] / 2].tid;
	done = done && sort_keys(key, place, n);
	for (i = 0; done && i < n; i++) {
		struct request *r = &t->v[place[i] / 2];
		bool end = place[i] % 2;

		s->moments[i] = (struct moment_of){ end ? r->end : r->ts, r, end };
	}
	s->n = n;
	free(key);
	free(place);
	return done;
}

static int put_others(struct requests *t, struct err *e)
{
	struct serving s = { malloc((2 * t->n + 1) * sizeof(*s.moments)),
			     malloc((2 * t->n + 1) * sizeof(*s.ranges)), 0 };
	size_t i, from;
	int ret = 0;

	if (!s.moments || !s.ranges || !put_moments(&s, t)) {
		ret = err_set(e, ERR_FAIL, "out of memory for requests");
		goto out;
	}
	for (from = 0, i = 1; i <= s.n; i++)
		if (i == s.n || s.moments[i].request->tid != s.moments[from].request->tid) {
			find_others(&s, from, i);
			from = i;
		}
out:
	free(s.moments);
	free(s.ranges);
	return ret;
}

/* ---- sums ---- */

/* Rows of request_wait or request_queue, in the order of the requests. */
struct waits {
	sqlite3_stmt *q;
	int more;
};

static int open_waits(struct waits *w, sqlite3 *db, const char *sql, struct err *e)
{
	int ret = db_query(&w->q, db, e, sql, "");

	return ret < 0 ? ret : (w->more = db_step(w->q, e));
}

/* Adds the request's waits by category; *ret_off: their sum. */
static int read_waits(struct waits *w, s64 row, double spent[N_CATEGORIES], double *ret_off,
		      struct err *e)
{
	for (*ret_off = 0; w->more > 0 && sqlite3_column_int64(w->q, 0) <= row;
	     w->more = db_step(w->q, e)) {
		if (sqlite3_column_int64(w->q, 0) != row)
			continue;
		spent[category_of(sqlite3_column_int(w->q, 1) % N_SPAN_STATES)] +=
			sqlite3_column_double(w->q, 2);
		*ret_off += sqlite3_column_double(w->q, 2);
	}
	return w->more < 0 ? w->more : 0;
}

static double take(double *from, double wanted)
{
	double taken = fmin(*from, wanted);

	*from -= taken;
	return taken;
}

/* Moves the time of other requests out of what the thread did before the read and from there on. */
static void set_others(const struct request *t, double before[N_CATEGORIES], double part[N_PARTS])
{
	double left = t->before - take(&before[CATEGORY_cpu], t->before);
	int i;

	for (i = 0; i < N_CATEGORIES; i++)
		if (i != CATEGORY_runq)
			left -= take(&before[i], left);
	left -= take(&before[CATEGORY_runq], left);
	part[CATEGORY_queue] = t->before - left + take(&part[CATEGORY_cpu], t->during);
}

static int add_request(struct split *s, const struct request *t, s64 duration, struct waits w[2],
		       struct err *e)
{
	double before[N_CATEGORIES] = { 0 }, part[N_PARTS] = { 0 }, off;
	s64 at = t->arrival * COMPARE_WINDOWS / duration;
	int i;

	if (read_waits(&w[0], t->row, part, &off, e) < 0)
		return ERR_FAIL;
	part[CATEGORY_cpu] += fmax(0, t->end - t->ts - off);
	if (read_waits(&w[1], t->row, before, &off, e) < 0)
		return ERR_FAIL;
	before[CATEGORY_cpu] += fmax(0, t->ts - t->arrival - off);
	if (!s || !t->known || part[CATEGORY_unknown] > 0 || before[CATEGORY_unknown] > 0)
		return 0;
	set_others(t, before, part);
	at = at < 0 ? 0 : at >= COMPARE_WINDOWS ? COMPARE_WINDOWS - 1 : at;
	for (i = 0; i < N_CATEGORIES; i++)
		part[i] += before[i];
	for (i = 0; i < PART_ALL; i++)
		part[PART_ALL] += part[i];
	for (i = 0; i < N_PARTS; i++)
		s->sum[at][i] += part[i];
	s->count[at]++;
	s->n++;
	return 0;
}

#define SERVICES_MOST 64

struct service_ids {
	s64 id[SERVICES_MOST];
	size_t split[SERVICES_MOST]; /* index: splits move as they grow */
	size_t n;
};

static int read_services(struct service_ids *r, struct measured *m, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT s.id, 0, (SELECT comm FROM process p WHERE p.pid=s.pid ORDER BY start DESC"
		" LIMIT 1), s.kind, nullif(s.port, 0), NULL FROM service s WHERE s.kind<>'function'"
		" AND s.requests>=30 ORDER BY s.requests DESC, s.id LIMIT 64";
	struct compared_subject subject;
	struct split *s;
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "");

	while ((ret = db_step(q, e)) > 0 && r->n < SERVICES_MOST) {
		compare_subject_row(&subject, q, 1);
		s = compare_split_of(m, &subject, "request", e);
		if (!s) {
			ret = ERR_FAIL;
			break;
		}
		r->id[r->n] = sqlite3_column_int64(q, 0);
		r->split[r->n++] = s - m->splits;
	}
	return db_end(q, ret);
}

static struct split *split_at(struct measured *m, const struct service_ids *r, s64 service)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->id[i] == service)
			return &m->splits[r->split[i]];
	return NULL;
}

static int add_requests(struct measured *m, const struct service_ids *r, const struct requests *t,
			sqlite3 *db, struct err *e)
{
	struct waits w[2] = { 0 };
	size_t i;
	int ret = open_waits(&w[0], db,
			     "SELECT request, state, dur FROM request_wait ORDER BY rowid", e);

	if (ret >= 0)
		ret = open_waits(&w[1], db,
				 "SELECT request, state, dur FROM request_queue ORDER BY rowid", e);
	for (i = 0; i < t->n && ret >= 0; i++)
		ret = add_request(split_at(m, r, t->v[i].service), &t->v[i], m->duration, w, e);
	sqlite3_finalize(w[0].q);
	sqlite3_finalize(w[1].q);
	return ret < 0 ? ret : 0;
}

static int put_means(struct measured *m, struct err *e)
{
	double num[COMPARE_WINDOWS], den[COMPARE_WINDOWS], sum;
	size_t i, w, k;
	struct sample *s;

	for (i = 0; i < m->n_splits; i++) {
		const struct split *x = &m->splits[i];

		if (!(x->n > 0))
			continue;
		s = compare_add(m, &x->subject, COMPARE_request_mean, e);
		if (!s)
			return ERR_FAIL;
		for (sum = 0, w = k = 0; w < COMPARE_WINDOWS; w++) {
			num[k] = x->sum[w][PART_ALL];
			den[k] = x->count[w];
			sum += num[k];
			k += den[k] > 0;
		}
		s->value = sum / x->n;
		s->n = x->n;
		s->windows = k >= WINDOWS_LEAST ? (int)k : 0;
		s->log = stats_log_ratio(num, den, s->windows, false);
		s->wander = compare_wander(num, den, s->windows);
	}
	return 0;
}

/* ---- functions and processes ---- */

static int unit_subject(struct compared_subject *ret, const struct units *u, sqlite3 *db,
			struct err *e)
{
	sqlite3_stmt *q;
	int ret_step,
		ret_query =
			u->kind == UNIT_CALL
				? db_query(
					  &q, db, e,
					  "SELECT 3, NULL, NULL, NULL, function FROM site WHERE id=?",
					  "i", u->key)
				: db_query(
					  &q, db, e,
					  "SELECT 1, comm, NULL, NULL, NULL FROM process WHERE pid=?"
					  " ORDER BY start DESC LIMIT 1",
					  "i", u->key);

	if (ret_query < 0)
		return ret_query;
	ret_step = db_step(q, e);
	if (ret_step > 0)
		compare_subject_row(ret, q, 0);
	sqlite3_finalize(q);
	return ret_step;
}

static void add_units(struct split *s, const struct units *u)
{
	int b, i, w;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const struct unit_sums *x = &u->blocks[b].all;

		w = b * COMPARE_WINDOWS / UNIT_BLOCKS;
		s->n += x->n;
		s->count[w] += x->n;
		for (i = 0; i < N_SPAN_STATES; i++)
			s->sum[w][category_of(i)] += x->spent[i];
		s->sum[w][PART_ALL] += x->wall;
	}
}

static int add_others(struct measured *m, sqlite3 *db, struct err *e)
{
	struct compared_subject subject;
	struct units *u = NULL;
	struct split *s;
	size_t i, n = 0;
	int ret = units_read(db, m->duration, &u, &n, e);

	for (i = 0; i < n && ret >= 0; i++) {
		if (u[i].kind == UNIT_REQUEST)
			continue;
		ret = unit_subject(&subject, &u[i], db, e);
		if (ret <= 0)
			continue;
		s = compare_split_of(m, &subject, u[i].kind == UNIT_CALL ? "call" : "window", e);
		ret = s ? 0 : ERR_FAIL;
		if (s)
			add_units(s, &u[i]);
	}
	free(u);
	return ret < 0 ? ret : 0;
}

int compare_splits(struct measured *m, sqlite3 *db, struct err *e)
{
	struct service_ids r = { .n = 0 };
	struct requests t = { 0 };
	s64 calls = 0;
	int ret = read_services(&r, m, db, e);

	if (ret == 0 && r.n)
		ret = read_requests(&t, db, e);
	if (ret == 0 && r.n)
		ret = put_others(&t, e);
	if (ret == 0 && r.n)
		ret = add_requests(m, &r, &t, db, e);
	free(t.v);
	if (ret == 0)
		ret = put_means(m, e);
	if (ret == 0)
		ret = db_int(db, &calls, e, "SELECT count(*) FROM call_stat", "");
	if (ret == 0 && (calls || !r.n))
		ret = add_others(m, db, e);
	return ret;
}
