// SPDX-License-Identifier: GPL-2.0-or-later
/* What the scenario programs share: options, time, children, and serving lines. */
#define _GNU_SOURCE /* pthread_setname_np, accept4, sched_setaffinity */
#include "stage.h"
#include "tests/lib/tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNS_MAX 256

struct stage stage = { .fault = -1,
		       .seconds = 60,
		       .work = 200000,
		       .answers = 1,
		       .address = "127.0.0.1",
		       .directory = "." };

static uint64_t *first_request; /* shared with children */
static uint64_t base_seed = 1, n_requests;
static __thread uint64_t own_seed;

void stage_die(const char *what)
{
	die(what);
}

uint64_t stage_now(void)
{
	return now_ns();
}

bool stage_faulty(void)
{
	uint64_t first = __atomic_load_n(first_request, __ATOMIC_RELAXED);

	return stage.fault >= 0 && first && stage_now() >= first + stage.fault * 1e9;
}

/* By the thread's own clock: waiting for the CPU does not count as work. */
void stage_spin(uint64_t ns)
{
	uint64_t end = ns_of(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

void stage_sleep(uint64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

double stage_random(void)
{
	static uint64_t threads;

	if (!own_seed)
		own_seed = base_seed * 1000003 + getpid() +
			   __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return random_01(&own_seed);
}

uint64_t stage_exponential(uint64_t mean)
{
	return -(double)mean * log(1 - stage_random());
}

uint64_t stage_lognormal(uint64_t mean)
{
	double z = sqrt(-2 * log(1 - stage_random())) * cos(2 * M_PI * stage_random());

	return (double)mean * exp(stage.sigma * z - stage.sigma * stage.sigma / 2);
}

void stage_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		stage_die("sched_setaffinity");
}

static void finish(int sig)
{
	(void)sig;
	dprintf(1, "requests=%lu\n", __atomic_load_n(&n_requests, __ATOMIC_RELAXED));
	_exit(0);
}

void stage_start(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:p:f:d:s:w:H:k:K:g:t:")) != -1) {
		switch (c) {
		case 'a':
			stage.address = optarg;
			break;
		case 'p':
			stage.port = strtol(optarg, NULL, 10);
			break;
		case 'f':
			stage.fault = strtod(optarg, NULL);
			break;
		case 'd':
			stage.seconds = strtod(optarg, NULL);
			break;
		case 's':
			base_seed = strtoull(optarg, NULL, 10);
			break;
		case 'w':
			stage.work = strtod(optarg, NULL) * 1000;
			break;
		case 'H':
			stage.sigma = strtod(optarg, NULL);
			break;
		case 'k':
			stage.answers = strtol(optarg, NULL, 10);
			break;
		case 'K':
			stage.answers_max = strtol(optarg, NULL, 10);
			break;
		case 'g':
			stage.cgroup = optarg;
			break;
		case 't':
			stage.directory = optarg;
			break;
		default:
			exit(1);
		}
	}
	if (!stage.port || !(stage.seconds > 0 && stage.seconds <= 3600)) {
		fprintf(stderr, "%s: -p PORT is needed, and at most 3600 seconds\n", argv[0]);
		exit(1);
	}
	first_request = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (first_request == MAP_FAILED)
		stage_die("mmap");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, finish);
	signal(SIGALRM, finish);
	alarm((unsigned)ceil(stage.seconds));
}

int stage_child(const char *name, void (*body)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		stage_die("fork");
	if (pid)
		return pid;
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_NAME, name);
	body();
	_exit(0);
}

void stage_thread(void *(*body)(void *), const char *name)
{
	pthread_t t;

	if (pthread_create(&t, NULL, body, NULL) != 0)
		stage_die("pthread_create");
	pthread_setname_np(t, name);
	pthread_detach(t);
}

static int listen_on(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	a.sin_addr.s_addr = inet_addr(stage.address);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 128) < 0)
		stage_die("listen");
	fflush(stdout);
	return fd;
}

static int accept_one(int listener)
{
	int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		stage_die("accept4");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* One request and its answer. Returns false when the peer has gone. */
static bool request(int fd, void (*handler)(void))
{
	char line[256];
	uint64_t none = 0;
	int i, n = stage.answers + stage.answers_max * stage_random();

	if (recv(fd, line, sizeof(line), 0) <= 0)
		return false;
	__atomic_compare_exchange_n(first_request, &none, stage_now(), false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	__atomic_add_fetch(&n_requests, 1, __ATOMIC_RELAXED);
	handler();
	/* only the last part ends the line */
	for (i = 1; i <= n; i++)
		if (send(fd, i < n ? "." : "\n", 1, 0) != 1)
			return false;
	return true;
}

pthread_mutex_t stage_mutex = PTHREAD_MUTEX_INITIALIZER;

void stage_handle_locked(void)
{
	pthread_mutex_lock(&stage_mutex);
	stage_spin(stage.work / 4);
	pthread_mutex_unlock(&stage_mutex);
	stage_spin(stage.work * 3 / 4);
}

void stage_serve(void (*handler)(void))
{
	struct pollfd fds[CONNS_MAX] = { { .fd = listen_on(stage.port), .events = POLLIN } };
	int i, n = 1;

	for (;;) {
		if (poll(fds, n, -1) < 0 && errno != EINTR)
			stage_die("poll");
		for (i = n - 1; i > 0; i--)
			if (fds[i].revents && !request(fds[i].fd, handler)) {
				close(fds[i].fd);
				fds[i] = fds[--n];
			}
		if (fds[0].revents && n < CONNS_MAX)
			fds[n++] = (struct pollfd){ .fd = accept_one(fds[0].fd), .events = POLLIN };
	}
}

struct served {
	int fd;
	void (*handler)(void);
};

static void *serve_one(void *arg)
{
	struct served s = *(struct served *)arg;

	free(arg);
	while (request(s.fd, s.handler))
		;
	close(s.fd);
	return NULL;
}

void stage_serve_threads(void (*handler)(void))
{
	int listener = listen_on(stage.port);
	struct served *s;
	pthread_t t;

	for (;;) {
		s = malloc(sizeof(*s));
		if (!s)
			stage_die("malloc");
		*s = (struct served){ accept_one(listener), handler };
		if (pthread_create(&t, NULL, serve_one, s) != 0)
			stage_die("pthread_create");
		pthread_detach(t);
	}
}

int stage_file(const char *name, long size, int flags)
{
	static char block[1 << 20];
	char path[4096];
	long at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%d", stage.directory, name, getpid());
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		stage_die(path);
	for (at = 0; at < size; at += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			stage_die(path);
	fsync(fd);
	close(fd);
	fd = open(path, O_RDWR | O_CLOEXEC | flags);
	if (fd < 0)
		stage_die(path);
	unlink(path);
	return fd;
}
