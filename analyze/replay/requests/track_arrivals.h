/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When datagrams, and bytes of Unix sockets, reached the kernel: see track_arrivals.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/*
 * The receive v of a server's socket other than TCP moved so many bytes, or messages. Returns when
 * the first of them arrived; 0: not known.
 */
u64 arrivals_received(struct replay *r, struct file *f, const struct call_view *v, u64 bytes);
