/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which names of requests a change of latency is about: see verdict_names.c. */
#pragma once

#include "verdict.h"

/*
 * NAMES_SLOW: a few names became slower, and all others did not, or all together did not: j is
 * about these then (start, end, slow, baseline, ratio), and *ret_names has them. NAMES_MIX: all
 * together became slower, no name did: the slower names have a larger share. 0: neither; negative:
 * an error.
 */
enum { NAMES_SLOW = 1, NAMES_MIX };

#define SLOW_NAMES 3 /* more are not a few */

struct slow_names {
	s64 id[SLOW_NAMES]; /* request_name.id, the largest change first */
	int n;
	int unchanged;		/* names that did not change, of those with enough requests */
	double p99[SLOW_NAMES]; /* ns, in the time range */
	double p99_base;	/* ns, of the first, outside */
	double last;		/* ns: the end of the last window with an answer of one of them */
	bool grows;		/* the first by a queue: verdict_name_grows.c */
	double first; /* arrival of the first that ends in the first window of the range */
};

int verdict_names(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		  struct slow_names *ret_names, struct err *e);

/*
 * verdict_choose.c: verdict_until of j->names, if one of them was answered after it, or of j->more,
 * unless all answers of its name fail until the end.
 */
double verdict_names_until(const struct judged *j);
double verdict_errors_until(const struct judged *j);

/* Below the finding of j, which has names: where the added time of one of them went. */
int verdict_name_part(struct analysis_ctx *c, const struct judged *j, s64 name, struct err *e);

/*
 * SQL: the requests of the processes of server ?1, with the thread that read each, and the ns for
 * which it is known to have occupied that thread: if the thread answered it as well, from its read
 * to the thread's next one, of whatever port, or to its own end.
 */
#define OCCUPYING                                                                                            \
	"(SELECT name, ts, dur, queued, lossy, paced, service, errors, requests, coalesce(receiver, tid) AS" \
	" reader, iif(receiver IS NULL, min(dur - held, coalesce(lead(ts) OVER (PARTITION BY"                \
	" coalesce(receiver, tid) ORDER BY ts) - ts, dur)), 0) AS occupied FROM request WHERE pid IN"        \
	" (SELECT pid FROM service WHERE server=?1))"

/*
 * verdict_name_grows.c: of a name without a change (j->only), whose requests are late at all
 * instants until the recording ends: as verdict_change, of a queue that grows.
 */
int verdict_name_grows(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e);
/* Below the finding of j: of that name, what arrives and what is answered. */
int verdict_name_grows_say(struct analysis_ctx *c, const struct judged *j, s64 name, struct err *e);

/*
 * ns that requests of judged names (ids), errors without work excluded, waited in the time range,
 * before they were read, for those of another name that occupied their thread.
 */
int verdict_waited_for(struct analysis_ctx *c, const struct judged *j, const struct idmap *judged,
		       s64 name, double *ret_ns, struct err *e);

/*
 * All became slower: puts, below the finding of j, the name whose requests occupied the serving
 * thread when the others waited for it, if there is one.
 */
int verdict_blocker(struct analysis_ctx *c, const struct judged *j, struct err *e);

/*
 * Facts next to the finding of j: what the verdict finds under it is all of its cause.
 * verdict_which.c: of slower requests, by name: those of one process, a few that need most of the
 * CPU time, or larger ones. verdict_oldest.c: the names that have waited longest at the end.
 * verdict_circle.c: the server waits for itself.
 */
int verdict_facts(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		  struct err *e);
int verdict_which(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		  struct err *e);
int verdict_oldest(struct analysis_ctx *c, const struct judged *j, struct err *e);
int verdict_circle(struct analysis_ctx *c, const struct judged *j, struct err *e);
