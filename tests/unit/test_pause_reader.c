// SPDX-License-Identifier: GPL-2.0-or-later
/* pause_thread.c: the request of a pause, where any thread goes on with what any other has read. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include "analyze/analyses/pauses/pauses.h"

#define MS 1000000L

struct scene {
	int keys;    /* thread that answers KEYS, last of all */
	long others; /* ns until 100 reads the others, which 101 answers */
	int readers; /* threads that read more of these, one each; from the first one on, KEYS last
		      */
};

/* At 5 s 101 reads KEYS and computes for 400 ms. */
static sqlite3 *paused(const struct scene *s)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t, at;
	int i;

	begin_host(&b);
	begin_more(&b);
	buf_printf(&b, &e, "@recorder\n");
	for (i = 0; i < MORE; i++)
		buf_printf(&b, &e, "5 %d thread pid=100 state=83 comm=\"server\"\n", 200 + i);
	buf_printf(&b, &e, "@cpu 0\n");
	for (t = 20 * MS; t < 9000 * MS; t += 20 * MS) {
		ask(&b, 1, 100, t, t + 20000, t + MS);
		if (t != 5000 * MS)
			continue;
		buf_printf(&b, &e, "@cpu 1\n%ld 0 switch next=101\n", t);
		at = t + 2 * MS;
		ask_and(&b, 4, 101, s->keys, at, at + 9000, t + 402 * MS);
		for (i = 1; i <= 3; i++)
			ask_and(&b, i, 100, 101, at + i * s->others, at + i * s->others + 9000,
				t + 400 * MS + i * 1000);
		for (i = 0; i < s->readers; i++) {
			ask_more(&b, MORE_FIRST + i, 200 + i, 101, at + 10000 + i * 1000,
				 at + 20000 + i * 1000, t + 401 * MS + i * 1000);
			/* a request is in its table when the next one comes */
			ask_more(&b, MORE_FIRST + i, 101, 101, t + 404 * MS + i * 1000,
				 t + 405 * MS + i * 1000, t + 406 * MS + i * 1000);
		}
		buf_printf(&b, &e, "%ld 101 switch next=0 state=1\n@cpu 0\n", t + 410 * MS);
		t += 400 * MS;
	}
	return analysed(loaded_buf(&b), NULL);
}

static void spans(const struct scene *s, const char *name)
{
	sqlite3 *db = paused(s);

	is_number(db, "SELECT tid FROM pause WHERE id=1", 101);
	if (name)
		is_text(db, FINDING_VALUE("pause_cause", "request", "v.text") " LIMIT 1", name);
	else
		is_null(db, "SELECT request FROM pause WHERE id=1");
	db_close(db);
}

/* Which one the busy thread went on with is not recorded if it handed its own one on. */
static void it_is_what_the_busy_thread_read_and_answers(void **state)
{
	(void)state;
	spans(&(struct scene){ .keys = 101, .others = 30 * MS }, "KEYS");
	spans(&(struct scene){ .keys = 102, .others = 30 * MS }, NULL);
	spans(&(struct scene){ .keys = 102, .others = MS }, NULL);
}

/* However many threads read others, which come first in the table. */
static void it_is_found_among_those_of_many_readers(void **state)
{
	(void)state;
	spans(&(struct scene){ .keys = 101, .others = 30 * MS, .readers = 8 }, "KEYS");
	spans(&(struct scene){ .keys = 102, .others = 30 * MS, .readers = 8 }, NULL);
}

/* It reads none: the last one that it got from others. */
static void a_thread_that_reads_none_has_the_last_of_others(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;
	int i;

	(void)state;
	begin_host(&b);
	for (t = 20 * MS; t < 9000 * MS; t += 20 * MS) {
		ask(&b, 1, 100, t, t + 20000, t + MS);
		if (t != 5000 * MS)
			continue;
		buf_printf(&b, &e, "@cpu 1\n%ld 0 switch next=101\n", t);
		for (i = 1; i <= 3; i++)
			ask_and(&b, i, 100, 101, t + i * 30 * MS, t + i * 30 * MS + 9000,
				t + 400 * MS + i * 1000);
		buf_printf(&b, &e, "%ld 101 switch next=0 state=1\n@cpu 0\n", t + 410 * MS);
		t += 400 * MS;
	}
	db = analysed(loaded_buf(&b), NULL);
	is_text(db, FINDING_VALUE("pause_cause", "request", "v.text") " LIMIT 1", "GET /c");
	db_close(db);
}

/* Two pauses of a thread overlap: what it did after the end of the shorter is of the longer one. */
static void a_pause_is_longer_than_one_that_starts_in_it(void **state)
{
	struct pause v[2] = { { .tid = 100, .start = 20 * MS, .end = 90 * MS },
			      { .tid = 100, .start = 30 * MS, .end = 40 * MS } };
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;

	(void)state;
	begin_host(&b);
	buf_printf(&b, &e, "%ld 100 switch next=0 state=1\n%ld 0 waking target=100\n", 50 * MS,
		   60 * MS);
	buf_printf(&b, &e, "%ld 0 switch next=100\n%ld 100 switch next=0 state=1\n", 65 * MS,
		   95 * MS);
	db = loaded_buf(&b);
	assert_int_equal(pauses_threads(v, 2, db, &e), 0);
	assert_int_equal(v[0].spent[STATE_woken], 5 * MS);
	assert_int_equal(v[0].spent[STATE_run], 55 * MS);
	assert_int_equal(v[1].spent[STATE_run], 10 * MS);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(it_is_what_the_busy_thread_read_and_answers),
		T(it_is_found_among_those_of_many_readers),
		T(a_thread_that_reads_none_has_the_last_of_others),
		T(a_pause_is_longer_than_one_that_starts_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
