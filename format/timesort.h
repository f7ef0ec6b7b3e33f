/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoded records in order of time. */
#pragma once

#include "err.h"
#include "event.h"

/* Sorts n offsets of records in data by their times; of equal times the lower offset first. */
int timesort(u32 *at, u32 n, const u8 *data, struct err *e);
