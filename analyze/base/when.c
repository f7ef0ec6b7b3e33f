// SPDX-License-Identifier: GPL-2.0-or-later
/* Instants as people write them. */
#include "when.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000ull
#define DAY    (86400 * SECOND)

static int refuse(const char *option, const char *text, struct err *e)
{
	return err_set(e, ERR_FAIL,
		       "--%s needs a time such as 10s, 250ms, 14:03:07.5 (UTC) or "
		       "2026-11-21T14:03:07Z, not %.40s",
		       option, text);
}

/* The digits after a point, as ns; moves *at after them. */
static u64 fraction(const char **at)
{
	u64 ns = 0, unit = SECOND / 10;

	if (**at != '.')
		return 0;
	for ((*at)++; isdigit((unsigned char)**at); (*at)++, unit /= 10)
		ns += unit * (u64)(**at - '0');
	return ns;
}

/* n digits, at most max; false if there are none. Moves *at after them. */
static bool digits(const char **at, int n, unsigned int max, unsigned int *ret)
{
	unsigned int v = 0;

	for (; n > 0; n--, (*at)++) {
		if (!isdigit((unsigned char)**at))
			return false;
		v = v * 10 + (unsigned int)(**at - '0');
	}
	*ret = v;
	return v <= max;
}

static bool take(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* HH:MM[:SS[.frac]] as ns. */
static bool time_of_day(const char **at, u64 *ret)
{
	unsigned int h, m, s = 0;

	if (!digits(at, 2, 23, &h) || !take(at, ':') || !digits(at, 2, 59, &m))
		return false;
	if (take(at, ':') && !digits(at, 2, 60, &s))
		return false;
	*ret = ((u64)h * 3600 + m * 60 + s) * SECOND + fraction(at);
	return true;
}

static bool date(const char *text, u64 *ret)
{
	struct tm tm = { 0 };
	unsigned int year, month, day, h, m;
	u64 ns = 0;
	time_t t;
	s64 zone = 0;
	bool minus;

	if (!digits(&text, 4, 9999, &year) || !take(&text, '-') || !digits(&text, 2, 12, &month) ||
	    !take(&text, '-') || !digits(&text, 2, 31, &day) || year < 1970 || !month || !day)
		return false;
	if (!take(&text, 'T') && !take(&text, 't') && !take(&text, ' '))
		return false;
	if (!time_of_day(&text, &ns))
		return false;
	if (*text == '+' || *text == '-') {
		minus = *text++ == '-';
		if (!digits(&text, 2, 23, &h) || !take(&text, ':') || !digits(&text, 2, 59, &m))
			return false;
		zone = (s64)((h * 60 + m) * 60) * (minus ? -1 : 1);
	} else if (*text == 'Z' || *text == 'z') {
		text++;
	}
	tm.tm_year = (int)year - 1900;
	tm.tm_mon = (int)month - 1;
	tm.tm_mday = (int)day;
	t = timegm(&tm) - zone;
	*ret = (u64)(t > 0 ? t : 0) * SECOND + ns;
	return !*text;
}

static bool after(const char *text, u64 *ret)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "", 1e9 },   { "s", 1e9 },  { "ms", 1e6 },   { "us", 1e3 },
		{ "ns", 1.0 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
	};
	char *end;
	double v;
	size_t i;

	text += *text == '+';
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	v = strtod(text, &end);
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, end) == 0) {
			v *= units[i].ns;
			*ret = (u64)llround(v);
			return v >= 0 && v < 9e18;
		}
	return false;
}

int when_parse(struct when *ret, const char *option, const char *text, struct err *e)
{
	const char *at = text;

	if (date(text, &ret->ns)) {
		ret->kind = WHEN_DATE;
	} else if (time_of_day(&at, &ret->ns) && !*at) {
		ret->kind = WHEN_OF_DAY;
	} else if (after(text, &ret->ns)) {
		ret->kind = WHEN_AFTER;
	} else {
		ret->kind = WHEN_NONE;
		return refuse(option, text, e);
	}
	return 0;
}

static bool is_info(const struct record *rec, const char *key)
{
	size_t n = strlen(key);

	return rec->type == EV_info && rec->event && rec->tail_len > n &&
	       memcmp(rec->tail, key, n) == 0 && rec->tail[n] == '=';
}

/* The start as the fact has it; what is no time before the record itself is the record's. */
static u64 begin_of(const struct record *rec)
{
	char text[32] = "";
	u64 t;

	memcpy(text, rec->tail, rec->tail_len < sizeof(text) ? rec->tail_len : sizeof(text) - 1);
	t = strtoull(text + strlen("begin="), NULL, 10);
	return t && t < rec->ts ? t : rec->ts;
}

int origin_read(struct origin *ret, struct reader *r, struct err *e)
{
	const struct recording_state *st = reader_state(r);
	struct origin o = { .begin = st->ts_min, .end = st->ts_max };
	struct record rec;
	u64 stopped = 0;
	int got;

	reader_limit(r, UINT64_MAX, UINT64_MAX); /* the recorder's own stream only */
	while ((got = reader_next(r, &rec, e)) > 0) {
		const struct ev_clock *clock = rec.event;

		if (is_info(&rec, "begin"))
			o.begin = begin_of(&rec);
		else if (is_info(&rec, "stopped"))
			stopped = rec.ts;
		if (rec.type != EV_clock || !clock)
			continue;
		o.end = clock->monotonic > o.end ? clock->monotonic : o.end;
		if (!o.clock)
			o.realtime = (s64)(clock->realtime - clock->monotonic);
		o.clock = true;
	}
	o.end = stopped ? stopped : o.end;
	o.end = o.end > o.begin ? o.end : o.begin;
	reader_rewind(r);
	reader_limit(r, 0, UINT64_MAX);
	*ret = o;
	return got;
}

/* The first such time of a day after the start, or the one just before it if that is nearer. */
static u64 of_day(const struct origin *o, u64 ns)
{
	u64 begin = o->begin + (u64)o->realtime, end = o->end + (u64)o->realtime;
	u64 t = begin / DAY * DAY + ns;

	t += t < begin ? DAY : 0;
	return t > end && t - begin > DAY / 2 ? t - DAY : t;
}

int when_resolve(u64 *ret, const struct when *w, const struct origin *o, u64 other, struct err *e)
{
	u64 real;

	*ret = other;
	if (w->kind == WHEN_NONE)
		return 0;
	if (w->kind == WHEN_AFTER) {
		*ret = o->begin + w->ns > o->begin ? o->begin + w->ns : o->begin;
		return 0;
	}
	if (!o->clock)
		return err_set(e, ERR_FAIL,
			       "the recording has no reading of the wall clock: give times after "
			       "its begin, such as 10s");
	real = w->kind == WHEN_DATE ? w->ns : of_day(o, w->ns);
	*ret = (s64)(real - (u64)o->realtime) > 0 ? real - (u64)o->realtime : 0;
	return 0;
}
