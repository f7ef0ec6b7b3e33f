/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions and static probes that the user named: found in their files, probed. */
#pragma once

#include "binaries.h"
#include "elfsym.h"
#include "record/options/options.h"
#include "record/probes/uprobe_legacy.h"

#include <stdio.h>

struct bpf_link;
struct bpf_program;

#define SITES_MAX   256 /* functions, spans and marks of one recording */
#define PLACES_MAX  512 /* where static probes are passed, spans start and end */
#define MATCHES_MAX 64	/* functions or marks that one option may mean */

enum site_kind { SITE_IS_FUNCTION, SITE_IS_SPAN, SITE_IS_MARK };

struct sites {
	struct site {
		enum site_kind kind;
		const struct binary *binary;
		char *text;   /* FILE:NAME, the name readable and with its version */
		char *longer; /* FILE:SOURCE:NAME(PARAMETERS), for names that are shared */
		u64 address, offset, size;
		enum elf_source source;
		enum probe_class class;
		const char *no_return; /* why returns are not recorded; NULL: they are */
		u32 args;	       /* how many are recorded at entry */
		u32 text_place; /* index of the place that describes its text, and 1; 0: none */
		bool skipped_endbr;
		bool i386;	/* its arguments are on the stack */
		bool at_return; /* of a span: it starts or ends at one */
		struct bpf_link *entry, *back;
	} list[SITES_MAX]; /* a site's index is its id */
	int n;
	struct place {
		u64 offset, semaphore; /* semaphore 0: none */
		const struct binary *binary;
		struct usdt_place how; /* how.site: its site */
		bool back;	       /* the return of a function */
		struct bpf_link *link;
	} places[PLACES_MAX]; /* of static probes and spans; texts of functions */
	int n_places;
	struct binaries binaries;
	bool no_cookies; /* set before attaching: this kernel has none */
	struct uprobe_legacy legacy;
};

/* Finds all functions, so that a wrong name is known before anything is attached. */
int sites_resolve(struct sites *s, const struct options *o, struct err *e);

/*
 * Adds the functions that one -u means; those of another -u too if ret_name is not NULL, which is
 * set to where in text the name after FILE: starts.
 */
int sites_find_name(struct sites *s, const struct options *o, const char *text,
		    const char **ret_name, struct err *e);

/* Those of all -u that are no spans. */
int sites_find_functions(struct sites *s, const struct options *o, struct err *e);

/* Those of -U. */
int sites_find_usdt(struct sites *s, const struct options *o, struct err *e);

/* Statements are recorded: records are to be freed of values before they are written. */
bool sites_have_statements(const struct sites *s);

/* Its name after the file's: NAME or SOURCE:NAME, with the version of a symbol. */
const char *site_function(const struct site *s);

/* One line for each: what is probed, and what it is estimated to cost. */
void sites_print(const struct sites *s, FILE *f);

/* What is attached to sites. */
struct site_programs {
	struct bpf_program *entry, *back, *usdt;
	struct bpf_map *places; /* for usdt: a struct usdt_place each */
};

/* Attaches the programs to every site. */
int sites_attach(struct sites *s, const struct site_programs *p, struct err *e);

void sites_free(struct sites *s);
