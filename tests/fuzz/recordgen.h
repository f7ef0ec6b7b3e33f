/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a sound recording, and mutations of its records: both by the descriptors of
 * events.def. The bytes are records as in a file, each after 8 bytes that name its stream: below 7
 * a CPU, 7 the recorder. seedgen.c makes them of a recording.
 */
#pragma once

#include "format/event.h"

#include <stddef.h>

/* Writes the recording to fd. */
void recordgen_write(int fd, const u8 *data, size_t size);

/* Changes, copies, drops, swaps or makes records; the result is at most max bytes. */
size_t recordgen_mutate(u8 *data, size_t size, size_t max, unsigned int seed);
