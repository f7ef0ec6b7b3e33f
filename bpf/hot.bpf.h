/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that are called too often for an event each (--hot): their calls are counted here, in
 * histograms of one function and one thread, which obsrec reads through mmap.
 *
 * The entry decides for the whole call. A call whose entry was counted is open in its slot, and its
 * return finds it there, whatever the mode is by then; any other return is an event, as its entry
 * was. So no call is lost at a switch, none is in both. Without room in the table or in a slot, the
 * call is an event.
 *
 * A slot is written by its thread only, so nothing in it is atomic. It is taken once, by a key that
 * only one thread can add to a map, and never given back.
 */
#pragma once

#define HOT_TRIES    8 /* slots looked at */
#define HOT_SUB_BITS 5
#define HOT_LIMIT    (1ull << 40) /* ns: the end of the last bucket */

const volatile u64 hot_above = 0; /* calls per second; 0: all calls are events */

volatile u8 hot_modes[HOT_SITES] = {}; /* enum hot_mode, set by obsrec */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* possible CPUs with hot_above, set before loading */
	__type(key, u32);
	__type(value, struct hot_calls);
} hot_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* HOT_SLOTS with hot_above, set before loading */
	__type(key, u32);
	__type(value, struct hot_slot);
} hot_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOT_SLOTS);
	__type(key, u32);
	__type(value, u8);
} hot_taken SEC(".maps");

/* The slot of a function and thread; NULL: there is none, or no room for it. */
static __always_inline struct hot_slot *hot_find(u32 site, u32 tid, bool take)
{
	u64 key = HOT_USED | (u64)site << 32 | tid;
	u32 i, at, from = (u32)((key * 0x9e3779b97f4a7c15ull) >> 40);
	struct hot_slot *s;
	u8 one = 1;

#pragma clang loop unroll(disable)
	for (i = 0; i < HOT_TRIES; i++) {
		at = (from + i) & (HOT_SLOTS - 1);
		s = bpf_map_lookup_elem(&hot_slots, &at);
		if (!s)
			return NULL;
		if (s->key == key)
			return s;
		if (s->key)
			continue;
		if (!take)
			return NULL;
		if (bpf_map_update_elem(&hot_taken, &at, &one, BPF_NOEXIST) == 0) {
			s->key = key;
			return s;
		}
	}
	return NULL;
}

/* Without branches: a value would double the verifier's paths with each. */
static __always_inline u32 hot_log2(u64 v)
{
	u64 n, r = 0;

#define HALVE(bits)                                      \
	n = (((1ull << (bits)) - 1 - v) >> 63) * (bits); \
	barrier_var(n);                                  \
	v >>= n;                                         \
	r += n;
	HALVE(32)
	HALVE(16)
	HALVE(8)
	HALVE(4)
	HALVE(2)
	HALVE(1)
#undef HALVE
	return r;
}

static __always_inline void hot_count(u32 *buckets, u64 v)
{
	u32 shift, at;

	if (v >= HOT_LIMIT)
		v = HOT_LIMIT - 1;
	shift = hot_log2(v | (1 << HOT_SUB_BITS)) - HOT_SUB_BITS;
	/* below 32: v; else an octave has 32, and v >> shift is from 32 to 63 */
	at = (shift << HOT_SUB_BITS) + (u32)(v >> (shift & 63));
	if (at >= HOT_BUCKETS)
		at = HOT_BUCKETS - 1;
	buckets[at]++;
}

static __always_inline void hot_clock(struct hot_open *ret)
{
	struct task_struct *t;

	ret->cpu = bpf_get_smp_processor_id();
	if (has_task_regs) { /* then the task has a type, too */
		t = bpf_get_current_task_btf();
		ret->ran = t->se.sum_exec_runtime;
		ret->since = t->se.exec_start;
		return;
	}
	t = (void *)bpf_get_current_task();
	ret->ran = BPF_CORE_READ(t, se.sum_exec_runtime);
	ret->since = BPF_CORE_READ(t, se.exec_start);
}

/* Where the call with this stack pointer is open; HOT_OPEN: it is not. */
static __always_inline u32 hot_at(const struct hot_slot *s, u64 sp)
{
	u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < HOT_OPEN; i++)
		if (s->sp[i] == sp)
			return i;
	return HOT_OPEN;
}

/* True if the call is counted; else it is an event. */
static __always_inline bool hot_entry(u64 cookie, u32 tid, u64 sp, u64 ts)
{
	u32 site = (u32)cookie & (HOT_SITES - 1), at, cpu = bpf_get_smp_processor_id();
	struct hot_calls *calls = bpf_map_lookup_elem(&hot_calls, &cpu);
	u8 mode = hot_modes[site];
	struct hot_slot *s;

	if (calls)
		__sync_fetch_and_add(&calls->n[site], 1);
	if (mode == HOT_NEVER)
		return false;
	s = hot_find(site, tid, mode == HOT_ON);
	if (!s)
		return false;
	if (!(cookie & SITE_COOKIE_ONCE)) {
		at = hot_at(s, sp); /* one that never returned */
		if (mode == HOT_ON && at >= HOT_OPEN)
			at = hot_at(s, 0);
		if (at >= HOT_OPEN)
			return false;
		s->sp[at] = mode == HOT_ON ? sp : 0;
		s->open[at].ts = ts;
		hot_clock(&s->open[at]);
	}
	if (mode == HOT_ON)
		s->entries++;
	return mode == HOT_ON;
}

/*
 * Time on a CPU: what sum_exec_runtime gained, plus the part of both ends that is not in it yet.
 * On one CPU, exec_start has the clock of these: it gained what passed but was not run. The clocks
 * of two CPUs do not compare.
 */
static __always_inline u64 hot_on_cpu(struct hot_slot *s, const struct hot_open *o,
				      const struct hot_open *now, u64 wall)
{
	u64 ran = now->ran - o->ran, off = now->since - o->since - ran;

	if (now->cpu != o->cpu) {
		s->migrated++;
		return ran < wall ? ran : wall;
	}
	if ((s64)off < 0)
		return wall;
	return off < wall ? wall - off : 0;
}

/* True if the entry of the call was counted: then so is the call. */
static __always_inline bool hot_return(u64 cookie, u32 tid, u64 sp, u64 ts)
{
	u32 site = (u32)cookie & (HOT_SITES - 1), at;
	struct hot_open now;
	struct hot_slot *s;
	u64 wall, cpu;

	if (hot_modes[site] == HOT_NEVER)
		return false;
	s = hot_find(site, tid, false);
	if (!s)
		return false;
	at = hot_at(s, sp);
	if (at >= HOT_OPEN)
		return false;
	hot_clock(&now);
	wall = ts - s->open[at].ts;
	cpu = hot_on_cpu(s, &s->open[at], &now, wall);
	s->sp[at] = 0;
	s->wall += wall;
	s->cpu += cpu;
	if (wall > s->longest)
		s->longest = wall;
	if (cpu > s->longest_cpu)
		s->longest_cpu = cpu;
	hot_count(s->walls, wall);
	hot_count(s->cpus, cpu);
	return true;
}
