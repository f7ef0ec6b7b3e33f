/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "analyze/replay/track.h"

/*
 * Before track_states sees the record of a call from..to: 1 the thread slept in it for what it
 * asked for, 0 it did not, -1 its switches are not all known.
 */
int slept_in_call(const struct replay *r, const struct thread *t, u64 from, u64 to);
