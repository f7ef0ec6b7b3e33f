// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Datagrams of clients that have no answer, on sockets that have answered some. One whose client
 * sends the next soon need not wait: it may be a part of a message. Of sockets of which not all
 * peers are recorded nothing is known: what was sent may be an answer to any.
 */
#include "questions.h"

#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "analyze/store/row_types.h"
#include "track_services.h"

#define WAIT_LEAST 50000000 /* ns: a shorter one is no row */

int question_ends(struct replay *r, const struct process *p, s32 fd, const struct file *f,
		  struct datagram_peer *peer, u64 end, struct err *e)
{
	const struct datagrams *d = f->datagrams;
	u64 since = peer->waits, to = end ? end : r->end;

	peer->waits = 0;
	if (!since || peer->mutual || d->off || !d->last_send || !f->request.service ||
	    elapsed(since, to) < WAIT_LEAST)
		return 0;
	return row_put(r->db, question_unanswered, e, .ts = replay_time(r, since),
		       .dur = (s64)(elapsed(since, to) & INT64_MAX), .pid = p->pid,
		       .tid = peer->reader, .fd = fd, .service = service_id(f->request.service),
		       .lossy = loss_overlaps(r, since, to));
}
