// SPDX-License-Identifier: GPL-2.0-or-later
/* Table peer_silence: how long those that a socket asks, connected to none of them, answer nothing.
 */
#include "peer_silence.h"

#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "analyze/store/row_types.h"

#define SILENCE_LEAST 50000000 /* ns: a shorter one is no row */

int peer_silence_put(struct replay *r, const struct process *p, s32 fd, const struct datagrams *d,
		     const struct datagram_peer *peer, u64 end, struct err *e)
{
	u64 to = end ? end : r->end;
	char text[ADDRESS_MAX];

	if (!peer->asked || elapsed(peer->asked, to) < SILENCE_LEAST || peer->unknown != d->unknown)
		return 0;
	address_text(text, peer->family, peer->address, peer->port);
	return row_put(r->db, peer_silence, e, .ts = replay_time(r, peer->from),
		       .dur = (s64)(elapsed(peer->from, to) & INT64_MAX),
		       .since = replay_time(r, peer->asked), .last = replay_time(r, peer->last),
		       .pid = p->pid, .tid = peer->asker ? peer->asker : BULK_NULL, .fd = fd,
		       .address = text, .questions = (s64)(peer->questions & INT64_MAX),
		       .answered = peer->answered, .open = !end,
		       .lossy = loss_overlaps(r, peer->asked, to));
}

int peer_silence_asks(struct replay *r, const struct thread *t, s32 fd, const struct datagrams *d,
		      struct datagram_peer *peer, u64 ts, struct err *e)
{
	if (peer->unknown != d->unknown)
		peer->asked = peer->questions = 0;
	if (peer->asked && peer->answered && elapsed(peer->from, ts) >= SILENCE_LEAST) {
		if (peer_silence_put(r, t->process, fd, d, peer, ts, e) < 0)
			return ERR_FAIL;
		peer->questions = 0;
	}
	peer->unknown = d->unknown;
	if (!peer->asked)
		peer->asked = ts;
	if (!peer->questions++) {
		peer->from = ts;
		peer->asker = t->tid;
	}
	if (peer->asker != t->tid)
		peer->asker = 0;
	peer->last = ts;
	return 0;
}
