/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables, views and raw events as text for people who write queries. */
#pragma once

#include "format/buf.h"

/*
 * Appends the columns of a table, of a view, or of event and event_<name>; NULL: of all tables and
 * views. 0: there is no such table; 1: done.
 */
int describe_table(struct buf *out, const char *name, struct err *e);

/* Appends their names, one per line with what they are. */
int describe_names(struct buf *out, struct err *e);
