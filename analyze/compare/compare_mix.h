/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A change of the mix of requests, as distinct from a change of each name. */
#pragma once

#include "analyze/store/finding.h"
#include "compare.h"

/* Puts a finding if the mix changed and no name became slower or faster. */
int compare_mix_say(sqlite3 *db, bool *ret_said, struct err *e);
