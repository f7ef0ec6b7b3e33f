// SPDX-License-Identifier: GPL-2.0-or-later
/* The recorder's side of output_worker.c. */
#define _GNU_SOURCE /* pipe2 */
#include "output.h"

#include "output_worker.h"
#include "record/files/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)
#define STEP_MS	   2	/* between two looks at the worker */
#define SIGNAL_MS  200	/* a signal to stop gives it so long */
#define GRACE_MS   1000 /* at least: the machine may have stood still */

static void default_name(char *path, size_t size)
{
	char host[64] = "host", at[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, "/")] = '\0';
	if (gmtime_r(&now, &tm))
		strftime(at, sizeof(at), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(path, size, "obs-%s-%s.obs", host, at);
}

void output_snapshot_path(char *ret, size_t size, const char *path, unsigned int n)
{
	char base[PATH_MAX], at[32] = "";
	time_t now = time(NULL);
	size_t len;
	struct tm tm;

	if (path)
		snprintf(base, sizeof(base), "%s", path);
	else
		default_name(base, sizeof(base));
	len = strlen(base);
	if (len > 4 && strcmp(base + len - 4, ".obs") == 0)
		base[len - 4] = '\0';
	if (path && gmtime_r(&now, &tm))
		strftime(at, sizeof(at), "-%Y%m%dT%H%M%SZ", &tm);
	snprintf(ret, size, "%.3800s%s-%u.obs", base, at, n);
}

u64 output_free(const struct output *o)
{
	return o->task ? o->task->free : UINT64_MAX;
}

u64 output_cpu(const struct output *o)
{
	return o->task ? o->task->cpu : 0;
}

/* ---- the process that writes ---- */

