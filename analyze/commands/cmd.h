/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command of obsanalyze is: one file cmd_<name>.c, one row in commands.def. */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"
#include "format/opt.h"

#include <stdbool.h>

/* Setters of options that only fill a member of the command's struct config. */
#define CMD_SET_TEXT(function, member) OPT_SET(function, struct config, member, arg)
#define CMD_SET_FLAG(function, member) OPT_SET(function, struct config, member, true)

/* The setter of the option of a format (render/formats.def), for members render and output. */
#define CMD_SET_FORMAT(id, name)                                            \
	static int set_##name(void *config, const char *arg, struct err *e) \
	{                                                                   \
		struct config *c = config;                                  \
                                                                            \
		(void)e;                                                    \
		c->render.format = RENDER_##id;                             \
		if (arg)                                                    \
			c->output = arg;                                    \
		return 0;                                                   \
	}

struct command {
	const char *name;
	const char *words;	/* what follows the options, for --help */
	const char *doc;	/* one line */
	const struct opt *opts; /* ended by a row without name */
	/* Returns an exit status of 0 or above, or a negative error. argv[first] is the first word.
	 */
	int (*run)(int argc, char **argv, struct err *e);
};

/* All of them; ended by NULL. */
extern const struct command *const commands[];

/*
 * Reads the options of a command into config and checks the number of words after them.
 * Returns the index of the first word; negative on error.
 */
int cmd_words(const struct command *c, void *config, int argc, char **argv, int least, int most,
	      struct err *e);

/* May what goes to output (NULL and "-": standard output) be coloured? */
bool cmd_colour(const char *output);

/* Columns for text on standard output: those of the terminal, within limits. */
int cmd_width(void);

/* The last words of a command on a recording that is cut or damaged: exit status 3, and why. */
int cmd_damaged(const char *path);

/* The same for a command that asked a database, if the recording in it is so: else 0. */
int cmd_end(sqlite3 *db, const char *path, struct err *e);
