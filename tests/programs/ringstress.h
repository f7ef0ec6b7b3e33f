/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two sides of the stress test agree on. */
#pragma once

#include "format/event.h"

#define STRESS_CLASSES 8
#define STRESS_CPUS    256
#define STRESS_TYPE    77

static inline u64 stress_word(u64 ts, u64 seq, u32 i)
{
	return (ts + i) * 0x9e3779b97f4a7c15ull ^ seq << 17 ^ i;
}
