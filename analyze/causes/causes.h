/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One cause: the mechanism that took time of slow units, the offender, the end of the wakeup chain,
 * as columns of table cause. causes_find.c fills it for a category, causes_put.c makes rows of it.
 */
#pragma once

#include "analyze/analyses/analysis.h"
#include "analyze/causes/units/tally.h"
#include "chain.h"
#include "samples.h"

#define CAUSE_VALUES   12
#define CAUSE_CHILDREN 10

/* A caveat or a detail: a finding that qualifies the cause's. */
struct cause_child {
	enum finding_kind kind;
	enum evidence evidence;
	struct value v[8]; /* ended by one without name */
	int n;
};

/* Of the added latency, with its interval. */
struct portion {
	double share, low, high;
};

struct cause {
	const char *kind; /* the mechanism, as in table cause */
	enum finding_kind finding;
	enum evidence evidence;
	enum category category;
	struct subject offender, object;
	struct subject
		waker; /* that ended most of the waits; the offender is the root of its chain */
	struct subject holder; /* of the lock, when these waits began; the offender then */
	double part;	       /* the offender's; 0: not known */
	bool own;	       /* the offender is the process that is slow */
	struct subject end;    /* of the wakeup chain: thread, or process for several */
	u8 end_state;	       /* enum span_state */
	char end_call[40];     /* its system call; "" */
	double end_part;       /* 0: no end */
	struct portion passed; /* that comes from waits for threads that waited for this */
	struct portion moved;  /* that other categories have because of it, or less that */
	double largest;	       /* share of the slow units of which it is the largest part */
	struct unit example;   /* the slow unit with most of it */
	s64 example_ns;	       /* its part */
	char path[512];	       /* functions of the slow units: "caller > function"; "" */
	double path_share, path_low, path_high, path_samples;
	bool path_same;	    /* on a CPU: no larger share of it than of baseline units */
	bool for_computing; /* a lock that threads have while they compute */
	const char *reason; /* of waits in the kernel; NULL: not known */
	char failed[40], failed_for[40]; /* code of an error, and its name; "" */
	char file[256]; /* whose lock was waited for; the cgroup at its limit; what a green thread
			   is */
	char end_path[512]; /* functions of the end of the wakeup chain, or of what had the CPU; ""
			     */
	struct value values[CAUSE_VALUES + 1]; /* of the sentence; names and texts are constants */
	int n_values;
	struct cause_child children[CAUSE_CHILDREN];
	int n_children;
};

/* Adds a value to the sentence; a child; a value to a child. What does not fit is left out. */
void cause_value(struct cause *c, struct value v);
struct cause_child *cause_child(struct cause *c, enum finding_kind kind, enum evidence evidence);
void child_value(struct cause_child *child, struct value v);

#define CAUSE_VALUE(c, macro, ...) cause_value((c), (struct value)macro(__VA_ARGS__))
#define CHILD_VALUE(c, macro, ...) child_value((c), (struct value)macro(__VA_ARGS__))

/* causes_end.c: waits within the slow units, the threads that ended them, the ends of their chains.
 */
struct slept {
	struct samples *d;
	struct tally objects, wakers, holders;
	struct chain chain;
	double unknown;	   /* no wakeup seen */
	double interrupts; /* ended by them */
};

/* Follows all waits of a category; ends: gets where they end at shared things, or NULL. */
void slept_follow(struct slept *s, struct samples *d, enum category category, struct pieces *ends);
/* All waits in which a thread of a runtime with green threads is idle. */
void slept_follow_idle(struct slept *s, struct samples *d, struct pieces *ends);
/* The thread that ended most of the sleeps; 0: none. */
u32 slept_waker(struct slept *s);
/*
 * Fills the end of the chain, if one stands out, and adds what is not known of the waits. A waker
 * that itself waited for the thread at that end is not the offender: the end is.
 */
int slept_end(struct slept *s, struct cause *c, struct err *e);
void slept_free(struct slept *s);

/* causes_load.c: slow over baseline; NAN: not known. */
struct load {
	double rate, cpu;		 /* requests per second, CPU time per request */
	double idle_slow, idle_baseline; /* share of the time of the threads that answer */
	double others;			 /* CPU time of other processes per second */
	double latency, outstanding;	 /* mean; and its product with the rate (Little) */
	/* of the CPU time that a request has more: in threads that answer none, and in the first */
	double elsewhere, part;
	s64 tid;     /* 0: none */
	s64 dropped; /* connection attempts: the accept queue was full */
};

int load_read(sqlite3 *db, const struct units *u, const struct comparison *c, struct load *ret,
	      struct err *e);

/* causes_load_name.c: requests of the name that has most of the added CPU time. */
struct load_name {
	s64 name; /* request_name.id; 0: none */
	double part, samples;
	double rate, before; /* its requests per second; NAN: not known */
};

