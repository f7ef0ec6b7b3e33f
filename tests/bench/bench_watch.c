// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_watch FILE COMMAND...: runs a tracer and writes what it used to FILE: CPU time since the
 * last SIGUSR1 in ns (starting up is not counted), peak memory in KiB, exit status. SIGINT and
 * SIGTERM are passed on as SIGINT.
 */
#define _GNU_SOURCE /* wait4 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 20 /* seconds that a tracer has to end in */

static volatile pid_t child;
static volatile long long mark;

static void handle(int sig)
{
	struct timespec t;
	clockid_t clock;

	if (sig == SIGALRM) {
		kill(child, SIGKILL);
	} else if (sig != SIGUSR1) {
		kill(child, SIGINT);
		alarm(PATIENCE);
	} else if (clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &t) == 0) {
		mark = t.tv_sec * 1000000000ll + t.tv_nsec;
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = handle };
	struct rusage u = { 0 };
	long long cpu;
	int status = 0;
	FILE *f;

	if (argc < 3)
		return 1;
	child = fork();
	if (child == 0) {
		signal(SIGINT, SIG_DFL); /* shells let it be ignored in the background */
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	while (wait4(child, &status, 0, &u) < 0 && errno == EINTR)
		;
	cpu = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ll +
	      (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ll;
	f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%lld %ld %d\n", cpu > mark ? cpu - mark : 0, u.ru_maxrss, status);
	return fclose(f) != 0;
}
