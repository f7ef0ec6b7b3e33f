// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_sizes.c: requests that fail, larger than all others. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS 1000000L

#define SAID(of) FINDING_VALUE("failing_larger", of, "v.number")
#define FINDINGS "SELECT count(*) FROM finding WHERE kind='failing_larger'"

/* A request of this size each 10 ms; from 5 s on they have the other size, and fail. */
static sqlite3 *sized(int before, int since, int spread)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end, pos = 0, size;
	sqlite3 *db;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS) {
		end = t + 100000 + rand() % 9000;
		size = (t < 5000 * MS ? before : since) + rand() % spread;
		buf_printf(&x, &e, "%ld 0 segment conn=1 pos=%ld len=%ld unread=0\n", t, pos, size);
		buf_printf(&x, &e, "%ld 100 syscall nr=read fd=5 dur=1 ret=%ld\n", t + 10000, size);
		buf_printf(&x, &e, "%ld 100 head conn=1 pos=%ld len=%ld name=1 requests=1\n",
			   t + 10000, pos, size);
		buf_printf(&x, &e, "%ld 100 syscall nr=write fd=5 dur=1 ret=20\n", end);
		if (t >= 5000 * MS)
			error_of(&x, end, 1, 400, 1);
		pos += size;
	}
	db = loaded_buf(&x);
	return analysed(db, NULL);
}

static void larger_than_any_that_is_answered(void **state)
{
	sqlite3 *db = sized(71, 4165, 9);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem errors");
	is_number(db, SAID("least"), 4165);
	is_number(db, SAID("most"), 79);
	is_number(db, SAID("n"), 490);
	db_close(db);
}

/* Numbers in their paths have grown by a digit; sizes of all kinds fail; not all was read. */
static void other_sizes_say_nothing(void **state)
{
	sqlite3 *db = sized(71, 81, 9);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem errors");
	is_number(db, FINDINGS, 0);
	db_close(db);
	db = sized(71, 4165, 5000);
	is_number(db, FINDINGS, 0);
	db_close(db);
	db = sized(400, 71, 9);
	is_number(db, FINDINGS, 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(larger_than_any_that_is_answered),
		cmocka_unit_test(other_sizes_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
