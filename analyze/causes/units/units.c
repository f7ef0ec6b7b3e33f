// SPDX-License-Identifier: GPL-2.0-or-later
/* Millions of units as sums in blocks of time. */
#include "units.h"

#include "analyze/analyses/latency.h"
#include "analyze/base/idmap.h"
#include "analyze/stats/hist.h"
#include "analyze/store/columns/columns.h"
#include "units_split.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_UNITS  30	     /* fewer are no basis */
#define LEAST_WINDOW 1000000 /* ns */

struct reading {
	struct units *u;
	size_t n;
	s64 duration;
	struct idmap of_pid; /* process -> struct units, of requests */
	u64 seed;	     /* of the drawing of examples: the same for the same recording */
	struct splits splits;
};

static double draw(struct reading *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return (double)(r->seed >> 11) / 9007199254740992.0;
}

/* sign: 1 adds a unit, -1 takes it out. */
static void add_sums(struct unit_sums *s, double sign, const struct unit *x, const double *spent)
{
	int i;

	s->n += sign;
	s->wall += sign * x->dur;
	s->queued += sign * x->queued;
	for (i = 0; i < N_SPENT; i++)
		s->spent[i] += sign * spent[i];
}

static bool in_middle(const struct units *u, const struct unit *x)
{
	return x->dur >= u->p25 && x->dur <= u->p75;
}

/* Keeps one of n with the same chance for each, in UNIT_SAMPLES places. */
static void keep(struct reading *r, struct unit *places, double n, const struct unit *x)
{
	double at = n <= UNIT_SAMPLES ? n - 1 : floor(draw(r) * n);

	if (at < UNIT_SAMPLES)
		places[(int)at] = *x;
}

/* The shortest of the longest gives way. */
static void keep_longest(struct long_unit longest[UNIT_SAMPLES], const struct unit *x,
			 const double *spent)
{
	struct long_unit *least = longest;
	int i;

	for (i = 1; i < UNIT_SAMPLES; i++)
		if (longest[i].unit.dur < least->unit.dur)
			least = &longest[i];
	if (x->dur <= least->unit.dur)
		return;
	least->unit = *x;
	memcpy(least->spent, spent, sizeof(least->spent));
}

/* One unit: spent holds all states, time on a CPU included. */
static void take(struct reading *r, struct units *u, const struct unit *x, const double *spent)
{
	s64 at = u->block > 0 ? x->ts / u->block : 0;
	struct unit_block *b = &u->blocks[at < 0 ? 0 : at >= UNIT_BLOCKS ? UNIT_BLOCKS - 1 : at];
	double wall = x->dur;
	int i;

	u->n++;
	keep_longest(b->longest, x, spent);
	add_sums(&b->all, 1, x, spent);
	b->logs += log(wall + 1);
	for (i = 0; i < UNIT_SAMPLES; i++) /* each place on its own: by duration */
		if (draw(r) * b->all.wall < wall)
			b->usual[i] = *x;
	if (wall >= u->slow) {
		add_sums(&b->tail, 1, x, spent);
		keep(r, b->slow, b->tail.n, x);
	} else if (in_middle(u, x)) {
		add_sums(&b->middle, 1, x, spent);
		keep(r, b->calm, b->middle.n, x);
	}
}

static void forget(struct unit places[UNIT_SAMPLES], const struct unit *x)
{
	int i;

	for (i = 0; i < UNIT_SAMPLES; i++)
		if (places[i].tid == x->tid && places[i].ts == x->ts)
			places[i] = (struct unit){ 0 };
}

static void exclude(struct units *u, struct unit_block *b, const struct long_unit *l)
{
	const struct unit *x = &l->unit;

	u->n--;
	if (!u->n_excluded++ || x->dur < u->shortest)
		u->shortest = x->dur;
	if (x->dur > u->longest.dur)
		u->longest = *x;
	b->logs -= log(x->dur + 1.0);
	add_sums(&b->all, -1, x, l->spent);
	if (x->dur >= u->slow)
		add_sums(&b->tail, -1, x, l->spent);
	else if (in_middle(u, x))
		add_sums(&b->middle, -1, x, l->spent);
	forget(b->slow, x);
	forget(b->usual, x);
	forget(b->calm, x);
}

