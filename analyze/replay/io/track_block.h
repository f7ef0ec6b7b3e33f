/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Block requests of threads. */
#pragma once

#include "analyze/replay/track.h"

/* A thread's own requests. */
struct own_io {
	u32 dev; /* of the last that completed */
	u32 in_flight;
	u64 end; /* last completion */
};

static inline struct own_io *own_io_of(const struct thread *t)
{
	return t->own[TRACK_block];
}
