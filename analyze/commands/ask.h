/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What users add to the recording: the step of series, the baseline, a series of
 * their own. It goes into the database before the analyses run, which read it there.
 */
#pragma once

#include "analyze/store/db.h"
#include "analyze/transform/filter.h"

/* The first member of the configuration of a command that takes ASK_OPTIONS or FILTER_OPTS. */
struct asked {
	struct filter filter;	 /* first: options of filter.h look for it there */
	unsigned long long step; /* ns; 0: the default */
	const char *qos;	 /* name of a series, or a CSV file; NULL: the default */
	struct asked_part {
		unsigned long long from, to; /* ns after the start; to 0: not named */
	} baseline, degraded;
	bool own_queries; /* only the user's: a database may have other tables than ours */
	struct asked_limits {
		unsigned long long pause, latency; /* ns; 0: the default */
		const char *factor, *errors;	   /* NULL: the default */
	} limits;
};

int ask_step(void *config, const char *arg, struct err *e);
int ask_qos(void *config, const char *arg, struct err *e);
int ask_baseline(void *config, const char *arg, struct err *e);
int ask_degraded(void *config, const char *arg, struct err *e);
int ask_limit_pause(void *config, const char *arg, struct err *e);
int ask_limit_latency(void *config, const char *arg, struct err *e);
int ask_limit_factor(void *config, const char *arg, struct err *e);
int ask_limit_errors(void *config, const char *arg, struct err *e);

#define ASK_STEP                                                                            \
	{                                                                                   \
		"step", 0, "TIME", "length of the windows of series; default: 1s", ask_step \
	}
/* clang-format off */
#define ASK_OPTIONS                                                                              \
	ASK_STEP,                                                                                \
	{ "baseline", 0, "FROM..TO", "the time range to compare with, such as 0..10 or 500ms..2s",     \
	  ask_baseline },                                                                        \
	{ "degraded", 0, "FROM..TO", "the slow time range, for causes; with --baseline",      \
	  ask_degraded },                                                                        \
	{ "qos", 0, "SERIES|FILE", "what metrics are correlated with: rps, p50, p90, p95 or "    \
	  "p99 (of requests), calls, call-p95, or a CSV file of times and values", ask_qos }
#define ASK_LIMITS                                                                               \
	{ "limit-pause", 0, "TIME", "a pause as long as this is a problem; default: 100ms",      \
	  ask_limit_pause },                                                                     \
	{ "limit-latency", 0, "TIME", "latency higher by this is a problem; default: 1ms",       \
	  ask_limit_latency },                                                                   \
	{ "limit-factor", 0, "NUMBER", "and by this factor; default: 1.5", ask_limit_factor },  \
	{ "limit-errors", 0, "PERCENT", "more errors by this share of the answers are a problem; " \
	  "default: 1", ask_limit_errors }
/* clang-format on */

/* True if an option other than the filter changes tables or answers. */
bool ask_special(const struct asked *a);

/* Puts what was asked into a database that has just been loaded. */
int ask_store(sqlite3 *db, const struct asked *a, struct err *e);

/* qos_csv.c: reads a CSV file into table qos. */
int qos_csv(sqlite3 *db, const char *path, struct err *e);
