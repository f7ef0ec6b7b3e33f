// SPDX-License-Identifier: GPL-2.0-or-later
/* record/host/held.c, waiting.c, unix_peers.c: what waits, and who asks, since before the
 * recording. */
#include "tests/lib/unit.h"

#include "record/host/held.h"
#include "record/host/unix_peers.h"
#include "record/host/waiting.h"

#include <linux/tcp.h>
#include <sys/socket.h>

static void locks_that_are_waited_for_are_parsed(void **state)
{
	static const struct {
		const char *text;
		bool lock;
		u64 at;
		u32 holder;
	} cases[] = {
		{ "202 0x1000 0x80 0x2 0x0 0x0 0x0 0x7ffc 0x7f00", true, 0x1008, 0 },
		{ "202 0x1000 0x189 0x2 0x0 0x0 0xffffffff 0x7ffc 0x7f00", true, 0x1008, 0 },
		{ "202 0x1000 0x80 0x8000002a 0x0 0x0 0x0 0x7ffc 0x7f00", true, 0, 42 },
		{ "202 0x1000 0x86 0x0 0x0 0x0 0x0 0x7ffc 0x7f00", true, 0x1000, 0 },
		{ "202 0x1000 0x80 0x1 0x0 0x0 0x0 0x7ffc 0x7f00", false, 0, 0 }, /* a condition */
		{ "202 0x1000 0x81 0x2 0x0 0x0 0x0 0x7ffc 0x7f00", false, 0, 0 }, /* it wakes */
		{ "230 0x1000 0x80 0x2 0x0 0x0 0x0 0x7ffc 0x7f00", false, 0, 0 },
		{ "running\n", false, 0, 0 },
		{ "-1 0x7ffc 0x7f00", false, 0, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ev_futex_wait ev = { 0 };
		u64 at = 1;

		assert_int_equal(held_parse(&ev, &at, cases[i].text, 202), cases[i].lock);
		assert_int_equal(at, cases[i].at);
		assert_int_equal(ev.holder, cases[i].holder);
	}
	assert_int_equal(held_own("Name:\tx\nNSpid:\t400\t7\nNSsid:\t1\n"), 7);
	assert_int_equal(held_own("Name:\tx\nNSpid:\t400\nNSsid:\t1\n"), 400);
	assert_int_equal(held_own("Name:\tx\n"), 0);
}

/* Only data that arrived later than the last send, by more than the kernel's clock resolves, or
 * without a send. */
static void requests_from_before_are_found(void **state)
{
	static const struct {
		u32 recv, sent;
		u64 received, acked, asked;
	} cases[] = {
		{ 4000, 9000, 30, 900, 4000000001 }, { 4000, 4000, 30, 900, 0 },
		{ 4001, 4000, 30, 900, 0 },	     { 4000, 9000, 0, 1, 0 },
		{ 4000, 4001, 30, 1, 4000000001 },   { 4000, 4000, 30, 1, 4000000001 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tcp_info t = { .tcpi_last_data_recv = cases[i].recv,
				      .tcpi_last_data_sent = cases[i].sent,
				      .tcpi_bytes_received = cases[i].received,
				      .tcpi_bytes_acked = cases[i].acked,
				      .tcpi_data_segs_out = cases[i].acked > 1 };
		struct socket_info s = { 0 };

		waiting_take(&s, &t, sizeof(t));
		assert_int_equal(s.asked, cases[i].asked);
		assert_int_equal(s.answered, cases[i].asked && cases[i].acked > 1);
		s = (struct socket_info){ 0 };
		waiting_take(&s, &t, 104); /* an old kernel counts no bytes */
		assert_int_equal(s.asked, 0);
	}
}

/* A pair without an accepted end, as of socketpair, has none that asks. */
static void the_other_end_of_what_was_accepted_connected(void **state)
{
	struct socket_info list[] = {
		{ .ino = 10, .family = AF_UNIX, .role = ROLE_ACCEPTED },
		{ .ino = 11, .family = AF_UNIX, .role = ROLE_UNKNOWN },
		{ .ino = 12, .family = AF_UNIX, .role = ROLE_UNKNOWN },
		{ .ino = 13, .family = AF_UNIX, .role = ROLE_UNKNOWN },
		{ .ino = 14, .family = AF_INET, .role = ROLE_UNKNOWN },
		{ .ino = 15, .family = AF_UNIX, .role = ROLE_LISTENING },
		{ .ino = 16, .family = AF_UNIX, .role = ROLE_UNKNOWN },
		/* of datagrams: one has a path, and another sends there */
		{ .ino = 17, .family = AF_UNIX, .socktype = SOCK_DGRAM, .path = 5 },
		{ .ino = 18, .family = AF_UNIX, .socktype = SOCK_DGRAM },
		{ .ino = 19, .family = AF_UNIX, .socktype = SOCK_DGRAM },
	};
	static const u32 pairs[][2] = { { 11, 10 }, { 10, 11 }, { 12, 13 }, { 13, 12 },
					{ 14, 10 }, { 16, 15 }, { 16, 0 },  { 16, 99 },
					{ 99, 10 }, { 18, 17 }, { 19, 16 } };
	static const u8 roles[] = { ROLE_ACCEPTED,  ROLE_CONNECTED, ROLE_UNKNOWN, ROLE_UNKNOWN,
				    ROLE_UNKNOWN,   ROLE_LISTENING, ROLE_UNKNOWN, ROLE_UNKNOWN,
				    ROLE_CONNECTED, ROLE_UNKNOWN };
	struct netns_sockets now = { .list = list, .n = sizeof(list) / sizeof(list[0]) };
	struct sockets s = { .all = &now, .now = &now, .n = 1 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		unix_peers_take(&s, pairs[i][0], pairs[i][1]);
	for (i = 0; i < now.n; i++)
		assert_int_equal(list[i].role, roles[i]);
	assert_int_equal(list[8].path, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(locks_that_are_waited_for_are_parsed),
		T(requests_from_before_are_found),
		T(the_other_end_of_what_was_accepted_connected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
