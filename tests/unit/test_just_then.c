// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_just_then.c: the only request of its name when requests become
 * slower, fail or pause, a name that is asked from then on, and names that have nothing to do with
 * it.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <string.h>

#define MS	1000000L
#define SLOWER	6000 /* ms: since then */
#define PAUSED	2000 /* ms */
#define ONCE	5    /* the first of these names */
#define ALL	10
#define TIMES	12 /* most requests of one of them */
#define ANOTHER 4  /* connection */

enum fault { SLOW, FAIL, PAUSE };

/* A request at t ms, for some 90 us and so many ms. */
static void once(struct buf *b, int name, long t, long took)
{
	static long pos;
	struct err e = { 0 };
	int tid = 100 + ANOTHER, fd = 4 + ANOTHER;

	pos += 10;
	buf_printf(b, &e, "%ld 0 segment conn=%d pos=%ld len=10 unread=0\n", t * MS, ANOTHER, pos);
	buf_printf(b, &e, "%ld %d syscall nr=read fd=%d dur=1 ret=10\n", t * MS + 9000, tid, fd);
	buf_printf(b, &e, "%ld %d head conn=%d pos=%ld len=10 name=%d requests=1\n", t * MS + 9000,
		   tid, ANOTHER, pos, name);
	buf_printf(b, &e, "%ld %d syscall nr=write fd=%d dur=1 ret=20\n", (t + took) * MS + 90000,
		   tid, fd);
}

/* What is asked all the time. */
static void ask_often(struct buf *b, enum fault fault)
{
	struct err e = { 0 };
	long t, end;

	for (t = 20; t < SECONDS * 1000 - 200; t += 20) {
		end = t * MS + t * 137 % 50000 + (t < SLOWER || fault != SLOW ? MS : 9 * MS);
		if (fault == PAUSE && t == SLOWER)
			end += PAUSED * MS;
		ask(b, 1, 101, t * MS, t * MS + 20000, end);
		if (fault == FAIL && t >= SLOWER)
			buf_printf(b, &e,
				   "%ld 101 answer conn=1 pos=0 len=20 status=503 protocol=1\n",
				   end);
		if (fault == PAUSE && t == SLOWER)
			t += PAUSED;
	}
}

static int by_time(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* SIGHUP at a time, and each `every` ms from then on; from that thread. 0: none. */
static struct {
	long at, every;
	int from;
} hangup;

static void hang_up(struct buf *b)
{
	struct err e = { 0 };
	long t;

	for (t = hangup.at; t && t < SECONDS * 1000;
	     t += hangup.every ? hangup.every : SECONDS * 1000)
		buf_printf(b, &e,
			   "%ld %d signal_sent target=100 pid=100 number=1 code=0 sender=%d"
			   " comm=\"sh\"\n",
			   t * MS, hangup.from, hangup.from < 200 ? 100 : hangup.from);
}

/* Requests at these times in ms, of so many names in turn. */
static sqlite3 *with(enum fault fault, const long *at, int n, int names, long took)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long all[TIMES * ALL][2]; /* time, name */
	int i;

	for (i = 0; i < n; i++) {
		all[i][0] = at[i];
		all[i][1] = ONCE + i % names;
	}
	qsort(all, (size_t)n, sizeof(all[0]), by_time);
	begin_host(&b);
	buf_printf(&b, &e, "@recorder\n");
	for (i = 0; i < ALL; i++)
		buf_printf(&b, &e, "5 0 request_name id=%d protocol=1 name=\"GET /once%d\"\n",
			   ONCE + i, i);
	buf_printf(&b, &e, "@cpu 1\n");
	ask_often(&b, fault);
	buf_printf(&b, &e, "@cpu 2\n");
	for (i = 0; i < n; i++)
		once(&b, (int)all[i][1], all[i][0], took);
	buf_printf(&b, &e, "@cpu 3\n");
	hang_up(&b);
	return analysed(loaded_buf(&b), NULL);
}

static const char *const kinds[] = { "slower", "errors", "pauses" };

static void an_only_request_came_then(void **state)
{
	static const long at[] = { SLOWER - 5 };
	sqlite3 *db;
	int fault;

	(void)state;
	for (fault = SLOW; fault <= PAUSE; fault++) {
		db = with(fault, at, 1, 1, 0);
		is_text(db, "SELECT kind FROM verdict WHERE rank=1", kinds[fault]);
		is_text(db,
			"SELECT n.name FROM finding f JOIN finding_value v ON v.finding=f.id JOIN"
			" request r ON r.rowid=v.id JOIN request_name n ON n.id=r.name WHERE"
			" f.kind='verdict_just_then' AND v.name='request'",
			"GET /once0");
		db_close(db);
	}
}

