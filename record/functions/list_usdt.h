/* SPDX-License-Identifier: GPL-2.0-or-later */
/* obsrec list -U: the static probes of a file. */
#pragma once

#include "list_functions.h"

/* Prints a line for each place of each probe. ERR_FAIL if there is none. */
int list_usdt(const struct list_config *c, struct err *e);
