/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first screen: is there a problem, when, who, why, how sure, what next. Read once from the
 * tables verdict, pause, finding and coverage; text, Markdown and HTML draw it.
 */
#pragma once

#include "render.h"

#include "analyze/store/verdict_kind.h"

#include <stdbool.h>

#define SCREEN_MOMENTS 3
#define SCREEN_CAUSES  4
#define SCREEN_OTHERS  3

/* Texts hold bytes of the recording: escape them. Times are ns since the start. */
struct screen {
	struct buf title;    /* the server, or the process */
	struct buf range;    /* of wall-clock time */
	struct buf problem;  /* what happened; without a problem, why it is sure */
	struct buf numbers;  /* one line */
	struct buf complete; /* one line about the recording */
	struct buf others;   /* other servers; empty: none */
	struct buf also;     /* another problem of the same server; empty: none */
	struct buf hint;     /* how a next recording shows more; empty: none */
	struct screen_cause {
		struct buf text;
		const char *sure; /* observed, likely or possible */
	} causes[SCREEN_CAUSES];
	int n_causes;
	struct screen_moment {
		double ts, dur;
		struct buf what, who;
	} moments[SCREEN_MOMENTS];
	int n_moments;
	bool problems, healthy, unchanged;
	enum verdict_kind kind;
	s64 server;	   /* server.id of the first row; 0: a process, or no row */
	bool no_causes;	   /* analysis causes has nothing to compare */
	bool pauses;	   /* of it, that are long */
	const char *worst; /* COMPLETE, TRUNCATED or LOSSY */
};

int screen_read(struct screen *s, sqlite3 *db, struct err *e);
void screen_free(struct screen *s);

/* screen_others.c: other servers with a problem, by rank; the rest as numbers. */
int screen_others(struct screen *s, sqlite3 *db, struct err *e);
/* What is said next to the problem, finding. */
int screen_also(struct screen *s, sqlite3 *db, s64 finding, struct err *e);

/* screen_moments.c: the worst moments. */
int screen_moments(struct screen *s, sqlite3 *db, struct err *e);

/* PROBLEM, NO PROBLEM FOUND, NO CHANGE FOUND or NOT ENOUGH DATA. */
const char *screen_status(const struct screen *s);

/* Up to two commands that show more: obsanalyze report -a pauses FILE. 0 at the end. */
int screen_next(struct buf *out, const struct screen *s, int i, const char *file, struct err *e);

/* A problem has a cause, except where the problem's line says it already. */
bool screen_cause_missing(const struct screen *s);

/* screen_text.c */
int screen_text(struct buf *out, const struct screen *s, sqlite3 *db,
		const struct render_options *o, struct err *e);
int screen_markdown(struct buf *out, const struct screen *s, sqlite3 *db,
		    const struct render_options *o, struct err *e);

/* COMPLETE, TRUNCATED or LOSSY: that of the worst group. */
int verdict_worst(sqlite3 *db, const char **ret, struct err *e);
