/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an analysis is. It reads the tables that trackers made and puts metrics
 * and findings; it never prints, touches no file, and knows no event. One file
 * in analyses/ and one row in analyses.c make a new one.
 */
#ifndef OBS_ANALYSIS_H
#define OBS_ANALYSIS_H

#include "analyze/store/finding.h"

#include <math.h>
#include <stdbool.h>

enum better { NEITHER_IS_BETTER, LOWER_IS_BETTER, HIGHER_IS_BETTER };

struct analysis_ctx;

struct metric {
	const char *name;
	const char *unit; /* "ns", "1/s", "bytes", "%", "" ... : decides how it is printed */
	enum better better;
	const char *doc;
};

struct analysis {
	const char *name;
	const char *doc;   /* the question, as one sentence */
	const char *needs; /* groups, separated by blanks; if one has no records, it is not run */
	const struct metric
		*metrics; /* ended by one without name; columns of its table, in order */
	int rows;	  /* subjects that a report shows; the rest is counted */
	bool aside;	  /* its table is long: a report shows it only when asked for it alone */
	int (*run)(struct analysis_ctx *c, struct err *e);
};

/* One run of one analysis. */
struct analysis_ctx {
	sqlite3 *db;
	const struct analysis *analysis;
	s64 duration;	      /* of the recording, ns */
	const char *verdict;  /* the worst of the groups that it needs */
	sqlite3_stmt *insert; /* of a metric, prepared once */
};

/* No interval is known. */
#define NO_INTERVAL NAN, NAN

/*
 * Puts one number: n is its sample size, low and high its 95 % interval. A report shows
 * subjects in the order in which they were first put.
 */
int put_metric(struct analysis_ctx *c, struct err *e, const char *subject, const char *name,
	       double value, double low, double high, s64 n);

/* Puts one finding of the analysis (finding.h). */
int put_finding(struct analysis_ctx *c, struct err *e, const struct finding *f);

/* Puts a sentence made here: being replaced by put_finding. label: name of an enum evidence. */
int put_prose(struct analysis_ctx *c, struct err *e, enum severity severity, const char *label,
	      const char *sql, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/*
 * SQL over table service: its name without the process, which is what the workers of one server
 * have in common.
 */
#define SERVICE_COMMON "replace(name, '[' || pid || ']', '')"
/* The same of rows grouped by it: "server:80 (8 processes)", or the only one's own name. */
#define SERVICE_TITLE \
	"iif(count(*)=1, name, " SERVICE_COMMON " || ' (' || count(DISTINCT pid) || ' processes)')"

/* The questions, in the order of the report; ended by NULL. */
extern const struct analysis *const analyses[];

/* Runs all analyses, or only the one called name, replacing their rows in metric and finding. */
int analyses_run(sqlite3 *db, const char *name, struct err *e);

#endif
