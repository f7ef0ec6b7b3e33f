// SPDX-License-Identifier: GPL-2.0-or-later
/* sum(), total() and avg() of SQL that cannot fail, and that do not depend on SQLite's version. */
#include "sums.h"

#include <math.h>
#include <stddef.h>

/*
 * Integers as 128 bits, so that a window can take back what it has added. Reals with what rounding
 * lost (Neumaier 1974): the order of rows is that of a query plan.
 */
struct sum {
	s64 n; /* not NULL */
	s64 reals;
	double real, lost;
	s64 high;
	u64 low;
};

static void add(struct sum *s, s64 v, int sign)
{
	u64 low = s->low;

	if (sign > 0) {
		s->low += (u64)v;
		s->high += (v < 0 ? -1 : 0) + (s->low < low);
	} else {
		s->low -= (u64)v;
		s->high -= (v < 0 ? -1 : 0) + (s->low > low);
	}
}

static void add_real(struct sum *s, double v)
{
	double sum = s->real + v;

	if (isfinite(sum))
		s->lost += fabs(s->real) >= fabs(v) ? s->real - sum + v : v - sum + s->real;
	s->real = sum;
}

static void count(sqlite3_context *ctx, sqlite3_value *v, int sign)
{
	struct sum *s = sqlite3_aggregate_context(ctx, sizeof(*s));
	int type = sqlite3_value_numeric_type(v);

	if (!s || type == SQLITE_NULL)
		return;
	s->n += sign;
	if (type == SQLITE_INTEGER) {
		add(s, sqlite3_value_int64(v), sign);
		return;
	}
	s->reals += sign;
	add_real(s, sign * sqlite3_value_double(v));
}

static void step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	count(ctx, argv[0], 1);
}

static void inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	count(ctx, argv[0], -1);
}

/* What fits in 64 bits is rounded once. */
static bool fits(const struct sum *s)
{
	return s->high == ((s64)s->low < 0 ? -1 : 0);
}

static double as_real(const struct sum *s)
{
	double whole = fits(s) ? (double)(s64)s->low : (double)s->high * 0x1p64 + (double)s->low;

	return s->real + s->lost + whole;
}

static void value_sum(sqlite3_context *ctx)
{
	const struct sum *s = sqlite3_aggregate_context(ctx, 0);

	if (!s || s->n <= 0)
		sqlite3_result_null(ctx);
	else if (s->reals > 0 || !fits(s))
		sqlite3_result_double(ctx, as_real(s));
	else
		sqlite3_result_int64(ctx, (s64)s->low);
}

static void value_total(sqlite3_context *ctx)
{
	const struct sum *s = sqlite3_aggregate_context(ctx, 0);

	sqlite3_result_double(ctx, s ? as_real(s) : 0);
}

static void value_avg(sqlite3_context *ctx)
{
	const struct sum *s = sqlite3_aggregate_context(ctx, 0);

	if (!s || s->n <= 0)
		sqlite3_result_null(ctx);
	else
		sqlite3_result_double(ctx, as_real(s) / (double)s->n);
}

int sums_register(sqlite3 *db, struct err *e)
{
	static const struct {
		const char *name;
		void (*value)(sqlite3_context *ctx);
	} sums[] = { { "sum", value_sum }, { "total", value_total }, { "avg", value_avg } };
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	size_t i;

	for (i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		if (sqlite3_create_window_function(db, sums[i].name, 1, flags, NULL, step,
						   sums[i].value, sums[i].value, inverse,
						   NULL) != SQLITE_OK)
			return err_set(e, ERR_FAIL, "SQLite refuses a function: %s",
				       sqlite3_errmsg(db));
	return 0;
}
