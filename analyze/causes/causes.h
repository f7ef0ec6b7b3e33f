/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the analysis causes share: comparing slow units with usual ones
 * (causes_compare.c), looking into what the slow ones waited for (causes_drill.c), and
 * saying it (causes.c).
 */
#ifndef OBS_CAUSES_H
#define OBS_CAUSES_H

#include "analyze/analyses/analysis.h"
#include "analyze/base/idmap.h"
#include "chain.h"
#include "format/buf.h"
#include "units.h"

/* What time is spent on, as a cause: groups of states. */
enum category {
#define BAND(...)
#define CATEGORY(name, band, label, says) CATEGORY_##name,
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
	N_CATEGORIES
};

extern const char *const category_names[N_CATEGORIES];
extern const char *const category_says[N_CATEGORIES];
enum category category_of(u8 state);

enum basis {
	BASIS_GIVEN,   /* --degraded against --baseline */
	BASIS_CHANGE,  /* windows after a change of level against those before */
	BASIS_TAIL,    /* the slowest against the middle half */
	BASIS_ALL,     /* units are alike: all their time */
	BASIS_NOTHING, /* too few units */
};

/* What the user names: ns since the begin; to 0: not named. */
struct windows {
	struct moment baseline, degraded;
};

struct excess {
	double slow, usual;		     /* mean ns of a unit */
	double value, low, high;	     /* slow - usual, with its 95 % interval */
	double share, share_low, share_high; /* of all the excess */
};

#define STRETCHES_MAX 3

/* How windows of time, which are all as long, were found to be slow or usual. */
struct found_windows {
	struct moment slow[STRETCHES_MAX], usual[STRETCHES_MAX];
	int n_slow, n_usual;
	bool waits;   /* told apart by how long the thread is held up; else by what there is more of
		       */
	size_t n;     /* windows that could be used */
	double worth; /* of them, independent ones */
	/* change of its waits, share of time, that would be seen if half of them had it; or
	 * SHORTEST */
	double half, brief;
	s64 brief_ns;
};

struct comparison {
	enum basis basis;
	struct found_windows found; /* only UNIT_WINDOW, unless the user gave windows */
	double n_slow, n_usual;
	double slow, usual;		  /* mean wall time, ns */
	double slow_queued, usual_queued; /* of it, before the first receive */
	struct moment
		when; /* of the slow windows, the worst stretch; only BASIS_GIVEN and _CHANGE */
	bool is_slow[UNIT_BLOCKS], is_usual[UNIT_BLOCKS];
	struct excess of[N_CATEGORIES];
};

/* Turns a second and CPU time a turn of the process, slow over usual; 0: not known. */
struct queueing {
	double rate, cpu;
	bool held_up; /* they explain little: longer time on a CPU is that of requests in front */
};

/* causes_queue.c: is it the requests in front? */
int causes_queueing(sqlite3 *db, const struct units *u, const struct comparison *c,
		    struct queueing *ret_queueing, struct err *e);

/*
 * causes_windows.c: the change in what the windows of u are spent on, if there is one: marks slow
 * and usual ones. Found or not, c->found tells of it.
 */
bool causes_windows(const struct units *u, struct comparison *c);
/* Which windows are compared, for a sentence. */
void causes_say_windows(const struct comparison *c, char *text, size_t size);
/* Tells where the slow windows are, or that there is no change, and which one would have been seen.
 */
int causes_put_windows(struct analysis_ctx *c, const struct units *u, const struct comparison *cmp,
		       struct err *e);

/*
 * Which units are slow, against which, and what they spend more time on. Single ones that last
 * through all of it are set aside in u.
 */
void causes_compare(struct units *u, const struct windows *w, struct comparison *ret);

#define LEAST_SHARE 0.2 /* of the excess: less is no cause */

/* Large enough to be a cause, and more than nothing with confidence. */
bool causes_counts(const struct comparison *c, enum category cat);

#define SAMPLED_MAX (UNIT_BLOCKS * UNIT_SAMPLES)

/* Slow units, with everybody's intervals around them. */
struct drill {
	sqlite3 *db;
	const struct units *u;
	const struct comparison *cmp;
	struct unit slow[SAMPLED_MAX];
	size_t n;
	struct unit usual[SAMPLED_MAX]; /* some of those that they are compared with */
	size_t n_usual;
	struct spans spans;
	struct names names;
	bool everything;  /* all threads of the host were recorded */
	struct idmap own; /* processes that the units are of */
};

