/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPU's counters have a record. */
#pragma once

#include "format/recording.h"

/* The CPU whose counters have the record; STREAM_RECORDER: none has. Stacks come through obsrec. */
u32 counted_on(const struct record *rec);
