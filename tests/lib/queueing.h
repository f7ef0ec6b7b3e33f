/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings of a server with one thread and a queue: requests are read as they arrived. */
#pragma once

#include "unit.h"

#include "judging.h"

#include <math.h>

#define QUEUEING_MOST  4000
#define QUEUEING_CONNS 500
#define SECOND	       1000000000L

struct queueing {
	long at[QUEUEING_MOST];	  /* arrival; 0: before the recording */
	long work[QUEUEING_MOST]; /* ns of CPU time */
	long wait[QUEUEING_MOST]; /* ns, uninterruptible, after that */
	long lost[QUEUEING_MOST]; /* ns, preempted by another program */
	int lag[QUEUEING_MOST];	  /* it is answered after so many others */
	int n;
};

/* n that arrived before. */
static inline void arrived_before(struct queueing *q, int n, long work)
{
	while (n-- > 0)
		q->work[q->n++] = work;
}

/* From then until then, as a Poisson process. */
static inline void arrive(struct queueing *q, double rate, double from, double to, long work)
{
	double t = from;

	while ((t -= log((rand() + 1.0) / (RAND_MAX + 1.0)) / rate) < to) {
		q->at[q->n] = (long)(t * 1e9);
		q->work[q->n++] = work;
	}
}

static inline void queueing_head(struct text *x, const struct queueing *q)
{
	int sent[QUEUEING_CONNS] = { 0 }, i;

	head_of(x, QUEUEING_CONNS);
	for (i = 0; i < QUEUEING_CONNS; i++)
		text_line(
			x,
			"%d 0 connection sock=%d ino=%d conn=%d family=2 sport=80 dport=%d side=1",
			100 + i, 7 + i, 1005 + i, 1 + i, 40005 + i);
	text_line(x, "@cpu 1");
	for (i = 0; i < q->n; i++) {
		int k = i % QUEUEING_CONNS;

		if (q->at[i])
			text_line(x, "%ld 0 segment conn=%d pos=%d len=10", q->at[i], 1 + k,
				  10 * sent[k]++);
	}
	text_line(x, "@cpu 0");
}

/* Away from the CPU for ns. */
static inline void away(struct text *x, long ns, int next, int state)
{
	if (!ns)
		return;
	text_line(x, "%ld 100 switch next=%d state=%d", x->t, next, state);
	x->t += ns;
	if (state)
		text_line(x, "%ld 0 waking target=100", x->t);
	text_line(x, "%ld %d switch next=100", x->t + 1000, next);
}

/* Those that are due after request i. */
static inline void answer(struct text *x, const struct queueing *q, int i)
{
	int k;

	for (k = i > 50 ? i - 50 : 0; k <= i; k++) {
		if (k + q->lag[k] != i)
			continue;
		text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200",
			  x->t + 4000, 5 + k % QUEUEING_CONNS);
		x->t += 5000;
	}
}

/* idle_end, ns: without load, at the end of the recording. */
static inline sqlite3 *queued_until(const struct queueing *q, long idle_end, const char *facts)
{
	struct text x = { 0 };
	bool idle = true;
	int i;

	queueing_head(&x, q);
	for (i = 0; i < q->n; i++) {
		x.t = x.t > q->at[i] ? x.t : q->at[i];
		if (idle)
			text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100",
				  x.t, x.t + 1000);
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=10 count=99 dur=200", x.t + 3000,
			  5 + i % QUEUEING_CONNS);
		x.t += q->work[i];
		away(&x, q->wait[i], 0, 2);
		away(&x, q->lost[i], 900, 0);
		answer(&x, q, i);
		idle = i + 1 == q->n || q->at[i + 1] > x.t;
		if (idle)
			text_line(&x, "%ld 100 switch next=0 state=1", x.t);
		x.t += 1000;
	}
	x.t += idle_end;
	return judged(&x, facts);
}

static inline sqlite3 *queued(const struct queueing *q, const char *facts)
{
	return queued_until(q, 0, facts);
}
