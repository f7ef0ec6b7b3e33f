/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the BPF programs: what they saw, emitted and lost, by CPU and group. */
#pragma once

#include "format/buf.h"
#include "format/event.h"

/* One CPU's, as bpf/common.bpf.h lays them out; the kernel changes them at any time. */
struct cpu_counts {
	struct group_counts {
		u64 seen, emitted, lost_full, lost_other, self, filtered, nostate, counted;
	} group[GROUP_MAX];
};

/* Bytes that counts_add appends at most. */
#define COUNTS_BYTES_MAX (GROUP_MAX * sizeof(struct ev_counters))

/* Of all CPUs and groups. */
struct totals {
	u64 records;
	u64 events; /* a record of a system call holds two: entry and exit */
	u64 lost;
};

struct totals counts_totals(const struct cpu_counts *list, int n_cpus);

/* Events lost on a CPU, all groups and reasons. */
u64 counts_lost(const struct cpu_counts *c);

/*
 * Appends a counters record for each group whose counters are not those last written, which
 * they then become.
 */
int counts_add(struct cpu_counts *written, const struct cpu_counts *c, u32 cpu, u64 ts,
	       struct buf *records, struct err *e);

/* Bit mask of the groups that whole records belong to. */
u32 counts_groups(const struct buf *records);
