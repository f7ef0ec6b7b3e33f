// SPDX-License-Identifier: GPL-2.0-or-later
/* Group pressure: threads that reclaim memory before they get some. */

/* By thread, from the start to the end of its reclaim; an entry lives for milliseconds. */
struct reclaiming {
	u64 ts;
	u32 kind, order;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct reclaiming);
} reclaims SEC(".maps");

enum reclaim_kind { RECLAIM_HOST, RECLAIM_LIMIT, RECLAIM_SOFT };

/* One of a host may run within one of a cgroup: the outer one counts. */
static __always_inline int on_reclaim(u32 kind, s32 order)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct reclaiming now = { bpf_ktime_get_ns(), kind, order };

	if (enabled && wanted(tid))
		bpf_map_update_elem(&reclaims, &tid, &now, BPF_NOEXIST);
	return 0;
}

static __always_inline int on_reclaimed(u32 kind, u64 pages)
{
	struct counts *c = count_seen(GROUP_pressure);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct reclaiming *begin, was;
	struct ev_reclaim *e;
	u32 tid = id;

	if (!c || !current_wanted(c, id))
		return 0;
	begin = bpf_map_lookup_elem(&reclaims, &tid);
	if (!begin || begin->kind != kind) {
		count(c, filtered);
		return 0;
	}
	was = *begin;
	bpf_map_delete_elem(&reclaims, &tid);
	e = ev_reserve(c, ts, tid, reclaim);
	if (!e)
		return 0;
	e->dur = ts - was.ts;
	e->pages = pages;
	e->kind = kind;
	e->order = was.order;
	ev_submit(e);
	return 0;
}

/* Until 6.18 all of these tracepoints begin with the order, and end with the pages. */
#define RECLAIM(what, tracepoint, kind)                        \
	SEC("?tp_btf/" tracepoint "_begin")                    \
	int BPF_PROG(pressure__##what##_begin, s32 order)      \
	{                                                      \
		return on_reclaim(kind, order);                \
	}                                                      \
	SEC("?raw_tp/" tracepoint "_begin")                    \
	int BPF_PROG(pressure__##what##_begin__raw, s32 order) \
	{                                                      \
		return on_reclaim(kind, order);                \
	}                                                      \
	SEC("?tp_btf/" tracepoint "_end")                      \
	int BPF_PROG(pressure__##what##_end, u64 pages)        \
	{                                                      \
		return on_reclaimed(kind, pages);              \
	}                                                      \
	SEC("?raw_tp/" tracepoint "_end")                      \
	int BPF_PROG(pressure__##what##_end__raw, u64 pages)   \
	{                                                      \
		return on_reclaimed(kind, pages);              \
	}

RECLAIM(direct, "mm_vmscan_direct_reclaim", RECLAIM_HOST)
RECLAIM(limit, "mm_vmscan_memcg_reclaim", RECLAIM_LIMIT)
RECLAIM(soft, "mm_vmscan_memcg_softlimit_reclaim", RECLAIM_SOFT)
