/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few parts by which a page shows time: their colours and labels, and the part of each state.
 */
#pragma once

#include "format/event.h"

enum time_part {
	TIME_cpu,
	TIME_queue,
	TIME_runq,
	TIME_futex,
	TIME_disk,
	TIME_upstream,
	TIME_input,
	TIME_rest,
	N_TIME_PARTS
};

extern const struct time_part_desc {
	const char *class, *label; /* class: of html_style */
} time_parts[N_TIME_PARTS];

/* By the category of a state of waits.def; TIME_rest: of any other number. */
enum time_part time_part_of(s64 state);
