/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Static probes (USDT) of a binary: what sys/sdt.h leaves in .note.stapsdt. */
#pragma once

#include "elffile.h"
#include "usdt_args.h"

struct usdt_note {
	const char *provider, *name; /* live as long as the visit */
	u64 address, offset;	     /* of the instruction; in the file */
	u64 semaphore; /* offset in the file of its counter of users; 0: it has none */
	struct usdt_arg args[USDT_ARGS_MAX];
	int n_args;
};

/*
 * Visits each place of each probe, in the order of the file; notes that do not hold together are
 * left out. A visitor's negative result ends the walk and is returned. Returns how many there are.
 */
int usdt_each(const struct elffile *f,
	      int (*visit)(void *arg, const struct usdt_note *note, struct err *e), void *arg,
	      struct err *e);
