/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trackers of what the kernel counts: parts of CPU time, PSI, memory, and of holders of locks. */
#ifndef OBS_TRACK_PRESSURE_H
#define OBS_TRACK_PRESSURE_H

#include "analyze/replay/track.h"

/* track_parts.c: what became of the time on a CPU */
int parts_on_info(struct replay *r, const struct record *rec, struct err *e);
int parts_on_switch(struct replay *r, const struct record *rec, struct err *e);
/* The columns of the thread's row, which was inserted last. */
int parts_row(struct replay *r, const struct thread *t, struct err *e);

/* track_pressure.c: PSI, CPU times, memory, direct reclaim */
int pressure_on_cpu(struct replay *r, const struct record *rec, struct err *e);
int pressure_on_psi(struct replay *r, const struct record *rec, struct err *e);
int pressure_on_host(struct replay *r, const struct record *rec, struct err *e);
int pressure_on_cgroup(struct replay *r, const struct record *rec, struct err *e);
int pressure_on_reclaim(struct replay *r, const struct record *rec, struct err *e);
void pressure_free(struct replay *r);

/* track_holder.c: who held a lock that was waited for */
int holder_on_wait(struct replay *r, const struct record *rec, struct err *e);
void holder_free(struct replay *r);

#endif
