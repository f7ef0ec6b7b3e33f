// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * More load, dearer requests, or fewer requests from outside? The CPU time that a server needs is
 * its request rate times the CPU time of a request: the larger of the two changes names it. Fewer
 * requests while the threads that answer are idle for longer come from outside, if fewer are
 * outstanding as well. As many outstanding ones (rate times latency, Little) with a longer latency
 * are clients that ask again after each answer: their demand did not fall.
 */
#include "analyze/causes/causes.h"

#include <math.h>
#include <stdlib.h>

#define SAME 1.1 /* a ratio up to here, or from its inverse on, is no change */
#define LESS 0.8 /* of the rate: less demand */
#define MOST 0.5

/* Requests and time in blocks of one kind. */
struct work {
	double blocks, requests, run, answering, idle, wall, busy, latency;
};

/* Away from a CPU for want of work, not delayed by a CPU or a disk. */
static bool is_idle(int state)
{
	return state == SPAN_poll || state == SPAN_socket || state == SPAN_futex ||
	       state == SPAN_timer || state == SPAN_pipe || state == SPAN_other;
}

static void add_block(struct work *w, const struct unit_block *b, const double *all,
		      const double *serving, double busy)
{
	int i;

	w->busy += busy;
	w->blocks++;
	w->requests += b->all.n;
	w->latency += b->all.wall;
	w->run += all[SPAN_run];
	w->answering += serving[SPAN_run];
	for (i = 0; i < N_SPAN_STATES; i++) {
		w->wall += i == SPAN_unknown ? 0 : serving[i];
		w->idle += is_idle(i) ? serving[i] : 0;
	}
}

/* Threads of a server and their time by block. */
struct server_time {
	struct idmap answering, others;
	double (*all)[N_SPAN_STATES], (*serving)[N_SPAN_STATES];
	double busy[UNIT_BLOCKS]; /* of all processes */
	double weight[UNIT_BLOCKS];
	struct tally by_tid; /* CPU time of the others, weighed */
};

/* Fills weight: what CPU time of a block adds to that of a slow request, or takes from it. */
static void sum_up(const struct units *u, const struct comparison *c, struct server_time *t,
		   struct load *ret)
{
	bool whole = c->basis == BASIS_TAIL || c->basis == BASIS_ALL;
	struct work slow = { 0 }, baseline = { 0 }, *to = whole ? &slow : NULL;
	const struct work *of[UNIT_BLOCKS];
	double added;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		/* time without requests belongs to those before it */
		if (!whole && u->blocks[b].all.n > 0)
			to = c->is_slow[b] ? &slow : c->is_usual[b] ? &baseline : NULL;
		of[b] = to;
		if (to)
			add_block(to, &u->blocks[b], t->all[b], t->serving[b], t->busy[b]);
	}
	if (slow.wall > 0)
		ret->idle_slow = slow.idle / slow.wall;
	if (baseline.wall > 0)
		ret->idle_baseline = baseline.idle / baseline.wall;
	if (slow.requests <= 0 || baseline.requests <= 0)
		return;
	ret->rate = slow.requests / slow.blocks / (baseline.requests / baseline.blocks);
	if (baseline.latency > 0) {
		ret->outstanding =
			slow.latency / slow.blocks / (baseline.latency / baseline.blocks);
		ret->latency = ret->outstanding / ret->rate;
	}
	if (slow.busy > slow.run && baseline.busy > baseline.run)
		ret->others = (slow.busy - slow.run) / slow.blocks /
			      ((baseline.busy - baseline.run) / baseline.blocks);
	if (slow.run > 0 && baseline.run > 0)
		ret->cpu = slow.run / slow.requests / (baseline.run / baseline.requests);
	added = slow.run / slow.requests - baseline.run / baseline.requests;
	if (added <= 0)
		return;
	ret->elsewhere =
		1 -
		(slow.answering / slow.requests - baseline.answering / baseline.requests) / added;
	for (b = 0; b < UNIT_BLOCKS; b++)
		t->weight[b] = of[b] == &slow	    ? 1 / slow.requests / added
			       : of[b] == &baseline ? -1 / baseline.requests / added
						    : 0;
}

/* CPU time of all processes by block, from readings: spread evenly over each. */
static int read_busy(sqlite3 *db, s64 block, double busy[UNIT_BLOCKS], struct err *e)
{
	static const char sql[] =
		"SELECT ts, dur, total(user + nice + system) FROM cpu_time WHERE dur > 0 GROUP BY ts, dur";
	double from, to, part, ns;
	sqlite3_stmt *q;
	int b, ret = db_query(&q, db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		from = sqlite3_column_double(q, 0);
		to = from + sqlite3_column_double(q, 1);
		ns = sqlite3_column_double(q, 2);
		for (b = 0; b < UNIT_BLOCKS; b++) {
			part = fmin(to, (b + 1.0) * (double)block) -
			       fmax(from, (double)b * (double)block);
			busy[b] += part > 0 ? ns * part / (to - from) : 0;
		}
	}
	return db_end(q, ret);
}

/* Softirqs, interrupts and steal of a thread within a block, ns. */
typedef void (*interrupt_fn)(struct server_time *t, u64 tid, int block, double ns);

static int each_interrupt(sqlite3 *db, s64 block, struct server_time *t, interrupt_fn fn,
			  struct err *e)
{
	static const char sql[] =
		"SELECT ts, (SELECT CAST(value AS INTEGER) FROM recording WHERE key='step_ns'), time, tid"
		" FROM series WHERE kind IN (series_id('softirq'), series_id('irq'), series_id('stolen'))";
	double from, to, in;
	sqlite3_stmt *q;
	int b, ret = block > 0 ? db_query(&q, db, e, sql, "") : 0;

