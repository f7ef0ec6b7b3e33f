// SPDX-License-Identifier: GPL-2.0-or-later
/* export --around: a time range around something that the report names. */
#include "around.h"

#include "analyze/base/when.h"
#include "analyze/store/fact.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN	 250000000 /* ns before and after */
#define TIME_MAX (INT64_MAX / 4)

/* What has numbers, and where it is: ?1 is the number. */
static const struct {
	const char *name, *sql;
} kinds[] = {
	{ "cause",
	  "SELECT example_ts, example_dur FROM cause ORDER BY rowid LIMIT 1 OFFSET ?1 - 1" },
	{ "pause", "SELECT ts, dur FROM pause WHERE id = ?1" },
};

static int find_row(s64 *ts, s64 *dur, sqlite3 *db, size_t kind, s64 number, struct err *e)
{
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, kinds[kind].sql, "i", number);

	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret == 0)
		ret = err_set(e, ERR_FAIL, "there is no %s%lld; obsanalyze report lists them",
			      kinds[kind].name, (long long)number);
	*ts = ret > 0 ? sqlite3_column_int64(s, 0) : 0;
	*dur = ret > 0 ? sqlite3_column_int64(s, 1) : 0;
	return db_end(s, ret);
}

static int find_time(s64 *ts, sqlite3 *db, const char *text, struct err *e)
{
	s64 begin = 0, real = 0, length = 0;
	struct origin o;
	struct when w;
	u64 at = 0;
	int ret = when_parse(&w, "around", text, NULL);

	if (ret < 0)
		return err_set(e, ERR_FAIL,
			       "--around needs cause1, pause1 or a time such as 2.5s or 14:03:07, "
			       "not %.40s",
			       text);
	ret = fact_number(&begin, db, "start_monotonic_ns", e);
	if (ret == 0)
		ret = fact_number(&real, db, "start_realtime_ns", e);
	if (ret == 0)
		ret = fact_number(&length, db, "duration_ns", e);
	o = (struct origin){ begin, (u64)begin + (u64)length, (s64)((u64)real - (u64)begin),
			     real != 0 };
	if (ret == 0)
		ret = when_resolve(&at, &w, &o, 0, e);
	*ts = (s64)(at - (u64)begin);
	if (ret == 0 && (*ts < 0 || *ts > length))
		ret = err_set(e, ERR_FAIL, "--around %.40s is not within the recording", text);
	return ret;
}

int around_find(s64 *from, s64 *to, sqlite3 *db, const char *what, struct err *e)
{
	s64 ts = 0, dur = 0, number = 0;
	size_t i, n = 0;
	char *end = NULL;
	int ret;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		n = strlen(kinds[i].name);
		if (strncmp(what, kinds[i].name, n) == 0)
			break;
	}
	if (i < sizeof(kinds) / sizeof(kinds[0])) {
		number = what[n] ? strtoll(what + n, &end, 10) : 1;
		if ((end && (*end || end == what + n)) || number < 1 || number > 1000000)
			return err_set(e, ERR_FAIL, "--around %.40s has no number such as %s1",
				       what, kinds[i].name);
		ret = find_row(&ts, &dur, db, i, number, e);
	} else {
		ret = find_time(&ts, db, what, e);
	}
	ts = ts < 0 ? 0 : ts > TIME_MAX ? TIME_MAX : ts;
	dur = dur < 0 ? 0 : dur > TIME_MAX ? TIME_MAX : dur;
	*from = ts > MARGIN ? ts - MARGIN : 0;
	*to = ts + dur + MARGIN;
	return ret;
}
