/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams of clients that have no answer: table question_unanswered. */
#pragma once

#include "analyze/replay/io/datagrams.h"

/* What the peer asked last waits for nothing more: it sends the next one; end 0: at the end. */
int question_ends(struct replay *r, const struct process *p, s32 fd, const struct file *f,
		  struct datagram_peer *peer, u64 end, struct err *e);
