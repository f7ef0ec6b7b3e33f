// SPDX-License-Identifier: GPL-2.0-or-later
/* The server's cgroup (-g) gets less CPU time than it needs; no other process computes. */
#include "stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 12 of 100 ms, in the words of version 1 or 2; 0: no limit */
static bool set(const char *file, const char *text)
{
	char path[4096];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", stage.cgroup, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

static void limit(void)
{
	while (!stage_faulty())
		stage_sleep(10000000);
	if (!set("cpu.cfs_quota_us", "12000") && !set("cpu.max", "12000 100000"))
		stage_die("quota");
	for (;;)
		stage_sleep(1000000000);
}

static void handle(void)
{
	stage_spin(stage.work);
}

int main(int argc, char **argv)
{
	char pid[32];

	stage_start(argc, argv);
	stage_child("limiter", limit);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!stage.cgroup || (mkdir(stage.cgroup, 0755) < 0 && !set("cgroup.procs", pid)) ||
	    !set("cgroup.procs", pid))
		stage_die("cgroup");
	stage_pin(0);
	stage_serve(handle);
}
