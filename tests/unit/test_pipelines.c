// SPDX-License-Identifier: GPL-2.0-or-later
/* Receives of several requests: how much of them is read, and their names. */
#include "record/requests/parse.h"
#include "tests/lib/received.h"

#include <pthread.h>

/* More runs of names than there is room for: their numbers stay. */
static void mixed_pipelines_are_counted_by_name(void **state)
{
	char bytes[4000] = "";
	struct seen s;
	u32 n = 0;

	(void)state;
	while (n + 7 <= 252)
		n += snprintf(bytes + n, sizeof(bytes) - n, "%s",
			      n & 1 ? "TTL a\r\n" : "GET a\r\n");
	start(&s);
	give(&s, RAW_HEAD, bytes, n, n);
	assert_int_equal(count_of(&s, "GET"), 18);
	assert_int_equal(count_of(&s, "TTL"), 18);
	while (n + 7 <= 3500)
		n += snprintf(bytes + n, sizeof(bytes) - n, "%s",
			      n & 1 ? "TTL a\r\n" : "GET a\r\n");
	give(&s, RAW_HEAD, bytes, n, n);
	assert_int_equal(count_of(&s, "GET"), 18 + 250);
	assert_int_equal(count_of(&s, "TTL"), 18 + 250);
	heads_free(s.heads);
}

/* Long receives are read whole while they hold several requests, and not while one fills them. */
static void receives_are_read_as_needed(void **state)
{
	static const char upload[] = "POST /up HTTP/1.1\r\nContent-Length: 100000\r\n\r\nbody";
	static const char some[] = "GET a\r\nGET b\r\n";
	static volatile u32 hints[HINTS];
	struct heads_config config = { .hints = hints };
	struct seen s = { .conn = 1 };

	(void)state;
	assert_int_equal(heads_new(&s.heads, &config, NULL), 0);
	give(&s, RAW_HEAD, upload, 60000, sizeof(upload) - 1);
	assert_int_equal(hint_value(hints[1], 1), HINT_NEW);
	s.conn = 2; /* the body goes on for more than is read at once */
	s.pos = 0;
	give(&s, RAW_HEAD, upload, 20000, sizeof(upload) - 1);
	assert_int_equal(hint_value(hints[2], 2), HINT_ENDS);
	s.conn = 3;
	s.pos = 0;
	give(&s, RAW_HEAD, "GET a\r\n", 7, 7);
	assert_int_equal(hint_value(hints[3], 3), HINT_NEW);
	give(&s, RAW_HEAD, some, sizeof(some) - 1, sizeof(some) - 1);
	assert_int_equal(hint_value(hints[3], 3), HINT_DEEP);
	s.conn = 4; /* a request begins where nothing was read */
	s.pos = 0;
	give(&s, RAW_HEAD, "GET a\r\n", 20000, 7);
	assert_int_equal(hint_value(hints[4], 4), HINT_DEEP);
	assert_int_equal(s.flags & HEAD_AT_LEAST, HEAD_AT_LEAST);
	heads_free(s.heads);
}

/* A connection that is given up stays so, although the rest of its last receive was not read. */
static void other_bytes_are_read_no_more(void **state)
{
	static volatile u32 hints[HINTS];
	struct heads_config config = { .hints = hints };
	struct seen s = { .conn = 1 };
	int i;

	(void)state;
	assert_int_equal(heads_new(&s.heads, &config, NULL), 0);
	give(&s, RAW_HEAD, "get a\r\n", 7, 7);
	for (i = 0; i < 4; i++)
		give(&s, RAW_HEAD, "zzz a\r\n", 20000, 7);
	assert_int_equal(hint_value(hints[1], 1), HINT_NONE);
	heads_free(s.heads);
}

#define CONTESTS 10

static struct {
	volatile u32 hints[HINTS], counts[HINTS], at;
	u32 round;
	bool hinted[HINTS];
} contest;

static void *receive_long_ones(void *unused)
{
	u32 slot;
	int i;

	for (slot = 0; slot < HINTS; slot++) {
		contest.at = slot;
		for (i = 0; i <= LONG_TRIES; i++)
			hint_deep(&contest.hints[slot], &contest.counts[slot],
				  contest.round * HINTS + slot);
	}
	contest.at = HINTS;
	return unused;
}

/* The programs count long receives while obsrec hints: the hint stays in any order. */
static void a_hint_is_not_undone_by_the_count(void **state)
{
	u32 slot, last, wanted, undone = 0;
	pthread_t thread;

	(void)state;
	for (contest.round = 0; contest.round < CONTESTS; contest.round++) {
		memset(contest.hinted, 0, sizeof(contest.hinted));
		contest.at = 0;
		assert_int_equal(pthread_create(&thread, NULL, receive_long_ones, NULL), 0);
		for (last = HINTS; (slot = contest.at) < HINTS; last = slot) {
			if (slot == last)
				continue;
			wanted = hint_word(contest.round * HINTS + slot, HINT_DEEP);
			contest.hints[slot] = wanted;
			contest.hinted[slot] = true;
		}
		pthread_join(thread, NULL);
		for (slot = 0; slot < HINTS; slot++) {
			wanted = hint_word(contest.round * HINTS + slot, HINT_DEEP);
			undone += contest.hinted[slot] && contest.hints[slot] != wanted;
		}
	}
	assert_int_equal(undone, 0);
}

/* Connections have the same word if their numbers differ by 65,536. */
static void words_of_other_connections_count_as_none(void **state)
{
	u32 hint = hint_word(5, HINT_ENDS), count = hint_word(5, LONG_TRIES);
	int i;

	(void)state;
	assert_false(hint_deep(&hint, &count, 5));
	for (i = 0; i < LONG_TRIES; i++)
		assert_true(hint_deep(&hint, &count, 5 + HINTS));
	assert_false(hint_deep(&hint, &count, 5 + HINTS));
	hint = hint_word(5 + HINTS, HINT_DEEP);
	assert_true(hint_deep(&hint, &count, 5 + HINTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_hint_is_not_undone_by_the_count),	T(words_of_other_connections_count_as_none),
		T(mixed_pipelines_are_counted_by_name), T(receives_are_read_as_needed),
		T(other_bytes_are_read_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
