/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of one name that stood still together, while others of the name went on: each waited
 * for the same upstream, which answered none of the server in that time, or one thread woke all of
 * them without a sleep between (it released a lock), or the first of them, and each the next one
 * (handoffs.h). A request with sleeps that follow each other waited until the last of them.
 */
#pragma once

#include "pause_parts.h"

/* Appends to v of the parts. */
int stalls_add(struct pause_parts *p, sqlite3 *db, struct err *e);
