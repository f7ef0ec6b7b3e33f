/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the analysis verdict share: one server, its numbers, and what they mean. */
#pragma once

#include "analyze/analyses/analysis.h"
#include "analyze/analyses/waits/releases.h"
#include "analyze/base/idmap.h"
#include "analyze/stats/hist.h"
#include "analyze/store/state.h"
#include "analyze/store/verdict_kind.h"
#include "format/buf.h"
#include "verdict_acks.h"
#include "verdict_chance.h"
#include "verdict_ends.h"

/* What counts: facts limit_pause_ns, limit_latency_ns, limit_factor and limit_errors of the
 * recording replace them. */
#define LIMIT_PAUSE   100e6 /* ns: pauses as long as this */
#define LIMIT_LATENCY 1e6   /* ns: requests slower by this */
#define LIMIT_FACTOR  1.5   /* and by this factor; a pause, than p99 outside pauses */
#define LIMIT_ERRORS  0.01  /* of the answers: more that report an error; and by the factor */
/* Shorter pauses count together. */
#define SHORT_PAUSE 10e6 /* ns, each */
#define SHORT_TIMES 20	 /* times p99 outside pauses, each */
#define SHORT_SHARE 0.01 /* of the time, all of them */
#define LATE_MORE   0.01 /* of the requests: more that are late, in the time range and of all */
/* Without an answer at the end, several requests: of names with so many answers, and so many times
 * as long as the longest of these took. */
#define OVERDUE_ANSWERS 100
#define OVERDUE_TIMES	2.0
/* One is due at the end: so old, ns, so many times as long as all others of its name took, and so
 * many of them had answers. */
#define DUE_LEAST   1e9
#define DUE_TIMES   10.0
#define DUE_ANSWERS 5
/* What is at one place with others by chance: the reports' intervals have 95 %. */
#define CHANCE_MOST 0.05
/* Not judged. */
#define REQUESTS_LEAST 100
#define LOST_MOST      0.05  /* share of the system calls */
#define EDGE_LEAST     1e9   /* ns: a pause before the first answer, or while connections open */
#define START_NS       0.5e9 /* ns: slower only so long, while traffic begins or ends */
/* A process without requests: its busiest thread waits for a CPU or a disk. */
#define STANDSTILL 1e9

#define JUDGED_PAUSES 1000
#define WINDOWS	      256
#define WINDOW_LEAST  50000000 /* ns */

struct limits {
	double pause, latency, factor, errors;
};

enum verdict_status { STATUS_PROBLEM, STATUS_UNKNOWN, STATUS_NONE, STATUS_UNCHANGED };

/* Latency of the requests that ended in one window of time, those in pauses excluded. */
struct verdict_window {
	double n, logs, sum;
	double longest, from; /* the longest, and its arrival */
};

/* What was answered in one window, pauses or not. */
struct verdict_traffic {
	double exchanges, answers, errors, queued; /* ns, before they were read */
	double waited; /* ns, from arrivals to answers: per ns, the outstanding requests (Little) */
	/* in it; ns until their answers, the sum of the logs, and the longest of these */
	double arrived, took, logs, longest;
};

/* Late requests: share, %, and p99 in a time range and otherwise; n 0: the share is of all time. */
struct verdict_late {
	double share, before, n, p99, p99_otherwise;
	double events; /* late requests that overlap are one */
};

/* Attempts to connect to one address that most of the latency, or of the errors, is; n 0: none. */
struct verdict_connect {
	double n, max, requests, explained; /* of the requests, those that wait for them */
	double again, from;		    /* SYNs sent again; the first attempt */
	/* %: of the latency, of the answers with errors: one is NAN; of all answers: with errors */
	double latency, errors, failed;
	s64 row;		  /* fd.rowid of a socket of one of them; 0: not known */
	int end;		  /* enum connect_end */
	bool alone;		  /* of processes without requests: no attempt succeeded */
	struct buf address, code; /* code empty: none */
};

/* Another server that answers nothing: answered so many of those before, and after. */
struct verdict_silent {
	s64 row; /* fd.rowid of a socket to it */
	double answered, before;
	bool ended; /* it answered again */
};

/* Requests that waited for a lock of another connection; n 0: none. */
struct verdict_locked {
	double n, start, end, max;
	double added;		/* ns, than others of their names take */
	double failed;		/* of them, with an error for want of a lock */
	char code[8];		/* most telling */
	s64 name;		/* of all of them; 0: several */
	double of;		/* requests of that name */
	struct release example; /* the longest wait, from its first sleep on */
	s64 in_turn;		/* ns that its holder waited for another lock */
	struct release next;	/* that wait */
	bool deadlocks;		/* n failed in deadlocks, however short: no example */
};

