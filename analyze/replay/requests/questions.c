// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Datagrams of clients that have no answer, on sockets that have answered some. One whose client
 * sends the next soon need not wait: it may be a part of a message. Where peers are not recorded, a
 * send answers the newest receive, and a receive waits only until the next send to any: of several
 * parts, the last is answered at once.
 */
#include "questions.h"

#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"
#include "track_services.h"

#include <string.h>

#define WAIT_LEAST 50000000 /* ns: a shorter one is no row */
#define OF_ONE	   256	    /* of a socket */
#define ALL_MOST   1000000  /* of all sockets */

static int put(struct replay *r, const struct process *p, s32 fd, const struct file *f,
	       const struct question *q, struct err *e)
{
	u64 end = q->sent ? q->sent : r->end;

	if (!f->datagrams->last_send || !f->request.service || elapsed(q->ts, end) < WAIT_LEAST)
		return 0;
	return row_put(r->db, question_unanswered, e, .ts = replay_time(r, q->ts),
		       .dur = (s64)(elapsed(q->ts, end) & INT64_MAX), .pid = p->pid, .tid = q->tid,
		       .fd = fd, .service = service_id(f->request.service),
		       .lossy = loss_overlaps(r, q->ts, end));
}

int question_ends(struct replay *r, const struct process *p, s32 fd, const struct file *f,
		  struct datagram_peer *peer, u64 end, struct err *e)
{
	const struct question q = { peer->waits, end, peer->reader };

	peer->waits = 0;
	return q.ts && !peer->mutual ? put(r, p, fd, f, &q, e) : 0;
}

/* How many all sockets have. */
static size_t *all(const struct replay *r)
{
	return &((struct all_datagrams *)r->own[TRACK_datagrams])->questions;
}

static void forget(struct replay *r, struct datagrams *d, size_t n)
{
	n = n < d->n_questions ? n : d->n_questions;
	d->n_questions -= n;
	*all(r) -= n;
}

/* The older half of them. */
static int put_oldest(struct replay *r, const struct process *p, s32 fd, const struct file *f,
		      u64 now, struct err *e)
{
	struct datagrams *d = f->datagrams;
	size_t i, half = d->n_questions / 2;

	for (i = 0; i < half; i++) {
		struct question *q = &d->questions[i];

		q->sent = q->sent ? q->sent : now;
		if (put(r, p, fd, f, q, e) < 0)
			return ERR_FAIL;
	}
	memmove(d->questions, d->questions + half, (d->n_questions - half) * sizeof(*d->questions));
	forget(r, d, half);
	return 0;
}

int questions_moved(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		    bool send, struct err *e)
{
	bool many = v->desc->family == FAMILY_SEND_MANY || v->desc->family == FAMILY_RECV_MANY;
	struct datagrams *d = f->datagrams;
	size_t n = many && v->ret < OF_ONE ? (size_t)v->ret : many ? OF_ONE : 1, i;

	if (send) {
		for (i = d->n_questions; i && !d->questions[i - 1].sent; i--)
			d->questions[i - 1].sent = v->ts;
		forget(r, d, n);
		d->last_send = v->ts;
		return 0;
	}
	for (i = 0; i < n; i++) {
		if (d->n_questions >= OF_ONE &&
		    put_oldest(r, t->process, (s32)v->arg[0], f, v->ts, e) < 0)
			return ERR_FAIL;
		if (*all(r) >= ALL_MOST)
			return 0;
		if (GROW(d->questions, d->n_questions, "datagrams", e) < 0)
			return ERR_FAIL;
		d->questions[d->n_questions++] = (struct question){ .ts = v->ts, .tid = t->tid };
		++*all(r);
	}
	return 0;
}

int questions_end(struct replay *r, const struct process *p, s32 fd, struct file *f, bool closed,
		  struct err *e)
{
	struct datagrams *d = f->datagrams;
	size_t i;

	for (i = 0; i < d->n_questions; i++)
		if ((!closed || d->questions[i].sent) && put(r, p, fd, f, &d->questions[i], e) < 0)
			return ERR_FAIL;
	forget(r, d, d->n_questions);
	return 0;
}
