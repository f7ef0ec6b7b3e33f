/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a trace, for any of its formats: begins and ends of slices, instants, arrows, counters.
 * A failure is kept; after it the calls do nothing.
 */
#pragma once

#include "analyze/base/sink.h"
#include "analyze/store/db.h"
#include "format/event.h"

#include <stdbool.h>

#define TRACE_ARGS 8

enum trace_kind { TRACE_BEGIN, TRACE_END, TRACE_INSTANT, TRACE_ARROW, TRACE_COUNTER };

struct trace_event {
	enum trace_kind kind;
	s64 ts; /* ns since the start */
	const char *name;
	const char *category; /* a literal; NULL: none */
	u64 arrow;	      /* TRACE_ARROW: starts here; TRACE_BEGIN: ends here; 0: none */
	struct trace_arg {
		const char *key, *text; /* key: a literal; text NULL: a number */
		s64 value;
	} args[TRACE_ARGS];
	unsigned int n_args;
};

/* What slices are drawn on. A counter is one too. */
struct trace_track {
	s64 pid, tid;
	bool named; /* it has been described */
	enum trace_track_kind { TRACK_THREAD, TRACK_LANE, TRACK_COUNTER } kind;
	struct track_state *state; /* of the format; NULL: none */
};

/* The recording as a whole. */
struct trace_facts {
	s64 realtime, boottime, monotonic; /* ns, at the start; 0: not known */
	const char *(*const texts)[2];	   /* key and value; ended by NULL */
};

struct trace_writer {
	const struct trace_form *form;
	struct sink *out;
	struct err *e;
	u32 cpus;    /* that may be used; 0: the default */
	int failed;  /* negative: see e; 1: the reader is gone */
	bool any;    /* json: an event was written: the next needs a comma */
	void *state; /* of the format */
};

/* A format. Each returns w->failed. */
struct trace_form {
	int (*start)(struct trace_writer *w, const struct trace_facts *facts);
	int (*process)(struct trace_writer *w, s64 pid, const char *name, s64 place);
	/* name and place of a track (smaller is higher), before its first event */
	int (*track)(struct trace_writer *w, struct trace_track *k, const char *name, s64 place);
	/* the events of one track come in order of time */
	int (*event)(struct trace_writer *w, struct trace_track *k, const struct trace_event *v);
	int (*end)(struct trace_writer *w);
	void (*free_track)(struct track_state *s);
	void (*free)(struct trace_writer *w); /* also after a failure */
};

extern const struct trace_form trace_json;  /* Chrome's trace event format */
extern const struct trace_form trace_proto; /* Perfetto's protocol */

/* Starts a trace with the facts of a database. */
int trace_start(struct trace_writer *w, sqlite3 *db);

void trace_arg(struct trace_event *v, const char *key, s64 value);
void trace_arg_text(struct trace_event *v, const char *key, const char *text);