struct judged_pause {
	s64 id, start, end, waiting;
	s64 victims, victim_wait; /* without the request that delays the others */
	double slept;		  /* share in poll or on a socket: waiting for input */
	double polled;		  /* share in poll */
	double queued;		  /* share in the run queue */
	double ran;		  /* share on a CPU */
	s64 amid, late;	  /* requests that arrived in its middle, and shortly before its end */
	bool named;	  /* a request with a name waits for most of it */
	s64 read, reader; /* of the last of the late ones: its read, and by which thread; 0: none */
	s64 answered;	  /* thread of the first answer after it; 0: not known */
	bool awaited;	  /* verdict_arrivals.c: an arrival ended it */
	bool rare;	  /* verdict_rare_pauses.c */
	bool counts;
	bool usual, by_name;	      /* no problem: verdict_busy.c, verdict_by_name.c */
	struct verdict_window inside; /* of the requests that it touches; not of a part */
	s64 longer;	    /* others that it touches: far longer than this, their longest pause */
	s64 service, name;  /* of a part of the server; 0 */
	double part_usual;  /* ns, p99 of a part outside its pauses */
	double part_waited; /* ns */
	bool stall;	    /* of some requests of its name */
	s64 harmed;	    /* the one name of requests that waited unusually long; 0: not known */
	s64 passing[2]; /* two names of requests that came before its end, and took as usual; 0 */
};
#define HARMED_SEVERAL (-1)

/* Of the requests that wait, those whose clients did not send all that they announced. */
struct verdict_missing {
	double n, none;		     /* none: nothing of it came after the head */
	double least, most, arrived; /* bytes: announced by one; arrived of all */
	double clients;
	s64 name, client; /* 0: several; most of them have this client */
};

struct judged {
	struct subject about;
	enum verdict_status status;
	enum verdict_kind kind;
	double requests, rate, p50, p99, p99_outside, max, idle, queued, served;
	double acked_p50, acked_p99; /* up to the client's ACK; NAN: the path does not delay it */
	double start, end;	     /* NAN: none */
	struct judged_pause *pauses; /* by time; after `whole` of them those of parts, by time */
	int whole, n_pauses, counted;
	s64 overdue; /* unanswered at the end for far longer than all answers of their name took */
	s64 due;     /* the same, by DUE_TIMES */
	double paused, pause_max, waited;
	struct verdict_missing missing;
	double slow, baseline, ratio, ratio_low, ratio_high, n; /* slow NAN: no change */
	double typical, typical_base; /* geometric means: the ratio is of these */
	bool by_mean;		      /* the ratio is of means per window, not of geometric means */
	double added;		      /* ns, by the change, over all requests */
	double spent;		      /* ns, of requests in pauses that count */
	double others;		      /* requests outside them that took as long as one */
	bool given;		      /* the user named the time ranges */
	double busy; /* %, of the latency: run-queue latency; 0: other programs made no change */
	bool steady; /* programs that had the CPU then had it at other times as well */
	int usual_pauses;
	double usual_pause;   /* ns, the longest */
	struct buf contender; /* the first of these programs */
	int ranges;	      /* of slow time; start and end are of the one that added most */
	double range[WINDOWS][2];
	struct hist all, outside;
	struct verdict_window windows[WINDOWS];
	int n_windows;
	double waiting;		  /* %, of the time: a request waits to be read */
	double part;		  /* of the latency: waits, or time on a CPU */
	const char *where;	  /* the largest of the waits */
	double where_part;	  /* of the waits */
	s64 name;		  /* request_name.id with most of the CPU time; 0: none */
	s64 only;		  /* request_name.id: its requests alone; 0: all */
	bool mix;		  /* slower by the mix of names only: no change */
	struct slow_names *names; /* NULL: the change is not about some names only */
	struct verdict_traffic traffic[WINDOWS];
	double errors;	    /* answers that report one; NAN: not known */
	struct idmap quick; /* names + 1 whose requests fail faster than others are answered */
	struct verdict_errors more;
	double read; /* requests whose protocol was read */
	struct verdict_errors
		always; /* of the whole recording: of the first kind that is a problem */
	struct verdict_errors closed; /* requests without an answer: no code */
	struct verdict_errors gone;   /* whose clients gave up */
	double gone_after;	      /* ns, the longest */
	bool gave_up;		      /* they are the problem */
	struct verdict_datagrams datagrams;
	struct verdict_crash crash;
	struct verdict_unserved unserved;
	struct verdict_unaccepted unaccepted;
	struct verdict_turned turned;
	struct verdict_outage outage;
	struct verdict_late late;
	struct verdict_accept accept;
	struct verdict_resent resent;
	struct verdict_nagle nagle;
	struct verdict_unacked unacked;
	struct verdict_connect connect;
	struct verdict_silent silent;
	struct verdict_awaited awaited;
	struct verdict_locked locked;
	struct verdict_chance chance;
	struct stucks *stuck; /* verdict_stuck.c: kind "stuck"; NULL: not so */
	/* a change below the limit of latency; small 0: none */
	double small, small_base, small_ratio, small_from;
	/* a change next to the errors that come first; slower_from NAN: none */
	double slower_from, slower_to, slower_ratio;
	enum verdict_kind outweighed;	 /* by answers that arrive late, or never */
	double fewer, usual, fewer_from; /* requests per second; fewer 0: no change */
	double width;			 /* ns of a window */
	double begins, ends;	 /* ns: first arrival; all connections closed, or infinite */
	double opening;		 /* ns: time of first requests of new connections, until opened */
	double opened;		 /* ns: new connections had their first answers; begins: none */
	double unread, unpaired; /* no answer: requests that wait; connections with bytes sent */
	double unjudged, unjudged_max; /* events were lost while they lasted, ns; 0: none */
	s64 asked; /* server.id whose answers its pauses wait for; 0: none that is recorded */
	s64 finding;
};