/* The request that the pause is: its cause says so. */
static void one_that_lasts_for_the_pause_is_no_event_before_it(void **state)
{
	static const long at[] = { SLOWER - 5 };
	sqlite3 *db = with(PAUSE, at, 1, 1, PAUSED);

	(void)state;
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", "pauses");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_just_then'", 0);
	db_close(db);
}

/* Before without harm; now and then; one of many. */
static void others_came_by_chance(void **state)
{
	static const long early[] = { 3000 }, twice[] = { 3000, SLOWER - 5 },
			  many[] = { 1000,	 2000, 3000, 4000, 5000,
				     SLOWER - 5, 6500, 7000, 7500, 8000 };
	const struct {
		const long *at;
		int n, names;
	} of[] = { { early, 1, 1 }, { twice, 2, 1 }, { many, ALL, ALL } };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		db = with(i % 3, of[i].at, of[i].n, of[i].names, 0);
		is_text(db, "SELECT kind FROM verdict WHERE rank=1", kinds[i % 3]);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_just_then'", 0);
		db_close(db);
	}
}

#define NEW                                                                                             \
	"SELECT coalesce(max(v.number), 0) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE" \
	" f.kind='verdict_new_name' AND v.name='n'"

static void a_name_is_asked_from_then_on(void **state)
{
	long at[TIMES * ALL];
	sqlite3 *db;
	int i, k;

	(void)state;
	for (i = 0; i < TIMES; i++)
		at[i] = SLOWER - 5 + 300 * i;
	for (i = SLOW; i <= FAIL; i++) {
		db = with(i, at, TIMES, 1, 0);
		is_text(db, "SELECT kind FROM verdict WHERE rank=1", kinds[i]);
		is_number(db, NEW, TIMES);
		db_close(db);
	}
	/* once before, too; or a few times, as one that is rare */
	at[0] = 3000;
	db = with(SLOW, at, TIMES, 1, 0);
	is_number(db, NEW, 0);
	db_close(db);
	at[0] = SLOWER - 5;
	at[1] = SLOWER + 3000;
	db = with(SLOW, at, 2, 1, 0);
	is_number(db, NEW, 0);
	db_close(db);
	/* other names are new at other times */
	for (i = 0; i < TIMES; i++)
		for (k = 0; k < ALL; k++)
			at[ALL * i + k] = (k ? 4000 + 370 * k : SLOWER - 5) + 150 * i;
	db = with(SLOW, at, TIMES * ALL, ALL, 0);
	is_number(db, NEW, 0);
	db_close(db);
}

#define SIGNALS "SELECT count(*) FROM finding WHERE kind='verdict_signal_then'"

static void a_signal_came_then(void **state)
{
	static const long none[] = { 0 };
	sqlite3 *db;
	int fault;

	(void)state;
	for (fault = SLOW; fault <= PAUSE; fault++) {
		hangup.at = SLOWER - 5;
		hangup.from = 900;
		db = with(fault, none, 0, 1, 0);
		is_text(db, "SELECT kind FROM verdict WHERE rank=1", kinds[fault]);
		is_number(db, SIGNALS, fault != PAUSE); /* of a pause, pause_signal.c says it */
		db_close(db);
	}
	/* long before; of its own; of many */
	hangup.at = 3000;
	db = with(SLOW, none, 0, 1, 0);
	is_number(db, SIGNALS, 0);
	db_close(db);
	hangup.at = SLOWER - 5;
	hangup.from = 101;
	db = with(SLOW, none, 0, 1, 0);
	is_number(db, SIGNALS, 0);
	db_close(db);
	hangup.at = 995;
	hangup.every = 1000;
	hangup.from = 900;
	db = with(SLOW, none, 0, 1, 0);
	is_number(db, SIGNALS, 0);
	db_close(db);
	memset(&hangup, 0, sizeof(hangup));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_only_request_came_then), T(one_that_lasts_for_the_pause_is_no_event_before_it),
		T(others_came_by_chance),     T(a_name_is_asked_from_then_on),
		T(a_signal_came_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
