// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_requests.c: what ends a session is no request without an answer. */
#include "tests/lib/backends.h"

/* A connection reads so many bytes at the end, after `before` requests with a name. */
static void is_unanswered(int before, int bytes, int requests_without)
{
	struct text x = { 0 };
	sqlite3 *db;

	start(&x, NULL);
	requests(&x, before);
	text_line(&x, "@cpu 0\n%ld 0 segment conn=1 pos=%ld len=%d unread=0", x.t,
		  position[1] + bytes, bytes);
	text_line(&x, "%ld 0 waking target=300 context=1\n%ld 0 switch next=300", x.t + 1000,
		  x.t + 2000);
	text_line(&x, "%ld 300 syscall nr=recvfrom fd=5 dur=1 ret=%d", x.t + 3000, bytes);
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x.t + MS, x.t + MS);
	db = loaded_buf(&x.b);
	is_number(db, "SELECT count(*) FROM unanswered", requests_without);
	db_close(db);
	position[1] = position[2] = position[3] = 0;
}

static void a_session_that_ends_waits_for_nothing(void **state)
{
	(void)state;
	is_unanswered(4, 5, 0);
	/* a message of another length; a connection whose protocol is not known */
	is_unanswered(4, 12, 1);
	is_unanswered(0, 5, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_session_that_ends_waits_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
