// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that is held up finds several requests when it goes on, and each of them then waits for
 * those in front of it, which looks like its own computing. How much of that its own work explains
 * is estimated as for a queue with one server (M/M/1: time in it is s / (1 - rho), with s CPU time
 * a turn and rho the share of time on a CPU). If that is little, the computing is not what makes
 * turns slow: what held the thread up is.
 */
#include "causes.h"

#include <stdlib.h>

#define SAME	  1.15 /* a ratio up to here is no rise */
#define EXPLAINED 0.25 /* of the time on a CPU that is more: with less it is that of others */

/* Turns and CPU time in blocks of one kind. */
struct work {
	double blocks, turns, run;
};

static void add_block(struct work *w, const struct unit_block *b, const double *spent)
{
	w->blocks++;
	w->turns += b->all.n;
	w->run += spent[SPAN_run];
}

/* Does the server's own work explain little of the computing that slow turns have more of? */
static bool is_held_up(const struct queueing *q, const struct comparison *c,
		       const struct work *slow, const struct work *usual, double block)
{
	const struct excess *cpu = &c->of[CATEGORY_cpu];
	double rho = usual->run / (usual->blocks * block), now = slow->run / (slow->blocks * block);

	if (rho >= 1 || now >= 1) /* several CPUs: no such queue */
		return q->rate <= SAME && q->cpu <= SAME;
	return (q->cpu * (1 - rho) / (1 - now) - 1) * cpu->usual < EXPLAINED * cpu->value;
}

int causes_queueing(sqlite3 *db, const struct units *u, const struct comparison *c,
		    struct queueing *ret_queueing, struct err *e)
{
	double(*spent)[N_SPAN_STATES];
	struct work slow = { 0 }, usual = { 0 }, *to = NULL;
	struct queueing *q = ret_queueing;
	int b, ret;

	*q = (struct queueing){ 0 };
	if (u->kind != UNIT_TURN || (c->basis != BASIS_GIVEN && c->basis != BASIS_CHANGE))
		return 0;
	spent = calloc(UNIT_BLOCKS, sizeof(*spent));
	if (!spent)
		return err_set(e, ERR_FAIL, "out of memory for blocks");
	ret = units_processes(db, u->key, u->block, spent, e);
	for (b = 0; b < UNIT_BLOCKS && ret == 0; b++) {
		/* time without turns belongs to those before it */
		if (u->blocks[b].all.n > 0)
			to = c->is_slow[b] ? &slow : c->is_usual[b] ? &usual : NULL;
		if (to)
			add_block(to, &u->blocks[b], spent[b]);
	}
	free(spent);
	if (ret < 0 || slow.turns <= 0 || usual.turns <= 0 || usual.run <= 0)
		return ret;
	q->rate = slow.turns / slow.blocks / (usual.turns / usual.blocks);
	q->cpu = slow.run / slow.turns / (usual.run / usual.turns);
	q->held_up = is_held_up(q, c, &slow, &usual, u->block);
	return 0;
}
