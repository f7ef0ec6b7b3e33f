/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rings of all CPUs: of the own kind where the kernel can, else of the stock kind. */
#pragma once

#include "ring.h"

struct bpf_object;

#define RINGS_MAP "stretches" /* of the own kind */

struct rings {
	struct ring *list; /* one a possible CPU */
	int n;
	u64 size;   /* bytes of each */
	bool own;   /* the kind */
	int map_fd; /* own kind: the array */
	void *mapped;
};

/* Chooses the kind, which stock forces to be the stock one. size: bytes a ring. */
int rings_choose(struct rings *r, int n, u64 size, bool stock, struct err *e);

/*
 * Before loading. The own kind's array goes into the object; for the stock kind, the
 * instructions that only the own kind runs, which an old kernel does not know, are taken out.
 */
int rings_prepare(const struct rings *r, struct bpf_object *obj, struct err *e);

/* After loading: the programs find the rings, and list has them. */
int rings_open(struct rings *r, struct bpf_object *obj, struct err *e);

void rings_free(struct rings *r);
