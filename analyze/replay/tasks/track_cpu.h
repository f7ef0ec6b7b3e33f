/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_cpu.c: who had the CPU, how fairly, and who may run on which. */
#ifndef OBS_TRACK_CPU_H
#define OBS_TRACK_CPU_H

#include "analyze/replay/track.h"

int cpu_on_switch(struct replay *r, const struct record *rec, struct err *e);
int cpu_on_migrate(struct replay *r, const struct record *rec, struct err *e);
int cpu_on_syscall(struct replay *r, const struct record *rec, struct err *e);
/* The thread becomes runnable (on the CPU of number queue), or goes to sleep or ends. */
void cpu_active(struct replay *r, struct thread *t, u16 queue, u64 ts);
void cpu_inactive(struct replay *r, struct thread *t, u64 ts);
/* It gets a CPU, leaves it. */
void cpu_enter(struct replay *r, struct thread *t, u16 cpu, u64 ts);
void cpu_leave(struct replay *r, struct thread *t, u64 ts);
/*
 * The thread waited for this CPU from then to now, the switch at hand: who had it is counted.
 * *ret_who is the thread that had it longest, 0 if it was idle, BULK_NULL if that is not known.
 */
int cpu_waited(struct replay *r, struct thread *t, u16 cpu, u64 from, u64 to, bool preempted,
	       s64 *ret_who, struct err *e);
/* Nice value as the kernel's weight, by kernel priority; 0 for real time. */
u32 cpu_weight(u8 prio);
void cpu_row(struct replay *r, const struct thread *t);
int cpu_finish(struct replay *r, struct err *e);
void cpu_free(struct replay *r);

#endif
