// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where did the threads' time go, and what can this recording not show? A thread's
 * states partition its life, so the shares of a row add up to 100 %.
 */
#include "analysis.h"

static const struct metric metrics[] = {
	{ "wall", "ns", NEITHER_IS_BETTER, "life of the thread within the recording" },
	{ "run", "%", NEITHER_IS_BETTER, "on a CPU" },
	{ "softirq", "%", NEITHER_IS_BETTER, "of run, in softirqs" },
	{ "irq", "%", NEITHER_IS_BETTER, "of run, in interrupts" },
	{ "stolen", "%", LOWER_IS_BETTER, "of run, taken by the hypervisor" },
	{ "runq", "%", LOWER_IS_BETTER, "in the run queue, woken or preempted" },
	{ "futex", "%", NEITHER_IS_BETTER, "sleeping in futex" },
	{ "poll", "%", NEITHER_IS_BETTER, "sleeping in epoll, poll or select" },
	{ "socket", "%", NEITHER_IS_BETTER,
	  "sleeping in a call on an accepted socket, or of unknown role" },
	{ "client", "%", NEITHER_IS_BETTER, "sleeping in a call on a socket that it connected" },
	{ "pipe", "%", NEITHER_IS_BETTER, "sleeping in a call on a pipe or message queue" },
	{ "disk", "%", LOWER_IS_BETTER, "waiting for a disk" },
	{ "blocked", "%", LOWER_IS_BETTER, "uninterruptible, not disk" },
	{ "sleep", "%", NEITHER_IS_BETTER, "timer, child, file lock, stopped, other sleep" },
	{ "unknown", "%", LOWER_IS_BETTER, "not known" },
	{ "switches", "", NEITHER_IS_BETTER, "times it left a CPU" },
	{ 0 },
};

#define SHARE(of) "100.0 * (" of ") / wall"

static const char threads_sql
	[] = "SELECT tid AS id, switches AS n, wall AS wall, " SHARE("run") " AS run, " SHARE("softirq") " AS softirq, " SHARE("irq") " AS irq, " SHARE("stolen") " AS stolen, " SHARE("woken + preempted") " AS runq, " SHARE(
		"futex") " AS futex, " SHARE("poll") " AS poll, " SHARE("socket") " AS socket, " SHARE("client") " AS client, " SHARE("pipe") " AS pipe, " SHARE("disk") " AS disk, " SHARE("blocked") " AS blocked, " SHARE("timer + child + lock + other + stopped") " AS sleep, " SHARE("unknown") " AS unknown, switches AS switches FROM thread WHERE wall > 0 AND"
																																				      " (switches > 0 OR run > 0) ORDER BY thread.run DESC, tid";

#define RECORDED(group) "EXISTS(SELECT 1 FROM coverage WHERE grp='" group "' AND verdict<>'ABSENT')"

static const struct finding_query findings[] = {
	{ FINDING_events_lost, PROBLEM, OBSERVED, "SELECT * FROM loss WHERE reason<>'gap'",
	  "SELECT grp AS \"group\", reason, sum(n) AS events, min(ts) AS \"from:at\","
	  " max(ts + dur) AS \"to:at\", count(DISTINCT cpu) AS cpus FROM loss WHERE reason<>'gap'"
	  " GROUP BY grp, reason ORDER BY sum(n) DESC",
	  NULL },
	{ FINDING_recording_gap, WARNING, OBSERVED, "SELECT * FROM loss WHERE reason='gap'",
	  "SELECT DISTINCT ts AS \"from:at\", ts + dur AS \"to:at\" FROM loss WHERE reason='gap'"
	  " ORDER BY ts LIMIT 10",
	  NULL },
	/* the self-check of the whole replay: time that no state explains */
	{ FINDING_time_unaccounted, WARNING, OBSERVED,
	  "SELECT tid, comm, unknown, wall, defects FROM thread WHERE unknown > wall / 100 OR defects > 0"
	  " ORDER BY unknown DESC",
	  "SELECT total(defects) AS defects FROM thread HAVING total(unknown > wall / 100 AND switches > 0)"
	  " > 0",
	  "SELECT 'thread', '%', 100.0 * unknown / wall, 'thread', tid, NULL FROM thread WHERE"
	  " unknown > wall / 100 AND switches > 0 ORDER BY unknown DESC, tid LIMIT 3" },
	{ FINDING_transitions_missing, NOTE, OBSERVED,
	  "SELECT tid, comm, unknown, wall, defects FROM thread WHERE defects > 0",
	  "SELECT total(defects) AS defects FROM thread HAVING defects > 0 AND"
	  " total(unknown > wall / 100 AND switches > 0) = 0",
	  NULL },
	{ FINDING_no_syscalls, NOTE, LIMIT, NULL, "SELECT 1 AS n WHERE NOT " RECORDED("syscalls"),
	  NULL },
	{ FINDING_no_switches, NOTE, LIMIT, NULL, "SELECT 1 AS n WHERE NOT " RECORDED("sched"),
	  NULL },
	{ FINDING_no_block, NOTE, LIMIT, NULL, "SELECT 1 AS n WHERE NOT " RECORDED("block"), NULL },
	{ FINDING_group_partial, NOTE, LIMIT, "SELECT * FROM doctor WHERE level > 0",
	  "SELECT grp AS \"group\", why FROM doctor WHERE level=1 AND grp IN (SELECT grp FROM coverage)"
	  " ORDER BY rowid",
	  NULL },
	{ FINDING_group_absent, NOTE, LIMIT, "SELECT * FROM doctor WHERE level > 0",
	  "SELECT grp AS \"group\", why FROM doctor WHERE level > 1 AND grp IN (SELECT grp FROM coverage)"
	  " ORDER BY rowid",
	  NULL },
};

/* Old recordings, and kernels that do not count them. */
static const struct finding_query interrupts_counted = {
	FINDING_interrupts_counted,
	NOTE,
	LIMIT,
	NULL,
	"SELECT count(*) AS n FROM thread WHERE run > 0 HAVING count(*) > 0 AND count(softirq)=0",
	NULL,
};

static int run(struct analysis_ctx *c, struct err *e)
{
	size_t i;

	(void)e;
	put_table(c, SUBJECT_thread, threads_sql, "");
	for (i = 0; i < sizeof(findings) / sizeof(findings[0]); i++)
		find_rows(c, &findings[i], "");
	add_limit(c, FINDING_computing_unseen);
	find_rows(c, &interrupts_counted, "");
	add_limit(c, FINDING_one_run);
	return c->err;
}

const struct analysis analysis_overview = {
	.name = "overview",
	.doc = "Where did the threads' time go",
	.needs = "",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
