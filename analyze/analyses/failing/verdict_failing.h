/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that fail: by errors, without an answer, by a process that was killed. */
#pragma once

#include "analyze/analyses/verdict/verdict.h"

/* SQL: services of server ?1. */
#define SERVICES_OF "(SELECT id FROM service WHERE server=?1)"

/*
 * SQL: rows of request_closed of server ?1 that count: bytes that are a request with an answer, not
 * of a process that was asked to end before the first crash (?2), nor through io_uring.
 */
#define CLOSED_OF                                                                             \
	"(SELECT * FROM request_closed WHERE NOT peer AND service IN " SERVICES_OF            \
	" AND coalesce(name, 0)"                                                              \
	" NOT IN (SELECT id FROM request_name WHERE awaits(protocol, name) OR NOT"            \
	" readable(protocol)) AND (read NOT NULL OR end >= ?2) AND pid NOT IN (SELECT pid"    \
	" FROM signal_sent WHERE signal IN (1, 2, 3, 15) AND ts < ?2) AND pid NOT IN (SELECT" \
	" pid FROM fd WHERE path='anon_inode:[io_uring]'))"

/* Requests that fail all the time, or are not answered: fills always and closed of j. */
int verdict_failing_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			 struct err *e);

/*
 * Where j has no problem yet, or one that a crash explains: whether failing requests are the
 * problem.
 */
void verdict_failing(struct judged *j, const struct limits *l);
int verdict_failing_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* verdict_errors_say.c: more errors: the problem itself (ret_id), or next to what else was found.
 */
int verdict_errors_say(struct analysis_ctx *c, const struct judged *j, enum severity severity,
		       s64 *ret_id, struct err *e);

/* verdict_name_server.c: to always, errors of a name for want of a name server that answers. */
int verdict_name_server_read(struct analysis_ctx *c, struct judged *j, struct err *e);
int verdict_name_server_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* verdict_crash.c: processes of the server that a signal ended while requests had no answer. */
int verdict_crash_read(struct analysis_ctx *c, struct judged *j, struct err *e);
/* verdict_rank.c: requests that were lost by faults harm more than a change of latency next to
 * them. */
bool verdict_crash_first(const struct judged *j);
/* Errors, or a change, right after a crash because of which others were ended. */
bool verdict_crash_before(const struct judged *j, double start, double end);
/* Under j->finding, or on its own where that is about something else. */
int verdict_crash_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/*
 * verdict_calls.c: the system calls that failed in requests that failed: under a finding, 0: next
 * to another problem; whether there are some that explain the errors j->more.
 */
int verdict_calls_say(struct analysis_ctx *c, const struct judged *j, s64 parent, struct err *e);
int verdict_calls_explain(struct analysis_ctx *c, const struct judged *j, bool *ret_explain,
			  struct err *e);

/* verdict_files.c: under j->finding, files that could be opened until the errors began. */
int verdict_files_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_sizes.c: under j->finding, requests of its name that fail, larger than all others. */
int verdict_sizes_say(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		      struct err *e);

/* verdict_open_files.c: under j->finding, what a process had open at the limit. */
int verdict_open_files_say(struct analysis_ctx *c, const struct judged *j, s64 pid, s64 ts,
			   struct err *e);
/* The same next to another problem, with the calls that failed, where accept left connections
 * waiting for it. */
int verdict_open_limit_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_holders.c: under j->finding, the clients that have all connections of a server that
 * refuses more, by the code of its errors or by turning them away. */
int verdict_holders_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_replicas.c: under j->finding, replicas that sent nothing to a server that needs them. */
int verdict_replicas_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_unserved.c: connections that are not accepted, or closed unserved, for want of something.
 */
int verdict_unserved_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			  struct err *e);
int verdict_unserved_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/*
 * verdict_datagrams.c: datagrams without an answer: fills questions, and adds them to the rate.
 */
int verdict_datagrams_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			   struct err *e);
int verdict_datagrams_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/*
 * verdict_turned.c: new connections that are answered and closed without a read: fills turned, of
 * those that were not there from the start.
 */
int verdict_turned_read(struct analysis_ctx *c, struct judged *j, struct err *e);
int verdict_turned_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* verdict_replaced.c: under j->finding, a server that j asks and that was replaced in that time. */
int verdict_replaced_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_outage.c: no process listened on the port of the server for a time: fills outage. */
int verdict_outage_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e);
int verdict_outage_say(struct analysis_ctx *c, struct judged *j, struct err *e);
