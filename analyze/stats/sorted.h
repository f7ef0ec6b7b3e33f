/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts in linear time: for as many values as a recording has. */
#pragma once

#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

/* Sorts numbers, none of them NAN. */
void sort_numbers(double *v, size_t n);

/*
 * Sorts keys, and with them values of 8 bytes each; of equal keys the order stays. False: out of
 * memory.
 */
bool sort_keys(s64 *keys, void *values, size_t n);

/* Of rows of so many bytes, in order of the number that each begins with: the first with v or more.
 */
size_t sorted_from(const void *rows, size_t n, size_t bytes, s64 v);
