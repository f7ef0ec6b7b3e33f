/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw stacks of threads that sleep when a recording ends (bpf/sleepers.bpf.c). */
#pragma once

#include "format/event.h"

typedef void (*sleeper_fn)(void *arg, const struct raw_stack *raw);

/*
 * Calls back for each of them, whole and checked, until all are read, or that time
 * (CLOCK_MONOTONIC, ns) has come. fd: of the kernel's iterator, for one use. Memory of a thread can
 * be on a file system that does not respond: a process of its own reads, and is given up then. Not
 * for two threads at once.
 */
void sleepers_read(int fd, u64 until, sleeper_fn fn, void *arg);