static int start_worker(struct output *o, struct err *e)
{
	int pipe[2];

	if (pipe2(pipe, O_CLOEXEC) < 0)
		return err_errno(e, ERR_FAIL, "cannot create a pipe");
	fcntl(pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	o->pid = fork();
	if (o->pid == 0)
		output_worker(o->task, pipe[0]);
	close(pipe[0]);
	o->fd = pipe[1];
	/* one that does not read must not keep the recorder */
	fcntl(o->fd, F_SETFL, O_NONBLOCK);
	if (o->pid > 0)
		return 0;
	o->pid = 0;
	return err_errno(e, ERR_FAIL, "cannot start the process that writes the recording");
}

static int new_task(struct output *o, const char *path, struct err *e)
{
	void *task = mmap(NULL, sizeof(*o->task), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (task == MAP_FAILED)
		return err_set(e, ERR_FAIL, "out of memory for the recording");
	o->task = task;
	o->task->free = UINT64_MAX;
	snprintf(o->task->path, sizeof(o->task->path), "%s", path);
	return 0;
}

static void end_task(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	if (o->pid)
		waitpid(o->pid, NULL, WNOHANG);
	if (o->task)
		munmap(o->task, sizeof(*o->task));
	o->fd = -1;
	o->pid = 0;
	o->task = NULL;
}

static bool has_ended(struct output *o)
{
	if (o->pid && waitpid(o->pid, NULL, WNOHANG) == o->pid)
		o->pid = 0;
	return !o->pid;
}

static u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* Until it has opened its file, or to its end. False: its file system does not respond. */
static bool wait_worker(struct output *o, bool ends, int ms)
{
	u64 begin = now_ms(), since, now;
	int waited, least = ms < GRACE_MS ? ms : GRACE_MS;

	for (waited = 0; ends || !o->task->opened; waited += STEP_MS) {
		if (o->task->error || o->task->step == OUTPUT_ENDED || has_ended(o))
			return true;
		if (!ends && waited >= SIGNAL_MS && safe_stopping())
			ms = least = 0;
		if (ends && o->task->step == OUTPUT_SYNC)
			ms = SYNC_MS;
		now = now_ms();
		since = o->task->alive / 1000000; /* its file system last responded */
		since = ends && since && since < begin ? since : begin;
		if (waited >= least && now - since >= (u64)ms) {
			o->silent = true;
			return false;
		}
		poll(NULL, 0, STEP_MS);
	}
	return true;
}

/* Why its file cannot be written. */
static int failure(struct output *o, struct err *e)
{
	static const char *const what[] = {
		[OUTPUT_CREATE] = "cannot create the recording",
		[OUTPUT_GIVE] = "cannot give the caller of sudo the recording",
		[OUTPUT_WRITE] = "cannot write the recording",
		[OUTPUT_SYNC] = "cannot write to its disk the recording",
		[OUTPUT_ENDED] = "",
	};
	enum output_step step = o->task->step;

	if (o->silent)
		return err_set(e, ERR_FAIL, "%s %.400s: its file system does not respond",
			       what[step], o->path);
	o->exists = step == OUTPUT_CREATE && o->task->error == EEXIST;
	if (o->exists)
		return err_set(e, ERR_FAIL, "%.400s exists already; name another file with -o",
			       o->path);
	errno = o->task->error;
	if (errno)
		return err_errno(e, ERR_FAIL, "%s %.400s", what[step], o->path);
	return err_set(e, ERR_FAIL, "%s %.400s: its process was ended", what[step], o->path);
}

int output_try(const char *path, struct err *e)
{
	struct output o = { .fd = -1 };
	int ret;

	snprintf(o.path, sizeof(o.path), ".");
	if (path && strchr(path, '/'))
		snprintf(o.path, sizeof(o.path), "%.*s", (int)(strrchr(path, '/') - path + 1),
			 path);
	ret = new_task(&o, o.path, e);
	if (ret == 0) {
		o.task->try = o.task->go = true;
		ret = start_worker(&o, e);
	}
	if (ret == 0 && !wait_worker(&o, true, OUTPUT_MS)) {
		ret = err_set(e, ERR_FAIL,
			      "cannot write to %.300s: its file system does not respond", o.path);
	} else if (ret == 0 && o.task->step != OUTPUT_ENDED) {
		errno = o.task->error;
		ret = err_errno(e, ERR_FAIL, "cannot write to %.300s", o.path);
	}
	end_task(&o);
	return ret;
}

/*
 * A pipe as an open file of our own that does not block: a reader that does not read must not keep
 * the recorder, and other users of the pipe see no change.
 */
static int open_stdout(struct output *o, const struct stat *sb, struct err *e)
{
	if (isatty(STDOUT_FILENO))
		return err_set(e, ERR_FAIL,
			       "a recording is not for a terminal: redirect "
			       "standard output, or name a file with -o");
	if (S_ISFIFO(sb->st_mode))
		o->fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (o->fd < 0)
		o->fd = STDOUT_FILENO;
	return 0;
}

int output_start(struct output *ret, const char *path, struct err *e)
{
	struct output *o = ret;
	struct stat sb = { 0 };
	bool file;
	int r;

	*o = (struct output){ .fd = -1 };
	if (path)
		snprintf(o->path, sizeof(o->path), "%s", path);
	else
		default_name(o->path, sizeof(o->path));
	if (getrandom(o->uuid, sizeof(o->uuid), 0) != sizeof(o->uuid))
		return err_errno(e, ERR_FAIL, "cannot create a random id for the recording");
	file = strcmp(o->path, "-") != 0;
	if (!file && (fstat(STDOUT_FILENO, &sb) < 0 || !S_ISREG(sb.st_mode)))
		return open_stdout(o, &sb, e);
	r = new_task(o, file ? o->path : "", e);
	if (r == 0)
		r = start_worker(o, e);
	if (r < 0)
		end_task(o);
	return r;
}

int output_open(struct output *o, int ms, struct err *e)
{
	int ret = 0;

	if (!o->task)
		return 0;
	o->task->go = true;
	if (!wait_worker(o, false, ms) || !o->task->opened)
		ret = failure(o, e);
	if (ret < 0)
		end_task(o);
	else if (!o->task->path[0]) /* the recorder keeps no file: its server can be asked to close
				       it */
		dup2(o->fd, STDOUT_FILENO);
	return ret;
}

int output_close(struct output *o, struct err *e)
{
	int ret = 0;

	if (o->fd < 0 || !o->task)
		return 0;
	close(o->fd);
	o->fd = -1;
	if (o->task->opened && !o->task->path[0]) /* of the pipe, too */
		close(STDOUT_FILENO);
	if (!wait_worker(o, true, OUTPUT_MS) || o->task->step != OUTPUT_ENDED || o->task->error)
		ret = failure(o, e);
	end_task(o);
	return ret;
}
