// SPDX-License-Identifier: GPL-2.0-or-later
/* record/requests/redis_memcached.c: commands without an answer are no requests. */
#include "tests/lib/received.h"

#define SETQ "\x80\x11\0\x01\x08\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0av"
#define GETQ "\x80\x09\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0a"

static void is_quiet(const char *bytes, size_t n, bool quiet, u32 count)
{
	struct seen s;

	start(&s);
	give(&s, RAW_HEAD, bytes, n, n);
	assert_int_equal(s.flags & HEAD_QUIET, quiet ? HEAD_QUIET : 0);
	assert_int_equal(s.all, count);
	heads_free(s.heads);
}

#define IS_QUIET(bytes, quiet, count) is_quiet(bytes, sizeof(bytes) - 1, quiet, count)

static void commands_without_an_answer_are_no_requests(void **state)
{
	struct seen s;

	(void)state;
	IS_QUIET("set a 0 0 1 noreply\r\nx\r\n", true, 0);
	IS_QUIET("delete a noreply\r\nincr a 1 noreply\r\n", true, 0);
	IS_QUIET("ms a 1 q\r\nx\r\n", true, 0);
	IS_QUIET(SETQ, true, 0);
	/* with others, and a hit is answered */
	IS_QUIET("set a 0 0 1 noreply\r\nx\r\nget a\r\n", false, 1);
	IS_QUIET("get a\r\nset a 0 0 1 noreply\r\nx\r\n", false, 1);
	IS_QUIET("set a 0 0 7\r\nnoreply\r\n", false, 1);
	IS_QUIET("get noreplies\r\n", false, 1);
	IS_QUIET("mg a q\r\n", false, 1);
	IS_QUIET(GETQ, false, 1);
	/* the data comes later; then a command of which the end is missing */
	start(&s);
	give(&s, RAW_HEAD, "set a 0 0 100 noreply\r\nx", 24, 24);
	assert_int_equal(s.flags, HEAD_QUIET);
	s.flags = 0;
	give(&s, RAW_HEAD, "01234567890", 101, 11);
	assert_int_equal(s.flags, HEAD_QUIET);
	s.flags = 0;
	give(&s, RAW_HEAD, "get a", 5, 5);
	assert_int_equal(s.flags, 0);
	heads_free(s.heads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(commands_without_an_answer_are_no_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
