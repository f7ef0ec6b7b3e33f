/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running kernel's BTF says of its tracepoints: whether one exists, and its arity. */
#pragma once

#include <stdbool.h>

struct btf;

/* Number of arguments of tracepoint name; -1 if the kernel has none of that name. */
int tracepoint_args(const struct btf *btf, const char *name);

/* True if the kernel has a type definition of that name. */
bool tracepoint_typedef(const struct btf *btf, const char *name);

/* Offset of a member of a struct in bytes, -1 if there is none; members of anonymous structs too.
 */
int tracepoint_member(const struct btf *btf, const char *type, const char *member);

/* What io_uring's tracepoints pass: values of submit_form and complete_form of bpf/uring.bpf.h. */
unsigned int tracepoint_uring_submit(const struct btf *btf);
unsigned int tracepoint_uring_complete(const struct btf *btf);

/* True if block_rq_complete passes a blk_status_t (since 5.16), not an errno. */
bool tracepoint_status(const struct btf *btf);
