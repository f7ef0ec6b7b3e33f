// SPDX-License-Identifier: GPL-2.0-or-later
/* The command that is recorded. */
#define _GNU_SOURCE /* TEMP_FAILURE_RETRY */
#include "child.h"

#include "record/files/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_CANNOT_EXECUTE 127
#define STEP_MS		    20
#define KILL_MS		    1000 /* a process in uninterruptible sleep does not end */
#define GATE_MS		    50
#define GATE_MOST	    5000 /* a file system may not respond to execvp(3), which has no limit */

/* In the child: waits for the gate, then becomes the command. */
static void become(char **argv, int gate, const sigset_t *mask, const struct priority *p)
{
	char go;
	int why;

	priority_restore(p);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);

	sigprocmask(SIG_SETMASK, mask, NULL);
	if (TEMP_FAILURE_RETRY(read(gate, &go, 1)) == 1) {
		execvp(argv[0], argv);
		why = errno;
		/* without a reader, the exit status still reports it */
		if (TEMP_FAILURE_RETRY(write(gate, &why, sizeof(why))) < 0)
			_exit(EXIT_CANNOT_EXECUTE);
	}
	_exit(EXIT_CANNOT_EXECUTE);
}

/* Looks where execvp(3) will look. */
static int look_in_path(struct safe_files *files, const char *name)
{
	const char *at = getenv("PATH"), *end;
	char path[PATH_MAX];
	int why = ENOENT;

	for (at = at ? at : "/bin:/usr/bin"; at; at = *end ? end + 1 : NULL) {
		end = at + strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s%s%.255s", (int)(end - at), at,
			 end == at ? "" : "/", name);
		if (safe_executable(files, path) == 0)
			return 0;
		if (errno == EACCES || errno == ETIMEDOUT)
			why = errno;
	}
	errno = why;
	return -1;
}

int child_possible(const char *name, struct err *e)
{
	struct safe_files files = { 0 };
	int ret = strchr(name, '/') || !*name ? safe_executable(&files, name)
					      : look_in_path(&files, name);

	if (ret < 0)
		ret = err_errno(e, ERR_FAIL, "cannot execute %.100s", name);
	safe_end(&files);
	return ret;
}

int child_start(struct child *c, char **argv, const sigset_t *mask, const struct priority *p,
		struct err *e)
{
	int gate[2];

	/* one pair serves both ways: the gate down, the error of execvp up */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
		return err_errno(e, ERR_FAIL, "cannot create a socket pair");
	c->pid = fork();
	if (c->pid < 0) {
		c->pid = 0;
		close(gate[0]);
		close(gate[1]);
		return err_errno(e, ERR_FAIL, "cannot start %.100s", argv[0]);
	}
	if (c->pid == 0) {
		close(gate[0]); /* else the end of obsrec would not be seen at the gate */
		become(argv, gate[1], mask, p);
	}
	close(gate[1]);
	c->gate = gate[0];
	return 0;
}

int child_go(struct child *c, const char *name, struct err *e)
{
	struct pollfd gate = { c->gate, POLLIN, 0 };
	int why = 0, waited;
	ssize_t n;

	if (TEMP_FAILURE_RETRY(write(c->gate, "g", 1)) != 1)
		return err_errno(e, ERR_FAIL, "cannot start %.100s", name);
	for (waited = 0; poll(&gate, 1, GATE_MS) <= 0; waited += GATE_MS)
		if (safe_stopping() || waited >= GATE_MOST)
			return 0; /* a run that is stopped ends at once, another as -d says */
	/* ends when execvp closes the other side */
	n = TEMP_FAILURE_RETRY(read(c->gate, &why, sizeof(why)));
	close(c->gate);
	c->gate = -1;
	if (n != sizeof(why))
		return 0;
	errno = why;
	return err_errno(e, ERR_FAIL, "cannot execute %.100s", name);
}

void child_poll(struct child *c)
{
	if (c->pid && !c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
}

int child_status(const struct child *c)
{
	if (!c->ended)
		return 0;
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

/* Waits until the child has ended, or the time is over, or a signal to stop is pending. */
static void wait_ended(struct child *c, int ms)
{
	int i;

	for (i = 0; i <= ms / STEP_MS && !c->ended; i++) {
		child_poll(c);
		if (!c->ended)
			poll(NULL, 0, STEP_MS);
		if (safe_stopping())
			break;
	}
}

bool child_end(struct child *c, int grace_ms)
{
	if (!c->pid || c->ended)
		return true;
	kill(c->pid, SIGTERM);
	wait_ended(c, grace_ms);
	if (c->ended)
		return true;
	kill(c->pid, SIGKILL);
	wait_ended(c, KILL_MS);
	return false;
}
