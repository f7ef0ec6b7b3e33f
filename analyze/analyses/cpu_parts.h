/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of the time that processes had a CPU, and their waits for memory: for analysis cpu.
 */
#ifndef OBS_CPU_PARTS_H
#define OBS_CPU_PARTS_H

#include "analysis.h"

/* Puts the findings: softirqs, interrupts and steal by process; direct reclaim by process. */
int cpu_parts_put(struct analysis_ctx *c, struct err *e);

#endif
