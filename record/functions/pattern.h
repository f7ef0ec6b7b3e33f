/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions a user means: [FILE.c:]NAME[@VERSION], names and globs, mangled or not. */
#pragma once

#include "elfsym.h"
#include "format/demangle.h"

struct pattern {
	char *file;    /* of the source; NULL: any */
	char *name;    /* or glob */
	char *version; /* or glob; NULL: any */
	bool default_only;
	bool glob;
};

/* ERR_FAIL if it names nothing. pattern_free in any case. */
int pattern_read(struct pattern *ret, const char *text, struct err *e);
void pattern_free(struct pattern *p);

/* The names of one symbol, made once for all patterns. */
struct names {
	const char *linked;
	char whole[DEMANGLED_MAX]; /* "int ns::f<int>(int)"; "" if linked is not mangled */
	char bare[DEMANGLED_MAX];  /* "ns::f<int>" */
};

void names_make(struct names *ret, const char *linked);

/* The name for people: bare, or as linked. */
const char *names_show(const struct names *n);

/*
 * How a symbol fits: EXACT if one of its names is the pattern itself, which then means
 * nothing else, although it may look like a glob: operator*.
 */
enum pattern_fit { FIT_NONE, FIT_GLOB, FIT_EXACT };

enum pattern_fit pattern_fits(const struct pattern *p, const struct elfsym *sym,
			      const struct names *n);
