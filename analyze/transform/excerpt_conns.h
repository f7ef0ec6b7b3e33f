/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of the events of group requests, which an excerpt starts with, and whose they are:
 * their events have no tid. Part of excerpt.c.
 */
#pragma once

#include "excerpt_cpu.h"

/* A record in order of time, after process_state_take. */
int excerpt_conns_take(struct excerpt *x, const struct record *rec);

/* True if it is an event of a connection that a chosen process has. */
bool excerpt_conns_want(const struct excerpt *x, const struct record *rec);

/* Adds the connections of this moment to the recorder's records. */
int excerpt_conns_put(struct excerpt *x, u64 ts);

/*
 * A segment without a position that the part has none of its connection before: *ret is the same
 * with it. False: it is another record, or the position is not known.
 */
bool excerpt_conns_place(struct excerpt *x, const struct record *rec, struct ev_segment *ret);

void excerpt_conns_free(struct excerpt *x);
