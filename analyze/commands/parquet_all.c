// SPDX-License-Identifier: GPL-2.0-or-later
/* Several recordings into a directory of Parquet files, each in a process of its own. */
#include "analyze/base/progress.h"
#include "cmd.h"
#include "format/ahead.h"
#include "parquet_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX FILTER_JOBS

/* What a process writes into its pipe, at once: less than a pipe holds. */
struct answer {
	struct parquet_result result;
	int status;
	struct err why;
};

struct job {
	pid_t pid; /* 0: none */
	int pipe, nth;
	char uuid[UUID_HEX + 1];
};

struct export
{
	const char *dir;
	char *const *paths;
	const struct asked *asked;
	struct job jobs[JOBS_MAX];
	int n_jobs, running;
	struct progress progress;
	u64 bytes, all_bytes;
	int added, present, lossy, damaged, failed;
	u64 rows;
};

static u64 size_of(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && sb.st_size > 0 ? (u64)sb.st_size : 0;
}

static void count(struct export *x, const char *path, const struct answer *a)
{
	progress_clear(&x->progress);
	if (a->status < 0) {
		x->failed++;
		fprintf(stderr, "obsanalyze: %s\n", a->why.text);
		return;
	}
	x->present += a->result.present;
	x->added += !a->result.present;
	x->rows += a->result.rows;
	x->lossy += !a->result.present && strcmp(a->result.verdict, "COMPLETE") != 0;
	if (!a->result.whole) {
		x->damaged++;
		cmd_damaged(path);
	}
}

static void become(const struct export *x, int nth, int out)
{
	struct answer a = { 0 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* lines of progress of several would overwrite each other */
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	a.status = parquet_dir_add(&a.result, x->dir, x->paths[nth], x->asked, &a.why);
	_exit(write(out, &a, sizeof(a)) == sizeof(a) ? 0 : 1);
}

/* One that is named twice is exported once: the second time it is there. */
static bool is_running(const struct export *x, const char *uuid)
{
	int i;

	for (i = 0; i < x->n_jobs; i++)
		if (x->jobs[i].pid && *uuid && strcmp(x->jobs[i].uuid, uuid) == 0)
			return true;
	return false;
}

static int start(struct export *x, int nth, const char *uuid, struct err *e)
{
	struct job *j = x->jobs;
	int pipes[2];

	while (j->pid)
		j++;
	if (pipe(pipes) < 0)
		return err_errno(e, ERR_FAIL, "cannot start a process");
	fcntl(pipes[0], F_SETFD, FD_CLOEXEC);
	fcntl(pipes[1], F_SETFD, FD_CLOEXEC);
	fflush(NULL);
	j->pid = fork();
	if (j->pid == 0)
		become(x, nth, pipes[1]);
	close(pipes[1]);
	if (j->pid < 0) {
		j->pid = 0;
		close(pipes[0]);
		return err_errno(e, ERR_FAIL, "cannot start a process");
	}
	j->pipe = pipes[0];
	j->nth = nth;
	memcpy(j->uuid, uuid, sizeof(j->uuid));
	x->running++;
	return 0;
}

static void end(struct export *x, struct job *j)
{
	const char *path = x->paths[j->nth];
	struct answer a;

	if (read(j->pipe, &a, sizeof(a)) != sizeof(a)) {
		a = (struct answer){ .status = ERR_FAIL };
		err_set(&a.why, ERR_FAIL, "the process that exported %.400s was killed", path);
	}
	a.why.text[sizeof(a.why.text) - 1] = '\0';
	close(j->pipe);
	j->pid = 0;
	x->running--;
	x->bytes += size_of(path);
	count(x, path, &a);
}

/* Waits for one of them; negative when a signal has come. */
static int wait_one(struct export *x, struct err *e)
{
	pid_t pid = waitpid(-1, NULL, 0);
	int i;

	for (i = 0; i < x->n_jobs; i++)
		if (pid > 0 && x->jobs[i].pid == pid)
			end(x, &x->jobs[i]);
	if (progress_tick(&x->progress, x->bytes, x->all_bytes, e) == 0)
		return 0;
	return err_set(
		e, ERR_FAIL,
		"interrupted while exporting: %d recordings were exported, %d present before",
		x->added, x->present);
}

static void stop_all(struct export *x)
{
	int i;

	for (i = 0; i < x->n_jobs; i++) {
		if (!x->jobs[i].pid)
			continue;
		kill(x->jobs[i].pid, SIGTERM);
		while (waitpid(x->jobs[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(x->jobs[i].pipe);
	}
}

static int run_jobs(struct export *x, int n, struct err *e)
{
	char uuid[UUID_HEX + 1];
	int i, ret = 0;

	progress_start(&x->progress, "exporting", "bytes");
	for (i = 0; i < n; i++)
		x->all_bytes += size_of(x->paths[i]);
	for (i = 0; i < n && ret == 0; i++) {
		parquet_dir_uuid(uuid, x->paths[i]);
		while ((x->running == x->n_jobs || is_running(x, uuid)) && ret == 0)
			ret = wait_one(x, e);
		if (ret == 0)
			ret = start(x, i, uuid, e);
	}
	while (x->running && ret == 0)
		ret = wait_one(x, e);
	if (ret < 0)
		stop_all(x);
	progress_end(&x->progress);
	return ret;
}

static void run_here(struct export *x)
{
	struct answer a = { 0 };

	a.status = parquet_dir_add(&a.result, x->dir, x->paths[0], x->asked, &a.why);
	count(x, x->paths[0], &a);
}

int parquet_dir_add_all(const char *dir, char *const *paths, int n, const struct asked *a,
			struct err *e)
{
	struct export x = { .dir = dir, .paths = paths, .asked = a };
	int ret = parquet_dir_make(dir, e);

	x.n_jobs = (int)cpus_to_use(a->filter.cpus ? a->filter.cpus : JOBS_MAX);
	if (ret == 0 && n == 1)
		run_here(&x);
	else if (ret == 0)
		ret = run_jobs(&x, n, e);
	if (ret < 0)
		return ret;
	fprintf(stderr,
		"%d recordings exported (%llu rows, %d of them not COMPLETE: see coverage), %d present before, %d failed\n",
		x.added, (unsigned long long)x.rows, x.lossy, x.present, x.failed);
	return x.failed ? -ERR_FAIL : x.damaged ? -ERR_DAMAGED : 0;
}