/* Most frequent code of the errors that are judged; NULL: none. */
static inline const char *verdict_error_code(const struct judged *j)
{
	return j->more.n > 0 ? j->more.code.data : j->always.code.data;
}

/* verdict_read.c: everything up to the numbers. */
int verdict_read(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
/* verdict_quick.c: the names whose requests fail faster than others of the name are answered. */
int verdict_quick_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e);
/* One of these, with so many answers that report errors: of no window. */
bool verdict_is_quick(const struct judged *j, s64 name, s64 errors, s64 requests);
/* Whether a pause that counts has half of this time or more. */
bool verdict_in_pause(const struct judged *j, double from, double to);
/* The first pause of the whole server that ends after ts; j->whole: none. */
int verdict_pause_after(const struct judged *j, s64 ts);
/* The window of a time; the first or last one of a time outside. */
int verdict_window_at(const struct judged *j, double ts);
/* Windows from first to last: slower only while the server's traffic begins, or ends. */
bool verdict_at_edge(const struct judged *j, int first, int last);
/* verdict_opening.c: how long the first connections are new: fills opened. */
struct opening;
struct row_request;
int verdict_opening_new(struct opening **ret, struct analysis_ctx *c, s64 server, struct err *e);
/* A request, in the order of their ends; with pid and fd. */
void verdict_opening_add(struct opening *o, const struct row_request *row);
/* Frees it. */
void verdict_opening_end(struct opening *o, struct judged *j);
/* Windows from first to last: they begin then, and end then or while clients catch up. */
bool verdict_is_opening(const struct judged *j, int first, int last);
/* Requests in pauses that do not count belong to their windows. */
void verdict_take_pauses(struct judged *j);
/* The q-quantile of a histogram, ns; NAN: empty. */
double verdict_quantile(const struct hist *h, double q);

