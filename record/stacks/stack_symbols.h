/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events symbol, of all frames. */
#pragma once

#include "raw_queue.h"
#include "record/pump/pump.h"

/*
 * Names, as far as time allows. hide: those of the kernel alone. stuck counts the processes that
 * were given up; initially 0, the same one each time.
 */
int stack_symbols(struct raw_queue *q, struct pump *p, bool hide, u32 *stuck, struct err *e);
