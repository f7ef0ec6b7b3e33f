/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections by number: a recording of the newest events needs those opened before it. */
#pragma once

#include "format/buf.h"
#include "format/event.h"

struct connections;

int connections_new(struct connections **ret, struct err *e);
void connections_free(struct connections *c);

/* An event of a connection, or any other; from one thread, between lock and unlock. */
void connections_see(struct connections *c, const struct ev_header *h);
void connections_lock(struct connections *c);
void connections_unlock(struct connections *c);

/* Appends the connections that had events from this time on. */
int connections_add(struct connections *c, u64 since, struct buf *records, struct err *e);
