/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options as rows: the parser and --help both come from them. */
#pragma once

#include "err.h"

#include <stdio.h>

struct opt {
	const char *name; /* without the dashes */
	char letter;	  /* 0: none */
	const char *arg;  /* name of the argument; NULL: takes none */
	const char *help; /* one line; NULL: a hidden option */
	/* Takes the argument (NULL if it has none) into the caller's configuration. */
	int (*set)(void *config, const char *arg, struct err *e);
};

/* A setter that only fills a member of the configuration; value: arg, or a constant. */
#define OPT_SET(function, type, member, value)                            \
	static int function(void *config, const char *arg, struct err *e) \
	{                                                                 \
		(void)arg;                                                \
		(void)e;                                                  \
		((type *)config)->member = value;                         \
		return 0;                                                 \
	}

/*
 * Parses argv[1..] up to the first word that is no option, or "--". Rows are ended by one
 * without name. Returns the index of the first word left over, or negative.
 */
int opt_parse(const struct opt *opts, void *config, int argc, char **argv, struct err *e);

/* The same, but options may follow words too, up to "--": the words in argv move to the end.
 */
int opt_parse_anywhere(const struct opt *opts, void *config, int argc, char **argv, struct err *e);

/* The rows as lines of at most 80 columns. */
void opt_help(FILE *f, const struct opt *opts);

/* "8M", "64k", "1G", "4096": bytes. ERR_FAIL names the option. */
int opt_size(unsigned long long *ret, const char *name, const char *text, struct err *e);
