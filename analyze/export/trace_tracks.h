/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks of a trace: viewers need the slices of one track to nest. Tables keep that promise
 * except where events were lost or a recording lies; these types clip what would break it.
 * A slice is written as its begin and its end: two numbers that are equal stay equal when a
 * viewer reads them as floating point, which begin + duration would not.
 */
#ifndef OBS_TRACE_TRACKS_H
#define OBS_TRACE_TRACKS_H

#include "analyze/base/idmap.h"
#include "trace_event.h"

/* A span of time, ns. */
struct span {
	s64 ts, end;
};

/* A track, and the slices that are open on it, outer ones first. Zeroed it has none. */
struct track {
	s64 pid, tid;
	struct open_slice {
		s64 end;
		char *name;
	} * open;
	u32 n, cap;
};

/*
 * Ends what is over and begins a slice, clipped to the one it lies in; slices of a track come in
 * order of ts, outer ones first. The event is left open for arguments: 0, then trace_close. 1:
 * too many are open, nothing was started. Negative: failed.
 */
int track_begin(struct trace_writer *w, struct track *k, struct span span, const char *name);

/* Ends all that is open. */
int track_end(struct trace_writer *w, struct track *k);

/* Forgets all that is open. */
void track_free(struct track *k);

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

/* The track for a slice that begins at ts, by number; -1: all are taken. A new one has tid 0. */
int lanes_take(struct lanes *l, s64 ts, struct err *e);

/* The lanes of id, made if need be; NULL: see e. */
struct lanes *lanes_of(struct lane_map *map, u64 id, struct err *e);

/* Ends all slices of all lanes in map; then frees them. */
int lanes_end(struct trace_writer *w, const struct lane_map *map);
void lanes_free(struct lane_map *map);

#endif
