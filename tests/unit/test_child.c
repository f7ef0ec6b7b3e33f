// SPDX-License-Identifier: GPL-2.0-or-later
/* record/process/child.c: a command that does not start is not waited for without a limit. */
#include "record/process/child.h"
#include "tests/lib/unit.h"

#include <sys/socket.h>

#define LIMIT_S 60 /* of the test; the wait has 5 s */

/* As of execvp(3) in a file system that does not respond: nothing is said, nothing is closed. */
static void a_start_without_an_end_is_not_waited_for(void **state)
{
	struct child c = { 0 };
	struct err e = { 0 };
	char go = 0;
	int gate[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, gate), 0);
	c.gate = gate[0];
	alarm(LIMIT_S);
	assert_int_equal(child_go(&c, "command", &e), 0);
	alarm(0);
	assert_int_equal(read(gate[1], &go, 1), 1);
	/* a failure that comes later has a reader, and the command its exit status */
	assert_int_equal(c.gate, gate[0]);
	close(gate[0]);
	close(gate[1]);
}

static void a_failure_to_start_is_said(void **state)
{
	static const int why = 2; /* ENOENT */
	struct child c = { 0 };
	struct err e = { 0 };
	int gate[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, gate), 0);
	c.gate = gate[0];
	assert_int_equal(write(gate[1], &why, sizeof(why)), sizeof(why));
	assert_true(child_go(&c, "command", &e) < 0);
	assert_non_null(strstr(e.text, "cannot execute command"));
	assert_int_equal(c.gate, -1);
	close(gate[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_start_without_an_end_is_not_waited_for),
		T(a_failure_to_start_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