	if (ret < 0 || block <= 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		from = fmax(sqlite3_column_double(q, 0), 0);
		to = from + fmax(sqlite3_column_double(q, 1), 1);
		b = (int)fmin(from / (double)block, UNIT_BLOCKS);
		for (; b < UNIT_BLOCKS && b * (double)block < to; b++) {
			in = fmin(to, (b + 1.0) * (double)block) - fmax(from, b * (double)block);
			fn(t, (u64)sqlite3_column_int64(q, 3), b,
			   in / (to - from) * sqlite3_column_double(q, 2));
		}
	}
	return db_end(q, ret);
}

/* They are no time on a CPU: the thread waits for a CPU in them. */
static void take_interrupt(struct server_time *t, u64 tid, int block, double ns)
{
	bool answering = idmap_get(&t->answering, tid);

	if (!answering && !idmap_get(&t->others, tid))
		return;
	t->all[block][SPAN_run] -= ns;
	t->serving[block][SPAN_run] -= answering ? ns : 0;
	t->serving[block][SPAN_woken] += answering ? ns : 0;
}

static void weigh_interrupt(struct server_time *t, u64 tid, int block, double ns)
{
	if (idmap_get(&t->others, tid))
		tally_add(&t->by_tid, (s64)tid, -t->weight[block] * ns);
}

/* The thread with most of the CPU time that is not of those that answer. */
static int name_thread(sqlite3 *db, const struct units *u, struct server_time *t, struct load *l,
		       struct err *e)
{
	int ret = units_run(db, &t->others, u->block, t->weight, &t->by_tid, e);

	if (ret == 0)
		ret = each_interrupt(db, u->block, t, weigh_interrupt, e);
	tally_sort(&t->by_tid);
	if (ret == 0 && t->by_tid.n && t->by_tid.of[0].sum > 0) {
		l->tid = t->by_tid.of[0].key;
		l->part = fmin(t->by_tid.of[0].sum, 1); /* others may use less than before */
	}
	tally_free(&t->by_tid);
	return ret;
}

static int read_times(sqlite3 *db, const struct units *u, struct server_time *t, struct err *e)
{
	int i, b, ret = units_threads(db, u->key, &t->answering, &t->others, e);

	if (ret == 0)
		ret = units_time(db, &t->answering, u->block, t->serving, e);
	if (ret == 0)
		ret = units_time(db, &t->others, u->block, t->all, e);
	for (b = 0; b < UNIT_BLOCKS; b++)
		for (i = 0; i < N_SPAN_STATES; i++)
			t->all[b][i] += t->serving[b][i];
	if (ret == 0)
		ret = each_interrupt(db, u->block, t, take_interrupt, e);
	return ret < 0 ? ret : read_busy(db, u->block, t->busy, e);
}

/* Connection attempts that the kernel dropped because an accept queue was full. */
static int read_dropped(sqlite3 *db, const struct units *u, const struct comparison *c, s64 *ret,
			struct err *e)
{
	static const char sql[] =
		"SELECT CAST(total(min(a.drops, n.overflows)) AS INT) FROM accept_queue a JOIN accept_queue n ON"
		" n.netns=a.netns AND n.ts=a.ts AND n.ino IS NULL WHERE a.drops > 0 AND a.ts < ?3 AND a.ts +"
		" a.dur > ?2 AND a.ino IN (SELECT ino FROM fd WHERE role='listening' AND pid=?1)";

	return db_int(db, ret, e, sql, "iii", (s64)u->key, c->when.from, c->when.to);
}

int load_read(sqlite3 *db, const struct units *u, const struct comparison *c, struct load *ret,
	      struct err *e)
{
	struct server_time t = { 0 };
	int r;

	*ret = (struct load){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, 0 };
	if (u->kind != UNIT_REQUEST)
		return 0;
	t.all = calloc(2 * (size_t)UNIT_BLOCKS, sizeof(*t.all));
	if (!t.all)
		return err_set(e, ERR_FAIL, "out of memory for blocks");
	t.serving = t.all + UNIT_BLOCKS;
	r = read_times(db, u, &t, e);
	if (r == 0)
		sum_up(u, c, &t, ret);
	if (r == 0)
		r = read_dropped(db, u, c, &ret->dropped, e);
	if (r == 0 && ret->elsewhere > MOST)
		r = name_thread(db, u, &t, ret, e);
	idmap_free(&t.answering);
	idmap_free(&t.others);
	free(t.all);
	return r;
}

enum finding_kind load_kind(const struct load *l)
{
	bool fewer = l->rate <= LESS && l->idle_slow > l->idle_baseline;
	bool closed = fewer && l->latency > SAME && l->outstanding * SAME >= 1;

	if (fewer && !closed)
		return l->dropped > 0 ? FINDING_load_dropped : FINDING_load_less;
	if (l->rate > SAME && l->rate >= l->cpu)
		return FINDING_load_more;
	if (l->cpu > SAME)
		return l->elsewhere > MOST && l->tid ? FINDING_load_threads : FINDING_load_dearer;
	return closed ? FINDING_load_closed : FINDING_load_same;
}

double load_new(const struct load *l)
{
	double more = l->rate * l->cpu;

	return more > 1 ? 1 - 1 / more : 0;
}
