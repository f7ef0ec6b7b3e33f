// SPDX-License-Identifier: GPL-2.0-or-later
/* A software event that never happens carries the kernel's records of mappings. */
#include "new_maps.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_SIZE  16384 /* bytes, or a page: 150 mappings */
#define RECORD_MAX 4400	 /* bytes of one, with its path */

/* PERF_RECORD_MMAP2; the time is after its path. */
struct mapped {
	struct perf_event_header header;
	u32 pid, tid;
	u64 start, size, offset;
	u32 major, minor;
	u64 ino, generation;
	u32 prot, flags;
	char path[4097];
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.sample_type = PERF_SAMPLE_TIME, /* the last 8 bytes of each record */
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, /* the recorder looks when it wants to know */
		.wakeup_watermark = INT32_MAX,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

void new_maps_open(struct new_maps *m)
{
	size_t page = sysconf(_SC_PAGESIZE), size = page > RING_SIZE ? page : RING_SIZE;
	int cpu, fd, cpus = libbpf_num_possible_cpus();
	void *at;

	*m = (struct new_maps){ .list = calloc(cpus > 0 ? cpus : 1, sizeof(*m->list)) };
	for (cpu = 0; m->list && cpu < cpus; cpu++) {
		fd = open_event(cpu);
		if (fd < 0 && errno == ENODEV)
			continue; /* offline */
		at = fd < 0 ? MAP_FAILED
			    : mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED) {
			m->list[m->n++] = (struct new_maps_ring){ at, page, size, fd };
			continue;
		}
		m->unwatched++;
		if (fd >= 0)
			close(fd);
	}
	m->unwatched += !m->list;
}

/* Bytes of the ring from this position on, which may go round its end. */
static void copy(const struct new_maps_ring *r, u64 from, void *to, size_t n)
{
	const u8 *data = (const u8 *)r->control + r->page;
	size_t at = from & (r->size - 1), first = r->size - at < n ? r->size - at : n;

	memcpy(to, data + at, first);
	memcpy((u8 *)to + first, data, n - first);
}

/* Returns whether some were lost. Of a full ring that is not known yet. */
static bool read_ring(struct new_maps_ring *r, new_map_fn *took, void *arg)
{
	u64 head = __atomic_load_n(&r->control->data_head, __ATOMIC_ACQUIRE);
	u64 tail = r->control->data_tail, ts = 0;
	bool full = head - tail > r->size - RECORD_MAX; /* one may not have fitted */
	struct mapped e = { 0 };
	bool lost = false;
	size_t size;

	while (head - tail >= sizeof(e.header) && head - tail <= r->size) {
		copy(r, tail, &e.header, sizeof(e.header));
		size = e.header.size;
		if (size < sizeof(e.header) + sizeof(ts) || size > head - tail) {
			lost = true; /* the rest cannot be read */
			break;
		}
		copy(r, tail, &e, size < sizeof(e) ? size : sizeof(e));
		e.path[sizeof(e.path) - 1] = '\0';
		copy(r, tail + size - sizeof(ts), &ts, sizeof(ts));
		tail += size;
		if (e.header.type == PERF_RECORD_MMAP2)
			took(arg, ts, e.pid,
			     &(struct code_map){ .start = e.start,
						 .end = e.start + e.size,
						 .offset = e.offset,
						 .ino = e.ino,
						 .dev = e.major << 20 | (e.minor & 0xfffff),
						 .path = e.path });
		else if (e.header.type == PERF_RECORD_LOST)
			lost = true;
	}
	if (full || lost)
		took(arg, ts, 0, NULL); /* before it, what was known is kept */
	__atomic_store_n(&r->control->data_tail, head, __ATOMIC_RELEASE);
	return lost;
}

void new_maps_read(struct new_maps *m, new_map_fn *took, void *arg)
{
	int i;

	for (i = 0; i < m->n; i++)
		if (__atomic_load_n(&m->list[i].control->data_head, __ATOMIC_RELAXED) !=
		    m->list[i].control->data_tail)
			m->lost += read_ring(&m->list[i], took, arg);
}

void new_maps_close(struct new_maps *m)
{
	while (m->n) {
		m->n--;
		munmap(m->list[m->n].control, m->list[m->n].page + m->list[m->n].size);
		close(m->list[m->n].fd);
	}
	free(m->list);
	m->list = NULL;
}