void units_exclude(struct units *u, int block, double least)
{
	struct unit_block *b = &u->blocks[block];
	int i;

	for (i = 0; i < UNIT_SAMPLES; i++)
		if (b->longest[i].unit.dur > 0 && b->longest[i].unit.dur >= least) {
			exclude(u, b, &b->longest[i]);
			b->longest[i].unit.dur = 0;
		}
}

/* The quantiles that part n units: tails of at least 10 where possible. */
static void limits_at(struct units *u, double n, double at[3])
{
	at[0] = 0.25;
	at[1] = 0.75;
	at[2] = u->q = n >= 1000 ? 0.99 : n >= 200 ? 0.95 : 0.9;
}

/* Their durations, out to the ends of their buckets. */
static void set_limits(struct units *u, const double q[3])
{
	u->p25 = q[0] * (1 - 1.0 / HIST_SUB);
	u->p75 = q[1] * (1 + 1.0 / HIST_SUB);
	u->slow = q[2] * (1 - 1.0 / HIST_SUB);
}

/* ---- calls ---- */

static int choose_calls(sqlite3 *db, struct reading *r, struct err *e)
{
	static const char sql[] =
		"SELECT s.id, s.function, c.n FROM call_stat c JOIN site s ON s.id=c.site"
		" WHERE c.split AND c.n >= ? AND NOT c.counted ORDER BY c.total DESC LIMIT 1";
	double at[3], limits[3];
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "i", (s64)LEAST_UNITS);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct units *u = &r->u[r->n++];

		u->kind = UNIT_CALL;
		u->key = sqlite3_column_int64(q, 0);
		u->of = (struct subject){ SUBJECT_function, u->key };
		snprintf(u->name, sizeof(u->name), "calls of %s", sqlite3_column_text(q, 1));
		limits_at(u, sqlite3_column_double(q, 2), at);
		ret = latency_quantiles(db, "call", 0, u->key, at, limits, 3, INFINITY, e);
		if (ret < 0)
			break;
		set_limits(u, limits);
	}
	return db_end(q, ret);
}

static int read_calls(sqlite3 *db, struct reading *r, struct err *e)
{
	static const char sql[] = "SELECT ts, dur, tid, lossy"
#define STATE(id, name, ...) ", " #name
#include "analyze/base/limits.h"
#include "analyze/store/waits.def"
#undef STATE
				  " FROM call WHERE site=? AND run IS NOT NULL";
	double spent[N_SPENT] = { 0 };
	sqlite3_stmt *q;
	int i, ret = db_query(&q, db, e, sql, "i", r->u[0].key);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct unit x = { sqlite3_column_int64(q, 0),
				  sqlite3_column_int64(q, 1),
				  sqlite3_column_int64(q, 2),
				  0,
				  0,
				  0 };

		for (i = 0; i < N_SPAN_STATES; i++)
			spent[i] = sqlite3_column_double(q, 4 + i);
		if (sqlite3_column_int(q, 3) || spent[SPAN_unknown] > 0)
			r->u[0].excluded++;
		else
			take(r, &r->u[0], &x, spent);
	}
	return db_end(q, ret);
}

/* ---- requests ---- */

/* Puts the leader's processes on the map to its units. */
static int map_processes(sqlite3 *db, struct reading *r, struct units *u, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, "SELECT pid FROM " LED_PROCESSES " WHERE leader=?", "i",
			   u->key);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		ret = idmap_put(&r->of_pid, sqlite3_column_int64(q, 0), u, TASK_LIMIT, e);
		if (ret < 0)
			break;
	}
	return db_end(q, ret);
}

/* The durations that part all requests of a leader's processes. */
static int read_request_limits(sqlite3 *db, struct units *u, double n, struct err *e)
{
	double at[3], q[3];
	sqlite3_stmt *s;
	int ret =
		db_query(&s, db, e,
			 "SELECT low, high, sum(n) FROM latency WHERE kind='served' AND subject IN "
			 "(SELECT pid FROM " LED_PROCESSES
			 " WHERE leader=?) GROUP BY low, high ORDER BY low",
			 "i", u->key);

	if (ret < 0)
		return ret;
	limits_at(u, n, at);
	ret = latency_of(s, at, q, 3, INFINITY, e);
	if (ret == 0)
		set_limits(u, q);
	return ret;
}

