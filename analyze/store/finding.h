/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finding is data: its kind, what it is about, and named values with units. Only
 * render/say.c makes a sentence of it, from the template of findings.def.
 */
#pragma once

#include "db.h"
#include "format/buf.h"

#include <math.h>

enum severity { NOTE, WARNING, PROBLEM };

/* How sure a finding is. */
enum evidence {
	OBSERVED,   /* events name both ends */
	CAUSAL,	    /* wakeups lead from one end to the other */
	OVERLAP,    /* only the times agree */
	CORRELATED, /* only the series move together */
	LIMIT,	    /* not available: what the recording cannot show */
};

/* What a finding, a metric or a value is about; its id selects the row that names it. */
enum subject_kind {
#define SUBJECT(name, key, sql) SUBJECT_##name,
#include "subjects.def"
#undef SUBJECT
	N_SUBJECTS
};

enum finding_kind {
#define FINDING(name, text) FINDING_##name,
#include "findings.def"
#undef FINDING
	N_FINDINGS
};

struct subject {
	enum subject_kind kind;
	s64 id;
};

/* A number with its unit, a subject, a text of the recording, or a subject with its number. */
struct value {
	const char *name; /* as the template has it; several of one name make a list */
	const char *unit; /* "ns", "%", "bytes", "1/s", "x" (a ratio), "at" (time of day), "" */
	double number, low, high; /* NAN: none */
	struct subject of;
	const char *text; /* NULL: none; untrusted */
};

#define VALUE_NUMBER(n, v, u)                                                    \
	{                                                                        \
		.name = (n), .unit = (u), .number = (v), .low = NAN, .high = NAN \
	}
#define VALUE_INTERVAL(n, v, l, h, u)                                            \
	{                                                                        \
		.name = (n), .unit = (u), .number = (v), .low = (l), .high = (h) \
	}
#define VALUE_TEXT(n, t)                                                         \
	{                                                                        \
		.name = (n), .text = (t), .number = NAN, .low = NAN, .high = NAN \
	}
#define VALUE_SUBJECT(n, k, i)                                                                  \
	{                                                                                       \
		.name = (n), .of = { SUBJECT_##k, (i) }, .number = NAN, .low = NAN, .high = NAN \
	}
#define VALUE_WHO(n, subject_)                                                        \
	{                                                                             \
		.name = (n), .of = (subject_), .number = NAN, .low = NAN, .high = NAN \
	}
/* Missing if the id is 0. */
#define VALUE_MAYBE(n, k, i)                                                                 \
	{                                                                                    \
		.name = (n), .of = { (i) ? SUBJECT_##k : SUBJECT_none, (i) }, .number = NAN, \
		.low = NAN, .high = NAN                                                      \
	}

struct finding {
	enum finding_kind kind;
	enum severity severity;
	enum evidence evidence;
	struct subject about;
	const char *sql;	    /* the query that proves it; NULL: none */
	const struct value *values; /* ended by one without name; NULL: none */
	s64 parent;		    /* the finding that this one qualifies (a caveat); 0: none */
};

/* Names as tables have them. */
extern const char *const finding_names[N_FINDINGS];
extern const char *const finding_templates[N_FINDINGS];
extern const char *const evidence_names[LIMIT + 1];
extern const char *const subject_names[N_SUBJECTS];

/* The kind of a name; SUBJECT_none if there is none. */
enum subject_kind subject_kind_of(const char *name);

/* Adds the finding. *ret_id: its id, for caveats; may be NULL. */
int finding_put(sqlite3 *db, const char *analysis, const struct finding *f, s64 *ret_id,
		struct err *e);

/* Adds values to a finding: the rows of a query of name, unit, number, kind, id and text. */
int finding_add(sqlite3 *db, s64 finding, struct err *e, const char *sql, const char *fmt, ...);

/* Removes the findings of one analysis. */
int finding_drop(sqlite3 *db, const char *analysis, struct err *e);

/*
 * Appends the name of a subject: process "redis[17]", thread "redis[17/19]", as the recording
 * has it (untrusted); "kind id" where no row names it.
 */
int subject_text(struct buf *out, sqlite3 *db, struct subject s, struct err *e);
