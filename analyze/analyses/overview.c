// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where did the threads' time go, and what can this recording not show? A thread's
 * states partition its life, so the shares of a row add up to 100 %.
 */
#include "analysis.h"

#include "analyze/base/number.h"

#include <stdio.h>
#include <string.h>

#define NANO 1e9

static const struct metric metrics[] = {
	{ "wall", "ns", NEITHER_IS_BETTER, "life of the thread within the recording" },
	{ "run", "%", NEITHER_IS_BETTER, "on a CPU" },
	{ "runq", "%", LOWER_IS_BETTER, "in the run queue, woken or preempted" },
	{ "futex", "%", NEITHER_IS_BETTER, "asleep in futex" },
	{ "poll", "%", NEITHER_IS_BETTER, "asleep in epoll, poll or select" },
	{ "socket", "%", NEITHER_IS_BETTER,
	  "asleep in a call on a socket of a client, or not known whose" },
	{ "client", "%", NEITHER_IS_BETTER, "asleep in a call on a socket that it connected" },
	{ "pipe", "%", NEITHER_IS_BETTER, "asleep in a call on a pipe or message queue" },
	{ "disk", "%", LOWER_IS_BETTER, "waiting for a disk" },
	{ "blocked", "%", LOWER_IS_BETTER, "uninterruptible, not disk" },
	{ "sleep", "%", NEITHER_IS_BETTER, "timer, child, file lock, stopped, other sleep" },
	{ "unknown", "%", LOWER_IS_BETTER, "not known" },
	{ "switches", "", NEITHER_IS_BETTER, "times it left a CPU" },
	{ 0 },
};

static int put_threads(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(nullif(comm,''),'?') || '[' || tid || ']', wall, run, woken + preempted, futex,"
		" poll, socket, client, pipe, disk, blocked, timer + child + lock + other + stopped,"
		" unknown, switches FROM thread WHERE wall > 0 AND (switches > 0 OR run > 0)"
		" ORDER BY run DESC, tid";
	sqlite3_stmt *s;
	int i, ret = db_query(&s, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0) {
		const char *subject = db_text(s, 0);
		double wall = sqlite3_column_double(s, 1);
		s64 n = sqlite3_column_int64(s, 13);

		for (i = 0; metrics[i].name && ret > 0; i++) {
			double v = sqlite3_column_double(s, 1 + i);

			if (strcmp(metrics[i].unit, "%") == 0)
				v = 100 * v / wall;
			if (put_metric(c, e, subject, metrics[i].name, v, NO_INTERVAL, n) < 0)
				ret = ERR_FAIL;
		}
		if (ret < 0)
			break;
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : 0;
}

/* The self-check of the whole replay: time that no state explains. */
static int check_balance(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT tid, comm, unknown, wall, defects FROM thread "
		"WHERE unknown > wall / 1000 OR defects > 0 ORDER BY unknown DESC";
	s64 bad = 0, defects = 0;
	int ret;

	ret = db_int(c->db, &bad, e,
		     "SELECT count(*) FROM thread WHERE unknown > wall / 1000 AND switches > 0",
		     "");
	if (ret == 0)
		ret = db_int(c->db, &defects, e, "SELECT total(defects) FROM thread", "");
	if (ret < 0 || (!bad && !defects))
		return ret;
	if (!bad)
		return put_prose(
			c, e, NOTE, "OBSERVED", sql,
			"In %lld place%s a switch or wake-up of a thread is missing; the time "
			"around it counts as unknown, less than 0.1 %% of any thread's.",
			(long long)defects, defects == 1 ? "" : "s");
	return put_prose(
		c, e, WARNING, "OBSERVED", sql,
		"%lld thread%s more than 0.1 %% of unknown time: in %lld place%s a switch or wake-up is "
		"missing, and the time around it is not known.",
		(long long)bad, bad == 1 ? " has" : "s have", (long long)defects,
		defects == 1 ? "" : "s");
}

static const struct {
	const char *grp;
	const char *without;
} groups[] = {
	{ "syscalls",
	  "system calls were not recorded: reasons of sleeps, requests and errors are not "
	  "known" },
	{ "sched", "switches and wake-ups were not recorded: time on and off CPU is not known" },
	{ "block",
	  "block requests were not recorded: which device a thread waited for is not known" },
};

/* What obsrec knew beforehand that it would not see. */
static int put_doctor(struct analysis_ctx *c, struct err *e)
{
	sqlite3_stmt *s;
	int ret =
		db_query(&s, c->db, e,
			 "SELECT grp, level, why FROM doctor WHERE level > 0 AND grp IN (SELECT grp"
			 " FROM coverage) ORDER BY rowid",
			 "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0) {
		ret = put_prose(c, e, NOTE, "LIMIT", "SELECT * FROM doctor WHERE level > 0",
				"group %s could %s: %s.", db_text(s, 0),
				sqlite3_column_int(s, 1) > 1 ? "not be recorded"
							     : "only be recorded in part",
				db_text(s, 2));
		if (ret < 0)
			break;
	}
	sqlite3_finalize(s);
	return ret < 0 ? ret : 0;
}

static int put_limits(struct analysis_ctx *c, struct err *e)
{
	static const char *const always[] = {
		("what a thread does on a CPU without system calls (computing, spinning, memory-mapped "
		 "I/O); interrupts and time stolen by a host count as time on a CPU"),
		"how much runs differ: for that, compare several recordings",
	};
	size_t i;
	s64 n;
	int ret = 0;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]) && ret == 0; i++) {
		ret = db_int(c->db, &n, e,
			     "SELECT count(*) FROM coverage WHERE grp=? AND verdict<>'ABSENT'", "s",
			     groups[i].grp);
		if (ret == 0 && !n)
			ret = put_prose(c, e, NOTE, "LIMIT", NULL, "%s.", groups[i].without);
	}
	if (ret == 0)
		ret = put_doctor(c, e);
	for (i = 0; i < sizeof(always) / sizeof(always[0]) && ret == 0; i++)
		ret = put_prose(c, e, NOTE, "LIMIT", NULL, "%s.", always[i]);
	return ret;
}

