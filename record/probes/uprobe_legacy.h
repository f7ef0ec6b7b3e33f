/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes on kernels that give a program no cookie (until 5.15): each site gets a copy of the
 * program in which its number stands as a constant.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

struct bpf_program;

struct uprobe_legacy {
	int *fds; /* programs and perf events */
	int n;
};

/* Where a program is attached. */
struct uprobe_legacy_at {
	const char *path;
	u64 offset;
	bool back;     /* to the return from there */
	u64 semaphore; /* offset of a counter that is raised while it is attached; 0: none */
};

/* Attaches a copy of a loaded program. */
int uprobe_legacy_attach(struct uprobe_legacy *c, const struct bpf_program *prog,
			 const struct uprobe_legacy_at *at, u64 cookie, struct err *e);

void uprobe_legacy_free(struct uprobe_legacy *c);
