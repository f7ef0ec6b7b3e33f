/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka and what cmocka needs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A row of the list of tests. */
#define T(name) cmocka_unit_test(name)
