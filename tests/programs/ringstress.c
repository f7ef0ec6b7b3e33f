// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ringstress own|stock RING_BYTES SECONDS: hammers the rings from contexts that interrupt
 * each other, with record/'s own readers at the other end, slow ones at times. Every record
 * must arrive whole, once and in its writer's order, and emitted + lost must be what the programs
 * counted themselves. Prints what happened as key=value; fails if anything is wrong.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "ringstress.h"
#include "record/pump/counts.h"
#include "record/pump/rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sequence {
	u64 next[STRESS_CLASSES];
};

#include "tests/programs/ringstress.skel.h"

#define GRACE 500000 /* us; longer than a program runs, even while a host takes its processor */

struct stress {
	struct rings rings;
	struct ringstress *skel;
	struct cpu_counts *counts;
	u64 received[STRESS_CPUS][STRESS_CLASSES];
	u64 last[STRESS_CPUS][STRESS_CLASSES]; /* sequence numbers */
	u64 until[STRESS_CPUS];		       /* when the record before was committed */
	u64 bad, nested;
};

static volatile bool stop;

__attribute__((noinline)) void stress_probed(void)
{
	__asm__ volatile("" ::: "memory");
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *call(void *arg)
{
	(void)arg;
	pin(0);
	while (!stop) {
		syscall(SYS_getppid);
		stress_probed();
	}
	return NULL;
}

/* Sleeps end in timer interrupts, which wake. */
static void *nap(void *arg)
{
	struct timespec t = { 0, 20000 + 7000 * (long)arg };

	pin(0);
	while (!stop)
		nanosleep(&t, NULL);
	return NULL;
}

static int pipes[2][2];

static void *pass(void *arg)
{
	int from = pipes[(long)arg][0], to = pipes[!(long)arg][1];
	char c = 0;

	pin(0);
	while (!stop && write(to, &c, 1) == 1 && read(from, &c, 1) == 1)
		;
	close(to);
	return NULL;
}

/* One record: whole, of this writer's order. Returns its size; 0: nonsense. */
static size_t check(struct stress *s, int cpu, const u8 *at, size_t left)
{
	struct ev_header h;
	u64 w[64];
	u32 n, i;

	memcpy(&h, at, sizeof(h));
	n = (h.size - sizeof(h)) / 8;
	if (h.size > left || h.type != STRESS_TYPE || h.tid >= STRESS_CLASSES || n < 3 || n > 64) {
		s->bad++;
		return 0;
	}
	memcpy(w, at + sizeof(h), 8 * n);
	for (i = 1; i < n - 1; i++)
		s->bad += w[i] != stress_word(h.ts, w[0], i);
	/* two tasks may be in the function's program at once: it has no order of its own */
	s->bad += w[n - 1] < h.ts || (h.tid != 6 && w[0] <= s->last[cpu][h.tid]);
	s->nested += h.ts < s->until[cpu];
	s->last[cpu][h.tid] = w[0];
	s->until[cpu] = w[n - 1];
	s->received[cpu][h.tid]++;
	return h.size;
}

static size_t drain(struct stress *s, int cpu)
{
	static u8 taken[64 << 10] __attribute__((aligned(8)));
	struct ring *r = &s->rings.list[cpu];
	size_t total = ring_take(r, taken, sizeof(taken)), at = 0, n, len;

	len = ring_strip(r, taken, total);
	while (at < len) {
		n = check(s, cpu, taken + at, len - at);
		if (!n)
			break;
		at += n;
	}
	return total;
}

static int load(struct stress *s, bool stock, u64 size, struct err *e)
{
	int n = libbpf_num_possible_cpus();

	s->skel = ringstress__open();
	if (!s->skel || n <= 0 || n > STRESS_CPUS)
		return err_set(e, ERR_ENV, "cannot open the programs");
	if (rings_choose(&s->rings, n, size, stock, e) < 0)
		return ERR_FAIL;
	if (s->rings.own == stock)
		return err_set(e, ERR_ENV, "this kernel has no rings of the own kind");
	s->skel->rodata->ring_own = s->rings.own;
	s->skel->rodata->ring_size = size;
	if (rings_prepare(&s->rings, s->skel->obj, e) < 0)
		return ERR_FAIL;
	if (bpf_map__set_max_entries(s->skel->maps.counters, n) < 0 ||
	    ringstress__load(s->skel) < 0)
		return err_set(e, ERR_ENV, "cannot load the programs");
	s->counts = mmap(NULL, n * sizeof(*s->counts), PROT_READ, MAP_SHARED,
			 bpf_map__fd(s->skel->maps.counters), 0);
	if (s->counts == MAP_FAILED)
		return err_errno(e, ERR_ENV, "cannot map the counters");
	return rings_open(&s->rings, s->skel->obj, e);
}

static int attach(struct stress *s, struct err *e)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "stress_probed");

	if (ringstress__attach(s->skel) < 0)
		return err_set(e, ERR_ENV, "cannot attach the programs");
	s->skel->links.stress_call = bpf_program__attach_uprobe_opts(s->skel->progs.stress_call, 0,
								     "/proc/self/exe", 0, &opts);
	if (!s->skel->links.stress_call)
		return err_set(e, ERR_ENV, "cannot attach to a function");
	return 0;
}