/* verdict_change.c: whether latency changed its level; fills slow, baseline, ratio, start, end. */
int verdict_change(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
void verdict_forget_change(struct judged *j);
/* verdict_choose.c: the end of a time range, if anything was answered after it; NAN: not known. */
double verdict_until(const struct judged *j, double end);
/* ns: a request is late that takes longer than this, where they take the mean. */
static inline double verdict_late_bound(double mean, const struct limits *l)
{
	return fmax(mean + l->latency, mean * l->factor);
}
/*
 * verdict_busy.c: more of what other programs do all the time: run-queue latency is most of the
 * latency outside the ranges, or the host has no idle CPU; and it is most of what was added in
 * them. That is less than a pause that counts adds; or no CPU is idle, and the same programs have
 * the CPU before and after. True: sets j->busy. name: only requests of this one; 0: all.
 */
int verdict_busy(struct analysis_ctx *c, struct judged *j, s64 name, double ranges[][2], int n,
		 const struct limits *l, bool *ret_busy, struct err *e);

/* verdict_about.c: puts rows of table verdict_range. */
int verdict_ranges(struct analysis_ctx *c, const struct judged *j, int rank, struct err *e);

/* verdict_code.c: of a problem, whether its time was spent in generated code without names. */
int verdict_unnamed_code(struct analysis_ctx *c, const struct judged *j, int rank, struct err *e);

/*
 * Whether the level of latency in this time range is the same as outside: 1: the interval of the
 * ratio stays below the factor, or that of the difference below the latency; 0: not so; -1: too few
 * windows.
 */
int verdict_same(const struct judged *j, double start, double end, const struct limits *l);

/*
 * verdict_traffic.c: the time range with most errors of those with a larger share; fewer requests.
 */
int verdict_errors(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		   struct verdict_errors *ret_errors, struct err *e);
void verdict_rate(struct judged *j, const struct limits *l);

/*
 * verdict_tail.c: no change of typical latency, but more late requests: 1, and fills start, end and
 * late; 0: not so.
 */
int verdict_tail(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
int verdict_tail_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/*
 * verdict_level.c: no change: whether the level itself can be called healthy. Where not, sets
 * status and kind: overload, queue, wait or cost.
 */
int verdict_level(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
/*
 * verdict_pool.c: the same, if most of the latency is a wait for a free thread of a pool: 1, and
 * sets status, kind (pool) and finding; 0: not so.
 */
int verdict_pool_level(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e);
/* verdict_kept.c: the same of a wait for accept while each process keeps an idle connection. */
int verdict_kept_level(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e);

/*
 * verdict_hang.c: a server that answered nothing. Fills j; without requests that wait, its status
 * is unknown and its kind "requests", else its kind is "hang".
 */
int verdict_hang(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
int verdict_hang_say(struct analysis_ctx *c, struct judged *j, struct err *e);
/* Under j->finding: what the threads of the server, or of the process, did in that time. */
int verdict_hang_threads(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_just_then.c: the only request of its name at the start of a change. */
int verdict_just_then(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_lossy.c: without a problem, slow requests during which events were lost: not known. */
int verdict_lossy(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);

/*
 * verdict_locked.c: requests that waited for a lock of another connection, next to many that did
 * not: fills locked; 1: they are a problem, and added more time than what else was found.
 */
int verdict_locked(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
/* verdict_deadlocks.c: 1: there were several deadlocks, and locked is about them. */
int verdict_deadlocks(struct analysis_ctx *c, struct judged *j, struct err *e);
int verdict_deadlocks_say(struct analysis_ctx *c, struct judged *j, struct err *e);
/* verdict_wait_caller.c: where in the program a thread waited for most of a time. */
int verdict_wait_caller(struct buf *out, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e);

/* verdict_locked_say.c */
int verdict_locked_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* verdict_pauses.c: start and end are those of the pauses that count. */
void verdict_range_of_pauses(struct judged *j);
/* verdict_pauses.c: ns that a change added except in pauses of a part, whose requests are in its
 * windows. */
double verdict_added_outside(const struct judged *j);
/* Pauses of the whole server that count next to something else; in those of a part, others are
 * answered. NAN: none. */
double verdict_also_paused(const struct judged *j, double *ret_longest);

/*
 * verdict_connect.c: whether the requests that the verdict is about wait for connections to another
 * server, or fail because it refuses them. Fills connect; a problem, kind "connect", if there is no
 * other. The cause goes under the finding of j, if there is one.
 */
int verdict_connect(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		    struct err *e);
int verdict_connect_say(struct analysis_ctx *c, struct judged *j, struct err *e);
int verdict_connect_cause(struct analysis_ctx *c, const struct judged *j, struct err *e);

/*
 * verdict_accept.c: a full accept queue of the server, or of the process. Fills accept; a problem,
 * kind "accept", if there is no other. Its finding says so, and under it what the threads did that
 * should accept.
 */
int verdict_accept(struct analysis_ctx *c, struct judged *j, struct err *e);
int verdict_accept_say(struct analysis_ctx *c, struct judged *j, struct err *e);
/*
 * verdict_resent.c: the same of answers that TCP sent again, also if they added more time than what
 * else was found. Fills resent.
 */
int verdict_resent(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
int verdict_resent_say(struct analysis_ctx *c, struct judged *j, struct err *e);

/* Outside these pauses: does a request in the slow time ranges take more CPU time than one out of
 * them? */
int verdict_dearer_outside(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
			   bool *ret_dearer, struct err *e);

/*
 * verdict_choose.c: since when it says that requests are slower: from the start of a pause of the
 * whole server that ends where the slow time range begins, for nothing was answered in it; and of
 * pauses that touch that one.
 */
double verdict_since(const struct judged *j);
/* Fills kind, VERDICT_slower or VERDICT_pauses, where one of them or both hold, and spent. */
int verdict_choose(struct analysis_ctx *c, struct judged *j, bool changed, const struct limits *l,
		   struct err *e);
/* verdict_about.c: whether a time is in one of n ranges, ends excluded. */
bool verdict_in_ranges(const double (*range)[2], int n, double at);
#define JUDGED_RANGES(j) ((const double(*)[2])(j)->range)
/* Whether a request is one of those that the verdict is about. */
bool verdict_is_about(const struct judged *j, s64 from, s64 to, s64 name);
/*
 * verdict_own.c: under j->finding, what the server itself does to them. verdict_timer.c: it answers
 * the longest when its own timer ends; verdict_asks.c: they ask another server more often than
 * others; verdict_lookups.c: answers of a name server take longer.
 */
int verdict_own(struct analysis_ctx *c, const struct judged *j, struct err *e);
int verdict_timer(struct analysis_ctx *c, const struct judged *j, struct err *e);
int verdict_asks(struct analysis_ctx *c, const struct judged *j, struct err *e);
int verdict_lookups(struct analysis_ctx *c, const struct judged *j, struct err *e);

/* verdict_take.c: whether j has no problem, or one of latency that added less time: ns. */
bool verdict_outweighs(const struct judged *j, double harm);
/* A problem of that kind instead. */
void verdict_take(struct judged *j, enum verdict_kind kind, double start, double end, double n);

/* verdict_rank.c: time that clients waited because of the problem, ns, over all requests. */
double verdict_harm(const struct judged *j);
#define REQUEST_FAILED 1e9 /* ns: it is sent again, or given up; as a SYN, first after 1 s */
/*
 * More errors harm more than a change of latency that is not why: most of them are outside its time
 * ranges, or failed system calls explain them.
 */
int verdict_errors_first(struct analysis_ctx *c, const struct judged *j, bool *ret_first,
			 struct err *e);
/* For qsort: problems first, then levels that are not healthy; by harm and requests. */
int verdict_by_rank(const void *a, const void *b);

/* verdict_say.c: the findings: what it is, and why. */
int verdict_say(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
/* Nothing was recorded of the targets: which these were. */
int verdict_unmatched(struct analysis_ctx *c, struct err *e);
/* pause_say.c: under j->finding, what the threads did in the pauses that count. */
int verdict_pause_say(struct analysis_ctx *c, struct judged *j, struct err *e);
/* pause_signal.c: under j->finding, the signal that stopped the thread from..to, for most of it. */
int pause_stopped_then(struct analysis_ctx *c, const struct judged *j, s64 tid, s64 from, s64 to,
		       struct err *e);
/* verdict_idle_holder.c: under j->finding, the idle connection that may hold what requests that
 * fail for want of a lock wait for. */
int verdict_idle_holder(struct analysis_ctx *c, struct judged *j, struct err *e);
/* verdict_tried.c: under j->finding, the lock of a file that failed requests did not get. */
int verdict_tried(struct analysis_ctx *c, const struct judged *j, struct err *e);
#define PAUSE_SAMPLES 5 /* fewer name no function */

/*
 * pause_stack.c: appends the functions that half or more of the samples of a thread in the pauses
 * that count are in; nothing without samples.
 */
int pause_stack(struct buf *out, double *ret_share, double *ret_n, sqlite3 *db,
		const struct judged *j, s64 tid, struct err *e);

/* What a thread in a state does: column `does` of waits.def. */
extern const char *const verdict_does[N_STATES];

/* The server that a pause waited for, and what it did. */
struct pause_upstream {
	struct buf address; /* empty: none */
	s64 pid, tid;	    /* 0: not recorded */
	double share;	    /* %, of the pause */
	const char *did;    /* NULL: not known */
	bool sends;	    /* the wait is for room to send there */
	double answered;    /* ns, of its slowest answer in the pause; 0: it gave none */
	double questions;   /* that had an answer */
	struct buf function;
	struct buf next; /* the server that it waited for; empty: none */
	double next_answered;
};

static inline bool judged_is_part(const struct judged_pause *p)
{
	return p->service || p->name;
}

/* NULL: none counts. */
const struct judged_pause *judged_longest(const struct judged *j);

/*
 * pause_upstream.c: of the longest pause that counts. own: tid is its thread, which may wait in
 * poll; else a thread that it waited for.
 */
int pause_upstream(struct analysis_ctx *c, const struct judged *j, s64 tid, bool own,
		   struct pause_upstream *u, struct err *e);
/* The same of the server that a thread asked at ts (of table upstream). */
int pause_asked(struct analysis_ctx *c, const struct judged *j, s64 tid, s64 ts,
		struct pause_upstream *u, struct err *e);
void pause_upstream_free(struct pause_upstream *u);

/* pause_upstream.c: sets column counts of table pause. */
int mark_pauses(struct analysis_ctx *c, const struct judged *j, struct err *e);
