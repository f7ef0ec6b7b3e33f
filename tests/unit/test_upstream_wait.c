// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_request_time.c: which time of a request in poll is a wait for an
 * upstream. */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"
#include "tests/lib/server_start.h"

#define WAITED(name) \
	"SELECT total(dur) FROM request_wait WHERE request=1 AND state=state_id('" name "')"

/* Runs again at the given time, after a sleep in epoll from an earlier one on. */
#define POLL(from, to, ran, dur)                                                          \
	from " 100 switch next=0 state=1\n" to " 0 waking target=100 context=1\n" to      \
	     " 0 switch next=100\n" ran " 100 syscall_args nr=epoll_wait arg0=4 dur=" dur \
	     " ret=1\n"

static void waits(const char *before, const char *after, s64 client, s64 poll)
{
	char text[2000];
	sqlite3 *db;

	snprintf(text, sizeof(text),
		 START "@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n%s"
		       "2000 100 syscall nr=read fd=5 dur=100 ret=10\n%s",
		 before, after);
	db = loaded(text);
	is_number(db, WAITED("client"), client);
	is_number(db, WAITED("poll"), poll);
	db_close(db);
}

#define CONNECT(ts, ret) ts " 100 syscall nr=connect fd=6 dur=20 ret=" ret "\n"
#define ASK		 "6200 100 syscall nr=write fd=6 dur=20 ret=20\n"
#define ANSWER(ts)	 ts " 100 syscall nr=read fd=6 dur=20 ret=30\n"
#define END		 "9000 100 syscall nr=write fd=5 dur=100 ret=10\n"

/* A connect in progress is a wait for the peer: not one that is done, or of an earlier request. */
static void connects_in_progress_are_the_peers_time(void **state)
{
	(void)state;
	waits("",
	      CONNECT("2500", "-115") POLL("3000", "6000", "6100", "3200") ASK ANSWER("6250") END,
	      3000, 0);
	waits("", CONNECT("2500", "0") POLL("3000", "6000", "6100", "3200") ASK ANSWER("6250") END,
	      50, 2950);
	waits(CONNECT("1700", "-115"), POLL("3000", "6000", "6100", "3200") ASK ANSWER("6250") END,
	      50, 2950);
}

#define PARTS ASK ANSWER("6250") POLL("6400", "7900", "8000", "1650")

/* The rest of an answer is waited for, too: not what another socket receives, or no upstream does.
 */
static void the_rest_of_an_answer_is_the_peers_time(void **state)
{
	(void)state;
	waits("", PARTS ANSWER("8100") END, 1500, 0);
	waits("", PARTS END, 50, 1450);
	waits("1600 100 syscall nr=write fd=6 dur=20 ret=20\n" ANSWER("1700"),
	      POLL("6400", "7900", "8000", "1650") ANSWER("8100") END, 0, 1500);
}

#define PASSED_ON PARTS ANSWER("8100") "8200 100 syscall nr=write fd=5 dur=100 ret=10\n"

/* An answer in parts that are passed on counts each time once. */
static void parts_that_are_passed_on_count_once(void **state)
{
	(void)state;
	waits("", PASSED_ON POLL("8300", "8900", "8910", "640") ANSWER("8920") END, 2100, 0);
	waits("", PASSED_ON ANSWER("8250") POLL("8300", "8900", "8910", "640") END, 2050, 50);
	waits("", PASSED_ON POLL("8300", "8900", "8910", "640") END, 1900, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(connects_in_progress_are_the_peers_time),
		T(the_rest_of_an_answer_is_the_peers_time),
		T(parts_that_are_passed_on_count_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
