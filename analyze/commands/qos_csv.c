// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A user's own series: a CSV file whose first two columns are a time and a value. Times are
 * seconds after the start of the recording, seconds since 1970, or like 2026-01-31T23:59:59.5Z.
 * Lines whose time is none (a header) are ignored. The mean of each step is kept.
 */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE_SIZE   4096
#define EPOCH_ABOVE 1e8 /* s: larger numbers are times of day, smaller ones of the recording */
#define WINDOWS_MAX 10000000

/* Seconds since 1970 of "2026-01-31T23:59:59.5Z"; false: it is none. */
static bool time_of_day(const char *text, double *ret)
{
	struct tm tm = { 0 };
	double seconds;
	char gap, zone = 'Z';

	if (sscanf(text, "%d-%d-%d%c%d:%d:%lf%c", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &gap,
		   &tm.tm_hour, &tm.tm_min, &seconds, &zone) < 7 ||
	    (gap != 'T' && gap != ' '))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*ret = (double)timegm(&tm) + seconds;
	return true;
}

struct series_file {
	double begin; /* of the recording, s since 1970; 0: not known */
	double step;  /* s */
	size_t n;     /* windows */
	double *sum;
	s64 *count;
	s64 used, outside;
};

/* One line: true if it has a time and a value. */
static bool take_line(struct series_file *f, char *line)
{
	char *time = line + strspn(line, " \t\""), *value = strpbrk(line, ",;\t"), *end;
	double at, v;

	if (!value)
		return false;
	*value++ = '\0';
	value += strspn(value, " \t\"");
	v = strtod(value, &end);
	if (end == value || !(v - v == 0))
		return false;
	if (!time_of_day(time, &at)) {
		at = strtod(time, &end);
		if (end == time || (*end && !strchr("\" \t", *end)))
			return false;
	}
	if (at >= EPOCH_ABOVE && f->begin > 0)
		at -= f->begin;
	if (!(at >= 0) || at >= f->step * f->n) {
		f->outside++;
		return true;
	}
	f->sum[(size_t)(at / f->step)] += v;
	f->count[(size_t)(at / f->step)]++;
	f->used++;
	return true;
}

static int read_lines(struct series_file *f, FILE *in, const char *path, struct err *e)
{
	char line[LINE_SIZE];
	s64 refused = 0;

	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] && line[0] != '#' && !take_line(f, line))
			refused++;
	}
	if (ferror(in))
		return err_errno(e, ERR_FAIL, "cannot read %.400s", path);
	if (refused > 1)
		return err_set(e, ERR_FAIL,
			       "%.400s has %lld lines without a time and a number in the first two "
			       "columns",
			       path, (long long)refused);
	if (!f->used)
		return err_set(e, ERR_FAIL,
			       "no line of %.400s lies within the recording (%lld lie outside): "
			       "times are seconds after its begin, or of day",
			       path, (long long)f->outside);
	return 0;
}

static int find_begin(struct series_file *f, sqlite3 *db, struct err *e)
{
	sqlite3_stmt *s;
	s64 step = 0, duration = 0;
	int ret = db_int(db, &step, e, "SELECT value FROM recording WHERE key='step_ns'", "");

	if (ret == 0)
		ret = db_int(db, &duration, e,
			     "SELECT value FROM recording WHERE key='duration_ns'", "");
	if (ret == 0)
		ret = db_query(&s, db, e, "SELECT value FROM recording WHERE key='start'", "");
	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0)
		time_of_day(db_text(s, 0), &f->begin);
	sqlite3_finalize(s);
	if (step <= 0 || duration / step >= WINDOWS_MAX)
		return err_set(e, ERR_FAIL, "the recording has no sensible step");
	f->step = step / 1e9;
	f->n = (size_t)(duration / step) + 1;
	return ret < 0 ? ret : 0;
}

int qos_csv(sqlite3 *db, const char *path, struct err *e)
{
	struct series_file f = { 0 };
	FILE *in = fopen(path, "r");
	size_t i;
	int ret;

	if (!in)
		return err_errno(e, ERR_FAIL,
				 "--qos: %.400s is neither the name of a series nor a file", path);
	ret = find_begin(&f, db, e);
	if (ret < 0)
		goto out;
	f.sum = calloc(f.n, sizeof(*f.sum));
	f.count = calloc(f.n, sizeof(*f.count));
	if (!f.sum || !f.count) {
		ret = err_set(e, ERR_FAIL, "out of memory for %.400s", path);
		goto out;
	}
	ret = read_lines(&f, in, path, e);
	for (i = 0; i < f.n && ret == 0; i++)
		if (f.count[i])
			ret = db_insert(db, TABLE_qos, e, "idi", (s64)(i * f.step * 1e9 + 0.5),
					f.sum[i] / f.count[i], f.count[i]);
out:
	free(f.sum);
	free(f.count);
	fclose(in);
	return ret;
}
