// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slowly MODE DIR: calls probed_request 240 times; in the second half each call is slow for the
 * one reason that MODE names. Says who is to blame. Files go to DIR, on a real disk.
 */
#define _GNU_SOURCE /* CPU_SET, prctl */
#include "tests/lib/tool.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS 240
#define SLOW_US	 4000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int *slow; /* shared with children */
static int to_child[2], upstream, file;
static const char *directory;

static void spin(long us)
{
	struct timespec t;
	int64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000000000ll + t.tv_nsec + us * 1000;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000000000ll + t.tv_nsec < end);
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* A child of that name that runs body until this process ends. */
static pid_t child(const char *name, void (*body)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	return pid;
}

/* ---- lock: a thread sleeps while it holds the mutex ---- */

static void *holder(void *arg)
{
	pthread_setname_np(pthread_self(), "holder");
	for (;;) {
		pthread_mutex_lock(&mutex);
		usleep(*slow ? SLOW_US : 1);
		pthread_mutex_unlock(&mutex);
		usleep(300);
	}
	return arg;
}

static void start_lock(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, holder, NULL))
		die("pthread_create");
}

static void request_lock(void)
{
	pthread_mutex_lock(&mutex);
	spin(50);
	pthread_mutex_unlock(&mutex);
}

/* ---- pipe: the reader is slow ---- */

static void reader(void)
{
	static char bytes[65536];

	while (read(to_child[0], bytes, sizeof(bytes)) > 0)
		usleep(*slow ? SLOW_US : 1);
}

static void start_pipe(void)
{
	if (pipe(to_child) < 0)
		die("pipe");
	child("reader", reader);
}

static void request_pipe(void)
{
	static char bytes[131072];

	if (write(to_child[1], bytes, sizeof(bytes)) < 0)
		die("write");
}

/* ---- peer: another server answers late ---- */

static void answerer(void)
{
	char c;
	int fd = accept(upstream, NULL, NULL);

	while (read(fd, &c, 1) == 1) {
		usleep(*slow ? SLOW_US : 1);
		if (write(fd, &c, 1) != 1)
			return;
	}
}

static void start_peer(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	upstream = socket(AF_INET, SOCK_STREAM, 0);
	if (upstream < 0 || bind(upstream, (struct sockaddr *)&a, n) < 0 ||
	    listen(upstream, 1) < 0 || getsockname(upstream, (struct sockaddr *)&a, &n) < 0)
		die("listen");
	child("answerer", answerer);
	printf("port=%d\n", ntohs(a.sin_port));
	file = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(file, (struct sockaddr *)&a, n) < 0)
		die("connect");
}

static void request_peer(void)
{
	char c = 'x';

	if (write(file, &c, 1) != 1 || read(file, &c, 1) != 1)
		die("peer");
}

/* ---- disk, and computing ---- */

static void start_disk(void)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s/slowly.tmp", directory);
	file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		die(name);
	unlink(name);
}

static void request_disk(void)
{
	static char bytes[4096];
	int i;

	spin(50);
	for (i = 0; *slow && i < 8; i++)
		if (pwrite(file, bytes, sizeof(bytes), i * 4096) < 0 || fdatasync(file) < 0)
			die("fdatasync");
}

static void request_self(void)
{
	spin(*slow ? SLOW_US : 50);
}

/* ---- cpu_contender: a burner comes to the same CPU ---- */

static void burner(void)
{
	pin(0);
	for (;;) {
		if (!*slow)
			usleep(1000);
		spin(*slow ? 1000 : 1);
		sched_yield();
	}
}

static void start_cpu_contender(void)
{
	printf("burner=%d\n", child("burner", burner));
	pin(0);
}

/* Yields, because threads of real-time priority are not preempted by their equals for long. */
static void request_cpu_contender(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		spin(100);
		sched_yield();
	}
}

/* ---- batch: it computes on and on, and then not alone ---- */

static void burn(void)
{
	pin(0);
	while (!*slow)
		usleep(1000);
	for (;;)
		spin(1000000);
}

static void start_batch(void)
{
	printf("burner=%d\n", child("burner", burn));
	pin(0);
}

static void request_batch(void)
{
	spin(12500);
}

static const struct mode {
	const char *name;
	void (*start)(void);
	void (*request)(void);
} modes[] = {
	{ "lock", start_lock, request_lock },
	{ "pipe", start_pipe, request_pipe },
	{ "peer", start_peer, request_peer },
	{ "disk", start_disk, request_disk },
	{ "self", NULL, request_self },
	{ "cpu_contender", start_cpu_contender, request_cpu_contender },
	{ "batch", start_batch, request_batch },
};

__attribute__((noinline)) void probed_request(const struct mode *m)
{
	m->request();
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	size_t m;
	int i;

	directory = argc > 2 ? argv[2] : ".";
	for (m = 0; argc > 1 && m < sizeof(modes) / sizeof(modes[0]); m++)
		if (strcmp(argv[1], modes[m].name) == 0)
			break;
	if (argc < 2 || m == sizeof(modes) / sizeof(modes[0])) {
		fprintf(stderr,
			"usage: slowly lock|pipe|peer|disk|self|cpu_contender|batch [DIR]\n");
		return 1;
	}
	slow = mmap(NULL, sizeof(*slow), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (slow == MAP_FAILED)
		die("mmap");
	printf("pid=%d\n", getpid());
	if (modes[m].start)
		modes[m].start();
	fflush(stdout);
	for (i = 0; i < REQUESTS; i++) {
		*slow = i >= REQUESTS / 2;
		probed_request(&modes[m]);
		usleep(2000);
	}
	return 0;
}
