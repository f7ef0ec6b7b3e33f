// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the time of turns goes, and how long others take to answer. A turn is split by the clocks
 * of the thread that sends: it is what the turn waited for, also while it was still busy
 * with another turn. An event loop waits for answers in poll; the time between its own
 * request on a connected socket and the answer is therefore taken out of poll. What a request
 * waited before its first receive is kept apart (track_ready.c).
 */
#include "track_turns.h"

#include "analyze/replay/latency_rows.h"
#include "analyze/replay/tasks/past.h"
#include "analyze/replay/track_loss.h"
#include "track_ready.h"

#include <stdlib.h>
#include <string.h>

struct turn_time {
	u64 begin;
	u64 upstream; /* time in which an answer to its thread was outstanding */
	u32 tid;      /* of the first receive */
	bool split;   /* spent is known */
	u64 clock[N_STATES];
	u64 spent[N_STATES];
	u64 queued; /* before the first receive, and where that time went */
	u64 before[N_STATES];
};

struct turns {
	u64 n;
};

/* Of a process. */
struct turn_latencies {
	struct hist turn, served, exchange;
};

/* The last exchange of a thread on a connected socket. */
struct exchange {
	u64 asked, answered;
};

static struct turns *own(const struct replay *r)
{
	return r->own[TRACK_turns];
}

static struct turn_latencies *latencies_of(const struct process *p)
{
	return p->own[TRACK_turns];
}

static struct exchange *exchange_of(const struct thread *t)
{
	return t->own[TRACK_turns];
}

/* Whose clocks can split turns: threads whose every switch is in the recording. */
static bool is_timed(const struct replay *r, const struct thread *t)
{
	return t->tracked && has_group(r, GROUP_sched);
}

static int remember_past(struct thread *t, struct err *e)
{
	return past_remember(t, e) < 0 ? ERR_FAIL : ready_begin(t, e);
}

int turns_begin(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		u64 last, struct err *e)
{
	if (f->time) {
		f->time->split = false;
		f->time->begin = f->time->queued = 0;
	}
	if (!is_timed(r, t))
		return 0;
	if (!f->time && !(f->time = calloc(1, sizeof(*f->time))))
		return err_set(e, ERR_FAIL, "out of memory for turns");
	f->time->begin = v->ts;
	f->time->tid = t->tid;
	f->time->upstream = 0;
	f->time->queued = ready_take(r, t, v, last, f->time->before);
	memcpy(f->time->clock, t->clock, sizeof(f->time->clock));
	return remember_past(t, e);
}

int turns_send(struct replay *r, struct thread *t, struct file *f, u64 ts, struct err *e)
{
	struct exchange *last = exchange_of(t);
	struct turn_time *turn = f->time;
	u64 off = 0;
	int i;

	if (!turn || !turn->begin)
		return 0;
	turn->split = false;
	if (!is_timed(r, t))
		return 0;
	if (remember_past(t, e) < 0)
		return ERR_FAIL;
	if (last->answered > turn->begin && last->asked >= turn->begin) {
		turn->upstream += elapsed(last->asked, last->answered);
		*last = (struct exchange){ 0 };
	}
	turn->split = true;
	if (t->tid != turn->tid) {
		past_since(t, turn->begin, ts, turn->spent);
		return 0;
	}
	for (i = STATE_run + 1; i < N_STATES; i++) {
		turn->spent[i] = elapsed(turn->clock[i], t->clock[i]);
		off += turn->spent[i];
	}
	turn->spent[STATE_run] = elapsed(off, elapsed(turn->begin, ts));
	return 0;
}

bool turns_is_split(const struct file *f)
{
	return f->time && f->time->split;
}

u64 turns_queued(const struct file *f)
{
	/* seen by the thread that received; a turn's time is told by the one that sends */
	return turns_is_split(f) && f->turn.tid == f->time->tid ? f->time->queued : 0;
}

/* turn_before has the same columns. */
_Static_assert(sizeof(struct row_turn_wait) == sizeof(struct row_turn_before), "the same columns");

static void write_states(struct replay *r, enum table_id table, const u64 spent[N_STATES])
{
	struct row_turn_wait *row;
	int i;

	for (i = STATE_run + 1; i < N_STATES; i++) {
		if (!spent[i])
			continue;
		row = bulk_row(r->bulk, table);
		row->turn = own(r)->n;
		row->state = i;
		row->dur = spent[i] & INT64_MAX;
	}
}

void turns_end(struct replay *r, struct process *p, const struct file *f)
{
	struct turn_time *t = f->time;
	u64 moved, dur = elapsed(f->turn.first_recv, f->turn.last_send);

	own(r)->n++;
	hist_add(&latencies_of(p)->turn, dur);
	hist_add(&latencies_of(p)->served, turns_queued(f) + dur);
	if (!turns_is_split(f))
		return;
	moved = t->upstream < t->spent[STATE_poll] ? t->upstream : t->spent[STATE_poll];
	t->spent[STATE_poll] -= moved;
	t->spent[STATE_client] += moved;
	write_states(r, TABLE_turn_wait, t->spent);
	if (turns_queued(f))
		write_states(r, TABLE_turn_before, t->before);
	t->split = false;
}

void turns_exchange(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		    bool send, u64 bytes)
{
	struct asking *a = &f->asking;
	u64 dur;
	struct row_exchange *row;

	if (send) {
		a->last_send = v->ts;
		a->sends++;
		a->bytes += bytes;
		return;
	}
	if (!a->sends)
		return; /* more of an answer, or nobody asked */
	dur = elapsed(a->last_send, v->ts);
	*exchange_of(t) = (struct exchange){ a->last_send, v->ts };
	row = bulk_add(r->bulk, exchange);
	row->ts = replay_time(r, a->last_send);
	row->dur = dur;
	row->pid = t->process->pid;
	row->tid = t->tid;
	row->fd = (s32)v->arg[0];
	row->sends = a->sends;
	row->send_bytes = a->bytes & INT64_MAX;
	row->recv_bytes = bytes & INT64_MAX;
	row->lossy = loss_overlaps(r, a->last_send, v->ts);
	hist_add(&latencies_of(t->process)->exchange, dur);
	*a = (struct asking){ 0 };
}

static int turns_process_end(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	const struct turn_latencies *l = latencies_of(p);
	int ret;

	(void)ts;
	ret = latency_rows(r, "turn", p->pid, 0, &l->turn, e);
	if (ret == 0)
		ret = latency_rows(r, "served", p->pid, 0, &l->served, e);
	return ret < 0 ? ret : latency_rows(r, "exchange", p->pid, 0, &l->exchange, e);
}

static void turns_process_free(void *own)
{
	struct turn_latencies *l = own;

	hist_free(&l->turn);
	hist_free(&l->served);
	hist_free(&l->exchange);
}

const struct tracker track_turns = {
	.name = "turns",
	.of_replay = sizeof(struct turns),
	.of_process = sizeof(struct turn_latencies),
	.of_thread = sizeof(struct exchange),
	.process_end = turns_process_end,
	.process_free = turns_process_free,
};
