/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all groups use: the only door to the rings, the counters, the filter.
 *
 * A program asks count_seen() first, then either emits (ev_reserve, fill, ev_submit:
 * reserve last, so that a reservation is short) or counts why not. Each of these
 * counts exactly once, so seen = emitted + lost + self + filtered + counted holds
 * at any time when no program runs. Counters are added to atomically, without using the result,
 * which holds under interrupts and preemption and on every kernel since 5.8.
 */
#pragma once

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "format/event.h"
#include "format/shapes.h"
#include "ring.bpf.h"

/* Set before loading. */
const volatile u32 self_tgid = 0;
const volatile bool filter_all = true; /* no targets: everything is wanted */
const volatile bool follow = true;     /* children of targets are targets */
const volatile u64 request_key = 0;    /* hides addresses of kernel objects */
const volatile u32 asked = 0;	       /* bit mask of the groups that are recorded */
const volatile u32 page_size = 4096;
const volatile bool hide = false; /* --private: no paths, addresses, arguments */

/* Programs do nothing until all of them are attached, and from the stop on. */
volatile u32 enabled = 0;

/* Grows when a thread became a target here: its descriptors are not known yet. */
volatile u32 new_targets = 0;

struct counts {
	u64 seen, emitted;
	struct ring_losses lost;
	u64 self, filtered, nostate, counted;
};

struct cpu_counts {
	struct counts group[GROUP_MAX];
};

/* One element a CPU. User space reads it through mmap: a bpf() call would disturb other tracers. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* possible CPUs, set before loading */
	__type(key, u32);
	__type(value, struct cpu_counts);
} counters SEC(".maps");

/*
 * One word a thread, by tid: what it holds is in format/event.h. A plain array: nothing to
 * allocate, nothing that can fail.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* pid_max, set before loading */
	__type(key, u32);
	__type(value, u64);
} threads SEC(".maps");

#define count(c, what) ((void)__sync_fetch_and_add(&(c)->what, 1))

/* The counters of this CPU and group after counting one event; NULL while not recording. */
static __always_inline struct counts *count_seen(u32 group)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_counts *c;

	if (!enabled)
		return NULL;
	c = bpf_map_lookup_elem(&counters, &cpu);
	if (!c)
		return NULL;
	count(&c->group[group], seen);
	return &c->group[group];
}

static __always_inline u64 *thread_word(u32 tid)
{
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline bool wanted(u32 tid)
{
	u64 *word;

	if (filter_all)
		return true;
	word = thread_word(tid);
	return word && *word & WORD_WANTED;
}

/* From now on the thread is a target. */
static __always_inline void want(u32 tid)
{
	u64 *word = thread_word(tid);

	if (word && !(*word & WORD_WANTED)) {
		*word |= WORD_WANTED;
		__sync_fetch_and_add(&new_targets, 1);
	}
}

/* Counts why not, unless events of this thread, which runs now, are to be recorded. */
static __always_inline bool current_wanted(struct counts *c, u64 pid_tgid)
{
	if (pid_tgid >> 32 == self_tgid) {
		count(c, self);
		return false;
	}
	if (!wanted((u32)pid_tgid)) {
		count(c, filtered);
		return false;
	}
	return true;
}

/* An address as a number. Of pointers the verifier forbids arithmetic, but no change of sign. */
static __always_inline u64 address_of(const void *object)
{
	u64 address = (u64)object;

	asm volatile("%0 = -%0" : "+r"(address));
	return -address;
}

/* Names a kernel object without its address. */
static __always_inline u64 name_of(const void *object)
{
	return address_of(object) ^ request_key;
}

static __always_inline void *fill_header(struct counts *c, struct ev_header *h, u64 ts, u32 tid,
					 u16 type, u16 size)
{
	count(c, emitted);
	h->ts = ts;
	h->tid = tid;
	h->type = type;
	h->size = size;
	return h;
}

/*
 * Room for one record, with its header filled; NULL: lost, and counted. Old verifiers do not see
 * that a record tested once is not NULL: success must not meet failure before it returns.
 */
static __always_inline void *reserve(struct counts *c, u64 ts, u32 tid, u16 type, const u32 size)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ev_header *h;

	if (ring_own) {
		h = own_reserve(&c->lost, cpu, size);
		return h ? fill_header(c, h, ts, tid, type, size | RING_BUSY) : NULL;
	}
	h = stock_reserve(&c->lost, cpu, size);
	return h ? fill_header(c, h, ts, tid, type, size) : NULL;
}

#define ev_reserve(c, ts, tid, name) \
	((struct ev_##name *)reserve(c, ts, tid, EV_##name, sizeof(struct ev_##name)))

/* User space looks by itself: a wake-up would cost fifty times the record. */
static __always_inline void ev_submit(void *e)
{
	if (ring_own)
		own_commit(e);
	else
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* The thread that runs. Directly loaded in tp_btf programs (btf is a constant 1). */
#define CURRENT(btf) \
	((btf) ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task())

/* Its tgid and tid, as bpf_get_current_pid_tgid() has them. */
#define THREAD_ID(btf, t) \
	((btf) ? (u64)(u32)(t)->tgid << 32 | (u32)(t)->pid : bpf_get_current_pid_tgid())

/*
 * A field of a kernel object. In tp_btf programs (btf is a constant 1) it is loaded
 * directly; raw_tp programs must copy it out.
 */
#define GET(btf, p, field) ((btf) ? (p)->field : BPF_CORE_READ(p, field))

/*
 * A kernel object known by its address only, to be loaded directly where the kernel can (6.2):
 * reads of a wrong address then return 0. To be used where has_casts holds.
 */
extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;
const volatile bool has_casts = false;

#define CAST(p, type) ((type *)bpf_rdonly_cast(p, bpf_core_type_id_kernel(type)))

/* The number of the system call that a thread is in, by its registers; negative: in none. */
#if defined(__TARGET_ARCH_x86)
#define SYSCALL_NR(btf, r) ((s64)GET(btf, r, orig_ax))
#elif defined(__TARGET_ARCH_arm64)
#define SYSCALL_NR(btf, r) ((s64)GET(btf, r, syscallno))
#endif

/*
 * ctx[1], of a program that takes another argument on another kernel: two loads, not one from a
 * chosen address, which the verifier forbids.
 */
static __always_inline void *second_arg(const u64 *ctx)
{
	void *v;

	asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(v) : "r"(ctx));
	return v;
}
