/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of this test. */
#pragma once

#include "record/stacks/code_maps.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>

static void own_maps(struct code_maps *ret)
{
	char *text = calloc(1, 1 << 20);
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	assert_true(code_maps_parse(ret, text));
}
