/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compresses one buffer while the next one is filled, in a thread where there are several CPUs.
 * What comes out is the same without.
 */
#pragma once

#include "format/buf.h"
#include "format/event.h"

struct packer;

/* NULL: out of memory. level: of zlib; cpus: how many may be used, 0: the default. */
struct packer *packer_new(int level, u32 cpus);

/* Takes what is in b, in exchange for an empty buffer; before, packer_take has returned. */
void packer_give(struct packer *p, struct buf *b);

/* What became of it, in a stream of its own; until packer_give. Empty: nothing was given. */
int packer_take(struct packer *p, struct buf *ret, struct err *e);

void packer_free(struct packer *p);
