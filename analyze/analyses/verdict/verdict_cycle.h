/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of a server that wait for locks of each other. */
#pragma once

#include "verdict.h"

/*
 * Puts a finding under j->finding if threads of the server or process have been in a deadlock for
 * as long as the limit of pauses when the recording ends.
 */
int verdict_cycle_say(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		      struct err *e);
