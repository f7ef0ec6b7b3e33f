// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server and a client in one process, and calls that cannot wait, each exactly so often: the
 * counts are prime, the kernel's own clocks of each thread are read at its end. The recording
 * must say the same.
 */
#define _GNU_SOURCE /* gettid, pipe2 */
#include "tests/lib/tool.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	EXCHANGES = 1009,
	POLLS = 101,   /* with timeout 0 */
	REFUSED = 103, /* receives that find nothing */
	TIMED_OUT = 7, /* receives that wait for nothing, SO_RCVTIMEO long */
	CHANGED = 107, /* futex waits whose value has changed */
	PIPES = 109,   /* writes to a pipe, and reads */
};

static struct sockaddr_in address = { .sin_family = AF_INET };

/* What the kernel says of this thread: ns on a CPU and in the run queue, and its switches. */
static void tell(const char *name)
{
	unsigned long long run = 0, wait = 0, slices = 0;
	struct timespec moment = { 0, 1000000 };
	FILE *f;

	nanosleep(&moment, NULL); /* the kernel brings its clocks up to date when threads switch */
	f = fopen("/proc/thread-self/schedstat", "r");
	if (!f || fscanf(f, "%llu %llu %llu", &run, &wait, &slices) != 3)
		die("schedstat");
	fclose(f);
	printf("%s_tid=%d %s_run=%llu %s_wait=%llu %s_slices=%llu\n", name, gettid(), name, run,
	       name, wait, name, slices);
}

/* Enough work that its time can be compared. */
static void work(void)
{
	volatile int i;

	for (i = 0; i < 150000; i++)
		;
}

static void *serve(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int listener = *(int *)arg, fd, ep = epoll_create1(EPOLL_CLOEXEC);
	char text[64];
	ssize_t n;

	fd = accept(listener, NULL, NULL);
	if (fd < 0 || ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		die("server");
	do {
		if (epoll_wait(ep, &ev, 1, -1) != 1)
			die("epoll_wait");
		n = recv(fd, text, sizeof(text), 0);
		work();
		if (n > 0 && send(fd, text, n, 0) != n)
			die("send");
	} while (n > 0);
	close(fd);
	tell("server");
	return NULL;
}

static void *ask(void *arg)
{
	struct timespec pause = { 0, 300000 };
	int i, one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	char text[64] = "a request";

	(void)arg;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("connect");
	for (i = 0; i < EXCHANGES; i++) {
		if (send(fd, text, 20, 0) != 20 || recv(fd, text, sizeof(text), 0) != 20)
			die("client");
		nanosleep(&pause, NULL);
	}
	close(fd);
	tell("client");
	return NULL;
}

/* Blocking receives that end as those that could not block: EAGAIN. */
static void time_out(int fd)
{
	struct timeval least = { .tv_usec = 20000 };
	char c;
	int i;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &least, sizeof(least)) < 0)
		die("SO_RCVTIMEO");
	for (i = 0; i < TIMED_OUT; i++)
		if (recv(fd, &c, 1, 0) >= 0)
			die("recv");
}

/* Returns the descriptor that it has polled. */
static int refuse(void)
{
	int pair[2], i, word = 1, polled;
	struct pollfd p;
	char c = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		die("socketpair");
	polled = pair[0];
	p = (struct pollfd){ .fd = polled, .events = POLLIN };
	for (i = 0; i < POLLS; i++)
		if (poll(&p, 1, 0) != 0)
			die("poll");
	for (i = 0; i < REFUSED; i++)
		if (recv(pair[0], &c, 1, MSG_DONTWAIT) >= 0)
			die("recv");
	time_out(pair[0]);
	for (i = 0; i < CHANGED; i++)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	close(pair[0]);
	close(pair[1]);
	if (pipe2(pair, O_CLOEXEC) < 0)
		die("pipe2");
	for (i = 0; i < PIPES; i++)
		if (write(pair[1], &c, 1) != 1 || read(pair[0], &c, 1) != 1)
			die("pipe");
	return polled;
}

int main(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), polled;
	socklen_t size = sizeof(address);
	pthread_t server, client = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 5) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) < 0)
		die("listener");
	polled = refuse();
	if (pthread_create(&server, NULL, serve, &listener) != 0 ||
	    pthread_create(&client, NULL, ask, NULL) != 0)
		die("pthread_create");
	pthread_join(client, NULL);
	pthread_join(server, NULL);
	printf("pid=%d port=%d exchanges=%d polls=%d polled=%d refused=%d timed_out=%d changed=%d pipes=%d\n",
	       getpid(), ntohs(address.sin_port), EXCHANGES, POLLS, polled, REFUSED, TIMED_OUT,
	       CHANGED, PIPES);
	return 0;
}
