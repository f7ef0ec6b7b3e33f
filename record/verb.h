/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first words of obsrec that do not record. */
#pragma once

#include "format/err.h"

struct verb {
	const char *name;
	const char *words; /* that follow */
	const char *doc;
	/* argv[0] is the verb. Writes to standard output. Returns the exit status or an error. */
	int (*run)(int argc, char **argv, struct err *e);
};

/* All of them, ended by one without a name. */
extern const struct verb verbs[];

/* A line of usage for each of them. */
extern const char verbs_usage[];

#define VERB(name, words, doc) int verb_##name(int argc, char **argv, struct err *e);
#include "verbs.def"
#undef VERB
