/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running kernel's BTF says of its tracepoints: whether one exists, and its arity. */
#ifndef OBS_TRACEPOINTS_H
#define OBS_TRACEPOINTS_H

#include <stdbool.h>

struct btf;

/* Number of arguments of tracepoint name; -1 if the kernel has none of that name. */
int tracepoint_args(const struct btf *btf, const char *name);

/* True if block_rq_complete passes a blk_status_t (since 5.16), not an errno. */
bool tracepoint_status(const struct btf *btf);

#endif
