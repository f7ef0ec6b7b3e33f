/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics of one analysis as a table: subjects down, metrics across. */
#pragma once

#include "analyze/store/db.h"
#include "format/escape.h"

#define PIVOT_COLUMNS 40

struct pivot {
	char name[PIVOT_COLUMNS][40]; /* of the columns: metric and unit */
	int n_columns;
	struct pivot_row {
		char *subject;		   /* escaped */
		char *cell[PIVOT_COLUMNS]; /* formatted; NULL: no such metric */
		s64 n;			   /* largest sample size */
	} * rows;
	int n_rows;
	int more;		  /* subjects that are not shown */
	bool used[PIVOT_COLUMNS]; /* not all cells are zero or unknown */
	bool counted; /* a column says the same as n in every row: n need not be shown */
};

/*
 * Fills a table from the rows of an analysis, at most max_rows subjects, escaped as asked.
 * Free it with pivot_free, also after an error.
 */
int pivot_read(struct pivot *p, sqlite3 *db, const char *analysis, int max_rows,
	       enum escape_for how, struct err *e);

void pivot_free(struct pivot *p);
