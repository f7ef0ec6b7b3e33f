// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that is held up finds several requests when it goes on, and each of them then waits for
 * those in front of it, which looks like its own computing. If the process is asked no more often
 * than in the usual time, and needs no more CPU time for all of it, then the computing is not what
 * makes turns slow: what held the thread up is. Each may take somewhat more CPU time: who shares a
 * CPU finds its caches cold.
 */
#include "causes.h"

#include <stdlib.h>

#define SAME 1.15 /* a ratio up to here is no rise */
#define COLD 1.3  /* of CPU time a turn */

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
	q->held_up = q->rate <= SAME && q->cpu <= COLD && q->rate * q->cpu <= SAME;
	return 0;
}