static void wait_us(u64 us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

/* Runs everything for a while. The reader now keeps up, and now waits until a ring may be full. */
static void hammer(struct stress *s, double seconds)
{
	static void *(*const jobs[])(void *) = { call, call, nap, nap, nap, pass, pass };
	static const long args[] = { 0, 0, 0, 1, 2, 0, 1 };
	pthread_t t[sizeof(jobs) / sizeof(jobs[0])];
	struct timespec now;
	double end;
	u32 seed = 1;
	size_t i;
	int cpu;

	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		pthread_create(&t[i], NULL, jobs[i], (void *)args[i]);
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + now.tv_nsec / 1e9 + seconds;
	while (now.tv_sec + now.tv_nsec / 1e9 < end) {
		for (cpu = 0; cpu < s->rings.n; cpu++)
			drain(s, cpu);
		seed = seed * 1664525 + 1013904223;
		if (seed >> 26 == 0)
			wait_us((seed >> 16 & 511) * (1 + s->rings.size / 8192));
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	stop = true;
	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		pthread_join(t[i], NULL);
}

static void finish(struct stress *s)
{
	int cpu, tries;

	__atomic_store_n(&s->skel->bss->enabled, 0, __ATOMIC_RELEASE);
	ringstress__detach(s->skel);
	wait_us(GRACE);
	for (cpu = 0; cpu < s->rings.n; cpu++)
		for (tries = 0; tries < 1000 && ring_fill(&s->rings.list[cpu]); tries++)
			drain(s, cpu);
}

/* What the programs say against what arrived. */
static bool agrees(const struct stress *s)
{
	u64 seen = 0, lost = 0, received = 0, left = 0, wrong = s->bad;
	u64 classes[STRESS_CLASSES] = { 0 };
	int cpu, i;

	for (cpu = 0; cpu < s->rings.n; cpu++) {
		left += ring_fill(&s->rings.list[cpu]);
		for (i = 0; i < STRESS_CLASSES; i++) {
			const struct group_counts *c = &s->counts[cpu].group[i];

			wrong += c->seen != c->emitted + c->lost_full + c->lost_other;
			wrong += c->emitted != s->received[cpu][i];
			wrong += i != 6 && c->seen != s->skel->bss->sequences[cpu].next[i];
			seen += c->seen;
			lost += c->lost_full + c->lost_other;
			received += s->received[cpu][i];
			classes[i] += s->received[cpu][i];
		}
	}
	printf("generated=%llu received=%llu lost=%llu nested=%llu wrong=%llu left=%llu",
	       (unsigned long long)seen, (unsigned long long)received, (unsigned long long)lost,
	       (unsigned long long)s->nested, (unsigned long long)wrong, (unsigned long long)left);
	for (i = 0; i < 7; i++)
		printf(" class%d=%llu", i, (unsigned long long)classes[i]);
	printf("\n");
	return seen == received + lost && !wrong && !left;
}

int main(int argc, char **argv)
{
	static struct stress s;
	struct err e = { 0 };
	int ret;

	if (argc != 4 || pipe(pipes[0]) < 0 || pipe(pipes[1]) < 0) {
		fprintf(stderr, "usage: ringstress own|stock RING_BYTES SECONDS\n");
		return 1;
	}
	ret = load(&s, strcmp(argv[1], "stock") == 0, strtoull(argv[2], NULL, 10), &e);
	if (ret == 0)
		ret = attach(&s, &e);
	if (ret < 0) {
		fprintf(stderr, "ringstress: %s\n", e.text);
		return 77;
	}
	__atomic_store_n(&s.skel->bss->enabled, 1, __ATOMIC_RELEASE);
	hammer(&s, strtod(argv[3], NULL));
	finish(&s);
	ret = agrees(&s) ? 0 : 1;
	rings_free(&s.rings);
	ringstress__destroy(s.skel);
	return ret;
}
