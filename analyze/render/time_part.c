// SPDX-License-Identifier: GPL-2.0-or-later
#include "time_part.h"

#include "analyze/store/state.h"

const struct time_part_desc time_parts[N_TIME_PARTS] = {
	[TIME_cpu] = { "cpu", "on CPU" },
	[TIME_queue] = { "queue", "earlier requests" },
	[TIME_runq] = { "runq", "waiting for a CPU" },
	[TIME_futex] = { "futex", "futex, lock" },
	[TIME_disk] = { "disk", "disk, uninterruptible" },
	[TIME_upstream] = { "upstream", "upstream" },
	[TIME_input] = { "input", "waiting for input" },
	[TIME_rest] = { "rest", "other" },
};

enum {
#define BAND(...)
#define CATEGORY(name, band, part, ...) OF_##name = TIME_##part,
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
};

enum time_part time_part_of(s64 state)
{
	static const u8 of[N_STATES] = {
#define STATE(id, name, off, category, ...) [id] = OF_##category,
#include "analyze/store/waits.def"
#undef STATE
	};

	return state >= 0 && state < N_STATES ? of[state] : TIME_rest;
}
