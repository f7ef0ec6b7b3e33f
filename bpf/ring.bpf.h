/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings: one a possible CPU, of one of two kinds, chosen before loading. Groups know only
 * reserve() and submit() of common.bpf.h.
 *
 * The stock kind is the kernel's BPF_MAP_TYPE_RINGBUF. It takes a lock with interrupts off and
 * calls two functions of the kernel for each record.
 *
 * The own kind is a stretch of an array that the recorder has mapped:
 *
 *   0     u64 head: bytes ever reserved on this CPU; only programs write it
 *   64    u64 tail: bytes ever taken; only the recorder writes it
 *   4096  ring_size bytes, and RING_SLACK bytes more
 *
 * The record at position p begins at byte p modulo ring_size and never wraps: the one that
 * crosses the end goes on into the slack, and as many bytes at the front stay unused in
 * that lap. So there are no padding records, and positions count bytes of records only. Sizes
 * are multiples of 8. A record has no head of its own: the size in its ev_header is
 * the mark. Three states: size 0 (reserved), size | RING_BUSY (being filled), size (committed).
 *
 * Why that is right, whatever interrupts what:
 *
 * 1. No overrun. A reservation is one compare-and-swap of head from h to h + n, made only after
 *    h + n - tail <= ring_size was seen, with a tail that was read after h. tail only grows and
 *    never passes head, so the tail seen is at most the real one: room that was seen is there.
 *    A check that fails has changed nothing.
 * 2. No two writers in one place. head only grows, so a compare-and-swap that succeeds proves
 *    that nothing was reserved between its load and itself, by whomever: softirq, interrupt, NMI,
 *    or another task that was let run in between. [h, h + n) is this writer's alone. One that
 *    fails tries again; it can fail only if another has made progress, and after RING_TRIES in
 *    a row the record is counted as lost, so a program always ends.
 *    The two records that cross the end in laps k and k + 1 share the slack; for the second to be
 *    reserved tail has to be past the end of lap k, and tail stands only between records:
 *    the first was taken as a whole.
 * 3. No stale bytes. The array begins as zeros. The recorder takes only committed records, and
 *    writes zeros over them before it moves tail (store with release; 1 orders the writer's stores
 *    after its load of tail). So the size of a reserved record reads as 0 until its writer
 *    has written it, and no older byte is ever taken for a mark, whatever it was.
 * 4. No record is taken half written. The mark loses RING_BUSY last: on x86 stores are seen in
 *    order; elsewhere an exchange with full ordering does it. The recorder loads it with acquire.
 * 5. A writer that is interrupted between reserving and committing holds up the records after
 *    its own, not their writers: these go on until the ring is full, which is counted.
 *
 * So emitted + lost is what was wanted, and every emitted record arrives whole, once, in the order
 * of reservation.
 */
#pragma once

#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "format/event.h"

#define RING_DATA  4096	       /* as record/pump/ring.h has them */
#define RING_SLACK EV_SIZE_MAX /* no record is longer */
#define RING_BUSY  1
#define RING_TRIES 8

/* Set before loading. */
const volatile bool ring_own = false; /* which kind */
const volatile u64 ring_size = 4096;  /* bytes; own kind only; a power of two */

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* Stock kind: one ring a possible CPU, made by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* possible CPUs, set before loading */
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

struct stretch {
	u64 head, unused[7];
	u64 tail; /* on a cache line of its own */
	u8 unused2[RING_DATA - 72];
	u8 data[4096 + RING_SLACK]; /* really ring_size + RING_SLACK */
};

/* Own kind: one stretch a possible CPU. Made and mapped by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct stretch));
} stretches SEC(".maps");

/* Where records are counted for which there was no room. */
struct ring_losses {
	u64 full, other;
};

#define ring_count(counter) ((void)__sync_fetch_and_add(counter, 1))

static __always_inline void *own_reserve(struct ring_losses *lost, u32 cpu, u32 size)
{
	struct stretch *s = bpf_map_lookup_elem(&stretches, &cpu);
	volatile u64 *head, *tail;
	u64 h;
	int i;

	if (!s) {
		ring_count(&lost->other);
		return NULL;
	}
	head = &s->head;
	tail = &s->tail;
#pragma clang loop unroll(disable)
	for (i = 0; i < RING_TRIES; i++) {
		h = *head;
		if (h + size - *tail > ring_size) {
			ring_count(&lost->full);
			return NULL;
		}
		if (__sync_val_compare_and_swap(&s->head, h, h + size) == h)
			return s->data + (h & (ring_size - 8));
	}
	ring_count(&lost->other);
	return NULL;
}

static __always_inline void *stock_reserve(struct ring_losses *lost, u32 cpu, const u32 size)
{
	void *ring = bpf_map_lookup_elem(&rings, &cpu), *room;

	if (!ring) {
		ring_count(&lost->other);
		return NULL;
	}
	room = bpf_ringbuf_reserve(ring, size, 0);
	if (room)
		return room;
	/* full; or refused: lock contention, another record not yet committed */
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + size + 8 >
	    bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		ring_count(&lost->full);
	else
		ring_count(&lost->other);
	return NULL;
}

/* Half of the ring is free: what can be left out need not be. */
static __always_inline bool ring_has_room(u32 cpu)
{
	struct stretch *s;
	void *ring;

	if (ring_own) {
		s = bpf_map_lookup_elem(&stretches, &cpu);
		return s && *(volatile u64 *)&s->head - *(volatile u64 *)&s->tail < ring_size / 2;
	}
	ring = bpf_map_lookup_elem(&rings, &cpu);
	return ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) <
			       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2;
}

static __always_inline void own_commit(struct ev_header *h)
{
#if defined(__TARGET_ARCH_x86)
	__asm__ volatile("" ::: "memory");
	*(volatile u16 *)&h->size = h->size & ~RING_BUSY;
#else
	/* type and size are one word; an exchange orders everything before it */
	__sync_lock_test_and_set((u32 *)&h->type, (u32)h->type | (u32)(h->size & ~RING_BUSY) << 16);
#endif
}
