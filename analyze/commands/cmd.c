// SPDX-License-Identifier: GPL-2.0-or-later
/* What commands share. */
#include "cmd.h"

#include "analyze/store/fact.h"
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

bool cmd_colour(const char *output)
{
	const char *no = getenv("NO_COLOR"); /* no-color.org: empty means nothing */

	return isatty(STDOUT_FILENO) && (!output || strcmp(output, "-") == 0) && !(no && *no);
}

int cmd_width(void)
{
	const char *terminal = getenv("COLUMNS"); /* for a pager, say */
	long columns = terminal ? strtol(terminal, NULL, 10) : 0;
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
		"obsanalyze: %s is truncated or damaged: everything readable was used; "
		"obsanalyze verify lists where\n",
		name.data ? name.data : "the recording");
	buf_free(&name);
	return -ERR_DAMAGED;
}

int cmd_end(sqlite3 *db, const char *path, struct err *e)
{
	int ret = fact_whole(db, e);

	return ret == 0 ? cmd_damaged(path) : ret < 0 ? ret : 0;
}
