/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that are called too often for an event each (--hot): switched to histograms in the
 * kernel and back, once per second, and what these have counted as records.
 */
#pragma once

#include "probes.h"

struct hot;

/* *ret NULL: no function is ever switched; all below then do nothing. */
int hot_new(struct hot **ret, struct probes *p, const struct options *o, struct err *e);

/* Once per second: writes what was counted, then decides on each function. */
int hot_tick(struct hot *h, struct pump *p, struct err *e);

/* Writes what was counted since the last time; exact when no program runs any more. */
int hot_collect(struct hot *h, struct pump *p, struct err *e);

/* Writes which functions have been counted since before ts: a snapshot may begin there. */
int hot_put_modes(const struct hot *h, u64 ts, struct pump *p, struct err *e);

void hot_free(struct hot *h);
