/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparing recordings. Each is read once into a struct measured, small and without its
 * database (compare_read.c, compare_latency.c, compare_bins.c); measured recordings are checked for
 * comparability (compare_check.c), judged (compare_judge.c) and explained (compare_explain.c). What
 * comes out are rows of the tables compared, comparability, change, shift, cdf and excess.
 */
#ifndef OBS_COMPARE_H
#define OBS_COMPARE_H

#include "analyze/causes/units.h"
#include "analyze/stats/stats_compare.h"
#include "format/buf.h"

#define COMPARE_SIDE_MOST 64 /* recordings */
#define COMPARE_SUBJECT	  160
#define SHAPE_POINTS	  12   /* quantiles of the shift function */
#define SHAPE_REPS	  1000 /* of the bootstrap */
#define CDF_POINTS	  60

/* What is compared: the rows of compare.def. */
enum compare_metric {
#define METRIC(id, name, unit, quantile, higher, lower) COMPARE_##id,
#include "compare.def"
#undef METRIC
	N_COMPARE_METRICS
};

struct compare_desc {
	const char *name;
	const char *unit;
	double quantile;	    /* of durations; 0: a ratio of sums */
	const char *higher, *lower; /* the verdict's word */
	bool service;		    /* of services; others are of processes, functions, ... */
};

extern const struct compare_desc compare_metrics[N_COMPARE_METRICS];

/* One metric of one subject in one recording. */
struct sample {
	char subject[COMPARE_SUBJECT]; /* without process ids; safe to print */
	enum compare_metric metric;
	double value;	     /* of the whole recording */
	double n;	     /* units, calls, requests or events behind it */
	double tau;	     /* neighbours that are worth one; NAN: not known */
	int windows;	     /* behind log; 0: not enough data for an interval */
	struct estimate log; /* of ln(value) */
	double wander; /* its level within the recording: a variance of ln(value); NAN: not known */
	double burst;  /* share of what is counted that is in the fullest window */
};

/* The distribution of one kind of duration of one subject. */
struct shape {
	char subject[COMPARE_SUBJECT];
	char process[COMPARE_SUBJECT]; /* of a service; else empty */
	const char *what;	       /* turn, call or block */
	double n, tau;
	double at[SHAPE_POINTS]; /* ns */
	double *boot;		 /* [SHAPE_REPS][SHAPE_POINTS] of ln ns; NULL: not enough data */
	double cdf[CDF_POINTS];	 /* ns, at the quantiles of compare_cdf_at */
	int levels;		 /* stretches of time between which its level changes */
	double apart;		 /* ln of the highest level over the lowest */
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
	bool whole;	   /* neither cut nor damaged */
	struct sample *samples;
	size_t n_samples;
	struct shape *shapes;
	size_t n_shapes;
	struct units *units;
	size_t n_units;
};

struct sides {
	struct measured *of[2]; /* before, after */
	size_t n[2];
};

extern const double compare_shape_at[SHAPE_POINTS];
double compare_cdf_at(int i);

/* Reads the tables of a recording. path: its name, for messages; must outlive ret. */
int compare_read(struct measured *ret, const char *path, sqlite3 *db, struct err *e);
void compare_free(struct measured *m);

/* Parts of compare_read, each of which appends samples. */
int compare_latencies(struct measured *m, sqlite3 *db, struct err *e);
int compare_bins(struct measured *m, sqlite3 *db, struct err *e);

/* A new sample, or NULL: out of memory. The subject's bytes come from the recording. */
struct sample *compare_add(struct measured *m, const char *subject, enum compare_metric metric,
			   struct err *e);

/* stats_wander of ln(num / den) over k windows, WINDOWS_MOST at most; NAN if one has no such ratio.
 */
double compare_wander(const double *num, const double *den, size_t k);

/* The sample of the subject and metric, or NULL. */
const struct sample *compare_find(const struct measured *m, const char *subject,
				  enum compare_metric metric);

/* "server[123]:80" without "[123]", made safe to print. */
void compare_strip(char *ret, size_t size, const char *name);

/*
 * Gives services that belong together one subject, and says so in db if that took away their port.
 * Before the others.
 */
int compare_pair(sqlite3 *db, struct sides *s, struct err *e);

/*
 * Puts rows into db. refused: receives the reasons why the sides cannot be compared, as one
 * sentence, empty if they can.
 */
int compare_check(sqlite3 *db, const struct sides *s, struct buf *refused, struct err *e);
int compare_judge(sqlite3 *db, const struct sides *s, double threshold, struct err *e);
int compare_explain(sqlite3 *db, const struct sides *s, struct err *e);

/* Sentences about the rows that the others put, into table finding. */
int compare_say(sqlite3 *db, const struct sides *s, double threshold, struct err *e);

#endif
