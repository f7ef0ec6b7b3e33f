/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that the user named: found in their files, probed at entry and return. */
#ifndef OBS_SITES_H
#define OBS_SITES_H

#include "binaries.h"
#include "elfsym.h"
#include "record/cookieless.h"
#include "record/options.h"

#include <stdio.h>

struct bpf_link;
struct bpf_program;

#define SITES_MAX   256 /* functions of one recording */
#define MATCHES_MAX 64	/* functions that one -u may mean */

struct sites {
	struct site {
		const struct binary *binary;
		char *text;   /* FILE:NAME, the name readable and with its version */
		char *longer; /* FILE:SOURCE:NAME(PARAMETERS), for names that are shared */
		u64 address, offset, size;
		enum elf_source source;
		enum probe_class class;
		const char *no_return; /* why returns are not recorded; NULL: they are */
		u32 args;	       /* how many are recorded at entry */
		bool skipped_endbr;
		struct bpf_link *entry, *back;
	} list[SITES_MAX]; /* a site's index is its id */
	int n;
	struct binaries binaries;
	bool no_cookies; /* set before attaching: this kernel has none */
	struct cookieless cookieless;
};

/* Finds all functions, so that a wrong name is known before anything is attached. */
int sites_resolve(struct sites *s, const struct options *o, struct err *e);

/*
 * The file or files that FILE:FUNC means: the text before the first colon that has a file
 * before it. Returns how many; ret_function points after the colon.
 */
int sites_find_files(struct binaries *b, int files[BINARIES_MAX], const char *text, const u32 *pids,
		     int n_pids, const char **ret_function, struct err *e);

/* Its name after the file's: NAME or SOURCE:NAME, with the version of a symbol. */
const char *site_function(const struct site *s);

/* One line for each: what is probed, and what it is estimated to cost. */
void sites_print(const struct sites *s, FILE *f);

/* Attaches the programs for entry and return to every site. */
int sites_attach(struct sites *s, struct bpf_program *entry, struct bpf_program *back,
		 struct err *e);

void sites_free(struct sites *s);

#endif
