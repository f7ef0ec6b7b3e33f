/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a probe costs the probed program, estimated before it is set. */
#pragma once

#include "elfsym.h"

/* "emulated", "stepped": how the kernel executes the instruction under the probe. */
const char *probecost_class(enum probe_class class);

struct cost_range {
	double low, high; /* us a call; 0: not known for this kind of machine */
};

/* What a call costs, with or without its return. */
struct cost_range probecost(enum probe_class class, bool returns);
