// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_signal.c: a signal makes a server read its files again, and it
 * answers nothing until then; and what only looks so.
 */
#include "tests/lib/pausing.h"

struct hangup {
	long at;     /* after the pause began; 0: no signal */
	int target;  /* process */
	bool opens;  /* files */
	bool serves; /* a request after that, and before the longest pause */
};

static sqlite3 *with(struct hangup h)
{
	struct text x = { 0 };
	long t;

	head(&x);
	many(&x, 100, 600, MS);
	t = x.t;
	if (h.at < 0)
		text_line(&x, "%ld 300 signal_sent target=%d pid=%d number=1 sender=300", t + h.at,
			  h.target, h.target);
	wakes(&x);
	if (h.opens) {
		text_line(&x,
			  "%ld 100 file_open nr=openat ret=11 dur=1000 dir=-100 path=\"/etc/a\"",
			  t + MS);
		text_line(&x,
			  "%ld 100 file_open nr=openat ret=11 dur=1000 dir=-100 path=\"/etc/b\"",
			  t + 9 * MS);
	}
	if (h.at > 0)
		text_line(&x, "%ld 300 signal_sent target=%d pid=%d number=1 sender=300", t + h.at,
			  h.target, h.target);
	if (h.serves) {
		text_line(&x, "%ld 100 syscall nr=write fd=7 ret=900 count=900 dur=200",
			  t + 20 * MS);
		text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 21 * MS);
	}
	x.t = t + 400 * MS;
	return judged(&x);
}

#define SIGNALS "SELECT count(*) FROM finding WHERE kind='pause_signal'"

static void files_are_read_again(void **state)
{
	sqlite3 *db = with((struct hangup){ .at = -MS, .target = 100, .opens = true });

	(void)state;
	is_number(db, FINDING_VALUE("pause_signal", "process", "v.id"), 100);
	is_text(db, FINDING_VALUE("pause_signal", "path", "v.text"), "/etc/b");
	is_number(db, FINDING_VALUE("pause_signal", "others", "v.number"), 1);
	is_like(db, FINDING_VALUE("pause_signal", "sender", "v.text"), "%[300]");
	db_close(db);
}

/* No file; of another process; after the files; something is answered after them; no signal. */
static void what_only_looks_so(void **state)
{
	static const struct hangup all[] = {
		{ .at = -MS, .target = 100 },
		{ .at = -MS, .target = 200, .opens = true },
		{ .at = 15 * MS, .target = 100, .opens = true },
		{ .at = -MS, .target = 100, .opens = true, .serves = true },
		{ .opens = true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = with(all[i]);

		is_number(db, SIGNALS, 0);
		db_close(db);
	}
}

/* Stopped for 300 ms. Signals: of a debugger, of kill(2); earlier, of a stop that had ended. */
static sqlite3 *stopped(const char *signal, bool earlier)
{
	struct text x = { 0 };

	head(&x);
	many(&x, 100, 600, MS);
	wakes(&x);
	if (signal)
		text_line(&x, "%ld 300 signal_sent target=100 pid=100 sender=300 %s", x.t, signal);
	if (earlier) {
		text_line(&x, "%ld 100 switch next=0 state=4", x.t += 1000);
		text_line(&x, "%ld 0 waking target=100\n%ld 0 switch next=100", x.t + 2000,
			  x.t + 3000);
		x.t += 4000;
	}
	text_line(&x, "%ld 100 switch next=0 state=4", x.t += 1000);
	text_line(&x, "%ld 0 waking target=100\n%ld 0 switch next=100", x.t + 300 * MS,
		  x.t + 300 * MS + 1000);
	x.t += 301 * MS;
	return judged(&x);
}

#define STOPS "SELECT count(*) FROM finding WHERE kind='pause_stopped'"

static void what_stopped_it(void **state)
{
	sqlite3 *db = stopped("number=19 code=128", false);

	(void)state;
	is_number(db, FINDING_VALUE("pause_stopped", "process", "v.id"), 100);
	is_text(db, FINDING_VALUE("pause_stopped", "tracer", "v.text"), "debugger");
	is_number(db, FINDING_VALUE("pause_stopped", "signal", "count(v.text)"), 0);
	db_close(db);
	db = stopped("number=19 code=0", false);
	is_text(db, FINDING_VALUE("pause_stopped", "signal", "v.text"), "SIGSTOP");
	is_number(db, FINDING_VALUE("pause_stopped", "tracer", "count(v.text)"), 0);
	db_close(db);
	/* the freezer sends none; another signal; that of a stop before */
	db = stopped(NULL, false);
	is_number(db, STOPS, 0);
	is_above(db, "SELECT max(stopped) FROM pause", 299e6);
	db_close(db);
	db = stopped("number=15 code=0", false);
	is_number(db, STOPS, 0);
	db_close(db);
	db = stopped("number=19 code=0", true);
	is_number(db, STOPS, 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_are_read_again),
		T(what_only_looks_so),
		T(what_stopped_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
