/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs: chosen by group, loaded, attached, switched on and off, asked for their cost.
 */
#ifndef OBS_PROBES_H
#define OBS_PROBES_H

#include "options.h"
#include "pump.h"
#include "sites.h"

struct probes;

/* How a program is attached: the field hook of event program. */
enum hook { HOOK_TP_BTF = 1, HOOK_RAW_TP, HOOK_UPROBE, HOOK_URETPROBE };

struct program_info {
	const char *name;
	u32 group;
	enum hook hook;
	u64 runs, time, missed;
};

/*
 * Loads and attaches the programs of the groups asked for. Nothing is recorded yet. ERR_ENV
 * when rights or the kernel do not allow it, ERR_FAIL when a function cannot be probed.
 */
int probes_open(struct probes **ret, const struct options *o, struct err *e);

/* One ring and one set of counters for each possible CPU. */
struct ring *probes_rings(struct probes *p, int *ret_n);
bool probes_own_rings(const struct probes *p); /* their kind: see rings.h */
const struct cpu_counts *probes_counts(const struct probes *p);

/* Makes a thread a target. */
void probes_mark(struct probes *p, u32 tid);

/* When the thread entered the system call that it is in; 0: it is in none. */
u64 probes_entered(const struct probes *p, u32 tid);

/* From now on events are recorded. */
void probes_enable(struct probes *p);

/* No more events; returns when no program runs any more. */
void probes_disable(struct probes *p);

/* Each loaded program; i from 0; false behind the last. */
bool probes_program(const struct probes *p, int i, struct program_info *ret);

/* The probed functions. */
const struct sites *probes_sites(const struct probes *p);

/* What was recorded so far, all CPUs and groups. */
struct totals {
	u64 records;
	u64 events; /* a record of a system call holds two: entry and exit */
	u64 lost;
};
struct totals probes_totals(const struct probes *p);

void probes_free(struct probes *p);

#endif
