// SPDX-License-Identifier: GPL-2.0-or-later
/* obsanalyze: find the command in the table and run it. */
#include "cmd.h"
#include "format/escape.h"
#include "format/nearest.h"
#include "format/recording.h"
#include "format/version.h"

#include <errno.h>
#include <gsl/gsl_errno.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#endif

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
		   "Analyzes recordings made by obsrec, on any machine.\n\nCommands:\n");
	for (c = commands; *c; c++)
		fprintf(f, "  %-8s %s\n", (*c)->name, (*c)->doc);
	fprintf(f, "\nobsanalyze COMMAND --help lists the options of a command.\n"
		   "\nExit status: 0 done; 1 wrong usage or failure; 2 a program is missing here;\n"
		   "3 the recording is damaged or was cut off, what could be read was used;\n"
		   "4 too many events lost; 5 the recording is of another version;\n"
		   "6 the recordings are not comparable; 7 compare found what --fail-on names.\n"
		   "See obsanalyze(1).\n");
}

static void command_help(const struct command *c)
{
	printf("Usage: obsanalyze %s [OPTION]... %s\n%s.\n", c->name, c->words, c->doc);
	if (c->opts->name) {
		printf("\n");
		opt_help(stdout, c->opts);
	}
}

/* Names that others chose may stand in the sentence. Returns the exit status. */
static int say(const struct err *e)
{
	escape_say(stderr, "obsanalyze", e->text);
	return err_status(e);
}

/* A reader that has seen enough (head) is no failure. */
static int end_output(struct err *e)
{
	struct pollfd out = { STDOUT_FILENO, 0, 0 };
	bool flushed = fflush(stdout) == 0;

	if ((flushed && !ferror(stdout)) || (!flushed && errno == EPIPE) ||
	    (poll(&out, 1, 0) > 0 && out.revents & POLLERR))
		return 0;
	return flushed ? err_set(e, ERR_FAIL, "cannot write the output")
		       : err_errno(e, ERR_FAIL, "cannot write the output");
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
	if (ret >= 0 && end_output(&e) < 0)
		return say(&e);
	if (ret >= 0)
		return ret;
	return say(&e);
}

static struct err guess_of(const char *word)
{
	struct nearest guess = nearest_to(word, strlen(word));
	const struct command *const *c;
	struct err said = { 0 };

	for (c = commands; *c; c++)
		nearest_offer(&guess, (*c)->name, strlen((*c)->name));
	nearest_say(&guess, "", &said);
	return said;
}

static int unknown(const char *word)
{
	struct err ignored = { 0 };
	struct buf text = { 0 };

	if (escape_add(&text, ESCAPE_TEXT, word, strnlen(word, 40), &ignored) == 0)
		fprintf(stderr,
			"obsanalyze: there is no command %.*s; obsanalyze --help lists them%s\n",
			(int)text.len, text.data, guess_of(word).text);
	buf_free(&text);
	return EXIT_FAILURE;
}

/*
 * The first part of the heap in huge pages: a tenth of the time of report was page faults. Buffers
 * of some MiB come from it too and stay in it, instead of being mapped and unmapped each time.
 */
static void use_huge_pages(void)
{
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
	const size_t heap = 128u << 20, page = 2u << 20;
	char *start = sbrk(0), *end;
	void *volatile first; /* not left out by the compiler */

	if (!mallopt(M_MMAP_THRESHOLD, 16 << 20) || !mallopt(M_TOP_PAD, (int)heap) ||
	    !mallopt(M_TRIM_THRESHOLD, 2 * (int)heap))
		return;
	first = malloc(1);
	free(first);
	end = sbrk(0);
	start += -(uintptr_t)start % page;
	(void)mallopt(M_TOP_PAD, 128 << 10);
	if (end > start) /* not another allocator, or less memory than that */
		(void)madvise(start, (size_t)(end - start), MADV_HUGEPAGE);
#endif
}

int main(int argc, char **argv)
{
	const struct command *const *c;

	use_huge_pages();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);    /* ignored, it takes the status of children away */
	signal(SIGXFSZ, SIG_IGN);    /* a limit of the file size fails as a full disk does */
	gsl_set_error_handler_off(); /* what it cannot compute is NAN: its own handler aborts */
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
	return unknown(argv[1]);
}
