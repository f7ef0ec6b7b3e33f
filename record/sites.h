/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that the user named: found in their files, probed at entry and return. */
#ifndef OBS_SITES_H
#define OBS_SITES_H

#include "elfsym.h"
#include "options.h"

struct bpf_link;
struct bpf_program;

struct sites {
	struct site {
		char *path;	  /* resolved */
		const char *text; /* FILE:FUNCTION as given */
		struct elfsym sym;
		struct bpf_link *entry, *back;
	} list[PROBES_MAX * ELFSYM_MAX]; /* a site's index is its id */
	int n;
};

/* Finds all functions, so that a wrong name is known before anything is attached. */
int sites_resolve(struct sites *s, const struct options *o, struct err *e);

/* Attaches the programs for entry and return to every site. */
int sites_attach(struct sites *s, struct bpf_program *entry, struct bpf_program *back,
		 struct err *e);

void sites_free(struct sites *s);

#endif
