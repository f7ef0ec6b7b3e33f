// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_chance.c: long queues of a busy server, by chance or not. */
#include "tests/lib/queueing.h"
#include "tests/lib/unit.h"

#define WORK (6 * MS)

enum { WAIT, LOST, LAG };

/* From 5 s to 9 s: another rate, more CPU time, or something else. */
static sqlite3 *with(unsigned int seed, double usual, double rate, long work, int what, long much)
{
	static struct queueing q;
	int i;

	srand(seed);
	q = (struct queueing){ 0 };
	arrive(&q, usual, 0.001, 5, WORK);
	arrive(&q, rate, 5, 9, work);
	for (i = 0; i < q.n; i++) {
		long here = q.at[i] > 5 * SECOND ? much : 0;

		q.wait[i] = what == WAIT ? here : 0;
		q.lost[i] = what == LOST ? here : 0;
		q.lag[i] = what == LAG ? (int)here : 0;
	}
	arrive(&q, usual, 9, 14, WORK);
	return queued(&q, NULL);
}

static void queues_by_chance_are_no_change(void **state)
{
	static const unsigned int seeds[] = { 1, 3, 4, 6, 8 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		sqlite3 *db = with(seeds[i], 157, 157, WORK, 0, 0);

		is_verdict(db, "unchanged", "capacity");
		is_number(db, "SELECT start IS NULL AND slow IS NULL FROM verdict", 1);
		is_within(db, "SELECT number FROM finding_value WHERE name='used'", 88, 99);
		is_like(db, "SELECT sentence(finding) FROM verdict",
			"The busiest thread is on a CPU for % of the time, so requests wait for each other: %"
			" on average, % of it before they are read. Slow times differ by chance: %");
		db_close(db);
	}
}

/* The load ends before the recording does: the time without any is no lower rate. */
static void the_load_may_end(void **state)
{
	static const unsigned int seeds[] = { 1, 5, 6, 8 };
	static struct queueing q;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		sqlite3 *db;

		srand(seeds[i]);
		q = (struct queueing){ 0 };
		arrive(&q, 157, 0.001, 14, WORK);
		db = queued_until(&q, 5 * SECOND, NULL);
		is_verdict(db, "unchanged", "capacity");
		db_close(db);
	}
}

static void is_since_then(sqlite3 *db)
{
	is_verdict(db, "problem", "slower");
	is_within(db, "SELECT start FROM verdict", 3.5e9, 7.5e9);
	db_close(db);
}

static void a_change_of_the_load_is_one(void **state)
{
	(void)state;
	is_since_then(with(2, 125, 180, WORK, 0, 0));
	is_since_then(with(2, 125, 125, WORK + 3 * MS, 0, 0));
}

static void a_wait_is_one(void **state)
{
	(void)state;
	is_since_then(with(2, 125, 125, WORK, WAIT, 3 * MS));
}

/* Near its capacity as well: what added it is more than chance, or no queue. */
static void what_is_no_queue_by_chance_is_one(void **state)
{
	static const unsigned int dearer[] = { 4, 5, 11 }, neighbour[] = { 2, 6, 9 };
	unsigned int seed;
	sqlite3 *db;

	(void)state;
	for (seed = 0; seed < 3; seed++) {
		is_since_then(with(dearer[seed], 148, 148, WORK + MS / 2, 0, 0));
		db = with(neighbour[seed], 155, 155, WORK, LOST, MS * 5 / 4);
		is_verdict(db, "problem", "slower");
		db_close(db);
	}
	for (seed = 3; seed <= 6; seed++) {
		is_since_then(with(seed, 145, 145, WORK + MS, 0, 0));
		is_since_then(with(seed, 145, 145, WORK, LOST, MS));
		is_since_then(with(seed, 145, 145, WORK, LAG, 12));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(queues_by_chance_are_no_change),    T(the_load_may_end),
		T(a_change_of_the_load_is_one),	      T(a_wait_is_one),
		T(what_is_no_queue_by_chance_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
