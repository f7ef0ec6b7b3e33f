// SPDX-License-Identifier: GPL-2.0-or-later
/* obsanalyze: find the command in the table and run it. */
#include "cmd.h"
#include "format/escape.h"
#include "format/recording.h"
#include "format/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define COMMAND(name) extern const struct command command_##name;
#include "commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.def"
#undef COMMAND
	NULL,
};

static void help(FILE *f)
{
	const struct command *const *c;

	fprintf(f, "Usage: obsanalyze COMMAND [OPTION]... FILE\n"
		   "Says what a recording made by obsrec shows, on any machine.\n\nCommands:\n");
	for (c = commands; *c; c++)
		fprintf(f, "  %-8s %s\n", (*c)->name, (*c)->doc);
	fprintf(f,
		"\nobsanalyze COMMAND --help tells the options of a command.\n"
		"\nExit status: 0 done; 1 wrong usage or failure; 2 a program is missing here;\n"
		"3 the recording is damaged or cut, what could be read was used; 4 too many events\n"
		"lost; 5 the recording is of another version. See obsanalyze(1).\n");
}

static void command_help(const struct command *c)
{
	printf("Usage: obsanalyze %s [OPTION]... %s\n%s.\n", c->name, c->words, c->doc);
	if (c->opts->name) {
		printf("\n");
		opt_help(stdout, c->opts);
	}
}

int cmd_words(const struct command *c, void *config, int argc, char **argv, int least, int most,
	      struct err *e)
{
	int first = opt_parse(c->opts, config, argc, argv, e);

	if (first < 0)
		return first;
	if (argc - first < least || argc - first > most)
		return err_set(e, ERR_FAIL, "usage: obsanalyze %s [OPTION]... %s", c->name,
			       c->words);
	return first;
}

int cmd_write(const struct buf *b, const char *path, struct err *e)
{
	int fd = STDOUT_FILENO, ret = 0;
	size_t at = 0;
	ssize_t n;

	if (path && strcmp(path, "-") != 0)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST)
		return err_set(e, ERR_FAIL, "%.400s exists already; name another file with -o",
			       path);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot make %.400s", path);
	for (; at < b->len; at += n) {
		n = write(fd, b->data + at, b->len - at);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			break;
	}
	/* a reader that has seen enough (head) is no failure */
	if (at < b->len && errno != EPIPE)
		ret = err_errno(e, ERR_FAIL, "cannot write %.400s", path ? path : "the output");
	if (fd != STDOUT_FILENO && close(fd) < 0 && ret == 0)
		ret = err_errno(e, ERR_FAIL, "cannot write %.400s", path);
	return ret;
}

int cmd_damaged(const char *path)
{
	struct buf name = { 0 };

	escape_add(&name, ESCAPE_TEXT, path, strlen(path), NULL);
	buf_add(&name, "", 1, NULL);
	fprintf(stderr,
		"obsanalyze: %s is cut or damaged: everything up to there was used; "
		"obsanalyze verify tells where\n",
		name.data ? name.data : "the recording");
	buf_free(&name);
	return -ERR_DAMAGED;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct err e = { 0 };
	int ret, i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			command_help(c);
			return 0;
		}
	ret = c->run(argc, argv, &e);
	if (ret >= 0 && fflush(stdout) != 0 && errno != EPIPE)
		ret = err_errno(&e, ERR_FAIL, "cannot write the output");
	if (ret >= 0)
		return ret;
	fprintf(stderr, "obsanalyze: %s\n", e.text);
	return err_status(&e);
}

int main(int argc, char **argv)
{
	const struct command *const *c;

	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		help(stderr);
		return EXIT_FAILURE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("obsanalyze %s (recording format %d.%d, SQLite %s, zstd %s)\n", OBS_VERSION,
		       RECORDING_MAJOR, RECORDING_MINOR, sqlite3_libversion(),
		       ZSTD_versionString());
		return 0;
	}
	for (c = commands; *c; c++)
		if (strcmp((*c)->name, argv[1]) == 0)
			return run(*c, argc - 1, argv + 1);
	fprintf(stderr, "obsanalyze: there is no command %.40s; obsanalyze --help lists them\n",
		argv[1]);
	return EXIT_FAILURE;
}
