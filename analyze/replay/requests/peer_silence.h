/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long those that a socket asks, connected to none of them, answer nothing. */
#pragma once

#include "analyze/replay/io/datagrams.h"

/*
 * Questions that had no answer until then; end 0: the recording ends. Not where the socket received
 * from a peer that is not recorded since: that may be the answer.
 */
int peer_silence_put(struct replay *r, const struct process *p, s32 fd, const struct datagrams *d,
		     const struct datagram_peer *peer, u64 end, struct err *e);

/* One that never answers, as of a log, is one row; else what was asked when is kept. */
int peer_silence_asks(struct replay *r, const struct thread *t, s32 fd, const struct datagrams *d,
		      struct datagram_peer *peer, u64 ts, struct err *e);
