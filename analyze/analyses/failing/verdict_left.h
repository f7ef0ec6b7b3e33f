/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers whose rest could not be written, though their clients did not wait: their first part left
 * no later than that of others of their name, which were written completely, and no more time had
 * passed when they failed than others take. Such a client left for a reason of its own.
 */
#pragma once

#include "analyze/analyses/verdict/verdict.h"

/* SQL: for LEFT_ALONE: server ?1; the bounds are those of verdict_late_bound(). */
#define LEFT_WITH                                                                                \
	"whole AS MATERIALIZED (SELECT name, avg(first_send - ts + queued) AS begins, avg(dur +" \
	" queued - blocked) AS took FROM request WHERE NOT errors AND NOT lossy AND service IN"  \
	" (SELECT id FROM service WHERE server=?1) AND name IN (SELECT name FROM request_error"  \
	" WHERE first_after NOT NULL) GROUP BY name)"
/* Of a row of request_error; ?3 limit of latency, ?4 factor. */
#define LEFT_ALONE                                                                                  \
	"(first_after NOT NULL AND EXISTS (SELECT 1 FROM whole w WHERE w.name=request_error.name"   \
	" AND first_after <= max(begins + ?3, begins * ?4) AND failed_after <= max(took + ?3, took" \
	" * ?4)))"

/* verdict_left.c: how many errors of a time range are such answers. */
int verdict_left(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		 double from, double to, double *ret_n, struct err *e);
