// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading rings: the kernel's kind (kernel/bpf/ringbuf.c) and our own (bpf/ring.bpf.h). */
#include "ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* stock kind */
#define BUSY	 (1u << 31) /* reserved, not yet committed */
#define DISCARD	 (1u << 30)
#define LEN_MASK (DISCARD - 1)

/* own kind */
#define TAIL_AT 64
#define MARK_AT 12	    /* of a record: type and size as one word */
#define PIECE	(32u << 10) /* walked, copied and cleared while it is in the nearest cache */

int ring_open_stock(struct ring *r, int map_fd, u64 size, struct err *e)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *m;

	*r = (struct ring){ .map_fd = map_fd, .size = size };
	m = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (m == MAP_FAILED)
		return err_errno(e, ERR_ENV, "cannot map a ring");
	r->tail = m;
	m = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, map_fd, page);
	if (m == MAP_FAILED) {
		munmap(r->tail, page);
		r->tail = NULL;
		return err_errno(e, ERR_ENV, "cannot map a ring of %llu bytes",
				 (unsigned long long)size);
	}
	r->head = m;
	r->data = (u8 *)m + page;
	return 0;
}

size_t ring_stretch(u64 size)
{
	return RING_DATA + size + RING_SLACK;
}

void ring_open_own(struct ring *r, void *stretch, u64 size)
{
	*r = (struct ring){
		.own = true,
		.map_fd = -1,
		.size = size,
		.head = stretch,
		.tail = (u64 *)((u8 *)stretch + TAIL_AT),
		.data = (u8 *)stretch + RING_DATA,
	};
}

void ring_close(struct ring *r)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (!r->own && r->tail)
		munmap(r->tail, page);
	if (!r->own && r->head)
		munmap((void *)r->head, page + 2 * r->size);
	if (r->map_fd >= 0)
		close(r->map_fd);
	*r = (struct ring){ .map_fd = -1 };
}

u64 ring_fill(const struct ring *r)
{
	return __atomic_load_n(r->head, __ATOMIC_ACQUIRE) - *r->tail;
}

/* Bytes that a record with this head takes in a ring of the stock kind. */
static size_t room(u32 head)
{
	return ((head & LEN_MASK) + RING_HEAD + 7) & ~(size_t)7;
}

static size_t committed_stock(const u8 *data, size_t limit)
{
	size_t at = 0;
	u32 head;

	while (at + RING_HEAD <= limit) {
		head = __atomic_load_n((const u32 *)(data + at), __ATOMIC_ACQUIRE);
		if (head & BUSY || at + room(head) > limit)
			break;
		at += room(head);
	}
	return at;
}

/* Whole committed records within limit that begin before end. */
static size_t committed_own(const u8 *data, size_t limit, size_t end)
{
	size_t at = 0, size;

	while (at < end && at + sizeof(struct ev_header) <= limit) {
		size = __atomic_load_n((const u32 *)(data + at + MARK_AT), __ATOMIC_ACQUIRE) >> 16;
		/* 0: reserved; odd: being filled */
		if (size < sizeof(struct ev_header) || size % 8 || at + size > limit)
			break;
		at += size;
	}
	return at;
}

size_t ring_take(struct ring *r, u8 *to, size_t max)
{
	u64 fill = ring_fill(r), at = *r->tail & (r->size - 1);
	size_t limit = fill < max ? fill : max, n;

	r->high_water = fill > r->high_water ? fill : r->high_water;
	limit = limit < PIECE ? limit : PIECE;
	if (r->own)
		n = committed_own(r->data + at, limit, r->size - at);
	else
		n = committed_stock(r->data + at, limit);
	memcpy(to, r->data + at, n);
	if (r->own) /* what is handed back is always zeros: bpf/ring.bpf.h, 3 */
		memset(r->data + at, 0, n);
	__atomic_store_n(r->tail, *r->tail + n, __ATOMIC_RELEASE);
	return n;
}

size_t ring_strip(const struct ring *r, u8 *taken, size_t len)
{
	size_t from = 0, to = 0, n;
	u32 head;

	if (r->own)
		return len;
	while (from + RING_HEAD <= len) {
		memcpy(&head, taken + from, sizeof(head));
		n = room(head) - RING_HEAD;
		if (!(head & DISCARD)) {
			memmove(taken + to, taken + from + RING_HEAD, n);
			to += n;
		}
		from += RING_HEAD + n;
	}
	return to;
}
