// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writers for ringstress.c, through the same door as all groups, on hooks that interrupt each
 * other: system calls, switches, wake-ups, timer interrupts, softirqs, and a function. A record
 * holds numbers that follow from its first two, and when it was committed.
 */
#include "bpf/common.bpf.h"

#include "ringstress.h"

struct sequence {
	u64 next[STRESS_CLASSES];
};

/* One program does not interrupt itself on a CPU, so these need no atomic addition. */
struct sequence sequences[STRESS_CPUS];

static __always_inline int emit(const u32 class, const u32 words, const u32 linger)
{
	const u32 size = sizeof(struct ev_header) + 8 * words;
	struct counts *c = count_seen(class);
	u64 seq = 0, ts = bpf_ktime_get_ns();
	u32 cpu = bpf_get_smp_processor_id(), i;
	u64 *e, *words_of;

	if (!c)
		return 0;
	if (cpu < STRESS_CPUS)
		seq = ++sequences[cpu].next[class];
	e = reserve(c, ts, class, STRESS_TYPE, size);
	if (!e)
		return 0;
	words_of = e + 2;
	words_of[0] = seq;
	for (i = 1; i < words - 1; i++)
		words_of[i] = stress_word(ts, seq, i);
	for (i = 0; i < linger; i++) /* so that interrupts come in between */
		bpf_ktime_get_ns();
	words_of[words - 1] = bpf_ktime_get_ns();
	ev_submit(e);
	return 0;
}

#define WRITER(class, name, section, words, linger) \
	SEC(section)                                \
	int stress_##name(void *ctx)                \
	{                                           \
		return emit(class, words, linger);  \
	}

WRITER(0, enter, "raw_tp/sys_enter", 3, 0)
WRITER(1, exit, "raw_tp/sys_exit", 6, 60)
WRITER(2, switch, "raw_tp/sched_switch", 4, 0)
WRITER(3, waking, "raw_tp/sched_waking", 5, 8)
WRITER(4, timer, "raw_tp/hrtimer_expire_entry", 7, 0)
WRITER(5, softirq, "raw_tp/softirq_entry", 34, 8)
WRITER(6, call, "uprobe", 11, 60)

char LICENSE[] SEC("license") = "GPL";
