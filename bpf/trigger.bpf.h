/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thresholds (--trigger): the programs say that one was passed; obsrec looks from time to
 * time and makes the snapshot. Nothing of this runs when no trigger was given.
 */
#pragma once

const volatile bool slow_calls = false; /* a system call can trigger */
const volatile u64 slow_any = 0;	/* ns that no system call may take; 0: any time */
const volatile u32 slow_us[1024] = {};	/* us that this system call may take; 0: any time */
const volatile u64 slow_runq = 0;	/* ns that a target may wait for a CPU; 0: any time */
const volatile bool slow_functions = false;
const volatile u32 slow_site_us[4096] = {}; /* us that a call of this site may take */

enum hit_kind { HIT_SYSCALL, HIT_RUNQ, HIT_CALL };

/* The last threshold that was passed, and how many were. */
struct {
	u64 count, ts, dur;
	u32 tid, kind, item, unused;
} volatile hit = {};

static __always_inline void passed(u32 kind, u32 item, u32 tid, u64 ts, u64 dur)
{
	hit.kind = kind;
	hit.item = item;
	hit.tid = tid;
	hit.ts = ts;
	hit.dur = dur;
	__sync_fetch_and_add(&hit.count, 1);
}

static __always_inline void check_syscall(u32 nr, u32 tid, u64 ts, u64 dur)
{
	u64 limit = slow_us[nr & 1023] * 1000ull;

	if ((slow_any && dur > slow_any) || (limit && dur > limit))
		passed(HIT_SYSCALL, nr, tid, ts, dur);
}

/* Since when each thread has been runnable; sized for all threads only if needed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* pid_max with a trigger on runq, set before loading */
	__type(key, u32);
	__type(value, u64);
} runnable SEC(".maps");

static __always_inline void now_runnable(u32 tid, u64 ts)
{
	u64 *since = bpf_map_lookup_elem(&runnable, &tid);

	if (since)
		*since = ts;
}

static __always_inline void now_runs(u32 tid, u64 ts)
{
	u64 *since = tid ? bpf_map_lookup_elem(&runnable, &tid) : NULL;
	u64 from = since ? *since : 0;

	if (!from)
		return;
	*since = 0;
	if (ts > from && ts - from > slow_runq)
		passed(HIT_RUNQ, 0, tid, ts, ts - from);
}

struct open_call {
	u64 sp;
	u32 tid, site;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct open_call);
	__type(value, u64);
} open_calls SEC(".maps");

static __always_inline void call_begins(u32 tid, u32 site, u64 sp, u64 ts)
{
	struct open_call key = { sp, tid, site };

	if (slow_site_us[site & 4095])
		bpf_map_update_elem(&open_calls, &key, &ts, BPF_ANY);
}

static __always_inline void call_ends(u32 tid, u32 site, u64 sp, u64 ts)
{
	struct open_call key = { sp, tid, site };
	u64 limit = slow_site_us[site & 4095] * 1000ull, *from;

	if (!limit)
		return;
	from = bpf_map_lookup_elem(&open_calls, &key);
	if (!from)
		return;
	if (ts - *from > limit)
		passed(HIT_CALL, site, tid, ts, ts - *from);
	bpf_map_delete_elem(&open_calls, &key);
}
