/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pattern for names of threads, as tables that the BPF programs obey without branching
 * (bpf/comm.bpf.h): bit k of a state says that k parts of the pattern have matched.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

struct comm_glob {
	u32 matches[256]; /* by character: the parts that it matches */
	u32 loops;	  /* parts that a * follows */
	u32 accepts;	  /* the last part */
};

/* Of a pattern as in glob(7): * ? [a-z] [!a-z] \x. At most 31 parts. */
int comm_glob_make(struct comm_glob *ret, const char *pattern, struct err *e);

/* comm: at most 15 characters count. */
bool comm_glob_match(const struct comm_glob *g, const char *comm);
