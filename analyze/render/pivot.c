// SPDX-License-Identifier: GPL-2.0-or-later
/* The metrics of one analysis as a table. */
#include "pivot.h"

#include "analyze/base/number.h"
#include "format/grow.h"
#include "render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX   80
#define RANGE_FROM 30 /* percent of a value: wider intervals show their ends */

/* Times and sizes have their unit in each cell, other numbers in the head. */
static int column_of(struct pivot *p, const char *metric, const char *unit)
{
	bool in_cells = strcmp(unit, "ns") == 0 || strcmp(unit, "bytes") == 0;
	bool rate = strcmp(unit, "1/s") == 0;
	char name[sizeof(p->name[0])];
	int i;

	snprintf(name, sizeof(name), "%s%s%s", metric, rate || in_cells || !*unit ? "" : " ",
		 rate	    ? "/s"
		 : in_cells ? ""
			    : unit);
	for (i = 0; i < p->n_columns; i++)
		if (strcmp(p->name[i], name) == 0)
			return i;
	if (i == PIVOT_COLUMNS)
		return -1;
	memcpy(p->name[i], name, sizeof(name));
	p->n_columns++;
	return i;
}

static struct pivot_row *row_of(struct pivot *p, const char *subject, int max_rows, char *last,
				size_t last_size, enum escape_for how, struct err *e)
{
	struct buf text = { 0 };

	/* the rows of one subject stand together */
	if (p->n_rows + p->more > 0 && strcmp(last, subject) == 0)
		return p->more ? NULL : &p->rows[p->n_rows - 1];
	snprintf(last, last_size, "%s", subject);
	if (p->n_rows == max_rows) {
		p->more++;
		return NULL;
	}
	if (GROW(p->rows, p->n_rows, "a table", e) < 0)
		return NULL;
	p->rows[p->n_rows] = (struct pivot_row){ 0 };
	if (escape_add(&text, how, subject, strlen(subject), e) < 0 ||
	    buf_add(&text, "", 1, e) < 0) {
		buf_free(&text);
		return NULL;
	}
	p->rows[p->n_rows].subject = text.data;
	return &p->rows[p->n_rows++];
}

/*
 * A narrow interval is half of its width in percent of the value. Percent of percent is
 * not readable, and a wide interval is seldom symmetric: then both ends stand there.
 */
static char *make_cell(double value, double low, double high, const char *unit)
{
	char text[CELL_MAX], number[24], from[24], to[24];
	double half = 100 * (high - low) / 2 / fabs(value); /* in percent of the value */

	number_text(number, sizeof(number), value, unit);
	number_text(from, sizeof(from), low, unit);
	number_text(to, sizeof(to), high, unit);
	if (isnan(low) || isnan(high) || low == high)
		snprintf(text, sizeof(text), "%s", number);
	else if (strcmp(unit, "%") == 0 || value == 0 || half > RANGE_FROM)
		snprintf(text, sizeof(text), "%s (%s..%s)", number, from, to);
	else
		snprintf(text, sizeof(text), "%s +-%.*f%%", number, half < 9.95 ? 1 : 0, half);
	return strdup(text);
}

static double column_double(sqlite3_stmt *s, int i)
{
	return sqlite3_column_type(s, i) == SQLITE_NULL ? NAN : sqlite3_column_double(s, i);
}

static int take_row(struct pivot *p, sqlite3_stmt *s, int max_rows, char *last, size_t last_size,
		    enum escape_for how, struct err *e)
{
	const char *unit = db_text(s, 2);
	int more = p->more, c;
	struct pivot_row *row = row_of(p, db_text(s, 0), max_rows, last, last_size, how, e);
	double value = column_double(s, 3);
	s64 n = sqlite3_column_int64(s, 6);

	if (!row)
		return p->more > more || p->more ? 0 : ERR_FAIL;
	c = column_of(p, db_text(s, 1), unit);
	if (c < 0)
		return err_set(e, ERR_FAIL, "a table has too many columns");
	free(row->cell[c]);
	row->cell[c] = make_cell(value, column_double(s, 4), column_double(s, 5), unit);
	if (!row->cell[c])
		return err_set(e, ERR_FAIL, "out of memory for a table");
	p->used[c] |= !isnan(value) && value != 0;
	row->n = n > row->n ? n : row->n;
	return 0;
}

/* True if column c holds each row's sample size. */
static bool is_count(const struct pivot *p, int c)
{
	char n[48];
	int r;

	for (r = 0; r < p->n_rows; r++) {
		number_text(n, sizeof(n), p->rows[r].n, "");
		if (!p->rows[r].cell[c] || strcmp(p->rows[r].cell[c], n) != 0)
			return false;
	}
	return true;
}

int pivot_read(struct pivot *p, sqlite3 *db, const char *analysis, int max_rows,
	       enum escape_for how, struct err *e)
{
	char last[400] = "";
	sqlite3_stmt *s;
	int ret, c;

	*p = (struct pivot){ 0 };
	ret = db_query(
		&s, db, e,
		"SELECT subject, name, unit, value, low, high, n FROM metric WHERE analysis=? "
		"ORDER BY rowid",
		"s", analysis);
	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0)
		if (take_row(p, s, max_rows, last, sizeof(last), how, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(s);
	for (c = 0; c < p->n_columns; c++)
		p->counted |= p->used[c] && is_count(p, c);
	return ret;
}

void pivot_free(struct pivot *p)
{
	int r, c;

	for (r = 0; r < p->n_rows; r++) {
		free(p->rows[r].subject);
		for (c = 0; c < PIVOT_COLUMNS; c++)
			free(p->rows[r].cell[c]);
	}
	free(p->rows);
	*p = (struct pivot){ 0 };
}
