/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparing recordings. Each is read once into a struct measured, small and without its
 * database: durations (compare_latency.c), requests (compare_requests.c), sums in windows of time
 * (compare_bins.c), where the time went (compare_split.c), all of it by compare_read.c. Measured
 * recordings are paired (compare_pair.c), checked for comparability (compare_check.c), judged
 * (compare_judge.c) and explained (compare_explain.c). The results are rows of the tables compared,
 * comparability, change, shift, cdf and excess, and findings (compare_say.c).
 */
#pragma once

#include "analyze/causes/causes.h"
#include "analyze/stats/stats_compare.h"
#include "analyze/store/db.h"

#include <math.h>

#define COMPARE_SIDE_MOST 64 /* recordings */
#define COMPARE_NAME	  72 /* bytes of an escaped name of a process */
#define COMPARE_TEXT	  160
#define COMPARE_WINDOWS	  20   /* of time, in which sums are compared */
#define COMPARE_WANDER_DF 6    /* of the pooled variance of 4 quarters of 2 recordings */
#define COMPARE_PART	  0.05 /* of a difference: smaller parts are not named */
#define SHAPE_POINTS	  12   /* quantiles of the shift function */
#define SHAPE_REPS	  1000 /* of the bootstrap */
#define CDF_POINTS	  60
#define SLOW_BOUNDS	  6

/* What is compared: the rows of compare.def. */
enum compare_metric {
#define METRIC(id, what, name, unit, form, quantile, higher, lower) COMPARE_##id,
#include "compare.def"
#undef METRIC
	N_COMPARE_METRICS
};

enum metric_form { FORM_QUANTILE, FORM_RATIO, FORM_COUNT, FORM_VALUE };

struct compare_desc {
	const char *what, *name;
	const char *unit;
	enum metric_form form;
	double quantile;	    /* of durations; else 0 */
	const char *higher, *lower; /* the verdict's word */
};

extern const struct compare_desc compare_metrics[N_COMPARE_METRICS];

/* Who is compared: equal columns on both sides are one subject. No process ids. Safe to print. */
enum compare_kind {
	COMPARE_SERVICE,  /* comm, protocol, port */
	COMPARE_PROCESS,  /* comm */
	COMPARE_CALL,	  /* comm, object: a system call */
	COMPARE_FUNCTION, /* object */
	COMPARE_DISK,	  /* object: device; protocol: operation */
	COMPARE_REQUEST,  /* comm, object: name of its requests */
	N_COMPARE_KINDS
};

extern const char *const compare_kinds[N_COMPARE_KINDS];

#define COMPARE_NO_PORT (-1)

struct compared_subject {
	enum compare_kind kind;
	char comm[COMPARE_NAME];
	char protocol[8];
	s64 port; /* COMPARE_NO_PORT: none, or services of different ports were paired */
	char object[COMPARE_TEXT];
};

/* As columns of the tables change, shift and excess. */
#define COMPARE_COLUMNS_FMT "sssds"
#define COMPARE_COLUMNS(s)                                  \
	compare_kinds[(s)->kind], (s)->comm, (s)->protocol, \
		(s)->port == COMPARE_NO_PORT ? NAN : (double)(s)->port, (s)->object

/* Sets all of it; the texts may hold any bytes of a recording, and may be NULL. */
void compare_subject(struct compared_subject *ret, enum compare_kind kind, const char *comm,
		     const char *protocol, s64 port, const char *object);

/* The same from a row: kind, comm, protocol, port and object from this column on. */
void compare_subject_row(struct compared_subject *ret, sqlite3_stmt *q, int column);

bool compare_same(const struct compared_subject *a, const struct compared_subject *b);

/* "redis-server :6379", "redis-server openat", "vda write". */
void compare_subject_text(char *ret, size_t size, const struct compared_subject *s);

/* One metric of one subject in one recording. */
struct sample {
	struct compared_subject subject;
	enum compare_metric metric;
	double value;	     /* of the whole recording */
	double n;	     /* durations, calls, requests or independent events */
	double exposure;     /* COUNT: seconds, or requests, among which they were counted */
	double tau;	     /* neighbours per independent one; NAN: not known */
	int windows;	     /* of log; 0: not enough data for an interval */
	struct estimate log; /* of ln(value) */
	double wander; /* its level within the recording: a variance of ln(value); NAN: not known */
	double burst;  /* share of what is counted that is in the fullest window */
	struct events {
		double n;
		double dispersion;   /* index of dispersion of their counts in windows of time; at
					least 1 */
	} events, slow[SLOW_BOUNDS]; /* COUNT; slow_episodes with each bound */
};

/* The distribution of one kind of duration of one subject. */
struct shape {
	struct compared_subject subject;
	const char *what; /* as in compare.def */
	double n, tau;
	double at[SHAPE_POINTS]; /* ns */
	double *boot;		 /* [SHAPE_REPS][SHAPE_POINTS] of ln ns; NULL: not enough data */
	double cdf[CDF_POINTS];	 /* ns, at the quantiles of compare_cdf_at */
	int levels;		 /* time ranges between which its level changes */
	double range;		 /* ln of the highest level over the lowest */
};

