// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verdict_names.c, verdict_waited_for.c: for which name the others waited, where threads hand
 * requests on, and where other connections have them too.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS 1000000L

struct scene {
	int keys[2], gets[2]; /* threads that read them, and that answer */
	int waiting;	      /* exchanges without a name that thread 101 reads after KEYS */
	int between, reader;  /* connection with an exchange during KEYS; 0: none; its thread */
};

/* Each 40 ms: KEYS, of 8 ms from 6 s on, and three GETs that are read after these 8 ms. */
static sqlite3 *served(const struct scene *s)
{
	struct buf b = { 0 };
	long t, read;
	int i;

	begin_host(&b);
	begin_more(&b);
	for (t = 20 * MS; t < (SECONDS * 1000 - 200) * MS; t += 40 * MS) {
		bool slow = t > 6000 * MS;

		ask_and(&b, 4, s->keys[0], s->keys[1], t - 1000, t, t + (slow ? 8 * MS : MS / 10));
		if (s->between && slow)
			ask_more(&b, s->between, s->reader, s->reader, t + 5, t + 1000,
				 t + 8 * MS - 1000);
		for (i = 1, read = t + (slow ? 9 : 1) * MS; i <= 3; i++, read += MS / 10)
			ask_and(&b, i, s->gets[0], s->gets[1], t + 10, read, read + MS / 20);
		for (i = 0, read = t + (slow ? 8 * MS : 0) + 1000; i < s->waiting;
		     i++, read += MS / 10)
			ask_more(&b, MORE_FIRST + i, 101, 101, t + 10, read, read + MS / 20);
	}
	return analysed(loaded_buf(&b), NULL);
}

static void blames_keys(const struct scene *s, bool is)
{
	sqlite3 *db = served(s);

	is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
		"verdict_slower");
	is_number(db, FINDING_VALUE("verdict_blocker", "name", "total(v.id)"), is ? 4 : 0);
	db_close(db);
}

/* 100 reads all of them. What 101 answers keeps 100 from none; what 100 answers itself does. */
static void requests_wait_for_the_thread_that_reads(void **state)
{
	(void)state;
	blames_keys(&(struct scene){ .keys = { 100, 101 }, .gets = { 100, 101 } }, false);
	blames_keys(&(struct scene){ .keys = { 100, 101 }, .gets = { 100, 100 } }, false);
	blames_keys(&(struct scene){ .keys = { 100, 100 }, .gets = { 100, 101 } }, true);
	blames_keys(&(struct scene){ .keys = { 100, 100 }, .gets = { 100, 100 } }, true);
}

/* GETs wait for 100, exchanges without a name for KEYS on 101: they are no part of either sum. */
static void waits_of_others_that_are_not_judged_do_not_count(void **state)
{
	struct scene s = { .keys = { 101, 101 }, .gets = { 100, 100 }, .waiting = 3 };

	(void)state;
	blames_keys(&s, false);
	s.gets[0] = s.gets[1] = 101;
	blames_keys(&s, true);
}

/* The thread reads another request during KEYS, which waits for an upstream: on whatever port. */
static void the_next_request_ends_it_on_whatever_port(void **state)
{
	struct scene s = { .keys = { 100, 100 }, .gets = { 100, 100 } };

	(void)state;
	s.reader = 100;
	s.between = OTHER_PORT;
	blames_keys(&s, false);
	s.between = MORE_FIRST; /* of the server, without a name */
	blames_keys(&s, false);
	s.reader = 101; /* it is another thread that does */
	blames_keys(&s, true);
	s.between = OTHER_PORT;
	blames_keys(&s, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_wait_for_the_thread_that_reads),
		T(waits_of_others_that_are_not_judged_do_not_count),
		T(the_next_request_ends_it_on_whatever_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
