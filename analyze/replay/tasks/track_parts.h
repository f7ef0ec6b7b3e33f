/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the time that threads had a CPU: track_parts.c. */
#pragma once

#include "analyze/replay/track.h"

/* The columns of the thread's row; NULL where switches have no parts. */
void parts_fill(const struct replay *r, const struct thread *t, struct row_thread *row);
