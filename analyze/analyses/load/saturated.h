/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From which rate on is a server saturated: by its idle share and its queueing delay. */
#pragma once

#include "analyze/analyses/analysis.h"

/*
 * Puts idle share, queueing delay and the rate from which the server has no idle share left, and
 * the finding that follows. Call saturated_prepare once before. Needs switches.
 */
void saturated_prepare(struct analysis_ctx *c);
void saturated_put(struct analysis_ctx *c, s64 server);
