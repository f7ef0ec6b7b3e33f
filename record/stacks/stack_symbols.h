/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events symbol, of all frames: names, as far as time allows. All of it is for one thread. From
 * start on another one may change the queue: the process that reads has a copy of it.
 *
 *	stack_naming_begin(&n, q);
 *	while (stack_naming_start(&n, q, p, hide) && stack_naming_take(&n, p, e) > 0)
 *		stack_naming_blame(&n, q);
 */
#pragma once

#include "raw_queue.h"
#include "record/pump/pump.h"

#include <sys/types.h>

struct stack_naming {
	u32 older, frames; /* of the queue's tables: those that are there now */
	u32 module;	   /* that is read: the first one of the next round */
	int left;	   /* ms to wait */
	int rounds;
	int from; /* pipe */
	pid_t pid;
};

void stack_naming_begin(struct stack_naming *n, const struct raw_queue *q);

/* hide: names of the kernel and its vdso alone. False: there is no more to be read. */
bool stack_naming_start(struct stack_naming *n, struct raw_queue *q, struct pump *p, bool hide);

/* Takes what it reads. 1: it is stuck, and ended. */
int stack_naming_take(struct stack_naming *n, struct pump *p, struct err *e);

/* The file that it is stuck at is not asked for names again. */
void stack_naming_blame(struct stack_naming *n, struct raw_queue *q);
