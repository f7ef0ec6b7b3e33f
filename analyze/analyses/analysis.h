/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an analysis is. It reads the tables that trackers made and puts metrics
 * and findings; it never prints, touches no file, and knows no event. One file
 * in analyses/ and one row in analyses.c make a new one.
 */
#pragma once

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
	bool silence; /* it is run then as well, if they were recorded: that nothing happened is an
			 answer */
	const struct metric
		*metrics;    /* ended by one without name; columns of its table, in order */
	int rows;	     /* subjects that a report shows; the rest is counted */
	const char *nothing; /* why it may have no rows, in a report of it alone */
	bool aside;	     /* its table is long: a report shows it only when asked for it alone */
	int (*run)(struct analysis_ctx *c, struct err *e);
};

/*
 * One run of one analysis. Errors are sticky: after one, put_table, put_number, add_finding,
 * find_rows, query_number and each_row do nothing, and run returns c->err.
 */
struct analysis_ctx {
	sqlite3 *db;
	const struct analysis *analysis;
	s64 duration;	      /* of the recording, ns */
	const char *verdict;  /* the worst of the groups that it needs */
	sqlite3_stmt *insert; /* of a metric, prepared once */
	struct err *e;
	int err;
};

/* No interval is known. */
#define NO_INTERVAL NAN, NAN

/* About no row of a table. */
#define NO_SUBJECT  ((struct subject){ SUBJECT_none, 0 })
#define ABOUT(k, i) ((struct subject){ SUBJECT_##k, (i) })

/*
 * Puts one number: n is its sample size, low and high its 95 % interval. text names it in a report;
 * NULL: as the subject is called. NAN is not put. A report shows subjects in the order in which
 * they were first put.
 */
void put_number(struct analysis_ctx *c, struct subject about, const char *text, const char *name,
		double value, double low, double high, s64 n);

/* A metric with its interval, for tables of numbers about one subject. */
struct number {
	const char *name;
	double value, low, high, n;
};

void put_all(struct analysis_ctx *c, struct subject about, const char *text,
	     const struct number *numbers, size_t n);

/*
 * Puts the rows of a query: column id selects the subject of kind `kind` (a column kind says
 * otherwise), part is added to its name (text replaces it), n is the sample size of the columns
 * after it, and each other column is the metric of its name. NULL is not put. SQL has the function
 * quantile (latency.h).
 */
void put_table(struct analysis_ctx *c, enum subject_kind kind, const char *sql, const char *fmt,
	       ...);

/* Adds one finding of the analysis (finding.h). Returns its id, for caveats. */
s64 add_finding(struct analysis_ctx *c, const struct finding *f);

/* Adds a limit that has no values. */
void add_limit(struct analysis_ctx *c, enum finding_kind kind);

/*
 * Findings from rows, one each. Columns kind and id: what it is about; evidence, severity and
 * proof: other than here; each other column is a value: "name", "name:unit" or "name:kind of
 * subject" with its id.
 */
struct finding_query {
	enum finding_kind kind;
	enum severity severity;
	enum evidence evidence;
	const char *proof; /* NULL: none */
	const char *sql;
	const char *list; /* rows of values (finding_add), ?1: column id; NULL: none */
};

void find_rows(struct analysis_ctx *c, const struct finding_query *q, const char *fmt, ...);

/* The first column of the first row; 0 if there is none. */
double query_number(struct analysis_ctx *c, const char *sql, const char *fmt, ...);

/* Calls fn with arg for each row. */
void each_row(struct analysis_ctx *c, db_row_fn fn, void *arg, const char *sql, const char *fmt,
	      ...);

/* In percent; NAN of nothing. */
static inline double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

/* ---- older doors, for analyses that check each error ---- */

int put_metric(struct analysis_ctx *c, struct err *e, const char *subject, const char *name,
	       double value, double low, double high, s64 n);

int put_finding(struct analysis_ctx *c, struct err *e, const struct finding *f);

/*
 * SQL: processes with their leaders. Workers are led by their parent, if that has the same name:
 * they are one server. A process that connected to one of them and answers on no port together with
 * it is their client, whatever its name and parent.
 */
#define LED_PROCESSES                                                                           \
	"(WITH named AS (SELECT p.pid AS pid, l.pid AS leader FROM process p JOIN process l"    \
	" ON l.pid=p.parent AND l.comm=p.comm AND l.comm<>''),"                                 \
	" answers AS (SELECT pid, port FROM service WHERE kind='tcp' AND requests > 0 AND"      \
	" pid IN (SELECT pid FROM named UNION SELECT leader FROM named)),"                      \
	" ends AS (SELECT DISTINCT m.pid AS client, o.pid AS server FROM (SELECT pid, local,"   \
	" remote, CAST(substr(remote, 1 + length(rtrim(remote, '0123456789'))) AS INT) AS port" \
	" FROM fd WHERE role='connected' AND pid IN (SELECT pid FROM named UNION SELECT"        \
	" leader FROM named)) m JOIN fd o ON o.local=m.remote AND o.remote=m.local WHERE"       \
	" o.role='accepted' AND m.port IN (SELECT port FROM answers)"                           \
	" AND (m.pid, m.port) NOT IN (SELECT pid, port FROM answers) AND NOT EXISTS (SELECT 1"  \
	" FROM answers a JOIN answers b USING(port) WHERE a.pid=m.pid AND b.pid=o.pid)),"       \
	" strange AS (SELECT client AS pid, server AS leader FROM ends UNION SELECT client,"    \
	" leader FROM ends JOIN named ON pid=server UNION SELECT server, client FROM ends)"     \
	" SELECT p.pid AS pid, max(coalesce(n.leader, p.pid)) AS leader FROM process p"         \
	" LEFT JOIN named n ON n.pid=p.pid AND (n.pid, n.leader) NOT IN (SELECT pid, leader"    \
	" FROM strange) GROUP BY p.pid)"

/*
 * SQL: of these, the leaders and the workers that answer requests. A child that answers none, as
 * one that writes a snapshot, takes CPUs and disks from them as any other process does.
 */
#define ANSWERING_PROCESSES                                                           \
	"(SELECT pid, leader FROM " LED_PROCESSES                                     \
	" WHERE pid=leader OR pid IN (SELECT pid FROM service WHERE requests > 0 AND" \
	" kind<>'function'))"

/*
 * SQL over table service: the server that a service belongs to, or below 0 the probed function;
 * what workers have in common. 0: among too many.
 */
#define SERVICE_GROUP "iif(kind='function', -1 - port, server)"

/* The questions, in the order of the report; ended by NULL. */
extern const struct analysis *const analyses[];

/* NULL, with an error that names them all: there is none. */
const struct analysis *analysis_named(const char *name, struct err *e);

/* Runs all analyses, or only the one called name, replacing their rows in metric and finding. */
int analyses_run(sqlite3 *db, const char *name, struct err *e);
