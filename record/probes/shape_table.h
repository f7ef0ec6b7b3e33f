/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each system call of this machine is recorded (format/shapes.h). */
#pragma once

#include "format/event.h"

#include <stddef.h>

/* All of them add to tables of zeros, a byte for each system call number below n. */
void shape_table_fill(volatile u8 *shapes, size_t n);

/* Fills one byte for each system call number below n: which arguments are paths. */
void path_table_fill(volatile u8 *paths, size_t n);

/* Fills bytes below n of calls that receive or send: MOVE_*. */
void move_table_fill(volatile u8 *moves, size_t n);

/* Fills bytes below n of calls that read or write regular files: POS_*. */
void io_table_fill(volatile u8 *ios, size_t n);

/* The number of a system call on this machine; -1: there is none of that name. */
s32 shape_table_number(const char *name);
