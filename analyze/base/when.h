/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instants as people write them: after the start, by the wall clock, or with a date. */
#pragma once

#include "format/recording.h"

enum when_kind { WHEN_NONE, WHEN_AFTER, WHEN_OF_DAY, WHEN_DATE };

struct when {
	enum when_kind kind;
	u64 ns; /* after the start; since midnight UTC; since 1970 UTC */
};

/* Begin, end and wall clock of a recording. */
struct origin {
	u64 begin;    /* of the recording, on its own clock */
	u64 end;      /* when the recorder stopped, else the last event */
	s64 realtime; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	bool clock;   /* realtime is known */
};

/*
 * "10", "10s", "+2.5s", "250ms", "3m", "1h": after the start; "14:03", "14:03:07.25": of the
 * day, UTC; "2026-11-21T14:03:07.25Z", "...+02:00": RFC 3339. option is for the error.
 */
int when_parse(struct when *ret, const char *option, const char *text, struct err *e);

/* Reads the recorder's own records; the reader is rewound, without limits, afterwards. */
int origin_read(struct origin *ret, struct reader *r, struct err *e);

/* The instant on the recording's clock; other if w is WHEN_NONE. */
int when_resolve(u64 *ret, const struct when *w, const struct origin *o, u64 other, struct err *e);

/* Later minus earlier, 0 if they are out of order. */
static inline u64 elapsed(u64 from, u64 to)
{
	return to > from ? to - from : 0;
}
