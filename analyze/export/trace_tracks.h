/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks of a trace: viewers need the slices of one track to nest. Tables keep that promise
 * except where events were lost or a recording lies; these types clip what would break it.
 */
#pragma once

#include "analyze/base/idmap.h"
#include "trace_event.h"

/* A span of time, ns. */
struct span {
	s64 ts, end;
};

/* A track, and the slices that are open on it, outer ones first. Zeroed it has none. */
struct track {
	struct trace_track k;
	struct open_slice {
		s64 end;
		char *name;
	} * open;
	u32 n, cap;
};

int track_name(struct trace_writer *w, struct track *k, enum trace_track_kind kind, s64 pid,
	       s64 tid, const char *name, s64 place);

/* Counters of processes: n each, at places from first on. */
#define COUNTERS_MOST 4
struct counters {
	struct idmap of; /* tracks by pid */
	const char *const *names;
	int n;
	s64 first;
};

int counters_put(struct trace_writer *w, struct counters *c, s64 ts, s64 pid, const s64 *values,
		 struct err *e);
void counters_free(const struct trace_writer *w, struct counters *c);

/* The part of the recording that is written. */
struct part {
	struct trace_writer *w;
	struct span span;
};

/*
 * Ends what is over and begins a slice, clipped to the part and to the slice it lies in; slices of
 * a track come in order of ts, outer ones first. v has all but kind and ts. 0 if it was written; 1:
 * it was not, as it is outside or too many are open. Negative: failed.
 */
int track_begin(const struct part *p, struct track *k, struct span span, struct trace_event *v);

/* Ends what is over at v->ts, then writes an instant; in order of ts, as slices. */
int track_instant(const struct part *p, struct track *k, struct trace_event *v);

/* Ends all that is open. */
int track_end(struct trace_writer *w, struct track *k);

/* Forgets all that is open. */
void track_free(const struct trace_writer *w, struct track *k);

/* Tracks for slices that overlap: each goes to the first track that is free. */
struct lanes {
	struct track *tracks;
	u32 n;
	struct lanes *next;
};

/* Lanes by id; zeroed there are none. In the order in which they were made. */
struct lane_map {
	struct idmap index;
	struct lanes *first, **last;
};

#define LANES_MAX 1024

/* The track for a slice that begins at ts, by number; -1: all are taken. A new one is not named. */
int lanes_take(struct lanes *l, s64 ts, struct err *e);

/* The lanes of id, made if need be; NULL: see e. */
struct lanes *lanes_of(struct lane_map *map, u64 id, struct err *e);

/* Ends all slices of all lanes in map; then frees them. */
int lanes_end(struct trace_writer *w, const struct lane_map *map);
void lanes_free(const struct trace_writer *w, struct lane_map *map);
