/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was lost, where. */
#pragma once

#include "track.h"

int loss_on_gap(struct replay *r, const char *from_to, struct err *e);
bool loss_has_gaps(const struct replay *r);
void loss_count_record(struct replay *r, const struct record *rec);
/* True if events were lost in [from, to], on any CPU, in any group: of programs that missed some,
 * of a group that times rest on. */
bool loss_overlaps(const struct replay *r, u64 from, u64 to);