int load_name(sqlite3 *db, const struct units *u, const struct comparison *c, struct load_name *ret,
	      struct err *e);
/* Share of the CPU time of the service that baseline time does not have; 0: not known. */
double load_new(const struct load *l);
/* What these say: FINDING_load_*. */
enum finding_kind load_kind(const struct load *l);

/*
 * causes_demand.c: shares of the added run-queue latency that the service's own CPU time makes:
 * while its threads have the CPU, or others.
 */
struct demand {
	double own, others;
};

int causes_demand(struct samples *d, const struct load *l, struct demand *ret, struct err *e);

/* causes_reads.c: of the CPU time that is added, the share that reading from disks costs. */
int causes_reads(struct samples *d, double *part, struct err *e);

/*
 * causes_rank.c: categories by their part of the added latency, by ends: waits for a thread that
 * waited for a shared thing (a disk, a CPU, an upstream) count there. passed: what a category got
 * that way; pieces: these waits. Run-queue latency that the
 * service itself makes counts as its time on a CPU; so do waits of an event loop for threads of its
 * process that are on one, by the share of its CPU time that is new. The CPU time of reading from a
 * disk counts there, if there are waits for it; so does run-queue latency right after a stop.
 */
struct ranking {
	enum category order[N_CATEGORIES];
	struct portion passed[N_CATEGORIES];
	struct pieces ends; /* of all of them */
	struct demand demand;
	struct portion moved[N_CATEGORIES]; /* by these rules; less than 0: to others */
	double queued, reads;		    /* of this: to time on a CPU; from there to disk */
};

int causes_rank(struct samples *d, const struct load *l, struct ranking *ret, struct err *e);
/* Large enough to be a cause, and more than nothing with confidence. */
bool causes_counts(const struct comparison *c, const struct ranking *r, enum category cat);

/* One file each. ends: waits of others that ended there, or of no use. */
int cause_runq(struct samples *d, const struct ranking *r, struct cause *c, struct err *e);
int cause_disk(struct samples *d, const struct ranking *r, struct cause *c, struct err *e);
/*
 * causes_memory.c: says of a wait for reads that pages are read again soon after reclaim, and the
 * cgroup at its memory limit; of time on a CPU, that the threads reclaim for that limit, unless
 * it is said already.
 */
int cause_memory(struct samples *d, struct cause *c, struct err *e);
int cause_limit(struct samples *d, struct cause *c, bool *ret_said, struct err *e);
int cause_upstream(struct samples *d, const struct pieces *ends, struct cause *c, struct err *e);
int cause_pipe(struct samples *d, struct cause *c, struct err *e);
int cause_queue(struct samples *d, struct cause *c, struct err *e);
/* Whether slow requests waited for the thread while it worked on none: on timers of its loop. */
bool queue_between(struct samples *d);
int cause_futex(struct samples *d, struct cause *c, struct err *e);
int cause_sleep(struct samples *d, struct cause *c, struct err *e);
/* causes_filelock.c: the file, and the holder, of locks that are tried again and again. */
int cause_filelock(struct samples *d, struct cause *c, struct err *e);
/* causes_release.c: waits in poll that are for locks of other connections: sets kind and finding.
 */
int cause_release(struct samples *d, struct cause *c, struct err *e);
/* causes_failed.c: adds the error that slow requests report, if those are much of what was added.
 */
int cause_failed(struct samples *d, struct cause *c, struct err *e);

/* causes_find.c: all that is found about a category. */
int cause_find(struct samples *d, const struct ranking *r, enum category category,
	       struct cause *ret, struct err *e);

/*
 * causes_stack.c: functions; nothing where no stacks were recorded. dearer: each request takes more
 * CPU time, so what they run is of interest even if nothing has a larger share of it than before.
 */
int cause_stack(struct samples *d, struct cause *c, bool dearer, struct err *e);

/*
 * Adds what softirqs, interrupts and steal took of the CPU time of the thread's process, in the
 * slow time range (to 0: the whole recording) and outside it; else the caveat that they are
 * included.
 */
int cause_parts(struct cause *c, sqlite3 *db, const struct moment *slow, u32 tid, struct err *e);

/* causes_put.c: rows. */
extern const char *const units_names[]; /* by unit_kind: "requests" */
struct reporting {
	struct analysis_ctx *c;
	const struct units *u;
	const struct comparison *cmp;
	struct samples *d;
	struct load load;
	struct load_name load_name;
	bool load_said, limit_said;
	int rank;
};

/* What contributions are shares of: "added latency", ... */
const char *time_of(const struct comparison *c);
int report_cause(struct reporting *r, struct cause *c, struct err *e);
int report_basis(struct reporting *r, struct err *e);
/* causes_elsewhere.c: is the problem pauses, which no slow request touches? */
int causes_elsewhere(const struct reporting *r, bool *ret_elsewhere, struct err *e);
int report_numbers(struct reporting *r, struct err *e);
