/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks: a thread of its own takes raw ones out of their ring, finds the callers and makes
 * events; the main thread hands these on. What the ring cannot hold is lost and counted there, so
 * neither the drainer nor the recorded programs wait for it.
 */
#pragma once

#include "record/options/options.h"
#include "record/pump/pump.h"

struct stacks;

/* Bytes of the ring of raw stacks. */
u32 stacks_ring_size(int n_cpus);

/* Before rights are given up: where the kernel is, and descriptors of the ring and of sleepers. */
int stacks_open(struct stacks **ret, int ring_fd, int sleepers, const struct options *o,
		struct err *e);

/* Starts the thread. */
int stacks_start(struct stacks *s, struct err *e);

/* Hands on what has been made; with definitions of new frames, unless they are kept for snapshots.
 */
int stacks_collect(struct stacks *s, struct pump *p, struct err *e);

/* For a snapshot: waits until the ring is empty, at most for a short time, then as above. */
int stacks_flush(struct stacks *s, struct pump *p, struct err *e);

/* Flight mode: events before ts are not kept any more. */
void stacks_forget(struct stacks *s, u64 ts);

/* All modules, frames and stacks that are known, with their symbols: of a snapshot. */
int stacks_define(struct stacks *s, struct pump *p, struct err *e);

/* After the programs have been switched off, when the recording had ended: the rest. */
int stacks_stop(struct stacks *s, u64 ended, struct pump *p, struct err *e);

/* Symbols of all frames. Last. */
int stacks_symbols(struct stacks *s, struct pump *p, struct err *e);

void stacks_free(struct stacks *s);
