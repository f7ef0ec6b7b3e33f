/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes on kernels that give a program no cookie (until 5.15): each site gets a copy of the
 * program in which its number stands as a constant.
 */
#ifndef OBS_COOKIELESS_H
#define OBS_COOKIELESS_H

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

struct bpf_program;

struct cookieless {
	int *fds; /* programs and perf events */
	int n;
};

/* Attaches a copy of a loaded program to an offset of a file: to its entry, or its return. */
int cookieless_attach(struct cookieless *c, const struct bpf_program *prog, const char *path,
		      u64 offset, u64 cookie, bool back, struct err *e);

void cookieless_free(struct cookieless *c);

#endif
