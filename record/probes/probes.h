/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs: chosen by group, loaded, attached, switched on and off, asked for their cost.
 */
#pragma once

#include "features.h"
#include "programs.h"
#include "record/functions/sites.h"
#include "record/host/targets.h"
#include "record/options/options.h"
#include "record/pump/pump.h"

struct probes;

struct program_info {
	const char *name;
	u32 group;
	enum hook hook;
	u64 runs, time, missed;
	u64 newly; /* missed between the last two calls of probes_look_missed */
};

/*
 * Loads and attaches the programs of the groups asked for; groups that the kernel lacks and that
 * -e does not name are taken out of o->groups. Nothing is recorded yet. ERR_ENV
 * when rights or the kernel do not allow it, ERR_FAIL when a function cannot be probed.
 */
int probes_open(struct probes **ret, struct options *o, const struct targets *t, struct err *e);

/* What this host offers, by group: by its BTF and, with the rights to, by loading programs. */
int probes_survey(struct feature ret[GROUP_MAX], struct err *e);

/* What would be attached where, with the memory that it takes (--dry-run). */
void probes_plan(const struct probes *p, const struct options *o, FILE *f);

/* One ring and one set of counters for each possible CPU. */
struct ring *probes_rings(struct probes *p, int *ret_n);
bool probes_own_rings(const struct probes *p); /* their kind: see rings.h */
const struct cpu_counts *probes_counts(const struct probes *p);

/* Makes a thread a target. */
void probes_mark(struct probes *p, u32 tid);

/* True if the thread is a target now. */
bool probes_marked(const struct probes *p, u32 tid);

/* To be called after that map was added to. */
void probes_sockets_changed(const struct probes *p);

/* The file descriptor of a map of bpf/, by its name. */
int probes_map(const struct probes *p, const char *name);

/* A new descriptor of raw stacks of threads that sleep (sleepers.h); -1: the kernel has none. */
int probes_sleepers(struct probes *p);

/* What obsrec writes of connections, by number modulo HINTS (format/event.h). */
struct probe_hints {
	volatile u32 *hints, *pipelined, *any_pipelined;
};
struct probe_hints probes_hints(struct probes *p);

/* By site: enum hot_mode, how its calls are recorded. */
volatile u8 *probes_hot_modes(const struct probes *p);

/* How many threads are targets. */
u32 probes_targets(const struct probes *p);

/* Grows when the kernel side has made or unmade a target by itself, other than by fork. */
u32 probes_new_targets(const struct probes *p);

/* Events of a group lost so far, on all CPUs. */
u64 probes_lost(const struct probes *p, u32 group);

/* A threshold that was passed (--trigger). */
struct hit {
	u64 count; /* how many since the last look */
	u64 ts, dur;
	u32 tid, kind, item; /* enum hit_kind of bpf/trigger.bpf.h; system call or site */
};

/* True if one was passed since *seen, which then is brought up to date. */
bool probes_hit(const struct probes *p, u64 *seen, struct hit *ret);

/* When the thread entered the system call that it is in; 0: it is in none. */
u64 probes_entered(const struct probes *p, u32 tid);

/* From now on events are recorded. */
void probes_enable(struct probes *p);

/* Events are no longer recorded; from any thread. */
void probes_pause(void *probes);

/* No more events; returns when no program runs any more but the one that sleepers need. */
void probes_disable(struct probes *p);

/* Sleepers have been looked at: no program is needed. */
void probes_detach(struct probes *p);

/* Asks how often programs were not run; returns how often since the last call, and when that was.
 */
u64 probes_look_missed(struct probes *p, u64 now, u64 *ret_since);

/* Each loaded program; i from 0; false after the last. */
bool probes_program(const struct probes *p, int i, struct program_info *ret);

/* What the kernel offers, by group. */
const struct feature *probes_features(const struct probes *p);

/* The probed functions. */
const struct sites *probes_sites(const struct probes *p);

void probes_free(struct probes *p);
