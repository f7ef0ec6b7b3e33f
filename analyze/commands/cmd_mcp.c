// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mcp: recordings for assistants. Each call is a process of its own, with a limit of time: a
 * recording that does harm does it there.
 */
#include "cmd.h"
#include "mcp.h"

#include "format/event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE  120	    /* s for one call */
#define IMAGE_MAX (4 << 20) /* bytes */
#define PRINT_MAX (4 * MCP_ANSWER_MAX)

static const struct opt opts[] = { { 0 } };

extern const struct command command_mcp;

static _Noreturn void become(char *const *words, int out)
{
	char *argv[MCP_WORDS_MAX + 2] = { "obsanalyze" };
	int i, none = open("/dev/null", O_RDONLY);

	for (i = 0; words[i] && i < MCP_WORDS_MAX; i++)
		argv[i + 1] = words[i];
	if (none < 0 || dup2(none, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0)
		_exit(127);
	setenv("NO_COLOR", "1", 1);
	setenv("COLUMNS", "120", 1);
	execv("/proc/self/exe", argv);
	execvp(argv[0], argv);
	_exit(127);
}

static s64 seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* What the process prints, until it ends. False: it took too long. */
static bool gather(int in, struct buf *out, struct err *e)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	s64 end = seconds() + PATIENCE;
	char chunk[4096];
	ssize_t n = 1;

	while (n > 0 || (n < 0 && errno == EINTR)) {
		if (seconds() >= end || poll(&p, 1, 1000) < 0)
			return seconds() < end && errno == EINTR;
		if (!p.revents)
			continue;
		n = read(in, chunk, sizeof(chunk));
		/* more than enough is read and dropped */
		if (n > 0 && out->len < PRINT_MAX && buf_add(out, chunk, n, e) < 0)
			return false;
	}
	return true;
}

static int start(char *const *words, struct buf *out, struct err *e)
{
	int pipes[2], status = 0;
	pid_t child;
	bool done;

	if (pipe(pipes) < 0)
		return err_errno(e, ERR_FAIL, "cannot start a command");
	fcntl(pipes[0], F_SETFD, FD_CLOEXEC);
	fcntl(pipes[1], F_SETFD, FD_CLOEXEC);
	child = fork();
	if (child == 0)
		become(words, pipes[1]);
	close(pipes[1]);
	done = child > 0 && gather(pipes[0], out, e);
	close(pipes[0]);
	if (child < 0)
		return err_errno(e, ERR_FAIL, "cannot start a command");
	if (!done)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!done) {
		buf_clear(out);
		buf_printf(out, e, "no answer after %d s", PATIENCE);
	}
	/* a damaged recording (3) is answered as far as it goes */
	return done && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)
		       ? 0
		       : 1;
}

/* The only file in dir, which is removed. */
static int take_image(const char *path, struct buf *out, struct err *e)
{
	char chunk[65536];
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;

	buf_clear(out);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot read the image");
	while (ret == 0 && out->len < IMAGE_MAX && (n = read(fd, chunk, sizeof(chunk))) > 0)
		ret = buf_add(out, chunk, n, e);
	close(fd);
	unlink(path);
	return ret < 0 ? ret : 0;
}

/* The command prints the path of the image that it drew. */
static int run_image(char *const *words, struct buf *out, struct err *e)
{
	const char *base = getenv("TMPDIR");
	char dir[512], *own[MCP_WORDS_MAX + 1] = { 0 }, path[1024];
	size_t n;
	int i, ret;

	snprintf(dir, sizeof(dir), "%s/obsanalyze-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(dir))
		return err_errno(e, ERR_FAIL, "cannot make a directory for an image");
	for (i = 0; words[i] && i < MCP_WORDS_MAX; i++)
		own[i] = *words[i] ? words[i] : dir;
	ret = start(own, out, e);
	n = out->data ? strcspn(out->data, "\n") : 0;
	if (ret == 0 && (n >= sizeof(path) || strncmp(out->data, dir, strlen(dir)) != 0))
		ret = 1;
	if (ret == 0) {
		snprintf(path, sizeof(path), "%.*s", (int)n, out->data);
		ret = take_image(path, out, e);
	}
	rmdir(dir);
	return ret;
}

static int run_tool(void *arg, char *const *words, bool image, struct buf *out, struct err *e)
{
	(void)arg;
	return image ? run_image(words, out, e) : start(words, out, e);
}

/* 1: a line; 0: the end. What is too long is cut, and is then no JSON. */
static int next_line(struct buf *line, struct err *e)
{
	int c = 0, ret = buf_add(line, "", 0, e);
	char byte;

	while (ret == 0 && (c = getc_unlocked(stdin)) != EOF && c != '\n') {
		byte = c;
		if (line->len < MCP_LINE_MAX)
			ret = buf_add(line, &byte, 1, e);
	}
	return ret < 0 ? ret : c != EOF || line->len > 0;
}

static int write_out(struct buf *out, struct err *e)
{
	if (out->len && (fwrite(out->data, 1, out->len, stdout) != out->len || fflush(stdout) != 0))
		return err_errno(e, ERR_FAIL, "cannot write the answer");
	buf_clear(out);
	return 0;
}

static int run(int argc, char **argv, struct err *e)
{
	int first = cmd_words(&command_mcp, NULL, argc, argv, 1, 64, e), ret = first, i;
	struct mcp m = { .run = run_tool };
	struct buf line = { 0 }, out = { 0 };

	for (i = first; ret >= 0 && i < argc; i++)
		if (access(argv[i], R_OK) < 0)
			ret = err_errno(e, ERR_FAIL, "cannot read %.400s", argv[i]);
	if (ret < 0)
		return ret;
	m.files = argv + first;
	m.n_files = argc - first;
	ret = mcp_open(&m, e);
	while (ret == 0 && (ret = next_line(&line, e)) > 0) {
		if (line.len && line.data[line.len - 1] == '\r')
			line.data[--line.len] = '\0';
		ret = line.len ? mcp_answer(&m, line.data, line.len, &out, e) : 0;
		if (ret >= 0)
			ret = write_out(&out, e);
		buf_clear(&line);
	}
	mcp_close(&m);
	buf_free(&line);
	buf_free(&out);
	return ret;
}

const struct command command_mcp = {
	.name = "mcp",
	.words = "RECORDING|DATABASE...",
	.doc = "answer an assistant (Model Context Protocol)",
	.opts = opts,
	.run = run,
};
