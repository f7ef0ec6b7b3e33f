// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_gen FILE EVENTS [BYTES]: a recording of a server under load, as large as asked: reads and
 * writes on 50 connections, polls, switches and wake-ups, on 2 CPUs; with BYTES random bytes of
 * each request, as of --heads.
 */
#include "format/recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH	  15000 /* records of one block */
#define PID	  1000
#define HEAD_MOST 256

static u64 seed = 88172645463325252u;

static u64 noise(u64 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const struct err *e)
{
	fprintf(stderr, "bench_gen: %s\n", e->text);
	exit(1);
}

static u32 head_bytes; /* a multiple of 8 */

static void put(struct buf *b, const void *record, size_t n)
{
	struct err e = { 0 };

	if (buf_add(b, record, n, &e) < 0)
		die(&e);
}

static void info(struct buf *b, u64 ts, const char *text)
{
	u64 whole[32] = { 0 };
	struct ev_header *h = (struct ev_header *)whole;

	*h = (struct ev_header){ ts, 0, EV_info, (sizeof(*h) + strlen(text) + 7) & ~7u };
	memcpy(h + 1, text, strlen(text));
	put(b, whole, h->size);
}

/* What obsrec says at the beginning: whom it records, and the server's connections. */
static void begin(struct writer *w)
{
	struct block_info block = { .stream = STREAM_RECORDER, .groups = 3 };
	struct ev_thread thread = { .h = { 905, PID, EV_thread, sizeof(thread) }, .pid = PID };
	struct buf b = { 0 };
	struct err e = { 0 };
	int i;

	info(&b, 900, "groups=recorder,core,syscalls,sched");
	info(&b, 901, "targets=1000");
	memcpy(thread.comm, "server", 6);
	thread.state = 'S';
	put(&b, &thread, sizeof(thread));
	for (i = 0; i < 50; i++) {
		struct ev_fd fd = { .h = { 906, PID, EV_fd, sizeof(fd) }, .pid = PID };

		fd.fd = 8 + i;
		fd.ino = 100 + i;
		fd.mode = 0140000;
		fd.family = 2;
		fd.role = ROLE_ACCEPTED;
		put(&b, &fd, sizeof(fd));
	}
	if (writer_append(w, &block, b.data, b.len, &e) < 0)
		die(&e);
	buf_free(&b);
}

static void put_head(struct buf *b, u64 ts, s32 fd)
{
	u64 bytes[HEAD_MOST / 8];
	struct ev_head h = { .h = { ts, PID, EV_head, sizeof(h) + head_bytes },
			     .conn = fd,
			     .len = 36 };
	u32 i;

	for (i = 0; i < head_bytes / 8; i++)
		bytes[i] = noise(UINT64_MAX);
	put(b, &h, sizeof(h));
	put(b, bytes, head_bytes);
}

/* One request: poll, read, write; every tenth time the server sleeps first. */
static u64 request(struct buf *b, u64 ts)
{
	struct ev_syscall_args poll = { .h = { 0, PID, EV_syscall_args, sizeof(poll) } };
	struct ev_syscall call = { .h = { 0, PID, EV_syscall, sizeof(call) }, .fd = 8 + noise(50) };
	u64 start = ts += 500 + noise(700);

	if (noise(10) == 0) {
		struct ev_switch off = { .h = { ts += 300, PID, EV_switch, sizeof(off) },
					 .state = 1,
					 .prio = 120 };
		struct ev_waking wake = {
			{ ts += 9000, 0, EV_waking, sizeof(wake) }, PID, 0, 1, 120
		};
		struct ev_switch on = { .h = { ts += 4000, 0, EV_switch, sizeof(on) },
					.next = PID,
					.prio = 120 };

		put(b, &off, sizeof(off));
		put(b, &wake, sizeof(wake));
		put(b, &on, sizeof(on));
	}
	poll.h.ts = ts += 300 + noise(300);
	poll.dur = ts - start;
	poll.nr = 232;
	poll.arg0 = 5;
	poll.arg3 = UINT64_MAX; /* wait without end */
	poll.ret = 1;
	put(b, &poll, sizeof(poll));
	call.h.ts = ts += 900 + noise(250);
	call.dur = 700 + noise(200);
	call.ret = 36;
	call.count = 16384;
	put(b, &call, sizeof(call));
	if (head_bytes)
		put_head(b, ts, call.fd);
	call.h.ts = ts += 5000 + noise(900);
	call.dur = 4300 + noise(500);
	call.ret = call.count = 7;
	call.nr = 1;
	put(b, &call, sizeof(call));
	return ts;
}

int main(int argc, char **argv)
{
	static const u8 uuid[16] = "benchmark";
	u64 want = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, records = 0, ts = 1000000, n;
	struct buf b = { 0 };
	struct writer *w;
	struct err e = { 0 };
	double spent = 0, t;
	u32 groups;
	int fd = argc > 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: bench_gen FILE EVENTS [BYTES]\n");
		return 1;
	}
	head_bytes = argc > 3 ? strtoul(argv[3], NULL, 10) & ~7u : 0;
	if (head_bytes > HEAD_MOST)
		head_bytes = HEAD_MOST;
	groups = 12 | (head_bytes ? 1u << schema_own()->by_id[EV_head]->group : 0);
	if (writer_open(&w, fd, uuid, &e) < 0)
		die(&e);
	begin(w);
	while (records < want) {
		struct block_info block = { .stream = records / BATCH % 2, .groups = groups };

		buf_clear(&b);
		for (n = 0; n < BATCH / 3; n++)
			ts = request(&b, ts);
		t = now();
		if (writer_append(w, &block, b.data, b.len, &e) < 0)
			die(&e);
		spent += now() - t;
		records += block.records;
	}
	if (writer_finish(w, &e) < 0)
		die(&e);
	printf("%llu records, %.2f bytes per record in the file, %.1f ns per record to pack and write\n",
	       (unsigned long long)records, (double)writer_bytes(w) / records,
	       spent * 1e9 / records);
	writer_free(w);
	buf_free(&b);
	return 0;
}