static int put_losses(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT grp, reason, sum(n), min(ts), max(ts + dur), count(DISTINCT cpu)"
		" FROM loss WHERE reason<>'gap' GROUP BY grp, reason ORDER BY sum(n) DESC";
	sqlite3_stmt *s;
	int ret = db_query(&s, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0)
		if (put_prose(c, e, PROBLEM, "OBSERVED", sql,
			      "%s events of group %s were lost (%s; CPUs: %lld) between %.3f s "
			      "and %.3f s; what overlaps is marked.",
			      counted(sqlite3_column_double(s, 2)).text, db_text(s, 0),
			      db_text(s, 1), sqlite3_column_int64(s, 5),
			      sqlite3_column_double(s, 3) / NANO,
			      sqlite3_column_double(s, 4) / NANO) < 0)
			break;
	sqlite3_finalize(s);
	return ret < 0 ? ret : 0;
}

static int put_gaps(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] = "SELECT DISTINCT ts, ts + dur FROM loss WHERE reason='gap'"
				  " ORDER BY ts LIMIT 10";
	sqlite3_stmt *s;
	int ret = db_query(&s, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0)
		if (put_prose(
			    c, e, WARNING, "OBSERVED", sql,
			    "Between %.3f s and %.3f s nothing was recorded (recordings were merged): "
			    "states that reach into it are unknown, rates are of the windows outside.",
			    sqlite3_column_double(s, 0) / NANO,
			    sqlite3_column_double(s, 1) / NANO) < 0)
			break;
	sqlite3_finalize(s);
	return ret < 0 ? ret : 0;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	int ret = put_losses(c, e);

	if (ret == 0)
		ret = put_gaps(c, e);
	if (ret == 0)
		ret = put_threads(c, e);
	if (ret == 0)
		ret = check_balance(c, e);
	return ret < 0 ? ret : put_limits(c, e);
}

const struct analysis analysis_overview = {
	.name = "overview",
	.doc = "Where did the threads' time go",
	.needs = "",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