/* What was found about one category. Texts hold bytes of the recording. */
struct found {
	const char *label; /* evidence */
	const char *kind;  /* what it is: lock, antagonist, ... as in table cause */
	char culprit[120]; /* who or what; "" if nobody */
	double part;	   /* the culprit's, of this category's time; 0: not known */
	bool itself;	   /* the culprit is the process that was slow */
	s64 culprit_id;	   /* pid, futex, port or device; 0: none */
	char second[160];  /* what the one waited for did meanwhile, or who else had the CPU */
	char behind[200];  /* who is behind all hops, and what it did; "" if no further than that */
	struct buf text;   /* how the sentence goes on */
	struct buf against;  /* what speaks against it */
	double largest;	     /* share of the slow units of which it is the largest part */
	struct unit example; /* the slow unit with most of it */
	s64 example_ns;	     /* its part */
};

int drill_open(struct drill *d, sqlite3 *db, const struct units *u, const struct comparison *cmp,
	       struct err *e);
int drill_category(struct drill *d, enum category category, struct found *f, struct err *e);
void drill_close(struct drill *d);
/* Is the process one of those that the units are of? drill_own: the one that stands for them; 0:
 * none. */
bool drill_is_own(const struct drill *d, s64 pid);
u32 drill_own(const struct drill *d);
/* What they are called together. */
const char *drill_own_text(const struct drill *d, char *text, size_t size);

/*
 * causes_rank.c: categories by their excess. Waits for a thread that itself waited for a shared
 * thing (a disk, a CPU, another server) count there, if slow units also wait for it directly: who
 * waits for the flush of another waits for the disk. passed: how much of all the excess a category
 * got that way.
 */
int causes_rank(struct drill *d, const struct comparison *c, enum category order[N_CATEGORIES],
		double passed[N_CATEGORIES], struct err *e);

/* Sums by a number, largest first after tally_sort. What does not fit is only in total. */
#define TALLY_MAX 256
struct tally {
	struct {
		s64 key;
		double ns;
		double n;
	} of[TALLY_MAX];
	int n;
	double total;
};

void tally_add(struct tally *t, s64 key, double ns);
void tally_sort(struct tally *t);

/* causes_runq.c: who had the CPU */
int drill_runq(struct drill *d, struct found *f, struct err *e);

/* Sleeps within the slow units: for what, ended by whom, who did what meanwhile. */
struct slept {
	struct drill *d;
	struct tally objects, wakers;
	struct chain chain;
	double unknown;	   /* nobody was seen to wake */
	double interrupts; /* ended by them */
};

/* For drill_each; arg is a struct slept. */
void drill_on_slept(void *arg, const struct unit *u, const struct span *p, s64 ns);
/* The thread that ended most of the sleeps; 0: none. */
u32 drill_waker(struct slept *s);
/* The second hop: what that thread did meanwhile, and what was behind it. */
int drill_second(struct drill *d, struct slept *s, u32 waker, struct found *f, struct err *e);
/*
 * What those did who ended a category's waits, behind all hops: shares of these waits by
 * category, 0 for what ends with the slow units themselves.
 */
int drill_ends(struct drill *d, enum category category, double ret_share[N_CATEGORIES],
	       struct err *e);
/* Waits that nobody was seen to end speak against. */
int drill_limits(struct slept *s, struct found *f, struct err *e);

/* causes_resource.c: devices, peers and pipes of the slow units */
int drill_disk(struct drill *d, struct found *f, struct err *e);
int drill_client(struct drill *d, struct found *f, struct err *e);
int drill_pipe(struct drill *d, struct found *f, struct err *e);

/* Calls back for each interval of a category within the slow units. */
typedef void (*each_fn)(void *arg, const struct unit *u, const struct span *p, s64 ns);
void drill_each(struct drill *d, enum category category, each_fn fn, void *arg);
/* The same within the usual ones. */
void drill_each_usual(struct drill *d, enum category category, each_fn fn, void *arg);
/*
 * What 1 ns within this example stands for in the mean of all units of its kind: examples of the
 * tail were drawn evenly, others by their duration.
 */
double drill_weight(const struct drill *d, const struct unit *u, bool usual);

/* "comm[pid]" of a thread's process, and of a thread. */
const char *process_text(const struct names *names, u32 tid, char *text, size_t size);
const char *thread_text(const struct names *names, u32 tid, char *text, size_t size);

#endif
