// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * planted: a server that answers requests of a child of its own, without frame pointers. Each
 * tenth request is slow. "planted compute": it calls planted_work. "planted wait": it sleeps in
 * planted_wait, and planted_work runs in all requests for the same time. "planted plain": no
 * request is slow, and neither runs.
 */
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS 1500
#define SLOW	 6000000 /* ns */
#define FAST	 400000

enum mode { COMPUTE, WAIT, PLAIN };

#define KEEP __asm__ volatile("" ::: "memory") /* no tail call */

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline __attribute__((always_inline)) void spin(uint64_t ns)
{
	uint64_t end = cpu_time() + ns;
	int i;

	while (cpu_time() < end)
		for (i = 0; i < 20000; i++)
			KEEP;
}

__attribute__((noinline)) void planted_work(uint64_t ns)
{
	spin(ns);
	KEEP;
}

__attribute__((noinline)) void planted_wait(void)
{
	nanosleep(&(struct timespec){ 0, SLOW }, NULL);
	KEEP;
}

__attribute__((noinline)) void usual_work(void)
{
	spin(FAST);
	KEEP;
}

__attribute__((noinline)) void handle_request(int slow, enum mode mode)
{
	usual_work();
	if (mode == WAIT)
		planted_work(FAST);
	if (slow && mode == COMPUTE)
		planted_work(SLOW);
	else if (slow && mode == WAIT)
		planted_wait();
	KEEP;
}

static int ask(const struct sockaddr_in *to)
{
	int s = socket(AF_INET, SOCK_STREAM, 0), i;
	char c = 'q';

	if (connect(s, (const struct sockaddr *)to, sizeof(*to)) < 0)
		return 1;
	for (i = 0; i < REQUESTS; i++) {
		if (write(s, &c, 1) != 1 || read(s, &c, 1) != 1)
			return 1;
		nanosleep(&(struct timespec){ 0, 300000 }, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *word = argc > 1 ? argv[1] : "wait";
	enum mode mode = strcmp(word, "compute") == 0 ? COMPUTE
			 : strcmp(word, "plain") == 0 ? PLAIN
						      : WAIT;
	int n = 0, l, s;
	socklen_t size = sizeof(a);
	char c;

	l = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(l, (struct sockaddr *)&a, size) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (struct sockaddr *)&a, &size) < 0)
		return 1;
	if (fork() == 0)
		_exit(ask(&a));
	s = accept(l, NULL, NULL);
	while (read(s, &c, 1) == 1) {
		handle_request(n++ % 10 == 9, mode);
		if (write(s, &c, 1) != 1)
			return 1;
	}
	printf("requests=%d\n", n);
	return n != REQUESTS;
}