/* What answers: the only service of a process, the only server of several, or else these. */
static int name_server(sqlite3 *db, struct units *u, s64 pid, struct err *e)
{
	static const char services[] =
		"SELECT iif(count(*)=1, max(id), 0) FROM service WHERE pid=? AND kind<>'function'"
		" AND requests > 0";
	static const char servers[] =
		"SELECT iif(count(DISTINCT v.id)=1, max(v.id), 0) FROM service s JOIN server v ON"
		" v.kind=s.kind AND v.port=s.port AND v.processes > 1 WHERE s.requests > 0 AND s.pid IN"
		" (SELECT pid FROM " LED_PROCESSES " WHERE leader=?)";
	bool several = u->processes > 1;
	s64 id = 0;
	int ret = db_int(db, &id, e, several ? servers : services, "i", several ? u->key : pid);

	if (id)
		u->of = (struct subject){ several ? SUBJECT_server : SUBJECT_service, id };
	else
		u->of = (struct subject){ several ? SUBJECT_program : SUBJECT_process, pid };
	return ret;
}

static int choose_requests(sqlite3 *db, struct reading *r, struct err *e)
{
	static const char sql[] =
		"SELECT w.leader, (SELECT max(comm) FROM process WHERE pid=l.subject), sum(l.n),"
		" sum(l.n * l.low) AS wall, count(DISTINCT l.subject), l.subject FROM latency l"
		" JOIN " LED_PROCESSES " w ON w.pid=l.subject WHERE l.kind='served'"
		" GROUP BY w.leader HAVING sum(l.n) >= ? ORDER BY wall DESC, w.leader LIMIT ?";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", (s64)LEAST_UNITS, (s64)UNIT_SUBJECTS);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct units *u = &r->u[r->n++];
		const char *comm = db_text(q, 1);
		const char *name = *comm ? comm : "?";

		u->kind = UNIT_REQUEST;
		u->key = sqlite3_column_int64(q, 0);
		u->processes = sqlite3_column_int(q, 4);
		if (u->processes == 1)
			snprintf(u->name, sizeof(u->name), "requests of %s[%lld]", name,
				 (long long)sqlite3_column_int64(q, 5));
		else
			snprintf(u->name, sizeof(u->name), "requests of %s (%d processes of %lld)",
				 name, u->processes, (long long)u->key);
		ret = name_server(db, u, sqlite3_column_int64(q, 5), e);
		if (ret == 0)
			ret = read_request_limits(db, u, sqlite3_column_double(q, 2), e);
		if (ret == 0)
			ret = map_processes(db, r, u, e);
		if (ret < 0)
			break;
	}
	return db_end(q, ret);
}

/* One request, from when it was ready on; the row of table request is at hand. */
static int take_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct reading *r = arg;
	struct units *u = idmap_get(&r->of_pid, row->pid);
	struct unit x = {
		row->ts - row->queued, row->dur + row->queued, row->tid, row->queued, 0, row->held
	};
	double spent[N_SPENT] = { 0 };

	if (!u || row->paced)
		return 0;
	if (splits_read(&r->splits, rowid, row->queued, x.dur, spent, &x.in_queue, e) < 0)
		return ERR_FAIL;
	if (!row->split || row->lossy || spent[SPAN_unknown] > 0)
		u->excluded++;
	else
		take(r, u, &x, spent);
	return 0;
}

static int read_requests(sqlite3 *db, struct reading *r, struct err *e)
{
	int ret = splits_open(&r->splits, db, e);

	if (ret == 0)
		ret = rows_each(db, TABLE_request,
				COLUMN_OF(request, ts) | COLUMN_OF(request, dur) |
					COLUMN_OF(request, pid) | COLUMN_OF(request, tid) |
					COLUMN_OF(request, split) | COLUMN_OF(request, lossy) |
					COLUMN_OF(request, paced) | COLUMN_OF(request, queued) |
					COLUMN_OF(request, held),
				take_request, r, e);
	splits_close(&r->splits);
	return ret < 0 ? ret : 0;
}

/* ---- windows ---- */

