/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names whose requests all fail, or whose answers end early. */
#pragma once

#include "verdict.h"

/*
 * The name with most errors of those all of whose answers report errors, from the first that does
 * to the end; since: after others that did not. Fills name, of_name, n, of, start, end, windows,
 * share and before (of all answers), good, good_before and usual.
 */
int verdict_name_fails(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		       bool since, struct verdict_errors *ret_errors, struct err *e);
/*
 * verdict_cut.c: the name with most answers that end early. Fills name, of_name, n, of, name_n,
 * name_of, start, end, share (of its answers since then that follow others on their connection),
 * cut, complete, kept, waited and upstream; the others are NAN.
 */
int verdict_cut(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		struct verdict_errors *ret_errors, struct err *e);
