// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of calls and spans, and what each adds to the sums of its site. */
#include "call_rows.h"

static s64 argument(const struct frame *f, u32 i)
{
	return i < f->n_args ? f->args[i] : BULK_NULL;
}

/* spent NULL: where the time went is not known. */
static void end_row(struct row_call *row, const struct frame *f, const u64 *spent)
{
#define STATE(id, name, ...) row->name = spent ? (s64)(spent[id] & INT64_MAX) : BULK_NULL;
#include "analyze/store/waits.def"
#undef STATE
	_Static_assert(SITE_ARGS_MAX == 4, "a column each");
	row->arg0 = argument(f, 0);
	row->arg1 = argument(f, 1);
	row->arg2 = argument(f, 2);
	row->arg3 = argument(f, 3);
	row->text = f->text;
}

bool call_split(const struct replay *r, const struct thread *t, const struct frame *f, u64 wall,
		u64 spent[N_STATES])
{
	u64 off = 0;
	int i;

	for (i = STATE_run + 1; i < N_STATES; i++) {
		spent[i] = elapsed(f->clock[i], t->clock[i]);
		off += spent[i];
	}
	spent[STATE_run] = elapsed(off, wall);
	return t->tracked && has_group(r, GROUP_sched);
}

void call_row(struct replay *r, u32 tid, const struct frame *f, const struct call_end *end)
{
	u64 wall = elapsed(f->ts, end->ts);
	struct row_call *row = bulk_add(r->bulk, call);

	row->ts = replay_time(r, f->ts);
	row->dur = wall;
	row->tid = tid;
	row->site = f->site;
	row->depth = end->depth;
	row->exclusive = elapsed(f->children, wall);
	row->value = f->value;
	row->lossy = end->lossy;
	row->end_tid = end->end_tid;
	end_row(row, f, end->spent);
}

void call_entry_row(struct replay *r, const struct thread *t, const struct frame *f, u32 depth)
{
	struct row_call *row = bulk_add(r->bulk, call);

	row->ts = replay_time(r, f->ts);
	row->dur = row->exclusive = row->value = row->end_tid = BULK_NULL;
	row->tid = t->tid;
	row->site = f->site;
	row->depth = depth;
	row->lossy = 0;
	end_row(row, f, NULL);
}

bool call_stat_add(struct call_stat *s, const struct frame *f, const struct call_end *end)
{
	u64 wall = elapsed(f->ts, end->ts);
	const u64 *spent = end->spent;
	int i;

	if (end->lossy || (spent && spent[STATE_unknown])) {
		s->excluded++;
		return false;
	}
	s->n++;
	s->total += wall;
	s->moved += end->moved;
	s->moved_total += end->moved ? wall : 0;
	s->exclusive += elapsed(f->children, wall);
	hist_add(&s->latency, wall);
	s->split |= spent != NULL;
	for (i = 0; spent && i < N_STATES; i++) {
		if (spent[i])
			hist_add(&s->states[i], spent[i]);
		s->inner[i] += f->inner[i] < spent[i] ? f->inner[i] : spent[i];
	}
	return true;
}
