/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recorder with less than usual priority loses events, or never starts. */
#pragma once

#include "format/err.h"

#include <stdbool.h>

struct priority {
	int nice;
	int policy;
	bool raised;
};

/* Raises a low priority of the calling thread to the usual one; prints what became of it. */
void priority_raise(struct priority *ret_before, bool quiet);

/* In the command: the priority before it was raised. */
void priority_restore(const struct priority *before);