/* Where the time of requests, calls or windows went: categories, then all of it.
 */
enum { PART_ALL = N_CATEGORIES, N_PARTS };

struct split {
	struct compared_subject subject;
	const char *unit; /* request, call or window */
	double n;
	double count[COMPARE_WINDOWS];
	double sum[COMPARE_WINDOWS][N_PARTS]; /* ns */
};

/* What recordings must, or should, have in common. */
enum compare_fact {
	FACT_groups,
	FACT_functions,
	FACT_machine,
	FACT_cpus,
	FACT_targets,
	FACT_kernel,
	FACT_host,
	FACT_obsrec,
	FACT_uuid,
	N_COMPARE_FACTS
};

struct measured {
	const char *path;
	char *facts[N_COMPARE_FACTS]; /* safe to print; "" if not known */
	s64 duration;
	double lost, seen; /* events */
	bool complete;	   /* neither truncated nor damaged */
	bool chosen;	   /* chosen processes were recorded, not all */
	struct sample *samples;
	size_t n_samples;
	struct shape *shapes;
	size_t n_shapes;
	struct split *splits;
	size_t n_splits;
	struct code_profiles *profiles; /* compare_functions.h; NULL: none */
	struct pause_cause *pauses;	/* compare_pauses.h; NULL: none */
};

struct sides {
	struct measured *of[2]; /* before, after */
	size_t n[2];
};

extern const double compare_shape_at[SHAPE_POINTS];
double compare_cdf_at(int i);

/* The bounds of slow episodes, ns, rising. */
extern const double compare_slow_bounds[SLOW_BOUNDS];

/* Pauses are silences of a service with requests waiting of at least so long, ns. */
#define COMPARE_PAUSE 1e8

/* Reads the tables of a recording. path: its name, for messages; must outlive ret. */
int compare_read(struct measured *ret, const char *path, sqlite3 *db, struct err *e);
void compare_free(struct measured *m);

/* Parts of compare_read, each of which appends samples. */
int compare_latencies(struct measured *m, sqlite3 *db, struct err *e);
int compare_requests(struct measured *m, sqlite3 *db, struct err *e);
int compare_bins(struct measured *m, sqlite3 *db, struct err *e);
int compare_splits(struct measured *m, sqlite3 *db, struct err *e);

/* A new sample, or NULL: out of memory. */
struct sample *compare_add(struct measured *m, const struct compared_subject *subject,
			   enum compare_metric metric, struct err *e);

/* The split of the subject, a new one if there is none, or NULL: out of memory. */
struct split *compare_split_of(struct measured *m, const struct compared_subject *subject,
			       const char *unit, struct err *e);

/* The distribution of this kind of duration, or NULL. */
const struct shape *compare_shape(const struct measured *m, const struct compared_subject *subject,
				  const char *what);

/* The sample of the subject and metric, or NULL. */
const struct sample *compare_find(const struct measured *m, const struct compared_subject *subject,
				  enum compare_metric metric);

/* stats_wander of ln(num / den) over k windows, WINDOWS_MOST at most; NAN if one has no such ratio.
 */
double compare_wander(const double *num, const double *den, size_t k);

/*
 * What windows say about durations of which few are independent: with less than 10 of these (n /
 * tau) in each of k windows, the error is that of fewer windows, and has their degrees of freedom.
 */
void compare_discount(struct estimate *est, int k, const struct measured *m,
		      const struct compared_subject *subject, const char *what);

/* A mean per unit. */
struct unit_mean {
	double n; /* units */
	struct estimate est;
	double wander; /* of its level within the recording; NAN: not known */
};

/* sum / count over the windows that have any, with the error that their deviations give. */
struct unit_mean compare_mean(const double count[COMPARE_WINDOWS],
			      const double sum[COMPARE_WINDOWS]);

/* Their difference, after widening by how far both levels wander. */
struct contrast compare_contrast(struct unit_mean mean[2]);

/*
 * Services that belong together become one subject, by columns: those of processes of one name on
 * one port; and if each recording has one service of that name only, whatever its port. A finding
 * reports that. Before the others.
 */
int compare_pair(sqlite3 *db, struct sides *s, struct err *e);

/* Puts rows and findings into db. *ret_refused: reasons why the sides cannot be compared. */
int compare_check(sqlite3 *db, const struct sides *s, int *ret_refused, struct err *e);
int compare_judge(sqlite3 *db, const struct sides *s, double threshold, struct err *e);
int compare_explain(sqlite3 *db, const struct sides *s, struct err *e);

/* The verdict and its reasons as findings, from the rows that the others put. */
int compare_say(sqlite3 *db, const struct sides *s, double threshold, struct err *e);
