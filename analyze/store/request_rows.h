/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "analyze/store/columns/columns.h"

struct idmap;

/* Names of requests that are answered when something happens: their latency is no server's. */
int awaiting_names(struct idmap *ret, sqlite3 *db, struct err *e);

/*
 * SQL, of a row u of unanswered: an answer is due. One left on its socket before, or requests of
 * its name are answered. A process that only receives, as one that takes logs, has neither. All
 * that its client announced has arrived.
 */
#define ANSWER_DUE                                                                             \
	"(u.rest IS NULL AND (u.answered OR (u.service, u.name) IN (SELECT service, name FROM" \
	" request_stat WHERE latency > 0)))"

/*
 * fn for the requests of services, without those during losses, those that await something, and
 * those that wait for their clients: their ts, dur, queued and name, and the columns of the set; if
 * paced is one, also those that wait for their clients to send the rest. The query has one
 * parameter, key, and returns the services' ids.
 */
int requests_each(sqlite3 *db, u32 set, const char *services, s64 key, row_fn fn, void *arg,
		  struct err *e);
