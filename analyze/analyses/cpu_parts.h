/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the time that processes had a CPU, and their waits for memory: for analysis cpu. */
#pragma once

#include "analysis.h"

/* Adds the findings: softirqs, interrupts and steal by process; direct reclaim by process. */
void cpu_parts_put(struct analysis_ctx *c);
