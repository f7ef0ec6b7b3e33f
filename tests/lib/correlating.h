/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests of analysis correlate: a recording of WINDOWS s with THREADS threads. */
#pragma once

#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "format/buf.h"
#include "tests/lib/idle_threads.h"
#include "tests/lib/loaded.h"
#include "tests/lib/noise.h"

#include <math.h>
#include <stdlib.h>

#define SECOND	1000000000ll
#define WINDOWS 120
#define THREADS 12 /* tids from 100 on */

/* As recording, with these lines at the end. */
static inline sqlite3 *recording_of(const char *more)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;

	idle_threads(&text, &e, THREADS, 0, WINDOWS * SECOND);
	buf_printf(&text, &e, "%s", more);
	db = loaded_buf(&text);
	changed(db, "DELETE FROM series; INSERT INTO recording VALUES('qos', 'own series')");
	return db;
}

/* A recording in which nothing happens, with the user's own series as quality. */
static inline sqlite3 *recording(void)
{
	return recording_of("");
}

static inline void put_qos(sqlite3 *db, const double *y)
{
	struct err e = { 0 };
	int i;

	for (i = 0; i < WINDOWS; i++)
		if (!isnan(y[i]) &&
		    db_insert(db, TABLE_qos, &e, "idi", i * SECOND, y[i], (s64)1) < 0)
			fail_msg("%s", e.text);
}

/* A share of the time in the run queue (kind 2), around a half. */
static inline void put_series(sqlite3 *db, int tid, const double *x)
{
	struct err e = { 0 };
	double share;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		share = fmin(fmax(0.5 + 0.1 * x[i], 0), 1);
		if (db_insert(db, TABLE_series, &e, "iiiiiiii", i * SECOND, (s64)2, (s64)tid,
			      (s64)0, (s64)(share * SECOND), (s64)0, (s64)0, (s64)0) < 0)
			fail_msg("%s", e.text);
	}
}

static inline void run(sqlite3 *db)
{
	analysed(db, "correlate");
}

static inline void clear(sqlite3 *db)
{
	changed(db, "DELETE FROM series; DELETE FROM qos; BEGIN");
}

static inline void commit(sqlite3 *db)
{
	changed(db, "COMMIT");
}

#define FIRST	    "(SELECT subject FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1)"
#define FIRST_ID    "(SELECT subject_id FROM metric WHERE analysis='correlate' ORDER BY rowid LIMIT 1)"
#define VALUE(name) "FROM metric WHERE analysis='correlate' AND name='" name "' AND subject=" FIRST

/* Windows of a recording that is too short for rank correlation of levels. */
#define SHORT 30

/* Quality and thread 107 change their level after half of the time; the others drift. */
static inline void step(sqlite3 *db, struct noise *r, double size, double own)
{
	double x[WINDOWS], y[WINDOWS];
	int i, k;

	clear(db);
	for (i = 0; i < WINDOWS; i++)
		y[i] = 5 + (i < SHORT / 2 ? 0 : size) + 0.1 * noise_normal(r);
	for (i = SHORT; i < WINDOWS; i++)
		y[i] = NAN;
	put_qos(db, y);
	for (k = 0; k < THREADS; k++) {
		noise_ar(r, 0.5, x, WINDOWS);
		for (i = 0; i < WINDOWS && k == 7; i++)
			x[i] = (i < SHORT / 2 ? 0 : own) + 0.1 * noise_normal(r);
		put_series(db, 100 + k, x);
	}
	commit(db);
	run(db);
}
