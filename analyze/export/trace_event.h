/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of Chrome's trace event format, as JSON: what ui.perfetto.dev, chrome://tracing and
 * speedscope read. An event is trace_open, then any of the others, then trace_close. A failure
 * is kept and returned by trace_close; until then the calls do nothing.
 */
#ifndef OBS_TRACE_EVENT_H
#define OBS_TRACE_EVENT_H

#include "analyze/base/sink.h"
#include "format/event.h"

struct trace_writer {
	struct sink *out;
	struct err *e;
	int failed; /* negative: see e; 1: the reader is gone */
	bool any;   /* an event was written: the next needs a comma */
	bool args;  /* the present event has an argument */
};

/* phase: B and E ends of a slice, i instant, s and f ends of an arrow, C counter. ts in ns. */
void trace_open(struct trace_writer *w, char phase, s64 pid, s64 tid, s64 ts);
void trace_name(struct trace_writer *w, const char *name);
void trace_words(struct trace_writer *w, const char *json); /* our own, as it is */
void trace_arg(struct trace_writer *w, const char *key, s64 value);
void trace_arg_text(struct trace_writer *w, const char *key, const char *text);
/* 0; 1: the reader is gone; negative: failed. */
int trace_close(struct trace_writer *w);

/* What a process or a track is called, and its place (smaller is higher). */
int trace_process(struct trace_writer *w, s64 pid, const char *name, s64 place);
int trace_track(struct trace_writer *w, s64 pid, s64 tid, const char *name, s64 place);

#endif
