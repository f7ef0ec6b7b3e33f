// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading a BPF ring buffer (the kernel's side: kernel/bpf/ringbuf.c). */
#include "ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUSY	 (1u << 31) /* reserved, not yet committed */
#define DISCARD	 (1u << 30)
#define LEN_MASK (DISCARD - 1)

int ring_open(struct ring *r, int map_fd, u64 size, struct err *e)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *m;

	*r = (struct ring){ .map_fd = map_fd, .size = size };
	m = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (m == MAP_FAILED)
		return err_errno(e, ERR_ENV, "cannot map a ring");
	r->consumer = m;
	m = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, map_fd, page);
	if (m == MAP_FAILED) {
		munmap(r->consumer, page);
		r->consumer = NULL;
		return err_errno(e, ERR_ENV, "cannot map a ring of %llu bytes",
				 (unsigned long long)size);
	}
	r->producer = m;
	r->data = (u8 *)m + page;
	return 0;
}

void ring_close(struct ring *r)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (r->consumer)
		munmap(r->consumer, page);
	if (r->producer)
		munmap((void *)r->producer, page + 2 * r->size);
	if (r->map_fd >= 0)
		close(r->map_fd);
	*r = (struct ring){ .map_fd = -1 };
}

u64 ring_fill(const struct ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE) - *r->consumer;
}

/* Bytes that a record with this head takes in the ring. */
static size_t room(u32 head)
{
	return ((head & LEN_MASK) + RING_HEAD + 7) & ~(size_t)7;
}

size_t ring_committed(const u8 *data, size_t limit)
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

size_t ring_span(struct ring *r, size_t max, const u8 **ret_data, u64 *ret_pos)
{
	u64 fill = ring_fill(r);

	r->high_water = fill > r->high_water ? fill : r->high_water;
	*ret_pos = *r->consumer;
	*ret_data = r->data + (*r->consumer & (r->size - 1));
	return ring_committed(*ret_data, fill < max ? fill : max);
}

void ring_release(struct ring *r, size_t n)
{
	__atomic_store_n(r->consumer, *r->consumer + n, __ATOMIC_RELEASE);
}

size_t ring_strip(u8 *span, size_t len)
{
	size_t from = 0, to = 0, n;
	u32 head;

	while (from + RING_HEAD <= len) {
		memcpy(&head, span + from, sizeof(head));
		n = room(head) - RING_HEAD;
		if (!(head & DISCARD)) {
			memmove(span + to, span + from + RING_HEAD, n);
			to += n;
		}
		from += RING_HEAD + n;
	}
	return to;
}
