/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace that is being written, and its tracks by thread. */
#pragma once

#include "analyze/store/row_types.h"
#include "trace_order.h"

/* Numbers that no thread has: below 80,000,000 in merged recordings. */
#define STATES_BASE  100000000 /* + tid: the track of a thread's states */
#define SAMPLES_BASE 400000000 /* + tid: that of its samples */
#define PID_CPUS     300000001
#define PID_LOSS     300000002
#define PID_DISKS    300000003
#define LANES_BASE   200000000 /* + row: the tracks of a process's requests */
#define LANES_KIND   1000000   /* + kind: requests that it answers, that it sends, spans */

/* A thread and its tracks: what state it is in, what it does, which functions ran. */
struct rail {
	s64 pid;
	char comm[64];
	struct track states, calls, samples;
	int state; /* of the last slice of states */
	struct span last;
	struct rail
		*next; /* in the order in which they were made: a trace is the same every time */
};

#define N_LANE_KINDS 3

struct trace {
	struct trace_writer w;
	struct part part;
	sqlite3 *db;
	struct err *e;
	struct idmap rails; /* threads by tid */
	/* names */
	struct idmap calls;  /* of system calls by table << 32 | number */
	struct idmap nrs;    /* of system calls by number alone */
	struct idmap states; /* by id */
	struct idmap names;  /* of requests, by id */
	struct idmap peers;  /* clients that were looked up last, by process and descriptor */
	struct rail *first, **last;
	struct lane_map requests[N_LANE_KINDS]; /* lanes by pid: answered, sent, spans with a key */
	struct lane_map disks;			/* lanes by device */
	struct lane_map losses;			/* lanes (one) by CPU and group */
	struct track *cpus;			/* STREAM_MAX */
	struct counters counters, parts;
	u64 arrows;
	s64 end; /* of the recording */
};

/* The rail of a thread, made if need be; NULL: see t->e. */
struct rail *trace_rail(struct trace *t, s64 tid);

/* Names a track before its first event. */
int trace_track(struct trace *t, struct track *k, enum trace_track_kind kind, s64 pid, s64 tid,
		const char *name, s64 place);

/* Names the track of a thread when it gets its first slice: empty ones are not shown. */
void trace_name_thread(struct trace *t, struct rail *r, s64 tid, struct track *k);

/* The track for a slice at ts, one of those of id; NULL: *ret is -1, too many, or -2, failed. */
struct track *trace_lane(struct trace *t, struct lane_map *map, u64 id, s64 ts, int *ret);

#define TRACK_QUERIES 3

/*
 * What one kind of track shows: rows of queries, and of a large table. All are merged by begin and
 * rank, which is dur in queries; of equal ones the queries are first, in their order.
 */
struct track_source {
	int (*on)(struct trace *, sqlite3_stmt *);
	const char *sql[TRACK_QUERIES]; /* unused ones are NULL; ts and dur are first if merged */
	const struct row_order *order;	/* NULL: queries alone */
	int (*on_row)(struct trace *, const void *row, const struct place *);
};

/* Shows what of it overlaps the part, if a query asks for that. */
int trace_source(struct trace *t, const struct track_source *s);

/* Reads the names that rows have numbers of, until trace_names_free. */
int trace_names_read(struct trace *t);
void trace_names_free(struct trace *t);

/* A number of a row, 0 where it is NULL. */
static inline s64 number_of(s64 v)
{
	return v == BULK_NULL ? 0 : v;
}

/* The name by its number; NULL: none is known. */
static inline const char *trace_name(const struct idmap *names, u64 id)
{
	return idmap_get(names, id);
}

extern const struct row_order order_states, order_syscalls, order_requests;

int trace_state(struct trace *t, const void *row, const struct place *at);
int trace_syscall(struct trace *t, const void *row, const struct place *at);
int trace_call(struct trace *t, sqlite3_stmt *s);
int trace_request(struct trace *t, const void *row, const struct place *at);
void trace_peers_free(struct trace *t);
int trace_upstream(struct trace *t, sqlite3_stmt *s);
int trace_span(struct trace *t, sqlite3_stmt *s);

/* A row of the query of samples: ts, tid, ns, user stack, kernel stack. */
int trace_sample(struct trace *t, sqlite3_stmt *s);