static int choose_windows(sqlite3 *db, struct reading *r, struct err *e)
{
	static const char sql[] =
		"SELECT t.pid, (SELECT max(comm) FROM process WHERE pid=t.pid) FROM thread t"
		" WHERE t.wall > 0 AND t.switches > 0 GROUP BY t.pid"
		" ORDER BY sum(t.run + t.woken + t.preempted + t.disk) DESC, t.pid LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && r->u[0].block >= LEAST_WINDOW) {
		struct units *u = &r->u[r->n++];

		u->kind = UNIT_WINDOW;
		u->key = sqlite3_column_int64(q, 0);
		u->slow = INFINITY;
		u->q = NAN;
		u->of = (struct subject){ SUBJECT_process, u->key };
		snprintf(u->name, sizeof(u->name), "windows of %s[%lld]", sqlite3_column_text(q, 1),
			 (long long)u->key);
	}
	return db_end(q, ret);
}

/* The thread of the process that has most to tell, window by window. */
static int read_windows(sqlite3 *db, struct reading *r, struct err *e)
{
	double(*spent)[N_SPAN_STATES] = calloc(UNIT_BLOCKS, sizeof(*spent)), wall;
	double all[N_SPENT] = { 0 };
	struct units *u = &r->u[0];
	s64 tid = 0;
	int b, i, ret;

	if (!spent)
		return err_set(e, ERR_FAIL, "out of memory for windows");
	ret = db_int(db, &tid, e,
		     "SELECT tid FROM thread WHERE pid=? AND switches > 0 ORDER BY"
		     " run + woken + preempted + disk + pipe + client + socket DESC, tid LIMIT 1",
		     "i", u->key);
	if (ret == 0)
		ret = units_thread(db, tid, u->block, spent, e);
	for (b = 0; b < UNIT_BLOCKS && ret == 0; b++) {
		struct unit x = { b * u->block, u->block, tid, 0, 0, 0 };

		for (wall = 0, i = 0; i < N_SPAN_STATES; i++)
			wall += spent[b][i];
		if (spent[b][SPAN_unknown] > 0 || wall < u->block / 2)
			u->excluded++;
		else {
			memcpy(all, spent[b], sizeof(spent[b]));
			take(r, u, &x, all);
		}
	}
	free(spent);
	return ret;
}

u32 units_thread_of(const struct units *u)
{
	u32 tids[64] = { 0 };
	int counts[64] = { 0 }, b, i, k, best = 0;

	for (b = 0; b < UNIT_BLOCKS; b++)
		for (i = 0; i < UNIT_SAMPLES; i++) {
			u32 tid = u->blocks[b].usual[i].tid;

			for (k = 0; tid && k < 64 && tids[k] && tids[k] != tid; k++)
				;
			if (!tid || k == 64)
				continue;
			tids[k] = tid;
			counts[k]++;
		}
	for (k = 1; k < 64; k++)
		best = counts[k] > counts[best] ? k : best;
	return tids[best];
}

int units_read(sqlite3 *db, s64 duration, struct units **ret_units, size_t *ret_n, struct err *e)
{
	static const struct {
		int (*choose)(sqlite3 *db, struct reading *r, struct err *e);
		int (*read)(sqlite3 *db, struct reading *r, struct err *e);
	} kinds[] = {
		{ choose_calls, read_calls },
		{ choose_requests, read_requests },
		{ choose_windows, read_windows },
	};
	struct reading r = { .duration = duration, .seed = 88172645463325252u };
	size_t k, i;
	int ret = 0;

	r.u = calloc(UNIT_SUBJECTS, sizeof(*r.u));
	if (!r.u)
		return err_set(e, ERR_FAIL, "out of memory for units");
	for (i = 0; i < UNIT_SUBJECTS; i++)
		r.u[i].block = duration / UNIT_BLOCKS + 1;
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && ret == 0 && !r.n; k++) {
		ret = kinds[k].choose(db, &r, e);
		if (ret == 0 && r.n)
			ret = kinds[k].read(db, &r, e);
	}
	idmap_free(&r.of_pid);
	if (ret < 0) {
		free(r.u);
		return ret;
	}
	*ret_units = r.u;
	*ret_n = r.n;
	return 0;
}
