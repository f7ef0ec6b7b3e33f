// SPDX-License-Identifier: GPL-2.0-or-later
/* What commands share. */
#include "cmd.h"

#include "format/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MIN     80
#define WIDTH_MAX     160
#define WIDTH_DEFAULT 100 /* when it is not a terminal */

int cmd_words(const struct command *c, void *config, int argc, char **argv, int least, int most,
	      struct err *e)
{
	int first = opt_parse_anywhere(c->opts, config, argc, argv, e);

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
	if (fd != STDOUT_FILENO && ret < 0) /* half an answer is none, and would be in the way */
		unlink(path);
	return ret;
}

bool cmd_colour(const char *output)
{
	const char *no = getenv("NO_COLOR"); /* no-color.org: empty means nothing */

	return isatty(STDOUT_FILENO) && (!output || strcmp(output, "-") == 0) && !(no && *no);
}

int cmd_width(void)
{
	const char *told = getenv("COLUMNS"); /* for a pager, say */
	long columns = told ? strtol(told, NULL, 10) : 0;
	struct winsize w;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col)
		columns = w.ws_col;
	else if (columns <= 0)
		return isatty(STDOUT_FILENO) ? WIDTH_MIN : WIDTH_DEFAULT;
	return columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : (int)columns;
}

int cmd_damaged(const char *path)
{
	struct buf name = { 0 };

	escape_add(&name, ESCAPE_TEXT, path, strlen(path), NULL);
	buf_add(&name, "", 1, NULL);
	fprintf(stderr,
		"obsanalyze: %s is cut or damaged: all that can be read was used; "
		"obsanalyze verify tells where\n",
		name.data ? name.data : "the recording");
	buf_free(&name);
	return -ERR_DAMAGED;
}

int cmd_whole(sqlite3 *db, struct err *e)
{
	s64 whole = 0;
	int ret = db_int(db, &whole, e,
			 "SELECT count(*) FROM recording WHERE (key='sound' AND value='1')"
			 " OR (key='damaged_blocks' AND value='0')",
			 "");

	return ret < 0 ? ret : whole == 2;
}

int cmd_end(sqlite3 *db, const char *path, struct err *e)
{
	int ret = cmd_whole(db, e);

	return ret == 0 ? cmd_damaged(path) : ret < 0 ? ret : 0;
}
