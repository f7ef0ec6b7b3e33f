/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_cpu.c: who had the CPU, how fairly, and who may run on which. */
#pragma once

#include "analyze/replay/track.h"

/* How the CPUs serve a thread: see track_cpu.c. */
struct served {
	u64 migrations, waits, longest, idle_elsewhere;
	u64 idle0;		 /* the idle clock when the wait began */
	double fair0, fair, lag; /* see track_shares.c */
	u64 actual, starved;
	double max_lag;
	double criticality0, criticality;
	u64 exclusive0, exclusive;
	u32 weight;		 /* 0: real time, or not known */
	u32 counted;		 /* the same, as it is counted on the CPU where it is queued */
	u16 queue;		 /* that CPU */
	struct share_node *node; /* and its group there; NULL: not looked up yet */
	u32 placed;		 /* when that was, as a version of struct shares */
	u64 group, grouped;	 /* its control group, since when */
	bool active, queued;
	u8 bound;	   /* enum bound */
	bool idle_unknown; /* a long wait while it was bound to some CPUs */
	u64 active_run;	   /* clock of run when it became active */
	u64 moved;	   /* in the run queue, to the CPU for which it waits */
	u64 stay;	   /* in that wait before: the longest for one CPU */
	s64 stay_who;	   /* and who had that CPU longest */
};

static inline struct served *served_of(const struct thread *t)
{
	return t->own[TRACK_cpu];
}

/* The switch at hand, before cpu_enter and cpu_leave of its threads. */
int cpu_on_switch(struct replay *r, const struct record *rec, struct err *e);
/* The thread becomes runnable (on the CPU of number queue), or goes to sleep or ends. */
void cpu_active(struct replay *r, struct thread *t, u16 queue, u64 ts);
void cpu_inactive(struct replay *r, struct thread *t, u64 ts);
/* It gets a CPU, leaves it. */
void cpu_enter(struct replay *r, struct thread *t, u16 cpu, u64 ts);
void cpu_leave(struct replay *r, struct thread *t, u64 ts);
/*
 * The thread waited from then to now, the switch at hand, at last for this CPU: who had it is
 * counted. *ret_who is the thread that had it longest, 0 if it was idle, BULK_NULL if that is not
 * known; of several CPUs, of the one for which it waited longest.
 */
int cpu_waited(struct replay *r, struct thread *t, u16 cpu, u64 from, u64 to, s64 *ret_who,
	       struct err *e);
/* Nice value as the kernel's weight, by kernel priority; 0 for real time. */
u32 cpu_weight(u8 prio);
