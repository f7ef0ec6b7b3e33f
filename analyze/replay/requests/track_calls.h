/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of probed functions. */
#pragma once

#include "analyze/replay/track.h"
#include "call_stats.h"

/* The sums of a site, made if need be; NULL: see e. */
struct call_stat *calls_stat(struct replay *r, u32 site, struct err *e);

/* Of this site no returns are recorded: its calls have no ends. */
int calls_entries_only(struct replay *r, u32 site, struct err *e);

/* Counts a defect; the first of each have a row. key: BULK_NULL, there is none. */
int calls_defect(struct replay *r, u32 site, enum span_defect defect, u64 ts, u32 tid, s64 key,
		 struct err *e);

/* What a span starts with, or a call with a text. */
struct span_start {
	u32 site, n_args;
	u64 sp;			 /* of a call */
	s64 args[SITE_ARGS_MAX]; /* BULK_NULL: not read */
	s64 text;		 /* usdt_text.id or BULK_NULL */
};

int calls_begin_span(struct replay *r, const struct record *rec, const struct span_start *s,
		     struct err *e);
int calls_end_span(struct replay *r, const struct record *rec, u32 site, s64 value, struct err *e);

/* A mark was passed. */
int calls_on_mark(struct replay *r, u32 site, struct err *e);
