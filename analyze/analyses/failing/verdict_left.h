/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers whose rest could not be written, though their clients did not wait: their first part left
 * no later than that of others of their name, which were written completely, and no more time had
 * passed when they failed than others take. Such a client left for a reason of its own.
 */
#pragma once

#include "analyze/analyses/verdict/verdict.h"

#define WHOLE_LEAST "5" /* complete answers of a name, else what is usual is not known */

/*
 * SQL: for LEFT_ALONE: server ?1. What is usual is the smaller of median and geometric mean: a few
 * answers that take far longer are why other clients gave up, and excuse none of them.
 */
#define LEFT_WITH                                                                                     \
	"done AS MATERIALIZED (SELECT name, begins, took, row_number() OVER (PARTITION BY name ORDER" \
	" BY begins) AS b, row_number() OVER (PARTITION BY name ORDER BY took) AS t, count(*) OVER"   \
	" (PARTITION BY name) AS n FROM (SELECT name, max(first_send - ts + queued, 1) AS begins,"    \
	" max(dur + queued - blocked, 1) AS took FROM request WHERE NOT errors AND NOT lossy AND"     \
	" first_send NOT NULL AND service IN (SELECT id FROM service WHERE server=?1) AND name IN"    \
	" (SELECT name FROM request_error WHERE first_after NOT NULL))), whole AS MATERIALIZED"       \
	" (SELECT name, min(max(begins) FILTER (WHERE b=(n + 1) / 2), exp(avg(ln(begins)))) AS"       \
	" begins, min(max(took) FILTER (WHERE t=(n + 1) / 2), exp(avg(ln(took)))) AS took FROM done"  \
	" GROUP BY name HAVING count(*) >= " WHOLE_LEAST ")"
/* Of a row of request_error; ?3 limit of latency, ?4 factor. */
#define LEFT_ALONE                                                                                  \
	"(first_after NOT NULL AND EXISTS (SELECT 1 FROM whole w WHERE w.name=request_error.name"   \
	" AND first_after <= max(begins + ?3, begins * ?4) AND failed_after <= max(took + ?3, took" \
	" * ?4)))"

/* verdict_left.c: errors that are such answers, by window of j (WINDOWS of them). */
int verdict_left(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		 double *ret_n, struct err *e);
