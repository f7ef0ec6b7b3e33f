/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names whose requests all fail. */
#pragma once

#include "verdict.h"

/*
 * The name with most errors of those all of whose answers report errors, from the first that does
 * to the end; since: after others that did not. Fills name, of_name, n, of, start, end, windows,
 * share and before (of all answers), good, good_before and usual.
 */
int verdict_name_fails(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		       bool since, struct verdict_errors *ret_errors, struct err *e);
