/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU quotas, by facts alone. Table throttle has readings of cgroups that have a quota: for how
 * long their CPUs were stopped. A quota explains run-queue latency if that is at least half of the
 * time in which threads of the process waited for these CPUs, over the same readings: while a
 * cgroup is stopped, its threads wait, whatever else runs. More exact facts (a switch that says it)
 * go here.
 */
#pragma once

#include "analyze/analyses/analysis.h"

/* What a CPU quota did to the control groups of a process. */
struct quota {
	s64 cgroup; /* cgroup.id; 0: none of them was throttled */
	double periods, throttled, time;
	bool explains; /* at least half of the run-queue latency of the process in these readings */
};

/*
 * In the readings that overlap from..to, ns. pid: of the process; leader: waits of the processes
 * that it leads count too; it may be the same.
 */
int quota_read(struct quota *ret, sqlite3 *db, s64 pid, s64 leader, s64 from, s64 to,
	       struct err *e);

/* Who spent it. */
struct quota_spender {
	s64 thread;   /* 0: none spent most */
	double share; /* of the group's CPU time */
};

/*
 * The thread that ran for most of the group's time in the readings that throttled it. The others
 * ran at least for what is left of the quota of the throttled periods, recorded or not.
 */
int quota_spender(struct quota_spender *ret, sqlite3 *db, s64 cgroup, s64 from, s64 to,
		  struct err *e);
